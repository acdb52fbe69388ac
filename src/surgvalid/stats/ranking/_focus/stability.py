"""How much the ranking depends on which videos were in the test set: the whole published rule on resampled videos.

One joint bootstrap over videos: a video sits in several buckets and takes all of them along. In every replicate the
tests are repeated in their studentised form `z = sum c D / sqrt(sum c D^2)` (c: how often each video was drawn),
corrected, merged and placed again, all as matrix products. Then each of the final ranks 1 to 3 that several models
share is broken as the published order is (`standing`): in each bucket the replicate's list is itself resampled. Models
stand by win rate, then by the replicate's macro accuracy; what is still equal shares the final rank, and `place_shares`
splits it, so that the probabilities of being first sum to 1. An inner resample of a drawn list is a count over its
positions; one matrix of such counts per bucket serves all replicates, which makes the nested bootstrap one matrix
product per bucket. In a bucket that only part of the videos have, the inner size is binomial around their number; it
favours nobody.

The known bias, said in every result: a test inside a bootstrap sees the observed effect plus new noise, so it finds
more differences than the test on the data; final ranks spread more than the data warrant. The decision a reader would
question: 100 inner resamples. Four times as many move `p_first` by at most 0.003, a fifth of its own Monte Carlo error
at 1,000 replicates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from surgvalid.stats.comparing.paired_tests import adjusted, is_significant, pair_indices
from surgvalid.stats.draws import BLOCK_DRAWS, stream, video_counts
from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard
from surgvalid.stats.ranking._focus.merge import places_of, preferred
from surgvalid.stats.ranking._focus.standing import LAST_PLACE
from surgvalid.stats.ranking._options import RankOptions

INNER = 100
_TIED_CELLS = 4_000_000


def video_lists(videos: int, replicates: int, rng: np.random.Generator) -> np.ndarray:
    """The videos that each replicate draws, `[replicate, position]`; counted, they are those of `video_counts`.

    Example:
        >>> lists = video_lists(3, 2, stream(0, "example"))
        >>> counts = video_counts(3, 2, stream(0, "example"))
        >>> [np.bincount(one, minlength=3).tolist() for one in lists] == counts.tolist()
        True
    """
    lists = np.empty((replicates, videos), dtype=np.int32)
    rows = max(1, BLOCK_DRAWS // max(videos, 1))
    for first in range(0, replicates, rows):
        block = lists[first : first + rows]
        block[:] = rng.integers(0, videos, size=block.shape)
    return lists


def counts_of(lists: np.ndarray) -> np.ndarray:
    """How often each replicate draws each video, `[replicate, video]`.

    Example:
        >>> counts_of(np.array([[0, 2, 2], [1, 0, 2]])).tolist()
        [[1, 0, 2], [1, 1, 1]]
    """
    replicates, videos = lists.shape
    cell = lists + videos * np.arange(replicates)[:, None]
    return np.bincount(cell.ravel(), minlength=replicates * videos).reshape(replicates, videos)


def broken_places(
    board: FocusLeaderboard,
    members: np.ndarray,
    weights: np.ndarray,
    lists: np.ndarray,
    place: np.ndarray,
    macro: np.ndarray,
    *,
    seed: int,
    inner: int = INNER,
) -> np.ndarray:
    """The final ranks of every replicate after the tie-break, `[replicate, member]`.

    Args:
        board: The buckets.
        members: The models that compete.
        weights: Weights of the buckets.
        lists: The videos of every replicate, from `video_lists`.
        place: Final ranks before the tie-break, `[replicate, member]`.
        macro: Macro accuracies in the replicates, `[replicate, member]`.
        seed: Seed of the inner resamples.
        inner: How many of them; 0 orders by macro accuracy alone.
    """
    final = place.copy()
    rows = max(1, _TIED_CELLS // (len(members) * max(inner, lists.shape[1])))
    tied = np.flatnonzero(np.stack([_sharing(place, p).any(axis=1) for p in _TIED_PLACES]).any(axis=0))
    drawn = [_inner_counts(board, bucket, lists.shape[1], inner, seed) for bucket in board.buckets]
    for start in range(0, len(tied), rows):
        chosen = tied[start : start + rows]
        rates = win_rates_nested(board, members, weights, lists[chosen], place[chosen], drawn)
        final[chosen] = ordered_places(place[chosen], rates, macro[chosen])
    return final


def win_rates_nested(
    board: FocusLeaderboard,
    members: np.ndarray,
    weights: np.ndarray,
    lists: np.ndarray,
    place: np.ndarray,
    inner_counts: list[np.ndarray],
) -> np.ndarray:
    """The win rate of each member among those it shares its final rank with, `[replicate, member]`;
    0 for all others.
    """
    groups = [(sharing.any(axis=1), sharing) for sharing in (_sharing(place, p) for p in _TIED_PLACES)]
    tied = np.flatnonzero(np.any([sharing.any(axis=0) for _, sharing in groups], axis=0))
    rates = np.zeros((len(place), len(tied)))
    share = weights / weights.sum()
    for bucket, weight, counts in zip(board.buckets, share.tolist(), inner_counts, strict=True):
        if weight == 0 or not len(counts):
            continue
        totals = _totals(board, bucket, members[tied], lists, counts)
        for rows, sharing in groups:
            if rows.any():
                rates[rows] += weight * points_of(totals[:, :, rows], sharing[np.ix_(rows, tied)].T).T
    every = np.zeros(place.shape)
    every[:, tied] = rates
    return every


def place_shares(place: np.ndarray, last: int) -> np.ndarray:
    """How often each member stands on final ranks 1 to `last`; a shared final rank is split, so the shares sum to
    `last`.

    Example:
        >>> place_shares(np.array([[1, 1, 3], [1, 2, 3]]), 1).tolist()
        [0.75, 0.25, 0.0]
    """
    replicates, members = place.shape
    cell = place - 1 + members * np.arange(replicates)[:, None]
    size = np.bincount(cell.ravel(), minlength=place.size)[cell]
    inside = np.clip(last + 1 - place, 0, size)
    return np.asarray((inside / size).mean(axis=0))


_TIED_PLACES = range(1, LAST_PLACE + 1)


def _sharing(place: np.ndarray, p: int) -> np.ndarray:
    """Who shares final rank p with somebody."""
    there = place == p
    return np.asarray(there & (there.sum(axis=1, keepdims=True) > 1))


def _inner_counts(board: FocusLeaderboard, bucket: Bucket, positions: int, inner: int, seed: int) -> np.ndarray:
    rng = stream(seed, "tie-break-replicates", board.name, bucket.name)
    return video_counts(positions, inner, rng) if inner else np.zeros((0, positions), dtype=np.int64)


def _totals(
    board: FocusLeaderboard, bucket: Bucket, members: np.ndarray, lists: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """The sums of the bucket under every inner resample, `[inner, member, replicate]`."""
    of_members = bucket.scores.sums[:, members]
    whole = bool((of_members == np.rint(of_members)).all()) and float(np.abs(of_members).sum()) * lists.shape[1] < 2**24
    real = np.float32 if whole else np.float64
    sums = np.zeros((len(members), board.videos), dtype=real)
    sums[:, bucket.videos] = of_members.T
    gathered = sums[:, lists.T].transpose(1, 0, 2).reshape(lists.shape[1], -1)
    return np.asarray(counts.astype(real) @ gathered).reshape(len(counts), len(members), -1)


def points_of(totals: np.ndarray, sharing: np.ndarray) -> np.ndarray:
    """The mean share of points over resamples, `[member, replicate]`; totals are `[resample, member, replicate]`.

    Members stand before replicates, so that the few members are compared along long rows.
    """
    masked = np.where(sharing, totals, totals.dtype.type(-np.inf))
    best = masked.max(axis=1, keepdims=True)
    top = masked >= best - 1e-9 * np.maximum(1.0, np.abs(best))
    each = 1.0 / top.sum(axis=1)
    return np.asarray(np.einsum("imr,ir->mr", top, each)) / len(totals)


def ordered_places(place: np.ndarray, rate: np.ndarray, macro: np.ndarray) -> np.ndarray:
    """Final ranks with every group on final ranks 1 to 3 ordered by win rate, then by macro accuracy."""
    rate, macro = np.round(rate, 12), np.round(macro, 12)
    key = np.stack([rate, macro], axis=-1)
    ahead = key[:, :, None, 0] > key[:, None, :, 0]
    level = key[:, :, None, 0] == key[:, None, :, 0]
    ahead |= level & (key[:, :, None, 1] > key[:, None, :, 1])
    ahead &= (place[:, :, None] == place[:, None, :]) & (place <= LAST_PLACE)[:, :, None]
    return np.asarray(place + ahead.sum(axis=1))


_CELLS = 8_000_000
"""Numbers held at once per bucket; replicates are done in blocks below it."""


@dataclass(frozen=True)
class Replicates:
    """Final ranks and accuracies under resampled videos."""

    place: np.ndarray
    """Final ranks of the members, `[replicate, member]`."""
    accuracy: np.ndarray
    """Accuracies of all entries, `[bucket, replicate, model]`; NaN where a bucket lost all its videos."""

    @property
    def macro(self) -> np.ndarray:
        """Mean over the buckets that have videos, `[replicate, model]`."""
        given = np.isfinite(self.accuracy)
        total = np.where(given, self.accuracy, 0.0).sum(axis=0)
        return np.asarray(total / np.maximum(1, given.sum(axis=0)))


def replicate(
    board: FocusLeaderboard, members: np.ndarray, weights: np.ndarray, options: RankOptions, counts: np.ndarray
) -> Replicates:
    """The ranking repeated for every row of `counts[replicate, video]`."""
    pairs = max(1, len(members) * (len(members) - 1) // 2)
    rows = max(1, _CELLS // (2 * pairs))
    blocks = [counts[start : start + rows] for start in range(0, len(counts), rows)]
    done = [_block(board, members, weights, options, block) for block in blocks]
    return Replicates(np.concatenate([d.place for d in done]), np.concatenate([d.accuracy for d in done], axis=1))


def _block(
    board: FocusLeaderboard, members: np.ndarray, weights: np.ndarray, options: RankOptions, counts: np.ndarray
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
        return np.asarray(statistic >= special.chdtri(1, options.alpha))
    if correction == "bh":
        return is_significant(adjusted(special.erfc(np.sqrt(statistic / 2.0)), "bh"), options.alpha)
    return _holm_rejected(statistic, options.alpha / np.arange(tests, 0, -1))


def _holm_rejected(statistic: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Holm without sorting: having rejected k, everything beyond the critical value of step k goes too."""
    critical = special.chdtri(1, levels).astype(statistic.dtype)
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
