"""The native decision on every question: nothing aborts, nothing is lost, everything has a reason.

Differences from the official toolkit, each on purpose: a suspicious answer is flagged, not a reason to
stop; a question that no judge decided is *not scored*, which is neither right nor wrong; null content
is unanswered; a reference that breaks its own format cannot be scored; a latency that is no time
counts as late where a limit applies.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from surgvalid.judges import JudgeCase, Panel, PanelDecision
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.question_files import UNREADABLE, QuestionSet
from surgvalid.scoring.lint import LintedAnswers


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


class Outcomes:
    """What became of every referenced question, in the order of the references, as columns: there may be millions."""

    def __init__(self, questions: QuestionSet, answers: LintedAnswers) -> None:
        self.questions, self.answers = questions, answers
        self.cases: list[str] = questions.references.columns["case"]
        places = questions.requests.places
        self._asked = None if list(places) == self.cases else list(map(places.__getitem__, self.cases))
        """Where the request of each stands; None where requests stand in the order of the references."""
        self.latencies = answers.latencies_s
        self.reasons = [OutcomeReason.MISSING] * len(self.cases)
        self.expected = [None if value is UNREADABLE else value for value in questions.read.values]
        self.given: list[Any] = [None] * len(self.cases)
        self.flags: dict[int, tuple[str, ...]] = {}
        """Of the answers that have some."""
        self.decisions: dict[int, PanelDecision] = {}

    def __len__(self) -> int:
        return len(self.cases)

    def requested(self, name: str) -> list[Any]:
        """A column of the requests, in the order of the references."""
        column = self.questions.requests.columns[name]
        return column if self._asked is None else [column[place] for place in self._asked]

    def judge_case(self, place: int, definitions: str) -> JudgeCase:
        """What the judges see of a question."""
        request = self.questions.requests[self.cases[place]]
        return JudgeCase(
            case=request.case,
            procedure=request.procedure,
            start_s=request.start_s,
            end_s=request.end_s,
            question=request.question,
            reference=self.questions.references.columns["answer"][place],
            candidate=self.answers.contents[place] or "",
            definitions=definitions,
        )


def decide_all(
    questions: QuestionSet,
    answers: LintedAnswers,
    *,
    limit_s: float | None,
    panel: Panel,
    definitions: str = "",
    progress: Callable[[int], None] | None = None,
) -> Outcomes:
    """The outcome of every referenced question, in the order of the references.

    Args:
        questions: With their references.
        answers: The responses, as lint kept them.
        limit_s: On the latency.
        panel: The judges of free text.
        definitions: What judges are told of the foreign objects.
        progress: As for `Panel.decide`.
    """
    outcomes = Outcomes(questions, answers)
    for place, has_come in enumerate(answers.has_come.tolist()):
        if has_come or outcomes.expected[place] is None:
            outcomes.reasons[place] = _decide(outcomes, place, limit_s)
    if not panel.judges:
        return outcomes
    judged = [place for place, reason in enumerate(outcomes.reasons) if reason is OutcomeReason.NOT_JUDGED]
    cases = [outcomes.judge_case(place, definitions) for place in judged]
    for place, decision in zip(judged, panel.decide(cases, progress=progress), strict=True):
        outcomes.decisions[place] = decision
        outcomes.reasons[place] = _judged(decision)
    return outcomes


def _decide(outcomes: Outcomes, place: int, limit_s: float | None) -> OutcomeReason:
    """Why the question gets its score; what was read goes into the columns."""
    answers, expected = outcomes.answers, outcomes.expected[place]
    answer_format = outcomes.questions.read.formats[place]
    if expected is None or answer_format is None:
        return OutcomeReason.NO_REFERENCE
    if answers.statuses and (status := answers.statuses.get(place)) in _BY_STATUS:
        return _BY_STATUS[status]
    content, given = answers.contents[place], answers.given[place]
    if content is None:
        return OutcomeReason.UNANSWERED
    if (names := answers.flags.get(place)) is not None:
        outcomes.flags[place] = names
    if limit_s is not None and not answers.latencies_s[place] <= limit_s:
        return OutcomeReason.LATE
    if given is UNREADABLE:
        return OutcomeReason.UNREADABLE
    outcomes.given[place] = given
    if not answer_format.judged:
        return OutcomeReason.RIGHT if answer_format.compare(expected, given) else OutcomeReason.WRONG
    return OutcomeReason.WRONG if _is_blank(content) else OutcomeReason.NOT_JUDGED


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
