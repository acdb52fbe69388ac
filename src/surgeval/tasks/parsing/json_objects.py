"""Objects in the text of an answer: reasoning and code fences aside, the last one that can be read.

Objects are found by balancing brackets outside of quotes. JSON is tried first, then Python literals, then JSON with
the usual slips (single quotes, trailing commas, bare words); the words true and false inside texts stay as they are.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_THINKING = re.compile(r"<(think|thinking|reasoning|reflection|scratchpad)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_UNFINISHED = re.compile(r"<(think|thinking|reasoning|reflection|scratchpad)>", re.IGNORECASE)
_ENDED = re.compile(r".*</(think|thinking|reasoning|reflection|scratchpad)>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[\w+-]*")
_OPENERS = {"{": "}", "[": "]"}
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_BARE_WORD = re.compile(r"([:\[,]\s*)(true|false|none|null|yes|no|present|absent)(?=\s*[,}\]])", re.IGNORECASE)
_CLOCK = re.compile(r"(:\s*)(\d{1,2}(?::\d{2}){1,2}(?:\.\d+)?)(?=\s*[,}])")
_MOST_LETTERS = 200_000
_SPELLED = {"true": "true", "false": "false", "none": "null", "null": "null"}


class Held(NamedTuple):
    """An object or list in a text."""

    value: Any
    strict: bool
    """Whether it is JSON as it stands."""


def without_reasoning(text: str) -> str:
    """The text without blocks of reasoning and without code fences; an unfinished block hides all after it.

    Example:
        >>> without_reasoning("<think>{1}</think>```json\\n{}\\n```").strip()
        '{}'
    """
    text = _THINKING.sub(" ", text[:_MOST_LETTERS])
    text = _ENDED.sub(" ", text)
    if opened := _UNFINISHED.search(text):
        text = text[: opened.start()]
    return _FENCE.sub("", text)


def last_object(text: str) -> Held | None:
    """The last object of a text that can be read, however it is spelt; None where there is none.

    Example:
        >>> last_object("first {'a': True,} then {broken")
        Held(value={'a': True}, strict=False)
    """
    return _last(text, dict)


def last_list(text: str) -> Held | None:
    """The last list of a text that can be read."""
    return _last(text, list)


def _last(text: str, kind: type[Any]) -> Held | None:
    for piece in reversed(list(_balanced(text, "{" if kind is dict else "["))):
        held = _read(piece)
        if held is not None and isinstance(held.value, kind):
            return held
    return None


def _balanced(text: str, opener: str) -> Iterator[str]:
    """The outermost balanced stretches that begin with an opener."""
    at = text.find(opener)
    while at >= 0:
        end = _end_of(text, at)
        if end is None:
            at = text.find(opener, at + 1)
        else:
            yield text[at:end]
            at = text.find(opener, end)


def _end_of(text: str, start: int) -> int | None:
    """One past the bracket that closes the one at `start`; quotes hide brackets, where they close again."""
    for careful in (True, False):
        if (end := _walked(text, start, careful)) is not None:
            return end
    return None


def _walked(text: str, start: int, careful: bool) -> int | None:
    stack: list[str] = []
    at = start
    while at < len(text):
        letter = text[at]
        if letter == '"' and careful:
            close = _closing_quote(text, at)
            if close is None:
                return None
            at = close
        elif letter in _OPENERS:
            stack.append(_OPENERS[letter])
        elif stack and letter == stack[-1]:
            stack.pop()
            if not stack:
                return at + 1
        elif letter in "}]":
            return None
        at += 1
    return None


def _closing_quote(text: str, start: int) -> int | None:
    at = start + 1
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == '"':
            return at
        at += 1
    return None


def _read(piece: str) -> Held | None:
    try:
        return Held(json.loads(piece), True)
    except (ValueError, RecursionError):
        pass
    for candidate in (piece, _mended(piece)):
        for read in (ast.literal_eval, json.loads):
            try:
                return Held(read(candidate), False)
            except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                continue
    return None


def _mended(piece: str) -> str:
    """The piece with bare words and times quoted and without trailing commas."""
    piece = _TRAILING_COMMA.sub(r"\1", piece)
    piece = _CLOCK.sub(r'\1"\2"', piece)
    piece = _BARE_WORD.sub(lambda match: match[1] + _SPELLED.get(match[2].lower(), f'"{match[2]}"'), piece)
    if '"' not in piece:
        piece = piece.replace("'", '"')
    return piece
