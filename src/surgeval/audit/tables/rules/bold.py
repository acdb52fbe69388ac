"""`bold-not-best`: bold marks the best number of a column, or of its section of rows.

That bold is used so is shown by the other columns of the table. Whole rows in bold, as authors mark their own method,
are only suspicious. Equal printed numbers of which one is bold are no finding: more digits may tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from surgeval.audit.tables.cells import Cell
from surgeval.audit.tables.rows import SLACK, ReadTable, Rows
from surgeval.audit.tables.vocabulary import Grade, TableFinding

_WHOLE_ROW = 3
"""Bold cells that make a whole row."""


def check(rows: Rows) -> Iterator[TableFinding]:
    """Bold numbers that another one beats."""
    for read in rows.tables:
        yield from _check(read)


def _check(read: ReadTable) -> Iterator[TableFinding]:
    table = read.table
    beaten, meant = [], 0
    for column in read.columns:
        cells = table.values(column.place)
        marked = [row for row, cell in enumerate(cells) if cell.bold and cell.value is not None]
        if not marked or len(marked) == sum(cell.value is not None for cell in cells):
            continue
        worse = [(row, better) for row in marked if (better := _better(read, column.place, row)) is not None]
        smaller = not column.metric and _smallest(cells, marked)
        meant += smaller or not worse
        beaten += [] if smaller else [(column.place, row, better) for row, better in worse]
    for index, row, better in beaten:
        name = table.column_name(index)
        bold = [cell.bold for cell in table.cells[row] if cell.value is not None]
        sure = meant > 0 and not (all(bold) and len(bold) >= _WHOLE_ROW)
        yield TableFinding(
            Grade.INCONSISTENT if sure else Grade.SUSPICIOUS, "bold-not-best", table.name, table.rows[row], name,
            f"{name} = {table.cells[row][index].text} in bold",
            f"{table.cells[better][index].text} ({table.rows[better]}) > {table.cells[row][index].text}",
            f"bold is best in {meant} other columns of the table" if meant else "bold may mean something else here",
        )  # fmt: skip


def _better(read: ReadTable, index: int, row: int) -> int | None:
    """The best row of the column where it beats this one both in its section and in the whole table."""
    cells, sections = read.table.values(index), read.table.sections
    numbered = [number for number, cell in enumerate(cells) if cell.value is not None]
    inside = [number for number in numbered if sections[number] == sections[row]]
    best = [max(group, key=lambda number: cells[number].value or 0.0) for group in (inside, numbered)]
    return best[0] if all(_beats(cells[number], cells[row]) for number in best) else None


def _beats(one: Cell, other: Cell) -> bool:
    """Whether a number is larger however both were rounded."""
    room = 0.5 * (10.0**-one.decimals + 10.0**-other.decimals)
    return (one.value or 0.0) - (other.value or 0.0) >= room - SLACK


def _smallest(cells: list[Cell], marked: list[int]) -> bool:
    least = min(cell.value for cell in cells if cell.value is not None)
    return any(cells[row].value == least for row in marked)
