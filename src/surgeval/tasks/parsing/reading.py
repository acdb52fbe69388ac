"""What comes of reading an answer: a value, how it was come by, and what was noticed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Read(StrEnum):
    """How an answer was come by."""

    OK = "ok"
    REPAIRED = "repaired"
    """Read although it is not in the form that was asked for, or after asking once more."""
    FAILED = "failed"
    """Nothing, or nothing single, that could be the answer."""
    REFUSED = "refused"
    """The model declined to answer."""
    NO_ANSWER = "no answer"
    """Nothing came back that could be read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer as it was read."""

    status: Read
    value: Any = None
    """By the form of the task: a class; a truth value or None per class; (start, end); boxes; outlines; a text."""
    problem: str = ""
    """Why it failed."""
    notes: tuple[str, ...] = ()
    """What was passed over: unknown keys, boxes without area."""
    scores: dict[str, float] | None = None

    @property
    def usable(self) -> bool:
        """Whether there is a value."""
        return self.status in (Read.OK, Read.REPAIRED)


def failed(problem: str, *notes: str) -> Reading:
    """An answer that could not be read."""
    return Reading(Read.FAILED, problem=problem, notes=notes)
