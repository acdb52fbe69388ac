"""Boxes that cannot be meant: another format or scale, every detection twice, the same boxes in every image.

Boxes are tried under other readings (corners, centres, shares of the image, swapped axes, another image size) until
they lie where the references are. Classes play no role in this; what they are matched to under the boxes as read tells
whether class numbers are shifted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from surgeval.metrics.metric import Floats, Indices
from surgeval.schema.findings import Severity
from surgeval.scoring.sanity.doubt import Doubt
from surgeval.scoring.sanity.labels import renamed

IMAGES = 400
"""So many images are looked at, evenly spread over those with boxes on both sides."""
COVERED_IOU, TWIN_IOU = 0.5, 0.95
NOTHING, ENOUGH, TWINS = 0.02, 0.2, 0.2
FEWEST = 10
"""References or detections below which nothing is said."""
_NEAR_ONE = 0.05
_TRIED = "corners, centres, shares of the image, swapped axes and another scale were tried"


class Boxes(NamedTuple):
    """The boxes of one side: x, y, width and height as they were read."""

    image: Indices
    box: Floats
    category: Indices
    score: Floats | None = None

    def of(self, rows: Indices) -> Boxes:
        """Some of them."""
        score = None if self.score is None else self.score[rows]
        return Boxes(self.image[rows], self.box[rows], self.category[rows], score)


class Reading(NamedTuple):
    """One way in which four numbers can be a box."""

    what: str
    """What the numbers then are, to stand after 'as'."""
    mend: str
    boxes: Floats


def sampled(reference: Boxes, prediction: Boxes) -> tuple[Boxes, Boxes]:
    """Both sides in some images that have boxes on both, in order of the images."""
    shared = np.intersect1d(reference.image, prediction.image)
    if shared.size > IMAGES:
        shared = shared[np.linspace(0, shared.size - 1, IMAGES).astype(np.intp)]
    sides = []
    for side in (reference, prediction):
        rows = np.flatnonzero(np.isin(side.image, shared))
        sides.append(side.of(rows[np.argsort(side.image[rows], kind="stable")]))
    return sides[0], sides[1]


def boxes_elsewhere(reference: Boxes, prediction: Boxes, sizes: Floats | None = None) -> Doubt | None:
    """Whether the detections lie nowhere near the references, and under which other reading they would.

    Args:
        reference: As `sampled` gives it.
        prediction: The same.
        sizes: Width and height of the image of each prediction, where known; NaN where not.
    """
    if len(reference.image) < FEWEST or not len(prediction.image):
        return None
    left, right = pairs(reference.image, prediction.image)
    as_read = _covered(reference.box, prediction.box, left, right)
    tried = [(_covered(reference.box, one.boxes, left, right), one) for one in _readings(reference, prediction, sizes)]
    best = max((share for share, _ in tried), default=0.0)
    if best >= ENOUGH and best > 2 * as_read + 0.1:
        share, reading = next((share, one) for share, one in tried if share >= best - _NEAR_ONE)
        evidence = (
            f"The detections lie elsewhere than the references: {as_read:.0%} of {len(reference.image):,} references "
            f"are overlapped by half; with the four numbers as {reading.what} it would be {share:.0%}."
        )
        return Doubt("boxes-elsewhere", Severity.ERROR, evidence, reading.mend)
    if as_read < NOTHING:
        evidence = (
            f"The detections lie elsewhere than the references: {as_read:.1%} of {len(reference.image):,} references "
            f"are overlapped by half."
        )
        return Doubt("boxes-elsewhere", Severity.WARNING, evidence, f"No other reading mends it ({_TRIED}).")
    return None


def _readings(reference: Boxes, prediction: Boxes, sizes: Floats | None) -> Iterator[Reading]:
    """Other readings of the detections' numbers, the simplest first."""
    for what, option, change in _FORMATS:
        boxes = change(prediction.box)
        if option:
            yield Reading(what, f"Say --box-format {option}, or write x, y, width and height.", boxes)
    yield Reading("y, x, height and width", "Swap the axes of the boxes.", prediction.box[:, [1, 0, 3, 2]])
    for what, option, change in _FORMATS:
        boxes = change(prediction.box)
        name = what or "x, y, width and height"
        if sizes is not None and np.isfinite(sizes).all():
            scaled = boxes * np.tile(sizes, 2)
            yield Reading(f"{name} in shares of the image", f"Say --box-format {option or 'xywh'}n.", scaled)
        factors = _factors(reference.box, boxes)
        if factors is not None and np.abs(factors - 1).max() > _NEAR_ONE:
            text = f"{name} of images of another size (times {factors[0]:.4g} in x and {factors[1]:.4g} in y)"
            mend = "Scale the boxes to the size of the references' images."
            yield Reading(text, mend, boxes * np.tile(factors, 2))


def _corners(box: Floats) -> Floats:
    return np.column_stack([box[:, :2], box[:, 2:] - box[:, :2]])


def _centres(box: Floats) -> Floats:
    return np.column_stack([box[:, :2] - box[:, 2:] / 2, box[:, 2:]])


def _sizes(box: Floats) -> Floats:
    """What was taken for corners, as sizes."""
    return np.column_stack([box[:, :2], box[:, 2:] + box[:, :2]])


_FORMATS: tuple[tuple[str, str, Callable[[Floats], Floats]], ...] = (
    ("", "", lambda box: box),
    ("two corners", "xyxy", _corners),
    ("centre, width and height", "cxcywh", _centres),
    ("x, y, width and height (they were taken for corners)", "xywh", _sizes),
)


def _factors(reference: Floats, boxes: Floats) -> Floats | None:
    """By how much larger the references typically are, in x and in y."""
    held = (boxes[:, 2:] > 0).all(axis=1)
    if not held.any():
        return None
    sides = np.median(boxes[held, 2:], axis=0)
    typical = np.median(reference[:, 2:], axis=0)
    return np.asarray(typical / sides) if (sides > 0).all() and (typical > 0).all() else None


def _covered(reference: Floats, boxes: Floats, left: Indices, right: Indices) -> float:
    """The share of the references that some box overlaps by half."""
    hit = left[overlap(reference[left], boxes[right]) >= COVERED_IOU]
    return len(np.unique(hit)) / len(reference)


def pairs(ours: Indices, theirs: Indices) -> tuple[Indices, Indices]:
    """Every pair of rows of the same image; both sides are in order of the images.

    Example:
        >>> left, right = pairs(np.array([0, 2]), np.array([0, 0, 1, 2]))
        >>> left.tolist(), right.tolist()
        ([0, 0, 1], [0, 1, 3])
    """
    start, stop = (np.searchsorted(theirs, ours, side) for side in ("left", "right"))
    count = stop - start
    left = np.repeat(np.arange(len(ours)), count)
    within = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, within + np.repeat(start, count)


def overlap(first: Floats, second: Floats) -> Floats:
    """The IoU of boxes row by row; 0 where one has no area."""
    low = np.maximum(first[:, :2], second[:, :2])
    high = np.minimum(first[:, :2] + first[:, 2:], second[:, :2] + second[:, 2:])
    areas = [np.prod(np.maximum(side[:, 2:], 0.0), axis=1) for side in (first, second)]
    shared = np.where((areas[0] > 0) & (areas[1] > 0), np.prod(np.maximum(high - low, 0.0), axis=1), 0.0)
    union = areas[0] + areas[1] - shared
    return np.asarray(np.divide(shared, union, out=np.zeros(len(shared)), where=union > 0))


def detections_doubled(prediction: Boxes) -> Doubt | None:
    """Whether many detections repeat the box of another one; `prediction` as `sampled` gives it."""
    count = len(prediction.image)
    if count < FEWEST:
        return None
    left, right = pairs(prediction.image, prediction.image)
    apart = (left != right) & (prediction.category[left] == prediction.category[right])
    left, right = left[apart], right[apart]
    twins = overlap(prediction.box[left], prediction.box[right]) >= TWIN_IOU
    copies = len(np.unique(left[twins]))
    if copies < TWINS * count:
        return None
    exact = (prediction.box[left[twins]] == prediction.box[right[twins]]).all(axis=1)
    alike = len(np.unique(left[twins][exact]))
    evidence = (
        f"{copies:,} of {count:,} detections repeat the box of another one of the same class in the same image "
        f"({alike:,} of them number by number); all but one of each count as false."
    )
    hint = (
        "A file that a second run appended to, or two files taken together? Keep one of each."
        if alike > copies / 2
        else "Was suppression of overlapping boxes (NMS) left out?"
    )
    return Doubt("detections-doubled", Severity.WARNING, evidence, hint)


def classes_renamed(reference: Boxes, prediction: Boxes, names: Sequence[str]) -> Doubt | None:
    """Whether class numbers of detections stand for other classes, told from the boxes that lie on each other."""
    left, right = pairs(reference.image, prediction.image)
    near = overlap(reference.box[left], prediction.box[right]) >= COVERED_IOU
    left, right = left[near], right[near]
    if prediction.score is not None:
        order = np.lexsort((-prediction.score[right], left))
        left, right = left[order], right[order]
    _, first = np.unique(left, return_index=True)
    table = np.zeros((len(names), len(names)))
    np.add.at(table, (reference.category[left[first]], prediction.category[right[first]]), 1)
    return renamed(table, names)


def same_everywhere(prediction: Boxes, images: int) -> Doubt | None:
    """Whether the same few boxes are there in every image; all detections, not a sample."""
    count = len(prediction.image)
    if count < FEWEST or images < FEWEST:
        return None
    different = len(np.unique(np.column_stack([prediction.category, prediction.box]), axis=0))
    if different * images > count + images / 2:
        return None
    evidence = f"The {count:,} detections in {images:,} images are {different} boxes, the same in every image."
    return Doubt("constant-predictions", Severity.WARNING, evidence, "The model does not look at the images.")
