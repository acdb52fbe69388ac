"""Detections of any framework as COCO results of a COCO data set: images, classes and corners found out and said.

A format says which readings of its numbers are possible; those that do not fit the references are dropped (a class
that there is not, a box that leaves the image). Exactly one must remain, else the error names the option.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.alignment.box_readings import moved_boxes
from surgvalid.evaluation.alignment.boxes import NEIGHBOURS
from surgvalid.evaluation.predictions.box_folders import boxes_of_document, boxes_of_folder
from surgvalid.evaluation.predictions.box_json import boxes_of_json
from surgvalid.evaluation.predictions.box_tables import (
    BOX_FORMATS,
    CLASS_NUMBERS,
    FROM_0,
    FROM_1,
    IDS,
    Key,
    RawBoxes,
    boxes_of_table,
)
from surgvalid.evaluation.predictions.joining import (
    ID,
    NUMBER,
    Images,
    ImageVotes,
    Lying,
    is_four,
    joined_images,
)
from surgvalid.evaluation.predictions.plain_files import is_saved_data_set, read_saved_data_set, read_table
from surgvalid.metrics.detection.cases import BoxColumns
from surgvalid.schema.tables.tabular import first_line

PICKLED = (".pth", ".pt", ".pkl", ".pickle")
_TOLERATED_PX, _TOLERATED_SHARE = 2.0, 0.02
"""How far a box may leave the image: models predict a little beyond its edge."""
_FEW = 0.1
"""A smaller share of odd boxes than this is no other format."""


class PredictionsRead(NamedTuple):
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
    join: str | None = None,
    boxes_from: str | None = None,
) -> PredictionsRead:
    """The detections of a file, folder or table as COCO results.

    Args:
        source: A path, COCO results, or a table.
        dataset: The COCO data set of the references.
        box_format: One of `BOX_FORMATS`, where the file leaves it open.
        class_numbers: One of `CLASS_NUMBERS`, where the file leaves it open.
        prediction_labels: Names of the class numbers in the model's order.
        columns: Our names of columns to theirs.
        join: One of `JOINS`, where the file leaves it open.
        boxes_from: What was done to the images before the boxes were predicted, as `moved_boxes` undoes it.

    Raises:
        FileUnreadable: Nothing that holds boxes, or a pickle.
        InputInvalid: Images or classes that the references do not have; all are named.
        Misuse: Two readings fit; names the option that decides.
    """
    for name, value, known in (("box format", box_format, BOX_FORMATS), ("numbering", class_numbers, CLASS_NUMBERS)):
        if value is not None and value not in known:
            raise UnknownName(f"{name} of predictions", value, known)
    images = Images(dataset)
    if not (box_format or class_numbers or prediction_labels or boxes_from):
        plain = _plain(source, dataset, images, join)
        if plain is not None:
            return plain
    if isinstance(source, BoxColumns):
        source = source.records()
    try:
        raw = _raw(source, columns or {})
    except (TypeError, KeyError, IndexError, AttributeError, ValueError) as error:
        raise InputInvalid("predictions", [f"entries that are no boxes ({first_line(error)})"]) from None
    if raw.problems:
        raise InputInvalid("predictions", raw.problems)
    votes = ImageVotes(raw.images, raw.ids, raw.by_name)
    matched = joined_images(votes, images, join, _lying(raw, images, box_format))
    numbers = [matched.images[key] for key in raw.images]
    labels, how = _categories(raw, dataset, class_numbers, prediction_labels)
    sizes = [images.size(number) for number in numbers]
    corners, form = _in_pixels(raw, sizes, box_format or (raw.formats[0] if boxes_from else None))
    if boxes_from and corners:
        within = np.array([one or (np.nan, np.nan) for one in sizes], dtype=np.float64)
        corners, form = moved_boxes(np.array(corners), within, boxes_from).tolist(), f"{form}, from {boxes_from}"
    results = []
    for row, (number, label) in enumerate(zip(numbers, labels, strict=True)):
        record = {"image_id": number, "category_id": label, "bbox": corners[row]}
        if raw.scores[row] is not None and not np.isnan(raw.scores[row] or 0.0):
            record["score"] = raw.scores[row]
        if raw.outlines[row] is not None:
            record["segmentation"] = _outline(raw.outlines[row], images.size(number))
        results.append(record)
    return PredictionsRead(results, f"{raw.form}; {matched.how}; boxes as {form}; {how}")


def _plain(source: Any, dataset: Mapping[str, Any], images: Images, join: str | None) -> PredictionsRead | None:
    """COCO results by numbers alone, the usual and the fastest case; None where something else must be found out.

    Ids and categories that the references do not have are left as they are: they are refused by name when compared.
    """
    if not all(isinstance(one, int) for one in _classes(dataset)):
        return None  # numbers of classes are those of somebody else
    if isinstance(source, BoxColumns):
        if source.name is not None:
            return None
        ids, place = np.unique(source.image, return_inverse=True)
        keys: list[Key] = ids.tolist()
    elif isinstance(source, list) and not any(isinstance(one, Mapping) and _says_more(one, images) for one in source):
        named = [one for one in source if isinstance(one, Mapping) and isinstance(one.get("image_id"), int | str)]
        keys, place = [one["image_id"] for one in named], None
        if len(named) < len(source) or not named:
            return PredictionsRead(source, "COCO results") if named or not source else None
        texts = [one["category_id"] for one in named if isinstance(one.get("category_id"), str)]
        if set(texts) - set(_classes(dataset)):
            return None if len(texts) == len(named) else PredictionsRead(source, "COCO results")
    else:
        return None

    def lying(_: Mapping[Key, Any]) -> tuple[Sequence[Key], np.ndarray] | None:
        boxes = source.box if isinstance(source, BoxColumns) else [one.get("bbox") for one in source]
        if place is None and not all(map(is_four, boxes)):
            return None
        every = keys if place is None else [keys[at] for at in place.tolist()]
        return every, np.array(boxes, dtype=np.float64).reshape(-1, 4)

    called = list(dict.fromkeys(keys))
    if join is None and all(len(images.meant(way, called)) < len(called) for way in (ID, NUMBER, *NEIGHBOURS)):
        return PredictionsRead(source, "COCO results")
    matched = joined_images(ImageVotes(keys), images, join, lying)
    form = f"COCO results; {matched.how}; boxes as xywh; classes by id"
    if all(matched.images[key] == key for key in matched.images):
        return PredictionsRead(source, form)
    if isinstance(source, BoxColumns) and place is not None:
        moved = [matched.images[key] for key in keys]
        if all(isinstance(one, int) for one in moved):
            return PredictionsRead(source._replace(image=np.array(moved, dtype=np.int64)[place]), form)
        source = source.records()
    return PredictionsRead([{**one, "image_id": matched.images[one["image_id"]]} for one in source], form)


def _says_more(one: Mapping[str, Any], images: Images) -> bool:
    """Whether a record is anything else than a COCO result that names its image by a number or an id."""
    if not {"file_name", "boxes", "keypoints"}.isdisjoint(one) or "image_id" not in one:
        return "image_id" in one or not {"bbox", "category_id"} <= set(one)
    return isinstance(one["image_id"], str) and one["image_id"] not in images.records


def _lying(raw: RawBoxes, images: Images, stated: str | None) -> Lying:
    """Where the boxes lie in the format that the file most likely has."""

    def lying(meant: Mapping[Key, Any]) -> tuple[Sequence[Key], np.ndarray] | None:
        if not all(map(is_four, raw.boxes)):
            return None
        boxes = np.array(raw.boxes, dtype=np.float64).reshape(-1, 4)
        form = stated or _with_scale(raw.formats, boxes)[0]
        corners = _corners(boxes, form, [images.size(meant[key]) for key in raw.images])
        return raw.images, np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1)

    return lying


def _classes(dataset: Mapping[str, Any]) -> dict[Any, str]:
    """The name of every class by its id."""
    listed = dataset.get("categories")
    records = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    return {one["id"]: str(one.get("name", one["id"])) for one in records if isinstance(one.get("id"), int | str)}


def read_data_set(path: Path) -> dict[str, Any]:
    """References in any layout of boxes as a COCO data set, without ids that nobody wrote.

    Images are known by name alone, and classes too unless the layout numbers them.

    Raises:
        FileUnreadable: Nothing that holds boxes.
        InputInvalid: What is wrong with them.
        Misuse: Boxes are shares of images whose size nothing states.
    """
    raw = _raw(path, {})
    if raw.problems:
        raise InputInvalid("references", raw.problems)
    keys = list(dict.fromkeys([*raw.sizes, *raw.images]))
    listed = raw.class_names or tuple(dict.fromkeys(str(label) for label in raw.labels))
    numbered = any(isinstance(label, int) for label in raw.labels)
    classes: dict[Any, str] = dict(enumerate(listed)) if numbered and raw.class_names else {one: one for one in listed}
    corners, _ = _in_pixels(raw, [raw.sizes.get(key) for key in raw.images], raw.formats[0])
    ids = {_spelt(name): one for one, name in classes.items()}
    images: list[dict[str, Any]] = []
    for key in keys:
        size = raw.sizes.get(key)
        images.append({"id": str(key), "file_name": str(key)} | ({"width": size[0], "height": size[1]} if size else {}))
    annotations = [
        {
            "id": row + 1,
            "image_id": str(key),
            "category_id": label if label in classes else ids[_spelt(str(label))],
            "bbox": corners[row],
            "area": corners[row][2] * corners[row][3],
            "iscrowd": 0,
        }
        for row, (key, label) in enumerate(zip(raw.images, raw.labels, strict=True))
    ]
    categories = [{"id": one, "name": name} for one, name in classes.items()]
    return {"images": images, "categories": categories, "annotations": annotations}


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
    if suffix in (".json", ".jsonl", ".xml"):
        return boxes_of_document(path, path.parent)
    if suffix in (".csv", ".tsv", ".parquet"):
        return boxes_of_table(read_table(path), path.name, columns)
    raise FileUnreadable(
        str(path), ["expected JSON, CSV, Parquet or a folder with a file per image (text, XML, JSON, NPZ)"]
    )


def _categories(
    raw: RawBoxes, dataset: Mapping[str, Any], stated: str | None, classes: Sequence[str]
) -> tuple[list[Any], str]:
    """The category of every detection, and how it was found."""
    known = _classes(dataset)
    plain = {_spelt(name): number for number, name in known.items()}
    texts = [label for label in raw.labels if isinstance(label, str)]
    if strange := sorted({text for text in texts if _spelt(text) not in plain}):
        names = ", ".join(known.values())
        raise InputInvalid("predictions", [f"classes {', '.join(strange[:5])} are none of the references ({names})"])
    numbers = sorted({label for label in raw.labels if not isinstance(label, str)})
    if not numbers:
        if classes:
            raise Misuse("the predictions name their classes; --prediction-labels names numbers (--format renamed=A:B)")
        return [plain[_spelt(str(label))] for label in raw.labels], "classes by name"
    mapping, how = _numbering(numbers, raw, known, plain, stated, classes)
    return [plain[_spelt(one)] if isinstance(one, str) else mapping[one] for one in raw.labels], how


def _numbering(
    numbers: list[int],
    raw: RawBoxes,
    known: Mapping[Any, str],
    ids: Mapping[str, Any],
    stated: str | None,
    classes: Sequence[str],
) -> tuple[dict[int, Any], str]:
    """What each class number stands for: a place in a list of names where there is one, else in the references'."""
    names = () if stated == IDS else tuple(classes) or raw.class_names
    shown = f"class numbers {', '.join(map(str, numbers[:10]))}"
    if not names and not all(isinstance(one, int) for one in known):
        raise Misuse(
            f"{shown}: the references have names and no numbers ({', '.join(known.values())}); name yours in the "
            "model's order with --prediction-labels"
        )
    ordered = [ids.get(_spelt(name)) for name in names] or list(known)
    from_names = (FROM_0,) if raw.class_numbers[0] == FROM_0 else (FROM_0, FROM_1)
    readings: dict[str, dict[int, Any]] = {}
    for reading in (stated,) if stated else from_names if names else raw.class_numbers:
        meaning = {n: _at(n, reading, ordered, known) for n in numbers}
        if None not in meaning.values() and meaning not in readings.values():
            readings[reading] = meaning
    if len(readings) == 1:
        ((reading, meaning),) = readings.items()
        if names:
            return meaning, f"classes by the names {', '.join(names)}, counted from {reading[-1]}"
        words = {IDS: "as the references' own ids", FROM_0: "in the references' order from 0"}
        return meaning, f"class numbers {words.get(reading, 'in the order of the references from 1')}"
    if names and not readings:
        message = f"class numbers {numbers[0]} to {numbers[-1]} do not fit the names {', '.join(names)}"
        raise InputInvalid("predictions", [message])
    if names:
        raise Misuse(
            f"{shown} fit the names {', '.join(names)} from 0 and from 1; say --format classes=from-0 or from-1"
        )
    listed = ", ".join(f"{n} {name}" for n, name in known.items())
    what = "fit no reading" if not readings else f"can be {' or '.join(readings)}"
    raise Misuse(
        f"{shown} {what} (references: {listed}); say --format classes={' or '.join(readings or CLASS_NUMBERS)}, or "
        "name the classes in the model's order with --prediction-labels"
    )


def class_number_hint(results: Sequence[Any] | BoxColumns, dataset: Mapping[str, Any]) -> list[str]:
    """What to say about class numbers that the references do not have, where counting in their order fits."""
    known = {number: name for number, name in _classes(dataset).items() if isinstance(number, int)}
    columns = np.unique(results.category).tolist() if isinstance(results, BoxColumns) else None
    given = columns or [one.get("category_id") for one in results if isinstance(one, Mapping)]
    numbers = {number for number in given if isinstance(number, int)}
    if numbers <= set(known):
        return []
    fitting = [way for way in (FROM_0, FROM_1) if all(_at(n, way, list(known), known) is not None for n in numbers)]
    counted = " or ".join(f"{way} where classes are counted in the references' order from {way[-1]}" for way in fitting)
    return [f"say --format classes={counted}"] if fitting else []


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
        wrong = next(row for row, box in enumerate(raw.boxes) if not is_four(box))
        message = f"box {wrong + 1} is not four numbers: {str(raw.boxes[wrong])[:60]}"
        raise InputInvalid("predictions", [message]) from None
    if not np.isfinite(boxes).all():
        raise InputInvalid("predictions", ["boxes hold numbers that are not finite"])
    formats = (stated,) if stated else _with_scale(raw.formats, boxes)
    odd = {} if stated else {form: _odd_rows(boxes, form, sizes) for form in formats}
    fitting = [form for form in formats if stated or not odd[form].size]
    if len(fitting) > 1 and len({_corners(boxes, form, sizes).tobytes() for form in fitting}) == 1:
        fitting = fitting[:1]
    if not fitting and (least := min(odd.values(), key=len)).size <= _FEW * len(boxes):
        problems = [f"box {row + 1} has no area or leaves its image: {boxes[row].tolist()}" for row in least.tolist()]
        problems[-1] += f"; --format boxes={min(odd, key=lambda form: len(odd[form]))} takes every box as it is"
        raise InputInvalid("predictions", problems)
    if len(fitting) != 1:
        what = f"boxes can be {' or '.join(fitting)}" if fitting else f"boxes leave the images if read as {formats[0]}"
        raise Misuse(f"{what}; say which with --format boxes={' or '.join(fitting or BOX_FORMATS)}")
    corners = _corners(boxes, fitting[0], sizes)
    return np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).tolist(), fitting[0]


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


def _odd_rows(boxes: np.ndarray, form: str, sizes: Sequence[tuple[float, float] | None]) -> np.ndarray:
    """Places of boxes that in a format have no area or leave their images."""
    corners = _corners(boxes, form, sizes)
    limit = np.array([size or (np.inf, np.inf) for size in sizes], dtype=np.float64).reshape(-1, 2)
    slack = np.maximum(_TOLERATED_PX, _TOLERATED_SHARE * limit)
    least = -np.minimum(slack, max(_TOLERATED_PX, _TOLERATED_SHARE * np.abs(corners).max()))
    right = (corners[:, 2:] > corners[:, :2]) & (corners[:, :2] >= least) & (corners[:, 2:] <= limit + slack)
    return np.flatnonzero(~right.all(axis=1))


def _outline(outline: Any, size: tuple[float, float] | None) -> Any:
    if not isinstance(outline, Mapping) or "shares" not in outline:
        return outline
    if size is None:
        raise Misuse("outlines are shares of the image, but the references state no size of the images")
    return [[number * size[place % 2] for place, number in enumerate(outline["shares"])]]
