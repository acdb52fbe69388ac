"""What a check of a study says: an outcome with its evidence as sentences and numbers, or what is lacking.

A check looks at several things. Each gives evidence or says why it cannot; what the check as a whole says follows from
them by one rule (`outcome_of`): a failure is never outweighed, and nothing passes of which a needed thing was not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from surgvalid.errors import SurgvalidError
from surgvalid.schema.tables.units import called

if TYPE_CHECKING:
    from surgvalid.audit.study import AuditedStudy


class CheckOutcome(StrEnum):
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


class AuditNumber(NamedTuple):
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
class AuditEvidence:
    """What one look gave."""

    outcome: CheckOutcome
    sentence: str
    numbers: tuple[AuditNumber, ...] = ()
    weight: Weight = Weight.MEDIUM
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
    look: Callable[[AuditedStudy], Iterable[AuditEvidence]]
    needed: bool = True
    """Whether the check cannot pass without it."""
    scored: bool = False
    """Whether its videos are what the scores take for independent, perhaps patients; else they are videos."""


class SeenEvidence(NamedTuple):
    """One piece of evidence with what it is about."""

    about: str
    needed: bool
    evidence: AuditEvidence
    key: str = ""
    """Of the answer that is lacking."""


def looked(looks: Iterable[Look], study: AuditedStudy) -> Iterator[SeenEvidence]:
    """The evidence of every look; what is lacking is evidence too."""
    word = study.scores.unit.word if study.scores is not None else "video"
    for one in looks:
        try:
            for evidence in one.look(study):
                sentence = called(evidence.sentence, word if one.scored else "video")
                yield SeenEvidence(one.about, one.needed, replace(evidence, sentence=sentence))
        except NotThere as lacking:
            needed = one.needed or isinstance(lacking, NamedNotThere)
            yield SeenEvidence(one.about, needed, AuditEvidence(CheckOutcome.UNKNOWN, f"Not there: {lacking}."))
        except SurgvalidError as error:
            yield SeenEvidence(
                one.about, one.needed, AuditEvidence(CheckOutcome.UNKNOWN, f"Could not be computed: {error}")
            )
        except Unanswered as key:
            text = f"Nobody answered: {study.question(str(key))}"
            yield SeenEvidence(one.about, one.needed, AuditEvidence(CheckOutcome.ASK, text), str(key))


def outcome_of(seen: Iterable[SeenEvidence]) -> CheckOutcome:
    """What a check comes to: the worst of what was seen; passing needs every needed look to have passed.

    Example:
        >>> parted = AuditEvidence(CheckOutcome.PASS, "Every video is in one split.")
        >>> blind = AuditEvidence(CheckOutcome.UNKNOWN, "Not there: patients.")
        >>> outcome_of([SeenEvidence("videos", True, parted), SeenEvidence("patients", False, blind)]).value
        'pass'
        >>> outcome_of([SeenEvidence("videos", True, parted), SeenEvidence("patients", True, blind)]).value
        'not assessable'
    """
    listed = list(seen)
    outcomes = [one.evidence.outcome for one in listed]
    if CheckOutcome.FAIL in outcomes:
        return CheckOutcome.FAIL
    needed = [one.evidence.outcome for one in listed if one.needed]
    for outcome in (CheckOutcome.ASK, CheckOutcome.UNKNOWN):
        if outcome in needed:
            return outcome
    if CheckOutcome.PASS in outcomes:
        return CheckOutcome.PASS
    return CheckOutcome.ASK if CheckOutcome.ASK in outcomes else CheckOutcome.UNKNOWN


def failed(sentence: str, *numbers: AuditNumber, weight: Weight = Weight.MEDIUM, picture: str = "") -> AuditEvidence:
    """Evidence of a fault."""
    return AuditEvidence(CheckOutcome.FAIL, sentence, numbers, weight, picture)


def passed(sentence: str, *numbers: AuditNumber, picture: str = "") -> AuditEvidence:
    """Evidence that there is none."""
    return AuditEvidence(CheckOutcome.PASS, sentence, numbers, picture=picture)


def judged(
    wrong: object, fault: str, sound: str, *numbers: AuditNumber, weight: Weight = Weight.MEDIUM, picture: str = ""
) -> AuditEvidence:
    """Evidence of a fault where something is wrong, and else that there is none; the numbers are shown in any case."""
    if wrong:
        return failed(fault, *numbers, weight=weight, picture=picture)
    return passed(sound, *numbers, picture=picture)


def unknown(sentence: str, *numbers: AuditNumber, picture: str = "") -> AuditEvidence:
    """Evidence that does not decide."""
    return AuditEvidence(CheckOutcome.UNKNOWN, sentence, numbers, picture=picture)


def declared(key: str, about: str, *, weight: Weight = Weight.LOW, needed: bool = True) -> Look:
    """A look that passes where a question is answered, and fails where the answer is that it was not done.

    Args:
        key: Of the answer.
        about: What is looked at, in words.
        weight: Of the failure.
        needed: Whether the check cannot pass while the question is open.
    """
    return Look(about, _answered(key, about, weight), needed)


def _answered(key: str, about: str, weight: Weight) -> Callable[[AuditedStudy], Iterator[AuditEvidence]]:
    def look(study: AuditedStudy) -> Iterator[AuditEvidence]:
        answer = study.answer(key)
        if answer is False:
            yield failed(f"By the study's own word there is none: {about}.", weight=weight)
        else:
            yield passed(quoted(answer))

    return look


def quoted(answer: object) -> str:
    """What the study says, as a sentence that ends where the quotation ends."""
    words = "; ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
    return f"The study says: “{words.strip().rstrip('.')}”."
