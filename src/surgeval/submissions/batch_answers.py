"""The answer file of a batch, read row by row under caps: it is a stranger's, and may be made to exhaust its reader.

Of all rows only those are kept that answer a question of the batch. What they may hold is what a server may answer
with; a row that holds more spoils its own answer alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from surgeval.asking.messages import MOST_BODY_BYTES
from surgeval.schema.questions import Response, response_from_row

ROW_BYTES = 2 * MOST_BODY_BYTES
"""A row longer than this ends the reading."""
_SPARE_ROWS = 1000
_DEEPEST, _DIGITS, _NAMED = 32, 40, 50
_SPACE = re.compile(r"[ \t\r\n]*")
_DEPTH = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


@dataclass(slots=True)
class Answers:
    """The rows by question, and what was wrong with the file."""

    by_name: dict[str, list[Response]] = field(default_factory=dict)
    problem: str = ""
    """Why reading ended before the end of the file."""
    strange: int = 0
    """Rows that answer no question of the batch, or are none."""
    complaints: list[str] = field(default_factory=list)
    """What was odd about rows that count, the first of it."""


def most_bytes(questions: int) -> int:
    """How large an answer file may be for so many questions."""
    return (questions + _SPARE_ROWS // 100) * MOST_BODY_BYTES


def read_answers(data: bytes, names: Collection[str]) -> Answers:
    """The answers in a file to the questions of these names; nothing that it holds is an error here."""
    answers = Answers()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        answers.problem = f"not UTF-8 text (byte {error.start})"
        return answers
    at = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text[at : at + 1] != "[":
        answers.problem = "line 1: expected a list of answers, as in [{...}, ...]"
        return answers
    at = _after(text, at)
    rows = 0
    while text[at : at + 1] not in ("]", ""):
        rows += 1
        if rows > len(names) + _SPARE_ROWS:
            answers.problem = f"more than {rows - 1} rows for {len(names)} questions"
            return answers
        try:
            row, at = _row(text, at)
        except ValueError as error:
            answers.problem = f"line {text.count(chr(10), 0, at) + 1}: {error}"
            return answers
        _keep(row, names, answers)
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] == ",":
            at = _after(text, at)
        elif text[at : at + 1] != "]":
            answers.problem = f"line {text.count(chr(10), 0, at) + 1}: expected ',' or ']' after an answer"
            return answers
    if text[at : at + 1] != "]":
        answers.problem = f"line {text.count(chr(10), 0, at) + 1}: the list is not closed"
    return answers


def _after(text: str, at: int) -> int:
    return _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]


def _row(text: str, at: int) -> tuple[Any, int]:
    """The value that begins at a place, and where it ends.

    Raises:
        ValueError: It is no JSON, too long or nested too deeply.
    """
    piece = text[at : at + ROW_BYTES]
    depth = 0
    for bracket in _DEPTH.finditer(piece):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(bracket.group(), 0)
        if depth > _DEEPEST:
            raise ValueError(f"nested more than {_DEEPEST} deep")
        if depth <= 0 and bracket.group() in ("]", "}"):
            break
    try:
        row, end = _DECODER.raw_decode(piece)
    except json.JSONDecodeError as error:
        if len(piece) == ROW_BYTES:
            raise ValueError(f"an answer of more than {ROW_BYTES:,} characters") from None
        raise ValueError(f"not JSON ({error.msg})") from None
    return row, at + end


def _whole(text: str) -> int | float:
    return int(text) if len(text) < _DIGITS else math.nan


_DECODER = json.JSONDecoder(parse_int=_whole, parse_constant=lambda _: math.nan)


def _keep(row: Any, names: Collection[str], answers: Answers) -> None:
    def complain(code: str, message: str) -> None:
        if len(answers.complaints) < _NAMED:
            answers.complaints.append(f"{code}: {message[:300]}")

    response = response_from_row(row, None, complain) if isinstance(row, dict) else None
    if response is None or response.case not in names:
        answers.strange += 1
        return
    fits = response.content is None or len(response.content) <= MOST_BODY_BYTES
    kept = Response(response.case, response.content if fits else None, response.latency_s)
    answers.by_name.setdefault(response.case, []).append(kept)
