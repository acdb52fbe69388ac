"""Printed averages and totals with what they are of: columns of one group of headings, rows of one section."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from surgeval.audit.tables.cells import Cell, Reading
from surgeval.audit.tables.layout import PrintedTable

AVERAGES = frozenset({"avg", "average", "mean", "macro avg", "macro average"})
LOOSE_AVERAGES = frozenset({"overall", "all"})
"""Names that may mean an average."""
TOTALS = frozenset({"total", "sum", "totals"})


class Summary(NamedTuple):
    """One printed average or total, and the numbers beside or above it."""

    row: str
    column: str
    cell: Cell
    members: tuple[Cell, ...]
    loose: bool

    @property
    def sum_text(self) -> str:
        """The members with plus signs between them."""
        return " + ".join(cell.text for cell in self.members)


def summaries(table: PrintedTable, names: frozenset[str], loose: frozenset[str] = frozenset()) -> Iterator[Summary]:
    """Every printed summary of one of these names that has at least two members, all of them numbers."""
    headings = [path[-1] for path in table.columns]
    groups = [path[:-1] for path in table.columns]
    rows = [name.rpartition(" / ")[2] for name in table.rows]
    for at, members in _blocks(headings, groups, names | loose):
        for number, row in enumerate(table.cells):
            yield from _summary(
                table, number, at, [row[index] for index in members], _word(headings[at]) in loose, rows, names | loose
            )
    for at, members in _blocks(rows, table.sections, names | loose):
        for index in range(len(table.columns)):
            if _word(headings[index]) not in names | loose:
                yield from _summary(
                    table, at, index, [table.cells[number][index] for number in members], _word(rows[at]) in loose, [],
                    frozenset(),
                )  # fmt: skip


def _summary(
    table: PrintedTable, row: int, column: int, members: list[Cell], loose: bool, rows: list[str], names: frozenset[str]
) -> Iterator[Summary]:
    cell = table.cells[row][column]
    if rows and _word(rows[row]) in names:  # the corner where both meet is looked at from above
        return
    if cell.value is not None and len(members) > 1 and all(member.value is not None for member in members):
        yield Summary(table.rows[row], table.column_name(column), cell, tuple(members), loose)


def _blocks(texts: Sequence[str], groups: Sequence[object], names: frozenset[str]) -> Iterator[tuple[int, list[int]]]:
    """Each place with one of the names, and the places of its group before it, back to the one before."""
    for at, text in enumerate(texts):
        if _word(text) not in names:
            continue
        members: list[int] = []
        for before in range(at - 1, -1, -1):
            if groups[before] != groups[at] or _word(texts[before]) in names | AVERAGES | LOOSE_AVERAGES | TOTALS:
                break
            members.insert(0, before)
        yield at, members


def _word(text: str) -> str:
    return " ".join(re.sub(r"[^a-z]+", " ", text.lower()).split())


def ends(cell: Cell, reading: Reading, *, exact: bool = False) -> tuple[float, float]:
    """The least and the greatest number that is printed so."""
    half = 0.0 if exact else 0.5 * 10.0**-cell.decimals
    value = cell.value or 0.0
    return (value - half, value + half) if reading == "rounded" else (value, value + 2 * half)


def are_counts(cells: Sequence[Cell]) -> bool:
    """Whether numbers are counts, which nobody rounds: all whole, and one has marks at thousands or is above 100."""
    whole = all(cell.decimals == 0 and not cell.percent for cell in cells)
    return whole and any(cell.grouped or abs(cell.value or 0) > 100 for cell in cells)
