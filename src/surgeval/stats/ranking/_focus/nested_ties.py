"""The tie-break inside the replicates of the stability analysis, so that every replicate has one first place.

Definition. A replicate is a list of drawn videos. Each of its places 1 to 3 that several models share is broken as the
published order is (`tie_break`): in each bucket the replicate's list is itself resampled, a point goes to the tied
model with the highest total, split among equals, and the win rate is the mean over inner resamples, then over buckets
by weight. Models stand by win rate, then by the replicate's macro accuracy; what is still equal shares the place, and
`place_shares` splits it, so that the probabilities of being first sum to 1.

An inner resample of a drawn list is a count over its positions. One matrix of such counts per bucket serves all
replicates, which turns the nested bootstrap into one matrix product per bucket. In a bucket that only part of the
videos have, the inner size is binomial around their number; it favours nobody.

The decision a reader would question: 100 inner resamples. Four times as many move `p_first` by at most 0.003, a
fifth of its own Monte Carlo error at 1,000 replicates.
"""

from __future__ import annotations

import numpy as np

from surgeval.stats.draws import BLOCK_DRAWS, stream, video_counts
from surgeval.stats.ranking._focus.buckets import Board, Bucket
from surgeval.stats.ranking._focus.tie_break import LAST_PLACE

INNER = 100
_CELLS = 4_000_000


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
    board: Board,
    members: np.ndarray,
    weights: np.ndarray,
    lists: np.ndarray,
    place: np.ndarray,
    macro: np.ndarray,
    *,
    seed: int,
    inner: int = INNER,
) -> np.ndarray:
    """The places of every replicate after the tie-break, `[replicate, member]`.

    Args:
        board: The buckets.
        members: The models that compete.
        weights: Weights of the buckets.
        lists: The videos of every replicate, from `video_lists`.
        place: Places before the tie-break, `[replicate, member]`.
        macro: Macro accuracies in the replicates, `[replicate, member]`.
        seed: Seed of the inner resamples.
        inner: How many of them; 0 orders by macro accuracy alone.
    """
    final = place.copy()
    rows = max(1, _CELLS // (len(members) * max(inner, lists.shape[1])))
    tied = np.flatnonzero(np.stack([_sharing(place, p).any(axis=1) for p in _PLACES]).any(axis=0))
    drawn = [_inner_counts(board, bucket, lists.shape[1], inner, seed) for bucket in board.buckets]
    for start in range(0, len(tied), rows):
        chosen = tied[start : start + rows]
        rates = win_rates_nested(board, members, weights, lists[chosen], place[chosen], drawn)
        final[chosen] = ordered_places(place[chosen], rates, macro[chosen])
    return final


def win_rates_nested(
    board: Board,
    members: np.ndarray,
    weights: np.ndarray,
    lists: np.ndarray,
    place: np.ndarray,
    inner_counts: list[np.ndarray],
) -> np.ndarray:
    """The win rate of each member among those it shares its place with, `[replicate, member]`; 0 for all others."""
    groups = [(sharing.any(axis=1), sharing) for sharing in (_sharing(place, p) for p in _PLACES)]
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
    """How often each member stands on places 1 to `last`; a shared place is split, so the shares sum to `last`.

    Example:
        >>> place_shares(np.array([[1, 1, 3], [1, 2, 3]]), 1).tolist()
        [0.75, 0.25, 0.0]
    """
    replicates, members = place.shape
    cell = place - 1 + members * np.arange(replicates)[:, None]
    size = np.bincount(cell.ravel(), minlength=place.size)[cell]
    inside = np.clip(last + 1 - place, 0, size)
    return np.asarray((inside / size).mean(axis=0))


_PLACES = range(1, LAST_PLACE + 1)


def _sharing(place: np.ndarray, p: int) -> np.ndarray:
    """Who shares place p with somebody."""
    there = place == p
    return np.asarray(there & (there.sum(axis=1, keepdims=True) > 1))


def _inner_counts(board: Board, bucket: Bucket, positions: int, inner: int, seed: int) -> np.ndarray:
    rng = stream(seed, "tie-break-replicates", board.name, bucket.name)
    return video_counts(positions, inner, rng) if inner else np.zeros((0, positions), dtype=np.int64)


def _totals(board: Board, bucket: Bucket, members: np.ndarray, lists: np.ndarray, counts: np.ndarray) -> np.ndarray:
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
    """Places with every group on places 1 to 3 ordered by win rate, then by macro accuracy."""
    rate, macro = np.round(rate, 12), np.round(macro, 12)
    key = np.stack([rate, macro], axis=-1)
    ahead = key[:, :, None, 0] > key[:, None, :, 0]
    level = key[:, :, None, 0] == key[:, None, :, 0]
    ahead |= level & (key[:, :, None, 1] > key[:, None, :, 1])
    ahead &= (place[:, :, None] == place[:, None, :]) & (place <= LAST_PLACE)[:, :, None]
    return np.asarray(place + ahead.sum(axis=1))
