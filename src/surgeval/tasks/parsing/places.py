"""Boxes and outlines: numbers in the convention that the model declares, turned into pixels of the picture.

A model that never said how it counts gives no boxes: the same four numbers are different boxes in thousandths, in
1024ths and in pixels of a picture that was scaled on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from surgeval.tasks.parsing.json_objects import last_list, last_object
from surgeval.tasks.parsing.names import ClassNames
from surgeval.tasks.parsing.reading import Read, Reading, failed

_LOC = re.compile(r"((?:<loc\d{4}>){4})\s*([^<;\n]+)?")
_LOC_NUMBER = re.compile(r"<loc(\d{4})>")
_SEGMENT_CODES = re.compile(r"<seg\d{3}>")
_BOX_KEYS = ("box_2d", "bbox_2d", "bbox", "box", "bounding_box", "coordinates")
_NAME_KEYS = ("label", "class", "category", "name", "object")
_CORNERS = 4
_FEWEST_CORNERS = 3


class Box(NamedTuple):
    """A box in pixels of the picture."""

    name: str
    x_px: float
    y_px: float
    width_px: float
    height_px: float


class Scale(NamedTuple):
    """How numbers of a convention become pixels: a full width and height, and whether y comes first."""

    width: float
    height: float
    y_first: bool


def scale_of(convention: str, size_px: tuple[int, int], shown_px: tuple[int, int] | None = None) -> Scale | None:
    """What the full width and height of a picture count in a convention; None for one that is not known here.

    Args:
        convention: A name of `surgeval.models.BOXES`.
        size_px: Width and height of the picture that was sent.
        shown_px: Width and height as the model saw it, where its boxes are in those pixels.
    """
    width, height = size_px
    scales = {
        "yxyx-1000": Scale(1000, 1000, True),
        "xyxy-1000": Scale(1000, 1000, False),
        "loc-1024": Scale(1024, 1024, True),
        "xyxy-pixels": Scale(width, height, False),
        "xyxy-unit": Scale(1, 1, False),
    }
    if convention == "xyxy-shown":
        return Scale(*shown_px, y_first=False) if shown_px else None
    return scales.get(convention)


def read_boxes(
    text: str, names: ClassNames, *, convention: str | None, size_px: tuple[int, int] | None,
    shown_px: tuple[int, int] | None = None,
) -> Reading:  # fmt: skip
    """The boxes of an answer in pixels; those of other classes and without area are left out and noted."""
    if size_px is None:
        return failed("the size of the picture is not known, so its boxes cannot be placed")
    scale = scale_of(convention, size_px, shown_px) if convention else None
    if scale is None:
        return failed(f"how the model counts its boxes is not known (convention {convention!r})")
    pairs, exact = _pairs(text)
    if pairs is None:
        return failed("no object or list of boxes in the answer")
    boxes, notes = [], []
    for label, numbers in pairs:
        name = names.object(label)
        corners = _numbers(numbers, _CORNERS)
        if corners is None:
            notes.append(f"{label!r} has no four numbers")
        elif name is None:
            notes.append(f"{label!r} is none of the classes")
        elif (box := _placed(name, corners, scale, size_px)) is None:
            notes.append(f"{label!r} has no area within the picture")
        else:
            boxes.append(box)
    unreadable = sum("four numbers" in note for note in notes)
    if pairs and unreadable == len(pairs):
        return failed("; ".join(notes[:3]), *notes)
    return Reading(Read.OK if exact else Read.REPAIRED, boxes, notes=tuple(notes[:9]))


def _placed(name: str, corners: Sequence[float], scale: Scale, size_px: tuple[int, int]) -> Box | None:
    """The box of two corners, cut to the picture."""
    first, second, third, fourth = corners
    x1, y1, x2, y2 = (second, first, fourth, third) if scale.y_first else (first, second, third, fourth)
    width, height = size_px
    left, right = (min(max(x * width / scale.width, 0), width) for x in (x1, x2))
    top, bottom = (min(max(y * height / scale.height, 0), height) for y in (y1, y2))
    return Box(name, left, top, right - left, bottom - top) if right > left and bottom > top else None


def _pairs(text: str) -> tuple[list[tuple[str, Any]] | None, bool]:
    """Label and numbers of every box, and whether the answer is in the form asked for."""
    if located := _LOC.findall(text):
        return [((name or "").strip(), [int(n) for n in _LOC_NUMBER.findall(codes)]) for codes, name in located], True
    held, listed = last_object(text), last_list(text)
    if listed is not None and listed.value and all(isinstance(one, dict) for one in listed.value):
        return [pair for one in listed.value if (pair := _labelled(one)) is not None], False
    if held is not None:
        single = _labelled(held.value)
        return ([single], False) if single else (list(_of_object(held.value)), held.strict)
    if listed is not None and not listed.value:
        return [], listed.strict
    return None, False


def _labelled(entry: Mapping[Any, Any]) -> tuple[str, Any] | None:
    """A box that is an object with a label in it."""
    by_key = {str(key).casefold(): one for key, one in entry.items()}
    numbers = next((by_key[key] for key in _BOX_KEYS if key in by_key), None)
    label = next((by_key[key] for key in _NAME_KEYS if key in by_key), None)
    return (str(label), numbers) if numbers is not None and label is not None else None


def _of_object(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Label and box of every entry; a class may have one box or a list of them."""
    for key, given in value.items():
        if isinstance(given, dict):
            yield from _of_object(given)
        elif isinstance(given, list) and (not given or isinstance(given[0], list)):
            yield from ((str(key), one) for one in given)
        elif given is not None:
            yield str(key), given


def _numbers(given: Any, count: int) -> list[float] | None:
    if not isinstance(given, list) or len(given) != count:
        return None
    try:
        numbers = [float(one) for one in given]
    except (TypeError, ValueError):
        return None
    return numbers if all(abs(one) < 1e9 for one in numbers) else None


def read_outlines(text: str, names: ClassNames) -> Reading:
    """Polygons of every class, corners as fractions of width and height; what was asked for in thousandths."""
    held = last_object(text)
    if held is None:
        codes = bool(_SEGMENT_CODES.search(text))
        why = "codes of <seg> need the model's own decoder: hand in masks with file:PATH" if codes else "no object"
        return failed(f"{why} in the answer" if not codes else why)
    outlines: dict[str, list[list[tuple[float, float]]]] = {}
    notes = []
    for key, given in held.value.items():
        name = names.object(str(key))
        polygons = [polygon for one in _polygons(given) if (polygon := _corners(one)) is not None]
        if name is None:
            notes.append(f"{key!r} is none of the classes")
        elif not polygons and given not in ([], None):
            notes.append(f"{key!r} has no polygon of three corners or more")
        else:
            outlines.setdefault(name, []).extend(polygons)
    if held.value and not outlines and notes:
        return failed("; ".join(notes[:3]), *notes)
    return Reading(Read.OK if held.strict else Read.REPAIRED, outlines, notes=tuple(notes))


def _polygons(given: Any) -> list[Any]:
    """The polygons of a class: a list of them, or one."""
    if not isinstance(given, list) or not given or not isinstance(given[0], list):
        return []
    return given if given[0] and isinstance(given[0][0], list) else [given]


def _corners(polygon: Any) -> list[tuple[float, float]] | None:
    if not isinstance(polygon, list) or len(polygon) < _FEWEST_CORNERS:
        return None
    corners = [numbers for corner in polygon if (numbers := _numbers(corner, 2)) is not None]
    if len(corners) < len(polygon):
        return None
    return [(min(max(x / 1000, 0.0), 1.0), min(max(y / 1000, 0.0), 1.0)) for x, y in corners]
