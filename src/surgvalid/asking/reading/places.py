"""Boxes and outlines: numbers in the convention that the model declares, turned into pixels of the image.

A model that never said how it counts gives no boxes: the same four numbers are different boxes in thousandths, in
1024ths and in pixels of an image that was scaled on the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from surgvalid.asking.reading.candidates import is_whole
from surgvalid.asking.reading.labels import read_labels
from surgvalid.asking.reading.names import ClassNames, folded
from surgvalid.asking.reading.objects import EmbeddedObject, KeyedPairs, embedded_objects, plain_key
from surgvalid.asking.reading.reading import AS_ASKED, ReplyReading, failed, read_as, refused
from surgvalid.asking.reading.schema import ReplySchema
from surgvalid.asking.reading.sentences import clauses, refuses

_LOC = re.compile(r"((?:<loc\d{4}>){4})\s*([^<;\n]+)?")
_LOC_NUMBER = re.compile(r"<loc(\d{4})>")
_SEGMENT_CODES = re.compile(r"<seg\d{3}>")
_NUMBER = r"\s*(-?\d+(?:\.\d+)?)\s*"
_TOKENS = re.compile(
    rf"<(?:box|\|box_start\|)>\s*[\[(]{{0,2}}{_NUMBER},{_NUMBER}\)?\s*,\s*\(?{_NUMBER},{_NUMBER}[\])]{{0,2}}\s*"
    r"<(?:/box|\|box_end\|)>"
)
_REFERRED = re.compile(r"</?(?:ref|p)>|<\|(?:object_ref_start|object_ref_end)\|>")
_BOX_KEYS = frozenset({"box2d", "bbox2d", "bbox", "box", "boundingbox", "coordinates", "position"})
_NAME_KEYS = frozenset({"label", "class", "category", "name", "object", "type"})
_FOUR = rf"[\[(]{_NUMBER},{_NUMBER},{_NUMBER},{_NUMBER}[\])]"
_BEFORE = re.compile(rf"(?P<name>[A-Za-z][\w \-]*?)[\s|:=\"'*_]*\[?\s*(?P<boxes>{_FOUR}(?:\s*,\s*{_FOUR})*)")
_AFTER = re.compile(rf"(?P<boxes>{_FOUR})[\s:|\-]*(?P<name>[A-Za-z][\w \-]*)")
_FLOAT = r"(-?\d+(?:\.\d+)?)"
_BARE = re.compile(rf"(?m)^\W*([A-Za-z][A-Za-z _-]*?)[\s:=]+{_FLOAT}[,\s]+{_FLOAT}[,\s]+{_FLOAT}[,\s]+{_FLOAT}[.\s]*$")
_CORNERS = 4
_MOST_BEYOND = 1.2
"""So far beyond the edge of an image a box may reach before its numbers must be others."""
_SIDES = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("left", "top", "right", "bottom"))
_FEWEST_CORNERS = 3


class ParsedBox(NamedTuple):
    """A box in pixels of the image."""

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
    """What the full width and height of an image count in a convention; None for one that is not known here.

    Args:
        convention: A name of `surgvalid.models.BOXES`.
        size_px: Width and height of the image that was sent.
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


class _LabelledNumbers(NamedTuple):
    pairs: list[tuple[str, Any]]
    path: str


def read_boxes(text: str, schema: ReplySchema) -> ReplyReading:
    """The boxes of a reply in pixels; those of other classes and without area are left out and noted."""
    if schema.size_px is None:
        return failed("the size of the image is not known, so its boxes cannot be placed")
    scale = scale_of(schema.boxes, schema.size_px, schema.shown_px) if schema.boxes else None
    if scale is None:
        return failed(f"how the model counts its boxes is not known (convention {schema.boxes!r})")
    labelled = _labelled_numbers(text, schema.names)
    if labelled is None:
        return _without_boxes(text, schema)
    boxes, notes = [], []
    for label, numbers in labelled.pairs:
        name = schema.names.object(label)
        corners = _numbers(numbers, _CORNERS)
        if corners is None:
            notes.append(f"{label!r} has no four numbers")
        elif name is None:
            notes.append(f"{label!r} is none of the classes")
        elif not _of_convention(corners, scale):
            return failed(f"{corners} are no numbers of the convention {schema.boxes!r}")
        elif (box := _placed(name, corners, scale, schema.size_px)) is None:
            notes.append(f"{label!r} has no area within the image")
        elif box not in boxes:
            boxes.append(box)
    if not boxes and any("four numbers" in note or "no area" in note for note in notes):
        return failed("; ".join(notes[:3]), *notes)
    return read_as(boxes, labelled.path, *notes[:9])


def _without_boxes(text: str, schema: ReplySchema) -> ReplyReading:
    if refuses(text):
        return refused(f"declines: {text[:60]!r}")
    labels = read_labels(text, schema)
    if labels.usable and not any(one is not False for one in labels.value.values()):
        return read_as([], "nothing is there")
    return failed("no object or list of boxes in the answer")


def _placed(name: str, corners: Sequence[float], scale: Scale, size_px: tuple[int, int]) -> ParsedBox | None:
    """The box of two corners, cut to the image."""
    first, second, third, fourth = corners
    x1, y1, x2, y2 = (second, first, fourth, third) if scale.y_first else (first, second, third, fourth)
    width, height = size_px
    left, right = (min(max(x * width / scale.width, 0), width) for x in (x1, x2))
    top, bottom = (min(max(y * height / scale.height, 0), height) for y in (y1, y2))
    return ParsedBox(name, left, top, right - left, bottom - top) if right > left and bottom > top else None


def _of_convention(corners: Sequence[float], scale: Scale) -> bool:
    """Whether numbers can be of a convention: not thousandths beyond a thousand, nor fractions in their place."""
    largest = max(scale.width, scale.height)
    if any(one > _MOST_BEYOND * largest for one in corners):
        return False
    return largest <= 1 or max(corners) > 1 or all(one == int(one) for one in corners)


def _labelled_numbers(text: str, names: ClassNames) -> _LabelledNumbers | None:
    """Label and numbers of every box; None where there is nothing of the kind."""
    if located := _LOC.findall(text):
        return _LabelledNumbers(
            [((name or "").strip(), [int(n) for n in _LOC_NUMBER.findall(codes)]) for codes, name in located], AS_ASKED
        )
    tokens = _TOKENS.sub(r"[\1, \2, \3, \4]", _REFERRED.sub(" ", text))
    objects = [] if tokens != text else embedded_objects(text)
    made = [pairs for one in objects if (pairs := _of_value(one.value)) is not None]
    if made:
        if any(repr(pairs) != repr(made[0]) for pairs in made) and not all(_single(one) for one in objects):
            return None
        exact = len(objects) == 1 and is_whole(text, objects[0]) and isinstance(objects[0].value, KeyedPairs)
        several = made if all(_single(one) for one in objects) else made[:1]
        return _LabelledNumbers([pair for pairs in several for pair in pairs], AS_ASKED if exact else "object")
    if refuses(text):
        return None
    tokens = "\n".join(clause.text for clause in clauses(_BARE.sub(r"\1: [\2, \3, \4, \5]", tokens)) if clause.counts)
    for pattern in (_BEFORE, _AFTER):
        scanned = [
            (_last_name(match["name"], names), one)
            for match in pattern.finditer(tokens)
            for one in _fours(match["boxes"])
        ]
        if any(names.object(name) for name, _ in scanned):
            return _LabelledNumbers(scanned, "boxes in text")
    return None


def _last_name(words: str, names: ClassNames) -> str:
    """The class that a few words end with, such as `tool` in `I place the tool at`; the words where there is none."""
    mentions = names.mentions(folded(words))
    return mentions[-1].name if mentions and not names.object(words) else words


def _single(one: EmbeddedObject) -> bool:
    return isinstance(one.value, KeyedPairs) and _entry(one.value) is not None


def _fours(text: str) -> Iterator[list[float]]:
    for match in re.finditer(_FOUR, text):
        yield [float(number) for number in match.groups()]


def _of_value(value: Any) -> list[tuple[str, Any]] | None:
    if isinstance(value, KeyedPairs):
        single = _entry(value)
        return [single] if single else list(_of_members(value))
    if isinstance(value, list):
        if not value:
            return []
        if all(isinstance(one, KeyedPairs) for one in value):
            return [pair for one in value for pair in _of_value(one) or []]
    return None


def _entry(entry: KeyedPairs) -> tuple[str, Any] | None:
    """A box that is an object with a label in it."""
    numbers = next((one for key, one in entry if plain_key(key) in _BOX_KEYS), None)
    label = next((one for key, one in entry if plain_key(key) in _NAME_KEYS), None)
    return (str(label), numbers) if numbers is not None and label is not None else None


def _of_members(value: KeyedPairs) -> Iterator[tuple[str, Any]]:
    """Label and box of every entry; a class may have one box or a list of them."""
    for key, given in value:
        if isinstance(given, KeyedPairs):
            inner = next((one for name, one in given if plain_key(name) in _BOX_KEYS), None)
            inner = given if inner is None and _numbers(given, _CORNERS) else inner
            yield from [(key, inner)] if inner is not None else _of_members(given)
        elif (
            isinstance(given, list) and (not given or isinstance(given[0], list)) and _numbers(given, _CORNERS) is None
        ):
            yield from (pair for one in given for pair in _nested(key, one))
        elif given is not None:
            yield str(key), given


def _nested(key: str, one: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(one, KeyedPairs):
        entry = _entry(one)
        numbers = next((box for name, box in one if plain_key(name) in _BOX_KEYS), None)
        yield entry or (key, numbers)
    else:
        yield str(key), one


def _numbers(given: Any, count: int) -> list[float] | None:
    if isinstance(given, KeyedPairs):
        sides = [[one for name in names for one in given.values_of(name)[:1]] for names in _SIDES]
        given = next((one for one in sides if len(one) == count), None)
    if not isinstance(given, list) or len(given) != count:
        return None
    try:
        numbers = [float(one) for one in given]
    except (TypeError, ValueError):
        return None
    return numbers if all(abs(one) < 1e9 for one in numbers) else None


def read_outlines(text: str, schema: ReplySchema) -> ReplyReading:
    """Polygons of every class, corners as fractions of width and height; what was asked for in thousandths."""
    objects = [one for one in embedded_objects(text) if isinstance(one.value, KeyedPairs)]
    if not objects:
        if _SEGMENT_CODES.search(text):
            return failed("codes of <seg> need the model's own decoder: hand in masks with file:PATH")
        return refused("declines") if refuses(text) else failed("no object in the answer")
    held = objects[-1]
    if any(repr(one.value) != repr(held.value) for one in objects):
        return failed("two objects say different things")
    outlines: dict[str, list[list[tuple[float, float]]]] = {}
    notes = []
    for key, given in held.value:
        name = schema.names.object(str(key))
        polygons = [polygon for one in _polygons(given) if (polygon := _corners(one)) is not None]
        if name is None:
            notes.append(f"{key!r} is none of the classes")
        elif not polygons and given not in ([], None):
            notes.append(f"{key!r} has no polygon of three corners or more")
        else:
            outlines.setdefault(name, []).extend(polygons)
    if held.value and not outlines and notes:
        return failed("; ".join(notes[:3]), *notes)
    return read_as(outlines, AS_ASKED if is_whole(text, held) else "object", *notes)


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
