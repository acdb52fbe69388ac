"""Detections of any framework as COCO results of a COCO data set: images, classes and corners found out and said.

A format says which readings of its numbers are possible; those that do not fit the references are dropped (a class
that there is not, a box that leaves the image). Exactly one must remain, else the error names the option.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from surgeval.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgeval.metrics.detection.coco_records import BoxColumns
from surgeval.schema.table_files import read_frame
from surgeval.schema.tabular import first_line
from surgeval.scoring.predictions.arrow_folders import is_saved_data_set, read_saved_data_set
from surgeval.scoring.predictions.box_folders import boxes_of_folder
from surgeval.scoring.predictions.box_json import boxes_of_json
from surgeval.scoring.predictions.box_tables import boxes_of_table
from surgeval.scoring.predictions.documents import read_json
from surgeval.scoring.predictions.raw_boxes import (
    BOX_FORMATS,
    CLASS_NUMBERS,
    FROM_0,
    FROM_1,
    IDS,
    Key,
    RawBoxes,
)

PICKLED = (".pth", ".pt", ".pkl", ".pickle")
_TOLERATED_PX, _TOLERATED_SHARE = 2.0, 0.02
"""How far a box may leave the image: models predict a little beyond its edge."""


class Read(NamedTuple):
    """COCO results, and what was found out about them."""

    results: list[Any] | BoxColumns
    form: str


def read_boxes(
    source: Any,
    dataset: Mapping[str, Any],
    *,
    box_format: str | None = None,
    class_numbers: str | None = None,
    prediction_labels: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> Read:
    """The detections of a file, folder or table as COCO results.

    Args:
        source: A path, COCO results, or a table.
        dataset: The COCO data set of the references.
        box_format: One of `BOX_FORMATS`, where the file leaves it open.
        class_numbers: One of `CLASS_NUMBERS`, where the file leaves it open.
        prediction_labels: Names of the class numbers in the model's order.
        columns: Our names of columns to theirs.

    Raises:
        FileUnreadable: Nothing that holds boxes, or a pickle.
        InputInvalid: Images or classes that the references do not have; all are named.
        Misuse: Two readings fit; names the option that decides.
    """
    for name, value, known in (("box format", box_format, BOX_FORMATS), ("numbering", class_numbers, CLASS_NUMBERS)):
        if value is not None and value not in known:
            raise UnknownName(f"{name} of predictions", value, known)
    if _is_plain(source, dataset) and not (box_format or class_numbers or prediction_labels):
        return Read(source, "")
    try:
        raw = _raw(source, columns or {})
    except (TypeError, KeyError, IndexError, AttributeError, ValueError) as error:
        raise InputInvalid("predictions", [f"entries that are no boxes ({first_line(error)})"]) from None
    if raw.problems:
        raise InputInvalid("predictions", raw.problems)
    images = _Images(dataset)
    numbers = [images.number(key) for key in raw.images]
    if lost := [str(key) for key, number in zip(raw.images, numbers, strict=True) if number is None]:
        first = f"{len(lost)} boxes are of images that the references do not have (first: {lost[0]!r})"
        raise InputInvalid("predictions", [f"{first}; references call theirs {images.shown}"])
    labels, how = _categories(raw, dataset, class_numbers, prediction_labels)
    corners, form = _in_pixels(raw, [images.size(number) for number in numbers], box_format)
    results = []
    for row, (number, label) in enumerate(zip(numbers, labels, strict=True)):
        record = {"image_id": number, "category_id": label, "bbox": corners[row]}
        if raw.scores[row] is not None and not np.isnan(raw.scores[row] or 0.0):
            record["score"] = raw.scores[row]
        if raw.outlines[row] is not None:
            record["segmentation"] = _outline(raw.outlines[row], images.size(number))
        results.append(record)
    return Read(results, f"Predictions were read as {raw.form}; boxes as {form}; {how}.")


def _is_plain(source: Any, dataset: Mapping[str, Any]) -> bool:
    """COCO results by ids that the references have, which need nothing found out; the usual and the fastest case.

    The first entry tells; if others differ from it, they are refused by name when they are compared.
    """
    if not isinstance(source, list) or (source and not isinstance(source[0], Mapping)):
        return isinstance(source, list)
    first = source[0] if source else {}
    if "image_id" not in first or "boxes" in first or "keypoints" in first:
        return not source
    if isinstance(first.get("category_id"), str):
        return any(record.get("id") == first["category_id"] for record in _records(dataset, "categories"))
    if "file_name" not in first and not isinstance(first["image_id"], str):
        return True
    return any(record.get("id") == first["image_id"] for record in _records(dataset, "images"))


def _records(dataset: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    records = dataset.get(key)
    return [one for one in records if isinstance(one, Mapping)] if isinstance(records, list) else []


def _raw(source: Any, columns: Mapping[str, str]) -> RawBoxes:
    if isinstance(source, list | dict):
        return boxes_of_json(source, "predictions")
    if not isinstance(source, str | Path):
        return boxes_of_table(source, "predictions", columns)
    path = Path(source)
    if path.is_dir():
        if is_saved_data_set(path):
            return boxes_of_table(read_saved_data_set(path), str(path), columns)
        return boxes_of_folder(path, columns)
    suffix = path.suffix.lower()
    if suffix in PICKLED:
        raise FileUnreadable(str(path), ["a pickle can run anything when it is opened; save boxes as JSON or NPZ"])
    if suffix in (".json", ".jsonl"):
        return boxes_of_json(read_json(path), path.stem)
    if suffix in (".csv", ".tsv", ".parquet"):
        return boxes_of_table(read_frame(path), path.name, columns)
    raise FileUnreadable(
        str(path), ["expected JSON, CSV, Parquet or a folder with a file per image (text, XML, JSON, NPZ)"]
    )


class _Images:
    """The images of a data set by id, name, name without its first folders or ending, and video with frame."""

    def __init__(self, dataset: Mapping[str, Any]) -> None:
        records = [one for one in _records(dataset, "images") if isinstance(one.get("id"), int | str)]
        self._records = {one["id"]: one for one in records}
        self._names: dict[Key, Any] = {}
        for spell in _SPELLINGS:
            self._add(spell, records)
        if len({str(one.get("video")) for one in records}) == 1:
            self._add(_frame, records)
        some = next(iter(records), {})
        self.shown = repr(some.get("file_name") or some.get("id"))

    def _add(self, spell: Callable[[Mapping[str, Any]], Iterable[Key]], records: list[Mapping[str, Any]]) -> None:
        """Names of one spelling; one that two images share names neither."""
        by_name: dict[Key, Any] = {}
        shared: set[Key] = set()
        for one in records:
            shared.update(name for name in spell(one) if by_name.setdefault(name, one["id"]) != one["id"])
        for name, number in by_name.items():
            if name not in shared:
                self._names.setdefault(name, number)

    def number(self, key: Key) -> Any:
        """The id of an image, or None."""
        if key in self._names or not isinstance(key, str):
            return self._names.get(key)
        place = PurePosixPath(key.replace("\\", "/"))
        image = next((self._names[name] for name in _endings(place) if name in self._names), None)
        if image is None and place.stem.isdecimal():
            return self._names.get((place.parent.name, int(place.stem)))
        return image if image is None or self._may_be(image, place) else None

    def _may_be(self, number: Any, place: PurePosixPath) -> bool:
        """Whether an image can lie at a place: folders that both carry numbers, and others, are of different videos."""
        ours, theirs = (_digits(one.parent.name) for one in (PurePosixPath(_name(self._records[number]) or ""), place))
        return not ours or not theirs or ours == theirs

    def size(self, number: Any) -> tuple[float, float] | None:
        """Width and height, where the data set states them."""
        one = self._records[number]
        width, height = one.get("width"), one.get("height")
        return (float(width), float(height)) if width and height else None


def _name(one: Mapping[str, Any]) -> str | None:
    return one["file_name"].replace("\\", "/") if isinstance(one.get("file_name"), str) else None


def _endings(place: PurePosixPath) -> list[str]:
    """A path without its first folders, longest first, each with and without the ending of the file.

    Example:
        >>> _endings(PurePosixPath("video01/26.jpg"))
        ['video01/26.jpg', 'video01/26', '26.jpg', '26']
    """
    tails = ["/".join(place.parts[at:]) for at in range(len(place.parts))]
    return [name for tail in tails for name in (tail, tail.removesuffix(place.suffix))]


def _digits(text: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d{1,12}", text)]


def _frame(one: Mapping[str, Any]) -> list[int]:
    return [one["frame"]] if isinstance(one.get("frame"), int) else []


_SPELLINGS: tuple[Callable[[Mapping[str, Any]], Iterable[Key]], ...] = (
    lambda one: [one["id"]],
    lambda one: [name] if (name := _name(one)) else [],
    lambda one: [str(one["id"])],
    lambda one: _endings(PurePosixPath(_name(one) or "")),
    lambda one: [(str(one["video"]), frame) for frame in _frame(one)] if "video" in one else [],
)


def _categories(
    raw: RawBoxes, dataset: Mapping[str, Any], stated: str | None, classes: Sequence[str]
) -> tuple[list[Any], str]:
    """The category of every detection, and how it was found."""
    listed = [one for one in _records(dataset, "categories") if isinstance(one.get("id"), int | str)]
    known = {one["id"]: str(one.get("name", one["id"])) for one in listed}
    ids = {_spelt(name): number for number, name in known.items()}
    texts = [label for label in raw.labels if isinstance(label, str)]
    if strange := sorted({text for text in texts if _spelt(text) not in ids}):
        names = ", ".join(known.values())
        raise InputInvalid("predictions", [f"classes {', '.join(strange[:5])} are none of the references ({names})"])
    numbers = sorted({label for label in raw.labels if not isinstance(label, str)})
    if not numbers:
        return [ids[_spelt(str(label))] for label in raw.labels], "classes by name"
    mapping, how = _numbering(numbers, raw, known, ids, stated, classes)
    return [ids[_spelt(one)] if isinstance(one, str) else mapping[one] for one in raw.labels], how


def _numbering(
    numbers: list[int], raw: RawBoxes, known: Mapping[Any, str], ids: Mapping[str, Any], stated: str | None,
    classes: Sequence[str],
) -> tuple[dict[int, Any], str]:  # fmt: skip
    """What each class number stands for."""
    names = tuple(classes) or raw.class_names
    if names and stated != IDS:
        return _by_names(numbers, names, ids, raw, stated)
    if not all(isinstance(one, int) for one in known):
        raise Misuse(
            f"class numbers {', '.join(map(str, numbers[:10]))}: the references have names and no numbers "
            f"({', '.join(known.values())}); name yours in the model's order with --prediction-labels"
        )
    ordered = list(known)
    readings: dict[str, dict[int, Any]] = {}
    for reading in (stated,) if stated else raw.class_numbers:
        meaning = {n: _at(n, reading, ordered, known) for n in numbers}
        if None not in meaning.values() and meaning not in readings.values():
            readings[reading] = meaning
    if len(readings) == 1:
        ((reading, meaning),) = readings.items()
        words = {IDS: "as the references' own ids", FROM_0: "in the references' order from 0"}
        return meaning, f"class numbers {words.get(reading, 'in the order of the references from 1')}"
    listed = ", ".join(f"{n} {name}" for n, name in known.items())
    what = "fit no reading" if not readings else f"can be {' or '.join(readings)}"
    raise Misuse(
        f"class numbers {', '.join(map(str, numbers[:10]))} {what} (references: {listed}); say --class-numbers "
        f"{' or '.join(readings or CLASS_NUMBERS)}, or name the classes in the model's order with --prediction-labels"
    )


def _by_names(
    numbers: list[int], names: Sequence[str], ids: Mapping[str, Any], raw: RawBoxes, stated: str | None
) -> tuple[dict[int, Any], str]:
    """What each class number stands for, by names whose first is that of 0 or of 1."""
    counted = {FROM_0: 0, FROM_1: 1}
    allowed = (stated,) if stated else (FROM_0,) if raw.class_numbers[0] == FROM_0 else (FROM_0, FROM_1)
    readings: dict[str, dict[int, Any]] = {}
    for reading in allowed:
        places = {n: n - counted[reading] for n in numbers}
        if all(0 <= place < len(names) for place in places.values()):
            readings[reading] = {n: ids.get(_spelt(names[place])) for n, place in places.items()}
    readings = {reading: mapping for reading, mapping in readings.items() if None not in mapping.values()}
    if not readings:
        message = f"class numbers {numbers[0]} to {numbers[-1]} do not fit the names {', '.join(names)}"
        raise InputInvalid("predictions", [message])
    if len(readings) > 1:
        raise Misuse(
            f"class numbers {', '.join(map(str, numbers[:10]))} fit the names {', '.join(names)} from 0 and from 1; "
            "say --class-numbers from-0 or from-1"
        )
    ((reading, mapping),) = readings.items()
    return mapping, f"classes by the names {', '.join(names)}, counted from {counted[reading]}"


def class_number_hint(results: Sequence[Any] | BoxColumns, dataset: Mapping[str, Any]) -> list[str]:
    """What to say about class numbers that the references do not have, where counting in their order fits."""
    known = {one["id"]: "" for one in _records(dataset, "categories") if isinstance(one.get("id"), int)}
    columns = results.category.tolist() if isinstance(results, BoxColumns) else None
    given = columns or [one.get("category_id") for one in results if isinstance(one, Mapping)]
    numbers = {number for number in given if isinstance(number, int)}
    if numbers <= set(known):
        return []
    fitting = [way for way in (FROM_0, FROM_1) if all(_at(n, way, list(known), known) is not None for n in numbers)]
    counted = " or ".join(f"{way} where classes are counted in the references' order from {way[-1]}" for way in fitting)
    return [f"say --class-numbers {counted}"] if fitting else []


def _at(number: int, reading: str, ordered: list[Any], known: Mapping[Any, str]) -> Any:
    if reading == IDS:
        return number if number in known else None
    place = number - (1 if reading == FROM_1 else 0)
    return ordered[place] if 0 <= place < len(ordered) else None


def _spelt(name: str) -> str:
    """A class name without differences that file formats make: case, blanks, dashes."""
    return name.strip().casefold().replace("_", " ").replace("-", " ")


def _in_pixels(
    raw: RawBoxes, sizes: Sequence[tuple[float, float] | None], stated: str | None
) -> tuple[list[list[float]], str]:
    """Every box as left, top, width and height in pixels, and the format that it was in."""
    if not raw.boxes:
        return [], raw.formats[0]
    if all(box is None for box in raw.boxes):
        return [[]] * len(raw.boxes), "masks only"
    try:
        boxes = np.array(raw.boxes, dtype=np.float64).reshape(len(raw.boxes), 4)
    except (TypeError, ValueError):
        wrong = next(row for row, box in enumerate(raw.boxes) if not _is_four(box))
        message = f"box {wrong + 1} is not four numbers: {str(raw.boxes[wrong])[:60]}"
        raise InputInvalid("predictions", [message]) from None
    if not np.isfinite(boxes).all():
        raise InputInvalid("predictions", ["boxes hold numbers that are not finite"])
    formats = (stated,) if stated else _with_scale(raw.formats, boxes)
    fitting = [form for form in formats if stated or _fits(boxes, form, sizes)]
    if len(fitting) > 1 and len({_corners(boxes, form, sizes).tobytes() for form in fitting}) == 1:
        fitting = fitting[:1]
    if len(fitting) != 1:
        what = f"boxes can be {' or '.join(fitting)}" if fitting else f"boxes leave the images if read as {formats[0]}"
        raise Misuse(f"{what}; say which with --box-format {' or '.join(fitting or BOX_FORMATS)}")
    corners = _corners(boxes, fitting[0], sizes)
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).tolist(), fitting[0]


def _is_four(box: Any) -> bool:
    try:
        return np.array(box, dtype=np.float64).shape == (4,)
    except (TypeError, ValueError):
        return False


def _with_scale(formats: Sequence[str], boxes: np.ndarray) -> tuple[str, ...]:
    """The formats in the scale of the numbers: shares where no number is beyond 1."""
    if any(form.endswith("n") for form in formats):
        return tuple(formats)
    shares = boxes.max() <= 1 + _TOLERATED_SHARE
    return tuple(f"{form}n" if shares else form for form in formats)


def _corners(boxes: np.ndarray, form: str, sizes: Sequence[tuple[float, float] | None]) -> np.ndarray:
    """Left, top, right and bottom in pixels."""
    plain = form.removesuffix("n")
    start, end = boxes[:, :2], boxes[:, 2:]
    if plain == "xywh":
        end = start + end
    elif plain == "cxcywh":
        start, end = start - end / 2, start + end / 2
    corners = np.concatenate([start, end], axis=1)
    if not form.endswith("n"):
        return corners
    if None in sizes:
        raise Misuse(
            "boxes are shares of the image, but the references state no size of the images; give boxes in pixels, or "
            "references with width and height"
        )
    return corners * np.tile(np.array(sizes, dtype=np.float64), 2)


def _fits(boxes: np.ndarray, form: str, sizes: Sequence[tuple[float, float] | None]) -> bool:
    """Whether boxes in a format have an area and lie within their images."""
    corners = _corners(boxes, form, sizes)
    if not (corners[:, 2:] > corners[:, :2]).all():
        return False
    known = [place for place, size in enumerate(sizes) if size is not None]
    limit = np.array([sizes[place] for place in known], dtype=np.float64).reshape(-1, 2)
    slack = np.maximum(_TOLERATED_PX, _TOLERATED_SHARE * limit)
    inside = (corners[known, :2] >= -slack).all() and (corners[known, 2:] <= limit + slack).all()
    return bool(inside and (corners[:, :2] >= -max(_TOLERATED_PX, _TOLERATED_SHARE * np.abs(corners).max())).all())


def _outline(outline: Any, size: tuple[float, float] | None) -> Any:
    if not isinstance(outline, Mapping) or "shares" not in outline:
        return outline
    if size is None:
        raise Misuse("outlines are shares of the image, but the references state no size of the images")
    return [[number * size[place % 2] for place, number in enumerate(outline["shares"])]]
