"""What detection metrics take, and COCO dictionaries as such cases.

What detection metrics take: reference objects and detected objects of a list of images.

Everything is an array over objects. Images without any object count too, which is why they are listed. The
evaluation needs no ids of annotations, so none can be wrong.

COCO dictionaries as detection cases.

Reads what the COCO format says and what its evaluation needs, and nothing else: annotation ids are not used,
so ids that start at 0 or repeat cannot change a value (which one is 0 is kept for a scorer that is reproduced on
request); a missing `area` is worked out; an empty list of results
is a model that detected nothing. Everything that cannot be meant is listed at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.metrics.classification.cases import UnitNames
from surgvalid.metrics.detection.masks import Mask, mask_of_segmentation
from surgvalid.metrics.metric import Floats, Indices, MetricUnits, units_of


@dataclass(frozen=True)
class Objects:
    """Objects of one side, reference or prediction.

    Args:
        image: The image of each object, as an index into the images.
        category: The class of each object, 0 to `classes` - 1.
        box: x, y, width and height of each object; worked out from the masks' extent only if given.
        score: Confidences of detections; None where the model gives none.
        crowd: Which references stand for a crowd that may be hit any number of times without reward.
        area: Areas that decide the size range; NaN or left out means that of the mask, else of the box.
        mask: The mask of each object, where masks are to be compared.
        numbered_0: Which references have the annotation id 0, which a reproduced scorer takes for no match.
    """

    image: Indices
    category: Indices
    box: Floats | None = None
    score: Floats | None = None
    crowd: npt.NDArray[np.bool_] | None = None
    area: Floats | None = None
    mask: Sequence[Mask] | None = None
    numbered_0: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.image)

    def of(self, rows: Indices) -> Objects:
        """Some of them."""
        columns = ("image", "category", "box", "score", "crowd", "area", "numbered_0")
        given: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[rows] for name in columns
        }
        return Objects(**given, mask=None if self.mask is None else [self.mask[row] for row in rows.tolist()])

    @property
    def sizes(self) -> Floats:
        """The area of every object: as given, else of its mask, else of its box."""
        if self.mask is not None:
            areas = np.array([mask.area for mask in self.mask], dtype=np.float64)
        elif self.box is not None:
            areas = self.box[:, 2] * self.box[:, 3]
        else:
            areas = np.zeros(len(self))
        return areas if self.area is None else np.where(np.isnan(self.area), areas, self.area)

    @property
    def crowds(self) -> npt.NDArray[np.bool_]:
        """Which objects are crowds; none unless said."""
        return np.zeros(len(self), dtype=bool) if self.crowd is None else self.crowd


@dataclass(frozen=True)
class DetectionCases:
    """Images with their reference objects and detections.

    Args:
        images: How many images there are.
        reference: What is there.
        prediction: What was detected.
        classes: How many classes were declared.
        unit: The unit of each image, usually its video; each image its own if left out.

    Raises:
        InputInvalid: With every problem.
    """

    images: int
    reference: Objects
    prediction: Objects
    classes: int
    unit: UnitNames = None
    units: MetricUnits = field(init=False)

    def __post_init__(self) -> None:
        problems: list[str] = []
        if self.classes < 1:
            problems.append(f"at least one class must be declared, got {self.classes}")
        if self.unit is not None and len(self.unit) != self.images:
            problems.append(f"{self.images} images but {len(self.unit)} units")
        for name in ("reference", "prediction"):
            objects = _checked(getattr(self, name), name, self.images, self.classes, problems)
            object.__setattr__(self, name, objects)
        if problems:
            raise InputInvalid("objects", problems)
        object.__setattr__(self, "units", units_of(self.unit, self.images))


def _checked(objects: Objects, name: str, images: int, classes: int, problems: list[str]) -> Objects:
    count = len(objects.image)
    image = _indices(objects.image, f"{name}: image", images, problems)
    category = _indices(objects.category, f"{name}: class", classes, problems)
    box = None if objects.box is None else _numbers(objects.box, f"{name}: boxes", problems).reshape(-1, 4)
    score = None if objects.score is None else _numbers(objects.score, f"{name}: scores", problems)
    area = None if objects.area is None else np.asarray(objects.area, dtype=np.float64)
    crowd = None if objects.crowd is None else np.asarray(objects.crowd, dtype=bool)
    for what, column in (("classes", category), ("boxes", box), ("scores", score), ("areas", area), ("crowds", crowd)):
        if column is not None and len(column) != count:
            problems.append(f"{name}: {count} objects but {len(column)} {what}")
    if objects.mask is not None and len(objects.mask) != count:
        problems.append(f"{name}: {count} objects but {len(objects.mask)} masks")
    if box is not None and (wrong := np.flatnonzero((box[:, 2:] < 0).any(axis=1))).size:
        problems.append(f"{name}: {wrong.size} boxes of negative width or height (first: object {wrong[0]})")
    return replace(objects, image=image, category=category, box=box, score=score, area=area, crowd=crowd)


def _indices(given: npt.ArrayLike, what: str, limit: int, problems: list[str]) -> Indices:
    values = np.asarray(given)
    if values.ndim != 1 or (values.size and not np.issubdtype(values.dtype, np.integer)):
        problems.append(f"{what} must be a list of indices, got {values.dtype} of shape {values.shape}")
        return np.zeros(0, dtype=np.intp)
    if (wrong := np.flatnonzero((values < 0) | (values >= limit))).size:
        first = f"first: object {wrong[0]}, {values[wrong[0]]}"
        problems.append(f"{what}: {wrong.size} indices outside 0 to {limit - 1} ({first})")
    return values.astype(np.intp)


def _numbers(given: Any, what: str, problems: list[str]) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if (wrong := np.argwhere(~np.isfinite(values))).size:
        problems.append(f"{what}: {len(wrong)} numbers are NaN or infinite (first: object {wrong[0][0]})")
    return values


Kind = Literal["box", "mask"]
Record = Mapping[str, Any]


class CocoCases(NamedTuple):
    """Cases, and what their indices stand for."""

    cases: DetectionCases
    images: tuple[Any, ...]
    """Image ids, in order."""
    categories: tuple[Any, ...]
    """Category ids, in order."""


class BoxColumns(NamedTuple):
    """COCO results or annotations column by column; ids are whole numbers."""

    image: np.ndarray
    category: np.ndarray
    box: np.ndarray
    score: np.ndarray | None = None
    name: np.ndarray | None = None
    """File names of the images, where the results state them."""
    area: np.ndarray | None = None
    crowd: np.ndarray | None = None
    number: np.ndarray | None = None
    """The ids of annotations."""

    def records(self) -> list[Record]:
        """The same, one record each."""
        names = "image_id", "category_id", "bbox", "score", "file_name", "area", "iscrowd", "id"
        held = {name: column.tolist() for name, column in zip(names, self, strict=True) if column is not None}
        return [dict(zip(held, row, strict=True)) for row in zip(*held.values(), strict=True)]


def annotation_records(dataset: Record) -> Any:
    """The annotations of a COCO data set, one record each."""
    given = dataset.get("annotations", [])
    return given.records() if isinstance(given, BoxColumns) else given


class _Known(NamedTuple):
    """Places of image and category ids, and the record of every image."""

    images: dict[Any, int]
    categories: dict[Any, int]
    records: Mapping[Any, Record]


def coco_cases(
    dataset: Record,
    results: Sequence[Record] | BoxColumns,
    *,
    kind: Kind = "box",
    unit: Callable[[Record], Hashable] | None = None,
) -> CocoCases:
    """The cases of a COCO data set and a COCO list of results.

    Args:
        dataset: With `images`, `categories` and `annotations`.
        results: With `image_id`, `category_id`, `score` and `bbox` or `segmentation`. Results without any
            score are allowed; a metric must then be told what that means.
        kind: Whether boxes or masks are compared.
        unit: The unit of an image record, such as its video; each image its own if left out.

    Raises:
        InputInvalid: With every problem.
    """
    problems: list[str] = []
    parts = {name: _listed(dataset, name, problems) for name in ("images", "categories")}
    images = _ids(parts["images"], "images", problems)
    categories = _ids(parts["categories"], "categories", problems)
    sizes = {record.get("id"): record for record in parts["images"] if isinstance(record.get("id"), int | str)}
    known = _Known(images, categories, sizes)
    quick = [
        _from_columns(side, known) if isinstance(side, BoxColumns) and kind == "box" else None
        for side in (dataset.get("annotations") if isinstance(dataset, Mapping) else None, results)
    ]
    reference = quick[0] or _objects(_listed(dataset, "annotations", problems), "annotations", known, kind, problems)
    listed = results.records() if isinstance(results, BoxColumns) and quick[1] is None else results
    prediction = quick[1] or _objects(_mappings(listed, "results", problems), "results", known, kind, problems)
    if problems or (problems := _size_problems(known, reference, prediction)):
        raise InputInvalid("COCO records", problems)
    by_id = {record["id"]: record for record in parts["images"]}
    units = None if unit is None else [unit(by_id[image]) for image in images]
    cases = DetectionCases(len(images), reference, prediction, max(len(categories), 1), units)
    return CocoCases(cases, tuple(images), tuple(categories))


def _from_columns(columns: BoxColumns, known: _Known) -> Objects | None:
    """The objects, or None where one of them cannot be meant."""
    image, category = (
        _known_places(ids, places)
        for ids, places in ((columns.image, known.images), (columns.category, known.categories))
    )
    sound = np.isfinite(columns.box).all() and (columns.box[:, 2:] >= 0).all()
    scored = columns.score is None or np.isfinite(columns.score).all()
    if image is None or category is None or not sound or not scored:
        return None
    first = None if columns.number is None or columns.number.all() else columns.number == 0
    return Objects(image, category, columns.box, columns.score, columns.crowd, columns.area, None, first)


def _known_places(ids: np.ndarray, places: dict[Any, int]) -> np.ndarray | None:
    """The place of every id, or None where one is unknown."""
    if not len(ids):
        return np.zeros(0, np.intp)
    if not places or not all(type(one) is int for one in places):
        return None
    known = np.array(list(places))  # in order, as `_ids` lists them
    place = np.minimum(np.searchsorted(known, ids), len(known) - 1)
    return place if (known[place] == ids).all() else None


def _listed(dataset: Record, name: str, problems: list[str]) -> list[Record]:
    records = dataset.get(name) if isinstance(dataset, Mapping) else None
    records = records.records() if isinstance(records, BoxColumns) else records
    if not isinstance(records, list):
        problems.append(f"data set has no list {name!r}")
        return []
    return _mappings(records, name, problems)


def _mappings(records: Any, name: str, problems: list[str]) -> list[Record]:
    if not isinstance(records, list | tuple):
        problems.append(f"{name} must be a list, got {type(records).__name__}")
        return []
    kept: list[Record] = [record for record in records if isinstance(record, dict)]
    if len(kept) < len(records):
        problems.append(f"{name}: {len(records) - len(kept)} of {len(records)} entries are no records")
    return kept


def _ids(records: list[Record], name: str, problems: list[str]) -> dict[Any, int]:
    """Each id with its place in sorted order, which is the order the COCO evaluation walks in."""
    known = [record["id"] for record in records if isinstance(record.get("id"), int | str)]
    if missing := len(records) - len(known):
        problems.append(f"{name}: {missing} records without an id that is a number or text")
    if repeated := [one for one, count in Counter(known).items() if count > 1]:
        problems.append(f"{name}: {len(known) - len(set(known))} ids are repeated (first: {repeated[0]!r})")
    try:
        ordered = sorted(set(known))
    except TypeError:
        ordered = sorted(set(known), key=str)
    return {one: place for place, one in enumerate(ordered)}


def _objects(records: list[Record], name: str, known: _Known, kind: Kind, problems: list[str]) -> Objects:
    image = _places(records, "image_id", known.images, name, problems)
    category = _places(records, "category_id", known.categories, name, problems)
    box = _boxes(records, name, problems, needed=kind == "box")
    mask = _masks(records, known.records, name, problems) if kind == "mask" else None
    if name == "annotations":
        crowd = _crowds(_column(records, "iscrowd"), problems)
        area = _floats(_column(records, "area"), f"{name}: area", problems)
        numbered = [type(record.get("id")) is int and record["id"] == 0 for record in records]
        numbered_0 = np.array(numbered, dtype=bool) if any(numbered) else None
        return Objects(image, category, box, None, crowd, area, mask, numbered_0)
    score = _scores(_column(records, "score"), problems)
    return Objects(image, category, box, score, None, None, mask)


def _crowds(given: list[Any], problems: list[str]) -> np.ndarray:
    """Which annotations are crowds; a text such as "0" would be one to whoever asks for its truth."""
    numbers = _numeric(given)
    if numbers is not None and np.isin(numbers, (0, 1)).all():
        return np.asarray(numbers == 1)
    wrong = [row for row, crowd in enumerate(given) if crowd is not None and not _is_flag(crowd)]
    if wrong:
        first = f"first: record {wrong[0]}, {given[wrong[0]]!r}"
        problems.append(f"annotations: {len(wrong)} records whose iscrowd is neither 0 nor 1 ({first})")
    return np.array([_is_flag(crowd) and bool(crowd) for crowd in given], dtype=bool)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool | int | float) and value in (0, 1)


def _places(records: list[Record], key: str, known: dict[Any, int], name: str, problems: list[str]) -> np.ndarray:
    try:
        return np.fromiter(map(known.__getitem__, map(itemgetter(key), records)), np.intp, len(records))
    except (KeyError, TypeError):
        strangers = [(row, record.get(key)) for row, record in enumerate(records) if not _is_known(record, key, known)]
        row, strange = strangers[0]
        problems.append(f"{name}: {len(strangers)} records with an unknown {key} (first: record {row}, {strange!r})")
        return np.zeros(len(records), dtype=np.intp)


def _is_known(record: Record, key: str, known: dict[Any, int]) -> bool:
    value = record.get(key)
    return isinstance(value, Hashable) and value in known


def _boxes(records: list[Record], name: str, problems: list[str], *, needed: bool) -> np.ndarray | None:
    given = _column(records, "bbox")
    boxes = _four_columns(given)
    if boxes is None:
        wrong = [row for row, box in enumerate(given) if _four_columns([box]) is None]
        if needed:
            problems.append(f"{name}: {len(wrong)} records without a bbox of four numbers (first: record {wrong[0]})")
        return None
    if (bad := np.flatnonzero(~np.isfinite(boxes).all(axis=1))).size:
        problems.append(f"{name}: {bad.size} boxes are not finite (first: record {bad[0]})")
    elif (bad := np.flatnonzero((boxes[:, 2:] < 0).any(axis=1))).size:
        problems.append(f"{name}: {bad.size} boxes of negative width or height (first: record {bad[0]})")
    return boxes


def _four_columns(given: list[Any]) -> np.ndarray | None:
    """The boxes as one array, or None where one of them is not four numbers."""
    boxes = _numeric(given)
    if not given:
        return np.zeros((0, 4))
    return boxes if boxes is not None and boxes.shape == (len(given), 4) else None


def _masks(records: list[Record], images: Mapping[Any, Record], name: str, problems: list[str]) -> list[Mask]:
    masks, wrong = [], []
    for row, record in enumerate(records):
        number = record.get("image_id")
        image = images.get(number, {}) if isinstance(number, Hashable) else {}
        try:
            size = {"height": image.get("height"), "width": image.get("width")}
            masks.append(mask_of_segmentation(record.get("segmentation", {}), **size))
        except Misuse as error:
            wrong.append(f"{name}: record {row}: {error}")
    problems += wrong
    return masks


def _size_problems(known: _Known, reference: Objects, prediction: Objects) -> list[str]:
    """Masks of another size than their image or than other masks of it: runs of pixels would mean other pixels."""
    names = list(known.images)
    sizes: dict[int, set[tuple[int, int]]] = {}
    for side in (reference, prediction):
        for image, mask in zip(side.image.tolist(), side.mask or (), strict=False):
            sizes.setdefault(image, set()).add((mask.height, mask.width))
    for place, stated_sizes in sizes.items():
        stated = [known.records[names[place]].get(side) for side in ("height", "width")]
        if all(isinstance(side, int) for side in stated):
            stated_sizes.add((int(stated[0]), int(stated[1])))  # type: ignore[arg-type]
    wrong = [place for place, stated_sizes in sorted(sizes.items()) if len(stated_sizes) > 1]
    if not wrong:
        return []
    listed = " and ".join(f"{height} by {width}" for height, width in sorted(sizes[wrong[0]]))
    return [f"{len(wrong)} images have masks of several sizes (first: image {names[wrong[0]]!r}, {listed} pixels)"]


def _scores(given: list[Any], problems: list[str]) -> np.ndarray | None:
    """Confidences; None where no result has one."""
    scores = _floats(given, "results: score", problems)
    bad = np.flatnonzero(~np.isfinite(scores))
    missing = [row for row in bad.tolist() if given[row] is None]
    if given and len(missing) == len(given):
        return None
    if missing:
        problems.append(f"results: {len(missing)} of {len(given)} records without score (first: record {missing[0]})")
    if strange := [row for row in bad.tolist() if isinstance(given[row], float)]:
        problems.append(f"results: {len(strange)} scores are not finite (first: record {strange[0]})")
    return scores


def _column(records: list[Record], key: str) -> list[Any]:
    """The entry of every record, None where it has none."""
    try:
        return list(map(itemgetter(key), records))
    except KeyError:
        return [record.get(key) for record in records]


def _floats(given: list[Any], what: str, problems: list[str]) -> np.ndarray:
    """Numbers, NaN for None and for what is no number."""
    numbers = _numeric(given)
    if numbers is not None and numbers.ndim == 1:
        return numbers
    wrong = [row for row, number in enumerate(given) if number is not None and not _is_number(number)]
    if wrong:
        problems.append(f"{what}: {len(wrong)} entries are no numbers (first: record {wrong[0]})")
    return np.array([float(number) if _is_number(number) else np.nan for number in given])


def _numeric(given: list[Any]) -> np.ndarray | None:
    """The entries as an array of floats, or None where they are not all numbers or do not line up."""
    try:
        values = np.array(given)
    except (ValueError, OverflowError):
        return None
    if values.dtype.kind not in "fiu":
        return None if given else np.zeros(0)
    return values.astype(np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
