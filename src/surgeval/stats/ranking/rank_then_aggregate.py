"""Rank, then aggregate: models are ranked on every case, and their case ranks are averaged.

Source: challengeR's `rankThenAggregate` (Wiesenfarth et al. 2021). A missing score is ranked behind the
worst one of its case. Case ranks do not change when cases are resampled, so the bootstrap weighs them.

challengeR ranks all copies of a case that was drawn c times together, which gives that case a weight of
about c squared; `challenger_compat` repeats that so that the difference can be seen.
"""

from __future__ import annotations

import numpy as np

from surgeval.schema.score_table import ScoreTable
from surgeval.stats.ranking._generic import ranked
from surgeval.stats.ranking._options import RankOptions
from surgeval.stats.ranking._ranks import case_ranks, resampled_mean, resampled_quantile, weighted_quantile
from surgeval.stats.ranking._tasks import Task
from surgeval.stats.ranking.result import RankResult


def rank_then_aggregate(table: ScoreTable, options: RankOptions, *, operator: str) -> RankResult:
    """The ranking of each task by mean or median case rank, and the consensus over tasks."""

    def values(task: Task) -> np.ndarray:
        ranks = case_ranks(task.oriented)
        return np.asarray(ranks.mean(axis=0) if operator == "mean" else np.quantile(ranks, 0.5, axis=0))

    def replicates(task: Task, counts: np.ndarray) -> np.ndarray:
        ranks = case_ranks(task.oriented)
        if options.challenger_compat:
            return copies_ranked_together(ranks, counts, operator)
        return resampled_mean(ranks, counts) if operator == "mean" else resampled_quantile(ranks, counts, 0.5)

    return ranked(
        table,
        options,
        rule=f"rank-then-{operator}",
        values=values,
        replicates=replicates,
        smaller_value_wins=True,
        method=f"the {operator} of its ranks on the cases of a task (a missing score ranks behind the worst)",
        keeps_missing=True,
    )


def copies_ranked_together(ranks: np.ndarray, counts: np.ndarray, operator: str) -> np.ndarray:
    """Aggregated ranks when the c copies of a case are ranked as one list: each copy gets c (r - 1) + 1."""
    drawn = counts.astype(float)
    if operator == "mean":
        total = drawn**2 @ (ranks - 1.0) + drawn.sum(axis=1, keepdims=True)
        return np.asarray(total / drawn.sum(axis=1, keepdims=True))
    out = np.empty((len(counts), ranks.shape[1]))
    for model in range(ranks.shape[1]):
        value = drawn * (ranks[:, model] - 1.0) + 1.0
        order = np.argsort(value, axis=1, kind="stable")
        out[:, model] = weighted_quantile(
            np.take_along_axis(value, order, axis=1), np.take_along_axis(counts, order, axis=1), 0.5
        )
    return out
