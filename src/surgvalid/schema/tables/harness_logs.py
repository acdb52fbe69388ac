"""Results of other tools as tables of scores: logs of inspect, folders of lmms-eval and lm-eval, tables of trackers.

What a tool calls sample, doc or question is a case here, its epochs are repeats of one case, and what it knows of a
case (metadata) are properties. A sample that ended in an error has no score: tools leave those out of their means in
silence, here they are counted and said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json
from surgvalid.schema.metric_facts import Better, MetricFacts, facts_by_name
from surgvalid.schema.tables.column_words import PATIENTS, RECORDINGS, named_by, quoted
from surgvalid.schema.tables.units import Interpreted

SUFFIXES = (".eval", ".json", ".jsonl")
"""Of files of results of other tools."""
_MOST_LEVELS = 30
"""Different texts up to which metadata divide cases; more are texts of the case, such as its question."""
_MOST_PROPERTIES = 100
_TIMED = "????-??-??T*_*.json"
"""What inspect calls a log in JSON; other files of that kind lie beside logs too."""
_TAKEN = {"model", "case", "metric", "value", "status", "task", "repeat"}
"""Columns that metadata of the same name would be mistaken for."""
_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Grades that inspect counts as numbers: correct, incorrect, partial, no answer."""


class Scored(NamedTuple):
    """One score of one case, or that there is none."""

    model: str
    case: str
    repeat: int
    metric: str
    value: float | None
    properties: Mapping[str, Any]
    task: str | None = None


class HarnessLog(NamedTuple):
    """The scores in a file or folder of another tool."""

    frame: pl.DataFrame
    metrics: Mapping[str, MetricFacts] = {}
    """Of the metrics whose facts the log says."""
    unit: str | None = None
    """The property by which the tool clusters its standard errors."""
    lines: tuple[Interpreted, ...] = ()
    scorers: tuple[str, ...] = ()
    """What the same answers were scored by."""
    task: str = ""


def read_log(path: Path) -> HarnessLog | None:
    """The scores in a result of another tool; None where the path is none.

    Raises:
        FileUnreadable: It holds no scores of cases, or cannot be read.
        ExtraNeeded: Its compression needs another package.
    """
    if path.is_dir():
        return None if (path / "scores.parquet").is_file() else _of_folder(path)
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return None
    state = path.stat()
    return _of_file(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _of_file(path: Path, changed: int, size: int) -> HarnessLog:  # noqa: ARG001 - what tells another file of that name
    from surgvalid.schema.tables import inspect_log, lmms_eval

    if path.suffix.lower() == ".eval":
        return inspect_log.read_eval(path)
    if path.suffix.lower() == ".jsonl":
        return lmms_eval.read_samples([path])
    document = read_json(path)
    if isinstance(document, dict) and isinstance(document.get("eval"), dict) and "status" in document:
        return inspect_log.read_document(path, document)
    if isinstance(document, dict) and isinstance(document.get("results"), dict):
        return lmms_eval.read_samples(lmms_eval.samples_of(path))
    if isinstance(document, dict) and {"columns", "data"} <= document.keys():
        return HarnessLog(_tracker_table(path, document["columns"], document["data"]))
    message = "holds no log of inspect, no results of lmms-eval or lm-eval, and no table of MLflow or Weights & Biases"
    raise FileUnreadable(str(path), [f"{message} (an object with 'columns' and 'data')"])


def _of_folder(folder: Path) -> HarnessLog | None:
    """All logs in a folder, or in the folders of models in it; None where there are none."""
    from surgvalid.schema.tables import lmms_eval

    if samples := sorted([*folder.glob("*samples_*.jsonl"), *folder.glob("*/*samples_*.jsonl")]):
        return lmms_eval.read_samples(samples)
    paths = sorted([*folder.glob("*.eval"), *folder.glob(_TIMED)])
    logs = {path: log for path in paths if (log := read_log(path)) is not None and log.scorers}
    if not logs:
        return None
    apart = by_task([*logs.values()])
    names = [name for name in ("model", "task") if name in apart[0].frame.columns]
    rows = ((path.name, log.frame.select(names).unique().rows()) for path, log in zip(logs, apart, strict=True))
    check_once(folder, [(file, " on ".join(row)) for file, some in rows for row in some])
    return joined(apart)


def by_task(logs: list[HarnessLog]) -> list[HarnessLog]:
    """Logs with the task of each row, where one model did several; else a task may have several names."""
    models = [model for log in logs for model in log.frame["model"].unique()]
    if len(set(models)) == len(models) or len({log.task for log in logs}) == 1:
        return logs
    return [
        log._replace(
            frame=log.frame.with_columns(task=pl.lit(log.task)),
            lines=tuple(line._replace(sentence=f"{log.task}: {line.sentence}") for line in log.lines),
        )
        for log in logs
    ]


def check_once(place: Path, held: Sequence[tuple[str, str]]) -> None:
    """Refuses a model that two files of one folder hold.

    Raises:
        FileUnreadable: Naming both files.
    """
    first: dict[str, str] = {}
    for file, model in held:
        if first.setdefault(model, file) != file:
            message = f"{first[model]} and {file} both hold model {model!r}; name the one that counts"
            raise FileUnreadable(str(place), [message])


def joined(logs: Sequence[HarnessLog]) -> HarnessLog:
    """Several logs in one: properties that differ between models of one case are none of the case."""
    frame = pl.concat([log.frame for log in logs], how="diagonal_relaxed")
    metrics = {name: facts for log in logs for name, facts in log.metrics.items()}
    lines = tuple(dict.fromkeys(line for log in logs for line in log.lines))
    scorers = tuple(dict.fromkeys(name for log in logs for name in log.scorers))
    units = {log.unit for log in logs}
    return HarnessLog(without_answers(frame), metrics, units.pop() if len(units) == 1 else None, lines, scorers)


def without_answers(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows without the columns that are not the same for all models of a case."""
    if not {"case", "value"} <= set(frame.columns):
        return frame
    key = [name for name in ("task", "case") if name in frame.columns]
    others = [name for name in frame.columns if name not in _TAKEN]
    levels = frame.group_by(key).agg(pl.col(others).drop_nulls().n_unique())
    return frame.drop([name for name in others if (levels[name] > 1).any()])


def harness_log(
    path: Path, rows: Sequence[Scored], *, unit: str | None = None, better: Mapping[str, Better] | None = None
) -> HarnessLog:
    """The log of scores that a tool stored.

    Args:
        path: Of the file, for problems.
        rows: A score each.
        unit: The property that the tool clusters by.
        better: The direction of metrics, where the tool says it.
    """
    if not any(row.value is not None for row in rows):
        raise FileUnreadable(
            str(path), ["holds no scores of cases; score the run, or log its samples, and pass it then"]
        )
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in ("model", "case", "metric", "value")
    }
    if any(row.task is not None for row in rows):
        columns["task"] = [row.task for row in rows]
    if len({row.repeat for row in rows}) > 1:
        columns["repeat"] = [row.repeat for row in rows]
    schema = {"model": pl.String, "case": pl.String, "metric": pl.String, "value": pl.Float64}
    frame = pl.DataFrame(columns, schema_overrides=schema).with_columns(_properties(rows, unit))
    # The properties of a case whose epochs are averaged are those of an epoch that has a score.
    frame = frame.sort(pl.col("value").is_null(), maintain_order=True)
    known = {name: facts_by_name(name).directed(side) for name, side in (better or {}).items()}
    return HarnessLog(without_answers(frame), known, unit if unit in frame.columns else None, _absent(rows))


def _absent(rows: Sequence[Scored]) -> tuple[Interpreted, ...]:
    """What is said about samples without a score."""
    lines = []
    for model in dict.fromkeys(row.model for row in rows):
        samples = {(row.task, row.case, row.repeat): False for row in rows if row.model == model}
        samples |= {(r.task, r.case, r.repeat): True for r in rows if r.model == model and r.value is not None}
        if absent := list(samples.values()).count(False):
            many = "1 sample" if absent == 1 else f"{absent:,} samples"
            sentence = f"{many} of {len(samples):,} of {model} ended in an error or unscored: no score, never 0"
            lines.append(Interpreted("missing", "value", sentence))
    return tuple(lines)


def _properties(rows: Sequence[Scored], unit: str | None) -> list[pl.Series]:
    """What is known of cases and divides them, or names what is independent."""
    names = list(dict.fromkeys(name for row in rows for name in row.properties))
    naming = {*named_by(names, {*PATIENTS, *RECORDINGS}), unit}
    cases = len({(row.task, row.case) for row in rows})
    kept = []
    for name in names[:_MOST_PROPERTIES]:
        values = [
            value if isinstance(value, str | int | float) else None
            for row in rows
            for value in [row.properties.get(name)]
        ]
        kinds = {type(value) for value in values if value is not None}
        called = f"{name}_of_case" if name in _TAKEN else name
        if kinds <= {int, float} and name not in naming:
            column = pl.Series(called, values, dtype=pl.Float64 if float in kinds else pl.Int64, strict=False)
        else:
            column = pl.Series(called, [None if value is None else str(value) for value in values], dtype=pl.String)
        levels = column.drop_nulls().n_unique()
        if name in naming or (levels > 1 and (column.dtype != pl.String or levels <= min(_MOST_LEVELS, cases - 1))):
            kept.append(column)
    return kept


def number_of(value: Any) -> float | None:
    """A score as a number, None where it is none.

    Example:
        >>> number_of("C"), number_of(True), number_of("0.5"), number_of("fair"), number_of(float("nan"))
        (1.0, 1.0, 0.5, None, None)
    """
    if isinstance(value, str) and value in _WORDS:
        return _WORDS[value]
    if not isinstance(value, str | int | float) or (isinstance(value, str) and len(value) > 40):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _tracker_table(path: Path, columns: Any, data: Any) -> pl.DataFrame:
    """A table that a tracker stored: names of columns, and rows."""
    if not isinstance(columns, list) or not isinstance(data, list) or len(set(map(str, columns))) < len(columns):
        raise FileUnreadable(str(path), ["'columns' must be a list of different names and 'data' a list of rows"])
    if uneven := [place for place, row in enumerate(data, 1) if not isinstance(row, list) or len(row) != len(columns)]:
        raise FileUnreadable(str(path), [f"row {uneven[0]} of 'data' has not the {len(columns)} cells of 'columns'"])
    try:
        frame = pl.DataFrame(data, schema=[str(name) for name in columns], orient="row", infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, OverflowError) as error:
        message = f"a column of 'data' mixes kinds ({str(error).splitlines()[0]})"
        raise FileUnreadable(str(path), [message]) from None
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if len(nested) == len(frame.columns) or frame.is_empty():
        raise FileUnreadable(
            str(path), [f"holds no rows of numbers and names; its columns are {quoted(frame.columns)}"]
        )
    return frame.drop(nested)
