"""What a judge sees and what it says (case, verdict, vote and decision, as plain data), and how one is opened.

A verdict has an opinion (`correct` is True or False) only in the state `judged`. Everything else is
named, not guessed: a judge that answered without a usable verdict `abstained`, one that could not
answer `failed`, one that was never meant to answer leaves the case `not_judged`.

The kinds of judges are the public files of this folder and the entry points of `surgvalid.judges`. The file or module
of a kind has `build(argument) -> Judge` and `USAGE`, how its specification is written. Adding a kind is adding a file;
nothing is registered and no other kind is imported to find it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast, runtime_checkable

from surgvalid.asking.reading import ReplySchema, read_reply
from surgvalid.asking.reading.verdicts import UNSURE
from surgvalid.catalogue import Catalogue, Files, packages_named, with_attributes
from surgvalid.errors import Misuse
from surgvalid.schema.outcomes import Status

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
class PanelDecision:
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


VERDICT = ReplySchema("verdict")
"""What a judge's reply is read for."""


def has_verdict(text: str) -> bool:
    """Whether a reply says CORRECT, INCORRECT or UNSURE clearly."""
    reading = read_reply(text, VERDICT)
    return reading.usable or reading.path == UNSURE


def verdict_from_reply(
    text: str, *, was_cut: bool = False, finish: str = "", latency_s: float = 0.0, tokens: int = 0
) -> Verdict:
    """The verdict in a judge's reply.

    Args:
        text: The reply.
        was_cut: The reply reached the token limit. A verdict may then be the beginning of something
            else, so there is none. The judge has abstained: whose answers make a judge talk without end must not
            gain by it. No store keeps that, so a later run, perhaps with more room, asks again.
        finish: Why the model stopped, in the server's words.
        latency_s: How long the reply took.
        tokens: What it used.
    """
    reading = read_reply(text, VERDICT, finish="length" if was_cut else "stop")
    state = JUDGED if reading.usable else ABSTAINED
    shown = f"{CUT_OFF}{text}" if was_cut else text.strip() or "(an empty reply)"
    return Verdict(reading.value, state, cut(shown), latency_s, tokens, finish)


class JudgeKind(Protocol):
    """What the file of a kind holds."""

    USAGE: str

    def build(self, argument: str, /) -> Judge:
        """The judge of that argument."""
        ...


JUDGES: Catalogue[JudgeKind] = Catalogue(
    "judge", "judges", Files("surgvalid.judges"), take=with_attributes(["USAGE", "build"])
)
"""Every kind of judge by name."""


def open_judges(
    judges: Sequence[str | Judge], *, tokens: int | None = None, timeout_s: float | None = None
) -> list[Judge]:
    """The judges, those that are named opened with this room and time for a reply.

    Raises:
        Misuse: Room or time is given and no judge that is named asks a language model; or as `open_judge`.
    """
    opened = [open_judge(one, tokens=tokens, timeout_s=timeout_s) if isinstance(one, str) else one for one in judges]
    limited = any(isinstance(one, str) and hasattr(judge, "limited") for one, judge in zip(judges, opened, strict=True))
    if not limited and not (tokens is None and timeout_s is None):
        names = ", ".join(judge.name for judge in opened) or "no judge"
        raise Misuse(f"tokens and time for a reply are for judges that ask a language model, got {names}")
    return opened


@packages_named()
def open_judge(spec: str, *, tokens: int | None = None, timeout_s: float | None = None) -> Judge:
    """The judge that a specification names: its kind, and after a colon what the kind needs.

    Args:
        spec: `none`, `exact`, `cached:FILE`, `openai:MODEL@URL`, `local:PATH`, or a kind of an installed package.
        tokens: Room for a reply, for judges that ask a language model; theirs by default.
        timeout_s: For one reply of a server; the judge's own by default.

    Raises:
        UnknownName: No such kind.
        Misuse: The part after the colon is missing, superfluous or unusable.
        PluginBroken: An installed package offers that kind, and it cannot be used.
        ExtraNeeded: The kind needs a package that is not installed.
        InputInvalid: A file that the judge reads cannot be used.
        JudgeFailed: The judge cannot be built from what is there.

    Example:
        >>> open_judge("exact").name
        'exact'
    """
    kind, colon, argument = spec.strip().partition(":")
    chosen = JUDGES[kind]
    wants = ":" in chosen.USAGE
    if wants and not argument.strip():
        raise Misuse(f"judge {spec!r} says too little; write {chosen.USAGE}")
    if colon and not wants:
        raise Misuse(f"judge {kind!r} takes nothing after its name, got {spec!r}; write {chosen.USAGE}")
    judge = chosen.build(argument.strip())
    limited = getattr(judge, "limited", None)
    if limited is None or (tokens is None and timeout_s is None):
        return judge
    for name, value in (("tokens", tokens), ("timeout_s", timeout_s)):
        if value is not None and not 0 < value < math.inf:
            raise Misuse(f"{name} of a judge must be more than 0, got {value}")
    return cast(Judge, limited(tokens=tokens, timeout_s=timeout_s))
