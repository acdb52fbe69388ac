"""Who is ahead of whom: significance in each bucket, the merge rule, and Copeland's rule over the buckets.

Definition. In bucket b model i beats j when the adjusted p-value of the pair is at most alpha and i has the higher
accuracy; the family of the correction is all pairs of the models that compete, within one bucket. `n_ij` is the number
(or weight) of buckets in which i is ahead of j. i dominates j when `n_ij > n_ji`. A model's score is the number of
models it dominates minus the number that dominate it; its final rank is one plus the number of models with a higher
score.
Source: FOCUS challenge document, ranking scheme; Copeland (1951).

The decision a reader would question: "not significant means same rank" and "significant means different rank" cannot
both hold in a ranking, because not being significantly different is not transitive. `pairwise` avoids ranks and obeys
both halves, pair by pair; every other merge rule breaks one of them somewhere. And Copeland is not independent of the
field: an entry added or removed can swap two others; the leave-one-model-out table shows whether it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from surgvalid.stats.comparing.paired_tests import PairTests, adjusted, is_significant, pair_indices, scores_tested
from surgvalid.stats.ranking._focus.buckets import FocusLeaderboard
from surgvalid.stats.ranking._options import RankOptions


@dataclass(frozen=True)
class Copeland:
    """The merged ranking, before ties are broken."""

    counts: np.ndarray
    """`n_ij`."""
    dominates: np.ndarray
    score: np.ndarray
    place: np.ndarray

    @property
    def dominated(self) -> np.ndarray:
        """How many models each one dominates."""
        return np.asarray(self.dominates.sum(axis=1))

    @property
    def dominated_by(self) -> np.ndarray:
        """By how many models each one is dominated."""
        return np.asarray(self.dominates.sum(axis=0))

    @property
    def condorcet_winner(self) -> int | None:
        """The model that dominates every other one, or None."""
        winners = np.flatnonzero(self.dominated == len(self.score) - 1)
        return int(winners[0]) if len(winners) else None

    @property
    def cycles(self) -> list[list[int]]:
        """Groups of models that dominate each other in a circle."""
        _, component = connected_components(csr_array(self.dominates), directed=True, connection="strong")
        groups = [np.flatnonzero(component == c).tolist() for c in np.unique(component)]
        return [group for group in groups if len(group) > 1]


def copeland(ahead: np.ndarray, weights: np.ndarray | None = None) -> Copeland:
    """The Copeland ranking from `ahead[bucket, model, model]`.

    Example:
        >>> ahead = np.array([[[0, 1], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool)
        >>> copeland(ahead).score.tolist(), copeland(ahead).place.tolist()
        ([1, -1], [1, 2])
    """
    weights = np.ones(len(ahead)) if weights is None else weights
    counts = np.tensordot(weights, ahead.astype(float), axes=1)
    dominates = counts - counts.T > 1e-9 * max(1.0, float(np.sum(weights)))
    score = dominates.sum(axis=1).astype(np.int64) - dominates.sum(axis=0)
    return Copeland(counts, dominates, score, places_of(score))


def places_of(score: np.ndarray) -> np.ndarray:
    """One plus the number of higher scores, along the last axis; equal scores share a final rank.

    Example:
        >>> places_of(np.array([3, 0, 3, -6])).tolist()
        [1, 3, 1, 4]
    """
    return np.asarray(1 + (score[..., None, :] > score[..., :, None]).sum(axis=-1))


DEFAULT_TEST = "sign-flip"
LEAST_DRAWS = 9999
"""For the tests that draw: fewer would limit their smallest p-value more than videos do."""


@dataclass(frozen=True)
class Evidence:
    """Raw tests between all entries of a leaderboard. Families are cut from it without testing again."""

    p: np.ndarray
    """Unadjusted p-values `[bucket, model, model]`, symmetric."""
    difference: np.ndarray
    """Accuracy of the first minus the second model `[bucket, model, model]`."""
    accuracy: np.ndarray
    """`[bucket, model]`."""
    tests: tuple[PairTests, ...]


class Relation(NamedTuple):
    """The significant differences among some members of a leaderboard."""

    beats: np.ndarray
    """`[bucket, member, member]`: the first is significantly better than the second."""
    p_adjusted: np.ndarray
    """`[bucket, member, member]`, symmetric."""


def gather(board: FocusLeaderboard, options: RankOptions) -> Evidence:
    """The tests of every pair of entries in every bucket."""
    correction = options.correction or "holm"
    runs = tuple(
        scores_tested(
            bucket.scores,
            test=options.test or DEFAULT_TEST,
            correction=correction,
            alpha=options.alpha,
            seed=options.seed,
            replicates=max(options.replicates or 0, LEAST_DRAWS),
        )
        for bucket in board.buckets
    )
    models = len(board.models)
    p, difference = np.ones((len(runs), models, models)), np.zeros((len(runs), models, models))
    for b, run in enumerate(runs):
        p[b, run.first, run.second] = p[b, run.second, run.first] = run.p
        difference[b, run.first, run.second], difference[b, run.second, run.first] = run.difference, -run.difference
    return Evidence(p, difference, board.accuracy, runs)


def relation(evidence: Evidence, members: np.ndarray, *, correction: str, alpha: float) -> Relation:
    """The relation among `members`, corrected for the pairs among them only."""
    first, second = pair_indices(len(members))
    raw = evidence.p[:, members[first], members[second]]
    p_adjusted = np.ones((len(evidence.p), len(members), len(members)))
    p_adjusted[:, first, second] = p_adjusted[:, second, first] = adjusted(raw, correction)
    better = evidence.difference[:, members[:, None], members[None, :]] > 0
    return Relation(is_significant(p_adjusted, alpha) & better, p_adjusted)


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
