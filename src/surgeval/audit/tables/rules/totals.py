"""`total`: a printed total is the sum of the numbers it stands beside, such as the splits of a data set.

As with averages, the table itself shows whether its totals are sums. Counts are exact; other numbers are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator

from surgeval.audit.tables.cells import READINGS, Reading
from surgeval.audit.tables.rows import SLACK, Rows, number_text
from surgeval.audit.tables.summaries import TOTALS, Summary, are_counts, ends, summaries
from surgeval.audit.tables.vocabulary import Grade, TableFinding


def check(rows: Rows) -> Iterator[TableFinding]:
    """Totals that are not the sums of their members."""
    for read in rows.tables:
        lines = list(summaries(read.table, TOTALS))
        misfits = [line for line in lines if not any(_fits(line, reading) for reading in READINGS)]
        plain = 2 * len(misfits) <= len(lines) if len(lines) > 1 else all(are_counts(line.members) for line in lines)
        for line in misfits:
            yield _finding(read.table.name, line, f"{len(lines) - len(misfits)} of {len(lines)}", plain)


def _fits(line: Summary, reading: Reading) -> bool:
    exact = are_counts((*line.members, line.cell))
    spans = [ends(cell, reading, exact=exact) for cell in line.members]
    low, high = (sum(span[side] for span in spans) for side in (0, 1))
    least, most = ends(line.cell, reading, exact=exact)
    return least <= high + SLACK and most >= low - SLACK


def _finding(table: str, line: Summary, share: str, plain: bool) -> TableFinding:
    total = sum(cell.value or 0 for cell in line.members)
    decimals = max(cell.decimals for cell in (*line.members, line.cell))
    meaning = f"{share} totals of the table are the sums of their members" if plain else "no sum of its members"
    return TableFinding(
        Grade.INCONSISTENT if plain else Grade.NOTE, "total", table, line.row, line.column,
        f"{line.column} = {line.cell.text}",
        f"{line.sum_text} = {number_text(total, decimals)}, printed {line.cell.text}", meaning,
    )  # fmt: skip
