"""Differences of many pairs of models: adjusted tests and intervals that agree, all pairs held together.

Definition. `D_v` is the difference of a pair in unit v. Whole units are flipped, with one sign for all pairs: all
`2^(V-1)` patterns up to 12 units, beyond 9,999 from a named stream, the data's own among them. In every pattern each
pair has a p-value of its own, its rank among that pair's patterns; `m` is the smallest over pairs, and `mc` the same
for the centred differences `D_v - mean D`. Then

    p_adjusted(pair) = larger of share(m <= p(pair)) and share(mc <= p(pair))
    a* = largest p with both shares <= alpha
    interval(pair) = every difference that the pair's own sign-flip test keeps at level a*

so `p <= a*`, `p_adjusted <= alpha` and an interval without 0 are one statement (min-p of Westfall and Young 1993,
single step; the interval is the closed form of `sign_flip_interval`). `m` keeps the error of all equal pairs together,
`mc` the coverage where models differ much. One pair needs neither: `a* = alpha`, and its test is exact.

The decision a reader would question: single step, not step-down. Holm finds a few pairs more, but has no intervals of
its own, so a page would show an interval without 0 beside "open". Where the drawn patterns are too coarse for so many
pairs, the exact p-values with `a* = alpha / pairs` (Bonferroni) take their place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.draws import stream
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.sign_flip_interval import inverted_ends, kept_ends, normal_ends, videos_needed
from surgvalid.stats.intervals.statistic import divided

LISTED_UNITS = 12
DRAWN_PATTERNS = 9_999
MOST_PAIRS = 1_000
"""Pairs up to which patterns are ranked; beyond, exact p-values are corrected by their number."""
MOST_EXACT = 1_000
"""Units beyond which the ends of one pair are those of the normal form of the test, which is then the same."""
_TIE = 1e-9


class JointTests(NamedTuple):
    """Tests of many pairs, one entry per pair."""

    p_value: np.ndarray
    """Of the pair alone."""
    p_adjusted: np.ndarray
    single: float
    """a*: the level at which each pair is tested alone; 0 where so few units can show nothing."""
    signs: np.ndarray | None = None
    """The patterns that were ranked; None where p-values are exact ones."""


class JointDifferences(NamedTuple):
    """Differences with simultaneous intervals, one entry per pair; infinite ends where so few units bound nothing."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    tests: JointTests


def joint_tests(totals: np.ndarray, sizes: np.ndarray, *, alpha: float = 0.05) -> JointTests:
    """The adjusted tests of all pairs; arguments are those of `joint_differences`."""
    units, pairs = totals.shape
    if units < videos_needed(pairs, alpha=alpha):
        p, least = flip_p(totals), min(1.0, pairs * 2.0 ** (1 - units))
        return JointTests(p, np.maximum(np.minimum(p * pairs, 1.0), least), 0.0)
    if 1 < pairs <= MOST_PAIRS:
        signs = sign_patterns(units)
        plain, mine = _smallest_ranks(signs, totals)
        mean = np.nan_to_num(divided(totals.sum(axis=0), sizes.sum(axis=0)))
        centred, _ = _smallest_ranks(signs, totals - sizes * mean)
        beyond = np.maximum(*(np.searchsorted(ranks, mine, side="right") for ranks in (plain, centred)))
        most = math.floor(alpha * len(signs) * (1 + 1e-12))
        shares = np.maximum(*(np.searchsorted(ranks, np.arange(most + 1), side="right") for ranks in (plain, centred)))
        if last := int(np.flatnonzero(shares <= most)[-1]):
            return JointTests(mine / len(signs), beyond / len(signs), last / len(signs), signs)
    p = flip_p(totals, refined=(alpha / pairs / 20, 20 * alpha / pairs) if pairs > 1 else (0.0, np.inf))
    return JointTests(p, np.minimum(p * pairs, 1.0), alpha / pairs)


def joint_differences(totals: np.ndarray, sizes: np.ndarray, *, level: float = 0.95) -> JointDifferences:
    """The differences of all pairs with intervals that hold together at `level`.

    Args:
        totals: `[unit, pair]`, sums of paired differences; for a mean over units, the difference of each unit.
        sizes: `[unit, pair]`, cases behind each sum (1 for a mean over units), 0 for none.
        level: Chance that all intervals are right.

    Example:
        >>> gaps = np.array([[3.0, 1.0, 2.0, 4.0, 1.0, 2.0, 3.0], [1.0, -1.0, 2.0, 0.0, 1.0, 0.5, 0.0]]).T
        >>> found = joint_differences(gaps, np.ones_like(gaps))
        >>> found.low.round(3).tolist(), found.tests.p_adjusted.round(4).tolist()
        ([1.0, -0.5], [0.0156, 0.5])
    """
    check_level(level)
    held = (sizes > 0).any(axis=1)
    totals, sizes = totals[held], sizes[held]
    tests = joint_tests(totals, sizes, alpha=1 - level)
    pairs, single = totals.shape[1], tests.single
    value = divided(totals.sum(axis=0), sizes.sum(axis=0))
    if not single:
        ends = np.full(pairs, np.inf)
        return JointDifferences(value, -ends, ends, tests)
    if tests.signs is not None:
        low, high = _flipped_ends(tests.signs, totals, sizes, round(single * len(tests.signs)))
    elif pairs == 1:
        shared = sizes[:, 0] > 0
        alone, _ = inverted_ends(totals[shared, 0], sizes[shared, 0], level, len(totals) > MOST_EXACT)
        low, high = np.array(alone[:1]), np.array(alone[1:])
    else:
        low, high = normal_ends(totals, sizes, level=1 - single)
    low, high = kept_ends(low, high, tests.p_value > single * (1 + 1e-12), scale=np.abs(totals).mean(axis=0))
    return JointDifferences(value, low, high, tests)


def sign_patterns(units: int) -> np.ndarray:
    """Sign patterns `[pattern, unit]`, the data's own first: every one up to a common change of sign, or drawn ones.

    The stream is the same whoever asks, so that the same units give the same answer in every verb.
    """
    if units <= LISTED_UNITS:
        return 1.0 - 2.0 * ((np.arange(2 ** (units - 1))[:, None] >> np.arange(units)) & 1)
    drawn = stream(0, "joint-flips").integers(0, 2, (DRAWN_PATTERNS, units))
    drawn[0] = 0
    return np.asarray(1.0 - 2.0 * drawn)


def _smallest_ranks(signs: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every pattern the smallest rank over pairs, ascending, and each pair's own rank in the data.

    A rank is the number of patterns at least as extreme for that pair; sums within rounding are equal.
    """
    size = np.abs(totals.T @ signs.T)
    count = size.shape[1]
    order = np.argsort(size, axis=1)
    step = np.diff(np.take_along_axis(size, order, axis=1), axis=1, prepend=-np.inf)
    starts = step > _TIE * np.abs(totals).sum(axis=0)[:, None]
    starts[:, 0] = True
    first = np.maximum.accumulate(np.where(starts, np.arange(count), 0), axis=1)
    ranks = np.empty(size.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, count - first, axis=1)
    return np.sort(ranks.min(axis=0)), ranks[:, 0]


def _flipped_ends(signs: np.ndarray, totals: np.ndarray, sizes: np.ndarray, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of each pair: differences that more than `last` patterns are as extreme for as the data.

    A pattern that flips none of a pair's units, or all, is as extreme as the data whatever the difference.
    """
    shared = sizes[:, :1] if (sizes == sizes[:, :1]).all() else sizes
    sums, numbers = totals.T @ signs.T, shared.T @ signs.T
    total, number = totals.sum(axis=0)[:, None], shared.sum(axis=0)[:, None]
    both = (number - numbers > 0.5) & (number + numbers > 0.5)
    flipped = np.where(both, (total - sums) / np.where(both, number - numbers, 1.0), np.inf)
    rest = np.where(both, (total + sums) / np.where(both, number + numbers, 1.0), -np.inf)
    lower, upper = np.minimum(flipped, rest), np.maximum(flipped, rest)
    lower.partition(last, axis=1)
    upper.partition(upper.shape[1] - 1 - last, axis=1)
    return lower[:, last], upper[:, upper.shape[1] - 1 - last]
