"""Detections matched to references once for all thresholds and sizes, and the curves that follow under any weights.

Detections matched to references, image by image and class by class, once for all thresholds and sizes.

The rule is that of the COCO evaluation (Lin et al., ECCV 2014, and its published protocol): detections of one
class in one image, best score first and cut at the allowed number, each take the free reference they overlap
most, if by at least the threshold (of equal ones the last listed). References that do not count (crowds, or
outside the size range) are taken only where no other is left; a detection that takes one is ignored, and so is
an unmatched detection outside the size range. A crowd can be taken any number of times, and overlap with it is
the share of the detection that lies in it.

Nothing depends on ids. Two engines give the same result: loops compiled by numba where it is installed, and
numpy, which walks all groups at once, one rank of detections at a time.

Precision over recall of one class at one threshold, under any weights.

Definition (COCO evaluation): walk the detections by falling score; after each, precision is the share of hits
among those seen that count, recall the share of references found. The interpolated precision at a recall
level is the largest precision at that recall or beyond, 0 where it is never reached; average precision is its
mean at 101 levels, 0 to 1. Recall compares with the level exactly as floats do, because the published numbers
come from that comparison.

Why weights are exact. Precision can only rise at a hit, and copies of a hit only raise it, copies of a false
alarm only lower it; so the curve of a resample is known from the weight seen and hit at the steps that end in a
hit, and of hits in a row only the last matters.

Equal scores: as `listed` each detection comes by itself, in order of image and place in the list, which is what
the COCO evaluation does; `pooled` takes equal scores as one step, which needs no order.
"""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import ExtraNeeded, Misuse
from surgvalid.metrics.detection.cases import DetectionCases
from surgvalid.metrics.detection.masks import intersection
from surgvalid.metrics.metric import Floats, Indices, blocks, incidence, ratio

Bools = npt.NDArray[np.bool_]
Kind = Literal["box", "mask"]
Engine = Literal["auto", "numpy", "numba"]
Range = tuple[float, float]

ALL_SIZES: Range = (0.0, 1e10)
COCO_SIZES: dict[str, Range] = {
    "all": ALL_SIZES,
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
"""COCO's size ranges in square pixels, both ends included."""
ALL = slice(None)
_NEARLY_ONE = 1 - 1e-10
TOOK_COUNTED, TOOK_UNCOUNTED = 1, 2


@dataclass(frozen=True)
class Matches:
    """Detections in order of class, falling score, image and rank, with what became of them."""

    order: Indices
    """The place of each in the list of predictions."""
    category: Indices
    image: Indices
    score: Floats
    rank: Indices
    """Place among the detections of its class in its image, from 0."""
    matched: Bools
    """`[size range, threshold, detection]`: took a reference."""
    ignored: Bools
    """`[size range, threshold, detection]`: counts neither way."""
    reference_image: Indices
    reference_category: Indices
    reference_counts: Bools
    """`[size range, reference]`: neither a crowd nor outside the range."""


class Pairs(NamedTuple):
    """Detections and references of the same image and class that overlap enough to matter."""

    detection: Indices
    reference: Indices
    overlap: Floats


class Field(NamedTuple):
    """What an engine matches: rows are (size range, threshold) combinations."""

    pairs: Pairs
    """Ordered by rank of the detection, then detection, then reference."""
    rank: Indices
    """Of each detection, in the order of the matches."""
    thresholds: Floats
    """Per row."""
    uncounted: Bools
    """`[row, reference]`."""
    crowd: Bools


def match(
    cases: DetectionCases,
    *,
    ious: Sequence[float],
    sizes: Sequence[Range] = (ALL_SIZES,),
    max_detections: int = 100,
    kind: Kind = "box",
    confident: bool = True,
    engine: Engine = "auto",
    lose_0: bool = False,
) -> Matches:
    """What became of every detection, at each threshold and in each size range; found once for the same cases.

    Args:
        cases: Images, references and detections.
        ious: Thresholds of overlap.
        sizes: Ranges of area, both ends included.
        max_detections: Detections kept per image and class, best first.
        kind: Whether boxes or masks are compared.
        confident: Whether scores order the detections; otherwise they are used as listed.
        engine: `numba`, `numpy` or whichever is there.
        lose_0: Count a match with the reference numbered 0 as none, as pycocotools does.

    Raises:
        Misuse: Scores are needed and missing, or boxes or masks are.
    """
    reference, prediction = cases.reference, cases.prediction
    made: dict[Any, Any] = cases.__dict__.setdefault("_matched", {})
    how = kind, confident, max_detections
    if how not in made:
        made[how] = _paired(cases, *how)
    ranked, pairs = made[how]
    rows = [(*how, engine, lose_0, size, iou) for size in sizes for iou in ious]
    if new := [row for row in dict.fromkeys(rows) if row not in made]:
        made |= zip(new, _fates(cases, ranked, pairs, new), strict=True)
    shape = (len(sizes), len(ious), len(ranked.order))
    matched, ignored = (np.array([made[row][side] for row in rows], dtype=bool).reshape(shape) for side in (0, 1))
    return Matches(
        order=ranked.order,
        category=prediction.category[ranked.order],
        image=prediction.image[ranked.order],
        score=ranked.score,
        rank=ranked.rank,
        matched=matched,
        ignored=ignored,
        reference_image=reference.image,
        reference_category=reference.category,
        reference_counts=~(_outside(reference.sizes, sizes) | reference.crowds),
    )


def _paired(cases: DetectionCases, kind: Kind, confident: bool, max_detections: int) -> tuple[Ranked, Pairs]:
    """The detections in order, and their pairs with references that overlap at all."""
    ranked = _ranked(cases, _scores(cases, confident), max_detections)
    place, other = _candidates(cases, ranked)
    overlap = overlaps(cases, ranked.order[place], other, kind)
    near = overlap > 0
    return ranked, Pairs(place[near], other[near], overlap[near])


def _fates(cases: DetectionCases, ranked: Ranked, pairs: Pairs, rows: Sequence[tuple[Any, ...]]) -> list[list[Bools]]:
    """Whether each detection took a reference, and whether it counts neither way, in each row."""
    sizes, crowds = [row[-2] for row in rows], cases.reference.crowds
    thresholds = np.minimum([row[-1] for row in rows], _NEARLY_ONE)
    near = pairs.overlap >= thresholds.min()
    uncounted = _outside(cases.reference.sizes, sizes) | crowds
    field = Field(Pairs(*(side[near] for side in pairs)), ranked.rank, thresholds, uncounted, crowds)
    engine, lose_0 = rows[0][3:5]
    lost = _took_0(field, cases) if lose_0 else np.zeros((len(rows), 1), dtype=bool)
    outside = _outside(cases.prediction.sizes[ranked.order], sizes)
    return [
        [(fate > 0) & ~gone, (fate == TOOK_UNCOUNTED) | (((fate == 0) | gone) & out)]
        for fate, gone, out in zip(_engine(engine)(field), lost, outside, strict=True)
    ]


def pairs(ours: Indices, theirs: Indices) -> tuple[Indices, Indices]:
    """Every pair of rows of the same image; `theirs` are in order of the images.

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


def overlaps(cases: DetectionCases, detection: Indices, reference: Indices, kind: Kind) -> Floats:
    """The overlap of pairs of detections and references: IoU, or the share inside where that is a crowd.

    Raises:
        Misuse: Boxes or masks are missing on a side.
    """
    sides = (cases.prediction, cases.reference)
    if kind not in ("box", "mask") or any(len(side) and getattr(side, kind) is None for side in sides):
        raise Misuse(f"overlap of kind {kind!r} needs a {kind} of every object on both sides")
    crowd = cases.reference.crowds[reference]
    if kind == "box":
        one, two = cases.prediction.box, cases.reference.box
        if one is not None and two is not None:
            return box_iou(one, two, detection, reference, crowd)
    first, second = cases.prediction.mask, cases.reference.mask
    if kind == "box" or first is None or second is None:
        return np.zeros(len(detection))
    common = np.array([intersection(first[d], second[r]) for d, r in zip(detection, reference, strict=True)])
    areas = [np.array([mask.area for mask in side], dtype=np.float64) for side in (first, second)]
    return _share(common, areas[0][detection], areas[1][reference], crowd)


def box_iou(
    first: Floats,
    second: Floats,
    left: Indices | slice = ALL,
    right: Indices | slice = ALL,
    crowd: Bools | bool = False,
) -> Floats:
    """The IoU of boxes pair by pair; 0 where one has no area, the share of the first where the second is a crowd.

    Args:
        first: x, y, width and height of every box.
        second: The same of the others.
        left: Which of the first each pair is of.
        right: Which of the second.
        crowd: Whether that is a crowd.
    """
    common: Any = 1.0
    for side in (0, 1):  # column by column: pairs are many times as many as boxes
        low = first[left, side], second[right, side]
        high = np.minimum(low[0] + first[left, side + 2], low[1] + second[right, side + 2])
        common = common * np.maximum(high - np.maximum(*low), 0.0)
    return _share(common, (first[:, 2] * first[:, 3])[left], (second[:, 2] * second[:, 3])[right], crowd)


def _share(common: Floats, detected: Floats, referenced: Floats, crowd: Bools | bool) -> Floats:
    whole = np.where(crowd, detected, detected + referenced - common)
    return np.divide(common, whole, out=np.zeros(len(common)), where=(common > 0) & (whole > 0))


def _scores(cases: DetectionCases, confident: bool) -> Floats:
    if not confident:
        return np.ones(len(cases.prediction))
    if cases.prediction.score is None:
        if len(cases.prediction):
            raise Misuse("detections have no score; give scores, or say confidence='none' to count them as equal")
        return np.zeros(0)
    return cases.prediction.score


def _ranks(key: Indices) -> Indices:
    """The place of each entry in its run of equal keys."""
    starts = _heads(key)
    return np.arange(len(key)) - np.repeat(starts, np.diff(np.append(starts, len(key))))


def _heads(key: Indices) -> Indices:
    """Where each run of equal keys begins."""
    return np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.zeros(0, np.intp)


def _sorting(numbers: Indices) -> Indices:
    """The stable order of numbers from 0; short integers are sorted faster."""
    small = numbers.max(initial=0) < 2**16
    return np.argsort(numbers.astype(np.uint16) if small else numbers, kind="stable")


class Ranked(NamedTuple):
    """Detections in order of class, falling score, image and place in the list, the surplus cut off."""

    order: Indices
    rank: Indices
    score: Floats


def _ranked(cases: DetectionCases, score: Floats, most: int) -> Ranked:
    image, category = cases.prediction.image, cases.prediction.category
    order = _sorting(image)
    order = order[np.argsort(-score[order], kind="stable")]
    order = order[_sorting(category[order])]
    grouped = order[_sorting(image[order])]
    rank = np.empty(len(order), dtype=np.intp)
    rank[grouped] = _ranks((image * cases.classes + category)[grouped])
    order = order[rank[order] < most]
    return Ranked(order, rank[order], score[order])


def _candidates(cases: DetectionCases, ranked: Ranked) -> tuple[Indices, Indices]:
    """All pairs of a detection (its place in order) and a reference of the same image and class, by rank."""
    wanted = cases.reference.image * cases.classes + cases.reference.category
    by_key = np.argsort(wanted, kind="stable")
    edges = np.searchsorted(wanted[by_key], np.arange(cases.images * cases.classes + 1))
    key = (cases.prediction.image * cases.classes + cases.prediction.category)[ranked.order]
    first, count = edges[key], edges[key + 1] - edges[key]
    by_rank = _sorting(ranked.rank)
    by_rank = by_rank[count[by_rank] > 0]
    repeats = count[by_rank]
    within = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return np.repeat(by_rank, repeats), by_key[np.repeat(first[by_rank], repeats) + within]


def _outside(areas: Floats, sizes: Sequence[Range]) -> Bools:
    """Which areas lie outside each range, `[range, object]`."""
    ends = np.asarray(sizes, dtype=np.float64).reshape(-1, 2)
    return np.asarray((areas < ends[:, :1]) | (areas > ends[:, 1:]))


def _is_compiled(engine: Engine, what: str) -> bool:
    """Whether loops are compiled.

    Raises:
        ExtraNeeded: That was asked for, and numba is not there.
    """
    there = importlib.util.find_spec("numba") is not None
    if engine == "numba" and not there:
        raise ExtraNeeded(what, "numba", "fast")
    return there and engine != "numpy"


def _engine(name: Engine):  # type: ignore[no-untyped-def]
    if not _is_compiled(name, "the compiled matcher"):
        return fates_numpy
    from surgvalid.metrics.detection.compiled import fates_numba

    return fates_numba


def _took_0(field: Field, cases: DetectionCases) -> Bools:
    """Which detections took a reference numbered 0, `[row, detection]`; only its image and class are walked again."""
    taken = np.zeros((len(field.thresholds), len(field.rank)), dtype=bool)
    wanted = cases.reference.numbered_0
    if wanted is not None:
        group = cases.reference.image * cases.classes + cases.reference.category
        wanted_pairs = np.isin(group, group[wanted])[field.pairs.reference]
        pairs = Pairs(
            field.pairs.detection[wanted_pairs], field.pairs.reference[wanted_pairs], field.pairs.overlap[wanted_pairs]
        )
        fates_numpy(field._replace(pairs=pairs), wanted=wanted, taken=taken)
    return taken


def fates_numpy(field: Field, *, wanted: Bools | None = None, taken: Bools | None = None) -> npt.NDArray[np.int8]:
    """What each detection took, `[row, detection]`: 0 nothing, `TOOK_COUNTED` or `TOOK_UNCOUNTED`.

    Args:
        field: What is matched.
        wanted: References of interest.
        taken: Set to true, `[row, detection]`, where one of those was taken.
    """
    pairs = field.pairs
    fate = np.zeros((len(field.thresholds), len(field.rank)), dtype=np.int8)
    free = np.ones(field.uncounted.shape, dtype=bool)
    ranks = field.rank[pairs.detection]
    edges = np.append(_heads(ranks), len(ranks))
    for start, stop in itertools.pairwise(edges):
        detection, reference = pairs.detection[start:stop], pairs.reference[start:stop]
        overlap = pairs.overlap[start:stop]
        heads = _heads(detection)
        uncounted, enough = field.uncounted[:, reference], overlap >= field.thresholds[:, None]
        chosen = _best(enough & free[:, reference] & ~uncounted, overlap, heads)
        if uncounted.any():
            spare = _best(enough & uncounted & (free[:, reference] | field.crowd[reference]), overlap, heads)
            chosen = np.where(chosen >= 0, chosen, spare)
        row, column = np.nonzero(chosen >= 0)
        winner = reference[chosen[row, column]]
        fate[row, detection[heads][column]] = np.where(field.uncounted[row, winner], TOOK_UNCOUNTED, TOOK_COUNTED)
        free[row, winner] = False
        if wanted is not None and taken is not None:
            taken[row, detection[heads][column]] = wanted[winner]
    return fate


def _best(allowed: Bools, overlap: Floats, heads: Indices) -> npt.NDArray[np.int64]:
    """The last of the most overlapping allowed pairs in each run, `[row, run]`; -1 where none is."""
    value = np.where(allowed, overlap, -1.0)
    most = np.maximum.reduceat(value, heads, axis=1)
    lengths = np.diff(np.append(heads, len(overlap)))
    is_best = allowed & (value == np.repeat(most, lengths, axis=1))
    place = np.where(is_best, np.arange(len(overlap)), -1)
    return np.maximum.reduceat(place, heads, axis=1)


Ties = Literal["listed", "pooled"]

RECALL_LEVELS: Floats = np.linspace(0.0, 1.0, 101)
SLACK = 1e-12
"""By how much a recall may miss a level when weights are fractions, whose sums round."""


class Curve(NamedTuple):
    """The detections that matter, in order, cut into steps that hold a hit."""

    unit: Indices
    hit: npt.NDArray[np.bool_]
    ends: Indices
    """Where each step ends."""


class Areas(NamedTuple):
    """One number per weighting; NaN where the class has no reference."""

    precision: Floats
    recall: Floats


def curve_of(matches: Matches, units: Indices, chosen: slice, row: tuple[int, int], *, ties: Ties = "listed") -> Curve:
    """The curve of some detections (of one class, in order) at one (size range, threshold).

    Args:
        matches: From `match`.
        units: The unit of each image.
        chosen: Where the detections of the class lie in `matches`.
        row: Size range and threshold, as indices.
        ties: How equal scores are taken.
    """
    counts = ~matches.ignored[row][chosen]
    hit = matches.matched[row][chosen][counts]
    places = np.flatnonzero(hit)
    if ties == "listed" or not len(places):
        ends = places[np.diff(places, append=len(hit) + 1) > 1] + 1
    else:
        score = matches.score[chosen][counts]
        ends = np.unique(np.searchsorted(-score, -score[places], side="right"))
    stop = ends[-1] if len(ends) else 0
    unit = units[matches.image[chosen]][counts][:stop]
    return Curve(np.ascontiguousarray(unit), np.ascontiguousarray(hit[:stop]), ends)


def areas(curve: Curve, weights: Floats, references: Floats, slack: Floats, *, engine: Engine = "auto") -> Areas:
    """Average precision and recall of a curve under each weighting.

    Args:
        curve: From `curve_of`.
        weights: `[weighting, unit]`.
        references: The weight of the references under each weighting.
        slack: By how much recall may miss a level, per weighting: 0 where sums of the weights are exact.
        engine: `numba`, `numpy` or whichever is there.
    """
    if not _is_compiled(engine, "the compiled accumulation"):
        both = _areas_numpy(curve, weights, references, slack)
    else:
        from surgvalid.metrics.detection.compiled import areas_numba

        both = areas_numba(curve, weights, references, slack, RECALL_LEVELS)
    return Areas(*np.where(references > 0, both, np.nan))


def _areas_numpy(curve: Curve, weights: Floats, references: Floats, slack: Floats) -> Floats:
    steps, units = len(curve.ends), weights.shape[1]
    both = np.zeros((2, len(weights)))
    if not steps:
        return both
    step = np.searchsorted(curve.ends, np.arange(len(curve.unit)), side="right")
    seen = incidence(step, curve.unit, (steps, units))
    hits = incidence(step[curve.hit], curve.unit[curve.hit], (steps, units))
    for block in blocks(weights, 4 * steps):
        by_unit = np.ascontiguousarray(weights[block].T)
        right = np.cumsum(np.asarray(hits @ by_unit), axis=0).T
        precision = ratio(right, np.cumsum(np.asarray(seen @ by_unit), axis=0).T, empty=0.0)
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        recall = ratio(right, references[block, None], empty=0.0)
        best = np.concatenate([best, np.zeros((len(best), 1))], axis=1)
        for place, (line, reached) in enumerate(zip(best, recall + slack[block, None], strict=True)):
            both[0, block.start + place] = line[np.searchsorted(reached, RECALL_LEVELS, side="left")].mean()
        both[1, block] = recall[:, -1]
    return both
