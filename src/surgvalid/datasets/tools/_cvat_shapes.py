"""Shapes of CVAT 1.1 XML, with all that the file says of them: corners, points, rotation, masks, attributes.

Coordinates are corners in pixels. The rotation is in degrees, clockwise, about the centre of the shape. The runs of a
mask count pixels row by row inside its own rectangle, beginning with background; that is not the order of COCO.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from surgvalid.datasets.tools._about import number, whole
from surgvalid.schema.findings import Severity

KINDS = ("box", "polygon", "polyline", "points", "ellipse", "cuboid", "mask", "skeleton")
CORNERS = ("tl1", "bl1", "tr1", "br1", "tl2", "bl2", "tr2", "br2")
OUTLINES = {
    "box": ("xtl", "ytl", "xbr", "ybr"),
    "ellipse": ("cx", "cy", "rx", "ry"),
    "cuboid": tuple(f"{axis}{corner}" for corner in CORNERS for axis in "xy"),
}
"""The numbers that describe a shape, by kind."""
_MOST_PIXELS = 1 << 28


class ShapeOdd(ValueError):
    """A shape that cannot be read; the text says why."""


class CvatShape(NamedTuple):
    """One shape in one frame."""

    kind: str
    label: str
    frame: int
    track: str | None
    """Number of its track; None in files of images."""
    box: tuple[float, float, float, float]
    """x, y, width, height of the upright rectangle around it, rotation included."""
    rotation_deg: float
    occluded: bool
    outside: bool
    keyframe: bool
    attributes: Mapping[str, str]
    points: tuple[tuple[float, float], ...]
    """Corners of a polygon, line or set of points, as in the file."""
    mask: NDArray[np.bool_] | None
    """Pixels of a mask within the rectangle at `mask_at`."""
    mask_at: tuple[int, int] | None
    """Left and top of the mask."""
    outline: tuple[float, ...] = ()
    """The numbers of a box, ellipse or cuboid before any rotation, in the order of `OUTLINES`."""
    parts: tuple[tuple[str, tuple[tuple[float, float], ...], bool, bool], ...] = ()
    """The named points of a skeleton: label, points, occluded, outside."""
    z_order: int = 0
    source: str = "manual"
    group: str = ""
    """Number of the group it belongs to; empty for none."""
    image: str | None = None
    """Name of its image file, by which CVAT finds the frame; None in files of tracks."""


def shapes_of(element: Element, problems: list[str]) -> Iterator[CvatShape]:
    """The shapes of a `<track>` or `<image>`; what cannot be read goes to `problems`."""
    image = element.tag == "image"
    title = f"{element.tag} {element.get('id', '?')}"
    for number_, child in enumerate((c for c in element if c.tag in KINDS), start=1):
        label = child.get("label") if image else element.get("label")
        frame = whole(element.get("id") if image else child.get("frame"))
        try:
            if frame is None or frame < 0:
                raise ShapeOdd(f"frame {child.get('frame')!r} is no frame number")
            if not label:
                raise ShapeOdd("has no label")
            shape = _shape(child, label, frame, None if image else element.get("id", ""))
            group = child.get("group_id") or element.get("group_id") or ""
            yield shape._replace(group=group, image=element.get("name") if image else None)
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
    "mask": ("mask-as-box", "masks are kept as the box around them; read_shapes has the pixels", Severity.WARNING),
    "other": ("shape-as-box", "shapes that are no boxes are kept as the box around them", Severity.WARNING),
    "tags": ("tags", "tags of images are not kept; read_image_tags in cvat_shapes reads them", Severity.WARNING),
    "unknown": ("not-kept", "elements of a kind that is not known here are not kept", Severity.WARNING),
    "grouped": ("groups", "shapes belong to a group, which is not kept; read_shapes has it", Severity.WARNING),
    "layered": ("z-order", "shapes have a z_order, which is not kept; read_shapes has it", Severity.NOTE),
    "named": (
        "image-names",
        "names of image files are not kept, only their numbers; read_shapes has them",
        Severity.NOTE,
    ),
}
"""Code, text and severity of the finding on each."""


def _shape(child: Element, label: str, frame: int, track: str | None) -> CvatShape:
    mask, at = None, None
    points: tuple[tuple[float, float], ...] = ()
    outline: tuple[float, ...] = ()
    if child.tag == "mask":
        mask, at = _mask(child)
        corners = _mask_corners(mask, at)
    elif child.tag in OUTLINES:
        outline = tuple(_number(child, name) for name in OUTLINES[child.tag])
        corners = _hull_of(child.tag, outline, math.radians(number(child.get("rotation", "0")) or 0.0))
    else:
        points = tuple(_points(child))
        corners = _hull(points)
    rotation = number(child.get("rotation", "0"))
    if rotation is None:
        raise ShapeOdd(f"rotation {child.get('rotation')!r} is no number")
    attributes = {element.get("name", ""): element.text or "" for element in child if element.tag == "attribute"}
    return CvatShape(
        child.tag,
        label,
        frame,
        track,
        _turned(corners, rotation) if child.tag == "box" else _as_box(corners),
        rotation,
        child.get("occluded", "0") == "1",
        child.get("outside", "0") == "1",
        child.get("keyframe", "1") == "1",
        attributes,
        points,
        mask,
        at,
        outline,
        tuple(_parts(child)) if child.tag == "skeleton" else (),
        whole(child.get("z_order", "0")) or 0,
        child.get("source", "manual"),
    )


def _parts(child: Element) -> Iterator[tuple[str, tuple[tuple[float, float], ...], bool, bool]]:
    for element in child:
        if element.tag == "points":
            flags = (element.get(name, "0") == "1" for name in ("occluded", "outside"))
            occluded, outside = flags
            yield element.get("label", ""), tuple(_points(element)), occluded, outside


Corners = tuple[float, float, float, float]


def _as_box(corners: Corners) -> Corners:
    left, top, right, bottom = corners
    return left, top, right - left, bottom - top


def _turned(corners: Corners, rotation_deg: float) -> Corners:
    """The upright rectangle around one that is turned about its centre."""
    left, top, width, height = _as_box(corners)
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


def _hull_of(kind: str, outline: tuple[float, ...], turn: float) -> Corners:
    """The upright corners around an ellipse or cuboid; those of a box, before it is turned."""
    if kind == "box":
        left, top, right, bottom = outline
        return left, top, right, bottom
    if kind == "ellipse":
        x, y, half_width, half_height = outline
        wide = math.hypot(half_width * math.cos(turn), half_height * math.sin(turn))
        high = math.hypot(half_width * math.sin(turn), half_height * math.cos(turn))
        return x - wide, y - high, x + wide, y + high
    return _hull(tuple(zip(outline[::2], outline[1::2], strict=True)))


def _points(child: Element) -> Iterator[tuple[float, float]]:
    if child.tag == "skeleton":
        for element in child:
            if element.tag == "points" and element.get("outside", "0") != "1":
                yield from _points(element)
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


# --- masks ---------------------------------------------------------------------------------------


def mask_from_runs(runs: list[int], width_px: int, height_px: int) -> NDArray[np.bool_]:
    """The pixels of a mask, height x width, from run lengths row by row that begin with background.

    Raises:
        ShapeOdd: The runs do not fill the rectangle exactly.

    Example:
        >>> mask_from_runs([1, 3, 2], 3, 2).astype(int).tolist()
        [[0, 1, 1], [1, 0, 0]]
    """
    if not 0 < width_px * height_px <= _MOST_PIXELS or width_px < 0:
        raise ShapeOdd(f"a mask of {width_px} x {height_px} pixels")
    if any(run < 0 for run in runs) or sum(runs) != width_px * height_px:
        raise ShapeOdd(f"the runs cover {sum(runs)} pixels, the rectangle has {width_px * height_px}")
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs).reshape(height_px, width_px)


def _mask(child: Element) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    sizes = [whole(child.get(name)) for name in ("left", "top", "width", "height")]
    runs = [whole(run) for run in child.get("rle", "").split(",")]
    left, top, width, height = sizes
    if left is None or top is None or width is None or height is None or None in runs:
        raise ShapeOdd("left, top, width, height and rle of a mask must be whole numbers")
    return mask_from_runs([run for run in runs if run is not None], width, height), (left, top)


def _mask_corners(mask: NDArray[np.bool_], at: tuple[int, int]) -> Corners:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        raise ShapeOdd("the mask has no pixel")
    left, top = at
    return left + int(columns[0]), top + int(rows[0]), left + int(columns[-1]) + 1, top + int(rows[-1]) + 1
