"""A judge held against people: sensitivity, specificity, and what its errors did to a share of accepted answers.

The gold set is a verdict file of people: JSON Lines with `qID`, `reference`, `candidate` and `verdict` (true or false;
null where they could not decide). A judge's opinion is found by the first three. What follows for a score holds if
the gold answers are a random sample of the judged ones; picked ones calibrate the judge for picked answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from surgvalid.errors import Misuse
from surgvalid.judges._verdict_file import FileVerdict, read_verdicts
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult
from surgvalid.schema.findings import Finding, Severity
from surgvalid.stats.intervals.proportions import Hits, Share, corrected_share, share

FEW = 20
"""Gold answers of a kind below which a rate says little."""


class Calibration(NamedTuple):
    """One judge against people."""

    judge: str
    right: Hits
    """Answers that people call right; those it accepted."""
    wrong: Hits
    """Answers that people call wrong; those it refused."""
    undecided: int
    """Gold answers on which the judge has no opinion."""
    accepted: int
    judged: int
    """All its opinions, gold or not."""

    @property
    def corrected(self) -> Share | None:
        """The share of right answers behind its opinions; None where it does no better than chance, or nobody knows."""
        return corrected_share(self.accepted, self.judged, right=self.right, wrong=self.wrong)

    @property
    def why_open(self) -> str:
        """Why there is no corrected share, where there is none."""
        absent = [kind for kind, hits in (("right", self.right), ("wrong", self.wrong)) if not hits.cases]
        return f"no {' or '.join(absent)} gold answer has its opinion" if absent else "no better than chance"

    @property
    def beyond(self) -> str:
        """`more` or `fewer` where it accepts another share than it could with its errors, else empty."""
        if self.corrected is None:
            return ""
        share, highest = self.accepted / self.judged, self.right.right / self.right.cases
        lowest = 1 - self.wrong.right / self.wrong.cases
        return "more" if share > highest else "fewer" if share < lowest else ""

    def row(self) -> dict[str, object]:
        """The calibration as a row of a table."""
        shares = {
            "sensitivity": share(*self.right),
            "specificity": share(*self.wrong),
            "accepted": share(self.accepted, self.judged),
            "corrected": self.corrected,
        }
        cells: dict[str, object] = {"judge": self.judge}
        for name, one in shares.items():
            ends = (None, None, None) if one is None else one
            cells |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        bias = None if self.corrected is None else shares["accepted"].value - self.corrected.value  # type: ignore[union-attr]
        sizes = {"gold_right": self.right.cases, "gold_wrong": self.wrong.cases, "undecided": self.undecided}
        return cells | {"bias": bias, **sizes, "judged": self.judged}


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class CalibrationReport(TableResult):
    """Several judges against one gold set; one row per judge."""

    judges: tuple[Calibration, ...] = ()

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The one table under its name."""
        return {"judges against people (95 % intervals)": self.table}


_PROSE = (
    "Sensitivity and specificity on the answers that people labelled, with exact 95 % intervals. accepted: the share "
    "of a judge's opinions that accept; corrected: that share corrected for its errors (Rogan and Gladen, with the "
    "interval of Lang and Reiczigel); bias: accepted minus corrected. Answers are treated as independent."
)


def _findings(judges: Sequence[Calibration], damaged: Sequence[str]) -> Iterator[Finding]:
    """What a reader must know before a number of the table is used."""
    for problem in damaged:
        yield Finding("damaged-verdicts", Severity.WARNING, f"set aside, {problem}")
    for one in judges:
        if min(one.right.cases, one.wrong.cases) < FEW:
            text = f"only {one.right.cases} right and {one.wrong.cases} wrong gold answers have its opinion"
            yield Finding("few-gold-answers", Severity.WARNING, text, subject=one.judge)
        if one.corrected is None:
            text = f"{one.why_open}, so nothing can be corrected"
            yield Finding("not-corrected", Severity.WARNING, text, subject=one.judge)
        if one.beyond:
            text = (
                f"accepts {one.beyond} answers than its errors on the gold answers allow, so the corrected share is at "
                "its limit; were they a random sample of the judged ones?"
            )
            yield Finding("share-at-limit", Severity.WARNING, text, subject=one.judge)


@requested("judge calibrate", files=("gold", "files"))
def calibrate(gold: str | Path, files: Sequence[str | Path]) -> CalibrationReport:
    """How every judge of the verdict files does against the gold set.

    Raises:
        Misuse: The gold set has several people's names or no decided answer, or shares no answer with a judge.
        FileUnreadable: A file is no verdict file, or contradicts itself.
    """
    damaged: list[str] = []
    labels = read_verdicts(gold, damaged)
    if len({label.judge for label in labels}) > 1:
        raise Misuse(f"{gold} holds verdicts of several people; let them agree on one label per answer first")
    known = {label.pair: label.verdict for label in labels if label.verdict is not None}
    if not known:
        raise Misuse(f"{gold} has no answer that people call right or wrong")
    verdicts = [verdict for path in files for verdict in read_verdicts(path, damaged)]
    by_judge: dict[str, list[FileVerdict]] = {}
    for verdict in verdicts:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    strangers = [name for name, verdicts in by_judge.items() if not any(one.pair in known for one in verdicts)]
    if strangers or not by_judge:
        raise Misuse(
            f"no gold answer was judged by {', '.join(strangers) or 'anybody'}; qID, reference and candidate "
            "must be the same in both files"
        )
    judges = tuple(_one(name, verdicts, known) for name, verdicts in by_judge.items())
    table = pl.DataFrame([one.row() for one in judges])
    return replace(CalibrationReport.of(table, _PROSE, _findings(judges, damaged)), judges=judges)


def _one(judge: str, verdicts: Sequence[FileVerdict], known: Mapping[tuple[str, str, str], bool]) -> Calibration:
    shared = [(known[one.pair], one.verdict) for one in verdicts if one.pair in known]
    opinions = [one.verdict for one in verdicts if one.verdict is not None]
    kinds = {
        truth: [verdict for label, verdict in shared if label is truth and verdict is not None]
        for truth in (True, False)
    }
    return Calibration(
        judge,
        right=Hits(kinds[True].count(True), len(kinds[True])),
        wrong=Hits(kinds[False].count(False), len(kinds[False])),
        undecided=sum(verdict is None for _, verdict in shared),
        accepted=opinions.count(True),
        judged=len(opinions),
    )
