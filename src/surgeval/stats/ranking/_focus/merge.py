"""From a relation that is not transitive to what Copeland counts: one function per merge rule.

"Not significant means same rank" and "significant means different rank" cannot both hold in a ranking,
because not being significantly different is not transitive. `pairwise` avoids ranks and obeys both
halves, pair by pair; every other rule breaks one of them somewhere.
"""

from __future__ import annotations

import numpy as np


def preferred(beats: np.ndarray, accuracy: np.ndarray, merge: str) -> np.ndarray:
    """Who is ahead of whom in a bucket under a merge rule: booleans `[..., model, model]`.

    Args:
        beats: Significantly better, `[..., model, model]`.
        accuracy: `[..., model]`.
        merge: One of `MERGES`.

    Example:
        >>> chain = np.array([[0, 0, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)  # A > C only
        >>> accuracy = np.array([0.9, 0.8, 0.7])
        >>> preferred(chain, accuracy, "pairwise").sum(), preferred(chain, accuracy, "closure").sum()
        (np.int64(1), np.int64(0))
    """
    if merge == "pairwise":
        return beats
    rank = bucket_rank(beats, accuracy, merge)
    return np.asarray(rank[..., :, None] < rank[..., None, :])


def bucket_rank(beats: np.ndarray, accuracy: np.ndarray, merge: str) -> np.ndarray:
    """A number per model that orders a bucket under a merge rule; smaller is better, equal is tied."""
    wins, losses = beats.sum(axis=-1), beats.sum(axis=-2)
    if merge == "wins":
        return np.asarray(-wins)
    if merge in ("losses", "pairwise"):
        return np.asarray(losses)
    if merge == "net":
        return np.asarray(losses - wins)
    if merge == "accuracy":
        return np.asarray(-np.round(accuracy, 12))
    if merge == "leader":
        return _leader_rank(beats, accuracy, losses, wins)
    return _closure_rank(beats, accuracy)


def _leader_rank(beats: np.ndarray, accuracy: np.ndarray, losses: np.ndarray, wins: np.ndarray) -> np.ndarray:
    """Walk down by accuracy; a model significantly worse than its group's leader leads the next group.

    Among equal accuracies the model with fewer losses, then more wins, comes first, so that the walk
    does not depend on names.
    """
    models = accuracy.shape[-1]
    order = np.lexsort((-wins, losses, -np.round(accuracy, 12)), axis=-1)
    rank = np.zeros(accuracy.shape, dtype=np.int64)
    leader, group = order[..., :1], np.zeros((*accuracy.shape[:-1], 1), dtype=np.int64)
    for position in range(1, models):
        here = order[..., position : position + 1]
        row = np.take_along_axis(beats, leader[..., None], axis=-2)[..., 0, :]
        worse = np.take_along_axis(row, here, axis=-1)
        leader = np.where(worse, here, leader)
        group = np.where(worse, position, group)
        np.put_along_axis(rank, here, group, axis=-1)
    return rank


def _closure_rank(beats: np.ndarray, accuracy: np.ndarray) -> np.ndarray:
    """Components of "not significantly different", ordered by their best accuracy."""
    linked = ~(beats | np.swapaxes(beats, -1, -2))
    models = accuracy.shape[-1]
    for _ in range(max(1, int(np.ceil(np.log2(max(models, 2)))))):
        linked = (linked.astype(np.float32) @ linked.astype(np.float32)) > 0
    best = np.where(linked, np.round(accuracy, 12)[..., None, :], -np.inf).max(axis=-1)
    return np.asarray(-best)
