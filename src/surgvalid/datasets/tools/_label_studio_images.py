"""Image tasks of Label Studio: rectangles, ellipses and polygons in percent of an image, turned or not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from surgvalid.datasets.tools._about import About, Annotations, number, rows, whole
from surgvalid.datasets.tools._draft import Rectangle
from surgvalid.datasets.tools._pictures import (
    DrawnShape,
    Noticed,
    ShapedImage,
    annotations_of,
    box_around,
    box_around_ellipse,
)


def turned(box: Rectangle, degrees: float) -> Rectangle:
    """The upright box around one that is turned clockwise about its top left corner.

    Example:
        >>> [round(side, 6) for side in turned((10.0, 10.0, 4.0, 2.0), 90)]
        [8.0, 10.0, 2.0, 4.0]
    """
    x, y, width, height = box
    if degrees % 360 == 0 or width <= 0 or height <= 0:
        return box  # a turned box would hide that its size is negative
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    xs = [0.0, width * cosine, -height * sine, width * cosine - height * sine]
    ys = [0.0, width * sine, height * cosine, width * sine + height * cosine]
    return x + min(xs), y + min(ys), max(xs) - min(xs), max(ys) - min(ys)


SHAPES = ("rectanglelabels", "ellipselabels", "polygonlabels", "rectangle", "ellipse", "polygon")
_LINES = ("keypointlabels", "keypoint", "brushlabels", "brush")


def shape_kind(value: Mapping[str, Any]) -> str:
    """The type of a result by what its value holds, or '' where it is no shape on an image."""
    return next((kind for kind in SHAPES if kind in value), "")


def draws_on_images(task: Mapping[str, Any]) -> bool:
    """Whether an annotation of the task has a shape on an image."""
    return not kinds_drawn(task).isdisjoint((*SHAPES, *_LINES))


def kinds_drawn(task: Mapping[str, Any]) -> set[Any]:
    """The types of all results of a task."""
    return {result.get("type") for one in rows(task.get("annotations")) for result in rows(one.get("result"))}


def kept_annotations(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The annotations of a task that nobody cancelled."""
    return [one for one in rows(task.get("annotations")) if not one.get("was_cancelled")]


def image_annotations(tasks: list[dict[str, Any]], where: str, about: About) -> Annotations:
    """The procedures whose frames are the images of the tasks.

    Raises:
        ProcedureInvalid: Something cannot be true, or images have no place; every problem is listed.
    """
    noticed, pictures = Noticed(Counter(), []), list[ShapedImage]()
    for place, task in enumerate(tasks, start=1):
        kept = kept_annotations(task)
        for turn, annotation in enumerate(kept, start=1):
            who = str(annotation.get("completed_by") or turn) if len(kept) > 1 else ""
            pictures.append(_picture(task, place, annotation, who, about, noticed))
    return annotations_of(pictures, noticed, where=where, about=about)


def _picture(
    task: Mapping[str, Any],
    place: int,
    annotation: Mapping[str, Any],
    who: str,
    about: About,
    noticed: Noticed,
) -> ShapedImage:
    data = task.get("data")
    address = str(data.get("image") or data.get("img") or "") if isinstance(data, dict) else ""
    name = PurePosixPath(unquote(urlsplit(address).path)).name or f"task {task.get('id', place)}"
    results = rows(annotation.get("result"))
    sizes = {_size(row, about) for row in results} - {(None, None)}
    shapes = list(_shapes(name, results, about, *noticed))
    return ShapedImage(name, shapes, *(sizes.pop() if len(sizes) == 1 else (None, None)), by=who)


def _size(row: Mapping[str, Any], about: About) -> tuple[int | None, int | None]:
    given = whole(row.get("original_width")) or about.width_px, whole(row.get("original_height")) or about.height_px
    return given if None not in given else (None, None)


def _shapes(
    name: str, results: list[dict[str, Any]], about: About, counts: Counter[str], problems: list[str]
) -> Iterator[DrawnShape]:
    for place, row in enumerate(results, start=1):
        kind, value = str(row.get("type")), row.get("value")
        if kind in _LINES or kind not in SHAPES or not isinstance(value, dict):
            counts["points" if kind in _LINES else "unlike"] += 1
            continue
        width, height = _size(row, about)
        labels = value.get(kind) or value.get("labels")
        if not isinstance(labels, list) or len(labels) != 1:
            problems.append(f"{name}, result {place}: one label expected, got {labels!r}")
        elif not width or not height:
            problems.append(f"{name}, result {place}: percent of an image whose size is not told; give --size")
        elif (box := _box(kind, value, (width, height), counts)) is None:
            problems.append(f"{name}, result {place}: a {kind} that cannot be read")
        else:
            yield DrawnShape(str(labels[0]), box)


def _box(kind: str, value: dict[str, Any], size: tuple[int, int], counts: Counter[str]) -> Rectangle | None:
    width, height = size
    if kind.startswith("polygon"):
        counts["outline"] += 1
        points = value.get("points")
        hull = box_around(points) if isinstance(points, list) and all(isinstance(p, list) for p in points) else None
        return hull and (hull[0] * width / 100, hull[1] * height / 100, hull[2] * width / 100, hull[3] * height / 100)
    names = ("x", "y", "radiusX", "radiusY") if kind.startswith("ellipse") else ("x", "y", "width", "height")
    sides = [
        share * size[at % 2] / 100 for at, name in enumerate(names) if (share := number(value.get(name))) is not None
    ]
    if len(sides) != len(names):
        return None
    turn = number(value.get("rotation")) or 0.0
    x, y, across, down = sides
    if kind.startswith("ellipse"):
        counts["outline"] += 1
        return box_around_ellipse(x, y, across, down, turn)
    counts["rotated"] += turn % 360 != 0
    return turned((x, y, across, down), turn)
