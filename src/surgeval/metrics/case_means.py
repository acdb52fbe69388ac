"""Metrics that are a mean of one score per case: what they share.

    value = sum over units of weight * sum of scores / sum over units of weight * number of scored cases
A case without a score (NaN) is left out above and below; how many there are is told by `not_scored`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, units_of


class GroupedCases(Protocol):
    """Cases that may be drawn in groups."""

    @property
    def unit(self) -> Sequence[Hashable] | None:
        """What each case is drawn with; each alone if None."""


class CaseMean(WeightedMetric):
    """A metric that says only how one case is scored."""

    row = "case"
    pooled = False

    @abstractmethod
    def scores(self, cases: Any) -> Floats:
        """The score of every case, NaN where it is not scored: what a score table holds."""

    def prepare(self, cases: GroupedCases) -> UnitStatistics:
        """Sum and number of the scores of every unit."""
        scores = self.scores(cases)
        units = units_of(cases.unit, len(scores))
        scored = ~np.isnan(scores)
        filled = np.where(scored, scores, 0.0)
        kinds = len(units.names)
        columns = [np.bincount(units.codes, weight, minlength=kinds) for weight in (filled, scored)]
        return np.stack(columns, axis=1)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean score under each weighting."""
        totals = weights @ statistics
        return ratio(totals[:, 0], totals[:, 1])

    def not_scored(self, cases: Any) -> int:
        """How many cases have no score, and are in no mean."""
        return int(np.isnan(self.scores(cases)).sum())
