"""Models on surgical tasks: values with intervals, printed rows beside them, lost answers, cost and latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import polars as pl

from surgvalid.report.inputs import ReportInputs, StoredResult
from surgvalid.report.section import Block, Note, Prose, ReportTable, Section
from surgvalid.report.wording import missing

NAME, TITLE = "models_on_tasks", "Models on tasks"
_CAPTION = (
    "Value and interval; a dash where there is no run. Runs with other cases than most of their task (a limit, a "
    "shard, another split) are marked: their values are not to be set against the rest."
)
_READ = ("ok", "repaired", "failed", "refused", "no_answer")


def section(inputs: ReportInputs) -> Section:
    """The runs of models on tasks."""
    runs = [
        result for result in inputs.of("task") if "run" in result.records and not result.frame("metrics").is_empty()
    ]
    if not runs:
        return missing(NAME, TITLE, "No model was run on a task.", "surgvalid task run NAME --model SPEC ... --out DIR")
    rows = pl.DataFrame([_row(result) for result in runs], infer_schema_length=None)
    others = _other_cases(runs)
    blocks: list[Block] = [
        Prose(
            "Every value is the primary metric of its task; an answer that could not be read counts as wrong. The "
            "trivial baseline is what the best input-blind predictor reaches. Intervals are over videos."
        ),
        ReportTable("task-matrix", "Models by tasks", _matrix(rows, others), _CAPTION),
        ReportTable("task-runs", "Every run", rows),
    ]
    blocks += [Note(text) for text in (*_unfinished(rows), *_lost(rows))]
    blocks += _published(rows)
    blocks.append(ReportTable("task-readings", "How answers could be read", _readings(runs)))
    blocks.append(ReportTable("task-costs", "What the runs took", _costs(runs)))
    return Section(NAME, TITLE, tuple(blocks))


def _row(result: StoredResult) -> dict[str, Any]:
    from surgvalid.models import RunCounts  # only a report on runs needs what runs them

    record: dict[str, Any] = result.records["run"]
    metrics = result.frame("metrics").filter(pl.col("metric") == record["headline"])
    row = metrics.row(0, named=True)
    whole = result.frame("readings").filter(pl.col("stratum") == "all").row(0, named=True)
    return {
        "task": record["task"],
        "model": record["model"],
        "metric": record["headline"],
        "value": row["value"],
        "low": row["low"],
        "high": row["high"],
        "floor": row["floor"],
        "cases": whole["cases"],
        "videos": row["videos"],
        "share_lost": whole["share_lost"],
        "shots": record["shots"],
        "prompts": record["prompt"],
        "unfinished": RunCounts(**record["counts"]).unfinished,
    }


def _matrix(rows: pl.DataFrame, others: Sequence[bool]) -> pl.DataFrame:
    """Models by tasks, each cell a value with its interval; a model that was run several ways has a row for each."""
    from surgvalid.tasks.board import ways_of

    cells = [
        ("-" if value is None else f"{value:.2f}" if low is None else f"{value:.2f} [{low:.2f}, {high:.2f}]")
        + (" (not finished)" if unfinished else "")
        + (" (other cases)" if other else "")
        for (value, low, high, unfinished), other in zip(
            rows.select("value", "low", "high", "unfinished").rows(), others, strict=True
        )
    ]
    wide = rows.select("task", ways_of(rows).alias("model")).with_columns(pl.Series("cell", cells))
    return wide.pivot("task", index="model", values="cell").fill_null("-")


def _other_cases(runs: Sequence[StoredResult]) -> list[bool]:
    """Whether a run was asked about other cases than most runs of its task."""
    asked = [(result.records["run"]["task"], frozenset(result.frame("answers")["case"])) for result in runs]
    counts = Counter(asked)
    usual: dict[str, frozenset[str]] = {}
    for task, cases in sorted(counts, key=lambda one: (counts[one], len(one[1]))):
        usual[task] = cases
    return [cases != usual[task] for task, cases in asked]


def _unfinished(rows: pl.DataFrame) -> list[str]:
    return [
        f"{model} on {task} is not finished: {number:,} requests have no answer, because no reply could be used or "
        "the money was spent, and count as wrong until the same command is run again."
        for model, task, number in rows.filter(pl.col("unfinished") > 0).select("model", "task", "unfinished").rows()
    ]


def _lost(rows: pl.DataFrame) -> list[str]:
    return [
        f"{model} on {task}: {share:.0%} of the cases have no answer and count as wrong."
        for model, task, share in rows.filter(pl.col("share_lost") > 0).select("model", "task", "share_lost").rows()
    ]


def _published(rows: pl.DataFrame) -> list[Block]:
    """The printed rows of the tasks that were run, those that contradict themselves with the reason."""
    from surgvalid.tasks import TASKS
    from surgvalid.tasks.board import published_rows

    names = [name for name in rows["task"].unique(maintain_order=True) if name in TASKS]
    printed = [row for name in names for row in published_rows(TASKS[name])]
    if not printed:
        return []
    frame = pl.DataFrame(printed, infer_schema_length=None).select(
        "task", "model", "source", "metric", "value", "doubt"
    )
    caption = "Printed without intervals, and computed by the study's own code on its own cases."
    return [ReportTable("task-published", "Published rows", frame, caption)]


def _readings(runs: list[StoredResult]) -> pl.DataFrame:
    frames = []
    for result in runs:
        record = result.records["run"]
        whole = result.frame("readings").filter(pl.col("stratum") == "all").select("cases", *_READ, "share_lost")
        named = (pl.lit(record["task"]).alias("task"), pl.lit(record["model"]).alias("model"))
        frames.append(whole.select(*named, pl.all()))
    return pl.concat(frames, how="vertical_relaxed")


def _costs(runs: list[StoredResult]) -> pl.DataFrame:
    frames = [
        result.frame("costs").with_columns(pl.lit(result.records["run"]["task"]).alias("task")) for result in runs
    ]
    return pl.concat(frames, how="diagonal_relaxed")
