"""Contrasts of means over classes: the value on some videos minus that on others, class by class.

Definition. Side a has the classes A with values `a_k`, side b the classes B with values `b_k`; the contrast is
`mean_A a_k - mean_B b_k`, which over the K classes of either side is the mean of `d_k = K (a_k / |A| - b_k / |B|)`, a
class that a side lacks adding nothing there. `d_k` takes the place of a class value in `macro_interval`: one video is
left out at a time, on both sides at once, and a class that a side loses with it is carried.

The decision a reader would question: the support of a class is that of its thinner side. A class of one video in the
stratum and of forty outside it says nothing certain about the stratum, so it widens the interval, or takes it away.

`balanced_gap` asks for the gap between two sides of a data set over the K classes that both have, each counting once
(direct standardisation): `gap = 1/K sum_k (theta_k,second - theta_k,first)`. A difference of plain means mixes how much
harder a side is with which classes it holds more of. Its interval is `gap -+ t sd` with one video left out at a time,
both sides at once, and the smaller of both sides' degrees of freedom. A class that a side has in a single video takes
the interval away there, although `macro_interval` would widen it: its gap rests on one operation, and whoever reads a
gap reads it as a property of the side.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.intervals.engine import row_owners
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.macro_interval import (
    ClassTerms,
    class_terms,
    in_blocks,
    macro_difference_interval,
    macro_interval,
)
from surgvalid.stats.intervals.pooled import PooledStatistic
from surgvalid.stats.intervals.replicates import Sample
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS, effective_videos

_FLAT = 1e-12


class BalancedGap(NamedTuple):
    """A gap with its interval; NaN ends where the data carry none."""

    value: float = math.nan
    first: float = math.nan
    """Mean over the shared classes on the first side."""
    second: float = math.nan
    low: float = math.nan
    high: float = math.nan
    sd: float = math.nan
    df: float = math.nan
    classes: tuple[int, ...] = ()
    """Those that have rows on both sides, by number."""
    single: tuple[int, ...] = ()
    """Those among them that a side has in one video only."""
    videos: tuple[int, int] = (0, 0)
    """Of each side, behind the shared classes."""


def balanced_gap(
    values: np.ndarray,
    videos: np.ndarray,
    classes: np.ndarray,
    second: np.ndarray,
    *,
    level: float = 0.95,
) -> BalancedGap:
    """The second side minus the first, over the classes that both have.

    Args:
        values: One per row, from 0 to 1; NaN is not scored.
        videos: The video of each row, by number.
        classes: The class of each row, by number.
        second: Whether a row is of the second side.
        level: Coverage asked for.

    Example:
        >>> values, classes = np.array([1, 0, 1, 1, 0, 0.0]), np.array([0, 0, 1, 0, 0, 1])
        >>> balanced_gap(values, np.arange(6), classes, np.array([False] * 3 + [True] * 3)).value
        -0.5
    """
    check_level(level)
    scored = np.isfinite(values)
    values, classes, second = values[scored], classes[scored], second[scored].astype(np.int64)
    codes = np.unique(videos[scored], return_inverse=True)[1]
    number = int(classes.max(initial=-1)) + 1
    sums, sizes = np.zeros((2, 2, int(codes.max(initial=-1)) + 1, number))
    np.add.at(sums, (second, codes, classes), values)
    np.add.at(sizes, (second, codes, classes), 1.0)
    shared = np.flatnonzero((sizes.sum(axis=1) > 0).all(axis=0))
    if not len(shared):
        return BalancedGap()
    sums, sizes = sums[:, :, shared], sizes[:, :, shared]
    there = sizes.sum(axis=(0, 2)) > 0
    return _gap(sums[:, there], sizes[:, there], shared, level)


def _gap(sums: np.ndarray, sizes: np.ndarray, shared: np.ndarray, level: float) -> BalancedGap:
    """The gap from sums and sizes, `[side, video, class]`."""
    means = divided(sums.sum(axis=1), sizes.sum(axis=1))
    without = divided(sums.sum(axis=1, keepdims=True) - sums, sizes.sum(axis=1, keepdims=True) - sizes)
    first, second = means.mean(axis=1).tolist()
    value = second - first
    present = (sizes > 0).sum(axis=1)
    single = shared[(present == 1).any(axis=0)]
    videos = (sizes.sum(axis=2) > 0).sum(axis=1).tolist()
    gap = BalancedGap(value, first, second, classes=tuple(shared.tolist()), single=tuple(single.tolist()))
    gap = gap._replace(videos=(videos[0], videos[1]))
    if len(single) or min(videos) < FEWEST_VIDEOS:
        return gap
    moved = means[:, None] - without
    gaps = (moved[1] - moved[0]).mean(axis=1)
    units = len(gaps)
    sd = math.sqrt((units - 1) / units * float((gaps**2).sum()))
    df = min(_freedom(mean, left, size) for mean, left, size in zip(means, without, sizes, strict=True))
    if sd <= _FLAT:
        return gap._replace(sd=0.0, df=df)
    reach = float(stdtrit(df, (1 + level) / 2)) * sd
    return gap._replace(low=max(-1.0, value - reach), high=min(1.0, value + reach), sd=sd, df=df)


def _freedom(means: np.ndarray, without: np.ndarray, sizes: np.ndarray) -> float:
    """The degrees of freedom of one side's mean over classes, from the videos that the side has."""
    held = sizes.sum(axis=1) > 0
    return macro_interval(means, without[held], sizes[held]).repeated.df


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
        first, second = (_side(metric, statistics, mask) for mask in (cases, baseline))
        if first is None or second is None:
            return None
        rows.append(_contrast(first, second, owners, facts, level))
    low, high, sd, df, without, single, classes = zip(*rows, strict=True)
    low, high, sd, df = np.array([low, high, sd, df])
    return ClassContrast(low, high, sd, df, np.stack(without, axis=1), max(single), max(classes))


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


def _side(metric: object, statistics: np.ndarray, mask: np.ndarray) -> _Side | None:
    chosen = statistics[mask]
    if not mask.any():
        return None
    ones = np.ones((1, len(chosen)), dtype=np.int64)
    added = class_terms(metric, chosen, float(metric.combine(chosen, ones)[0]), fewest=1)  # type: ignore[attr-defined]
    return None if added is None else _Side(added, mask, added.terms(ones)[0])


def _contrast(first: _Side, second: _Side, owners: np.ndarray, facts: MetricFacts, level: float) -> tuple[Any, ...]:
    """The fields of a `ClassContrast` for one model."""
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
    moved = without[:, held].mean(axis=1) + fixed
    return row.low + fixed, row.high + fixed, row.sd, row.df, moved, len(macro.single), number


def _thinner(first: _Side, second: _Side, owners: np.ndarray) -> np.ndarray:
    """`[unit, class]`: the support of each class on the side where fewer videos carry it, among those that have it."""
    one, other = first.support(owners), second.support(owners)
    worth = [
        np.where(side.held, np.nan_to_num(effective_videos(support)), np.inf)
        for side, support in ((first, one), (second, other))
    ]
    return np.where(worth[0] <= worth[1], one, other)
