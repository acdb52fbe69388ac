"""What a CVAT 1.1 file holds beyond upright boxes: every shape in and out, tags of images, and the tasks of a project.

Procedures hold upright boxes, which is all that questions need. Where a file has more, `read_shapes` reads it and
`write_shapes` writes it, so that a corrected file goes back to CVAT as it came. Frames are those of the file. A tag on
an image says that the image has that property; an image without it does not. A checkbox attribute of a shape is a
property of that instance.

Current exports number the frames of a project through: those of a task begin after `start_frame + step * size` of every
task before it, in the order of the file. Older ones count each task from its own start. Which of the two a file does
follows from its numbers: a frame beyond the end of its task is numbered through, one below its offset is not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

import numpy as np
import polars as pl

from surgvalid.datasets.tools._about import whole, write_text
from surgvalid.datasets.tools._cvat_shapes import OUTLINES, CvatShape, runs_of_mask, shapes_of
from surgvalid.datasets.tools._xml import attributes_text, elements, escaped, xml_text
from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid
from surgvalid.schema.findings import Finding, Severity


def read_shapes(path: str | Path) -> list[CvatShape]:
    """Every shape of the file with all that is said of it, rotation and masks included.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Shapes that cannot be read; all are listed.
    """
    problems: list[str] = []
    shapes = [shape for element in elements(path, ("track", "image")) for shape in shapes_of(element, problems)]
    if problems:
        raise ProcedureInvalid(str(path), problems)
    return shapes


def write_shapes(
    shapes: Iterable[CvatShape], path: str | Path, *, video: str, width_px: int, height_px: int
) -> list[Finding]:
    """What the file does not hold of the shapes; the rest is written as CVAT 1.1, tracks first, then images.

    What was written is read back and compared, so an empty list means that nothing is lost.

    Args:
        shapes: Shapes as `read_shapes` gives them; those with a track become `<track>`, the others `<image>`.
        path: The file.
        video: Name of the task.
        width_px: Of every frame.
        height_px: Of every frame.

    Raises:
        Misuse: Frames without a size.
        ProcedureInvalid: A text that XML cannot hold, or a shape that cannot be; all are listed.
    """
    listed = list(shapes)
    if width_px < 1 or height_px < 1:
        raise Misuse(f"frames need a size, got {width_px} x {height_px}")
    if problems := [f"shape {n}: {text}" for n, one in enumerate(listed, start=1) for text in _problems(one)]:
        raise ProcedureInvalid(f"shapes of {video!r}", problems)
    write_text(path, xml_text(_lines(listed, video, width_px, height_px), f"shapes of {video!r}"))
    return _losses(listed, read_shapes(path))


def _problems(shape: CvatShape) -> Iterator[str]:
    if shape.kind in OUTLINES and len(shape.outline) != len(OUTLINES[shape.kind]):
        yield f"a {shape.kind} has {len(OUTLINES[shape.kind])} numbers, got {len(shape.outline)}"
    elif shape.kind == "mask" and (shape.mask is None or shape.mask_at is None or not shape.mask.any()):
        yield "a mask needs its place and at least one pixel"
    elif shape.kind in ("polygon", "polyline", "points") and not shape.points:
        yield f"a {shape.kind} needs points"
    elif shape.kind == "skeleton" and not any(not outside for _, _, _, outside in shape.parts):
        yield "a skeleton needs a point that is not outside"
    if shape.frame < 0 or not shape.label:
        yield f"needs a label and a frame from 0 on, got {shape.label!r} and {shape.frame}"


def _lines(shapes: Sequence[CvatShape], video: str, width_px: int, height_px: int) -> Iterator[str]:
    last = max((shape.frame for shape in shapes), default=0)
    mode = "interpolation" if any(shape.track is not None for shape in shapes) else "annotation"
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield "<annotations>"
    yield "  <version>1.1</version>"
    yield f"  <meta><task><name>{escaped(video)}</name><size>{last + 1}</size><mode>{mode}</mode>"
    yield f"    <start_frame>0</start_frame><stop_frame>{last}</stop_frame>"
    yield f"    <original_size><width>{width_px}</width><height>{height_px}</height></original_size></task></meta>"
    tracks: dict[tuple[str, str], list[CvatShape]] = {}
    images: dict[int, list[CvatShape]] = {}
    for shape in shapes:
        if shape.track is None:
            images.setdefault(shape.frame, []).append(shape)
        else:
            tracks.setdefault((shape.track, shape.label), []).append(shape)
    for (number, label), members in tracks.items():
        yield f'  <track id={quoteattr(number)} label={quoteattr(label)} source="manual">'
        yield from (_shape(shape, f'frame="{shape.frame}" keyframe="{int(shape.keyframe)}"') for shape in members)
        yield "  </track>"
    for frame, members in sorted(images.items()):
        name = quoteattr(_image_name(members[0]))
        yield f'  <image id="{frame}" name={name} width="{width_px}" height="{height_px}">'
        yield from (_shape(shape, f"label={quoteattr(shape.label)}") for shape in members)
        yield "  </image>"
    yield "</annotations>"


def _image_name(shape: CvatShape) -> str:
    return f"frame_{shape.frame:06d}" if shape.image is None else shape.image


def _shape(shape: CvatShape, where: str) -> str:
    flags = f'{where} source={quoteattr(shape.source)} occluded="{int(shape.occluded)}"'
    if shape.track is not None:
        flags += f' outside="{int(shape.outside)}"'
    if shape.group:
        flags += f" group_id={quoteattr(shape.group)}"
    if shape.rotation_deg:
        flags += f' rotation="{shape.rotation_deg!r}"'
    inner = attributes_text(shape.attributes) + "".join(map(_element, shape.parts))
    return f'    <{shape.kind} {flags} {_numbers(shape)} z_order="{shape.z_order}">{inner}</{shape.kind}>'


def _numbers(shape: CvatShape) -> str:
    if shape.kind in OUTLINES:
        pairs = zip(OUTLINES[shape.kind], shape.outline, strict=True)
        return " ".join(f'{name}="{value!r}"' for name, value in pairs)
    if shape.mask is not None and shape.mask_at is not None:
        (left, top), (height, width) = shape.mask_at, shape.mask.shape
        runs = ", ".join(map(str, runs_of_mask(shape.mask)))
        return f'rle="{runs}" left="{left}" top="{top}" width="{width}" height="{height}"'
    return "" if shape.kind == "skeleton" else f'points="{_points(shape.points)}"'


def _element(element: tuple[str, tuple[tuple[float, float], ...], bool, bool]) -> str:
    label, points, occluded, outside = element
    flags = f'occluded="{int(occluded)}" outside="{int(outside)}"'
    return f'<points label={quoteattr(label)} {flags} points="{_points(points)}"/>'


def _points(points: Iterable[tuple[float, float]]) -> str:
    return ";".join(f"{x!r},{y!r}" for x, y in points)


# --- what was lost -------------------------------------------------------------------------------


def _losses(before: Sequence[CvatShape], after: Sequence[CvatShape]) -> list[Finding]:
    gone = Counter(map(_key, before)) - Counter(map(_key, after))
    kinds = Counter(key[0] for key in gone.elements())
    return [
        Finding(f"lost-{kind}", Severity.WARNING, f"{count} shapes of kind {kind} are not in the file as they were")
        for kind, count in sorted(kinds.items())
    ]


def _key(shape: CvatShape) -> tuple[object, ...]:
    """All that is said of a shape, as something that can be compared and counted; its kind comes first."""
    fields: dict[str, object] = shape._asdict()
    fields["image"] = _image_name(shape) if shape.track is None else None
    fields["attributes"] = tuple(sorted(shape.attributes.items()))
    fields["mask"] = None if shape.mask is None else (shape.mask.shape, np.packbits(shape.mask).tobytes())
    return tuple(fields.values())


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


def read_image_tags(path: str | Path, *, tags: Iterable[str] | None = None) -> pl.DataFrame:
    """One row per image: `case` (its name without folder and ending) and a 0/1 column per tag.

    Args:
        path: The XML file.
        tags: Tags to make columns of; by default every tag that occurs.

    Raises:
        FileUnreadable: The file is no such XML.
    """
    images = [
        (Path(image.get("name", "")).stem, {one.get("label", "") for one in image if one.tag == "tag"})
        for image in elements(path, ("image",))
    ]
    if not images:
        raise FileUnreadable(str(path), ["holds no <image>; export as 'CVAT for images 1.1'"])
    names = sorted(set[str]().union(*(given for _, given in images))) if tags is None else list(tags)
    columns: dict[str, list[object]] = {"case": [case for case, _ in images]}
    for name in names:
        columns[name] = [int(name in given) for _, given in images]
    return pl.DataFrame(columns, schema_overrides={"case": pl.String})
