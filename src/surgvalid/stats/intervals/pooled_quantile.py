"""The interval of a quantile of all rows pooled, by asking of every value whether it could be that quantile.

Definition. Were x the q-quantile, the cases of a video at or below x would exceed `q n_v` as often as fall short of
it: x is kept when the sign-flip test of `D_v(x) = (cases of v at or below x) - q n_v` has `p > alpha`. The interval
runs from the first value kept to the value after the last one kept (score inversion: Woodruff 1952, Francisco and
Fuller 1991, with whole videos as units). An end that is never rejected is open: it is the bound of the metric.

How far this can be trusted depends on `e = V_eff min(q, 1 - q)`, the videos' worth of cases beyond the quantile: plain
from 4, with a finding from 2 (coverage about 90 %), no interval below. A 5 % quantile needs 40 equally long videos for
that, a median six. The mean over videos of the quantile within each (estimand `videos`) needs none of this.

The decision a reader would question: the p-value need not fall steadily away from the quantile, so values are scanned
(about 150, then every one around both edges) instead of bisected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED
from surgvalid.stats.intervals.video_jackknife import effective_videos

FEWEST_BEYOND = 2.0
PLAIN_BEYOND = 4.0
SCANNED = 150


class QuantileInterval(NamedTuple):
    """The ends for one column, NaN where the data carry none."""

    low: float
    high: float
    open_low: bool
    """The lower end is the bound of the metric, because no value was rejected there."""
    open_high: bool
    beyond: float
    """Videos' worth of cases beyond the quantile."""


def pooled_quantile_interval(
    values: np.ndarray,
    videos: np.ndarray,
    quantile: float,
    *,
    level: float = 0.95,
    low: float = -math.inf,
    high: float = math.inf,
    weights: np.ndarray | None = None,
) -> QuantileInterval:
    """The interval of a quantile of `values`, all rows pooled.

    Args:
        values: One per row; NaN is not scored.
        videos: The index of the video of each row.
        quantile: Share below.
        level: Coverage asked for.
        low: Smallest value the metric can take.
        high: Largest value the metric can take.
        weights: What each row counts; 1 where not given.
    """
    check_level(level)
    scored = np.isfinite(values)
    values, codes = values[scored], np.unique(videos[scored], return_inverse=True)[1]
    weights = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)[scored]
    sizes = np.bincount(codes, weights=weights)
    beyond = videos_beyond(sizes, quantile)
    if len(sizes) < FEWEST_TESTED or beyond < FEWEST_BEYOND:
        return QuantileInterval(math.nan, math.nan, False, False, beyond)
    order = np.argsort(values, kind="stable")
    kept = _Kept(values[order], codes[order], weights[order], sizes, quantile, 1 - level)
    first, last = kept.first_and_last()
    distinct = kept.distinct
    return QuantileInterval(
        low if first == 0 else float(distinct[first]),
        high if last >= len(distinct) - 1 else float(distinct[last + 1]),
        first == 0,
        last >= len(distinct) - 1,
        beyond,
    )


def videos_beyond(sizes: np.ndarray, quantile: float) -> float:
    """`V_eff min(q, 1 - q)`: how many equally long videos' worth of cases lie beyond the quantile.

    Example:
        >>> videos_beyond(np.full(40, 10.0), 0.05)
        2.0
    """
    return float(effective_videos(sizes)) * min(quantile, 1 - quantile)


class _Kept:
    """Which distinct values the test keeps; each is tested once."""

    def __init__(
        self,
        values: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray,
        sizes: np.ndarray,
        quantile: float,
        alpha: float,
    ) -> None:
        self.distinct, starts = np.unique(values, return_index=True)
        self._ends = np.append(starts[1:], len(values))
        self._reached = np.cumsum(weights)[self._ends - 1]
        self._codes, self._weights, self._sizes, self._quantile, self._alpha = codes, weights, sizes, quantile, alpha
        self._known: dict[int, bool] = {}

    def first_and_last(self) -> tuple[int, int]:
        """The first and the last kept value, by number."""
        number = len(self.distinct)
        coarse = np.unique(np.linspace(0, number - 1, min(number, SCANNED)).astype(np.int64))
        centre = int(np.searchsorted(self._reached, self._quantile * self._reached[-1]))
        grid = np.unique(np.append(coarse, min(centre, number - 1)))
        inside = grid[self._test(grid)]
        if not len(inside):
            return centre, centre
        return self._edge(grid, int(inside[0]), -1), self._edge(grid, int(inside[-1]), 1)

    def _edge(self, grid: np.ndarray, kept: int, side: int) -> int:
        """The outermost value kept between a kept one and its rejected neighbour on the grid."""
        place = int(np.searchsorted(grid, kept)) + side
        if not 0 <= place < len(grid):
            return kept
        between = np.arange(min(kept, grid[place]) + 1, max(kept, grid[place]))
        passed = between[self._test(between)]
        return kept if not len(passed) else int(passed[0] if side < 0 else passed[-1])

    def _test(self, numbers: np.ndarray) -> np.ndarray:
        new = np.array([n for n in numbers.tolist() if n not in self._known], dtype=np.int64)
        if len(new):
            p = flip_p(self._differences(new))
            self._known.update(zip(new.tolist(), (p > self._alpha).tolist(), strict=True))
        return np.array([self._known[n] for n in numbers.tolist()], dtype=bool)

    def _differences(self, numbers: np.ndarray) -> np.ndarray:
        below = [
            np.bincount(self._codes[:end], weights=self._weights[:end], minlength=len(self._sizes))
            for end in self._ends[numbers].tolist()
        ]
        return np.asarray(np.stack(below, axis=1) - self._quantile * self._sizes[:, None])
