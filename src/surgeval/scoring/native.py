"""The native decision on every question: nothing aborts, nothing is lost, everything has a reason.

Differences from the official toolkit, each on purpose: a suspicious answer is flagged, not a reason to
stop; a question that no judge decided is *not scored*, which is neither right nor wrong; null content
is unanswered; a reference that breaks its own format cannot be scored; a latency that is no time
counts as late where a limit applies.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from surgeval.judges import Decision, JudgeCase, Panel
from surgeval.schema.formats import Unreadable
from surgeval.schema.outcomes import Status
from surgeval.schema.question_files import QuestionSet
from surgeval.schema.questions import Reference, Request, Response
from surgeval.scoring.injection import signals


class Reason(StrEnum):
    """Why a question got the score it got."""

    RIGHT = "right"
    WRONG = "wrong"
    UNREADABLE = "unreadable"
    """The response breaks its format: wrong."""
    MISSING = "missing"
    """No response: wrong."""
    UNANSWERED = "unanswered"
    """A response without text: wrong."""
    LATE = "late"
    """Over the time limit, or without a usable time: wrong."""
    REFUSED = "refused"
    """The model declined to answer: wrong."""
    FAILED = "failed"
    """The model broke down: wrong."""
    NOT_ASKED = "not_asked"
    """The question was never put to the model: wrong."""
    INFRASTRUCTURE = "infrastructure"
    """Our side failed: wrong all the same, since an answer file could otherwise excuse itself."""
    NOT_JUDGED = "not_judged"
    """Free text that no judge was asked about: not scored."""
    JUDGE_TIE = "judge_tie"
    """The judges split: not scored."""
    JUDGE_ABSTAINED = "judge_abstained"
    """The judges gave no verdict, or could not be reached: not scored."""
    NO_REFERENCE = "reference_unreadable"
    """The reference breaks its own format: not scored."""

    @property
    def status(self) -> Status:
        """The same in the words of score tables."""
        return _STATUS[self]


_STATUS = {
    Reason.RIGHT: Status.ANSWERED,
    Reason.WRONG: Status.ANSWERED,
    Reason.UNREADABLE: Status.UNREADABLE,
    Reason.MISSING: Status.MISSING,
    Reason.UNANSWERED: Status.MISSING,
    Reason.LATE: Status.TIMED_OUT,
    Reason.REFUSED: Status.REFUSED,
    Reason.FAILED: Status.FAILED,
    Reason.NOT_ASKED: Status.NOT_ASKED,
    Reason.INFRASTRUCTURE: Status.INFRASTRUCTURE,
    Reason.NOT_JUDGED: Status.NOT_JUDGED,
    Reason.JUDGE_TIE: Status.JUDGE_ABSTAINED,
    Reason.JUDGE_ABSTAINED: Status.JUDGE_ABSTAINED,
    Reason.NO_REFERENCE: Status.INFRASTRUCTURE,
}
_BY_STATUS = {
    Status.REFUSED: Reason.REFUSED,
    Status.UNREADABLE: Reason.UNREADABLE,
    Status.FAILED: Reason.FAILED,
    Status.TIMED_OUT: Reason.LATE,
    Status.MISSING: Reason.UNANSWERED,
    Status.NOT_ASKED: Reason.NOT_ASKED,
    Status.INFRASTRUCTURE: Reason.INFRASTRUCTURE,
}
_BY_DECISION = {"tie": Reason.JUDGE_TIE, "abstained": Reason.JUDGE_ABSTAINED, "not_judged": Reason.NOT_JUDGED}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one question."""

    request: Request
    reference: Reference
    response: Response | None
    reason: Reason
    flags: tuple[str, ...] = ()
    expected: Any = None
    """The reference's value, None when it cannot be read."""
    given: Any = None
    """The response's value, None when missing, late or unreadable."""
    decision: Decision | None = None
    """The judges' votes, for free text."""

    @property
    def correct(self) -> bool | None:
        """Right, wrong, or None for not scored."""
        if self.reason is Reason.RIGHT:
            return True
        unscored = (Reason.NOT_JUDGED, Reason.JUDGE_TIE, Reason.JUDGE_ABSTAINED, Reason.NO_REFERENCE)
        return None if self.reason in unscored else False

    @property
    def status(self) -> Status:
        """The status of the score table."""
        return self.reason.status

    @property
    def latency_s(self) -> float:
        """The reported latency; 0 for a missing response, as in the official files."""
        return 0.0 if self.response is None else self.response.latency_s


def decide_all(
    questions: QuestionSet,
    responses: Mapping[str, Response | None],
    *,
    limit_s: float | None,
    panel: Panel,
    definitions: str = "",
    progress: Callable[[int], None] | None = None,
) -> list[Outcome]:
    """The outcome of every referenced question, in the order of the references."""
    outcomes: list[Outcome] = []
    waiting: list[int] = []
    for case, reference in questions.references.items():
        outcome = _decide(questions, questions.requests[case], reference, responses.get(case), limit_s)
        if outcome.decision is _PENDING:
            waiting.append(len(outcomes))
        outcomes.append(outcome)
    cases = [judge_case(outcomes[index], definitions) for index in waiting]
    for index, decision in zip(waiting, panel.decide(cases, progress=progress), strict=True):
        outcomes[index] = replace(outcomes[index], decision=decision, reason=_judged(decision))
    return outcomes


_PENDING = Decision(None, "not_judged", ())


def _decide(
    questions: QuestionSet, request: Request, reference: Reference, response: Response | None, limit_s: float | None
) -> Outcome:
    answer_format = questions.format_of(reference)
    try:
        expected = answer_format.parse(reference.answer)
    except Unreadable:
        return Outcome(request, reference, response, Reason.NO_REFERENCE)
    if response is None:
        return Outcome(request, reference, None, Reason.MISSING, expected=expected)
    if response.status in _BY_STATUS:
        return Outcome(request, reference, response, _BY_STATUS[response.status], expected=expected)
    if response.content is None:
        return Outcome(request, reference, response, Reason.UNANSWERED, expected=expected)
    flags = tuple(signal.name for signal in signals(response.content))
    if limit_s is not None and not response.latency_s <= limit_s:
        return Outcome(request, reference, response, Reason.LATE, flags, expected)
    try:
        given = answer_format.parse(response.content)
    except Unreadable:
        return Outcome(request, reference, response, Reason.UNREADABLE, flags, expected)
    if answer_format.judged and _is_blank(response.content):
        return Outcome(request, reference, response, Reason.WRONG, flags, expected, given)
    if answer_format.judged:
        return Outcome(request, reference, response, Reason.NOT_JUDGED, flags, expected, given, _PENDING)
    reason = Reason.RIGHT if answer_format.compare(expected, given) else Reason.WRONG
    return Outcome(request, reference, response, reason, flags, expected, given)


def _is_blank(text: str) -> bool:
    """Whether there is nothing but white space, punctuation and invisible characters: wrong without asking."""
    kinds = {unicodedata.category(letter) for letter in text}
    return all(kind in ("Cc", "Cf") or kind[0] in "ZP" for kind in kinds)


def _judged(decision: Decision) -> Reason:
    if decision.correct is None:
        return _BY_DECISION.get(decision.state, Reason.JUDGE_ABSTAINED)
    return Reason.RIGHT if decision.correct else Reason.WRONG


def judge_case(outcome: Outcome, definitions: str) -> JudgeCase:
    """What the judges see of an outcome."""
    request, content = outcome.request, "" if outcome.response is None else outcome.response.content
    return JudgeCase(
        case=request.case,
        procedure=request.procedure,
        start_s=request.start_s,
        end_s=request.end_s,
        question=request.question,
        reference=outcome.reference.answer,
        candidate=content or "",
        definitions=definitions,
    )
