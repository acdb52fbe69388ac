"""The native decision on every question: nothing aborts, nothing is lost, everything has a reason.

Differences from the official toolkit, each on purpose: a suspicious answer is flagged, not a reason to
stop; a question that no judge decided is *not scored*, which is neither right nor wrong; null content
is unanswered; a reference that breaks its own format cannot be scored; a latency that is no time
counts as late where a limit applies.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from surgvalid.judges import JudgeCase, Panel, PanelDecision
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.formats import Unreadable
from surgvalid.schema.questions.question_files import QuestionSet
from surgvalid.schema.questions.questions import Response
from surgvalid.scoring.injection import signals


class OutcomeReason(StrEnum):
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

    @property
    def correct(self) -> bool | None:
        """Right, wrong, or None for not scored."""
        return True if self is OutcomeReason.RIGHT else None if self in _UNSCORED else False


_STATUS = {
    OutcomeReason.RIGHT: Status.ANSWERED,
    OutcomeReason.WRONG: Status.ANSWERED,
    OutcomeReason.UNREADABLE: Status.UNREADABLE,
    OutcomeReason.MISSING: Status.MISSING,
    OutcomeReason.UNANSWERED: Status.MISSING,
    OutcomeReason.LATE: Status.TIMED_OUT,
    OutcomeReason.REFUSED: Status.REFUSED,
    OutcomeReason.FAILED: Status.FAILED,
    OutcomeReason.NOT_ASKED: Status.NOT_ASKED,
    OutcomeReason.INFRASTRUCTURE: Status.INFRASTRUCTURE,
    OutcomeReason.NOT_JUDGED: Status.NOT_JUDGED,
    OutcomeReason.JUDGE_TIE: Status.JUDGE_ABSTAINED,
    OutcomeReason.JUDGE_ABSTAINED: Status.JUDGE_ABSTAINED,
    OutcomeReason.NO_REFERENCE: Status.INFRASTRUCTURE,
}
_UNSCORED = frozenset(
    {
        OutcomeReason.INFRASTRUCTURE,
        OutcomeReason.NOT_JUDGED,
        OutcomeReason.JUDGE_TIE,
        OutcomeReason.JUDGE_ABSTAINED,
        OutcomeReason.NO_REFERENCE,
    }
)
_BY_STATUS = {
    Status.REFUSED: OutcomeReason.REFUSED,
    Status.UNREADABLE: OutcomeReason.UNREADABLE,
    Status.FAILED: OutcomeReason.FAILED,
    Status.TIMED_OUT: OutcomeReason.LATE,
    Status.MISSING: OutcomeReason.UNANSWERED,
    Status.NOT_ASKED: OutcomeReason.NOT_ASKED,
    Status.INFRASTRUCTURE: OutcomeReason.INFRASTRUCTURE,
}
_BY_DECISION = {
    "tie": OutcomeReason.JUDGE_TIE,
    "abstained": OutcomeReason.JUDGE_ABSTAINED,
    "not_judged": OutcomeReason.NOT_JUDGED,
}


class ScoredOutcome(NamedTuple):
    """What became of one question."""

    reason: OutcomeReason
    latency_s: float = 0.0
    """As reported; 0 for a missing response, as in the official files."""
    flags: tuple[str, ...] = ()
    expected: Any = None
    """The reference's value, None when it cannot be read."""
    given: Any = None
    """The response's value, None when missing, late or unreadable."""
    decision: PanelDecision | None = None
    """The judges' votes, for free text."""

    @property
    def correct(self) -> bool | None:
        """Right, wrong, or None for not scored."""
        return self.reason.correct

    @property
    def status(self) -> Status:
        """The status of the score table."""
        return self.reason.status


class Outcomes(Sequence[ScoredOutcome]):
    """What became of every referenced question, in the order of the references, as columns: there may be millions."""

    def __init__(self, questions: QuestionSet) -> None:
        self.references = list(questions.references.values())
        self.requests = [questions.requests[reference.case] for reference in self.references]
        count = len(self.references)
        self.reasons = [OutcomeReason.MISSING] * count
        self.latencies = np.zeros(count)
        self.expected: list[Any] = [None] * count
        self.given: list[Any] = [None] * count
        self.flags: dict[int, tuple[str, ...]] = {}
        """Of the answers that have some."""
        self.candidates: dict[int, str] = {}
        """Texts for the judges."""
        self.decisions: dict[int, PanelDecision] = {}

    def __len__(self) -> int:
        return len(self.references)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        place = range(len(self))[place]
        columns = (self.reasons, self.latencies, self.expected, self.given)
        reason, latency_s, expected, given = (column[place] for column in columns)
        return ScoredOutcome(
            reason, float(latency_s), self.flags.get(place, ()), expected, given, self.decisions.get(place)
        )

    def judge_case(self, place: int, definitions: str) -> JudgeCase:
        """What the judges see of a question."""
        request = self.requests[place]
        return JudgeCase(
            case=request.case,
            procedure=request.procedure,
            start_s=request.start_s,
            end_s=request.end_s,
            question=request.question,
            reference=self.references[place].answer,
            candidate=self.candidates[place],
            definitions=definitions,
        )


def decide_all(
    questions: QuestionSet,
    responses: MutableMapping[str, Response | None],
    *,
    limit_s: float | None,
    panel: Panel,
    flags: Mapping[str, tuple[str, ...]] | None = None,
    definitions: str = "",
    progress: Callable[[int], None] | None = None,
) -> Outcomes:
    """The outcome of every referenced question, in the order of the references.

    Args:
        questions: With their references.
        responses: By question. They are taken out one by one, so that a million of them do not stand beside outcomes.
        limit_s: On the latency.
        panel: The judges of free text.
        flags: Names of the signs of an injection in each answer that has some; looked for here if left out.
        definitions: What judges are told of the foreign objects.
        progress: As for `Panel.decide`.
    """
    outcomes = Outcomes(questions)
    for place, reference in enumerate(outcomes.references):
        response = responses.pop(reference.case, None)
        if response is not None:
            outcomes.latencies[place] = response.latency_s
        outcomes.reasons[place] = _decide(questions, outcomes, place, response, limit_s, flags)
    responses.clear()
    if not panel.judges:
        return outcomes
    cases = [outcomes.judge_case(place, definitions) for place in outcomes.candidates]
    for place, decision in zip(outcomes.candidates, panel.decide(cases, progress=progress), strict=True):
        outcomes.decisions[place] = decision
        outcomes.reasons[place] = _judged(decision)
    return outcomes


def _decide(
    questions: QuestionSet,
    outcomes: Outcomes,
    place: int,
    response: Response | None,
    limit_s: float | None,
    flags: Mapping[str, tuple[str, ...]] | None,
) -> OutcomeReason:
    """Why the question gets its score; what was read goes into the columns."""
    reference = outcomes.references[place]
    answer_format = questions.format_of(reference)
    try:
        expected = outcomes.expected[place] = questions.parsed(answer_format, reference.answer)
    except Unreadable:
        return OutcomeReason.NO_REFERENCE
    if response is None:
        return OutcomeReason.MISSING
    if response.status in _BY_STATUS:
        return _BY_STATUS[response.status]
    content = response.content
    if content is None:
        return OutcomeReason.UNANSWERED
    names = tuple(signal.name for signal in signals(content)) if flags is None else flags.get(reference.case)
    if names:
        outcomes.flags[place] = names
    if limit_s is not None and not response.latency_s <= limit_s:
        return OutcomeReason.LATE
    try:
        given = outcomes.given[place] = questions.parsed(answer_format, content)
    except Unreadable:
        return OutcomeReason.UNREADABLE
    if not answer_format.judged:
        return OutcomeReason.RIGHT if answer_format.compare(expected, given) else OutcomeReason.WRONG
    if _is_blank(content):
        return OutcomeReason.WRONG
    outcomes.candidates[place] = content
    return OutcomeReason.NOT_JUDGED


def _is_blank(text: str) -> bool:
    """Whether there is nothing but white space, punctuation and invisible characters: wrong without asking."""
    if any(map(str.isalnum, text)):
        return False
    kinds = {unicodedata.category(letter) for letter in text}
    return all(kind in ("Cc", "Cf") or kind[0] in "ZP" for kind in kinds)


def _judged(decision: PanelDecision) -> OutcomeReason:
    if decision.correct is None:
        return _BY_DECISION.get(decision.state, OutcomeReason.JUDGE_ABSTAINED)
    return OutcomeReason.RIGHT if decision.correct else OutcomeReason.WRONG
