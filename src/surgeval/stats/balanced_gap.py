"""The gap between two sides of a data set, balanced over classes: the same classes on both sides, each counting once.

Definition. `theta_ks` is the mean of class k on side s; over the K classes that have rows on both sides

    gap = 1/K sum_k (theta_k,second - theta_k,first).

A difference of plain means mixes two things: how much harder a side is, and which classes it holds more of. With the
same classes on both sides, equally weighted, only the first is left (direct standardisation).

The interval leaves out one video at a time, both sides at once: `sd^2 = (V - 1) / V sum_v (gap - gap without v)^2`,
`gap -+ t sd` with the smaller of both sides' degrees of freedom, each those of a mean over classes (`macro_interval`).
For one class this is what `contrasts` gives.

The decision a reader would question: a class that one side has in a single video takes the interval away, although
`macro_interval` would widen it. Its gap rests on one operation, and whoever reads a gap reads it as a property of the
side.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from surgeval.stats.intervals import check_level
from surgeval.stats.macro_interval import macro_interval
from surgeval.stats.statistic import divided
from surgeval.stats.video_jackknife import FEWEST_VIDEOS

_FLAT = 1e-12


class BalancedGap(NamedTuple):
    """A gap with its interval; NaN ends where the data carry none."""

    value: float
    first: float
    """Mean over the shared classes on the first side."""
    second: float
    low: float
    high: float
    sd: float
    df: float
    classes: tuple[int, ...]
    """Those that have rows on both sides, by number."""
    single: tuple[int, ...]
    """Those among them that a side has in one video only."""
    videos: tuple[int, int]
    """Of each side, behind the shared classes."""


def balanced_gap(
    values: np.ndarray,
    videos: np.ndarray,
    classes: np.ndarray,
    second: np.ndarray,
    *,
    level: float = 0.95,
    low: float = 0.0,
    high: float = 1.0,
) -> BalancedGap:
    """The second side minus the first, over the classes that both have.

    Args:
        values: One per row; NaN is not scored.
        videos: The video of each row, by number.
        classes: The class of each row, by number.
        second: Whether a row is of the second side.
        level: Coverage asked for.
        low: Smallest value a row can take.
        high: Largest value a row can take.

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
        unknown = math.nan
        return BalancedGap(unknown, unknown, unknown, unknown, unknown, unknown, unknown, (), (), (0, 0))
    sums, sizes = sums[:, :, shared], sizes[:, :, shared]
    there = sizes.sum(axis=(0, 2)) > 0
    return _gap(sums[:, there], sizes[:, there], shared, level, low, high)


def _gap(sums: np.ndarray, sizes: np.ndarray, shared: np.ndarray, level: float, low: float, high: float) -> BalancedGap:
    """The gap from sums and sizes, `[side, video, class]`."""
    means = divided(sums.sum(axis=1), sizes.sum(axis=1))
    without = divided(sums.sum(axis=1, keepdims=True) - sums, sizes.sum(axis=1, keepdims=True) - sizes)
    sides = means.mean(axis=1)
    value = float(sides[1] - sides[0])
    present = (sizes > 0).sum(axis=1)
    single = shared[(present == 1).any(axis=0)]
    behind = (sizes.sum(axis=2) > 0).sum(axis=1)
    videos = (int(behind[0]), int(behind[1]))
    gap = BalancedGap(
        value, float(sides[0]), float(sides[1]), math.nan, math.nan, math.nan, math.nan, tuple(shared.tolist()),
        tuple(single.tolist()), videos,
    )  # fmt: skip
    if len(single) or min(videos) < FEWEST_VIDEOS:
        return gap
    moved = means[:, None] - without
    gaps = (moved[1] - moved[0]).mean(axis=1)
    units = len(gaps)
    sd = math.sqrt((units - 1) / units * float((gaps**2).sum()))
    df = min(_freedom(mean, left, size) for mean, left, size in zip(means, without, sizes, strict=True))
    if sd <= _FLAT:
        return gap._replace(sd=0.0, df=df)
    reach, width = float(stdtrit(df, (1 + level) / 2)) * sd, high - low
    return gap._replace(low=max(-width, value - reach), high=min(width, value + reach), sd=sd, df=df)


def _freedom(means: np.ndarray, without: np.ndarray, sizes: np.ndarray) -> float:
    """The degrees of freedom of one side's mean over classes, from the videos that the side has."""
    held = sizes.sum(axis=1) > 0
    return macro_interval(means, without[held], sizes[held]).repeated.df
