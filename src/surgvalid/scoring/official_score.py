"""Scoring profiles, and scoring under an official one: the toolkit's files, and our score table beside them.

Scoring profiles: which rules decide whether an answer is right.

`native` is ours, with every deviation from the official toolkit declared on one page of the
documentation. The official profiles reproduce a version of the toolkit, its defects included.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import polars as pl

from surgvalid.errors import Misuse, UnknownName
from surgvalid.judges import JudgeCase, Panel, verdict_row
from surgvalid.results.tables import OLDER_COLUMNS
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.formats import Rules
from surgvalid.schema.questions.questions import TRACK_LIMITS_S
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.scoring.lint_report import LintReport
from surgvalid.scoring.official import (
    OfficialResults,
    decide,
    load_answers,
    load_rows,
    results_csv,
    summarise,
    summary_csv,
)
from surgvalid.scoring.result import ScoreResult


@dataclass(frozen=True, slots=True)
class Profile:
    """One way of scoring."""

    name: str
    official: bool
    rules: Rules
    summary: str


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("native", False, Rules(), "our rules: flags instead of aborts, strict verdicts, cluster intervals"),
        Profile("orena-focus-0.4.0", True, Rules(), "the official toolkit 0.4.0, byte for byte"),
        Profile(
            "orena-focus-6302fca",
            True,
            Rules(trailing_period=False, percentage_tolerance=False, several_times=False),
            "an older toolkit: no trailing period, equal percentages, one timestamp; files as in 0.4.0",
        ),
    )
}


def profile_named(name: str) -> Profile:
    """The profile called `name`."""
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    return PROFILES[name]


def latency_limit_s(track: str | None, max_latency_s: float | None) -> float | None:
    """The limit in force, from a track's name or a number of seconds.

    Raises:
        Misuse: Both are given, or the number is no time.
        UnknownName: No such track.

    Example:
        >>> latency_limit_s("segment", None)
        15.0
    """
    if track is None:
        if max_latency_s is not None and not max_latency_s >= 0:
            raise Misuse(f"the latency limit must be a number of seconds, got {max_latency_s!r}")
        return max_latency_s
    if max_latency_s is not None:
        raise Misuse("give either a track or a latency limit, not both")
    if track not in TRACK_LIMITS_S:
        raise UnknownName("track", track, TRACK_LIMITS_S)
    return TRACK_LIMITS_S[track]


def score_official(
    requests: Any,
    references: Any,
    responses: Any,
    *,
    model: str,
    profile: Profile,
    limit_s: float | None,
    panel: Panel,
    replicates: int,
    seed: int,
    report: LintReport,
    progress: Callable[[int], None] | None = None,
) -> ScoreResult:
    """The toolkit's `results.csv` and `summary.csv`, byte for byte, and the same as a score table."""
    votes = _Votes(panel, progress)
    answers, stated = load_answers(responses)
    decided = decide(
        load_rows(requests, "request"),
        load_rows(references, "reference"),
        answers,
        rules=profile.rules,
        limit_s=limit_s,
        judge_all=votes.judge_all if panel.judges else None,
    )
    lines = summarise(decided, limit_s=limit_s, replicates=replicates, seed=seed)
    texts = {"results": results_csv(decided), "summary": summary_csv(lines)}
    return ScoreResult(
        model=model,
        profile=profile.name,
        tables={
            name: pl.read_csv(text.encode(), infer_schema_length=None).rename(OLDER_COLUMNS, strict=False)
            for name, text in texts.items()
        },
        main="summary",
        scores=_table(decided, model, {row["qID"] for row in answers}, stated),
        lint=report,
        records=report.records,
        findings=votes.warnings(),
        verdicts=tuple(votes.verdicts),
        exact=texts,
    )


class _Votes:
    """Asks the panel the toolkit's way: more than half of all judges say right, anything else is wrong."""

    def __init__(self, panel: Panel, progress: Callable[[int], None] | None) -> None:
        self.panel, self.progress = panel, progress
        self.undecided = 0
        self.verdicts: list[dict[str, Any]] = []

    def judge_all(self, cases: Sequence[JudgeCase]) -> list[bool]:
        right = []
        for case, decision in zip(cases, self.panel.decide(cases, progress=self.progress), strict=True):
            opinions = [vote.verdict.opinion for vote in decision.votes]
            right.append(opinions.count(True) > len(self.panel.judges) // 2)
            self.undecided += None in opinions
            self.verdicts += [verdict_row(vote.judge, case, vote.verdict) for vote in decision.votes]
        return right

    def warnings(self) -> tuple[Finding, ...]:
        if not self.undecided:
            return ()
        text = f"{self.undecided} free-text answers had no verdict from some judge; the toolkit counts that as wrong"
        return (Finding("no-verdict-is-wrong", Severity.WARNING, text),)


def _statuses(results: OfficialResults, answered: Set[Any], stated: Mapping[Any, Status]) -> list[str]:
    late = zip(results.qID, results.timed_out, strict=True)
    came = ((qid, Status.TIMED_OUT if is_late else stated.get(qid)) for qid, is_late in late)
    return [str(status or (Status.ANSWERED if qid in answered else Status.MISSING)) for qid, status in came]


def _table(results: OfficialResults, model: str, answered: Set[Any], stated: Mapping[Any, Status]) -> ScoreTable:
    count = len(results.qID)
    columns = {
        "model": [model] * count,
        "case": _names(results.qID),
        "video": _names(["none" if video is None else video for video in results.video]),
        "value": list(map(float, results.correctness)),
        "status": _statuses(results, answered, stated),
        "capability": results.primary,
        "group": results.groups,
        "ood": [ood is True or ood == 1 for ood in results.ood],
        "clinical": [clinical is True or clinical == 1 for clinical in results.clinical],
        "format": list(map(str, results.answer_format)),
    }
    return ScoreTable.of({**columns, "metric": ["correct"] * count}, where="scores")


def _names(values: Sequence[Any]) -> list[str]:
    """A name for each value, another one for another value: 1 and "1" are two questions to the toolkit.

    Example:
        >>> _names(["a", 1, "1", "", 1])
        ['a', '1', '1 (2)', '(empty)', '1']
    """
    names: dict[Any, str] = {}
    taken: set[str] = set()
    for value in dict.fromkeys(values):
        plain = name = str(value).strip() or "(empty)"
        copy = 1
        while name in taken:
            copy += 1
            name = f"{plain} ({copy})"
        taken.add(name)
        names[value] = name
    return [names[value] for value in values]
