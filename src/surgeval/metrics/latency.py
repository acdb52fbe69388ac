"""Latency: quantiles of the time per item, and the share that missed a deadline.

Definitions: the q-quantile is the smallest latency that a share q of the items does not exceed; a deadline is
missed by an item that takes longer (a latency equal to the deadline is in time) or gives no answer.

The one decision: no mean. Latencies have long tails, and what a surgeon notices is the tail.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse
from surgeval.metrics.case_means import CaseMean
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, units_of
from surgeval.metrics.quantiles import SortedValues, quantile_statistics, weighted_quantiles
from surgeval.schema.metric_facts import MetricFacts


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


class LatencyQuantile(WeightedMetric):
    """A quantile of the latency, in seconds."""

    takes = ("latencies",)
    store = SortedValues

    def __init__(self, *, quantile: float) -> None:
        if not 0 < quantile <= 1:
            raise Misuse(f"quantile must be above 0 and at most 1, got {quantile!r}")
        self.quantile = quantile

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

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The quantile under each weighting."""
        return weighted_quantiles(statistics, weights, self.quantile)


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
