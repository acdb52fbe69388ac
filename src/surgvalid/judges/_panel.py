"""A panel: up to three judges, every vote kept, the majority decides.

Only opinions count (True or False), and a decision needs a quorum of them: by default more than half of the
judges on the panel, so that one judge does not decide alone while the others cannot be reached. More of one
than of the other decides; equally many are a `tie`; too few are `abstained` when somebody answered without an
opinion, else `not_judged`. Where a judge that failed might have decided it, it is `not_judged` all the same. A
tie and an abstention are outcomes of their own, never a silent "wrong". A judge that breaks down has failed on
what it left open; the run goes on. So has one of whose replies not a single one can be read: that says nothing
about the answers. Every judge is asked about every case: stopping once two agree would save a
third of the questions and lose the agreement between judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass

import polars as pl

from surgvalid.asking.meter import Meter
from surgvalid.errors import JudgeFailed, Misuse, OfficialAborts, RunInterrupted
from surgvalid.judges._case import (
    ABSTAINED,
    DECISION_STATES,
    FAILED,
    JUDGED,
    NOT_JUDGED,
    TIE,
    Done,
    Judge,
    JudgeCase,
    PanelDecision,
    ReportingJudge,
    Verdict,
    Vote,
    cut,
    has_verdict,
)
from surgvalid.judges._prompt import PROMPT_VERSION
from surgvalid.judges._verdict_file import VerdictStore, content_key
from surgvalid.results.tables.scoring import JUDGES
from surgvalid.schema.findings import Finding, Severity

LARGEST = 3
_BATCH = 64
MANY_ABSTENTIONS = 0.05
"""Share of a judge's abstentions above which readers are warned."""


class Panel:
    """Up to three judges and what they said so far.

    Args:
        judges: None to three judges with different names.
        store: Where verdicts are kept and looked up; None asks everything anew.
        quorum: Opinions that a decision needs; by default more than half of the judges that speak.
        stops_early: Whether a case is spared the judges whose votes cannot change the majority, as in the official
            toolkit, where a vote without an opinion speaks against the answer.

    Raises:
        Misuse: More than three judges, two with one name, or a quorum that cannot be reached.
    """

    def __init__(
        self,
        judges: Sequence[Judge],
        *,
        store: VerdictStore | None = None,
        quorum: int | None = None,
        stops_early: bool = False,
    ) -> None:
        names = [judge.name for judge in judges]
        if len(judges) > LARGEST:
            raise Misuse(f"a panel has at most {LARGEST} judges, got {len(judges)}: {', '.join(names)}")
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise Misuse(
                f"judge {twice[0]!r} is on the panel twice; name each judge once (and rename equal file names)"
            )
        speaking = sum(not getattr(judge, "silent", False) for judge in judges)
        if quorum is not None and not 1 <= quorum <= max(1, speaking):
            raise Misuse(f"a quorum of {quorum} cannot be reached by {speaking} judges; name at most that many")
        self.judges = tuple(judges)
        self.store, self.stops_early = store, stops_early
        self.quorum = speaking // 2 + 1 if quorum is None else quorum
        self._counts: Counter[str] = Counter()
        self._tallies = {judge.name: _Tally() for judge in judges}
        self.heard: dict[int, Verdict] = {}
        """What the judge that is asked now has said so far, by the position of the case."""

    def decide(
        self, cases: Sequence[JudgeCase], *, progress: Callable[[int], None] | None = None
    ) -> list[PanelDecision]:
        """One decision per case, in the order of the cases.

        Args:
            cases: What is to be judged.
            progress: Called with the further work done, measured in cases; the calls add up to their number. A `Meter`
                counts verdicts instead, and hears of failures.
        """
        pace = _Pace(len(cases), len(self.judges), progress)
        votes: list[tuple[Vote, ...]] = [()] * len(cases)
        for judge in self.judges:
            waiting = [i for i, cast in enumerate(votes) if not (self.stops_early and self._is_settled(cast))]
            pace.spare(len(votes) - len(waiting))
            for i, verdict in zip(waiting, self._verdicts(judge, [cases[i] for i in waiting], pace), strict=True):
                votes[i] = (*votes[i], Vote(judge.name, verdict))
        unread = {name for name, tally in self._tallies.items() if tally.unreadable}
        decisions = [decision_of(cast, quorum=self.quorum, unread=unread) for cast in votes]
        pace.finish()
        self._counts.update(decision.state for decision in decisions)
        self._counts["failed_votes"] += sum(vote.verdict.state == FAILED for cast in votes for vote in cast)
        return decisions

    def _is_settled(self, votes: Sequence[Vote]) -> bool:
        right = sum(vote.verdict.opinion is True for vote in votes)
        return max(right, len(votes) - right) > len(self.judges) // 2

    def counts(self) -> dict[str, int]:
        """How many decisions ended in each state, and how many questions were asked or spared.

        `asked` counts questions put to judges, `reused` verdicts taken from the store or from an equal
        case of the same run, `failed_votes` questions without an answer, `tokens` what the asking used.
        """
        return {key: self._counts[key] for key in (*DECISION_STATES, "asked", "reused", "failed_votes", "tokens")}

    def table(self) -> pl.DataFrame:
        """One row per judge: how many cases were asked, reused, failed, abstained, at what cost, by which prompt."""
        tallies = {judge: asdict(self._tallies[judge.name]) for judge in self.judges}
        return JUDGES.frame(
            [
                {
                    "judge": judge.name,
                    **{name: count for name, count in tally.items() if name in JUDGES.columns},
                    "prompt": _prompt(judge),
                    "money": None,
                }
                for judge, tally in tallies.items()
            ]
        )

    def warnings(self) -> tuple[Finding, ...]:
        """What the reader of the decisions should know about them."""
        return (*self._failures(), *self._abstentions(), *self._damage())

    def _failures(self) -> Iterator[Finding]:
        for name, tally in self._tallies.items():
            if tally.failed:
                text = f"judge {name} failed on {tally.failed} of {tally.cases} answers (first: {tally.first_failure})"
                yield Finding("judge-failed", Severity.WARNING, text)

    def _abstentions(self) -> Iterator[Finding]:
        for name, tally in self._tallies.items():
            first = f"(first reply: {tally.first_abstention!r})"
            if tally.unreadable:
                text = (
                    f"judge {name}: not one of its {tally.abstained} replies holds a verdict {first}, so it has "
                    "failed; surgvalid score judge check measures it, --judge-option tokens= gives it more room"
                )
                yield Finding("judge-unreadable", Severity.WARNING, text)
            elif tally.abstained > MANY_ABSTENTIONS * tally.cases:
                text = f"judge {name} gave no clear verdict on {tally.abstained} of {tally.cases} answers {first}"
                yield Finding("judge-abstained", Severity.WARNING, f"{text}; surgvalid score judge check measures it")

    def _damage(self) -> tuple[Finding, ...]:
        stored = () if self.store is None else self.store.problems
        problems = [*stored, *(problem for judge in self.judges for problem in getattr(judge, "problems", ()))]
        if not problems:
            return ()
        text = f"{len(problems)} damaged lines of stored verdicts were set aside (first: {problems[0]})"
        return (Finding("damaged-verdicts", Severity.WARNING, text),)

    def close(self) -> None:
        """Give up the store; what was decided stays."""
        if self.store is not None:
            self.store.store.close()

    def _verdicts(self, judge: Judge, cases: Sequence[JudgeCase], pace: _Pace) -> list[Verdict]:
        store = self.store if _stored(judge) else None
        self.heard = verdicts = {}
        open_groups: list[list[int]] = []
        for group in _groups(judge, cases):
            known = store.get(judge.name, cases[group[0]], _prompt(judge)) if store is not None else None
            if known is None:
                open_groups.append(group)
            else:
                verdicts.update(dict.fromkeys(group, known))
                pace.step(len(group), reused=True)

        def done(position: int, verdict: Verdict) -> None:
            group = open_groups[position]
            if store is not None:
                store.put(judge.name, cases[group[0]], verdict, _prompt(judge))
            verdicts.update(dict.fromkeys(group, verdict))
            self._counts["tokens"] += verdict.tokens
            self._tallies[judge.name].tokens += verdict.tokens
            self._tallies[judge.name].seconds += round(verdict.latency_s, 3)
            pace.step(1, failed=verdict.state == FAILED)
            pace.step(len(group) - 1, reused=True)

        why = "it gave no word"
        try:
            _ask(judge, [cases[group[0]] for group in open_groups], done)
        except (RunInterrupted, OfficialAborts):
            raise
        except Exception as error:  # noqa: BLE001  (whatever a judge raises must cost its own verdicts, not the run)
            why = f"{type(error).__name__}: {error}"
        silence = Verdict(None, FAILED, cut(why))
        column = [verdicts.get(position, silence) for position in range(len(cases))]
        self._count(judge.name, column, asked=len(open_groups))
        return column

    def _count(self, judge: str, column: Sequence[Verdict], *, asked: int) -> None:
        self._counts["asked"] += asked
        self._counts["reused"] += len(column) - asked
        tally = self._tallies[judge]
        failures = [verdict for verdict in column if verdict.state == FAILED]
        tally.cases += len(column)
        tally.asked += asked
        tally.reused += len(column) - asked
        tally.failed += len(failures)
        tally.abstained += sum(verdict.state == ABSTAINED for verdict in column)
        tally.first_failure = tally.first_failure or (failures[0].text if failures else "")
        silent = next((verdict.text for verdict in column if verdict.state == ABSTAINED), "")
        tally.first_abstention = tally.first_abstention or silent
        tally.unreadable = is_unreadable(column)


@dataclass(slots=True)
class _Tally:
    """What one judge did so far."""

    cases: int = 0
    asked: int = 0
    reused: int = 0
    failed: int = 0
    abstained: int = 0
    tokens: int = 0
    seconds: float = 0.0
    first_failure: str = ""
    first_abstention: str = ""
    unreadable: bool = False
    """Whether nothing that it said holds a verdict."""


def is_unreadable(verdicts: Sequence[Verdict]) -> bool:
    """Whether a judge spoke, and nothing that it said is a verdict or UNSURE.

    A judge that abstains without a word has chosen to; who speaks and never says one of the three words cannot be read.
    """
    abstained = [verdict for verdict in verdicts if verdict.state == ABSTAINED]
    if not abstained or any(verdict.state == JUDGED for verdict in verdicts):
        return False
    return all(one.was_cut or (one.text and not has_verdict(one.text)) for one in abstained)


def decision_of(votes: tuple[Vote, ...], *, quorum: int = 1, unread: Collection[str] = ()) -> PanelDecision:
    """The decision that follows from the votes.

    Args:
        votes: Of every judge that was asked.
        quorum: Opinions that it needs.
        unread: Judges of whom nothing can be read; they have failed, whatever they said.

    Example:
        >>> votes = (Vote("a", Verdict(True, "judged")), Vote("b", Verdict(None, "abstained")))
        >>> decision_of(votes).correct, decision_of(votes, quorum=2).state
        (True, 'abstained')
    """
    opinions = [vote.verdict.opinion for vote in votes]
    right, wrong = opinions.count(True), opinions.count(False)
    failed = sum(vote.verdict.state == FAILED or vote.judge in unread for vote in votes)
    enough = right + wrong >= quorum
    if enough and right != wrong:
        return PanelDecision(right > wrong, JUDGED, votes)
    if failed and right + wrong + failed >= quorum:
        return PanelDecision(None, NOT_JUDGED, votes)  # a judge that could not be asked might have decided it
    if enough and right:
        return PanelDecision(None, TIE, votes)
    spoke = any(vote.verdict.state == ABSTAINED and vote.judge not in unread for vote in votes)
    return PanelDecision(None, ABSTAINED if spoke else NOT_JUDGED, votes)


def _stored(judge: Judge) -> bool:
    return bool(getattr(judge, "stored", True))


def _prompt(judge: Judge) -> str:
    return str(getattr(judge, "prompt", PROMPT_VERSION))


def _groups(judge: Judge, cases: Sequence[JudgeCase]) -> list[list[int]]:
    """Positions of cases that are one question to this judge; each group is asked once."""
    if not _stored(judge):
        return [[position] for position in range(len(cases))]
    groups: dict[str, list[int]] = {}
    for position, case in enumerate(cases):
        groups.setdefault(content_key(judge.name, case, _prompt(judge)), []).append(position)
    return list(groups.values())


def _ask(judge: Judge, cases: Sequence[JudgeCase], done: Done) -> None:
    if not cases:
        return
    if isinstance(judge, ReportingJudge):
        judge.judge_each(cases, done)
        return
    for start in range(0, len(cases), _BATCH):
        batch = cases[start : start + _BATCH]
        verdicts = judge.judge(batch)
        if len(verdicts) != len(batch):
            raise JudgeFailed(f"judge {judge.name!r} gave {len(verdicts)} verdicts on {len(batch)} cases")
        for offset, verdict in enumerate(verdicts):
            done(start + offset, verdict)


class _Pace:
    """Votes told as cases, so that a bar over the cases moves evenly and ends full; a meter gets every vote."""

    def __init__(self, cases: int, judges: int, progress: Callable[[int], None] | None) -> None:
        self._cases, self._judges = cases, judges
        self._meter = progress if isinstance(progress, Meter) else None
        self._progress = None if self._meter else progress
        self._votes = self._reported = 0
        if self._meter:
            self._meter.expect(cases * judges)

    def step(self, votes: int, *, failed: bool = False, reused: bool = False) -> None:
        self._votes += votes
        self._tell(self._votes // self._judges)
        if self._meter and votes:
            self._meter.count(votes, failed=failed, reused=reused)

    def spare(self, votes: int) -> None:
        """So many are not asked for, since they could change nothing."""
        if self._meter:
            self._meter.expect(-votes)

    def finish(self) -> None:
        self._tell(self._cases)

    def _tell(self, reached: int) -> None:
        if self._progress and reached > self._reported:
            self._progress(reached - self._reported)
            self._reported = reached
