"""A score table cut into tasks: what the rules in the tradition of challengeR work on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from surgeval.errors import TableInvalid, UnknownName
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.score_table import ScoreMatrix, ScoreTable
from surgeval.stats.draws import stream, video_counts
from surgeval.stats.ranking._options import RankOptions

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
    warnings: tuple[Finding | str, ...]
    treatment: str
    """What became of scores that were not given, in words."""
    clustered: bool
    """Whether some video has more than one case."""


def tasks_of(table: ScoreTable, options: RankOptions) -> Tasks:
    """The tasks of a table, with sorted models and the rule for missing scores applied.

    Raises:
        TableInvalid: Fewer than two models, or a model without any score in a task.
    """
    matrices = _matrices(table, options)
    models = sorted({model for _, matrix in matrices for model in matrix.models})
    if len(models) < 2:
        raise TableInvalid("score table", [f"a ranking needs at least two models, got only {models[0]!r}"])
    tasks = tuple(_task(name, matrix, models, table.has_videos) for name, matrix in matrices)
    metrics = {matrix.metric.name: matrix for _, matrix in matrices}
    warnings: list[Finding | str] = [text for matrix in metrics.values() for text in matrix.borrowed]
    warnings += [finding for matrix in metrics.values() for finding in matrix.findings()]
    if options.task_column is None and len(tasks) > 1:
        text = (
            f"column {TASK!r} was taken to name {len(tasks)} tasks: models are ranked on each, and the consensus is"
            f" over tasks, not over cases; rename the column to rank all cases together, or pass task_column={TASK!r}"
        )
        warnings.append(Finding("tasks-taken", Severity.WARNING, text))
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
        warnings.append("the table names no videos: each case counts as independent")
    clustered = any(len(task.unit_names) < len(task.values) for task in tasks)
    return Tasks(models, tasks, "video" if table.has_videos else "case", tuple(warnings), treatment, clustered)


def _matrices(table: ScoreTable, options: RankOptions) -> list[tuple[str, ScoreMatrix]]:
    column = options.task_column
    if column == "metric":
        return [(metric, table.matrix(metric, missing=options.missing)) for metric in table.metrics]
    matrix = table.matrix(options.metric, missing=options.missing)
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
    return Task(name, values[order], units[order], names, matrix.metric.sign)
