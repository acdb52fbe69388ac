"""Contrasts of means over classes: the value on some videos minus that on others, class by class.

Definition. Side a has the classes A with values `a_k`, side b the classes B with values `b_k`; the contrast is
`mean_A a_k - mean_B b_k`, which over the K classes of either side is the mean of `d_k = K (a_k / |A| - b_k / |B|)`, a
class that a side lacks adding nothing there. `d_k` takes the place of a class value in `macro_interval`: one video is
left out at a time, on both sides at once, and a class that a side loses with it is carried.

The decision a reader would question: the support of a class is that of its thinner side. A class of one video in the
stratum and of forty outside it says nothing certain about the stratum, so it widens the interval, or takes it away.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgeval.schema.metric_facts import MetricFacts
from surgeval.stats.class_wise import ClassTerms, class_terms, in_blocks
from surgeval.stats.engine import row_owners
from surgeval.stats.macro_interval import macro_difference_interval
from surgeval.stats.pooled import PooledStatistic
from surgeval.stats.replicates import Sample
from surgeval.stats.video_jackknife import effective_videos


class ClassContrast(NamedTuple):
    """The difference of every model with its interval; NaN ends where the data carry none."""

    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    df: np.ndarray
    without: np.ndarray
    """`[unit, model]`: the differences without each unit."""
    single: int
    """How many classes occur in one video only on one of the sides."""
    classes: int


def class_contrast(
    sample: Sample, cases: np.ndarray, baseline: np.ndarray, facts: MetricFacts, *, level: float
) -> ClassContrast | None:
    """The contrast of a metric that is the mean of its classes; None where it is none for some model and side.

    Args:
        sample: Statistics of whole videos.
        cases: Mask over its rows.
        baseline: Mask of what they are compared with.
        facts: Range of a class value.
        level: Coverage asked for.
    """
    if not isinstance(sample.statistic, PooledStatistic):
        return None
    metric, owners = sample.statistic.metric, row_owners(sample)
    rows = []
    for statistics in sample.statistic.prepared_rows(sample.values):
        sides = [_side(metric, statistics, mask) for mask in (cases, baseline)]
        first, second = sides
        if first is None or second is None:
            return None
        rows.append(_contrast(first, second, owners, facts, level))
    low, high, sd, df = np.array([row[:4] for row in rows]).T
    return ClassContrast(
        low, high, sd, df, np.stack([row.without for row in rows], axis=1), max(row.single for row in rows),
        max(row.classes for row in rows),
    )  # fmt: skip


class _Side(NamedTuple):
    """What the classes of one model add on one side."""

    added: ClassTerms
    mask: np.ndarray
    whole: np.ndarray
    """`[class]`, without any video left out; NaN for classes that add nothing or always the same."""

    @property
    def held(self) -> np.ndarray:
        return np.asarray(np.isfinite(self.whole))

    @property
    def number(self) -> int:
        """How many classes the mean is over."""
        return int(self.added.counted.sum())

    def terms(self, weights: np.ndarray) -> np.ndarray:
        """`[weighting, class]`: lost classes carried, and 0 for those that this side has not."""
        here = self.added.terms(weights[:, self.mask])
        return np.where(self.held, np.where(np.isfinite(here), here, self.whole), 0.0)

    def support(self, owners: np.ndarray) -> np.ndarray:
        """`[unit, class]`."""
        out = np.zeros((int(owners.max()) + 1, len(self.whole)))
        np.add.at(out, owners[self.mask], self.added.support)
        return out


class _Row(NamedTuple):
    low: float
    high: float
    sd: float
    df: float
    without: np.ndarray
    single: int
    classes: int


def _side(metric: object, statistics: np.ndarray, mask: np.ndarray) -> _Side | None:
    chosen = statistics[mask]
    if not mask.any():
        return None
    ones = np.ones((1, len(chosen)), dtype=np.int64)
    added = class_terms(metric, chosen, float(metric.combine(chosen, ones)[0]), fewest=1)  # type: ignore[attr-defined]
    return None if added is None else _Side(added, mask, added.terms(ones)[0])


def _contrast(first: _Side, second: _Side, owners: np.ndarray, facts: MetricFacts, level: float) -> _Row:
    held = first.held | second.held
    number, shares = int(held.sum()), (1 / first.number, 1 / second.number)

    def terms(weights: np.ndarray) -> np.ndarray:
        gap = shares[0] * first.terms(weights) - shares[1] * second.terms(weights)
        return np.where(held, number * gap, np.nan)

    fixed = shares[0] * float(first.added.fixed.sum()) - shares[1] * float(second.added.fixed.sum())
    values = terms(np.ones((1, len(owners)), dtype=np.int64))[0]
    without = in_blocks(terms, owners, len(values))
    width = number * max(shares) * (facts.high - facts.low)
    macro = macro_difference_interval(values, without, _thinner(first, second, owners), level=level, width=width)
    row = macro.every
    return _Row(
        row.low + fixed, row.high + fixed, row.sd, row.df, without[:, held].mean(axis=1) + fixed, len(macro.single),
        number,
    )  # fmt: skip


def _thinner(first: _Side, second: _Side, owners: np.ndarray) -> np.ndarray:
    """`[unit, class]`: the support of each class on the side where fewer videos carry it, among those that have it."""
    one, other = first.support(owners), second.support(owners)
    worth = [
        np.where(side.held, np.nan_to_num(effective_videos(support)), np.inf)
        for side, support in ((first, one), (second, other))
    ]
    return np.where(worth[0] <= worth[1], one, other)
