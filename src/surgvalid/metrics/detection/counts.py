"""Counts of detections at one threshold: F1, and false alarms per image.

Definitions, after matching as in `matching`: a detection that takes a counting reference is a true positive, one
that takes none a false positive, a counting reference that nobody takes a false negative.
    F1                      2 TP / (2 TP + FP + FN), classes pooled or averaged
    false alarms per image  false positives / images, of all classes or only of those without any reference
The second kind is what average precision cannot see: a class that no image holds has no precision, so false
alarms of it are free there.

What is wrong with detections (TIDE: Bolya et al., ECCV 2020): at IoU 0.5 each false positive is, in this order,
    place       on a reference of its class by 0.1 to below 0.5
    class       on a reference of another class by 0.5
    duplicate   on a reference of its class by 0.5, which a better detection has
    background  on no reference by more than 0.1
    both        the rest: the wrong class, and misplaced
and each reference that nobody found, and no detection of the first two kinds could, is missed. Mended is one kind at a
time: the best detection of place or class finds its reference unless that is found, all others of the kind go; missed
references go. Gains of AP at IoU 0.5 do not add up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.detection.cases import DetectionCases
from surgvalid.metrics.detection.matching import Bools, Engine, Kind, match, overlaps, pairs
from surgvalid.metrics.metric import Floats, Indices, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgvalid.schema.metric_facts import MetricFacts

Average = Literal["micro", "macro"]
Classes = Literal["absent", "all"]
TRUE, FALSE, REFERENCES, IMAGES = range(4)


@dataclass(frozen=True)
class _Counts(WeightedMetric):
    """Counts per unit and class.

    Args:
        iou: The threshold of overlap.
        least_score: Detections below it are dropped first; 0 keeps those without score too.
        kind: Whether boxes or masks are compared.
        max_detections: Detections kept per image and class.
        engine: `numba`, `numpy` or whichever is there.
    """

    takes = ("objects",)

    iou: float = 0.5
    least_score: float | None = None
    kind: Kind = "box"
    max_detections: int = 100
    engine: Engine = "auto"

    def __post_init__(self) -> None:
        if not 0 < self.iou <= 1:
            raise Misuse(f"the threshold of overlap lies above 0 and up to 1, got {self.iou}")

    def prepare(self, cases: DetectionCases) -> UnitStatistics:
        """True positives, false positives and references per unit and class, and images per unit.

        Detections without score are matched as listed and all kept.
        """
        confident = cases.prediction.score is not None
        if self.least_score is not None and not confident:
            raise Misuse("detections have no score, so least_score cannot be applied; leave it out")
        options = {"max_detections": self.max_detections, "kind": self.kind, "engine": self.engine}
        matching = match(cases, ious=(self.iou,), confident=confident, **options)  # type: ignore[arg-type]
        kept = ~matching.ignored[0, 0]
        if self.least_score is not None:
            kept &= matching.score >= self.least_score
        codes, hit = cases.units.codes, matching.matched[0, 0]
        counts = np.zeros((len(cases.units.names), cases.classes, 4), dtype=np.int32)
        for field, chosen in ((TRUE, kept & hit), (FALSE, kept & ~hit)):
            np.add.at(counts[..., field], (codes[matching.image[chosen]], matching.category[chosen]), 1)
        real = matching.reference_counts[0]
        np.add.at(
            counts[..., REFERENCES], (codes[matching.reference_image[real]], matching.reference_category[real]), 1
        )
        counts[..., IMAGES] = np.bincount(codes, minlength=len(counts))[:, None]
        return counts

    def _conventions(self) -> dict[str, str]:
        return {
            "overlap": f"IoU of {'boxes' if self.kind == 'box' else 'masks'} of at least {self.iou:g}",
            "kept": "all detections" if self.least_score is None else f"score at least {self.least_score:g}",
            "detections per image and class": f"at most {self.max_detections}",
            "no confidence": "matched as listed",
            "crowd": "neither missed nor found; detections in it are ignored",
        }


@dataclass(frozen=True)
class DetectionF1(_Counts):
    """F1 of the detections at one threshold of overlap.

    Args:
        average: `micro` pools the classes; `macro` is the mean over classes with a reference.
    """

    average: Average = "micro"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average not in ("micro", "macro"):
            raise UnknownName("average", self.average, ("micro", "macro"))

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        pooled = {"micro": "classes pooled", "macro": "plain mean over classes with a reference"}[self.average]
        name = "detection_f1" if self.average == "micro" else "macro_detection_f1"
        conventions = {**self._conventions(), "average": pooled, "nothing there and nothing detected": "undefined"}
        return self.declared(name, estimand="objects of all units pooled", conventions=conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The F1."""
        counts = weighted_sums(statistics, weights)
        if self.average == "micro":
            counts = counts.sum(axis=1, keepdims=True)
        below = counts[..., TRUE] + counts[..., FALSE] + counts[..., REFERENCES]
        values = ratio(2 * counts[..., TRUE], below)
        if self.average == "micro":
            return values[:, 0]
        present = counts[..., REFERENCES] > 0
        return ratio(np.where(present, values, 0.0).sum(axis=1), present.sum(axis=1))


@dataclass(frozen=True)
class FalseAlarmsPerImage(_Counts):
    """False positives per image.

    Args:
        classes: `absent` counts only classes without any reference, which average precision cannot see;
            `all` counts every class.
    """

    classes: Classes = "absent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes not in ("absent", "all"):
            raise UnknownName("choice of classes", self.classes, ("absent", "all"))

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        which = {"absent": "those without any reference", "all": "all"}[self.classes]
        name = "false_alarms_per_image" if self.classes == "all" else "absent_class_false_alarms_per_image"
        conventions = {**self._conventions(), "classes": which}
        return self.declared(name, 0.0, math.inf, "smaller", "mean over images, all units pooled", conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The false positives per image."""
        counts = weighted_sums(statistics, weights)
        alarms = counts[..., FALSE]
        if self.classes == "absent":
            alarms = np.where(counts[..., REFERENCES] > 0, 0.0, alarms)
        return ratio(alarms.sum(axis=1), counts[:, 0, IMAGES])


ERRORS = ("class", "place", "both", "duplicate", "background", "missed")
CLASS, PLACE, BOTH, DUPLICATE, BACKGROUND, MISSED = range(6)
_ON, _BESIDE, _BLOCK = 0.5, 0.1, 100_000


class DetectionError(NamedTuple):
    """One way to be wrong."""

    error: str
    objects: int
    ap50: float
    """If only this were mended."""
    gain: float


class _Near(NamedTuple):
    """The reference that each detection overlaps most, and by how much."""

    reference: Indices
    overlap: Floats


class JudgedDetections(NamedTuple):
    """Every detection that counts, the best first, and what is wrong with it."""

    detection: Indices
    """Its place among all that were given."""
    category: Indices
    score: Floats
    wrong: Indices
    """Its place in `ERRORS`, or -1: it is right."""
    nearest: _Near
    """Of any class."""
    target: Indices
    """The reference that it would have if its place or class were mended, or -1."""
    taken: Bools
    """Of references, which a right detection has."""


def judged_detections(cases: DetectionCases, *, kind: Kind = "box") -> JudgedDetections:
    """What is wrong with each detection, by the definitions above."""
    matched = match(cases, ious=(_ON,), kind=kind)
    kept = ~matched.ignored[0, 0]
    order, category, hit = matched.order[kept], matched.category[kept], matched.matched[0, 0][kept]
    real = np.flatnonzero(~cases.reference.crowds)
    truth = cases.reference.category
    detection, reference, near = _touching(cases, order, real[np.argsort(cases.reference.image[real])], kind)
    same = truth[reference] == category[detection]
    taken = _taken(detection[rows := same & hit[detection]], reference[rows], near[rows], len(truth))
    alike, unlike = (_nearest(detection[at], reference[at], near[at], len(order)) for at in (same, ~same))
    wrong = np.select(
        [
            hit,
            (alike.overlap >= _BESIDE) & (alike.overlap < _ON),
            unlike.overlap >= _ON,
            alike.overlap >= _ON,
            np.maximum(alike.overlap, unlike.overlap) <= _BESIDE,
        ],
        [-1, PLACE, CLASS, DUPLICATE, BACKGROUND],
        BOTH,
    )
    target = np.where(wrong == PLACE, alike.reference, np.where(wrong == CLASS, unlike.reference, -1))
    nearest = _nearest(detection, reference, near, len(order))
    return JudgedDetections(order, category, matched.score[kept], wrong, nearest, target, taken)


def detection_errors(cases: DetectionCases, judged: JudgedDetections) -> list[DetectionError]:
    """How often detections are wrong in each way, and AP at IoU 0.5 if only that were mended; none without any."""
    order, category, score, wrong, _, target, taken = judged
    hit, truth, real = wrong < 0, cases.reference.category, np.flatnonzero(~cases.reference.crowds)
    if not len(real):
        return []
    missed = ~taken & ~cases.reference.crowds
    missed[target[target >= 0]] = False
    positives = np.bincount(truth[real], minlength=cases.classes)
    plain = _ap50(category, score, hit, positives)
    made = []
    for error, name in enumerate(ERRORS):
        there = wrong == error
        best = np.zeros(len(order), dtype=bool)
        best[_first_of_each(target, np.flatnonzero(there & (target >= 0) & ~taken[target]), score)] = True
        left = ~there | best
        now = np.where(best, truth[target], category)
        lost = np.bincount(truth[missed], minlength=cases.classes) if error == MISSED else 0
        value = _ap50(now[left], score[left], (hit | best)[left], positives - lost)
        made.append(DetectionError(name, int(missed.sum() if error == MISSED else there.sum()), value, value - plain))
    return made


def _touching(cases: DetectionCases, order: Indices, real: Indices, kind: Kind) -> tuple[Indices, Indices, Floats]:
    """Detections and references of the same image that overlap at all."""
    parts = []
    for start in range(0, max(len(order), 1), _BLOCK):
        some = order[start : start + _BLOCK]
        one, two = pairs(cases.prediction.image[some], cases.reference.image[real])
        near = overlaps(cases, some[one], real[two], kind)
        held = near > 0
        parts.append((one[held] + start, real[two[held]], near[held]))
    detection, reference, near = (np.concatenate(side) for side in zip(*parts, strict=True))
    return detection, reference, near


def _taken(detection: Indices, reference: Indices, near: Floats, count: int) -> Bools:
    """The references that hits have, each the free one that it overlaps most."""
    taken, served = np.zeros(count, dtype=bool), -1
    for at in np.lexsort((-reference, -near, detection)).tolist():
        if detection[at] != served and not taken[reference[at]] and near[at] >= _ON:
            taken[reference[at]], served = True, detection[at]
    return taken


def _nearest(detection: Indices, reference: Indices, near: Floats, count: int) -> _Near:
    order = np.lexsort((near, detection))
    nearest = _Near(np.full(count, -1), np.zeros(count))
    for side, values in zip(nearest, (reference, near), strict=True):
        side[detection[order]] = values[order]  # of several the last stays
    return nearest


def _first_of_each(target: Indices, rows: Indices, score: Floats) -> Indices:
    """The row of the highest score for every target."""
    rows = rows[np.argsort(-score[rows], kind="stable")]
    return rows[np.unique(target[rows], return_index=True)[1]]


def _ap50(category: Indices, score: Floats, hit: Bools, positives: Indices) -> float:
    """The mean over classes of the interpolated precision at 101 levels of recall."""
    values = []
    for label in np.flatnonzero(positives):
        rows = np.flatnonzero(category == label)
        hits = np.cumsum(hit[rows[np.argsort(-score[rows], kind="stable")]])
        best = np.maximum.accumulate((hits / np.arange(1, len(hits) + 1))[::-1])[::-1]
        at = np.searchsorted(hits / positives[label], np.linspace(0, 1, 101))
        values.append(np.append(best, 0.0)[at].mean())
    return float(np.mean(values)) if values else math.nan
