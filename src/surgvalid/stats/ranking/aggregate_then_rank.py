"""Aggregate, then rank: one value per model and task (mean, median, a quantile, any function), ranked.

Source: challengeR's `aggregateThenRank` (Wiesenfarth et al. 2021). Ranks have ties "min"; quantiles are
R's type 7. The bootstrap draws whole videos where the table names them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from surgvalid.errors import Misuse
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking._generic import ranked
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._ranks import resampled_mean, resampled_quantile
from surgvalid.stats.ranking._tasks import TASK, Task
from surgvalid.stats.ranking.result import RankResult
from surgvalid.stats.verdict.who_is_better import VerdictQuestion, verdict

QUANTILES = {"median": 0.5, "min": 0.0, "max": 1.0}


def aggregate_then_rank(table: ScoreTable, options: RankOptions, *, operator: str | None = None) -> RankResult:
    """The ranking of each task by an aggregated value, and the consensus over tasks.

    Args:
        table: The scores.
        options: See `RankOptions`; `aggregate` is used where `operator` is None.
        operator: `mean`, `median`, `min`, `max` or a quantile such as `q05`.
    """
    if operator is None and options.aggregate is None:
        raise Misuse("rule 'aggregate-then-rank' needs a function: pass aggregate=..., or choose 'mean-then-rank'")
    title = operator or getattr(options.aggregate, "__name__", "a given function")
    rule = f"{operator}-then-rank" if operator else "aggregate-then-rank"

    def values(task: Task) -> np.ndarray:
        once = np.ones((1, len(task.values)), dtype=np.int64)
        return np.asarray(replicates(task, once)[0])

    def replicates(task: Task, counts: np.ndarray) -> np.ndarray:
        if task.pooled is not None:
            return task.pooled(counts)
        return _resampled(task.values, counts, operator, options.aggregate)

    asked = {name: getattr(options, name) for name in "metric missing margin level against prior".split()}
    one_mean = operator == "mean" and options.task_column is None and TASK not in table.frame.columns
    judged = verdict(table, VerdictQuestion(**asked)) if one_mean else None
    # Where it depends on something who is better, no ranks hold whatever that is.
    whole = judged is None or judged.kind != "depends"
    result = ranked(
        table,
        options,
        rule=rule,
        values=values,
        replicates=replicates,
        smaller_value_wins=False,
        method=f"the {title} of its scores over the cases of a task",
        averaged=(lambda task: task.values) if operator == "mean" and whole else None,
        pooled=operator == "mean",
    )
    return replace(result, judged=judged, why=options.why)


def quantile_of(operator: str) -> float:
    """The level of a quantile operator.

    Example:
        >>> quantile_of("q05"), quantile_of("median")
        (0.05, 0.5)
    """
    if operator in QUANTILES:
        return QUANTILES[operator]
    if re.fullmatch(r"q\d\d", operator):
        return int(operator[1:]) / 100
    raise Misuse(f"operator {operator!r} is not known; choose mean, median, min, max or a quantile such as q05")


def _resampled(
    values: np.ndarray, counts: np.ndarray, operator: str | None, function: Callable[[np.ndarray], float] | None
) -> np.ndarray:
    if operator == "mean":
        return resampled_mean(values, counts)
    if operator is not None:
        return resampled_quantile(values, counts, quantile_of(operator))
    chosen = np.mean if function is None else function
    out = np.full((len(counts), values.shape[1]), np.nan)
    for row, drawn in enumerate(counts):
        sample = np.repeat(values, drawn, axis=0)
        for model in range(values.shape[1]):
            column = sample[np.isfinite(sample[:, model]), model]
            out[row, model] = float(chosen(column)) if len(column) else np.nan
    return out
