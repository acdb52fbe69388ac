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
from surgvalid.schema.tables.column_words import PATIENTS, RECORDINGS, named_by, quoted, says_name
from surgvalid.schema.tables.tabular import first_line
from surgvalid.schema.tables.units import Interpreted

SUFFIXES = (".eval", ".json", ".jsonl")
"""Of files of results of other tools."""
_MOST_LEVELS = 30
"""Different texts up to which metadata divide cases; more are texts of the case, such as its question."""
_MOST_PROPERTIES = 100
_TIMED = "????-??-??T*_*.json"
"""What inspect calls a log in JSON; other files of that kind lie beside logs too."""
_SAMPLES = ("*samples_*.jsonl", "*/*samples_*.jsonl")
_NAMING = {*PATIENTS, *RECORDINGS}
_TAKEN = set("model case metric value status task repeat".split())
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
    tool: str = ""
    marks: tuple[Interpreted, ...] = ()
    """That it is half a run's, which no verb leaves out."""
    run: str = ""
    """The same for all attempts at it."""
    stopped: str = ""
    """Why it did not finish; no scores are read then."""


def read_log(path: Path) -> HarnessLog | None:
    """The scores in a result of another tool; None where the path is none.

    Raises:
        FileUnreadable: It holds no scores of cases, or cannot be read.
        ExtraNeeded: Its compression needs another package.
    """
    logs = finished(logs_in(path))
    return joined([*alike(logs).values()]) if len(logs) > 1 else next(iter(logs.values()), None)


def logs_in(path: Path) -> Mapping[Path, HarnessLog]:
    """The logs that a file, or a folder with its folders of models, holds; none where it is no result of a tool."""
    if path.is_dir():
        patterns = () if (path / "scores.parquet").is_file() else (*_SAMPLES, "*.eval", _TIMED)
        files = sorted(file for pattern in patterns for file in path.glob(pattern))
        logs = {place: log for file in files for place, log in logs_in(file).items()}
        return {place: log for place, log in logs.items() if log.scorers or log.stopped}
    if path.suffix.lower() not in SUFFIXES or not path.is_file():
        return {}
    state = path.stat()
    return _of_file(path, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=16)
def _of_file(path: Path, changed: int, size: int) -> Mapping[Path, HarnessLog]:  # noqa: ARG001 - tell a changed file
    from surgvalid.schema.tables import inspect_log, lmms_eval

    if path.suffix.lower() == ".eval":
        return {path: inspect_log.read_eval(path)}
    if path.suffix.lower() == ".jsonl":
        return {path: lmms_eval.read_samples(path)}
    document = read_json(path)
    if isinstance(document, dict) and isinstance(document.get("eval"), dict) and "status" in document:
        return {path: inspect_log.read_document(path, document, document.get("samples") or [])}
    if isinstance(document, dict) and isinstance(document.get("results"), dict):
        return {file: lmms_eval.read_samples(file) for file in lmms_eval.samples_of(path)}
    if isinstance(document, dict) and {"columns", "data"} <= document.keys():
        return {path: HarnessLog(_tracker_table(path, document["columns"], document["data"]))}
    message = "holds no log of inspect, no results of lmms-eval or lm-eval, and no table of MLflow or Weights & Biases"
    raise FileUnreadable(str(path), [f"{message} (an object with 'columns' and 'data')"])


def finished(logs: Mapping[Path, HarnessLog]) -> dict[Path, HarnessLog]:
    """The logs without the attempts at a run that stopped, where another one finished, which says so.

    Raises:
        FileUnreadable: No attempt at a run finished.
    """
    kept = {path: log for path, log in logs.items() if not log.stopped}
    done = {log.run: path for path, log in kept.items() if log.run}
    for path, log in logs.items():
        if log.stopped and log.run not in done:
            raise FileUnreadable(str(path), [f"its run did not finish ({log.stopped}); let inspect retry it first"])
        if log.stopped:
            other = kept[done[log.run]]
            line = Interpreted("missing", "", f"left out: {path.name} ({log.stopped}), which inspect retried")
            kept[done[log.run]] = other._replace(lines=(*other.lines, line))
    return kept


def alike(logs: Mapping[Path, HarnessLog], unit: str | None = None) -> dict[Path, HarnessLog]:
    """Logs that can stand in one table, with the task of each row where cases of several are to be told apart.

    Where every model did one task, the task may have several names; not in lmms-eval, which numbers the cases of each.

    Args:
        logs: By their files.
        unit: What is independent, where somebody says it.

    Raises:
        FileUnreadable: Naming the log that does not belong to the others.
    """
    naming = {path: {*named_by(log.frame.columns, _NAMING), log.unit or ""} - {""} for path, log in logs.items()}
    first, fullest = next(iter(logs)), max(naming, key=lambda path: bool(naming[path]))
    other, needed = logs[first], set() if unit else naming[fullest]
    models = [model for log in logs.values() for model in log.frame["model"].unique()]
    several = len({log.task for log in logs.values()}) > 1
    apart = several and (len(set(models)) < len(models) or other.tool != "inspect")
    for path, log in logs.items():
        problem = ""
        if log.tool != other.tool:
            problem = f"is of {log.tool} and {first.name} of {other.tool}; give logs of one tool"
        elif not apart and {*log.frame["case"]}.isdisjoint(other.frame["case"]):
            problem = f"shares no case with {first.name}; give logs of one task"
        elif not apart and {*log.scorers}.isdisjoint(other.scorers):
            problem = (
                f"is scored by {quoted(log.scorers)} and {first.name} by {quoted(other.scorers)}; score them alike"
            )
        elif needed and needed.isdisjoint(naming[path]):
            problem = f"does not say {quoted(sorted(needed))}, as {fullest.name} does; give logs of one task"
        if problem:
            raise FileUnreadable(str(path), [f"(task {log.task!r}) {problem}"])
    if not apart:
        tasks = quoted(dict.fromkeys(log.task for log in logs.values()))
        sentence = f"tasks {tasks} are read as one, because names of cases are the same; are these the same questions?"
        lines = (*other.lines, *(Interpreted("doubt", "", sentence),) * several)
        return {**logs, first: other._replace(lines=lines)}
    return {path: log._replace(frame=log.frame.with_columns(task=pl.lit(log.task))) for path, log in logs.items()}


def section(document: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """The mapping below some names in a document; an empty one where there is none."""
    for name in names:
        below = document.get(name)
        document = below if isinstance(below, dict) else {}
    return document


def half_run(log: HarnessLog, held: int, planned: Any, noun: str = "cases", why: str = "") -> HarnessLog:
    """The log with the mark that it holds less than was planned, where it does."""
    if log.marks or not isinstance(planned, int) or held >= planned:
        return log
    sentence = f"the run of {log.frame['model'][0]!r} is not finished: {held:,} of {planned:,} {noun} of {log.task!r}"
    return log._replace(marks=(Interpreted("unfinished", "", f"{sentence} are in its log{why}"),))


def contradicted(log: HarnessLog, stated: Mapping[str, Any], where: str, tool: str) -> HarnessLog:
    """The log with a mark for each metric whose samples have another mean than is stated, as a share or in percent."""
    cases, doubts = log.frame.group_by("metric", "case").agg(pl.col("value").mean()), []
    for metric, mean in cases.group_by("metric").agg(pl.col("value").mean()).sort("metric").iter_rows():
        theirs = stated.get(metric)
        if theirs is not None and not any(
            math.isclose(theirs, unit * mean, rel_tol=1e-4, abs_tol=1e-6) for unit in (1, 100)
        ):
            text = (
                f"{where} {metric} = {theirs:.6g}, its samples have the mean {mean:.6g}: samples were changed or are "
            )
            doubts.append(Interpreted("doubt", "", f"{text}of another run, or {tool} does not average them"))
    return log._replace(marks=(*log.marks, *doubts))


def joined(logs: Sequence[HarnessLog]) -> HarnessLog:
    """Several logs in one: properties that differ between models of one case are none of the case."""
    frame = pl.concat([log.frame for log in logs], how="diagonal_relaxed")
    metrics = {name: facts for log in logs for name, facts in log.metrics.items()}
    lines, scorers, marks = (
        tuple(dict.fromkeys(one for log in logs for one in getattr(log, name)))
        for name in ("lines", "scorers", "marks")
    )
    units = {log.unit for log in logs}
    unit = units.pop() if len(units) == 1 else None
    return HarnessLog(without_answers(frame), metrics, unit, lines, scorers, marks=marks)


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
    samples = {(row.case, row.repeat) for row in rows}
    absent = len(samples - {(row.case, row.repeat) for row in rows if row.value is not None})
    if not absent:
        return ()
    many = f"{absent:,} of {len(samples):,} samples of {rows[0].model}"
    return (Interpreted("missing", "value", f"{many} ended in an error or unscored: no score, never 0"),)


def _properties(rows: Sequence[Scored], unit: str | None) -> list[pl.Series]:
    """What is known of cases and divides them, or names what is independent."""
    names = list(dict.fromkeys(name for row in rows for name in row.properties))
    naming = {*named_by(names, _NAMING), unit}
    cases = len({row.case for row in rows})
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
        most = cases if column.dtype != pl.String else min(_MOST_LEVELS, cases - 1)
        if name in naming or (1 < levels <= most and not (levels == cases and says_name(name))):
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
        message = f"a column of 'data' mixes kinds ({first_line(error)})"
        raise FileUnreadable(str(path), [message]) from None
    nested = [name for name, kind in frame.schema.items() if kind.is_nested()]
    if len(nested) == len(frame.columns) or frame.is_empty():
        raise FileUnreadable(
            str(path), [f"holds no rows of numbers and names; its columns are {quoted(frame.columns)}"]
        )
    return frame.drop(nested)
