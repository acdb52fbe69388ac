"""Printed tables of results, held against what no data could give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.audit.measures import listed
from surgvalid.audit.tables.facts import Facts, KnownFacts, facts_rows, kind_named
from surgvalid.audit.tables.files import cell_rows, printed_tables, sidecar
from surgvalid.audit.tables.metric_names import check_choices, read_columns
from surgvalid.audit.tables.rows import PrintedRows, ReadTable, rows_of, scales, with_inferred_kinds
from surgvalid.audit.tables.rules import RULES
from surgvalid.audit.tables.vocabulary import GRAVE, Grade, TableFinding
from surgvalid.errors import Misuse
from surgvalid.results.request import requested
from surgvalid.results.result import Result
from surgvalid.results.tables import auditing as tables
from surgvalid.schema.findings import Finding, Severity

_SHOWN = ("severity", "rule", "table", "row", "printed", "arithmetic")
_NAME = 24
"""Letters of a table's name on a screen."""

_PROSE = (
    "{tables} printed tables were held against rules of arithmetic. A printed number stands for every value that "
    "prints so, whether digits were rounded or cut off, and a finding holds under both readings. A finding shows that "
    "numbers do not fit together, not which of them is wrong, nor why."
)


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class TableAudit(Result):
    """What was noticed about printed tables.

    `table` has `severity, rule, table, row, column, printed, arithmetic, meaning`, the worst first.
    """

    @property
    def columns(self) -> pl.DataFrame:
        """What every column was interpreted as."""
        return self.tables["columns"]

    @property
    def cells(self) -> pl.DataFrame:
        """Every cell as it was read."""
        return self.tables["cells"]

    @property
    def counts(self) -> dict[str, int]:
        """Findings by severity."""
        counts = Counter(self.table["severity"].to_list())
        return {grade.value: counts[grade.value] for grade in Grade}

    @property
    def passes(self) -> bool:
        """Whether nothing is impossible or inconsistent."""
        return not any(self.counts[grade] for grade in GRAVE)

    @property
    def title(self) -> str:
        """How many tables were read, and what was noticed."""
        counts = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        return f"{self.cells['table'].n_unique()} tables, {self.cells.height} cells: {counts}"

    @property
    def shown(self) -> pl.DataFrame:
        """The findings with their arithmetic, long names of tables cut."""
        name = pl.col("table")
        cut = pl.when(name.str.len_chars() > _NAME).then(name.str.head(_NAME - 1) + "…").otherwise(name)
        return self.table.select(_SHOWN).with_columns(cut.alias("table"))

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """What the columns were interpreted as, and the findings."""
        alike = self.columns.filter(pl.col("metric") != "").group_by("column", "metric", "percent", maintain_order=True)
        return {"Columns": alike.agg(pl.col("table").n_unique().alias("tables")), self.title: self.shown}

    def facts(self) -> dict[str, Any]:
        """The counts, and whether anything is grave."""
        return {"counts": self.counts, "passes": self.passes}

    def as_dict(self) -> dict[str, Any]:
        """The result as plain data, without the cells."""
        data = super().as_dict()
        data.pop("cells")
        return data


@requested("audit tables", files=("tables", "facts"))
def audit_tables(
    tables: Any,
    *,
    columns: Mapping[str, str] | None = None,
    kind: str = "",
    classes: int | None = None,
    cases: int | None = None,
    facts: str | Path | Any = None,
) -> TableAudit:
    """What cannot be, contradicts itself or is odd in printed tables of results.

    Every number stands for the range of values that print so, rounded or cut off, and a finding holds under both.

    Args:
        tables: Files (CSV, Markdown, LaTeX, PDF, text with tabs or spaces), or a long table with the columns `table,
            row, column, value`, values as printed text.
        columns: Metrics by heading, such as `{"A": "accuracy"}`, where headings do not say it; `other` for none.
        kind: `multi-class`, `multi-label` or `binary` (precision, recall, F1 and Jaccard index of one class).
        classes: How many there are.
        cases: How many there are.
        facts: A table, or a CSV file, with a row per table: `table` (its number or title) and any of `kind, classes,
            cases, prevalence` (of each class, apart by `;`). With `column`, `cases` are those of that column's shares.

    Raises:
        FileUnreadable: A file that cannot be read, or has no table.
        TableInvalid: A long table or facts that cannot be meant; lists every problem.
        Misuse: A kind, metric or number that cannot be meant.

    Example:
        >>> cells = {"A": "0.09", "wR": "0.40"}
        >>> rows = [{"table": "1", "row": "ours", "column": name, "value": text} for name, text in cells.items()]
        >>> audit_tables(rows, kind="multi-class").table["rule"].to_list()
        ['accuracy-recall']
    """
    for name, number in (("classes", classes), ("cases", cases)):
        if number is not None and number < 1:
            raise Misuse(f"{name} must be at least 1, got {number}")
    chosen = check_choices(columns or {})
    frame = sidecar(facts)
    general = Facts(kind_named(kind), classes or 0, cases or 0)
    where = str(facts) if isinstance(facts, str | Path) else "facts"
    known = KnownFacts(general, [] if frame is None else facts_rows(frame), where)
    printed = printed_tables(tables)
    readings = [(table, read_columns(table, chosen)) for table in printed.tables]
    read = [
        ReadTable(table, reading.columns, known.of(table), scales(table, reading.columns))
        for table, reading in readings
    ]
    doubts = [(table.name, doubt) for table, reading in readings for doubt in reading.doubts]
    read, inferred = with_inferred_kinds(read)
    findings = _sorted(rows_of(read))
    unread = [Finding("table-unread", Severity.WARNING, f"could not be read: {name}") for name in printed.unread]
    notices = [*unread, *_doubts(doubts), *_inferred(inferred), *_gaps(read, known), *_verdict(findings)]
    return _result(read, findings, notices)


def _sorted(rows: PrintedRows) -> list[TableFinding]:
    """Every rule's findings, the worst first, then in the order of the tables."""
    order = {read.table.name: number for number, read in enumerate(rows.tables)}
    findings = [finding for check in RULES.values() for finding in check(rows)]
    return sorted(findings, key=lambda finding: (list(Grade).index(finding.severity), order[finding.table]))


def _result(read: Sequence[ReadTable], findings: Sequence[TableFinding], notices: Sequence[Finding]) -> TableAudit:
    return TableAudit(
        tables={
            "findings": tables.FINDINGS.frame([{**one._asdict(), "severity": one.severity.value} for one in findings]),
            "columns": tables.COLUMNS.frame(list(_column_rows(read))),
            "cells": tables.CELLS.frame(list(cell_rows(one.table for one in read))),
        },
        main="findings",
        prose=_PROSE.format(tables=len(read)),
        findings=tuple(notices),
    )


def _column_rows(read: Sequence[ReadTable]) -> Iterator[dict[str, Any]]:
    for one in read:
        for column in one.columns:
            yield {
                "table": one.table.name,
                "column": one.table.column_name(column.place),
                "metric": column.metric,
                "percent": one.percent[column.place] if column.metric else None,
                "kind": one.facts.kind,
                "classes": one.facts.classes or None,
                "cases": one.facts.cases or None,
            }


def _doubts(doubts: Sequence[tuple[str, str]]) -> Iterator[Finding]:
    """One question per ambiguity, with the tables it is about."""
    tables: dict[str, list[str]] = {}
    for table, doubt in doubts:
        tables.setdefault(doubt, []).append(table)
    for doubt, names in tables.items():
        text = f"{doubt} (--headings HEADING=METRIC decides)"
        yield Finding("column-doubtful", Severity.WARNING, text, subject=listed(names, 3))


def _inferred(tables: Mapping[str, tuple[int, int]]) -> Iterator[Finding]:
    for name, (alike, every) in tables.items():
        text = (
            f"accuracy is weighted recall in {alike} of {every} rows, which only single-label scoring gives: taken as "
            "multi-class (--facts kind=... says otherwise)"
        )
        yield Finding("kind-inferred", Severity.NOTE, text, subject=name)


def _gaps(read: Sequence[ReadTable], known: KnownFacts) -> Iterator[Finding]:
    """What was not looked at because nobody said it."""

    def named(lacks: Any) -> list[str]:
        return [one.table.name for one in read if lacks(one, {column.metric for column in one.columns})]

    asked = {
        "metric of any column (--headings HEADING=METRIC), so only sums, bold and repeats were looked at": named(
            lambda one, metrics: (
                not any(metrics) and any(0 < (cell.value or 0) < 1 for row in one.table.cells for cell in row)
            )
        ),
        "kind (multi-class, multi-label or binary), so accuracy was not held against recall": named(
            lambda one, metrics: not one.facts.kind and {"accuracy", "weighted_recall"} <= metrics
        ),
        "kind (multi-class, multi-label or binary), so accuracy was not held against whole counts, "
        "nor an interval against its width": named(
            lambda one, metrics: not one.facts.kind and (one.facts.cases or one.table.counted) and "accuracy" in metrics
        ),
        "number of cases as it is read (n = ... in the caption, or --facts cases=...), so no share was held against "
        "whole counts, nor an interval against its width": named(
            lambda one, metrics: (
                not (one.facts.cases or one.facts.column_cases or one.table.counted) and "accuracy" in metrics
            )
        ),
        "number of classes, so no solution was looked for": named(
            lambda one, metrics: one.facts.kind == "multi-label" and not one.facts.classes and "accuracy" in metrics
        ),
    }
    for what, names in asked.items():
        if names:
            yield Finding("fact-missing", Severity.NOTE, f"nobody said the {what}", subject=listed(names, 3))
    if unused := known.unused:
        text = f"the facts name tables that were not read: {listed(unused, 3)}"
        yield Finding("facts-unused", Severity.WARNING, text)


def _verdict(findings: Sequence[TableFinding]) -> Iterator[Finding]:
    if grave := [finding for finding in findings if finding.severity in GRAVE]:
        tables = {finding.table for finding in grave}
        text = f"{len(grave)} findings in {len(tables)} tables are impossible or inconsistent"
        yield Finding("table-contradicts", Severity.ERROR, text)
