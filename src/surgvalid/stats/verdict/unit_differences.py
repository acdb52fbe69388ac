"""One model against others, unit by unit, on the cases both have: what every statement of a verdict rests on.

Means are tested by joint sign flips (`joint_flips`). A metric that is no mean of its cases (F1 over classes) has the
jackknife's t of each pair at `alpha / pairs` (Bonferroni), whose interval and p-value are the same t and agree too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surgvalid.schema.tables.score_matrix import ScoreMatrix
from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.intervals.engine import auto_difference
from surgvalid.stats.intervals.replicates import Sample
from surgvalid.stats.intervals.sign_flip_interval import videos_needed
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.verdict.joint_flips import joint_differences


class PairFinding(NamedTuple):
    """A model minus another one, positive where the first is better; the interval holds together with its family's."""

    model: str
    other: str
    difference: float
    low: float
    high: float
    """Infinite where so few units bound nothing."""
    p_value: float
    p_adjusted: float
    gaps: np.ndarray
    """The difference in each unit of the table; NaN where they share no case."""
    cases: int

    @property
    def units(self) -> int:
        """Units with cases of both."""
        return int(np.isfinite(self.gaps).sum())

    @property
    def ahead(self) -> int:
        """Units in which the first is better."""
        return int((self.gaps > _SAME).sum())

    @property
    def behind(self) -> int:
        """Units in which it is worse."""
        return int((self.gaps < -_SAME).sum())

    @property
    def bounded(self) -> bool:
        """Whether there is an interval."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def turned(self) -> PairFinding:
        """The second minus the first."""
        return PairFinding(
            self.other,
            self.model,
            -self.difference,
            -self.high,
            -self.low,
            self.p_value,
            self.p_adjusted,
            -self.gaps,
            self.cases,
        )


class UnitSums(NamedTuple):
    """Differences of pairs summed within units, positive where the first of a pair is better: `[unit, pair]`."""

    pairs: list[tuple[int, int]]
    totals: np.ndarray
    sizes: np.ndarray
    cases: np.ndarray
    """Shared cases in each unit."""


_SAME = 1e-12


def pair_findings(
    matrix: ScoreMatrix, *, level: float = 0.95, estimand: str = "rows", against: str | None = None
) -> list[PairFinding]:
    """Every pair of models, or each with `against`, with intervals that hold together at `level`."""
    sums = unit_sums(matrix, estimand=estimand, against=against)
    if matrix.statistics is not None:
        return _pooled_findings(matrix, sums, level)
    order = np.lexsort(np.round(sums.totals, 9).T)  # patterns that are drawn must not depend on the names of units
    joint = joint_differences(sums.totals[order], sums.sizes[order], level=level)
    gaps, names, cases = divided(sums.totals, sums.sizes), matrix.models, sums.cases.sum(axis=0)
    return [
        PairFinding(
            names[first],
            names[second],
            float(joint.value[place]),
            float(joint.low[place]),
            float(joint.high[place]),
            float(joint.tests.p_value[place]),
            float(joint.tests.p_adjusted[place]),
            gaps[:, place],
            int(cases[place]),
        )
        for place, (first, second) in enumerate(sums.pairs)
    ]


def unit_sums(matrix: ScoreMatrix, *, estimand: str = "rows", against: str | None = None) -> UnitSums:
    """The differences of pairs of columns within units, on the cases that both have."""
    pairs = _pairs(matrix.models, against)
    first, second = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    values, units = matrix.metric.sign * matrix.values, len(matrix.video_names)
    if np.isfinite(values).all():
        summed = np.zeros((units, values.shape[1]))
        np.add.at(summed, matrix.videos, values)
        totals = summed[:, first] - summed[:, second]
        counts = np.repeat(np.bincount(matrix.videos, minlength=units)[:, None], len(pairs), axis=1)
    else:
        totals, counts = np.zeros((units, len(pairs))), np.zeros((units, len(pairs)), dtype=np.int64)
        for place, (one, two) in enumerate(pairs):
            gap = values[:, one] - values[:, two]
            held = np.isfinite(gap)
            totals[:, place] = np.bincount(matrix.videos[held], weights=gap[held], minlength=units)
            counts[:, place] = np.bincount(matrix.videos[held], minlength=units)
    totals = np.where(np.abs(totals) <= _SAME * np.maximum(counts, 1), 0.0, totals)
    sizes = counts.astype(np.float64)
    if estimand == "videos":
        totals, sizes = np.nan_to_num(divided(totals, sizes)), (sizes > 0).astype(np.float64)
    return UnitSums(pairs, totals, sizes, counts)


def _pairs(models: Sequence[str], against: str | None) -> list[tuple[int, int]]:
    if against is not None:
        baseline = models.index(against)
        return [(place, baseline) for place in range(len(models)) if place != baseline]
    return list(zip(*(side.tolist() for side in pair_indices(len(models))), strict=True))


def _pooled_findings(matrix: ScoreMatrix, sums: UnitSums, level: float) -> list[PairFinding]:
    pairs, units, sign = len(sums.pairs), len(matrix.video_names), matrix.metric.sign
    enough = units >= videos_needed(pairs, alpha=1 - level)
    findings = []
    for place, (first, second) in enumerate(sums.pairs):
        pair = matrix.columns([matrix.models[first], matrix.models[second]])
        sample = Sample.of(pair, statistic="mean", resample="cluster", estimand="rows")
        one = auto_difference(sample, matrix.metric, level=1 - (1 - level) / pairs)
        shown = enough and math.isfinite(one.low) and math.isfinite(one.p_value)
        low, high = sorted((sign * one.low, sign * one.high)) if shown else (-math.inf, math.inf)
        adjusted = min(1.0, one.p_value * pairs) if shown else 1.0
        gaps = divided(sums.totals[:, place], sums.sizes[:, place])
        value, cases = sign * one.value, int(sums.cases[:, place].sum())
        names = matrix.models[first], matrix.models[second]
        findings.append(PairFinding(*names, value, low, high, one.p_value, adjusted, gaps, cases))
    return findings
