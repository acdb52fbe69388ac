"""`repeated-table` and `repeated-row`: the same numbers printed twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from surgeval.audit.tables.rows import ReadTable, Rows
from surgeval.audit.tables.rules.degenerate import degenerate_rows
from surgeval.audit.tables.vocabulary import Grade, TableFinding

_FEWEST_CELLS = 6
_FEWEST_COLUMNS = 4
_FEWEST_VALUES = 3
"""What must be equal before it is worth a word: cells of tables, columns and different numbers of rows."""


def check(rows: Rows) -> Iterator[TableFinding]:
    """Tables and rows that repeat others."""
    yield from _tables(rows)
    explained: dict[int, set[int]] = defaultdict(set)
    for one in degenerate_rows(rows):
        explained[int(rows.table[one.entry])].add(int(rows.row[one.entry]))
    for number, read in enumerate(rows.tables):
        yield from _rows(read, explained[number])


def _tables(rows: Rows) -> Iterator[TableFinding]:
    first: dict[object, str] = {}
    for read in rows.tables:
        table = read.table
        content = tuple(tuple(cell.text for cell in row) for row in table.cells)
        count = sum(cell.value is not None for row in table.cells for cell in row)
        if count < _FEWEST_CELLS or len({text for row in content for text in row}) < _FEWEST_VALUES:
            continue
        if (earlier := first.setdefault((table.columns, table.rows, content), table.name)) != table.name:
            yield TableFinding(
                Grade.SUSPICIOUS, "repeated-table", table.name, "", "", f"{count} numbers",
                f"all {count} are those of table {earlier}",
                "one table was printed twice, or stands in the place of another",
            )  # fmt: skip


def _rows(read: ReadTable, explained: set[int]) -> Iterator[TableFinding]:
    table = read.table
    same: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(table.cells):
        texts = tuple(cell.text for cell in row if cell.value is not None)
        if len(texts) >= _FEWEST_COLUMNS and len(set(texts)) >= _FEWEST_VALUES:
            same[texts].append(number)
    for texts, numbers in same.items():
        if len(numbers) < 2:
            continue
        both = set(numbers) <= explained
        names = [table.rows[number] for number in numbers]
        yield TableFinding(
            Grade.NOTE if both else Grade.SUSPICIOUS, "repeated-row", table.name, ", ".join(names), "",
            ", ".join(texts), f"all {len(texts)} numbers are equal",
            "both read as the same degenerate predictor" if both else "one row may stand in the place of another",
        )  # fmt: skip
