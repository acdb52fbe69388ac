"""`whole-counts`: a share out of n cases is k/n for a whole k (the GRIM test of Brown and Heathers 2017).

Looked at: accuracy where the number of cases is known (in multi-label tables out of cases times classes), and columns
whose number of cases was named.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from surgeval.audit.tables.cells import Cell
from surgeval.audit.tables.rows import SLACK, ReadTable, Rows, number_text
from surgeval.audit.tables.vocabulary import Grade, TableFinding


def fits(cell: Cell, cases: int, *, percent: bool, truncated: bool) -> bool:
    """Whether some whole number out of the cases is printed so.

    Example:
        >>> fits(Cell("0.37", 0.37, 2), 36, percent=False, truncated=False)
        False
        >>> fits(Cell("0.27", 0.27, 2), 36, percent=False, truncated=True)
        True
    """
    unit = (0.01 if percent else 1.0) * cases
    half = 0.5 * 10.0**-cell.decimals
    value = cell.value or 0.0
    low, high = (value, value + 2 * half) if truncated else (value - half, value + half)
    return math.floor(high * unit + SLACK) >= math.ceil(low * unit - SLACK)


def check(rows: Rows) -> Iterator[TableFinding]:
    """Shares that no whole number of cases gives."""
    for read in rows.tables:
        for index, cases, what in _shares(read):
            yield from _column(read, index, cases, what)


def _shares(read: ReadTable) -> Iterator[tuple[int, int, str]]:
    """Columns of shares, what they are out of, and that in words."""
    facts = read.facts
    for column in read.columns:
        heading, leaf = read.table.column_name(column.place), read.table.columns[column.place][-1]
        if cases := facts.column_cases.get(heading) or facts.column_cases.get(leaf):
            yield column.place, cases, "cases"
        elif not facts.cases or column.metric not in ("share", "accuracy"):
            continue
        elif column.metric == "share" or facts.kind in ("multi-class", "binary"):
            yield column.place, facts.cases, "cases"
        elif facts.kind == "multi-label" and facts.classes:
            yield column.place, facts.cases * facts.classes, "cases times classes"


def _column(read: ReadTable, index: int, cases: int, what: str) -> Iterator[TableFinding]:
    percent = read.percent[index]
    name, table = read.table.column_name(index), read.table
    for row, cell in zip(table.rows, table.values(index), strict=True):
        if cell.value is None or any(fits(cell, cases, percent=percent, truncated=cut) for cut in (False, True)):
            continue
        unit, decimals = 100 if percent else 1, cell.decimals + 2
        below = int(np.floor(cell.value / unit * cases + SLACK))
        near = [f"{k}/{cases} = {number_text(unit * k / cases, decimals)}" for k in (below, below + 1)]
        yield TableFinding(
            Grade.INCONSISTENT, "whole-counts", table.name, row, name, f"{name} = {cell.text}",
            f"nearest shares out of {cases} {what}: {near[0]} and {near[1]}; neither is printed so, rounded or cut off",
            f"no plain share of {cases} {what}: another number of cases, an average over folds or tasks, or an error",
        )  # fmt: skip
