"""What comes of reading a reply: a value or none, how it was come by, and why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

AS_ASKED = "as asked"
"""The path of a reply in the form that was asked for."""
GUESS = "guess: "
"""Begins the path of a value that only the lenient policy takes."""


class ReplyRead(StrEnum):
    """How a reply could be read."""

    OK = "ok"
    REPAIRED = "repaired"
    """Read although it is not in the form that was asked for, or after asking once more."""
    FAILED = "failed"
    """Nothing, or nothing single, that could be the answer."""
    REFUSED = "refused"
    """The model declined to answer."""
    CUT = "cut"
    """It reached the token limit before it had answered."""
    NO_ANSWER = "no answer"
    """Nothing came back that could be read."""


class ReadingPolicy(StrEnum):
    """Which readings count."""

    STRICT = "strict"
    """Only replies in the form that was asked for."""
    CAREFUL = "careful"
    """Whatever a reply commits itself to, in any wrapping."""
    LENIENT = "lenient"
    """Also values that need a guess; never of refusals and contradictions."""


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """A reply as it was read."""

    status: ReplyRead
    value: Any = None
    """By the form: a class; a truth value or None per class; (start, end); boxes; outlines; a text."""
    problem: str = ""
    """Why there is none."""
    notes: tuple[str, ...] = ()
    """What was passed over: unknown keys, boxes without area."""
    scores: dict[str, float] | None = None
    path: str = ""
    """The rule by which the value was come by."""

    @property
    def usable(self) -> bool:
        """Whether there is a value."""
        return self.status in (ReplyRead.OK, ReplyRead.REPAIRED)


def read_as(value: Any, path: str, *notes: str) -> ReplyReading:
    """A value and the rule that gave it."""
    status = ReplyRead.OK if path == AS_ASKED else ReplyRead.REPAIRED
    return ReplyReading(status, value, notes=notes, path=path)


def failed(problem: str, *notes: str) -> ReplyReading:
    """A reply that could not be read."""
    return ReplyReading(ReplyRead.FAILED, problem=problem, notes=notes)


def refused(problem: str) -> ReplyReading:
    """A reply that declines to answer."""
    return ReplyReading(ReplyRead.REFUSED, problem=problem)


def contradiction(problem: str) -> ReplyReading:
    """A reply that says two things; no weaker rule may choose between them."""
    return ReplyReading(ReplyRead.FAILED, problem=problem, path="contradiction")


def agreed(readings: Sequence[ReplyReading]) -> ReplyReading:
    """Of several readings the value that all share; a contradiction within one is one of all."""
    usable = [one for one in readings if one.usable]
    if any(repr(one.value) != repr(usable[0].value) for one in usable):
        return contradiction("two different answers are given")
    broken = [one for one in readings if one.path == "contradiction"]
    return [*broken, *usable, *readings][0]
