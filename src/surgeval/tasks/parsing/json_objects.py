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

from surgeval.asking.reasoning import without_blocks

_NAMES = ("think", "thinking", "reasoning", "reflection", "scratchpad")
_UNFINISHED = re.compile(rf"<(?:{'|'.join(_NAMES)})>", re.IGNORECASE)
_ENDED = re.compile(rf"</(?:{'|'.join(_NAMES)})>", re.IGNORECASE)
_FENCE = re.compile(r"```[\w+-]*")
_OPENERS, _CLOSERS, _QUOTE = {"{": "}", "[": "]"}, frozenset("}]"), '"'
_BRACKETS = re.compile(r"[{}\[\]]")
_WITH_QUOTES = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*"|"', re.DOTALL)
_MOST_WALKS = 20
"""Each begins within quotes of the ones before; more are needed only where quotes are escaped over and over."""
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
    text = without_blocks(text[:_MOST_LETTERS], _NAMES, put=" ")
    text = text[_behind_the_last_end(text) :]
    if opened := _UNFINISHED.search(text):
        text = text[: opened.start()]
    return _FENCE.sub("", text)


def _behind_the_last_end(text: str) -> int:
    return max((match.end() for match in _ENDED.finditer(text)), default=0)


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
    for piece in reversed(list(balanced(text, "{" if kind is dict else "["))):
        held = _read(piece)
        if held is not None and isinstance(held.value, kind):
            return held
    return None


def balanced(text: str, opener: str) -> Iterator[str]:
    """The outermost balanced stretches that begin with an opener; quotes hide brackets, where they close again.

    Example:
        >>> list(balanced('{"}"} {[}] {{}', "{"))
        ['{"}"}', '{}']
    """
    careful, plain = _Ends(text, _WITH_QUOTES), _Ends(text, _BRACKETS)
    at = text.find(opener)
    while at >= 0:
        end = careful.of(at) or plain.of(at)
        if end is not None:
            yield text[at:end]
        at = text.find(opener, at + 1 if end is None else end)


class _Ends:
    """Where the brackets of a text close. One walk settles every bracket that it meets outside of quotes, so that few
    walks are needed however many brackets there are."""

    def __init__(self, text: str, pieces: re.Pattern[str]) -> None:
        self._text, self._pieces = text, pieces
        self._known: dict[int, int | None] = {}
        self._walks = 0

    def of(self, start: int) -> int | None:
        """One past the bracket that closes the one at `start`; None where none does."""
        if start not in self._known and self._walks < _MOST_WALKS:
            self._walk(start)
        return self._known.get(start)

    def _walk(self, start: int) -> None:
        self._walks += 1
        open_ones: list[int] = []
        for match in self._pieces.finditer(self._text, start):
            piece, at = match[0], match.start()
            if piece in _OPENERS:
                self._known[at] = None
                open_ones.append(at)
            elif piece == _QUOTE:  # one that never closes
                return
            elif piece in _CLOSERS and open_ones:
                if _OPENERS[self._text[open_ones[-1]]] == piece:
                    self._known[open_ones.pop()] = at + 1
                else:
                    open_ones.clear()


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
