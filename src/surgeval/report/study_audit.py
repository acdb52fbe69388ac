"""The audit of a study as a result: its tables, its badge, and the page that shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.audit.audit import audited
from surgeval.audit.badge import badge
from surgeval.audit.evidence import Outcome
from surgeval.audit.study import Study
from surgeval.report.audit_sections import audit_sections
from surgeval.report.html import made_with, page, write_if_drawn
from surgeval.results.request import Request, requested
from surgeval.results.result import Result
from surgeval.schema.missing import Missing
from surgeval.schema.score_table import ScoreTable
from surgeval.schema.table_facts import Directions

BADGE, PAGE = "badge.svg", "audit.html"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class StudyAudit(Result):
    """What each check of a study came to; `table` has `pitfall, title, category, outcome, severity, evidence, ...`."""

    name: str = ""
    """Of the study."""

    @property
    def evidence(self) -> pl.DataFrame:
        """Everything that was looked at."""
        return self.tables["evidence"]

    @property
    def numbers(self) -> pl.DataFrame:
        """The numbers of the evidence, with their intervals."""
        return self.tables["numbers"]

    @property
    def questions(self) -> pl.DataFrame:
        """What only a person can answer."""
        return self.tables["questions"]

    @property
    def label_errors(self) -> pl.DataFrame:
        """Cases whose reference is in doubt; no rows without answers of several models."""
        return self.tables["label_errors"]

    @property
    def counts(self) -> dict[str, int]:
        """Checks by outcome."""
        counts = Counter(self.table["outcome"].to_list())
        return {outcome.value: counts[outcome.value] for outcome in Outcome}

    @property
    def passes(self) -> bool:
        """Whether no check fails."""
        return not self.counts[Outcome.FAIL]

    @property
    def title(self) -> str:
        """The name of the study and the counts."""
        return f"{self.name}: " + ", ".join(f"{count} {name}" for name, count in self.counts.items())

    @property
    def shown(self) -> pl.DataFrame:
        """What each check came to, without the long columns."""
        return self.table.select("pitfall", "title", "outcome", "severity", "evidence")

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The checks, and the questions that are open."""
        asked = {"Questions to answer in the study file": self.questions.select("key", "pitfall", "question")}
        return {self.title: self.shown, **(asked if self.questions.height else {})}

    def facts(self) -> dict[str, Any]:
        """The counts, and whether nothing fails."""
        return {"counts": self.counts, "passes": self.passes}

    def html(self) -> str:
        """The audit as a page, complete in itself.

        Raises:
            ExtraNeeded: The packages that draw are not installed.
        """
        counts = " · ".join(f"{count} {name}" for name, count in self.counts.items())
        return page(
            f"Audit of {self.name}", "Audit", counts, audit_sections(self.tables, self.prose), footer=made_with()
        )

    def write(self, folder: Path) -> None:
        """Write the tables, the badge, and the page where pictures can be drawn."""
        super().write(folder)
        (folder / BADGE).write_text(badge(self.counts), encoding="utf-8")
        write_if_drawn(folder / PAGE, self.html)


@requested("audit", files=("study",))
def audit_study(
    study: str | Path | ScoreTable | Study,
    *,
    pitfalls: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    better: Directions = None,
    missing: Missing = None,
) -> StudyAudit:
    """A study held against the 18 pitfalls of validation: pass, fail, not assessable, or what to answer.

    Args:
        study: A study file (TOML), a folder that verbs of surgeval wrote, a score table or its file.
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
        tables=made.tables, main="checks", prose=made.prose, findings=made.findings, name=made.name,
        request=Request("audit", inputs={"study": list(made.files)} if made.files else {}),
    )  # fmt: skip
