"""Boxes from tables, and boxes as a file holds them before anyone knows which images, classes and corners they mean.

Boxes from tables: CSV, Parquet, lists of records; columns by the names that people give them.

A column name decides where it can mean one thing only: `x1` to `y2` are corners and `cx` is a centre, but `x, y,
width, height` is a corner and a size in COCO and a centre and a size in Roboflow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from surgvalid.errors import FileUnreadable
from surgvalid.schema.tables.tabular import as_frame

IDS, FROM_0, FROM_1 = "ids", "from-0", "from-1"
CLASS_NUMBERS = (IDS, FROM_0, FROM_1)
"""What a class number can be: an id of the references, or a place in a list that counts from 0 or from 1."""
XYXY, XYWH, CXCYWH = "xyxy", "xywh", "cxcywh"
BOX_FORMATS = (XYXY, XYWH, CXCYWH, "xyxyn", "xywhn", "cxcywhn")
"""Corners, corner and size, centre and size; `n` for shares of the image, else pixels."""

Key = int | str | tuple[str, int]
"""An image: its id, its name, or its video and frame number."""


@dataclass
class RawBoxes:
    """Detections in the order of a file, and which readings of their numbers its format allows."""

    form: str
    """What the file was interpreted as, in words."""
    formats: tuple[str, ...]
    """Readings of the four numbers of a box."""
    class_numbers: tuple[str, ...] = CLASS_NUMBERS
    """Readings of a class number."""
    class_names: tuple[str, ...] = ()
    """Names by place, where a file beside the predictions lists them."""
    by_name: bool = False
    """Whether images are called by the names of files, so that digits can be no id."""
    images: list[Key] = field(default_factory=list)
    sizes: dict[Key, tuple[float, float] | None] = field(default_factory=dict)
    """Every image that the file lists, with its width and height where it states them."""
    ids: list[Any] = field(default_factory=list)
    """The id that stands beside the name of an image, where a file has both."""
    labels: list[int | str] = field(default_factory=list)
    boxes: list[Any] = field(default_factory=list)
    scores: list[float | None] = field(default_factory=list)
    outlines: list[Any] = field(default_factory=list)
    """A COCO segmentation, a flat polygon as shares of the image under `shares`, or None."""
    problems: list[str] = field(default_factory=list)

    def add(self, image: Key | None, label: Any, box: Any, score: Any = None, outline: Any = None) -> None:
        """Keep one detection."""
        if image is None:
            self.problems.append(f"box {len(self.images) + 1} names no image")
        self.images.append(image if isinstance(image, int | str | tuple) else str(image))
        self.labels.append(label if isinstance(label, int | str) else str(label))
        self.boxes.append(box)
        self.scores.append(self._score(score))
        self.outlines.append(outline)

    def _score(self, score: Any) -> float | None:
        try:
            return None if score is None else float(score)
        except (TypeError, ValueError):
            self.problems.append(f"box {len(self.images)}: the score is no number: {str(score)[:40]!r}")
            return None

    def add_image(self, image: Key, labels: Iterable[Any], boxes: Iterable[Any], scores: Iterable[Any]) -> None:
        """Keep the detections of one image."""
        rows = list(zip(labels, boxes, scores, strict=False))
        for label, box, score in rows:
            self.add(image, _plain(label), box, score)


def _plain(label: Any) -> int | str:
    """A label as text or a whole number; JSON and arrays may hold it as a float."""
    if isinstance(label, str):
        return label
    number = float(label)
    return int(number) if number.is_integer() else str(label)


_SIDES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("x1", "y1", "x2", "y2"), (XYXY,)),
    (("xmin", "ymin", "xmax", "ymax"), (XYXY,)),
    (("xtl", "ytl", "xbr", "ybr"), (XYXY,)),
    (("left", "top", "right", "bottom"), (XYXY,)),
    (("left", "top", "width", "height"), (XYWH,)),
    (("cx", "cy", "w", "h"), (CXCYWH,)),
    (("cx", "cy", "width", "height"), (CXCYWH,)),
    (("xc", "yc", "w", "h"), (CXCYWH,)),
    (("xcenter", "ycenter", "width", "height"), (CXCYWH,)),
    (("x", "y", "w", "h"), (XYWH, CXCYWH)),
    (("x", "y", "width", "height"), (XYWH, CXCYWH)),
    (("xpx", "ypx", "widthpx", "heightpx"), (XYWH,)),
)
"""Columns of the four numbers without underscores, and the readings that they allow."""
_LISTED = ("bbox", "box", "boxes", "bounding_box")
_FILES = ("file_name", "filename", "image_name", "image_path")
_IMAGES = ("image_id", *_FILES, "image", "img", "case")
_LABELS = ("category_name", "class_name", "category", "name", "label", "category_id", "class", "class_id", "cls")
_SCORES = ("score", "confidence", "conf", "probability", "prob")
_FRAMES = ("frame", "frame_index", "frame_id", "frame_number")
_EITHER = (XYXY, XYWH, CXCYWH)


def boxes_of_table(source: Any, where: str, columns: Mapping[str, str] | None = None, *, about: str = "") -> RawBoxes:
    """The detections of a table: one row per box, or one row per image with lists.

    Args:
        source: Anything tabular.
        where: What to call it in errors.
        columns: Our names (`image`, `label`, `score`, `box`) to theirs, where theirs say something else.
        about: The image that all rows are of, where no column names it.

    Raises:
        FileUnreadable: No column of images, classes or boxes; every lacking one is named.
    """
    frame, asked = as_frame(source), dict(columns or {})
    if isinstance(frame.schema.get("objects"), pl.Struct):
        frame = frame.unnest("objects")
    frame = frame.rename({name: name.strip() for name in frame.columns if name != name.strip()})
    small = {name.casefold(): name for name in frame.columns}
    image = asked.get("image") or _first(small, _IMAGES)
    beside = image if image == small.get("image_id") and "image" not in asked else None
    named = [small[name] for name in _FILES if name in small and frame.schema[small[name]] == pl.String]
    image, beside = (named[0], beside) if beside and named else (image, None)
    moment = None if image else _moment(small)
    label = asked.get("label") or _first(small, _LABELS)
    score = asked.get("score") or _first(small, _SCORES)
    sides, formats = _sides(small, asked)
    problems = [
        f"no column for {what}; name yours with --columns {ours}=..."
        for what, ours, column in (
            ("the image (or video and frame)", "image", image or moment or about),
            ("the class", "label", label),
            ("the boxes", "box", sides),
        )
        if not column
    ]
    problems += [f"column {name!r} does not exist" for name in asked.values() if name not in frame.columns]
    if problems or label is None:
        listed = ", ".join(map(repr, frame.columns[:20]))
        raise FileUnreadable(where, [*problems, f"the columns are {listed}"])
    frame = _one_row_per_box(frame, [*sides, label, *([score] if score else [])])
    form = f"a table of boxes (columns {', '.join(sides)})"
    raw = RawBoxes(form, formats)
    for row in frame.iter_rows(named=True):
        key = row[image] if image else (str(row[moment[0]]), int(row[moment[1]])) if moment else about
        key = key or row[beside] if beside else key
        box = _listed(row[sides[0]]) if len(sides) == 1 else [row[side] for side in sides]
        raw.ids += [row[beside]] if beside else []
        raw.add(key, row[label], box, row[score] if score else None)
    return raw


def _first(small: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((small[name] for name in names if name in small), None)


def _moment(small: Mapping[str, str]) -> tuple[str, str] | None:
    video, frame = _first(small, ("video", "video_id")), _first(small, _FRAMES)
    return (video, frame) if video and frame else None


def _sides(small: Mapping[str, str], asked: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    if "box" in asked:
        return [asked["box"]], _EITHER
    joined = {name.replace("_", ""): column for name, column in small.items()}
    for names, formats in _SIDES:
        if all(name in joined for name in names):
            return [joined[name] for name in names], formats
    listed = _first(small, _LISTED)
    return ([listed], _EITHER) if listed else ([], ())


def _one_row_per_box(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Rows of images with lists become rows of boxes; an image with empty lists has none."""
    nested = [name for name in names if _holds_lists(frame.schema[name], name)]
    return frame.explode(nested).drop_nulls(nested[0]) if nested else frame


def _holds_lists(kind: pl.DataType, name: str) -> bool:
    """Whether a column holds a list per image; a box itself is a list of four."""
    if not isinstance(kind, pl.List):
        return False
    return isinstance(kind.inner, pl.List | pl.Array) or name.casefold() not in _LISTED


def _listed(cell: Any) -> Any:
    """A box in one cell: a list, an object with corners, or the text of either."""
    if isinstance(cell, str):
        try:
            cell = ast.literal_eval(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return None
    if isinstance(cell, Mapping):
        return [cell.get(side) for side in ("x1", "y1", "x2", "y2")]
    return list(cell) if cell is not None else None
