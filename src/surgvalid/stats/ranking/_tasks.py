"""A score table cut into tasks: what the rules in the tradition of challengeR work on."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from surgvalid.errors import TableInvalid, UnknownName
from surgvalid.results.registered_data import note_cases
from surgvalid.schema.findings import Finding
from surgvalid.schema.statistic_rules import remark
from surgvalid.schema.tables.score_table import ScoreMatrix, ScoreTable
from surgvalid.stats.draws import stream, video_counts
from surgvalid.stats.intervals.few_videos import no_videos
from surgvalid.stats.intervals.pooled import PooledStatistic, verb_matrix
from surgvalid.stats.ranking._options import RankOptions

ONE_TASK = "all"
TASK = "task"
"""The column that names tasks unless another is given."""


@dataclass(frozen=True)
class Task:
    """The scores of all models on one task."""

    name: str
    values: np.ndarray
    """`[case, model]`, NaN where not given."""
    units: np.ndarray
    """For each case the index of the unit that is resampled: its video, or itself."""
    unit_names: list[str]
    sign: float
    """1 where larger scores are better, -1 where smaller ones are."""
    pooled: Callable[[np.ndarray], np.ndarray] | None = None
    """The value of every model under each row of case counts, where it is not the mean of its scores."""

    @property
    def oriented(self) -> np.ndarray:
        """The scores turned so that larger is better."""
        return self.sign * self.values

    def case_counts(self, replicates: int, seed: int, *, independent: bool = False) -> np.ndarray:
        """How often each case is drawn, `[replicate, case]`, when whole units are drawn.

        Tasks on the same units share their draws, because they share their videos. `independent` draws
        anew for each task, as challengeR does.
        """
        digest = hashlib.blake2b("\x1f".join(self.unit_names).encode(), digest_size=16).hexdigest()
        purpose = self.name if independent else digest
        counts = video_counts(len(self.unit_names), replicates, stream(seed, "ranking", "tasks", purpose))
        return np.asarray(counts[:, self.units])


@dataclass(frozen=True)
class Tasks:
    """All tasks of a table."""

    models: list[str]
    tasks: tuple[Task, ...]
    unit: str
    """`video` or `case`."""
    findings: tuple[Finding, ...]
    treatment: str
    """What became of scores that were not given, in words."""
    clustered: bool
    """Whether some video has more than one case."""


def tasks_of(table: ScoreTable, options: RankOptions, *, pooled: bool = False) -> Tasks:
    """The tasks of a table, with sorted models and the rule for missing scores applied.

    Args:
        table: The scores.
        options: What was asked.
        pooled: Whether the rule ranks a value of all cases together, so that pooled metrics can give theirs.

    Raises:
        TableInvalid: Fewer than two models, or a model without any score in a task.
    """
    matrices = _matrices(table, options, pooled)
    models = sorted({model for _, matrix in matrices for model in matrix.models})
    if len(models) < 2:
        raise TableInvalid("score table", [f"a ranking needs at least two models, got only {models[0]!r}"])
    tasks = tuple(_task(name, matrix, models, table.has_videos) for name, matrix in matrices)
    for _, matrix in matrices:
        note_cases(matrix.cases.filter(np.isfinite(matrix.values).all(axis=1)), metric=matrix.metric.name)
    metrics = {matrix.metric.name: matrix for _, matrix in matrices}
    findings = [one for matrix in metrics.values() for one in (*matrix.borrowed, *matrix.findings())]
    if options.task_column is None and len(tasks) > 1:
        text = (
            f"column {TASK!r} was taken to name {len(tasks)} tasks: models are ranked on each, and the consensus is"
            f" over tasks, not over cases; rename the column to rank all cases together, or pass task_column={TASK!r}"
        )
        findings.append(remark("tasks-taken", text))
    absent = [sentence for matrix in metrics.values() for sentence in matrix.absent.sentences]
    problems = [
        f"model {models[m]!r} has no score at all in task {task.name!r}"
        for task in tasks
        for m in np.flatnonzero(np.isnan(task.values).all(axis=0)).tolist()
    ]
    if problems:
        raise TableInvalid("score table", problems)
    treatment = " ".join(absent) or "every model had a score for every case."
    if not table.has_videos:
        findings.append(no_videos())
    clustered = any(len(task.unit_names) < len(task.values) for task in tasks)
    return Tasks(models, tasks, "video" if table.has_videos else "case", tuple(findings), treatment, clustered)


def _matrices(table: ScoreTable, options: RankOptions, pooled: bool) -> list[tuple[str, ScoreMatrix]]:
    column, estimand = options.task_column, "rows" if pooled else "videos"
    if column == "metric":
        return [
            (metric, verb_matrix(table, metric, missing=options.missing, estimand=estimand)) for metric in table.metrics
        ]
    matrix = verb_matrix(table, options.metric, missing=options.missing, estimand=estimand)
    if column is None and TASK not in matrix.cases.columns:
        return [(ONE_TASK, matrix)]
    column = column or TASK
    if column not in matrix.cases.columns:
        raise UnknownName("task column", column, [name for name in matrix.cases.columns if name not in ("case",)])
    names = matrix.cases[column].cast(pl.String)
    if names.null_count():
        raise TableInvalid("score table", [f"column {column!r} is empty in {names.null_count()} cases"])
    chosen = names.to_numpy()
    rows = table.frame.filter(pl.col("metric") == matrix.metric.name)
    known = rows[column].cast(pl.String).unique().sort().drop_nulls().to_list()
    if gone := [name for name in known if name not in set(names)]:
        raise TableInvalid("score table", [f"task {name!r} has no case left after 'drop-case'" for name in gone])
    return [(name, matrix.where(chosen == name)) for name in known]


def _task(name: str, matrix: ScoreMatrix, models: list[str], has_videos: bool) -> Task:
    values = np.full((len(matrix.values), len(models)), np.nan)
    values[:, [models.index(model) for model in matrix.models]] = matrix.values
    order = np.argsort(matrix.cases["case"].to_numpy().astype(str), kind="stable")
    units = matrix.videos if has_videos else np.argsort(order)
    names = matrix.video_names if has_videos else matrix.cases["case"].to_numpy().astype(str)[order].tolist()
    pooled = None
    if matrix.statistics is not None:
        pooled = partial(PooledStatistic.of(matrix.columns(models)).weighted, values=order)
    return Task(name, values[order], units[order], names, matrix.metric.sign, pooled)
