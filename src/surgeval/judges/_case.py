"""What a judge sees and what it says: case, verdict, vote and decision, as plain data.

A verdict has an opinion (`correct` is True or False) only in the state `judged`. Everything else is
named, not guessed: a judge that answered without a usable verdict `abstained`, one that could not
answer `failed`, one that was never meant to answer leaves the case `not_judged`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from surgeval.schema.outcomes import Status

JUDGED = "judged"
ABSTAINED = "abstained"
FAILED = "failed"
NOT_JUDGED = "not_judged"
TIE = "tie"

VERDICT_STATES = (JUDGED, ABSTAINED, FAILED, NOT_JUDGED)
DECISION_STATES = (JUDGED, TIE, ABSTAINED, NOT_JUDGED)

_STATUS = {
    JUDGED: Status.ANSWERED,
    ABSTAINED: Status.JUDGE_ABSTAINED,
    TIE: Status.JUDGE_ABSTAINED,
    FAILED: Status.NOT_JUDGED,
    NOT_JUDGED: Status.NOT_JUDGED,
}

CUT_OFF = "cut off at the token limit: "
"""The beginning of the text of a verdict whose reply never ended."""
_TEXT_HEAD, _TEXT_TAIL = 200, 300


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """Everything a judge may see of one question and the answer to it."""

    case: str
    procedure: str
    start_s: float
    end_s: float
    question: str
    reference: str
    candidate: str
    definitions: str = ""
    """The foreign-object definitions that apply, as text."""


class Verdict(NamedTuple):
    """What one judge said about one case."""

    correct: bool | None
    """None: no opinion; `state` says why."""
    state: str
    """`judged`, `abstained`, `failed` or `not_judged`."""
    text: str = ""
    """What the judge said, cut to a bounded length."""
    latency_s: float = 0.0
    tokens: int = 0
    finish: str = ""
    """Why the model stopped, in the server's words."""

    @property
    def opinion(self) -> bool | None:
        """True or False where the judge judged, else None."""
        return self.correct if self.state == JUDGED else None

    @property
    def was_cut(self) -> bool:
        """Whether there is none because the reply reached the token limit."""
        return self.state == ABSTAINED and self.text.startswith(CUT_OFF)


class Vote(NamedTuple):
    """The verdict of a named judge."""

    judge: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Decision:
    """What a panel decided about one case, with every vote behind it."""

    correct: bool | None
    state: str
    """`judged`, `tie`, `abstained` or `not_judged`."""
    votes: tuple[Vote, ...]


class Judge(Protocol):
    """Anything with a name that gives verdicts, in the order of the cases.

    Judges whose verdicts cost nothing, or depend on more than the content of a case, say so with a
    class attribute `stored = False`; a panel then keeps them out of its verdict store. One that never has
    an opinion says `silent = True`, and is not counted for the quorum. One with a prompt of its own names its
    version in `prompt`; one that asks a language model gives itself in the toolkit's protocol as `as_official()`, and
    with other room and time for a reply as `limited(tokens=..., timeout_s=...)`.
    """

    name: str

    def judge(self, cases: Sequence[JudgeCase]) -> list[Verdict]:
        """One verdict per case, in the order of the cases."""
        ...


def status_of(state: str) -> Status:
    """The state of a verdict or a decision in the words of score tables."""
    return _STATUS[state]


Done = Callable[[int, Verdict], None]
"""Called with the position of a case and its verdict."""


@runtime_checkable
class ReportingJudge(Judge, Protocol):
    """A judge that hands over each verdict as soon as it exists, so an interruption loses none."""

    def judge_each(self, cases: Sequence[JudgeCase], done: Done) -> None:
        """Call `done` once for every case, in any order."""
        ...


def collected(judge: ReportingJudge, cases: Sequence[JudgeCase]) -> list[Verdict]:
    """All verdicts of a reporting judge, in the order of the cases."""
    verdicts: dict[int, Verdict] = {}
    judge.judge_each(cases, verdicts.__setitem__)
    return [verdicts[position] for position in range(len(cases))]


def cut(text: str) -> str:
    """The text at a bounded length: its beginning and its end, where verdicts stand.

    Example:
        >>> cut("same structure")
        'same structure'
        >>> len(cut("x" * 10_000))
        505
    """
    if len(text) <= _TEXT_HEAD + _TEXT_TAIL:
        return text
    return f"{text[:_TEXT_HEAD]} ... {text[-_TEXT_TAIL:]}"
