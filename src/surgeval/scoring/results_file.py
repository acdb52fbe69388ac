"""Reading results.csv, official or native, for comparison: verdicts and groups, every problem at once."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surgeval.errors import TableInvalid, WrongFile
from surgeval.schema.file_kinds import RESULTS, kind_of
from surgeval.schema.findings import Finding, Severity
from surgeval.schema.rows import Row, frame_rows, read_rows
from surgeval.schema.tabular import as_frame
from surgeval.schema.taxonomy import Capability
from surgeval.scoring.slices import bucket_name

REQUIRED = ("qID", "primary", "answer_format", "correctness")
"""Columns without which two scorings cannot be compared."""

_FLAGS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


@dataclass(frozen=True, slots=True)
class Scored:
    """One question as a results file has it."""

    case: str
    video: str
    primary: str
    group: str
    ood: bool | None
    clinical: bool | None
    format: str
    correct: bool | None
    """None when no verdict was reached."""
    timed_out: bool | None
    latency: str | None
    """As written: latencies are compared, never computed with."""
    reason: str | None

    @property
    def bucket(self) -> str:
        """The bucket the question counts in."""
        return bucket_name(Capability.read(self.group), self.ood)

    @property
    def verdict(self) -> str:
        """`right`, `wrong` or `not scored`."""
        return {True: "right", False: "wrong", None: "not scored"}[self.correct]


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One results file and the manifest beside it."""

    path: Path | None
    """None where it was given as a table."""
    rows: dict[str, Scored]
    manifest: dict[str, Any]
    """Empty where there is none that can be read."""


def read_results(source: Any) -> ScoredRun:
    """The scoring in a results.csv, in a folder that holds one, in a table or in dictionaries.

    Raises:
        FileUnreadable: There is no such file, or it is no CSV.
        WrongFile: It is recognisably another file.
        TableInvalid: With every problem found in it.
    """
    findings: list[Finding] = []
    if isinstance(source, str | Path):
        path = Path(source) / "results.csv" if Path(source).is_dir() else Path(source)
        rows, header, where = list(read_rows(path, report=findings.append)), _header(path), str(path)
    else:
        frame = as_frame(source)
        path, rows, header, where = None, list(frame_rows(frame)), frame.columns, "results"
    problems = [finding.message for finding in findings if finding.severity is Severity.ERROR]
    problems += _column_problems(where, rows, header)
    scored: dict[str, Scored] = {}
    for number, row in enumerate(rows if not problems else (), start=1):
        question = _scored(row, number, problems)
        if question is not None and question.case in scored:
            problems.append(f"row {number}: question {question.case[:80]!r} appears twice")
        elif question is not None:
            scored[question.case] = question
    if problems:
        raise TableInvalid(where, problems)
    return ScoredRun(path, scored, {} if path is None else _manifest_beside(path))


def _column_problems(where: str, rows: Iterable[Row], header: Iterable[str]) -> list[str]:
    """Columns that no row fills; an empty cell and an absent column read the same."""
    filled = {name for row in rows for name in row}
    if not filled:
        return ["there is no scored question in it"]
    lacking = [name for name in REQUIRED if name not in filled | ({"correctness"} & set(header))]
    names = ", ".join(map(repr, sorted(filled)))
    if lacking and (kind := kind_of(filled)) and kind.words != RESULTS:
        cure = "pass the results.csv that surgeval score wrote, or its folder"
        raise WrongFile(where, [f"it seems to be {kind.words}, not {RESULTS} (it has {names}); {cure}"])
    return [f"column {name!r} is missing; it has {names}" for name in lacking]


def _header(path: Path) -> list[str]:
    """The column names of a CSV file: a column may be there although no row fills it."""
    if path.suffix.lower() != ".csv":
        return []
    with open(path, encoding="utf-8-sig", newline="") as handle:
        return next(csv.reader(handle), [])


def _scored(row: Row, number: int, problems: list[str]) -> Scored | None:
    if absent := [name for name in REQUIRED[:3] if row.get(name) is None]:
        problems.append(f"row {number}: {', '.join(absent)} is empty")
        return None
    capability = Capability.named(row["primary"])
    group = Capability.named(row["group"]) if row.get("group") is not None else capability
    if capability is None or group is None:
        named = row["group"] if capability else row["primary"]
        problems.append(f"row {number}: unknown capability {str(named)[:80]!r}")
        return None
    flags = {}
    for name in ("ood", "clinical", "correctness", "timed_out"):
        text = row.get(name)
        flags[name] = None if text is None else _FLAGS.get(str(text).strip().lower())
        if text is not None and flags[name] is None:
            problems.append(f"row {number}: {name} must be True or False, got {str(text)[:80]!r}")
    return Scored(
        case=str(row["qID"]),
        video=str(row.get("video", row["qID"])),
        primary=capability.value,
        group=group.group.value,
        ood=flags["ood"],
        clinical=flags["clinical"],
        format=str(row["answer_format"]),
        correct=flags["correctness"],
        timed_out=flags["timed_out"],
        latency=None if row.get("latency") is None else str(row["latency"]),
        reason=None if row.get("reason") is None else str(row["reason"]),
    )


def _manifest_beside(path: Path) -> dict[str, Any]:
    try:
        document = json.loads((path.parent / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
