"""Rank, then aggregate: models are ranked on every case, and their case ranks are averaged.

Source: challengeR's `rankThenAggregate` (Wiesenfarth et al. 2021). Scores that are left out (`drop-score`) are gone
before ranks are made, as under challengeR's `na.rm`: ranks run among the models that have a score on the case, and the
mean or median over the model's own cases. Case ranks do not change when cases are resampled, so the bootstrap weighs
them.

challengeR ranks all copies of a case that was drawn c times together, which gives that case a weight of
about c squared; `challenger_compat` repeats that so that the difference can be seen.
"""

from __future__ import annotations

import numpy as np

from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking._generic import ranked
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._ranks import case_ranks, resampled_mean, resampled_quantile, weighted_quantile
from surgvalid.stats.ranking._tasks import Task
from surgvalid.stats.ranking.result import RankResult


def rank_then_aggregate(table: ScoreTable, options: RankOptions, *, operator: str) -> RankResult:
    """The ranking of each task by mean or median case rank, and the consensus over tasks."""

    def values(task: Task) -> np.ndarray:
        ranks = case_ranks(task.oriented)
        return np.asarray(np.nanmean(ranks, axis=0) if operator == "mean" else np.nanquantile(ranks, 0.5, axis=0))

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
        averaged=(lambda task: case_ranks(task.oriented)) if operator == "mean" else None,
        method=f"the {operator} of its ranks on the cases of a task (among the models that have a score there)",
    )


def copies_ranked_together(ranks: np.ndarray, counts: np.ndarray, operator: str) -> np.ndarray:
    """Aggregated ranks when the c copies of a case are ranked as one list: each copy gets c (r - 1) + 1."""
    drawn, given = counts.astype(float), np.isfinite(ranks)
    if operator == "mean":
        number = drawn @ given
        total = drawn**2 @ np.where(given, ranks - 1.0, 0.0) + number
        return np.asarray(np.divide(total, number, out=np.full(total.shape, np.nan), where=number > 0))
    out = np.empty((len(counts), ranks.shape[1]))
    for model in range(ranks.shape[1]):
        value = drawn * (np.where(given[:, model], ranks[:, model], 0.0) - 1.0) + 1.0
        times = counts * given[:, model]
        order = np.argsort(value, axis=1, kind="stable")
        out[:, model] = weighted_quantile(
            np.take_along_axis(value, order, axis=1), np.take_along_axis(times, order, axis=1), 0.5
        )
    return out
