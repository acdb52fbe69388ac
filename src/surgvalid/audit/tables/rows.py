"""The metrics of every row of every table as arrays, with the values that could be printed so.

A rule that holds row by row is one expression over arrays, evaluated under both readings of the digits. It is broken
only where both say so: `Rows.broken`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from surgvalid.audit.tables.cells import READINGS, PrintedCell, Reading
from surgvalid.audit.tables.facts import Facts
from surgvalid.audit.tables.layout import PrintedTable
from surgvalid.audit.tables.metric_names import METRICS, ColumnReading
from surgvalid.audit.tables.vocabulary import Grade, TableFinding

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
_A_SHARE = 0.2
"""A column of percentages that never passes 1 hardly reaches this."""
SLACK = 1e-9
"""Room for the arithmetic of floating point, far below any printed digit."""


@dataclass(frozen=True)
class ReadTable:
    """A printed table, what its columns were interpreted as, and what is known about it."""

    table: PrintedTable
    columns: tuple[ColumnReading, ...]
    facts: Facts
    percent: tuple[bool, ...]
    """Of each column, whether it is out of 100."""

    def column(self, metric: str, group: tuple[str, ...]) -> int:
        """The column of a metric in a group; -1 where there is none."""
        return next((c.place for c in self.columns if c.metric == metric and c.group == group), -1)

    def finding(
        self, grade: Grade, rule: str, rows: Sequence[int], columns: Sequence[int], arithmetic: str, meaning: str
    ) -> TableFinding:
        """A finding about some rows and columns, or about the whole table, with what is printed there."""
        table, names = self.table, [self.table.column_name(column) for column in columns]
        cells = [f"{name} = {table.cells[rows[0]][column].text}" for name, column in zip(names, columns, strict=True)]
        named = ", ".join(table.rows[row] for row in rows)
        return TableFinding(grade, rule, table.name, named, ", ".join(names), ", ".join(cells), arithmetic, meaning)


@dataclass(frozen=True)
class Bounds:
    """The least and the greatest value of each metric, row by row; NaN where it is not printed."""

    low: dict[str, Array]
    high: dict[str, Array]


@dataclass(frozen=True)
class PrintedRows:
    """One entry per row of a table and group of columns."""

    tables: Sequence[ReadTable]
    table: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    column: dict[str, npt.NDArray[np.int64]]
    """The column of each metric; -1 where it is not printed."""
    value: dict[str, Array]
    """As shares of 1."""
    bounds: dict[Reading, Bounds]
    kind: npt.NDArray[np.str_]

    def broken(self, rule: Callable[[Bounds], Mask]) -> list[int]:
        """The entries where a rule fails whether digits were rounded or cut off; nothing fails without a number."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return entries_where(np.logical_and.reduce([rule(self.bounds[reading]) for reading in READINGS]))

    def is_kind(self, *kinds: str) -> Mask:
        """Where the table is of one of these kinds."""
        return np.isin(self.kind, kinds)

    def cell(self, entry: int, metric: str) -> PrintedCell:
        """The cell of a metric."""
        return self.of(entry).table.cells[int(self.row[entry])][int(self.column[metric][entry])]

    def of(self, entry: int) -> ReadTable:
        """The table of an entry."""
        return self.tables[int(self.table[entry])]

    def shown(self, entry: int, metric: str, value: float) -> str:
        """A number as the column would print it, with two more digits."""
        column = self.column[metric][entry]
        cell = self.cell(entry, metric)
        return number_text(value * (100 if self.of(entry).percent[column] else 1), cell.decimals + 2)

    def span(self, entry: int, metric: str) -> str:
        """Everything that would be printed so, rounded: `0.085 to 0.095`."""
        low, high = (side[metric][entry] for side in (self.bounds["rounded"].low, self.bounds["rounded"].high))
        return f"{self.shown(entry, metric, low)} to {self.shown(entry, metric, high)}"

    def finding(
        self, entry: int, severity: Grade, rule: str, metrics: Sequence[str], arithmetic: str, meaning: str
    ) -> TableFinding:
        """A finding about some metrics of one row."""
        places = [int(self.column[metric][entry]) for metric in metrics]
        return self.of(entry).finding(severity, rule, [int(self.row[entry])], places, arithmetic, meaning)


def entries_where(mask: Mask) -> list[int]:
    """The places where a mask is true."""
    return [int(entry) for entry in np.flatnonzero(mask)]


def number_text(value: float, decimals: int) -> str:
    """A number with so many decimals, without zeros that say nothing.

    Example:
        >>> number_text(0.25, 4), number_text(30.0, 3)
        ('0.25', '30')
    """
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def rows_of(tables: Sequence[ReadTable]) -> PrintedRows:
    """The rows of tables that have a metric."""
    entries = list(_entries(tables))
    count = len(entries)
    column = {metric: np.full(count, -1) for metric in METRICS}
    value, half = ({metric: np.full(count, np.nan) for metric in METRICS} for _ in range(2))
    for place, (number, row, index) in enumerate(entries):
        read = tables[number]
        for metric, at in index.items():
            cell = read.table.cells[row][at]
            if cell.value is not None:
                unit = 0.01 if read.percent[at] else 1.0
                column[metric][place] = at
                value[metric][place] = cell.value * unit
                half[metric][place] = 0.5 * 10.0**-cell.decimals * unit
    return PrintedRows(
        tables=tables,
        table=np.array([number for number, _, _ in entries], dtype=np.int64),
        row=np.array([row for _, row, _ in entries], dtype=np.int64),
        column=column,
        value=value,
        bounds={reading: _bounds(value, half, reading) for reading in READINGS},
        kind=np.array([tables[number].facts.kind for number, _, _ in entries], dtype=np.str_),
    )


_FEWEST_ALIKE, _MOSTLY = 3, 0.75
"""Rows, and their share, whose accuracy is their weighted recall, from which on that is no chance."""


def with_inferred_kinds(tables: Sequence[ReadTable]) -> tuple[list[ReadTable], dict[str, tuple[int, int]]]:
    """The tables, those of no stated kind as multi-class where their own numbers say so; and how many rows say it.

    Accuracy is the weighted recall of every single-label scoring, and of other accuracies by chance only.
    """
    rows = rows_of(tables)
    bounds, (accuracy, recall) = rows.bounds["rounded"], (rows.value[name] for name in ("accuracy", "weighted_recall"))
    low, high = (
        pick((side["accuracy"], side["weighted_recall"]))
        for pick, side in ((np.maximum.reduce, bounds.low), (np.minimum.reduce, bounds.high))
    )
    both = np.isfinite(accuracy) & np.isfinite(recall) & (accuracy > 0) & (accuracy < 1)
    made, inferred = list(tables), {}
    for number, read in enumerate(tables):
        mine = both & (rows.table == number)
        alike, every = int((mine & (low <= high)).sum()), int(mine.sum())
        if not read.facts.kind and alike >= max(_FEWEST_ALIKE, _MOSTLY * every):
            made[number] = replace(read, facts=replace(read.facts, kind="multi-class"))
            inferred[read.table.name] = alike, every
    return made, inferred


def _entries(tables: Sequence[ReadTable]) -> Iterator[tuple[int, int, dict[str, int]]]:
    """Table, row and columns by metric of every entry."""
    for number, read in enumerate(tables):
        groups: dict[tuple[str, ...], dict[str, int]] = {}
        for column in read.columns:
            if column.metric:
                groups.setdefault(column.group, {})[column.metric] = column.place
        for index in groups.values():
            yield from ((number, row, index) for row in range(len(read.table.rows)))


def _bounds(value: dict[str, Array], half: dict[str, Array], reading: Reading) -> Bounds:
    below, above = (1.0, 1.0) if reading == "rounded" else (0.0, 2.0)
    return Bounds(
        low={name: np.clip(value[name] - below * half[name] - SLACK, 0.0, 1.0) for name in value},
        high={name: np.clip(value[name] + above * half[name] + SLACK, 0.0, 1.0) for name in value},
    )


def scales(table: PrintedTable, columns: Sequence[ColumnReading]) -> tuple[bool, ...]:
    """Of each column, whether its numbers are out of 100.

    A percent sign or a number above 2 says so, and so does a smaller one above 1 unless several other metrics of the
    table are shares, beside which it is an error; so is the only one above 1 among shares with two digits or more. A
    column that never passes 1 follows those that do where it has as many decimals, so that a low percentage is not
    mistaken for a share.
    """
    numbers = [[cell for cell in table.values(index) if cell.value is not None] for index in range(len(columns))]
    most = [max((200.0 if cell.percent else cell.value or 0.0 for cell in cells), default=0.0) for cells in numbers]
    known = [place for place, column in enumerate(columns) if column.metric]
    shares = sum(_A_SHARE < most[place] <= 1 for place in known)
    alone = [_is_alone(cells) for cells in numbers]
    above = [top > (2 if shares > 1 else 1) and not one for top, one in zip(most, alone, strict=True)]
    decimals = {cell.decimals for place in known if above[place] for cell in numbers[place]}
    follows = [bool(cells) and {cell.decimals for cell in cells} <= decimals for cells in numbers]
    return tuple(above[place] or (place in known and follows[place]) for place in range(len(columns)))


def _is_alone(cells: Sequence[PrintedCell]) -> bool:
    """Whether one number of a column is above 1, and all others are shares."""
    above = [cell for cell in cells if (cell.value or 0) > 1 or cell.percent]
    digits = max((cell.decimals for cell in cells), default=0)
    return (
        len(above) == 1 and len(cells) > (2 if (above[0].value or 0) > 2 else 1) and digits > 1 and not above[0].percent
    )
