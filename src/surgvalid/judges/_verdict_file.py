"""Verdict files and the verdict store: JSON Lines with `judge`, `qID`, `reference`, `candidate` and `verdict`.

`verdict` is true, false or null (abstained). The verdict store writes the same fields and some more,
so a store, also a folder of them, can be read as a verdict file. A line that is no JSON was cut by an
interruption: it is named and set aside. Whatever else is wrong stops the reading, with every problem listed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from surgvalid.asking.lines import json_lines
from surgvalid.asking.store import VERDICT, Asked, ContentStore, hashed
from surgvalid.errors import FileUnreadable
from surgvalid.judges._case import ABSTAINED, JUDGED, JudgeCase, Verdict, cut
from surgvalid.judges._prompt import PROMPT_VERSION

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
        "state": verdict.state,
        "text": cut(verdict.text),
        "finish": verdict.finish,
    }


def read_verdicts(path: str | Path, damaged: list[str]) -> list[FileVerdict]:
    """All verdicts of a file or a store, identical repetitions only once; cut lines are named in `damaged`.

    Raises:
        FileUnreadable: With every line that lacks a field, has an unusable one, or says otherwise than an
            earlier line of the same judge on the same answer; or no line can be read.
    """
    problems: list[str] = []
    verdicts: dict[tuple[str, tuple[str, str, str]], FileVerdict] = {}
    files = sorted(Path(path).glob("segment-*.jsonl")) if Path(path).is_dir() else [Path(path)]
    if not files:
        raise FileUnreadable(str(path), ["the folder holds no segment of a store"])
    for file in files:
        cut: list[str] = []
        for number, row in json_lines(file, cut):
            if row.get("kind", VERDICT) == VERDICT:
                _take(row, number, verdicts, problems)
        damaged += [f"{file.name} {problem}" for problem in cut]
    if damaged and not (problems or verdicts):
        refusal = (
            f"none of {len(damaged)} lines is a JSON object; give a verdict file in JSON Lines (first: {damaged[0]})"
        )
        raise FileUnreadable(str(path), [refusal])
    if problems:
        raise FileUnreadable(str(path), [*problems, *damaged])
    return list(verdicts.values())


def _take(
    row: Mapping[str, Any],
    number: int,
    verdicts: dict[tuple[str, tuple[str, str, str]], FileVerdict],
    problems: list[str],
) -> None:
    verdict = _verdict_in(row, number, problems)
    if verdict is None:
        return
    first = verdicts.setdefault((verdict.judge, verdict.pair), verdict)
    if first.verdict != verdict.verdict and "key" not in row:  # of a store's rows the first counts
        problems.append(
            f"lines {first.line} and {number}: judge {verdict.judge!r} says {_spelled(first.verdict)} and "
            f"{_spelled(verdict.verdict)} about the same answer to {verdict.case!r}; keep one"
        )


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


def content_key(judge: str, case: JudgeCase, prompt: str = PROMPT_VERSION) -> str:
    """The key of a judge's verdict on the content of a case; the case's identifier is no part of it."""
    return Asked(VERDICT, judge, _content(case), prompt).key


class VerdictStore:
    """Verdicts on disk, shared between runs: a folder, or one file as earlier versions wrote it."""

    def __init__(self, path: str | Path) -> None:
        self.store = ContentStore(path)
        self.path, self.problems = self.store.path, self.store.problems

    def __len__(self) -> int:
        return len(self.store)

    def get(self, judge: str, case: JudgeCase, prompt: str = PROMPT_VERSION) -> Verdict | None:
        """The stored verdict of the judge on this content, or None."""
        before = hashed([judge, prompt, *_content(case)])  # the key of one-file stores
        key = content_key(judge, case, prompt)
        return self.store.get(key, _stored_verdict) or self.store.get(before, _stored_verdict)

    def put(self, judge: str, case: JudgeCase, verdict: Verdict, prompt: str = PROMPT_VERSION) -> None:
        """Keep a verdict, on disk at once. Failed and not-judged ones are not kept, nor what the token limit cut."""
        if verdict.state not in (JUDGED, ABSTAINED) or verdict.was_cut:
            return
        facts = {"latency_s": round(verdict.latency_s, 3), "tokens": verdict.tokens, "prompt": prompt}
        row = {"kind": VERDICT, **verdict_row(judge, case, verdict), **facts}
        self.store.put(content_key(judge, case, prompt), row, _stored_verdict)


def _content(case: JudgeCase) -> tuple[Any, ...]:
    return (
        case.procedure,
        float(case.start_s),
        float(case.end_s),
        case.question,
        case.definitions,
        case.reference,
        case.candidate,
    )


def _stored_verdict(row: Mapping[str, Any]) -> Verdict | None:
    state, correct, text = row.get("state"), row.get("verdict"), row.get("text", "")
    fits = (state == JUDGED and isinstance(correct, bool)) or (state == ABSTAINED and correct is None)
    if not fits or not isinstance(text, str):
        return None
    latency, tokens = row.get("latency_s", 0.0), row.get("tokens", 0)
    latency = float(latency) if isinstance(latency, int | float) and math.isfinite(latency) else 0.0
    tokens = tokens if isinstance(tokens, int) else 0
    return Verdict(correct, str(state), text, latency, tokens, str(row.get("finish", "")))
