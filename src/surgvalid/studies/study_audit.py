"""The audit of a study as a result: its tables, and the page that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.audit.audit import audited, lead
from surgvalid.audit.evidence import CheckOutcome
from surgvalid.audit.study import AuditedStudy
from surgvalid.report.audit_sections import audit_sections
from surgvalid.report.html import page
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.table_facts import Directions


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StudyAudit(Result):
    """What each check of a study came to; `table` has `pitfall, title, category, outcome, severity, evidence, ...`."""

    page = "audit.html"

    name: str = ""
    """Of the study."""

    @property
    def questions(self) -> pl.DataFrame:
        """What only a person can answer."""
        return self.tables["questions"]

    @property
    def counts(self) -> dict[str, int]:
        """Checks by outcome."""
        counts = Counter(self.table["outcome"].to_list())
        return {outcome.value: counts[outcome.value] for outcome in CheckOutcome}

    @property
    def passes(self) -> bool:
        """Whether no check fails."""
        return not self.counts[CheckOutcome.FAIL]

    @property
    def title(self) -> str:
        """The name of the study, what its audit does not say, and what fails."""
        return f"{self.name}: {lead(self.counts)}"

    @property
    def shown(self) -> pl.DataFrame:
        """What each check came to, without the long columns."""
        return self.table.select("pitfall", "title", "outcome", "severity", "evidence")

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The checks below what they do not say, and the questions that are open."""
        asked = {"Questions to answer once in the study file": self.questions.select("key", "pitfall", "question")}
        return {self.title: self.shown, **(asked if self.questions.height else {})}

    def facts(self) -> dict[str, Any]:
        """The counts, and whether nothing fails."""
        return {"counts": self.counts, "passes": self.passes}

    def html(self) -> str:
        """The audit as a page, complete in itself."""
        counts = " · ".join(f"{count} {name}" for name, count in self.counts.items())
        return page(self.title, "Audit", counts, audit_sections(self.tables, self.prose))

    @property
    def written_tables(self) -> Mapping[str, pl.DataFrame]:
        """The tables that become files: those that have rows, but for the items of guidelines, which the page shows."""
        return {name: frame for name, frame in self.tables.items() if frame.height and name != "guideline_items"}


@requested("audit", files=("study",))
def audit_study(
    study: str | Path | ScoreTable | AuditedStudy,
    *,
    pitfalls: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    better: Directions = None,
    missing: Missing = None,
) -> StudyAudit:
    """A study held against the 18 pitfalls of validation: pass, fail, not assessable, or what to answer.

    Args:
        study: A study file (TOML), a folder that verbs of surgvalid wrote, a score table or its file.
        pitfalls: Codes of the checks to run, such as `P1.6`; all if left out.
        columns: Our column names to theirs, where `study` is a score table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as, as for `interval`.

    Raises:
        InputInvalid: The study file or a table that it names cannot be used; lists every problem.
        FileUnreadable: There is no study at that place.
        UnknownName: A pitfall that does not exist.

    Example:
        >>> rows = {"model": ["A"] * 8, "case": list("abcdefgh"), "video": list("uuvvwwxx"),
        ...         "metric": ["correct"] * 8, "value": [1, 1, 0, 1, 1, 0, 1, 1]}
        >>> audit = audit_study(ScoreTable.of(rows), pitfalls=["P1.2"])
        >>> audit.table.select("pitfall", "outcome", "severity").row(0)
        ('P1.2', 'fail', 'high')
    """
    made = audited(study, pitfalls=pitfalls, columns=columns, better=better, missing=missing)
    return StudyAudit(
        tables=made.tables,
        main="checks",
        prose=made.prose,
        findings=made.findings,
        name=made.name,
        request=VerbRequest("audit", inputs={"study": list(made.files)} if made.files else {}),
    )
