"""What a remedy changed: effects before and after on the same cases, and the page that shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from surgvalid.report.figures import picture
from surgvalid.report.html import page
from surgvalid.report.section import Note, Prose, ReportTable, Section
from surgvalid.results.request import requested
from surgvalid.results.result import Result
from surgvalid.schema.findings import Severity
from surgvalid.schema.tables.missing import Missing
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.stats.mixed.change import ChangeSettings, change_tables
from surgvalid.stats.mixed.model.failure_settings import Family

PAGE = "change.html"


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class FailureChangeResult(Result):
    """Tables `effect_changes` (every property before and after) and `gains` (with and without it)."""

    page = PAGE

    @property
    def title(self) -> str:
        """What is shown to have changed, in one line each."""
        gains, effects = self.tables["gains"], self.tables["effect_changes"]
        better, worse = (gains.filter(pl.col("verdict") == word)["subgroup"].to_list() for word in ("better", "worse"))
        changes = effects.filter(pl.col("verdict").is_in(["less harmful", "more harmful"]))
        words = [f"{row['term']} {row['verdict']}" for row in changes.iter_rows(named=True)]
        return (
            f"Better: {', '.join(better) or 'nowhere shown'}. Worse: {', '.join(worse) or 'nowhere shown'}. "
            f"Effects: {', '.join(words) or 'no change shown'}."
        )

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """Gains, then changes of effects."""
        return {self.title: self.tables["gains"], "Effects before and after:": self.tables["effect_changes"]}

    def html(self) -> str:
        """The page, complete in itself."""
        warned = [Note(one.text) for one in self.findings if one.severity is not Severity.NOTE]
        gains = ReportTable("gains", "Gains on the same cases", self.tables["gains"], "Positive is better.")
        effects = ReportTable("effect-changes", "Effects before and after", self.tables["effect_changes"])
        drawn = picture("effect_changes", self.tables["effect_changes"])
        sections = [
            Section("change", "What changed", (drawn, gains, *warned)),
            Section("methods", "How it was made", (effects, Prose(self.prose))),
        ]
        return page(self.title, "Before and after", "the same cases twice", sections)


@requested("failure-change", files=("before", "after", "properties"))
def failure_change(
    before: Any,
    after: Any,
    *,
    successes: str | None = None,
    trials: str | None = None,
    outcome: str | None = None,
    fixed: str | Sequence[str] = (),
    random: str | Sequence[str] = (),
    family: Family = "auto",
    properties: Any = None,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    target: str | Sequence[str] = (),
    unit: str | None = None,
    level: float = 0.95,
    columns: Mapping[str, str] | None = None,
) -> FailureChangeResult:
    """The paired change of every property's effect between two rounds on the same cases, and gains where they occur.

    Args:
        before: The table of the old algorithm, as for `failures`.
        after: The table of the new one on the same cases; with several models in each, the same names.
        successes: Column of successes, with `trials`; or give `outcome`.
        trials: Column of trials.
        outcome: Column of a 0/1 or continuous outcome.
        fixed: Properties; they belong to cases, so both tables must say the same.
        random: What groups the rows: `video` (or `patient`), and what tells the cases apart.
        family: What the outcome is.
        properties: Tables of properties, joined with both.
        metric: Rows of a score table to use.
        better: Which values of the outcome are better, where nothing says it.
        missing: What a score that is not there counts as.
        target: Properties that the new algorithm was built against: their tests are corrected among themselves.
        unit: The finest unit, where it is not the random effect with the most levels.
        level: Of the intervals.
        columns: Our column names to theirs.

    Raises:
        TableInvalid: The rounds have no case in common, or do not agree on properties.
        Misuse: No outcome, no video, or models that do not belong together.
    """
    asked = ChangeSettings(
        successes=successes,
        trials=trials,
        outcome=outcome,
        fixed=fixed,
        random=random,
        family=family,
        properties=properties,
        metric=metric,
        better=better,
        missing=missing,
        target=target,
        unit=unit,
        level=level,
        columns=columns,
    )
    made = change_tables(before, after, asked)
    return FailureChangeResult(
        tables={"effect_changes": made.effects, "gains": made.gains},
        main="effect_changes",
        prose=made.prose,
        findings=made.findings,
    )
