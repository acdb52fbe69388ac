"""Test, then rank: models are ranked by the number of others they significantly beat.

Source: challengeR's `testThenRank` (Wiesenfarth et al. 2021): one-sided Wilcoxon signed-rank tests
between all ordered pairs on the cases both have, significant when the (adjusted) p-value is at most
alpha; a model's value is its number of significant wins over the number of its opponents. The
correction is over all ordered pairs of a task; without one asked for, there is none, as there.

The bootstrap repeats the tests on weighted cases: |d| is sorted once per pair and mid-ranks come from
cumulated counts. challengeR drops the copies of a case drawn more than once, so that only about 63 % of
the cases are tested; `challenger_compat` repeats that.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from surgvalid.results.tables import ranking
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.paired_tests import (
    TESTS,
    PairedScores,
    adjusted,
    is_significant,
    pair_indices,
    signed_rank_p,
    signed_rank_tail,
)
from surgvalid.stats.ranking._generic import ranked
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._tasks import Task
from surgvalid.stats.ranking.result import RankResult

DEFAULT_TEST = "wilcoxon"


def rank_by_wins(table: ScoreTable, options: RankOptions) -> RankResult:
    """The ranking of each task by significant wins, the tests behind it, and the consensus over tasks."""
    test = TESTS[options.test or DEFAULT_TEST]
    correction = options.correction or "none"
    frames: list[pl.DataFrame] = []

    def values(task: Task) -> np.ndarray:
        return _share_of_wins(is_significant(adjusted(_ordered_p(task, options), correction), options.alpha))

    def replicates(task: Task, counts: np.ndarray) -> np.ndarray:
        p = resampled_p(task.oriented, np.minimum(counts, 1) if options.challenger_compat else counts)
        return _share_of_wins(is_significant(adjusted(p, correction), options.alpha))

    def pairs(task: Task, models: list[str]) -> None:
        frames.append(_pairs_table(task, models, _ordered_p(task, options), correction, options.alpha))

    extra: dict[str, Any] = {"pairs": frames}
    return ranked(
        table,
        options,
        rule="test-then-rank",
        values=values,
        replicates=replicates if test.name == DEFAULT_TEST else None,
        smaller_value_wins=False,
        raw_values_oriented=True,
        method=f"the share of other models it beats by a one-sided {test.title} at level {options.alpha:g}"
        f" ({'no correction' if correction == 'none' else correction} over all ordered pairs of a task)",
        each_task=pairs,
        extra_tables=extra,
        cluster_warning=test.warning if test.unit == "case" else "",
    )


def ordered_pairs(models: int) -> tuple[np.ndarray, np.ndarray]:
    """All ordered pairs: first every (i, j) with i before j, then the same pairs turned round."""
    first, second = pair_indices(models)
    return np.concatenate([first, second]), np.concatenate([second, first])


def _ordered_p(task: Task, options: RankOptions) -> np.ndarray:
    """One-sided p-values that the first model of each ordered pair is better."""
    values = task.oriented
    a, b = ordered_pairs(values.shape[1])
    if (options.test or DEFAULT_TEST) == "wilcoxon":
        return signed_rank_p(values[:, a] - values[:, b], alternative="greater")
    first, second = pair_indices(values.shape[1])
    p, better = np.empty(len(first)), np.empty(len(first))
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        both = np.isfinite(values[:, i]) & np.isfinite(values[:, j])
        _, codes = np.unique(task.units[both], return_inverse=True)
        scores = PairedScores(values[both][:, [i, j]], codes)
        run = TESTS[options.test or DEFAULT_TEST].run
        p[k] = run(scores, seed=options.seed, replicates=max(options.replicates or 0, 9999)).p[0]
        better[k] = scores.mean_differences[0]
    up = np.where(better > 0, p / 2, np.where(better < 0, 1 - p / 2, 0.5))
    return np.concatenate([up, 1.0 - up])


def _share_of_wins(significant: np.ndarray) -> np.ndarray:
    """Wins over opponents, `[..., model]`, from decisions on ordered pairs."""
    pairs = significant.shape[-1]
    models = round((1 + np.sqrt(1 + 4 * pairs)) / 2)
    winner, _ = ordered_pairs(models)
    return np.asarray(significant.astype(float) @ np.eye(models)[winner] / (models - 1))


def resampled_p(oriented: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """One-sided Wilcoxon p-values `[replicate, ordered pair]` of the cases drawn `counts` times."""
    kind = np.float32 if len(oriented) <= 1000 else np.float64
    drawn = np.ascontiguousarray(counts.T, dtype=kind)
    first, second = pair_indices(oriented.shape[1])
    up = np.empty((len(first), len(counts)))
    down = np.empty_like(up)
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        positive, n, ties = _weighted_rank_sum(oriented[:, i] - oriented[:, j], drawn)
        up[k] = signed_rank_tail(positive, n, ties, alternative="greater")
        down[k] = signed_rank_tail(n * (n + 1) / 2 - positive, n, ties, alternative="greater")
    return np.concatenate([up, down]).T


def _weighted_rank_sum(difference: np.ndarray, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sum of positive ranks, number of differences and tie term of each replicate."""
    used = np.flatnonzero(np.isfinite(difference) & (difference != 0.0))
    if not len(used):
        empty = np.zeros(drawn.shape[1])
        return empty, empty, empty
    order = used[np.argsort(np.abs(difference[used]), kind="stable")]
    size = np.abs(difference[order])
    count = drawn[order]
    positive = np.where(difference[order] > 0, 1, 0).astype(drawn.dtype)
    starts = np.flatnonzero(np.diff(size, prepend=-1.0))
    if len(starts) < len(order):
        ahead = np.add.reduceat(count * positive[:, None], starts, axis=0)
        count = np.add.reduceat(count, starts, axis=0)
    else:
        ahead = count * positive[:, None]
    middle = np.cumsum(count, axis=0)
    n = middle[-1].astype(float)
    middle -= (count - 1) / 2
    total = np.einsum("ij,ij->j", ahead, middle).astype(float)
    ties = np.einsum("ij,ij,ij->j", count, count, count).astype(float) - n
    return total, n, ties


def _pairs_table(task: Task, models: list[str], p: np.ndarray, correction: str, alpha: float) -> pl.DataFrame:
    first, second = ordered_pairs(len(models))
    names = np.array(models, dtype=object)
    p_adjusted = adjusted(p, correction)
    frame = ranking.TASK_PAIRS.frame(
        {
            "task": [task.name] * len(p),
            "model_a": names[first].tolist(),
            "model_b": names[second].tolist(),
            "p_value": p,
            "p_adjusted": p_adjusted,
            "significant": is_significant(p_adjusted, alpha),
        }
    )
    return frame.with_columns(pl.col("p_value", "p_adjusted").fill_nan(None))
