"""What is wrong with a report of a worker, all of it, before anything is changed by it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from surgeval.host.runs.models import Job, Kind
from surgeval.results.manifest import MANIFEST
from surgeval.submissions.stages import SCORES

BOARDS, PHASE_FILE = "boards.json", "phase.json"
_SHOWN = 60


class Reported(NamedTuple):
    """A report, and what it is about."""

    job: Job
    facts: Mapping[str, Any]
    folder: Path | None
    """What the worker sent, where it sent anything."""
    run: Path | None
    """Where the run of the job is kept, where it has one."""


def report_problems(report: Reported) -> list[str]:
    """The problems of a report; a fact that is not there is none."""
    return [*_texts(report.facts, "code"), *_CHECKS[Kind(report.job.kind)](report)]


def shard_name(job: Job) -> str:
    """The folder of the job's shard."""
    return "shard-{}-of-{}".format(*job.shard.split("/"))


def made_boards(folder: Path) -> dict[str, Any] | None:
    """The boards that a worker sent, or None where these are no JSON object, or hold what a database does not keep."""
    try:
        boards = json.loads((folder / BOARDS).read_text(encoding="utf-8"), parse_constant=_no_number)
    except (OSError, ValueError, RecursionError):
        return None
    return boards if isinstance(boards, dict) else None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _intake(report: Reported) -> Iterator[str]:
    facts = report.facts
    yield from _texts(facts, "image_digest")
    listed = facts.get("problems", [])
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        yield f"problems must be a list of texts; got {_shown(listed)}"


def _inference(report: Reported) -> Iterator[str]:
    job, _, folder, run = report
    if folder is None or run is None:
        return
    if not (folder / shard_name(job)).is_dir():
        yield f"the output holds no {shard_name(job)}"
    if not (folder / PHASE_FILE).is_file() and not (run / PHASE_FILE).exists():
        yield f"the output holds no {PHASE_FILE}"


def _scoring(report: Reported) -> Iterator[str]:
    facts, folder = report.facts, report.folder
    yield from _texts(facts, "references_digest")
    values = facts.get("values", {})
    if not isinstance(values, dict):
        yield f"values must be numbers by board; got {_shown(values)}"
    else:
        for board, value in values.items():
            if not _is_number(value):
                yield f"values of {board[:_SHOWN]} must be a finite number; got {_shown(value)}"
    if folder is not None and not (folder / SCORES / MANIFEST).is_file():
        yield f"the output holds no {SCORES}/{MANIFEST}"


def _board(report: Reported) -> Iterator[str]:
    job, folder = report.job, report.folder
    if folder is None:
        return
    if (boards := made_boards(folder)) is None:
        yield f"{BOARDS} is no JSON object, or holds what is no number"
        return
    for board in sorted(boards.keys() & job.facts["boards"].keys()):
        content = boards[board]
        tables = content.get("tables") if isinstance(content, dict) else None
        if not isinstance(tables, dict) or not all(_is_table(rows) for rows in tables.values()):
            yield f"{BOARDS}: {board} has no tables of rows"
        elif not isinstance(content.get("findings", []), list):
            yield f"{BOARDS}: findings of {board} must be a list; got {_shown(content['findings'])}"
        if not (folder / board).is_dir():
            yield f"the output holds no {board}"


def _is_table(rows: Any) -> bool:
    return isinstance(rows, list) and all(isinstance(row, dict) for row in rows)


def _texts(facts: Mapping[str, Any], *names: str) -> Iterator[str]:
    for name in names:
        if not isinstance(facts.get(name, ""), str):
            yield f"{name} must be a text; got {_shown(facts[name])}"


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:_SHOWN]


_CHECKS: dict[Kind, Callable[[Reported], Iterator[str]]] = {
    Kind.INTAKE: _intake,
    Kind.INFERENCE: _inference,
    Kind.SCORING: _scoring,
    Kind.BOARD: _board,
}
