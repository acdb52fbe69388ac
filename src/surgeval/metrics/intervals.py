"""Temporal IoU: agreement of intervals of time.

Definition, for two sets of half-open intervals [start, end) in seconds:
    tIoU = length of the intersection / length of the union
Overlapping intervals of one side count once. Half-open, so an interval that begins where another ends shares
nothing with it.

The one decision: what is empty on both sides is 1 by default (nothing to find, nothing found), on one side 0;
an interval that ends where it starts has no length and is empty.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surgeval.errors import InputInvalid, Misuse, UnknownName
from surgeval.metrics.case_means import CaseMean
from surgeval.metrics.metric import Floats
from surgeval.schema.metric_facts import MetricFacts

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
