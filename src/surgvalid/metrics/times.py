"""Metrics of time: quantiles, latency, agreement of intervals, errors of points in time.

Quantiles of values that belong to units, under any weights.

Definition: the q-quantile is the smallest value at which the weight of the values up to it reaches the share q
of all weight (the inverse of the distribution function; no interpolation).

The one decision: interpolated quantiles depend on how often a sample was written out, so a weight would not be
a repetition. The inverse does not.

Latency: quantiles of the time per item, and the share that missed a deadline.

Definitions: the q-quantile is the smallest latency that a share q of the items does not exceed; a deadline is
missed by an item that takes longer (a latency equal to the deadline is in time) or gives no answer.

The one decision: no mean. Latencies have long tails, and what a surgeon notices is the tail.

Temporal IoU: agreement of intervals of time.

Definition, for two sets of half-open intervals [start, end) in seconds:
    tIoU = length of the intersection / length of the union
Overlapping intervals of one side count once. Half-open, so an interval that begins where another ends shares
nothing with it.

The one decision: what is empty on both sides is 1 by default (nothing to find, nothing found), on one side 0;
an interval that ends where it starts has no length and is empty.

Errors of points in time: absolute error and share within a tolerance, several points matched.

Definition: reference points and predicted points of one case are matched one to one so that the total
absolute error is least; every point left over on either side counts as missing. The error of the case
is the mean over max(references, predictions) points, and the share within t seconds likewise.
Source: event matching by optimal assignment (Kuhn 1955) on the time line, where an order-preserving
matching is always among the best ones; the tolerances generalise the FOCUS rule of 1 to 5 s.

The decisions: one matching serves all tolerances. Where several are best, the order-preserving one
that takes the earliest points is used, so a result depends on the times alone. An error never exceeds
`worst_s`, which is also what a missing point costs: no answer is never better than an answer.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.metric import (
    CaseMean,
    Floats,
    Indices,
    UnitStatistics,
    WeightedMetric,
    blocks,
    redeem,
    tickets,
    units_of,
)
from surgvalid.schema.metric_facts import MetricFacts


class SortedValues(NamedTuple):
    """Values in rising order, with the unit of each."""

    values: Floats
    unit: Indices
    units: int


def quantile_statistics(values: npt.ArrayLike, unit: npt.ArrayLike, units: int) -> UnitStatistics:
    """Statistics from which `weighted_quantiles` reads; `unit` numbers the units from 0."""
    listed = np.asarray(values, dtype=np.float64)
    order = np.argsort(listed, kind="stable")
    return tickets(SortedValues(listed[order], np.asarray(unit, dtype=np.intp)[order], units), units)


def weighted_quantiles(statistics: UnitStatistics, weights: Floats, q: float) -> Floats:
    """The q-quantile under each weighting; NaN without weight.

    Example:
        >>> weighted_quantiles(quantile_statistics([3.0, 1.0, 2.0], [0, 0, 1], 2), np.array([[1.0, 1.0]]), 0.5)
        array([2.])
    """
    quantiles = np.full(len(weights), np.nan)
    if not len(statistics):
        return quantiles
    store, by_unit = redeem(statistics, weights)
    if not store.values.size:
        return quantiles
    for block in blocks(by_unit, store.values.size):
        reached = np.cumsum(by_unit[block][:, store.unit], axis=1)
        total = reached[:, -1]
        place = np.argmax(reached >= (q * total * (1 - 1e-12))[:, None], axis=1)
        first = np.argmax(reached > 0, axis=1)
        quantiles[block] = np.where(total > 0, store.values[np.maximum(place, first)], np.nan)
    return quantiles


@dataclass(frozen=True, slots=True)
class LatencyCases:
    """The seconds each item took; NaN where there was no answer."""

    latency_s: npt.ArrayLike
    unit: Sequence[Hashable] | None = None
    """What each item is drawn with, usually its video; each item alone if left out."""

    def seconds(self) -> Floats:
        """The checked latencies."""
        listed = np.asarray(self.latency_s, dtype=np.float64)
        if listed.ndim != 1 or (listed < 0).any():
            raise Misuse("latencies must be one list of seconds, none negative")
        return listed


class QuantileMetric(WeightedMetric):
    """A quantile of values that have units, without interpolation."""

    smooth = False
    store = SortedValues

    def __init__(self, *, quantile: float) -> None:
        if not 0 < quantile <= 1:
            raise Misuse(f"quantile must be above 0 and at most 1, got {quantile!r}")
        self.quantile = quantile

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The quantile under each weighting."""
        return weighted_quantiles(statistics, weights, self.quantile)


class LatencyQuantile(QuantileMetric):
    """A quantile of the latency, in seconds."""

    takes = ("latencies",)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and quantile."""
        conventions = {"quantile": f"{self.quantile:g}, no interpolation", "no answer": "refused; see deadline misses"}
        name = f"latency_p{self.quantile * 100:g}_s"
        return self.declared(name, 0.0, math.inf, "smaller", "items of all units", conventions, unit="s")

    def prepare(self, cases: LatencyCases) -> UnitStatistics:
        """The latencies with the unit of each."""
        seconds = cases.seconds()
        if not np.isfinite(seconds).all():
            missing = int((~np.isfinite(seconds)).sum())
            raise Misuse(f"{missing} items have no latency; drop them knowingly, or count deadline misses instead")
        units = units_of(cases.unit, seconds.size)
        return quantile_statistics(seconds, units.codes, len(units.names))


class DeadlineMisses(CaseMean):
    """The share of items that took longer than the deadline or gave no answer."""

    takes = ("latencies",)

    def __init__(self, *, deadline_s: float) -> None:
        if not (math.isfinite(deadline_s) and deadline_s > 0):
            raise Misuse(f"deadline_s must be a positive number of seconds, got {deadline_s!r}")
        self.deadline_s = deadline_s

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and deadline."""
        conventions = {"deadline": f"{self.deadline_s:g} s, inclusive", "NaN": "no answer, a miss"}
        return self.declared("deadline_miss_share", 0.0, 1.0, "smaller", "share of items", conventions)

    def scores(self, cases: LatencyCases) -> Floats:
        """1 for every miss, 0 for every item in time."""
        return np.where(cases.seconds() <= self.deadline_s, 0.0, 1.0)


Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class IntervalCases:
    """Intervals of each case, in seconds."""

    reference: Sequence[Sequence[Interval]]
    prediction: Sequence[Sequence[Interval]]
    unit: Sequence[Hashable] | None = None
    """What each case is drawn with, usually its video; each case alone if left out."""


def temporal_iou(reference: Sequence[Interval], prediction: Sequence[Interval], *, both_empty: float = 1.0) -> float:
    """The temporal IoU of two sets of intervals.

    Raises:
        InputInvalid: Intervals that end before they start or are not finite; all are named.

    Example:
        >>> temporal_iou([(0, 10)], [(5, 15)])
        0.3333333333333333
    """
    problems = [
        f"{side} interval {index}: [{start}, {end})"
        for side, listed in (("reference", reference), ("predicted", prediction))
        for index, (start, end) in enumerate(listed)
        if not (math.isfinite(start) and math.isfinite(end) and start <= end)
    ]
    if problems:
        raise InputInvalid("intervals must be finite and end no earlier than they start", problems)
    union = _length([*reference, *prediction])
    shared = _length(reference) + _length(prediction) - union
    return max(0.0, shared / union) if union > 0 else both_empty


def _length(intervals: Sequence[Interval]) -> float:
    """The length covered, overlaps counted once."""
    total, reached = 0.0, -math.inf
    for start, end in sorted(intervals):
        total += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return total


class TemporalIou(CaseMean):
    """The mean over cases of the temporal IoU."""

    takes = ("intervals",)

    def __init__(self, *, both_empty: str = "one") -> None:
        if both_empty not in ("one", "not scored"):
            raise UnknownName("rule for empty intervals", both_empty, ("one", "not scored"))
        self.both_empty = both_empty

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and the empty rule."""
        conventions = {"intervals": "half-open, seconds", "both empty": self.both_empty, "one empty": "zero"}
        return self.declared("temporal_iou", conventions=conventions)

    def scores(self, cases: IntervalCases) -> Floats:
        """The temporal IoU of every case."""
        if len(cases.reference) != len(cases.prediction):
            raise Misuse(f"{len(cases.reference)} references and {len(cases.prediction)} predictions")
        nothing = 1.0 if self.both_empty == "one" else math.nan
        pairs = zip(cases.reference, cases.prediction, strict=True)
        overlaps: npt.NDArray[np.float64] = np.array(
            [temporal_iou(ours, theirs, both_empty=nothing) for ours, theirs in pairs], dtype=np.float64
        )
        return overlaps


LEAST_WORST_S = 30.0
"""A missing point never costs less than the widest tolerance, however short the window."""


def worst_error_s(reference: Sequence[float], *, window_s: tuple[float, float]) -> float:
    """What a missing point costs: the way from a reference to the farthest end of the window.

    Example:
        >>> worst_error_s([100, 250], window_s=(0, 300)), worst_error_s([7], window_s=(7, 7))
        (250.0, 30.0)
    """
    start, end = window_s
    return float(max([LEAST_WORST_S, *(max(abs(t - start), abs(end - t)) for t in reference)]))


def matched_errors_s(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, worst_s: float) -> Floats:
    """The errors of matched points, then `worst_s` for each point left over on either side.

    Example:
        >>> matched_errors_s([10, 60], [61, 12, 300], worst_s=400).tolist()
        [2.0, 1.0, 400.0]
    """
    first, second = np.sort(np.asarray(reference, float)), np.sort(np.asarray(prediction, float))
    if first.ndim != 1 or second.ndim != 1 or not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise Misuse("points in time must be two lists of finite seconds")
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    chosen = long if len(short) == len(long) else long[_matches(short, long)]
    errors = np.full(len(long), float(worst_s))
    errors[: len(short)] = np.minimum(np.abs(short - chosen), worst_s)
    return errors


def _matches(short: Floats, long: Floats) -> npt.NDArray[np.int_]:
    """For each point of `short`, its partner in `long`, in order and with the least total error.

    `least[j]` is the least total error of the points so far, matched within the first j of `long`.
    """
    count, places = len(long), np.arange(len(long))
    least = np.zeros(count + 1)
    partner = np.empty((len(short), count), dtype=np.intp)
    for index, point in enumerate(short):
        reach = least[:-1] + np.abs(long - point)
        least = np.concatenate(([np.inf], np.minimum.accumulate(reach)))
        improves = reach < least[:-1]
        partner[index] = np.maximum.accumulate(np.where(improves, places, 0))
    matches, end = np.empty(len(short), dtype=np.intp), count
    for index in range(len(short) - 1, -1, -1):
        matches[index] = end = partner[index, end - 1]
    return matches
