"""What a check of a study says: an outcome with its evidence as sentences and numbers, or what is lacking.

A check looks at several things. Each gives evidence or says why it cannot; what the check as a whole says follows from
them by one rule (`outcome_of`): a failure is never outweighed, and nothing passes of which a needed thing was not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from surgeval.errors import SurgevalError

if TYPE_CHECKING:
    from surgeval.audit.study import Study


class Outcome(StrEnum):
    """What a check, or one thing that it looks at, comes to."""

    FAIL = "fail"
    ASK = "needs an answer"
    """Only a person can say it; the study file has a place for it."""
    UNKNOWN = "not assessable"
    """The study does not hold what is needed."""
    PASS = "pass"


class Weight(StrEnum):
    """How much a failure matters."""

    HIGH = "high"
    """A conclusion of the study can be wrong."""
    MEDIUM = "medium"
    """A reader cannot tell how far a conclusion carries."""
    LOW = "low"
    """Worth mending."""


class Number(NamedTuple):
    """One number of the evidence, with its interval where it is an estimate."""

    quantity: str
    value: float
    low: float | None = None
    high: float | None = None
    subject: str = ""
    """The model, class, split or column that it is about."""
    setting: str = ""
    """Under what it holds: a strategy, a threshold, a frame rate."""
    n: int | None = None
    """Independent units behind it."""


@dataclass(frozen=True)
class Evidence:
    """What one look gave."""

    outcome: Outcome
    sentence: str
    numbers: tuple[Number, ...] = ()
    weight: Weight = Weight.MEDIUM
    fix: str = ""
    """What mends it, where that is more than what the catalogue says."""
    picture: str = ""
    """How the numbers are drawn: `intervals`, `widths`, `strategies` or `curves`; empty where they are not."""


class NotThere(Exception):
    """Raised by a look where the study does not hold what it needs; the message says what."""


class NamedNotThere(NotThere):
    """Raised where the study file itself names what is not there: the check cannot pass without it."""


class Unanswered(Exception):
    """Raised by a look that needs an answer which the study file does not give; the message is its key."""


@dataclass(frozen=True)
class Look:
    """One thing that a check looks at."""

    about: str
    look: Callable[[Study], Iterable[Evidence]]
    needed: bool = True
    """Whether the check cannot pass without it."""


class Seen(NamedTuple):
    """One piece of evidence with what it is about."""

    about: str
    needed: bool
    evidence: Evidence
    key: str = ""
    """Of the answer that is lacking."""


def looked(looks: Iterable[Look], study: Study) -> Iterator[Seen]:
    """The evidence of every look; what is lacking is evidence too."""
    for one in looks:
        try:
            for evidence in one.look(study):
                yield Seen(one.about, one.needed, evidence)
        except NotThere as lacking:
            needed = one.needed or isinstance(lacking, NamedNotThere)
            yield Seen(one.about, needed, Evidence(Outcome.UNKNOWN, f"Not there: {lacking}."))
        except SurgevalError as error:
            yield Seen(one.about, one.needed, Evidence(Outcome.UNKNOWN, f"Could not be computed: {error}"))
        except Unanswered as key:
            text = f"Nobody answered: {study.question(str(key))}"
            yield Seen(one.about, one.needed, Evidence(Outcome.ASK, text), str(key))


def outcome_of(seen: Iterable[Seen]) -> Outcome:
    """What a check comes to: the worst of what was seen; passing needs every needed look to have passed.

    Example:
        >>> parted = Evidence(Outcome.PASS, "Every video is in one split.")
        >>> blind = Evidence(Outcome.UNKNOWN, "Not there: patients.")
        >>> outcome_of([Seen("videos", True, parted), Seen("patients", False, blind)]).value
        'pass'
        >>> outcome_of([Seen("videos", True, parted), Seen("patients", True, blind)]).value
        'not assessable'
    """
    listed = list(seen)
    outcomes = [one.evidence.outcome for one in listed]
    if Outcome.FAIL in outcomes:
        return Outcome.FAIL
    needed = [one.evidence.outcome for one in listed if one.needed]
    for outcome in (Outcome.ASK, Outcome.UNKNOWN):
        if outcome in needed:
            return outcome
    if Outcome.PASS in outcomes:
        return Outcome.PASS
    return Outcome.ASK if Outcome.ASK in outcomes else Outcome.UNKNOWN


def failed(
    sentence: str, *numbers: Number, weight: Weight = Weight.MEDIUM, fix: str = "", picture: str = ""
) -> Evidence:
    """Evidence of a fault."""
    return Evidence(Outcome.FAIL, sentence, numbers, weight, fix, picture)


def passed(sentence: str, *numbers: Number, picture: str = "") -> Evidence:
    """Evidence that there is none."""
    return Evidence(Outcome.PASS, sentence, numbers, picture=picture)


def unknown(sentence: str, *numbers: Number, picture: str = "") -> Evidence:
    """Evidence that does not decide."""
    return Evidence(Outcome.UNKNOWN, sentence, numbers, picture=picture)
