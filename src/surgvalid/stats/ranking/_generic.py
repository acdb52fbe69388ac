"""What the rules in the tradition of challengeR share: tasks, ranks, consensus, agreement, bootstrap.

A rule gives the value of each model on a task, and the same under resampled cases; everything else is
here. The bootstrap is right by default: a case drawn twice counts twice, and whole videos are drawn
where the table names them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import TableInvalid, UnknownName
from surgvalid.results.tables import ranking as tables
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.comparing.rank_sets import RankSets, rank_sets
from surgvalid.stats.intervals.sign_flip_interval import FEWEST_TESTED
from surgvalid.stats.ranking._consensus import consensus_sets, drawn_mean_ranks, mean_ranks
from surgvalid.stats.ranking._focus.stability import place_shares
from surgvalid.stats.ranking._options import RankOptions
from surgvalid.stats.ranking._ranks import kendall_tau_b, min_ranks, spearman_footrule, tau_frequencies
from surgvalid.stats.ranking._tasks import ONE_TASK, Task, Tasks, tasks_of
from surgvalid.stats.ranking.result import RankResult
from surgvalid.stats.verdict.sentences import order_open

BOOT = 1000
CONSENSUS = "(consensus)"
"""The name under which the consensus stands beside the tasks in `stability` and `frequencies`."""


def ranked(
    table: ScoreTable,
    options: RankOptions,
    *,
    rule: str,
    values: Callable[[Task], np.ndarray],
    replicates: Callable[[Task, np.ndarray], np.ndarray] | None,
    smaller_value_wins: bool,
    method: str,
    averaged: Callable[[Task], np.ndarray] | None = None,
    raw_values_oriented: bool = False,
    each_task: Callable[[Task, list[str]], None] | None = None,
    extra_tables: dict[str, Any] | None = None,
    cluster_warning: str = "",
    pooled: bool = False,
) -> RankResult:
    """The ranking of each task, the consensus, and their stability.

    Args:
        table: The scores.
        options: What was asked.
        rule: The name of the rule.
        values: The value of each model on a task.
        replicates: The same for every row of case counts; None where the rule cannot be resampled.
        smaller_value_wins: Whether the aggregated value itself is better when small (ranks are).
        method: The value in words, for the prose.
        averaged: `[case, model]`, what the value is the mean of; None where it is no mean. Means get sets of ranks.
        raw_values_oriented: Whether the value is better when large whatever the metric's direction.
        each_task: Called with every task, to collect further tables.
        extra_tables: Tables as lists of frames, joined after all tasks are done.
        cluster_warning: Said where videos have several cases.
        pooled: As for `tasks_of`.
    """
    ready = tasks_of(table, options, pooled=pooled)
    weights = _weights(ready, options)
    point = [values(task) for task in ready.tasks]
    turn = [_direction(task, smaller_value_wins, raw_values_oriented) for task in ready.tasks]
    ranks = np.stack([min_ranks(sign * value) for sign, value in zip(turn, point, strict=True)])
    if each_task is not None:
        for task in ready.tasks:
            each_task(task, ready.models)
    boot = BOOT if options.replicates is None else options.replicates
    if not table.unit.is_known:  # what was not said to be independent is neither drawn nor tested
        averaged, boot = None, 0
    resampled = replicates is not None and boot > 0
    mean_rank = mean_ranks(ready, ranks, weights, options)
    direction = dict(zip((task.name for task in ready.tasks), turn, strict=True))

    def sets_of(task: Task, level: float) -> RankSets | None:
        return _sets(task, averaged, direction[task.name], level)

    sets = [sets_of(task, options.level) for task in ready.tasks]
    together = sets[0] if len(sets) == 1 else consensus_sets(ready, sets_of, weights, options)
    results = {
        "ranks": _ranks_table(ready, point, ranks, sets),
        "consensus": _consensus_table(ready.models, mean_rank, together),
        **_agreement(ready, ranks),
        **{name: pl.concat(frames) for name, frames in (extra_tables or {}).items()},
    }
    if replicates is not None and boot:
        drawn = _drawn(ready, options, replicates, turn, boot)
        merged = drawn_mean_ranks(ready, drawn, partial(_counts, options=options, boot=boot), weights, options)
        results |= _stability(ready, ranks, drawn, min_ranks(-mean_rank), min_ranks(-merged))
    findings = [
        *ready.findings,
        *_cautions(ready, options, replicates is None, cluster_warning),
        *_firmness(ready, sets, together),
    ]
    return RankResult(
        rule=rule,
        main="ranks" if len(ready.tasks) == 1 else "consensus",
        tables=results,
        prose=_prose(ready, options, method, boot if resampled else 0, sets=sets, together=together),
        findings=tuple(findings),
    )


def _weights(ready: Tasks, options: RankOptions) -> np.ndarray:
    given, names = options.task_weights or {}, [task.name for task in ready.tasks]
    for name in given:
        if name not in names:
            raise UnknownName("task in the task weights", name, names)
    weights = np.array([float(given.get(name, 1.0)) for name in names])
    if weights.sum() <= 0:
        raise TableInvalid("task weights", ["all tasks have weight 0"])
    return weights


def _direction(task: Task, smaller_value_wins: bool, oriented: bool) -> float:
    if smaller_value_wins:
        return -1.0
    return 1.0 if oriented else task.sign


def _drawn(
    ready: Tasks,
    options: RankOptions,
    replicates: Callable[[Task, np.ndarray], np.ndarray],
    turn: list[float],
    boot: int,
) -> np.ndarray:
    """Ranks under resampled cases, `[task, replicate, model]`."""
    out = np.empty((len(ready.tasks), boot, len(ready.models)), dtype=np.int64)
    for t, (task, sign) in enumerate(zip(ready.tasks, turn, strict=True)):
        out[t] = min_ranks(sign * replicates(task, _counts(task, options=options, boot=boot)))
    return out


def _counts(task: Task, *, options: RankOptions, boot: int) -> np.ndarray:
    """How often each replicate draws each case of a task."""
    return task.case_counts(boot, options.seed, independent=options.challenger_compat)


def _sets(task: Task, averaged: Callable[[Task], np.ndarray] | None, turn: float, level: float) -> RankSets | None:
    """The ranks that each model can have on a task; None where its value is no mean over the same cases for all."""
    values = None if averaged is None or task.pooled is not None else averaged(task)
    if values is None or not np.isfinite(values).all():
        return None
    added = np.zeros((len(task.unit_names), values.shape[1]))
    np.add.at(added, task.units, values / len(values))
    held = np.isin(np.arange(len(added)), task.units)
    sizes = np.bincount(task.units, minlength=len(added)).astype(np.float64)
    return rank_sets(added[held], sizes=sizes[held], level=level, larger_is_better=turn > 0)


def _firmness(ready: Tasks, sets: list[RankSets | None], together: RankSets | None) -> list[Finding]:
    """Tasks on which no two models can be told apart, so that their order is open; the consensus likewise."""
    named: list[tuple[str | None, RankSets | None, int]] = [
        (None if task.name == ONE_TASK else f"task {task.name!r}", task_set, len(np.unique(task.units)))
        for task, task_set in zip(ready.tasks, sets, strict=True)
    ]
    if len(sets) > 1:
        named.insert(0, ("consensus", together, FEWEST_TESTED))
    spoken = [order_open(ready.models, some, units, ready.unit, where=who) for who, some, units in named if some]
    return [one for one in spoken if one is not None]


def _ranks_table(ready: Tasks, point: list[np.ndarray], ranks: np.ndarray, sets: list[RankSets | None]) -> pl.DataFrame:
    frames = []
    for task, value, rank, task_set in zip(ready.tasks, point, ranks, sets, strict=True):
        ends = _set_ends(task_set, len(ready.models))
        names = {"task": [task.name] * len(value), "model": ready.models}
        frames.append(tables.RANKS.frame({**names, "value": value, "rank": rank, **ends}).sort("rank", "model"))
    return pl.concat(frames)


def _consensus_table(models: list[str], mean_rank: np.ndarray, sets: RankSets | None) -> pl.DataFrame:
    rank = {"model": models, "mean_rank": mean_rank, "rank": min_ranks(-mean_rank)}
    return tables.CONSENSUS.frame({**rank, **_set_ends(sets, len(models))}).sort("rank", "model")


def _set_ends(sets: RankSets | None, models: int) -> dict[str, Any]:
    low, high = ([None] * models, [None] * models) if sets is None else (sets.low, sets.high)
    return {"rank_low": low, "rank_high": high}


def _agreement(ready: Tasks, ranks: np.ndarray) -> dict[str, pl.DataFrame]:
    """Kendall's tau-b and the footrule between the rankings of every two tasks."""
    first, second = pair_indices(len(ready.tasks))
    names = [task.name for task in ready.tasks]
    who = {"task_a": [names[i] for i in first], "task_b": [names[i] for i in second]}
    tau = kendall_tau_b(ranks[first], ranks[second])
    kendall = tables.KENDALL.frame({**who, "tau_b": tau}).with_columns(pl.col("tau_b").fill_nan(None))
    distance = spearman_footrule(ranks[first], ranks[second])
    return {"kendall": kendall, "footrule": tables.FOOTRULE.frame({**who, "footrule": distance})}


def _stability(
    ready: Tasks, ranks: np.ndarray, drawn: np.ndarray, consensus: np.ndarray, merged: np.ndarray
) -> dict[str, pl.DataFrame]:
    named = [(task.name, point, replicates) for task, point, replicates in zip(ready.tasks, ranks, drawn, strict=True)]
    if len(ready.tasks) > 1:
        named.append((CONSENSUS, consensus, merged))
    taus = [(name, kendall_tau_b(point[None, :], replicates)) for name, point, replicates in named]
    return {
        "stability": pl.concat([_spread(name, ready.models, replicates) for name, _, replicates in named]),
        "frequencies": pl.concat([_frequencies(name, ready.models, replicates) for name, _, replicates in named]),
        "tau": pl.concat([_tau(name, tau) for name, tau in taus]),
        "tau_frequencies": tables.TASK_TAU_FREQUENCIES.frame(
            pl.concat([tau_frequencies("task", name, tau) for name, tau in taus])
        ),
    }


def _spread(task: str, models: list[str], drawn: np.ndarray) -> pl.DataFrame:
    low, middle, high = np.quantile(drawn, [0.025, 0.5, 0.975], axis=0)
    frame = tables.TASK_STABILITY.frame(
        {
            "task": [task] * len(models),
            "model": models,
            "mean_rank": drawn.mean(axis=0),
            "sd_rank": drawn.std(axis=0, ddof=1) if len(drawn) > 1 else np.zeros(len(models)),
            "median_rank": middle,
            "rank_low": low,
            "rank_high": high,
            "p_first": place_shares(drawn, 1),
            "p_top3": place_shares(drawn, 3),
        }
    )
    return frame.sort("mean_rank", "model")


def _frequencies(task: str, models: list[str], drawn: np.ndarray) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for position, model in enumerate(models):
        rank, count = np.unique(drawn[:, position], return_counts=True)
        shares = (count / len(drawn)).tolist()
        rows += [
            {"task": task, "model": model, "rank": r, "share": share}
            for r, share in zip(rank.tolist(), shares, strict=True)
        ]
    return tables.FREQUENCIES.frame(rows)


def _tau(task: str, tau: np.ndarray) -> pl.DataFrame:
    given = tau[np.isfinite(tau)]
    q25, median, q75 = np.quantile(given, [0.25, 0.5, 0.75]).tolist() if len(given) else [None] * 3
    mean = float(given.mean()) if len(given) else None
    sizes = {"replicates": len(tau), "undefined": len(tau) - len(given)}
    return tables.TAU.frame([{"task": task, "mean": mean, "q25": q25, "median": median, "q75": q75, **sizes}])


def _cautions(ready: Tasks, options: RankOptions, cannot_resample: bool, cluster_warning: str) -> list[Finding]:
    out = []
    if cluster_warning and ready.clustered:
        out.append(remark("cases-tested-alone", cluster_warning))
    if options.challenger_compat:
        out.append(remark("challenger-compat", "resampling follows challengeR with its faults, for comparison only"))
    if cannot_resample and options.replicates != 0:
        out.append(remark("no-stability", "no stability is given: this rule is resampled with the Wilcoxon test only"))
    return out


def _prose(
    ready: Tasks,
    options: RankOptions,
    method: str,
    boot: int,
    *,
    sets: list[RankSets | None],
    together: RankSets | None,
) -> str:
    tasks = len(ready.tasks)
    cases = sum(len(task.values) for task in ready.tasks)
    parts = [
        f"{len(ready.models)} models were ranked on {cases} cases in {tasks} task{'s' if tasks > 1 else ''}:"
        f" the value of a model is {method}; equal values share the better rank.",
        f"Missing scores: {ready.treatment}",
    ]
    if tasks > 1:
        kind = "mean rank with average ties" if options.consensus == "euclidean" else "mean case rank over all tasks"
        weighted = "given task weights" if options.task_weights else "equal task weights"
        parts.append(f"The consensus over tasks is the {kind}, with {weighted}.")
    unit = "videos" if ready.unit == "video" else "cases"
    if any(task_set is not None for task_set in sets):
        parts.append(
            f"The ranks that a model can have come from joint sign flips of whole {unit}, min-p over all pairs of a"
            f" task, and hold together at level {options.level:g}."
        )
    if tasks > 1 and together is not None and options.consensus == "euclidean":
        parts.append(
            f"Those in the consensus follow from the ranks on each task at level {1 - options.alpha / tasks:.4g}, which"
            f" hold on all tasks together at {options.level:g} or more."
        )
    if boot:
        parts.append(f"Stability is from {boot} resamples of whole {unit} (seed {options.seed}).")
    else:
        parts.append("No resampling was done, so no stability is given.")
    return " ".join(parts)
