"""Folders of lmms-eval and lm-eval: a line of JSON for each question of a task, and a document of results beside it.

The samples hold what each question scored, under the name of the metric: a number, or an object with the score and
what the task says of the case. The document of results names the model, the direction of metrics, and the key of
clusters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json
from surgvalid.schema.metric_facts import Better
from surgvalid.schema.rows import read_rows
from surgvalid.schema.tables.harness_logs import HarnessLog, Scored, check_once, harness_log, number_of

_SAMPLES = re.compile(r"(?:(?P<before>.+)_)?samples_(?P<task>.+?)(?:_(?P<after>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl")
"""`DATE_samples_TASK.jsonl` of lmms-eval, `samples_TASK_DATE.jsonl` of lm-eval."""
_ANSWERS = {"pred_answer", "pred", "prediction", "answer", "target", "response", "parsed_pred"}
"""What is the model's, or the reference, in the record of a score."""
_RECORD = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "input"}
"""What a sample holds beside its scores."""


def samples_of(results: Path) -> list[Path]:
    """The files of samples that belong to a document of results.

    Raises:
        FileUnreadable: There are none.
    """
    date = results.stem.removesuffix("_results").removeprefix("results_")
    files = sorted(path for path in results.parent.glob("*samples_*.jsonl") if date in path.name)
    if not files:
        message = "holds no scores of cases, and no samples are beside it; run the harness with --log_samples"
        raise FileUnreadable(str(results), [message])
    return files


def read_samples(paths: Sequence[Path]) -> HarnessLog:
    """The scores in files of samples, each of one model and one task.

    Raises:
        FileUnreadable: A file holds no scores, or two hold those of the same model and task.
    """
    held: list[tuple[str, str]] = []
    rows: list[Scored] = []
    better: dict[str, Better] = {}
    units: set[str | None] = set()
    tasks = {_parts(path)["task"] for path in paths}
    for path in paths:
        parts = _parts(path)
        results = _results(path, parts["before"] or parts["after"])
        model = str(results.get("model_name") or path.parent.name.replace("__", "/", 1))
        held.append((path.name, f"{model} on {parts['task']}" if len(tasks) > 1 else model))
        named = _named(results, parts["task"])
        better |= _directions(results, parts["task"])
        units.add(_section(results, "configs", parts["task"]).get("cluster_key"))
        task = parts["task"] if len(tasks) > 1 else None
        rows += _scores(path, model, task, named)
    check_once(paths[0].parent, held)
    metrics = list(dict.fromkeys(row.metric for row in rows))
    better = {name: better[name.partition(",")[0]] for name in metrics if name.partition(",")[0] in better}
    unit = units.pop() if len(units) == 1 else None
    log = harness_log(paths[0], rows, unit=unit if isinstance(unit, str) else None, better=better)
    return log._replace(scorers=tuple(metrics))


def _parts(path: Path) -> dict[str, str]:
    match = _SAMPLES.fullmatch(path.name)
    if match is None:
        message = "its name is not that of samples of lmms-eval or lm-eval (DATE_samples_TASK.jsonl)"
        raise FileUnreadable(str(path), [message])
    return match.groupdict(default="")


def _results(path: Path, date: str) -> dict[str, Any]:
    """The document of results beside a file of samples; nothing where there is none."""
    for name in (f"{date}_results.json", f"results_{date}.json"):
        if (place := path.with_name(name)).is_file():
            document = read_json(place)
            return document if isinstance(document, dict) else {}
    return {}


def _section(results: Mapping[str, Any], section: str, task: str) -> dict[str, Any]:
    by_task = results.get(section)
    record = by_task.get(task) if isinstance(by_task, dict) else None
    return record if isinstance(record, dict) else {}


def _named(results: Mapping[str, Any], task: str) -> set[str]:
    """The metrics that the results of a task name, without their filters."""
    keys = [key.partition(",")[0] for key in _section(results, "results", task)]
    return {key for key in keys if "_stderr" not in key and key != "alias"}


def _directions(results: Mapping[str, Any], task: str) -> dict[str, Better]:
    sides = _section(results, "higher_is_better", task)
    return {name: "larger" if side else "smaller" for name, side in sides.items() if isinstance(side, bool)}


def _scores(path: Path, model: str, task: str | None, named: set[str]) -> list[Scored]:
    """A row for every score; metrics of several filters have the filter in their name."""
    lines = list(_lines(path, named))
    filters = {which for _, which, _, _, _ in lines}
    called = (lambda metric, which: f"{metric},{which}") if len(filters) > 1 else (lambda metric, _: metric)
    return [
        Scored(model, case, 1, called(metric, which), value, properties, task)
        for case, which, metric, value, properties in lines
    ]


def _lines(path: Path, named: set[str]) -> Iterator[tuple[str, str, str, float | None, dict[str, Any]]]:
    """Case, filter, metric, score and properties, for every score in a file of samples."""
    for place, row in enumerate(read_rows(path)):
        document = row.get("doc") if isinstance(row.get("doc"), dict) else {}
        listed = row.get("metrics")
        metrics = named or set(listed if isinstance(listed, list) else row.keys() - _RECORD)
        for metric in sorted(metrics & row.keys()):
            value, properties = _one(row[metric])
            if value is not None or row[metric] is None or isinstance(row[metric], dict):
                case, which = str(row.get("doc_id", place)), str(row.get("filter", ""))
                yield case, which, metric, value, {**(document or {}), **properties}


def _one(record: Any) -> tuple[float | None, dict[str, Any]]:
    """The score in what a sample holds under a metric's name, and what it says of the case."""
    if not isinstance(record, dict):
        return (None if isinstance(record, str) else number_of(record)), {}
    scored = [key for key in record if "score" in key.lower()] or [key for key in ("acc", "correct") if key in record]
    value = number_of(record[scored[0]]) if scored else None
    return value, {key: one for key, one in record.items() if key not in {*scored, *_ANSWERS}}
