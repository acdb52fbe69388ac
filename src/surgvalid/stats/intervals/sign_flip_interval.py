"""The interval of a difference: every difference that the sign-flip test would not reject.

Definition. Video v has `n_v` cases with the summed difference `S_v`. A difference d is kept when the sign-flip test of
`S_v - n_v d` has `p > alpha`; so the interval excludes 0 exactly when the p-value of the data is at most alpha: one
conclusion, not two. Split the videos into A and the rest: that split is as extreme as the data exactly when d lies
between the two means `m_A` and `m_rest`, and the overall difference always does (Hartigan 1969, typical values). So
with `k = floor(alpha 2^(V-1))`

    low = k-th smallest of min(m_A, m_rest),    high = k-th largest of max(m_A, m_rest)

over the `2^(V-1) - 1` proper splits, unbounded for k = 0. Up to 15 videos all splits are listed; beyond, the ends are
found by bracketing where `flip_p` crosses alpha (Brent 1973); it falls on both sides of the difference. For tables of
all pairs the normal approximation of the test has a closed form. Three to five videos can show no significance, so they
get the jackknife on its own scale (`video_jackknife`); two get nothing, nor do videos that all show the same
difference: they tell nothing about the spread.

The decision a reader would question: the test asks for differences that are symmetric about their mean, which a model
that fails a few videos outright violates. No method of a useful width holds its level there; a finding says so.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri

from surgvalid.stats.comparing.paired_tests import flip_p, smallest_p
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS, mean_interval

FEWEST_TESTED = 6
"""Fewer videos cannot reach a p-value of 5 %."""
LISTED_VIDEOS = 15
_TIE = 1e-9


class Differences(NamedTuple):
    """Differences with their intervals and p-values, one entry per column; infinite ends where the test is too weak."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    df: np.ndarray
    videos: np.ndarray
    effective: np.ndarray
    p_value: np.ndarray
    smallest_p: np.ndarray
    """The smallest p-value that the videos with a difference could have given."""
    method: tuple[str, ...]


def difference_interval(
    totals: np.ndarray, sizes: np.ndarray, *, level: float = 0.95, approximate: bool = False
) -> Differences:
    """The interval of the mean difference of each column.

    Args:
        totals: `[video, column]`, sums of paired differences; for a mean over videos, the difference of each video.
        sizes: `[video, column]` or `[video]`, cases behind each sum (1 for a mean over videos), 0 for none.
        level: Coverage asked for.
        approximate: Above 15 videos take the normal form of the test: for tables of many pairs.

    Example:
        >>> found = difference_interval(np.array([[3.0], [1.0], [2.0], [4.0], [1.0], [2.0]]), np.full(6, 10.0))
        >>> [round(float(end), 4) for end in (found.low[0], found.value[0], found.high[0], found.p_value[0])]
        [0.1, 0.2167, 0.4, 0.0312]
    """
    check_level(level)
    sizes = np.broadcast_to(sizes[:, None] if sizes.ndim == 1 else sizes, totals.shape).astype(np.float64)
    around = mean_interval(totals, sizes, level=level)
    p = flip_p(totals)
    low, high, method = around.low.copy(), around.high.copy(), ["jackknife"] * totals.shape[1]
    for column in range(totals.shape[1]):
        held = sizes[:, column] > 0
        if held.sum() >= FEWEST_TESTED and not np.isnan(low[column]):
            ends, method[column] = inverted_ends(totals[held, column], sizes[held, column], level, approximate)
            scale = np.abs(totals[held, column]).mean()
            low[column], high[column] = agreeing_ends(*ends, p[column], level=level, scale=scale)
        elif held.sum() < FEWEST_VIDEOS:
            method[column] = "none"
    informative = (totals != 0).sum(axis=0)
    floor = smallest_p(informative)
    return Differences(around.value, low, high, *around[3:], p, floor, tuple(method))


def videos_needed(pairs: int, *, alpha: float = 0.05) -> int:
    """How many videos with a difference let one of so many pairs pass Holm's first step.

    Example:
        >>> [videos_needed(pairs) for pairs in (1, 10, 45, 190, 780)]
        [6, 9, 11, 13, 15]
    """
    return 1 + math.ceil(math.log2(max(1, pairs) / alpha) - 1e-9)


def listed_ends(totals: np.ndarray, sizes: np.ndarray, *, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Order statistics of the means of all splits, for every column of `totals[video, column]` with shared sizes."""
    alpha = 1 - level
    inside = _splits(len(totals))
    rank = math.floor(alpha * 2.0 ** (len(totals) - 1) * (1 + 1e-12))
    if rank == 0:
        return np.full(totals.shape[1], -np.inf), np.full(totals.shape[1], np.inf)
    mean_inside = (inside @ totals) / (inside @ sizes)[:, None]
    rest = ((1 - inside) @ totals) / ((1 - inside) @ sizes)[:, None]
    lower, upper = np.minimum(mean_inside, rest), np.maximum(mean_inside, rest)
    place = len(upper) - rank
    return np.partition(lower, rank - 1, axis=0)[rank - 1], np.partition(upper, place, axis=0)[place]


def bracketed_ends(totals: np.ndarray, sizes: np.ndarray, *, level: float) -> tuple[float, float]:
    """Both ends of one column by bracketing where the p-value crosses alpha."""
    alpha = 1 - level
    if smallest_p(len(sizes)) > alpha:
        return -math.inf, math.inf
    return _end(totals, sizes, alpha, -1.0), _end(totals, sizes, alpha, 1.0)


def normal_ends(totals: np.ndarray, sizes: np.ndarray, *, level: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of every column under the normal form `|sum(S - n d)| <= z sqrt(sum (S - n d)^2)`."""
    c = float(chdtri(1, 1 - level))
    cases, total = sizes.sum(axis=0), totals.sum(axis=0)
    a = cases**2 - c * (sizes**2).sum(axis=0)
    b = cases * total - c * (sizes * totals).sum(axis=0)
    root = np.sqrt(np.maximum(b**2 - a * (total**2 - c * (totals**2).sum(axis=0)), 0.0))
    bounded = a > 0
    low, high = divided(b - root, np.where(bounded, a, 0.0)), divided(b + root, np.where(bounded, a, 0.0))
    return np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)


def agreeing_ends(
    low: np.ndarray | float, high: np.ndarray | float, p: np.ndarray, *, level: float, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ends, 0 inside exactly when `p > alpha`: rounding and approximation never contradict the p-value."""
    return kept_ends(low, high, p > 1 - level, scale=scale)


def kept_ends(
    low: np.ndarray | float, high: np.ndarray | float, kept: np.ndarray, *, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The ends, 0 inside exactly where it is `kept`."""
    low, high = (np.where(np.abs(end) <= _TIE * scale, 0.0, end) for end in (low, high))
    holds = (low <= 0.0) & (high >= 0.0)
    upper = -low <= high
    above = np.where(~kept & holds & upper, np.nextafter(0.0, 1.0), low)
    below = np.where(~kept & holds & ~upper, np.nextafter(0.0, -1.0), high)
    return np.where(kept, np.minimum(low, 0.0), above), np.where(kept, np.maximum(high, 0.0), below)


def inverted_ends(
    totals: np.ndarray, sizes: np.ndarray, level: float, approximate: bool
) -> tuple[tuple[float, float], str]:
    """Both ends of one column, as they come, and how they were found."""
    if len(totals) <= LISTED_VIDEOS:
        low, high = listed_ends(totals[:, None], sizes, level=level)
        return (float(low[0]), float(high[0])), "sign-flip"
    if approximate:
        low, high = normal_ends(totals[:, None], sizes[:, None], level=level)
        return (float(low[0]), float(high[0])), "sign-flip, normal"
    return bracketed_ends(totals, sizes, level=level), "sign-flip"


def _end(totals: np.ndarray, sizes: np.ndarray, alpha: float, side: float) -> float:
    centre = float(totals.sum() / sizes.sum())
    step = 2.0 * float(np.sqrt(((totals - centre * sizes) ** 2).sum())) / float(sizes.sum())
    if step <= _TIE * abs(centre):
        return centre

    def excess(distance: float) -> float:
        return math.log(float(flip_p(totals - sizes * (centre + side * distance))[0]) / alpha)

    while excess(step) > 0:
        step *= 2
    return centre + side * float(brentq(excess, 0.0, step, xtol=1e-9 * step, rtol=1e-12))


@cache
def _splits(videos: int) -> np.ndarray:
    """Every proper split of the videos once: 1 for those on the side without the last video."""
    numbers = np.arange(1, 2 ** (videos - 1))
    return ((numbers[:, None] >> np.arange(videos)) & 1).astype(np.float64)
