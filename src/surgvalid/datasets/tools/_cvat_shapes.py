"""Shapes and tasks of CVAT 1.1 XML: the upright box around every shape, and what else of it a procedure keeps.

Coordinates are corners in pixels. The rotation is in degrees, clockwise, about the centre of the shape. The runs of a
mask count pixels row by row inside its own rectangle, beginning with background; that is not the order of COCO.

Current exports number the frames of a project through: those of a task begin after `start_frame + step * size` of every
task before it, in the order of the file. Older ones count each task from its own start. Which of the two a file does
follows from its numbers: a frame beyond the end of its task is numbered through, one below its offset is not.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np

from surgvalid.datasets.tools._about import number, whole
from surgvalid.datasets.tools._pictures import box_around_ellipse
from surgvalid.datasets.tools._xml import elements
from surgvalid.schema.findings import Severity

KINDS = ("box", "polygon", "polyline", "points", "ellipse", "cuboid", "mask", "skeleton")
_CORNERS = ("tl1", "bl1", "tr1", "br1", "tl2", "bl2", "tr2", "br2")
"""Of a cuboid."""
_MOST_PIXELS = 1 << 28


class ShapeOdd(ValueError):
    """A shape that cannot be read; the text says why."""


class CvatShape(NamedTuple):
    """One shape in one frame."""

    kind: str
    label: str
    frame: int
    box: tuple[float, float, float, float]
    """x, y, width, height of the upright rectangle around it, rotation included."""
    rotation_deg: float
    occluded: bool
    outside: bool
    attributes: Mapping[str, str]
    z_order: int = 0
    group: str = ""
    """Number of the group it belongs to; empty for none."""


def shapes_of(element: Element, problems: list[str]) -> Iterator[CvatShape]:
    """The shapes of a `<track>` or `<image>`; what cannot be read goes to `problems`."""
    image = element.tag == "image"
    title = f"{element.tag} {element.get('id', '?')}"
    if image and element.get("id") is None:
        return  # told once, by whoever reads the image
    for number_, child in enumerate((c for c in element if c.tag in KINDS), start=1):
        label = child.get("label") if image else element.get("label")
        frame = whole(element.get("id") if image else child.get("frame"))
        try:
            if frame is None or frame < 0:
                raise ShapeOdd(f"frame {child.get('frame')!r} is no frame number")
            if not label:
                raise ShapeOdd("has no label")
            shape = _shape(child, label, frame)
            yield shape._replace(group=child.get("group_id") or element.get("group_id") or "")
        except ShapeOdd as odd:
            problems.append(f"{title}, {child.tag} {number_}: {odd}")


def more_than_boxes(element: Element, shapes: list[CvatShape]) -> Counter[str]:
    """What a `<track>` or `<image>` says that a procedure of upright boxes does not hold, by the keys of `NOT_HELD`."""
    counts = Counter(shape.kind if shape.kind in ("box", "mask") else "other" for shape in shapes)
    counts["rotated"] = sum(shape.kind == "box" and shape.rotation_deg % 360 != 0 for shape in shapes)
    counts["layered"] = sum(shape.z_order != 0 for shape in shapes)
    counts["grouped"] = sum(bool(shape.group) for shape in shapes)
    counts["tags"] = sum(child.tag == "tag" for child in element)
    counts["unknown"] = sum(child.tag not in (*KINDS, "tag", "attribute") for child in element)
    counts["named"] = int(element.tag == "image" and bool(element.get("name")))
    return counts


NOT_HELD = {
    "rotated": ("rotation", "rotated boxes are kept as the upright box around them", Severity.WARNING),
    "mask": ("mask-as-box", "masks are kept as the box around them", Severity.WARNING),
    "other": ("shape-as-box", "shapes that are no boxes are kept as the box around them", Severity.WARNING),
    "tags": ("tags", "tags of images are not kept; read_image_tags reads them", Severity.WARNING),
    "unknown": ("not-kept", "elements of a kind that is not known here are not kept", Severity.WARNING),
    "grouped": ("groups", "shapes belong to a group, which is not kept", Severity.WARNING),
    "layered": ("z-order", "shapes have a z_order, which is not kept", Severity.NOTE),
    "named": ("image-names", "names of image files are not kept, only their numbers", Severity.NOTE),
}
"""Code, text and severity of the finding on each."""


def _shape(child: Element, label: str, frame: int) -> CvatShape:
    rotation = number(child.get("rotation", "0"))
    if rotation is None:
        raise ShapeOdd(f"rotation {child.get('rotation')!r} is no number")
    if child.tag == "mask":
        corners = _mask_corners(child)
    elif child.tag == "box":
        left, top, right, bottom = (_number(child, name) for name in ("xtl", "ytl", "xbr", "ybr"))
        corners = left, top, right, bottom
    elif child.tag == "ellipse":
        x, y, across, down = (_number(child, name) for name in ("cx", "cy", "rx", "ry"))
        left, top, wide, high = box_around_ellipse(x, y, across, down, rotation)
        corners = left, top, left + wide, top + high
    else:
        corners = _hull(tuple(_points(child)))
    return CvatShape(
        child.tag,
        label,
        frame,
        _turned(corners, rotation if child.tag == "box" else 0.0),
        rotation,
        child.get("occluded", "0") == "1",
        child.get("outside", "0") == "1",
        {element.get("name", ""): element.text or "" for element in child if element.tag == "attribute"},
        whole(child.get("z_order", "0")) or 0,
    )


Corners = tuple[float, float, float, float]


def _turned(corners: Corners, rotation_deg: float) -> Corners:
    """Left, top, width and height of the upright rectangle around one that is turned about its centre."""
    left, top, width, height = corners[0], corners[1], corners[2] - corners[0], corners[3] - corners[1]
    if rotation_deg % 360 == 0 or width <= 0 or height <= 0:
        return left, top, width, height
    cosine, sine = abs(math.cos(math.radians(rotation_deg))), abs(math.sin(math.radians(rotation_deg)))
    wide, high = width * cosine + height * sine, width * sine + height * cosine
    return left + (width - wide) / 2, top + (height - high) / 2, wide, high


def _number(child: Element, name: str) -> float:
    value = number(child.get(name))
    if value is None:
        raise ShapeOdd(f"{name}={child.get(name)!r} is no number")
    return value


def _points(child: Element) -> Iterator[tuple[float, float]]:
    if child.tag == "skeleton":
        for element in child:
            if element.tag == "points" and element.get("outside", "0") != "1":
                yield from _points(element)
        return
    if child.tag == "cuboid":
        yield from ((_number(child, f"x{at}"), _number(child, f"y{at}")) for at in _CORNERS)
        return
    for pair in child.get("points", "").split(";"):
        x, _, y = pair.partition(",")
        at = number(x), number(y)
        if at[0] is None or at[1] is None:
            raise ShapeOdd(f"point {pair[:40]!r} is no pair of numbers")
        yield at[0], at[1]


def _hull(points: tuple[tuple[float, float], ...]) -> Corners:
    if not points:
        raise ShapeOdd("has no points")
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def _mask_corners(child: Element) -> Corners:
    sizes = [whole(child.get(name)) for name in ("left", "top", "width", "height")]
    lengths = [whole(run) for run in child.get("rle", "").split(",")]
    left, top, width, height = sizes
    if left is None or top is None or width is None or height is None or None in lengths:
        raise ShapeOdd("left, top, width, height and rle of a mask must be whole numbers")
    runs = [run for run in lengths if run is not None]
    if not 0 < width * height <= _MOST_PIXELS or width < 0:
        raise ShapeOdd(f"a mask of {width} x {height} pixels")
    if min(runs) < 0 or sum(runs) != width * height:
        raise ShapeOdd(f"the runs cover {sum(runs)} pixels, the rectangle has {width * height}")
    mask = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(height, width)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        raise ShapeOdd("the mask has no pixel")
    return left + int(columns[0]), top + int(rows[0]), left + int(columns[-1]) + 1, top + int(rows[-1]) + 1


class ProjectTask(NamedTuple):
    """One task of a project."""

    number: str
    meta: Element
    """A `<meta>` that holds this task alone, as an export of the task has it."""
    offset: int
    """What its frame numbers begin with where they are numbered through."""
    last: int
    """The last frame number of its own."""
    subset: str = ""


def tasks_of(meta: Element) -> list[ProjectTask]:
    """The tasks of a project, in the order of the file."""
    tasks, offset = [], 0
    for task in meta.iterfind("project/tasks/task"):
        alone = Element("meta")
        alone.append(task)
        start, size = whole(task.findtext("start_frame")) or 0, whole(task.findtext("size")) or 0
        step = re.search(r"step=(\d{1,9})", task.findtext("frame_filter") or "")
        length = start + (int(step[1]) if step else 1) * size
        stop = whole(task.findtext("stop_frame"))
        last = stop if stop is not None else length - 1
        tasks.append(
            ProjectTask(
                (task.findtext("id") or "").strip(), alone, offset, last, (task.findtext("subset") or "").strip()
            )
        )
        offset += length
    return tasks


def task_elements(path: str | Path, tasks: Iterable[ProjectTask]) -> Iterator[tuple[str, Element]]:
    """Every track and image with the number of its task, frames counted as its task does."""
    known = list(tasks)
    through = _numbered_through(path, known)
    for element in elements(path, ("track", "image")):
        task = _task_of(element, known)
        if task is not None and through:
            _shift(element, task.offset)
        yield element.get("task_id", "") if task is None else task.number, element


def _task_of(element: Element, tasks: Iterable[ProjectTask]) -> ProjectTask | None:
    """The task of an element: by its number, or by its subset where the task of that number is of another one."""
    subset = element.get("subset") or ""
    numbered = next((task for task in tasks if task.number == element.get("task_id", "")), None)
    if numbered is None or not subset or numbered.subset == subset:
        return numbered
    same = [task for task in tasks if task.subset == subset]
    return same[0] if len(same) == 1 else numbered


def _numbered_through(path: str | Path, tasks: list[ProjectTask]) -> bool:
    """Whether the frames of all tasks are numbered through."""
    for element in elements(path, ("track", "image")):
        task = _task_of(element, tasks)
        for frame in _frames(element) if task else ():
            if task is not None and frame > task.last:
                return True
            if task is not None and frame < task.offset:
                return False
    return True


def _frames(element: Element) -> list[int]:
    texts = [element.get("id")] if element.tag == "image" else [shape.get("frame") for shape in element]
    return [frame for text in texts if (frame := whole(text)) is not None]


def _shift(element: Element, offset: int) -> None:
    holders = [(element, "id")] if element.tag == "image" else [(shape, "frame") for shape in element]
    for holder, key in holders:
        frame = whole(holder.get(key))
        if frame is not None:
            holder.set(key, str(frame - offset))
