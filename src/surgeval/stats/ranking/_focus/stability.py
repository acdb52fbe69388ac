"""How much the ranking depends on which videos were in the test set.

One joint bootstrap over videos: a video sits in several buckets and takes all of them along. In every
replicate the tests are repeated in their studentised form `z = sum c D / sqrt(sum c D^2)` (c: how often
each video was drawn), corrected, merged and placed again, all as matrix products. What comes out are Copeland
places; `nested_ties` breaks their ties, so that every replicate repeats the whole published rule.

The known bias, said in every result: a test inside a bootstrap sees the observed effect plus new noise,
so it finds more differences than the test on the data; places spread more than the data warrant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from surgeval.stats.paired_tests import adjusted, is_significant, pair_indices
from surgeval.stats.ranking._focus.buckets import Board, Bucket
from surgeval.stats.ranking._focus.copeland import places_of
from surgeval.stats.ranking._focus.merge import preferred
from surgeval.stats.ranking._options import RankOptions

_CELLS = 8_000_000
"""Numbers held at once per bucket; replicates are done in blocks below it."""


@dataclass(frozen=True)
class Replicates:
    """Places and accuracies under resampled videos."""

    place: np.ndarray
    """Places of the members, `[replicate, member]`."""
    accuracy: np.ndarray
    """Accuracies of all entries, `[bucket, replicate, model]`; NaN where a bucket lost all its videos."""

    @property
    def macro(self) -> np.ndarray:
        """Mean over the buckets that have videos, `[replicate, model]`."""
        given = np.isfinite(self.accuracy)
        total = np.where(given, self.accuracy, 0.0).sum(axis=0)
        return np.asarray(total / np.maximum(1, given.sum(axis=0)))


def replicate(
    board: Board, members: np.ndarray, weights: np.ndarray, options: RankOptions, counts: np.ndarray
) -> Replicates:
    """The ranking repeated for every row of `counts[replicate, video]`."""
    pairs = max(1, len(members) * (len(members) - 1) // 2)
    rows = max(1, _CELLS // (2 * pairs))
    blocks = [counts[start : start + rows] for start in range(0, len(counts), rows)]
    done = [_block(board, members, weights, options, block) for block in blocks]
    return Replicates(np.concatenate([d.place for d in done]), np.concatenate([d.accuracy for d in done], axis=1))


def _block(
    board: Board, members: np.ndarray, weights: np.ndarray, options: RankOptions, counts: np.ndarray
) -> Replicates:
    drawn = counts.astype(np.float32)
    lead = np.zeros((len(counts), len(members) * (len(members) - 1) // 2), dtype=np.float32)
    accuracy = np.empty((len(board.buckets), len(counts), len(board.models)))
    for b, bucket in enumerate(board.buckets):
        here = drawn[:, bucket.videos]
        totals = here @ bucket.scores.sums.astype(np.float32)
        questions = (here @ bucket.scores.sizes.astype(np.float32))[:, None]
        with np.errstate(invalid="ignore"):
            accuracy[b] = np.where(questions > 0, totals.astype(float) / questions, np.nan)
        sign = _significant_sign(here, bucket, totals[:, members], members, options)
        if options.merge != "pairwise":
            sign = _merged_sign(sign, accuracy[b][:, members], options.merge)
        lead += np.float32(weights[b]) * sign
    return Replicates(_places(lead, len(members), float(weights.sum())), accuracy)


def _significant_sign(
    drawn: np.ndarray, bucket: Bucket, totals: np.ndarray, members: np.ndarray, options: RankOptions
) -> np.ndarray:
    """+1 where the first model of a pair is significantly better, -1 where the second is, else 0."""
    first, second = pair_indices(len(members))
    sums = bucket.scores.sums[:, members]
    squares = drawn @ ((sums[:, first] - sums[:, second]) ** 2).astype(np.float32)
    gap = totals[:, first] - totals[:, second]
    statistic = np.divide(gap * gap, squares, out=np.zeros_like(gap), where=squares > 1e-12)
    return np.where(_rejected(statistic, options), np.sign(gap), np.float32(0.0))


def _rejected(statistic: np.ndarray, options: RankOptions) -> np.ndarray:
    """Which squared z-statistics are significant, row by row, after the correction."""
    correction, tests = options.correction or "holm", statistic.shape[1]
    if not tests:
        return np.zeros(statistic.shape, dtype=bool)
    if correction == "none":
        return np.asarray(statistic >= stats.chi2.isf(options.alpha, 1))
    if correction == "bh":
        return is_significant(adjusted(special.erfc(np.sqrt(statistic / 2.0)), "bh"), options.alpha)
    return _holm_rejected(statistic, options.alpha / np.arange(tests, 0, -1))


def _holm_rejected(statistic: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Holm without sorting: having rejected k, everything beyond the critical value of step k goes too."""
    critical = stats.chi2.isf(levels, 1).astype(statistic.dtype)
    critical = np.append(critical, critical[-1:])
    rejected = np.zeros(len(statistic), dtype=np.int64)
    while True:
        beyond = statistic >= critical[rejected][:, None]
        grown = beyond.sum(axis=1)
        if (grown == rejected).all():
            return np.asarray(beyond)
        rejected = grown


def _merged_sign(sign: np.ndarray, accuracy: np.ndarray, merge: str) -> np.ndarray:
    """The sign of each pair after ranks in the bucket under another merge rule."""
    models = accuracy.shape[1]
    first, second = pair_indices(models)
    beats = np.zeros((len(sign), models, models), dtype=bool)
    beats[:, first, second], beats[:, second, first] = sign > 0, sign < 0
    ahead = preferred(beats, np.nan_to_num(accuracy), merge)
    return np.asarray(ahead[:, first, second].astype(np.float32) - ahead[:, second, first])


def _places(lead: np.ndarray, models: int, scale: float) -> np.ndarray:
    first, second = pair_indices(models)
    side = np.zeros((len(first), models), dtype=np.float32)
    side[np.arange(len(first)), first], side[np.arange(len(first)), second] = 1.0, -1.0
    dominance = np.where(np.abs(lead) > 1e-5 * max(1.0, scale), np.sign(lead), np.float32(0.0))
    return places_of(np.rint(dominance @ side).astype(np.int32))
