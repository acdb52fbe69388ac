"""Runs beside each other and beside published rows, and the differences that statements about them rest on.

Published rows have no interval: the study printed none. A row that cannot be right as printed carries the reason, and a
run that was not made on the cases of the published rows says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from surgvalid.errors import FileUnreadable, Misuse, SurgvalidError, UnknownName
from surgvalid.models import RunCounts, SightTest
from surgvalid.results.request import requested
from surgvalid.results.result import Result
from surgvalid.results.tables.tasks import BOARD, CONTRASTS, MATRIX
from surgvalid.stats.comparing.comparison import compare
from surgvalid.tasks.listing import doubts_of
from surgvalid.tasks.reading import TASKS, open_task
from surgvalid.tasks.result import RUN_FILE
from surgvalid.tasks.task import TaskInstance

RUN = "run"
_NOT_THE_CASES = ("some-cases-only", "count-differs", "incomplete-split")
_FEWEST_TASKS = 3


@dataclass(frozen=True)
class StoredRun:
    """One task with one model, as it lies in its folder."""

    folder: Path
    record: Mapping[str, Any]
    metrics: pl.DataFrame
    readings: pl.DataFrame
    costs: pl.DataFrame
    codes: tuple[str, ...]
    """Of its findings."""

    @property
    def task(self) -> TaskInstance:
        """Its task; of a file where it is none of ours."""
        name = self.record["task"]
        return open_task(name if name in TASKS else self.record["file"])


def stored_runs(places: Iterable[str | Path]) -> list[StoredRun]:
    """The runs in some folders and below them.

    Raises:
        FileUnreadable: A folder without any run, or a damaged one.
    """
    runs = []
    for place in places:
        folder = Path(place)
        files = [folder / RUN_FILE] if (folder / RUN_FILE).is_file() else sorted(folder.rglob(RUN_FILE))
        if not files:
            raise FileUnreadable(str(folder), ["no run of a task in it or below it"])
        runs += [_run(path.parent) for path in files]
    return runs


def _run(folder: Path) -> StoredRun:
    try:
        record = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        metrics, readings, costs = (pl.read_csv(folder / f"{name}.csv") for name in ("metrics", "readings", "costs"))
        codes = tuple(str(one.get("code")) for one in manifest.get("findings", ()))
        return StoredRun(folder, record, metrics, readings, costs, codes)
    except (OSError, ValueError, AttributeError, TypeError, pl.exceptions.PolarsError) as error:
        raise FileUnreadable(str(folder), [f"a damaged run ({str(error).splitlines()[0]})"]) from None


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class BoardResult(Result):
    """Runs and published rows: tables `board`, `matrix`, and `contrasts` where one was asked for."""

    @property
    def shown(self) -> pl.DataFrame:
        """The leaderboard without the long columns."""
        return self.table.drop("prompts", "labels")

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The leaderboard, and the differences."""
        further = {"contrasts": self.tables["contrasts"]} if "contrasts" in self.tables else {}
        return {"": self.shown, **further}


@requested("task board", files=("runs",))
def task_board(
    runs: Sequence[str | Path] = (),
    *,
    tasks: Sequence[str] = (),
    published: bool = True,
    contrast: str | None = None,
    first: Sequence[str] = (),
    second: Sequence[str] = (),
) -> BoardResult:
    """Every run beside the published rows of its task, and what a statement about them rests on.

    Args:
        runs: Folders that `task run` wrote; those below them count too.
        tasks: Further tasks whose published rows are wanted; all of a study by its name.
        published: Whether published rows are among the rows.
        contrast: `shots` (with examples against without), `ways` (every prompt and number of examples that a model
            was run with against the first of them), `demands` (recognition against reasoning) or `models` (those of
            `first` against those of `second`).
        first: Models of one side.
        second: Models of the other.

    Raises:
        UnknownName: No such task, contrast or model.
        FileUnreadable: A folder without a run.
        Misuse: Nothing to show, or a contrast that these rows do not carry.
    """
    stored = stored_runs(runs)
    rows = [_run_row(run) for run in stored]
    instances = {run.task.name: run.task for run in stored} | {name: open_task(name) for name in _named(tasks)}
    if published:
        rows += [row for task in instances.values() for row in published_rows(task)]
    if not rows:
        raise Misuse("nothing to show: name folders of runs, or tasks whose published rows are wanted")
    board = BOARD.frame(sorted(rows, key=lambda row: (row["task"], row["source"] != RUN, -(row["value"] or 0.0))))
    tables = {"board": board, "matrix": _matrix(board)}
    if contrast is not None:
        tables["contrasts"] = contrast_table(contrast, board, stored, instances, first, second)
    prose = (
        f"{len(stored)} runs and {board.height - len(stored)} published rows of {board['task'].n_unique()} tasks. "
        "Values are the primary metric of each task; intervals are over videos and only runs have them. Published "
        "rows were computed by the study's own code, under its own rules for answers that could not be read."
    )
    return BoardResult(tables=tables, main="board", prose=prose)


def _named(tasks: Sequence[str]) -> list[str]:
    studies: dict[str, list[str]] = {}
    for name in TASKS:
        studies.setdefault(TASKS[name].study, []).append(name)
    return [task for name in tasks for task in studies.get(name, [name])]


def _run_row(run: StoredRun) -> dict[str, Any]:
    record, headline = run.record, run.record["headline"]
    row = run.metrics.filter(pl.col("metric") == headline).row(0, named=True)
    whole = run.readings.filter(pl.col("stratum") == "all").row(0, named=True)
    doubts = ["not the cases of the published rows"] if set(run.codes) & set(_NOT_THE_CASES) else []
    counts = RunCounts(**record["counts"])
    if counts.unfinished:
        doubts.append(f"not finished: {counts.unfinished:,} requests are to be asked again ({counts.first_reason})")
    if record.get("sight") and (marks := SightTest.of_dict(record["sight"]).findings):
        doubts.append(marks[0].message)
    doubts += [one.message for one in counts.notices() if one.code == "other-model"]
    if counts.all_failed and not (counts.refused or counts.unfinished):
        doubts.append(f"no request was answered ({counts.first_reason})")
    return {
        "task": record["task"],
        "model": record["model"],
        "source": RUN,
        "metric": headline,
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "floor": row["floor"],
        "cases": whole["cases"],
        "videos": row["videos"],
        "share_lost": whole["share_lost"],
        "shots": record["shots"],
        "prompts": record["prompt"],
        "labels": run.task.scored.labels,
        "doubt": "; ".join(doubts) or None,
    }


_NOT_PRINTED = ("low", "high", "floor", "videos", "share_lost", "prompts")


def published_rows(task: TaskInstance) -> list[dict[str, Any]]:
    """The rows that a study printed of a task, each under the metric that comes nearest to the primary metric."""
    rows = []
    for one in task.published.rows:
        wanted = [task.scored.headline, *task.scored.of_scores]
        metric = next((name for name in wanted if name in one.values), None)
        if metric is None:
            continue
        row = {
            "task": task.name,
            "model": one.model,
            "source": task.published.source,
            "metric": metric,
            "value": one.values[metric],
            "cases": task.data.samples,
            "shots": 0,
            "labels": task.scored.published_labels,
            "doubt": "; ".join(doubts_of(task, one)) or None,
        }
        rows.append(row | dict.fromkeys(_NOT_PRINTED))
    return rows


def ways_of(rows: pl.DataFrame) -> pl.Series:
    """The model of every run, with its shots, with its prompts where it was asked by several, and a number where even
    these are the same."""
    shots = pl.when(pl.col("shots") > 0).then(pl.format("{}, {}-shot", "model", "shots")).otherwise("model")
    named = rows.select("task", "prompts", way=shots)
    several = pl.col("prompts").n_unique().over("task", "way") > 1
    named = named.with_columns(
        way=pl.when(several.any().over("way")).then(pl.format("{}, {}", "way", "prompts")).otherwise("way")
    )
    number, repeated = pl.int_range(1, pl.len() + 1).over("task", "way"), (pl.len().over("task", "way") > 1)
    return named.select(
        pl.when(repeated.any().over("way")).then(pl.format("{} (run {})", "way", number)).otherwise("way")
    ).to_series()


def _matrix(board: pl.DataFrame) -> pl.DataFrame:
    """Models by tasks; a model that was run several ways has a row for each, and so has a published one."""
    runs, printed = board.filter(pl.col("source") == RUN), board.filter(pl.col("source") != RUN)
    runs = runs.with_columns(row=ways_of(runs))
    named = pl.concat([runs, printed.with_columns(row=pl.col("model") + " (published)")])
    wide = named.pivot("task", index="row", values="value", aggregate_function="first").rename({"row": "model"})
    return MATRIX.frame(wide)


# --- statements ----------------------------------------------------------------------------------


def contrast_table(
    kind: str,
    board: pl.DataFrame,
    runs: Sequence[StoredRun],
    tasks: Mapping[str, TaskInstance],
    first: Sequence[str],
    second: Sequence[str],
) -> pl.DataFrame:
    """The differences that a statement rests on, by task, and their mean over tasks.

    Raises:
        UnknownName: No such contrast, or a model that no row has.
        Misuse: These rows do not carry the contrast.
    """
    if kind not in CONTRAST_KINDS:
        raise UnknownName("contrast", kind, CONTRAST_KINDS)
    rows = CONTRAST_KINDS[kind](board, runs, tasks, first, second)
    if not rows:
        raise Misuse(f"these rows do not carry the contrast {kind!r}: {_NEEDED[kind]}")
    return CONTRASTS.frame(rows)


_NEEDED = {
    "shots": "run one model on one task with --shots and without",
    "ways": "run one model on one task by several prompts or with several numbers of examples",
    "demands": "there must be tasks of recognition and of reasoning with one model",
    "models": "name models of both sides with --models A,B, with a task in common",
}


def _shots(_: pl.DataFrame, runs: Sequence[StoredRun], __: object, ___: object, ____: object) -> list[dict[str, Any]]:
    """Runs of one model with examples against those without, on the same cases."""
    plain = {_asked(run, "prompt"): run for run in runs if not run.record["shots"]}
    rows = []
    for run in runs:
        other = plain.get(_asked(run, "prompt"))
        if run.record["shots"] and other is not None:
            rows.append(_paired("examples against none", run, other))
    return [*rows, *_means(rows)]


def _asked(run: StoredRun, *more: str) -> tuple[Any, ...]:
    """The task and the model of a run, and further entries of its record."""
    return tuple(run.record[name] for name in ("task", "spec", *more))


def _ways(_: pl.DataFrame, runs: Sequence[StoredRun], __: object, ___: object, ____: object) -> list[dict[str, Any]]:
    """Every way in which one model was asked one task, against that with the fewest examples and the first prompt."""
    firsts: dict[tuple[Any, ...], StoredRun] = {}
    rows: dict[str, list[dict[str, Any]]] = {}
    for run in sorted(runs, key=lambda run: run.record["shots"]):
        first = firsts.setdefault(_asked(run), run)
        if first is not run:
            ways = [f"{one.record['version']}, {one.record['shots']}-shot" for one in (run, first)]
            rows.setdefault(" against ".join(ways), []).append(_paired(" against ".join(ways), run, first))
    return [row for listed in rows.values() for row in (*listed, *_means(listed))]


def _models(
    board: pl.DataFrame, runs: Sequence[StoredRun], _: object, first: Sequence[str], second: Sequence[str]
) -> list[dict[str, Any]]:
    """The mean of some models against the mean of others, task by task; one run each is compared case by case."""
    known = set(board["model"])
    for name in (*first, *second):
        if name not in known:
            raise UnknownName("model of these rows", name, known)
    by_name = {(run.record["task"], run.record["model"]): run for run in runs}
    rows = []
    for (task,), here in board.group_by("task", maintain_order=True):
        sides = [here.filter(pl.col("model").is_in(list(names))) for names in (first, second)]
        if any(side.is_empty() for side in sides):
            continue
        pair = [by_name.get((str(task), side["model"][0])) if side.height == 1 else None for side in sides]
        if pair[0] is not None and pair[1] is not None:
            rows.append(_paired(f"{', '.join(first)} against {', '.join(second)}", pair[0], pair[1]))
        else:
            rows.append(_unpaired(", ".join(first), ", ".join(second), str(task), sides))
    return [*rows, *_means(rows)]


def _demands(
    board: pl.DataFrame, _: object, tasks: Mapping[str, TaskInstance], first: Sequence[str], __: object
) -> list[dict[str, Any]]:
    """For every model, its mean over tasks of recognition against that over tasks of reasoning."""
    rows = []
    demands = {name: task.demands for name, task in tasks.items()}
    for (model, source), here in board.with_columns(pl.col("source") == RUN).group_by(
        "model", "source", maintain_order=True
    ):
        if first and model not in first:
            continue
        values = {
            side: here.filter(pl.col("task").replace_strict(demands, default="") == side)["value"].drop_nulls()
            for side in ("recognition", "reasoning")
        }
        if any(one.is_empty() for one in values.values()):
            continue
        a, b = (one.to_numpy() for one in values.values())
        low, high = _welch(a, b)
        note = "other tasks, cases and metrics on either side; the interval takes tasks for the units"
        whose = f"{model}{'' if source else ' (published)'}, recognition"
        row = _difference("recognition against reasoning", "all", whose, "reasoning", "headline", a.mean(), b.mean())
        rows.append(row | {"low": low, "high": high, "tasks": len(a) + len(b), "note": note})
    return rows


CONTRAST_KINDS: Mapping[str, Callable[..., list[dict[str, Any]]]] = {
    "shots": _shots,
    "ways": _ways,
    "demands": _demands,
    "models": _models,
}


def _difference(
    statement: str, task: str, first: str, second: str, metric: str, first_value: float, second_value: float
) -> dict[str, Any]:
    """A row of the contrasts, of one task and without an interval."""
    row = {
        "statement": statement,
        "task": task,
        "first": first,
        "second": second,
        "metric": metric,
        "first_value": float(first_value),
        "second_value": float(second_value),
        "difference": float(first_value - second_value),
        "tasks": 1,
    }
    return row | dict.fromkeys(("low", "high", "note"))


def _paired(statement: str, run: StoredRun, other: StoredRun) -> dict[str, Any]:
    """The difference of two runs on the same cases, with the interval of `compare`."""
    names, metric = (run.record["model"], other.record["model"]), run.record["headline"]
    values = [float(_run_row(one)["value"]) for one in (run, other)]
    row = _difference(statement, run.record["task"], *names, metric, *values)
    try:
        made = compare([run.folder, other.folder], *names, metric=metric).table.row(0, named=True)
        return {**row, **{name: made[name] for name in ("difference", "low", "high")}, "note": made.get("note")}
    except SurgvalidError as error:
        return {**row, "note": f"no interval: {error}"}


def _unpaired(first: str, second: str, task: str, sides: Sequence[pl.DataFrame]) -> dict[str, Any]:
    means = [float(np.mean(side["value"].to_numpy())) for side in sides]
    metrics = sorted({*sides[0]["metric"], *sides[1]["metric"]})
    mixed = f"metrics differ: {', '.join(metrics)}" if len(metrics) > 1 else None
    metric = "headline" if mixed else metrics[0]
    row = _difference(f"{first} against {second}", task, first, second, metric, *means)
    return row | {"note": mixed or "no interval: means of printed rows"}


def _means(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The mean of the differences over tasks, with an interval that takes tasks for the units."""
    if not rows:
        return []
    differences = np.array([row["difference"] for row in rows], dtype=np.float64)
    low, high = _student(differences)
    few = f"fewer than {_FEWEST_TASKS} tasks: no interval" if len(differences) < _FEWEST_TASKS else None
    return [
        {
            **rows[0],
            "task": "all",
            "metric": "headline",
            "first_value": float(np.mean([row["first_value"] for row in rows])),
            "second_value": float(np.mean([row["second_value"] for row in rows])),
            "difference": float(differences.mean()),
            "low": low,
            "high": high,
            "tasks": len(rows),
            "note": few or "the interval takes tasks for the units",
        }
    ]


def _student(values: np.ndarray) -> tuple[float | None, float | None]:
    if len(values) < _FEWEST_TASKS:
        return None, None
    half = float(stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) / np.sqrt(len(values)))
    return float(values.mean() - half), float(values.mean() + half)


def _welch(a: np.ndarray, b: np.ndarray) -> tuple[float | None, float | None]:
    """The interval of a difference of means, variances apart (Welch 1947)."""
    if min(len(a), len(b)) < _FEWEST_TASKS:
        return None, None
    parts = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    total = sum(parts)
    if total <= 0:
        return None, None
    freedom = total**2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    half = float(stdtrit(freedom, 0.975) * np.sqrt(total))
    middle = float(a.mean() - b.mean())
    return middle - half, middle + half
