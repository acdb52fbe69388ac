"""A score table cut into tasks: what the rules in the tradition of challengeR work on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import polars as pl

from surgeval.errors import TableInvalid, UnknownName
from surgeval.schema.outcomes import Status
from surgeval.schema.score_table import ScoreMatrix, ScoreTable
from surgeval.stats.draws import stream, video_counts
from surgeval.stats.ranking._options import RankOptions

ONE_TASK = "all"


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
    warnings: tuple[str, ...]
    treatment: str
    """What became of scores that were not given, in words."""
    clustered: bool
    """Whether some video has more than one case."""


def tasks_of(table: ScoreTable, options: RankOptions, *, kept_as: str) -> Tasks:
    """The tasks of a table, with sorted models and the declared rule for missing scores applied.

    Args:
        table: The scores.
        options: What was asked.
        kept_as: What the rule does with scores that stay missing, in words.

    Raises:
        TableInvalid: Fewer than two models, or a model without any score in a task.
    """
    whole = with_every_pair(table)
    matrices = _matrices(whole, options)
    models = sorted({model for _, matrix in matrices for model in matrix.models})
    if len(models) < 2:
        raise TableInvalid("score table", [f"a ranking needs at least two models, got only {models[0]!r}"])
    tasks = tuple(_task(name, matrix, models, table.has_videos) for name, matrix in matrices)
    holes = {task.name: int(np.isnan(task.values).sum()) for task in tasks}
    filled, warnings = _filled(tasks, matrices, options, holes, kept_as)
    problems = [
        f"model {models[m]!r} has no score at all in task {task.name!r}"
        for task in filled
        for m in np.flatnonzero(np.isnan(task.values).all(axis=0)).tolist()
    ]
    if problems:
        raise TableInvalid("score table", problems)
    treatment = warnings[0] if warnings else "every model had a score for every case"
    if not table.has_videos:
        warnings.append("the table names no videos: each case counts as independent")
    clustered = any(len(task.unit_names) < len(task.values) for task in filled)
    return Tasks(models, filled, "video" if table.has_videos else "case", tuple(warnings), treatment, clustered)


def with_every_pair(table: ScoreTable) -> ScoreTable:
    """The table with an empty row for every model and case that had none."""
    key = [name for name in ("task", "case", "metric") if name in table.frame.columns]
    cases = table.frame.unique(subset=key, keep="first", maintain_order=True)
    if cases.height * len(table.models) == table.frame.height:
        return table
    models = pl.DataFrame({"model": table.models})
    grid = models.join(cases.drop("model", "value", "status"), how="cross")
    absent = grid.join(table.frame.select(["model", *key]), on=["model", *key], how="anti", nulls_equal=True)
    absent = absent.with_columns(
        pl.lit(None, dtype=pl.Float64).alias("value"), pl.lit(Status.MISSING.value).alias("status")
    )
    frame = pl.concat([table.frame, absent.select(table.frame.columns)])
    return ScoreTable(frame, table.has_videos, table.facts)


def _matrices(table: ScoreTable, options: RankOptions) -> list[tuple[str, ScoreMatrix]]:
    column = options.task_column
    if column == "metric":
        return [(metric, table.matrix(metric)) for metric in table.metrics]
    matrix = table.matrix(options.metric)
    if column is None and "task" not in matrix.cases.columns:
        return [(ONE_TASK, matrix)]
    column = column or "task"
    if column not in matrix.cases.columns:
        raise UnknownName("task column", column, [name for name in matrix.cases.columns if name not in ("case",)])
    names = matrix.cases[column].cast(pl.String)
    if names.null_count():
        raise TableInvalid("score table", [f"column {column!r} is empty in {names.null_count()} cases"])
    chosen = names.to_numpy()
    return [(name, matrix.where(chosen == name)) for name in names.unique(maintain_order=True).sort().to_list()]


def _task(name: str, matrix: ScoreMatrix, models: list[str], has_videos: bool) -> Task:
    values = np.full((len(matrix.values), len(models)), np.nan)
    values[:, [models.index(model) for model in matrix.models]] = matrix.values
    order = np.argsort(matrix.cases["case"].to_numpy().astype(str), kind="stable")
    units = matrix.videos if has_videos else np.argsort(order)
    names = matrix.video_names if has_videos else matrix.cases["case"].to_numpy().astype(str)[order].tolist()
    return Task(name, values[order], units[order], names, matrix.metric.sign)


def _filled(
    tasks: tuple[Task, ...],
    matrices: list[tuple[str, ScoreMatrix]],
    options: RankOptions,
    holes: dict[str, int],
    kept_as: str,
) -> tuple[tuple[Task, ...], list[str]]:
    """The tasks under the rule for missing scores, and what it did."""
    total, rule = sum(holes.values()), options.missing
    if not total:
        return tasks, []
    listed = ", ".join(f"{name}: {count}" for name, count in holes.items() if count)
    if rule == "error":
        raise TableInvalid("score table", [f"{total} scores are not given ({listed})"])
    if rule is None or rule == "drop":
        return tasks, [f"{total} scores that were not given are {kept_as} ({listed})"]
    out = []
    for task, (_, matrix) in zip(tasks, matrices, strict=True):
        value = matrix.metric.worst if rule == "worst" else float(rule)
        if not np.isfinite(value):
            problem = f"scores are not given, and the worst value of {matrix.metric.name!r} is unknown"
            raise TableInvalid("score table", [f"{problem}; choose missing='drop' or a number"])
        filled = np.where(np.isnan(task.values), value, task.values)
        out.append(Task(task.name, filled, task.units, task.unit_names, task.sign))
    word = "the worst value" if rule == "worst" else f"{rule:g}"
    return tuple(out), [f"{total} scores that were not given count as {word} ({listed})"]
