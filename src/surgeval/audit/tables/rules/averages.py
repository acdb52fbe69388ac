"""`average`: a printed average is the mean of the numbers it stands beside.

That it is a plain mean is shown by the table itself: where at least half of its averages fit, the others are errors.
Where they do not, an average may be weighted or be of something else, so only what lies outside of all its members is
held against it, and what is merely called overall is only noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from surgeval.audit.tables.cells import READINGS, Reading
from surgeval.audit.tables.rows import SLACK, Rows, number_text
from surgeval.audit.tables.summaries import AVERAGES, LOOSE_AVERAGES, Summary, ends, summaries
from surgeval.audit.tables.vocabulary import Grade, TableFinding


def check(rows: Rows) -> Iterator[TableFinding]:
    """Averages that are not those of their members."""
    for read in rows.tables:
        lines = list(summaries(read.table, AVERAGES, LOOSE_AVERAGES))
        for loose in (False, True):
            yield from _check(read.table.name, [line for line in lines if line.loose is loose])


def _check(table: str, lines: Sequence[Summary]) -> Iterator[TableFinding]:
    misfits = [line for line in lines if not any(_fits(line, reading) for reading in READINGS)]
    fitting = len(lines) - len(misfits)
    if misfits and 2 * fitting >= len(lines) > 1:
        meaning = f"{fitting} of {len(lines)} averages of the table fit"
        yield from (_finding(table, line, Grade.INCONSISTENT, meaning) for line in misfits)
    elif misfits and misfits[0].loose:
        meaning = f"so called, but no mean of its members; {len(misfits)} of {len(lines)} in the table are none"
        yield _finding(table, misfits[0], Grade.NOTE, meaning)
    else:
        yield from (_finding(table, line, *_doubt(line)) for line in misfits)


def _doubt(line: Summary) -> tuple[Grade, str]:
    if _outside(line):
        return Grade.INCONSISTENT, "it lies outside of all its members, so it is no average of them, weighted or not"
    return Grade.SUSPICIOUS, "no plain mean of its members; it may be weighted, or be of other numbers"


def _fits(line: Summary, reading: Reading) -> bool:
    spans = [ends(cell, reading) for cell in line.members]
    low, high = (sum(span[side] for span in spans) / len(spans) for side in (0, 1))
    least, most = ends(line.cell, reading)
    return least <= high + SLACK and most >= low - SLACK


def _outside(line: Summary) -> bool:
    low = min(ends(cell, "rounded")[0] for cell in line.members)
    high = max(ends(cell, "truncated")[1] for cell in line.members)
    return ends(line.cell, "truncated")[1] < low or ends(line.cell, "rounded")[0] > high


def _finding(table: str, line: Summary, grade: Grade, meaning: str) -> TableFinding:
    count, decimals = len(line.members), line.cell.decimals + 2
    mean = sum(cell.value or 0 for cell in line.members) / count
    room = sum(0.5 * 10.0**-cell.decimals for cell in line.members) / count + 0.5 * 10.0**-line.cell.decimals
    return TableFinding(
        grade, "average", table, line.row, line.column, f"{line.column} = {line.cell.text}",
        f"({line.sum_text})/{count} = {number_text(mean, decimals)}; rounding allows a difference of "
        f"{number_text(room, decimals)}, printed {number_text(abs(mean - (line.cell.value or 0)), decimals)} away",
        meaning,
    )  # fmt: skip
