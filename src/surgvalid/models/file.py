"""Answers that were made elsewhere, from a file: nobody is asked, what is not in it is missing.

JSON Lines or a JSON array of objects, or a JSON object of texts by identifier. An object has the identifier (`id`,
`case` or `qID`) and the answer (`text`, `content` or `answer`), or `scores`, an object of numbers by label; it may have
a `status`, which is then believed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from surgvalid.asking.fingerprint import file_mark
from surgvalid.errors import FileUnreadable, InputInvalid
from surgvalid.models._model import FREE, Can, Done, ModelTrouble, Outcome, Price, Prompt
from surgvalid.models._open import ModelOptions
from surgvalid.schema.outcomes import OF_A_RESPONSE, Status

USAGE = "file:PATH"
_IDS, _TEXTS = ("id", "case", "qID"), ("text", "content", "answer")


class FileModel:
    """Answers from a file."""

    kind = "file"
    host: str | None = None
    price: Price | None = FREE
    stored = False

    def __init__(self, path: Path, options: ModelOptions) -> None:
        self.answers = _answers_in(path)
        self.name, self.revision = f"file:{path.name}", options.revision or file_mark(path)[:16]
        self.parameters: Mapping[str, Any] = {}
        self.can = Can(images=True, video=True, spans=True, boxes=options.boxes or "xyxy-pixels", scores=True)

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Look each prompt up by its identifier."""
        for position, prompt in enumerate(prompts):
            done(position, self.answers.get(prompt.id, _missing(self.name)))

    def close(self) -> None:
        """The file was read at once."""


def build(argument: str, options: ModelOptions) -> FileModel:
    """The answers in the file at `argument`.

    Raises:
        InputInvalid: It cannot be read, or rows of it are no answers.
    """
    return FileModel(Path(argument).expanduser(), options)


def _missing(name: str) -> Outcome:
    return Outcome(Status.MISSING, trouble=ModelTrouble.PERMANENT, reason=f"{name} has no answer to it")


def _answers_in(path: Path) -> dict[str, Outcome]:
    problems: list[str] = []
    answers: dict[str, Outcome] = {}
    for place, row in _rows(path):
        key = next((row[name] for name in _IDS if name in row), None) if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(key, str | int) or isinstance(key, bool):
            problems.append(f"{place} is no object with an identifier ({', '.join(_IDS)})")
            continue
        outcome = _outcome(row)
        if isinstance(outcome, str):
            problems.append(f"{place} [{key}] {outcome}")
        elif str(key) in answers:
            problems.append(f"{place} [{key}] is there twice")
        else:
            answers[str(key)] = outcome
    if not answers and not problems:
        problems.append("holds no answers")
    if problems:
        raise InputInvalid(str(path), problems)
    return answers


def _rows(path: Path) -> list[tuple[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is no UTF-8 text"
        raise FileUnreadable(str(path), [reason or "cannot be read"]) from None
    try:
        if path.suffix == ".jsonl":
            lines = enumerate(text.split("\n"), start=1)
            return [(f"line {number}", json.loads(line)) for number, line in lines if line.strip()]
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileUnreadable(str(path), [f"is no JSON ({error})"]) from None
    if isinstance(document, dict):
        return [(f"key {key!r}", {"id": key, "text": value}) for key, value in document.items()]
    if isinstance(document, list):
        return [(f"entry {number}", row) for number, row in enumerate(document, start=1)]
    raise FileUnreadable(str(path), ["is neither an array nor an object"])


def _outcome(row: Mapping[str, Any]) -> Outcome | str:
    text, scores = next((row[name] for name in _TEXTS if row.get(name) is not None), None), row.get("scores")
    status = row.get("status", Status.ANSWERED.value)
    if status not in {known.value for known in OF_A_RESPONSE}:
        return f"has the status {status!r}, which is none of {', '.join(sorted(OF_A_RESPONSE))}"
    if status != Status.ANSWERED:
        return Outcome(Status(status), str(text or ""), trouble=ModelTrouble.PERMANENT, reason="the file says so")
    if scores is not None and not _are_scores(scores):
        return "has scores that are no numbers by label"
    if text is None and scores is None:
        return f"has neither an answer ({', '.join(_TEXTS)}) nor scores"
    if text is not None and not isinstance(text, str):
        text = json.dumps(text)
    return Outcome(Status.ANSWERED, text or "", None if scores is None else {k: float(v) for k, v in scores.items()})


def _are_scores(scores: Any) -> bool:
    values = scores.values() if isinstance(scores, dict) else [None]
    return all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values)
