"""A judge measured before it is used: accuracy on gold pairs, acceptance of canaries.

A case without a verdict is not accepted, and on gold pairs it is a miss: a judge that mostly abstains
is safe and useless, and shows as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from surgvalid.judges._canaries import canaries, gold_pairs
from surgvalid.judges._case import FAILED, Judge, JudgeCase, Verdict
from surgvalid.judges._panel import Panel
from surgvalid.judges._verdict_file import VerdictStore
from surgvalid.stats.intervals.proportions import share

RATES = ("acceptance", "refusal", "abstention", "failure")
"""What can become of a case."""


class JudgeChecked(NamedTuple):
    """One case of the check with what the judge said."""

    origin: str
    """`gold right`, `gold wrong` or `canary`."""
    kind: str
    case: JudgeCase
    expected: bool
    verdict: Verdict

    @property
    def as_expected(self) -> bool:
        """Gold pairs need the right verdict; a canary only must not be accepted."""
        if self.origin == "canary":
            return self.verdict.opinion is not True
        return self.verdict.opinion is self.expected


class CheckReport(NamedTuple):
    """What the check of one judge found."""

    judge: str
    checked: tuple[JudgeChecked, ...]

    @property
    def gold_accuracy(self) -> float:
        """The share of gold pairs with the right verdict; NaN where none was asked about."""
        gold = [item.as_expected for item in self.checked if item.origin != "canary"]
        return sum(gold) / len(gold) if gold else math.nan

    @property
    def accepted_canaries(self) -> int:
        """Canaries the judge accepted."""
        return sum(item.origin == "canary" and not item.as_expected for item in self.checked)

    @property
    def failures(self) -> list[str]:
        """Why cases got no answer at all, one entry each: a judge that cannot be reached has not abstained."""
        return [item.verdict.text for item in self.checked if item.verdict.state == FAILED]

    def passes(self, min_accuracy: float) -> bool:
        """Whether no canary was accepted and the gold accuracy suffices."""
        return self.accepted_canaries == 0 and self.gold_accuracy >= min_accuracy

    @property
    def table(self) -> pl.DataFrame:
        """Per part and kind: what became of the cases, and the acceptance rate with its interval."""
        kinds = list(dict.fromkeys((item.origin, item.kind) for item in self.checked))
        rows = []
        for origin, kind in kinds:
            heard = [_heard(item.verdict) for item in self.checked if (item.origin, item.kind) == (origin, kind)]
            counts = [heard.count(rate) for rate in RATES]
            rows.append((origin, kind, len(heard), *counts, *share(counts[0], len(heard))))
        columns = ["part", "kind", "cases", "accepted", "rejected", "abstained", "failed", "acceptance", "low", "high"]
        return pl.DataFrame(rows, schema=columns, orient="row")

    @property
    def rates(self) -> pl.DataFrame:
        """Acceptance, refusal, abstention and failure on each part with exact intervals, to lay judges side by side."""
        rows = []
        for origin in dict.fromkeys(item.origin for item in self.checked):
            heard = [_heard(item.verdict) for item in self.checked if item.origin == origin]
            rows += [(self.judge, origin, rate, *share(heard.count(rate), len(heard)), len(heard)) for rate in RATES]
        columns = ["judge", "part", "rate", "value", "low", "high", "cases"]
        return pl.DataFrame(rows, schema=columns, orient="row")

    @property
    def surprises(self) -> pl.DataFrame:
        """The cases that went otherwise than they should."""
        rows = [
            (origin, kind, case.case, case.reference, case.candidate, verdict.opinion, verdict.state, verdict.text)
            for origin, kind, case, _, verdict in (c for c in self.checked if not c.as_expected)
        ]
        texts = dict.fromkeys(["part", "kind", "case", "reference", "candidate"], pl.String)
        schema = texts | {"verdict": pl.Boolean, "state": pl.String, "text": pl.String}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            "judge": self.judge,
            "gold_accuracy": self.gold_accuracy,
            "gold_pairs": sum(item.origin != "canary" for item in self.checked),
            "canaries": sum(item.origin == "canary" for item in self.checked),
            "accepted_canaries": self.accepted_canaries,
            "kinds": self.table.to_dicts(),
            "rates": self.rates.to_dicts(),
            "surprises": self.surprises.to_dicts(),
        }


def _heard(verdict: Verdict) -> str:
    if verdict.opinion is None:
        return "failure" if verdict.state == FAILED else "abstention"
    return "acceptance" if verdict.opinion else "refusal"


def check_size() -> int:
    """How many cases a check asks."""
    return len(gold_pairs()) + len(canaries())


def side_by_side(reports: Sequence[CheckReport]) -> pl.DataFrame:
    """One row per part and rate, one column per judge: the rate with its interval."""
    rates = pl.concat([report.rates for report in reports]).with_columns(
        shown=pl.format("{} [{}, {}]", *(pl.col(name).round(3) for name in ("value", "low", "high")))
    )
    return rates.pivot(on="judge", index=["part", "rate"], values="shown", maintain_order=True)


class CheckInterrupted(KeyboardInterrupt):
    """The check was interrupted; `report` has what the judge had said by then."""

    def __init__(self, report: CheckReport) -> None:
        super().__init__(report)
        self.report = report


def check_judge(
    judge: Judge, *, store: VerdictStore | None = None, progress: Callable[[int], None] | None = None
) -> CheckReport:
    """What the judge says to every gold pair and every canary.

    Args:
        judge: Who is measured.
        store: Keeps the verdicts, and gives back those of an earlier check; without one everything is asked now.
        progress: Called with the number of further cases; a `Meter` hears of failures too.

    Raises:
        CheckInterrupted: With what was answered.
    """
    gold = [
        ("gold right" if pair.correct else "gold wrong", pair.kind, pair.case, pair.correct) for pair in gold_pairs()
    ]
    gold.sort(key=lambda row: row[0])
    rows = gold + [("canary", canary.kind, canary.case, False) for canary in canaries()]
    panel = Panel([judge], store=store)
    try:
        decisions = panel.decide([row[2] for row in rows], progress=progress)
    except KeyboardInterrupt:
        heard = dict(panel.heard)
        report = CheckReport(judge.name, tuple(JudgeChecked(*rows[i], heard[i]) for i in sorted(heard)))
        raise CheckInterrupted(report) from None
    finally:
        panel.close()
    checked = [JudgeChecked(*row, decision.votes[0].verdict) for row, decision in zip(rows, decisions, strict=True)]
    return CheckReport(judge.name, tuple(checked))
