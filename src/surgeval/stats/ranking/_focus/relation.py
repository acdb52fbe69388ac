"""Who is significantly better than whom in each bucket.

Definition. In bucket b model i beats j when the adjusted p-value of the pair is at most alpha and i has
the higher accuracy. The family of the correction is all pairs of the models that compete, within one
bucket; buckets and boards are not pooled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surgeval.stats.paired_tests import PairTests, adjusted, is_significant, pair_indices, scores_tested
from surgeval.stats.ranking._focus.buckets import Board
from surgeval.stats.ranking._options import RankOptions

DEFAULT_TEST = "sign-flip"
LEAST_DRAWS = 9999
"""For the tests that draw: fewer would limit their smallest p-value more than videos do."""


@dataclass(frozen=True)
class Evidence:
    """Raw tests between all entries of a board. Families are cut from it without testing again."""

    p: np.ndarray
    """Unadjusted p-values `[bucket, model, model]`, symmetric."""
    difference: np.ndarray
    """Accuracy of the first minus the second model `[bucket, model, model]`."""
    accuracy: np.ndarray
    """`[bucket, model]`."""
    tests: tuple[PairTests, ...]


class Relation(NamedTuple):
    """The significant differences among some members of a board."""

    beats: np.ndarray
    """`[bucket, member, member]`: the first is significantly better than the second."""
    p_adjusted: np.ndarray
    """`[bucket, member, member]`, symmetric."""


def gather(board: Board, options: RankOptions) -> Evidence:
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
