"""Verdict files: JSON Lines with `judge`, `qID`, `reference`, `candidate` and `verdict`.

`verdict` is true, false or null (abstained). The verdict store writes the same fields and some more,
so a store can be read as a verdict file. A file is read as a whole and every problem is listed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from surgeval.errors import FileUnreadable
from surgeval.judges._case import JudgeCase, Verdict

UNNAMED = "unnamed"
"""The judge of rows that name none."""

_SPELLED = {"true": True, "correct": True, "false": False, "incorrect": False, "null": None, "unsure": None, "": None}


class FileVerdict(NamedTuple):
    """One line of a verdict file."""

    judge: str
    case: str
    reference: str
    candidate: str
    verdict: bool | None
    line: int

    @property
    def pair(self) -> tuple[str, str, str]:
        """What was judged: question, reference and candidate."""
        return self.case, self.reference, self.candidate


def verdict_row(judge: str, case: JudgeCase, verdict: Verdict) -> dict[str, Any]:
    """The verdict as a row of a verdict file."""
    return {
        "judge": judge,
        "qID": case.case,
        "reference": case.reference,
        "candidate": case.candidate,
        "verdict": verdict.opinion,
    }


def read_verdicts(path: str | Path) -> list[FileVerdict]:
    """All verdicts of the file, identical repetitions only once.

    Raises:
        FileUnreadable: With every line that is no object, lacks a field, has an unusable one, or says
            otherwise than an earlier line of the same judge on the same answer.
    """
    problems: list[str] = []
    found: dict[tuple[str, tuple[str, str, str]], FileVerdict] = {}
    for number, row in json_lines(path, problems):
        verdict = _verdict_in(row, number, problems)
        if verdict is None:
            continue
        first = found.setdefault((verdict.judge, verdict.pair), verdict)
        if first.verdict != verdict.verdict:
            problems.append(
                f"lines {first.line} and {number}: judge {verdict.judge!r} says {_spelled(first.verdict)} and "
                f"{_spelled(verdict.verdict)} about the same answer to {verdict.case!r}; keep one"
            )
    if problems:
        raise FileUnreadable(str(path), problems)
    return list(found.values())


def json_lines(path: str | Path, problems: list[str]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a JSON Lines file with their line numbers; damaged lines go to `problems`.

    Unlike the reader of answer files it goes on after a damaged line: an interrupted writer leaves
    one, and whoever mends a file wants to see all of them.

    Raises:
        FileUnreadable: The file cannot be opened.
    """
    try:
        handle = open(path, "rb")  # noqa: SIM115 - opened here so that only the opening is guarded
    except OSError as error:
        raise FileUnreadable(str(path), [error.strerror or "cannot be opened"]) from None
    with handle:
        for number, raw in enumerate(handle, start=1):
            row = _object_in(raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw)
            if isinstance(row, str):
                problems.append(f"line {number}: {row}")
            elif row is not None:
                yield number, row


def _object_in(raw: bytes) -> Mapping[str, Any] | str | None:
    """The object on a line, None for a blank line, or what is wrong with it."""
    try:
        text = raw.decode("utf-8").strip()
        row = json.loads(text) if text else None
    except UnicodeDecodeError as error:
        return f"not UTF-8 text (byte {error.object[error.start]:#04x})"
    except json.JSONDecodeError as error:
        return f"column {error.colno}: {error.msg}; every line must be one JSON object"
    except (RecursionError, ValueError):
        return "nested too deeply, or a number of too many digits"
    if (row is None and not text) or isinstance(row, dict):
        return row
    return f"expected a JSON object with judge, qID, reference, candidate and verdict, got {type(row).__name__}"


def _verdict_in(row: Mapping[str, Any], number: int, problems: list[str]) -> FileVerdict | None:
    before = len(problems)
    if missing := [key for key in ("qID", "reference", "candidate", "verdict") if key not in row]:
        problems.append(f"line {number}: {', '.join(map(repr, missing))} is missing")
    for key in ("reference", "candidate"):
        if key in row and not isinstance(row[key], str):
            problems.append(f"line {number}: {key!r} must be text, got {_short(row[key])}")
    case, judge = row.get("qID", ""), row.get("judge", UNNAMED)
    if isinstance(case, bool) or not isinstance(case, str | int):
        problems.append(f"line {number}: 'qID' must be text, got {_short(case)}")
    if not isinstance(judge, str) or not judge:
        problems.append(f"line {number}: 'judge' must be a name, got {_short(judge)}")
    verdict = row.get("verdict")
    if isinstance(verdict, str) and verdict.strip().lower() in _SPELLED:
        verdict = _SPELLED[verdict.strip().lower()]
    if verdict is not None and not isinstance(verdict, bool):
        problems.append(f"line {number}: 'verdict' must be true, false or null, got {_short(verdict)}")
    if len(problems) > before:
        return None
    return FileVerdict(str(judge), str(case), row["reference"], row["candidate"], verdict, number)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _spelled(verdict: bool | None) -> str:
    return json.dumps(verdict)
