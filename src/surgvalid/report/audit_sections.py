"""The tables of an audit as sections of a page: what each check came to, its evidence in numbers and images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from surgvalid.audit.audit import lead
from surgvalid.audit.evidence import CheckOutcome
from surgvalid.audit.pitfall import Category
from surgvalid.report.figures import picture
from surgvalid.report.inputs import ReportInputs
from surgvalid.report.section import Block, Note, Point, Points, Prose, ReportTable, Section
from surgvalid.report.wording import missing

Frames = Mapping[str, pl.DataFrame]
MOST_NUMBERS = 60
_FEWEST_DRAWN = 2
_WORDS = {
    CheckOutcome.FAIL.value: "Fails",
    CheckOutcome.ASK.value: "Needs an answer",
    CheckOutcome.UNKNOWN.value: "Not assessable",
    CheckOutcome.PASS.value: "Passes",
}

_SILENT = {CheckOutcome.ASK: "What nobody answered", CheckOutcome.UNKNOWN: "What could not be assessed"}


def audit_sections(tables: Frames, prose: str) -> list[Section]:
    """Everything that an audit says: the overview, a section per category, and what to do next."""
    checks = tables["checks"]
    blocks = (*overview(tables, evidence=False), Prose(prose))
    sections = [Section("overview", "What each check came to", blocks)]
    for category in Category:
        rows = checks.filter(pl.col("category") == category.value).to_dicts()
        if rows:
            shown = tuple(block for row in rows for block in pitfall_blocks(row, tables))
            sections.append(Section(category.name.lower(), category.value.capitalize(), shown))
    return [*sections, *_further(tables)]


def overview(tables: Frames, *, evidence: bool = True) -> list[Block]:
    """The checks as a table, the failures as sentences; with `evidence`, what was seen by those that do not fail."""
    checks = tables["checks"]
    failing = checks.filter(pl.col("outcome") == CheckOutcome.FAIL.value).to_dicts()
    points = tuple(
        Point(f"{row['evidence']} {row['fix']}", label=f"{row['pitfall']} {row['title']}") for row in failing
    )
    counts = Counter(checks["outcome"].to_list())
    blocks: list[Block] = [Note(lead({outcome.value: counts[outcome.value] for outcome in CheckOutcome}))]
    blocks += [Points("failures", "What fails, and what mends it", points)] if points else []
    for outcome in (CheckOutcome.ASK, CheckOutcome.UNKNOWN):
        silent = checks.filter(pl.col("outcome") == outcome.value).to_dicts()
        points = tuple(Point(row["evidence"], label=f"{row['pitfall']} {row['title']}") for row in silent)
        blocks += [Points(outcome.name.lower(), _SILENT[outcome], points)] if points and not evidence else []
    shown = checks.select("pitfall", "title", "outcome", "severity")
    if evidence:
        seen = (
            pl.when(checks["outcome"] == CheckOutcome.FAIL.value)
            .then(pl.lit("see above"))
            .otherwise(checks["evidence"])
        )
        shown = shown.with_columns(evidence=seen)
    return [*blocks, ReportTable("checks", "The checks", shown)]


def pitfall_blocks(row: Mapping[str, Any], tables: Frames) -> list[Block]:
    """One check: what was seen of each thing, with its image, and the numbers."""
    code, outcome = row["pitfall"], row["outcome"]
    seen = tables["evidence"].filter(pl.col("pitfall") == code).to_dicts()
    numbers = tables["numbers"].filter(pl.col("pitfall") == code)
    points = tuple(Point(f"{_WORDS[one['outcome']]}. {one['sentence']}", label=one["about"]) for one in seen)
    name = code.lower().replace(".", "-")
    blocks: list[Block] = [Points(name, f"{code} {row['title']}: {_WORDS[outcome].lower()}", points)]
    if outcome == CheckOutcome.FAIL.value and row["fix"]:
        blocks.append(Note(f"To mend it: {row['fix']}", "hint"))
    drawn: list[pl.DataFrame] = []
    for one in seen:
        mine = numbers.filter(pl.col("about") == one["about"])
        if one["picture"] == "intervals" and not any(mine.drop("about").equals(other) for other in drawn):
            drawn.append(mine.drop("about"))
            blocks += _intervals(f"{name}-intervals", mine, f"{code}: {one['about']}")
    if numbers.height:
        kept = [column for column in numbers.columns[2:] if numbers[column].null_count() < numbers.height]
        blocks.append(
            ReportTable(
                f"{name}-numbers", f"Numbers of {code}", numbers.select(kept), folded=True, shown_rows=MOST_NUMBERS
            )
        )
    return blocks


def _intervals(name: str, numbers: pl.DataFrame, title: str) -> list[Block]:
    """The numbers with their intervals; nothing where there is too little to draw."""
    rows = numbers.rename({"subject": "model"}).drop_nulls(["value", "low", "high"]).filter(pl.col("model") != "")
    first = rows.filter(pl.col("quantity") == rows["quantity"][0]) if rows.height else rows
    if first.height < _FEWEST_DRAWN or first["model"].n_unique() < first.height:
        return []
    drawn = first.select("model", "value", "low", "high", "n")
    return [
        picture(
            "value_intervals", drawn, name=name, title=title, estimand=str(first["quantity"][0]), largest_is_best=None
        )
    ]


def _further(tables: Frames) -> Sequence[Section]:
    asked, doubts, items = tables["questions"], tables["label_errors"], tables["guideline_items"]
    sections = []
    if asked.height:
        text = Prose("Only people can say these; the study file has a place for each.")
        table = ReportTable("questions", "Open questions", asked.select("key", "pitfall", "question", "example"))
        sections.append(Section("questions", "Questions to answer", (text, table)))
    if doubts.height:
        text = Prose(
            "Models that are right elsewhere agree on another answer here. A person should look at these cases."
        )
        sections.append(
            Section("labels", "Suspected label errors", (text, ReportTable("label-errors", "Cases", doubts)))
        )
    if items.height:
        text = Prose("Facts of this audit by item; what the guidelines ask beyond them, the authors have to write.")
        table = ReportTable("guideline-items", "Items", items, folded=True)
        sections.append(Section("guidelines", "Items of reporting guidelines", (text, table), folded=True))
    return sections


TITLE = "Pitfalls of validation"
_NEEDED = ("checks", "evidence", "numbers")


def section(inputs: ReportInputs) -> Section:
    """What the audit in the folder came to, failures with their evidence."""
    audits = [result for result in inputs.of("audit") if all(not result.frame(name).is_empty() for name in _NEEDED[:2])]
    if not audits:
        return missing("audit", TITLE, "The study was not audited.", "surgvalid audit DIR --out DIR/audit")
    tables = {name: audits[0].frame(name) for name in _NEEDED}
    blocks: list[Block] = [*overview(tables)]
    for row in tables["checks"].to_dicts():
        blocks += pitfall_blocks(row, tables) if row["outcome"] == "fail" else []
    return Section("audit", TITLE, (*blocks, Prose(audits[0].prose)))
