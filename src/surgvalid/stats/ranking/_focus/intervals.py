"""The intervals of a leaderboard: accuracies, macro accuracies, their gaps, and all differences in a bucket.

All come from leaving out one video at a time or from the sign-flip test, so that none draws random numbers and all hold
with few videos: an accuracy as in `video_jackknife`, a mean over buckets as in `macro_interval` (buckets in the place
of classes), a difference as in `sign_flip_interval`, with the closed form of the test beyond 15 videos.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgvalid.stats.intervals.macro_interval import macro_difference_interval, macro_interval
from surgvalid.stats.intervals.sign_flip_interval import (
    FEWEST_TESTED,
    LISTED_VIDEOS,
    agreeing_ends,
    listed_ends,
    normal_ends,
)
from surgvalid.stats.intervals.video_jackknife import mean_interval
from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard

LEVEL = 0.95
_CELLS = 4_000_000


class Ends(NamedTuple):
    """Lower and upper ends, NaN where the data carry none."""

    low: np.ndarray
    high: np.ndarray


class DifferenceEnds(NamedTuple):
    """The ends of every pair of a bucket, and how they were found."""

    low: np.ndarray
    high: np.ndarray
    method: str


def accuracy_ends(board: FocusLeaderboard, bucket: Bucket) -> Ends:
    """The interval of each model's accuracy in a bucket."""
    ends = mean_interval(bucket.scores.sums, bucket.scores.sizes, level=LEVEL, low=board.low, high=board.high)
    return Ends(ends.low, ends.high)


def macro_ends(board: FocusLeaderboard) -> Ends:
    """The interval of each model's mean over buckets."""
    without, support = _left_out(board)
    rows = [
        macro_interval(
            board.accuracy[:, m], without[:, :, m], support, level=LEVEL, low=board.low, high=board.high
        ).every
        for m in range(len(board.models))
    ]
    return Ends(np.array([row.low for row in rows]), np.array([row.high for row in rows]))


def gap_ends(board: FocusLeaderboard, first: int, second: int) -> tuple[float | None, float | None]:
    """The interval of the difference of two macro accuracies; None where the data carry none."""
    without, support = _left_out(board)
    ends = macro_difference_interval(
        board.accuracy[:, first] - board.accuracy[:, second],
        without[:, :, first] - without[:, :, second],
        support,
        level=LEVEL,
        width=board.high - board.low,
    ).every
    return (None, None) if np.isnan(ends.low) else (ends.low, ends.high)


def difference_ends(bucket: Bucket, p: np.ndarray | None) -> DifferenceEnds:
    """The interval of every pair's difference in accuracy.

    Args:
        bucket: The scores.
        p: The sign-flip p-values of the pairs; an interval then holds 0 exactly when p is above 5 %. None where
            another test was asked for.
    """
    totals, sizes = bucket.scores.video_differences, bucket.scores.sizes
    around = mean_interval(totals, sizes, level=LEVEL)
    if len(sizes) < FEWEST_TESTED:
        return DifferenceEnds(around.low, around.high, "jackknife")
    if len(sizes) <= LISTED_VIDEOS:
        (low, high), method = _listed(totals, sizes), "sign-flip"
    else:
        spread = np.broadcast_to(sizes[:, None], totals.shape)
        (low, high), method = normal_ends(totals, spread, level=LEVEL), "sign-flip, normal"
    if p is not None:
        low, high = agreeing_ends(low, high, p, level=LEVEL, scale=np.abs(totals).mean(axis=0))
    known = np.isfinite(low) & np.isfinite(high) & np.isfinite(around.low)
    return DifferenceEnds(np.where(known, low, np.nan), np.where(known, high, np.nan), method)


def _listed(totals: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The listed ends of all pairs, some pairs at a time."""
    step = max(1, _CELLS // 2 ** len(sizes))
    blocks = [totals[:, start : start + step] for start in range(0, totals.shape[1], step)]
    ends = [listed_ends(block, sizes, level=LEVEL) for block in blocks]
    if not ends:
        return np.empty(0), np.empty(0)
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])


def _left_out(board: FocusLeaderboard) -> tuple[np.ndarray, np.ndarray]:
    """Accuracies without each video, `[video, bucket, model]` (NaN where the bucket is lost), and questions."""
    without = np.repeat(board.accuracy[None], board.videos, axis=0)
    support = np.zeros((board.videos, len(board.buckets)))
    for b, bucket in enumerate(board.buckets):
        sums, sizes = bucket.scores.sums, bucket.scores.sizes
        left = (sizes.sum() - sizes)[:, None]
        value = np.divide(sums.sum(axis=0) - sums, left, out=np.full(sums.shape, np.nan), where=left > 0)
        without[bucket.videos, b] = value
        support[bucket.videos, b] = sizes
    held = support.any(axis=1)
    return without[held], support[held]
