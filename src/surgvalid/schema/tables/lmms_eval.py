"""Folders of lmms-eval and lm-eval: a line of JSON for each question of a task, and a document of results beside it.

The samples hold what each question scored, under the name of the metric: a number, or an object with the score and
what the task says of the case. The document of results names the model, the direction of metrics, and the key of
clusters.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json
from surgvalid.schema.metric_facts import Better
from surgvalid.schema.rows import read_rows
from surgvalid.schema.tables.harness_logs import (
    HarnessLog,
    Scored,
    contradicted,
    half_run,
    harness_log,
    number_of,
    section,
)
from surgvalid.schema.tables.units import Interpreted

_SAMPLES = re.compile(r"(?:(?P<before>.+)_)?samples_(?P<task>.+?)(?:_(?P<after>\d{4}-\d\d-\d\dT[\d.:-]+))?\.jsonl")
"""`DATE_samples_TASK.jsonl` of lmms-eval, `samples_TASK_DATE.jsonl` of lm-eval."""
_ANSWERS = set("pred_answer pred prediction answer target response parsed_pred".split())
"""What is the model's, or the reference, in the record of a score."""
_RECORD = set("doc_id doc target arguments resps filtered_resps filter metrics input".split())
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


def read_samples(path: Path) -> HarnessLog:
    """The scores in a file of samples, of one model and one task.

    Raises:
        FileUnreadable: It holds no scores.
    """
    parts = _parts(path)
    task, results = parts["task"], _results(path, parts["before"] or parts["after"])
    model = str(results.get("model_name") or path.parent.name.replace("__", "/", 1))
    keys = [key.partition(",")[0] for key in section(results, "results", task)]
    rows = _scores(path, model, {key for key in keys if "_stderr" not in key and key != "alias"})
    metrics = tuple(dict.fromkeys(row.metric for row in rows))
    sides = section(results, "higher_is_better", task)
    better: dict[str, Better] = {
        name: "larger" if side else "smaller"
        for name in metrics
        if isinstance(side := sides.get(name.partition(",")[0]), bool)
    }
    unit = section(results, "configs", task).get("cluster_key")
    log = harness_log(path, rows, unit=unit if isinstance(unit, str) else None, better=better)
    log = log._replace(scorers=metrics, task=task, tool="lmms-eval or lm-eval")
    if not results:
        sentence = f"no results beside {path.name}: nothing says how many cases were planned"
        return log._replace(lines=(*log.lines, Interpreted("missing", "", sentence)))
    planned, cases = section(results, "n-samples", task), len({row.case for row in rows})
    why = " (its limit)" if planned.get("effective") == cases else ""
    log = half_run(log, cases, planned.get("original"), why=why)
    if unit and log.unit is None:
        sentence = (
            f"{task!r} clusters its standard errors by {unit!r}, which its samples lack: which cases are of one "
            f"{unit} is not known here, so cases are no independent patients"
        )
        log = log._replace(marks=(*log.marks, Interpreted("doubt", "", sentence)))
    values, partial = section(results, "results", task), {row.metric for row in rows if row.value is None}
    by_name = {name: [values[key] for key in values if name in (key, key.partition(",")[0])] for name in metrics}
    stated = {name: number_of(some[0]) for name, some in by_name.items() if len(some) == 1 and name not in partial}
    return contradicted(log, stated, f"the results beside {path.name} say", "the task")


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


def _scores(path: Path, model: str, named: set[str]) -> list[Scored]:
    """A row for every score; metrics of several filters have the filter in their name."""
    rows, filters = [], set()
    for place, row in enumerate(read_rows(path)):
        listed, case, which = row.get("metrics"), str(row.get("doc_id", place)), row.get("filter", "")
        filters.add(which)
        metrics = named or set(listed if isinstance(listed, list) else row.keys() - _RECORD)
        for metric in sorted(metrics & row.keys()):
            value, properties = _one(row[metric])
            if value is not None or row[metric] is None or isinstance(row[metric], dict):
                known = {**section(row, "doc"), **properties}
                rows.append(Scored(model, case, 1, f"{metric},{which}", value, known))
    return rows if len(filters) > 1 else [row._replace(metric=row.metric.rpartition(",")[0]) for row in rows]


def _one(record: Any) -> tuple[float | None, dict[str, Any]]:
    """The score in what a sample holds under a metric's name, and what it says of the case."""
    if not isinstance(record, dict):
        return (None if isinstance(record, str) else number_of(record)), {}
    scored = [key for key in record if "score" in key.lower()] or [key for key in ("acc", "correct") if key in record]
    value = number_of(record[scored[0]]) if scored else None
    return value, {key: one for key, one in record.items() if key not in {*scored, *_ANSWERS}}
