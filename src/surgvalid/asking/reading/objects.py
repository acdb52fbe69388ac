"""Objects and lists in a text, by one tolerant parser that keeps repeated keys.

JSON, Python literals, single and curly quotes, bare keys and words, comments, trailing commas, clock times, an object
in a string, braces within braces. What does not close is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

_QUOTES = {'"': '"', "'": "'", "«": "»", "`": "`"}
_CLOSERS = {"{": "}", "[": "]", "(": ")"}
_MOST_DEPTH = 40
_MOST_FAILURES = 20
_SPACE = re.compile(r"(?:\s+|//[^\n]*|#[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BARE = re.compile(r"""[^\s,;:={}\[\]()"'][^,;:={}\[\]()"\n]*""")
_CLOCK = re.compile(r"[+-]?\d{1,3}:\d{2}(?::\d{2})?(?:\.\d+)?(?![\d:])")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?%?(?=\s*(?:[,;}\])\n#/]|$))")
_SEPARATOR = re.compile(r"\s*(?:=>|->|:|=)\s*")
_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None, "null": None, "nil": None}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": " ", "f": " "}


class KeyedPairs(list[tuple[str, Any]]):
    """The members of one object, in order; a key that stands twice is there twice."""

    def values_of(self, *keys: str) -> list[Any]:
        """The values under any of these keys, compared by letters and digits alone."""
        wanted = {plain_key(key) for key in keys}
        return [value for key, value in self if plain_key(key) in wanted]


class EmbeddedObject(NamedTuple):
    """An object or list in a text, and where it stands."""

    value: Any
    strict: bool
    """Whether it is JSON as it stands."""
    start: int
    end: int


class _Broken(Exception):
    """What begins here is no object."""


def plain_key(key: str) -> str:
    """A key as it is compared.

    Example:
        >>> plain_key("Start.Time"), plain_key("start_time")
        ('starttime', 'starttime')
    """
    return "".join(letter for letter in key.casefold() if letter.isalnum())


def embedded_objects(text: str) -> list[EmbeddedObject]:
    """Every outermost object and list of a text, however it is spelt.

    Example:
        >>> [one.value for one in embedded_objects("first {'a': True,} then {b: 1} and {broken")]
        [[('a', True)], [('b', 1)]]
    """
    return list(_embedded(text))


def _embedded(text: str) -> Iterator[EmbeddedObject]:
    at, failures = 0, 0
    while failures < _MOST_FAILURES:
        starts = [place for place in (text.find("{", at), text.find("[", at)) if place >= 0]
        if not starts:
            return
        start = min(starts)
        try:
            value, end = _value(text, start, 0)
        except _Broken:
            failures, at = failures + 1, start + 1
            continue
        yield EmbeddedObject(value, _is_json(text[start:end]), start, end)
        at = end


def _is_json(piece: str) -> bool:
    try:
        json.loads(piece)
    except (ValueError, RecursionError):
        return False
    return True


def _after_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    at = _after_space(text, at)
    if at >= len(text) or depth > _MOST_DEPTH:
        raise _Broken
    letter = text[at]
    if letter == "{":
        return _object(text, at + 1, depth)
    if letter in "[(":
        return _list(text, at + 1, _CLOSERS[letter], depth)
    if letter in _QUOTES:
        string, end = _string(text, at)
        return _opened(string, depth), end
    if clock := _CLOCK.match(text, at):
        return clock[0], clock.end()
    if number := _NUMBER.match(text, at):
        return _number(number[0]), number.end()
    if word := _BARE.match(text, at):
        bare = word[0].split("//")[0].split(" #")[0]
        return _WORDS.get(bare.strip().casefold(), bare.strip()), at + len(bare)
    raise _Broken


def _number(text: str) -> Any:
    if text.endswith("%"):
        return text
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 1e15 and not set(text) & set(".eE") else number


def _object(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > _MOST_DEPTH:
        raise _Broken
    members = KeyedPairs()
    at = _after_space(text, at)
    while at < len(text):
        if text[at] == "}":
            return members, at + 1
        if text[at] in ",;":
            at = _after_space(text, at + 1)
            continue
        key, at = _key(text, at)
        value, at = _value(text, at, depth + 1)
        members.append((key, value))
        at = _after_space(text, at)
        if at < len(text) and text[at] not in ",;}" and text[at - 1] != "\n":
            raise _Broken
    raise _Broken


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at] in _QUOTES:
        key, at = _string(text, at)
    elif bare := _BARE.match(text, at):
        key, at = bare[0].strip().strip("*_'"), bare.end()
    else:
        raise _Broken
    separator = _SEPARATOR.match(text, at)
    if separator is None:
        raise _Broken
    return key, separator.end()


def _list(text: str, at: int, closer: str, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _after_space(text, at)
    while at < len(text):
        if text[at] == closer:
            return items, at + 1
        if text[at] in ",;":
            at = _after_space(text, at + 1)
            continue
        item, at = _value(text, at, depth + 1)
        items.append(item)
        at = _after_space(text, at)
        if at < len(text) and text[at] not in f",;{closer}":
            raise _Broken
    raise _Broken


def _string(text: str, at: int) -> tuple[str, int]:
    """A quoted text; an apostrophe closes only where something that may follow a text follows."""
    opener = text[at]
    closer = _QUOTES[opener]
    letters: list[str] = []
    at += 1
    while at < len(text):
        letter = text[at]
        if letter == "\\" and at + 1 < len(text):
            at += 1
            if text[at] == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", text[at + 1 : at + 5]):
                letters.append(chr(int(text[at + 1 : at + 5], 16)))
                at += 4
            else:
                letters.append(_ESCAPED.get(text[at], text[at]))
        elif letter == closer and (opener != "'" or re.match(r"\s*(?:[,;:}\])=]|$)", text[at + 1 : at + 40])):
            return "".join(letters), at + 1
        else:
            letters.append(letter)
        at += 1
    raise _Broken


def _opened(string: str, depth: int) -> Any:
    """The object that a string holds and nothing else, or the string."""
    inner = string.strip()
    if inner[:1] not in ("{", "[") or inner[-1:] not in ("}", "]"):
        return string
    try:
        value, end = _value(inner, 0, depth + 1)
    except _Broken:
        return string
    return value if end == len(inner) else string


def unquoted(text: str) -> str:
    """A text that is one quoted string without its quotes and escapes; others as they are.

    Example:
        >>> unquoted('"{\\\\"score\\\\": 4}"')
        '{"score": 4}'
    """
    text = text.strip()
    if text[:1] in _QUOTES:
        try:
            string, end = _string(text, 0)
        except _Broken:
            return text
        return string.strip() if end == len(text) else text
    return text.replace('\\"', '"') if text.startswith('{\\"') else text
