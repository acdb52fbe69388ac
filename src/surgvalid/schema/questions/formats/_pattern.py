"""Whole-text matching of a regular expression in polynomial time, whatever the pattern and the text.

Python's matcher tries one way after the other and goes back on failure, so a pattern such as
`(a+)+` needs time exponential in the length of a text that almost fits, and the text comes from a
participant. Whether some way through the pattern uses up the whole text does not depend on the order in
which ways are tried; so this one follows all of them at once (Thompson 1968, "Regular expression search
algorithm"): for every part of the pattern and every place of the text it finds, once, the set of places
where the part may end. The standard library still parses the pattern and decides about single characters
and anchors, so `\\w`, `(?i)` and the like mean what they always do.

What remembers text (back-references) or forbids going back (atomic groups, possessive repeats) depends
on the order of ways and is not supported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from re import _constants as sre, _parser as parser  # type: ignore[attr-defined]  # isort: skip

DEEPEST = 40
"""Levels of groups and repeats; deeper patterns are refused."""
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.ASCII
_ANCHORS = {
    sre.AT_BEGINNING: "^",
    sre.AT_BEGINNING_STRING: r"\A",
    sre.AT_BOUNDARY: r"\b",
    sre.AT_NON_BOUNDARY: r"\B",
    sre.AT_END: "$",
    sre.AT_END_STRING: r"\Z",
}
_CATEGORIES = {
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}
_NAMES = {
    sre.GROUPREF: "a back-reference",
    sre.GROUPREF_EXISTS: "a condition on a group",
    sre.ATOMIC_GROUP: "an atomic group",
    sre.POSSESSIVE_REPEAT: "a possessive repeat",
}


class Unsupported(ValueError):
    """A pattern that cannot be followed on all ways at once."""


@dataclass(frozen=True, eq=False)
class _Character:
    test: re.Pattern[str]


@dataclass(frozen=True, eq=False)
class _Anchor:
    test: re.Pattern[str]


@dataclass(frozen=True, eq=False)
class _Row:
    parts: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Choice:
    parts: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class _Repeat:
    inner: Any
    least: int
    most: int | None


@dataclass(frozen=True, eq=False)
class _Look:
    inner: Any
    wanted: bool
    back: int | None
    """For looking behind, how many characters."""


def matches(pattern: str, text: str) -> bool:
    """Whether `pattern` covers the whole of `text`, as `re.fullmatch` would tell if it came to an end.

    Raises:
        Unsupported: The pattern uses what depends on the order of ways.
        re.error: No regular expression.

    Example:
        >>> matches(r"\\d+(, \\d+)*", "1, 22"), matches(r"(a+)+", "a" * 200 + "b")
        (True, False)
    """
    return len(text) in _Run(text).ends(_tree(pattern), 0)


def why_unsupported(pattern: str) -> str | None:
    """What about a regular expression cannot be matched here, or None."""
    try:
        _tree(pattern)
    except Unsupported as problem:
        return str(problem)
    return None


class _Run:
    """One text, and what was found out about it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[tuple[int, int], frozenset[int]] = {}

    def ends(self, node: Any, start: int) -> frozenset[int]:
        """The places where `node` may end when it starts at `start`."""
        key = (id(node), start)
        if key not in self.known:
            self.known[key] = self._ends(node, start)
        return self.known[key]

    def all_ends(self, node: Any, starts: Iterable[int]) -> frozenset[int]:
        return frozenset[int]().union(*(self.ends(node, start) for start in starts))

    def _ends(self, node: Any, start: int) -> frozenset[int]:
        if isinstance(node, _Character):
            return frozenset((start + 1,)) if node.test.match(self.text, start) else frozenset()
        if isinstance(node, _Anchor):
            return frozenset((start,)) if node.test.match(self.text, start) else frozenset()
        if isinstance(node, _Row):
            places = frozenset((start,))
            for node_part in node.parts:
                places = self.all_ends(node_part, places)
            return places
        if isinstance(node, _Choice):
            return frozenset[int]().union(*(self.ends(branch, start) for branch in node.parts))
        if isinstance(node, _Repeat):
            return self._repeated(node, start)
        return frozenset((start,)) if self._sees(node, start) == node.wanted else frozenset()

    def _repeated(self, node: _Repeat, start: int) -> frozenset[int]:
        places = frozenset((start,))
        for _ in range(node.least):
            before, places = places, self.all_ends(node.inner, places)
            if places == before:  # once more changes nothing: the part may be empty, or nothing is left
                break
        reached = new = places
        rounds = len(self.text) + 1 if node.most is None else node.most - node.least
        while new and rounds > 0:
            new = self.all_ends(node.inner, new) - reached
            reached |= new
            rounds -= 1
        return reached

    def _sees(self, node: _Look, start: int) -> bool:
        if node.back is None:
            return bool(self.ends(node.inner, start))
        return start >= node.back and start in self.ends(node.inner, start - node.back)


@lru_cache(maxsize=256)
def _tree(pattern: str) -> Any:
    parsed = parser.parse(pattern)
    return _row(parsed, parsed.state.flags, 0)


def _row(items: Any, flags: int, depth: int) -> Any:
    if depth > DEEPEST:
        raise Unsupported(f"it is nested more than {DEEPEST} deep")
    parts = tuple(_node(kind, value, flags, depth + 1) for kind, value in items)
    return parts[0] if len(parts) == 1 else _Row(parts)


def _node(kind: Any, value: Any, flags: int, depth: int) -> Any:
    if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.ANY, sre.IN):
        return _Character(re.compile(_character(kind, value), flags & _FLAGS))
    if kind is sre.AT:
        return _Anchor(re.compile(_ANCHORS[value], flags & _FLAGS))
    if kind is sre.BRANCH:
        return _Choice(tuple(_row(branch, flags, depth) for branch in value[1]))
    if kind is sre.SUBPATTERN:
        _, more, fewer, inside = value
        return _row(inside, (flags | more) & ~fewer, depth)
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        least, most, inside = value
        return _Repeat(_row(inside, flags, depth), int(least), None if most is sre.MAXREPEAT else int(most))
    if kind in (sre.ASSERT, sre.ASSERT_NOT):
        direction, inside = value
        back = inside.getwidth()[0] if direction < 0 else None
        return _Look(_row(inside, flags, depth), kind is sre.ASSERT, back)
    if kind is sre.FAILURE:
        return _Choice(())
    raise Unsupported(f"it has {_NAMES.get(kind, f'{kind} in it')}")


def _character(kind: Any, value: Any) -> str:
    """The regular expression of one character, in the words of the standard library."""
    if kind is sre.ANY:
        return "."
    if kind is sre.LITERAL:
        return f"[{_code(value)}]"
    if kind is sre.NOT_LITERAL:
        return f"[^{_code(value)}]"
    return f"[{''.join(_member(*member) for member in value)}]"


def _member(kind: Any, value: Any) -> str:
    if kind is sre.NEGATE:
        return "^"
    if kind is sre.RANGE:
        return f"{_code(value[0])}-{_code(value[1])}"
    return _CATEGORIES[value] if kind is sre.CATEGORY else _code(value)


def _code(number: int) -> str:
    return f"\\U{number:08x}"
