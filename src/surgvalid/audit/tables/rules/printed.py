"""What a table prints beside its own numbers: repeats, bold, averages and totals.

- `repeated-table` and `repeated-row`: the same numbers printed twice.
- `bold-not-best`: bold marks the best number of a column, or of its section of rows. That bold is used so is shown by
  the other columns of the table. Whole rows in bold, as authors mark their own method, are only suspicious. Equal
  printed numbers of which one is bold are no finding: more digits may tell them apart.
- `average`: a printed average is the mean of the numbers it stands beside. That it is a plain mean is shown by the
  table itself: where at least half of its averages fit, the others are errors. Where they do not, an average may be
  weighted or be of something else, so only what lies outside of all its members is held against it, and what is merely
  called overall is only noted.
- `total`: a printed total is the sum of the numbers it stands beside, such as the splits of a data set. As with
  averages, the table itself shows whether its totals are sums. Counts are exact; other numbers are rounded.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from surgvalid.audit.tables.cells import READINGS, PrintedCell, Reading
from surgvalid.audit.tables.layout import PrintedTable
from surgvalid.audit.tables.rows import SLACK, PrintedRows, ReadTable, number_text
from surgvalid.audit.tables.rules.constant_predictors import degenerate_rows
from surgvalid.audit.tables.rules.possible_counts import P_VALUE
from surgvalid.audit.tables.vocabulary import Grade, TableFinding

AVERAGES = frozenset({"avg", "average", "mean", "macro avg", "macro average"})
LOOSE_AVERAGES = frozenset({"overall", "all"})
"""Names that may mean an average."""
TOTALS = frozenset({"total", "sum", "totals"})
_BESIDE = frozenset({"accuracy", "micro avg", "micro average", "weighted avg", "weighted average", "samples avg"})
"""What reports of classifiers print among averages; members of none."""


class PrintedSummary(NamedTuple):
    """One printed average or total, and the numbers beside or above it."""

    row: int
    column: int
    cell: PrintedCell
    members: tuple[PrintedCell, ...]
    loose: bool

    @property
    def sum_text(self) -> str:
        """The members with plus signs between them."""
        return " + ".join(cell.text for cell in self.members)


def summaries(
    table: PrintedTable, names: frozenset[str], loose: frozenset[str] = frozenset()
) -> Iterator[PrintedSummary]:
    """Every printed summary of one of these names that has at least two members, all of them numbers."""
    headings = [path[-1] for path in table.columns]
    groups = [path[:-1] for path in table.columns]
    rows = [name.rpartition(" / ")[2] for name in table.rows]
    every = names | loose  # the corner where a row and a column of them meet is of neither
    for at, members in _blocks(headings, groups, every):
        for number, row in enumerate(table.cells):
            if _word(rows[number]) not in every:
                yield from _summary(table, number, at, [row[index] for index in members], _word(headings[at]) in loose)
    for at, members in _blocks(rows, table.sections, every):
        for index, heading in enumerate(headings):
            if _word(heading) not in every:
                column = table.values(index)
                yield from _summary(table, at, index, [column[number] for number in members], _word(rows[at]) in loose)


def _summary(
    table: PrintedTable, row: int, column: int, members: list[PrintedCell], loose: bool
) -> Iterator[PrintedSummary]:
    cell = table.cells[row][column]
    if cell.value is not None and len(members) > 1 and all(member.value is not None for member in members):
        yield PrintedSummary(row, column, cell, tuple(members), loose)


def _blocks(texts: Sequence[str], groups: Sequence[object], names: frozenset[str]) -> Iterator[tuple[int, list[int]]]:
    """Each place with one of the names, and the places of its group before it, back to the one before."""
    for at, text in enumerate(texts):
        if _word(text) not in names:
            continue
        members: list[int] = []
        for before in range(at - 1, -1, -1):
            if groups[before] != groups[at] or _word(texts[before]) in names | AVERAGES | LOOSE_AVERAGES | TOTALS:
                break
            if _word(texts[before]) not in _BESIDE:
                members.insert(0, before)
        yield at, members


def _word(text: str) -> str:
    return " ".join(re.sub(r"[^a-z]+", " ", text.lower()).split())


def ends(cell: PrintedCell, reading: Reading, *, exact: bool = False) -> tuple[float, float]:
    """The least and the greatest number that is printed so."""
    half = 0.0 if exact else 0.5 * 10.0**-cell.decimals
    value = cell.value or 0.0
    return (value - half, value + half) if reading == "rounded" else (value, value + 2 * half)


def are_counts(cells: Sequence[PrintedCell]) -> bool:
    """Whether numbers are counts, which nobody rounds: all whole, and one has marks at thousands or is above 100."""
    whole = all(cell.decimals == 0 and not cell.percent for cell in cells)
    return whole and any(cell.grouped or abs(cell.value or 0) > 100 for cell in cells)


_FEWEST_CELLS = 6
_FEWEST_COLUMNS = 4
_FEWEST_VALUES = 3
_FEWEST_DECIMALS = 9
"""What must be equal before it is worth a word: cells of tables; columns or decimals, and different numbers of rows."""


def repeats(rows: PrintedRows) -> Iterator[TableFinding]:
    """Tables and rows that repeat others."""
    yield from _repeated_tables(rows)
    explained: dict[int, set[int]] = defaultdict(set)
    for one in degenerate_rows(rows):
        explained[int(rows.table[one.entry])].add(int(rows.row[one.entry]))
    for number, read in enumerate(rows.tables):
        yield from _repeated_rows(read, explained[number])


def _repeated_tables(rows: PrintedRows) -> Iterator[TableFinding]:
    first: dict[object, str] = {}
    for read in rows.tables:
        table = read.table
        content = tuple(tuple(cell.text for cell in row) for row in table.cells)
        count = sum(cell.value is not None for row in table.cells for cell in row)
        if count < _FEWEST_CELLS or len({text for row in content for text in row}) < _FEWEST_VALUES:
            continue
        if (earlier := first.setdefault((table.columns, table.rows, content), table.name)) != table.name:
            text = f"all {count} numbers are those of table {earlier}"
            meaning = "one table was printed twice, or stands in the place of another"
            yield read.finding(Grade.SUSPICIOUS, "repeated-table", [], [], text, meaning)


def _repeated_rows(read: ReadTable, explained: set[int]) -> Iterator[TableFinding]:
    table = read.table
    same: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, row in enumerate(table.cells):
        texts = tuple(cell.text for cell in row if cell.value is not None)
        many = len(texts) >= _FEWEST_COLUMNS or sum(cell.decimals for cell in row) >= _FEWEST_DECIMALS
        if many and len(set(texts)) >= _FEWEST_VALUES:
            same[texts].append(number)
    for texts, numbers in same.items():
        if len(numbers) < 2:
            continue
        grade, meaning = Grade.SUSPICIOUS, "one row may stand in the place of another"
        if set(numbers) <= explained:
            grade, meaning = Grade.NOTE, "both read as the same degenerate predictor"
        text = f"all {len(texts)} numbers are equal ({', '.join(texts)})"
        yield read.finding(grade, "repeated-row", numbers, [], text, meaning)


_WHOLE_ROW = 3
"""Bold cells that make a whole row."""


def bold(rows: PrintedRows) -> Iterator[TableFinding]:
    """Bold numbers that another one beats."""
    for read in rows.tables:
        yield from _bold_in(read)


def _bold_in(read: ReadTable) -> Iterator[TableFinding]:
    table = read.table
    beaten, meant = [], 0
    for column in read.columns:
        cells = table.values(column.place)
        marked = [row for row, cell in enumerate(cells) if cell.bold and cell.value is not None]
        if not marked or len(marked) == sum(cell.value is not None for cell in cells):
            continue
        worse = [(row, better) for row in marked if (better := _best_beside(read, column.place, row)) is not None]
        smaller = not column.metric and _smallest(cells, marked)
        meant += smaller or not worse
        beaten += [] if smaller else [(column.place, row, better) for row, better in worse]
    for index, row, better in beaten:
        bold = [cell.bold for cell in table.cells[row] if cell.value is not None]
        sure = meant > 0 and not (all(bold) and len(bold) >= _WHOLE_ROW)
        text = f"{table.cells[better][index].text} ({table.rows[better]}) > {table.cells[row][index].text}"
        meaning = f"bold is best in {meant} other columns of the table" if meant else "bold may mean something else"
        grade = Grade.INCONSISTENT if sure else Grade.SUSPICIOUS
        yield read.finding(grade, "bold-not-best", [row], [index], text, meaning)


def _best_beside(read: ReadTable, index: int, row: int) -> int | None:
    """The best row of the table where this one is beaten both in its section and in the whole table."""
    cells, sections = read.table.values(index), read.table.sections
    numbered = [number for number, cell in enumerate(cells) if cell.value is not None]
    inside = [number for number in numbered if sections[number] == sections[row]]
    best = [max(group, key=lambda number: cells[number].value or 0.0) for group in (inside, numbered)]
    return best[1] if all(_beats(cells[number], cells[row]) for number in best) else None


def _beats(one: PrintedCell, other: PrintedCell) -> bool:
    """Whether a number is larger however both were rounded."""
    room = 0.5 * (10.0**-one.decimals + 10.0**-other.decimals)
    return (one.value or 0.0) - (other.value or 0.0) >= room - SLACK


def _smallest(cells: list[PrintedCell], marked: list[int]) -> bool:
    least = min(cell.value for cell in cells if cell.value is not None)
    return any(cells[row].value == least for row in marked)


def averages(rows: PrintedRows) -> Iterator[TableFinding]:
    """Averages that are not those of their members."""
    for read in rows.tables:
        every = summaries(read.table, AVERAGES, LOOSE_AVERAGES)
        heads = [path[-1] for path in read.table.columns]
        of_p = {one.place for one in read.columns if not one.metric and P_VALUE.fullmatch(heads[one.place])}
        lines = [line for line in every if not _is_whole_sum(line) and line.column not in of_p]
        for loose in (False, True):
            yield from _averages_of(read, [line for line in lines if line.loose is loose])


def _averages_of(read: ReadTable, lines: Sequence[PrintedSummary]) -> Iterator[TableFinding]:
    misfits = [line for line in lines if not any(_meets(line, one, 1 / len(line.members)) for one in READINGS)]
    fitting = len(lines) - len(misfits)
    if misfits and 2 * fitting >= len(lines) > 1:
        meaning = f"{fitting} of {len(lines)} averages of the table fit"
        yield from (_average_finding(read, line, Grade.INCONSISTENT, meaning) for line in misfits)
    elif misfits and misfits[0].loose:
        meaning = f"so called, but no mean of its members; {len(misfits)} of {len(lines)} in the table are none"
        yield _average_finding(read, misfits[0], Grade.NOTE, meaning)
    else:
        yield from (_average_finding(read, line, *_doubt(line)) for line in misfits)


def _doubt(line: PrintedSummary) -> tuple[Grade, str]:
    if _outside(line):
        return Grade.INCONSISTENT, "it lies outside of all its members, so it is no average of them, weighted or not"
    return Grade.SUSPICIOUS, "no plain mean of its members; it may be weighted, or be of other numbers"


def _meets(line: PrintedSummary, reading: Reading, weight: float, *, exact: bool = False) -> bool:
    """Whether the sum of the members, times a weight, may be what is printed."""
    spans = [ends(cell, reading, exact=exact) for cell in line.members]
    low, high = (weight * sum(span[side] for span in spans) for side in (0, 1))
    least, most = ends(line.cell, reading, exact=exact)
    return least <= high + SLACK and most >= low - SLACK


def _outside(line: PrintedSummary) -> bool:
    low = min(ends(cell, "rounded")[0] for cell in line.members)
    high = max(ends(cell, "truncated")[1] for cell in line.members)
    return ends(line.cell, "truncated")[1] < low or ends(line.cell, "rounded")[0] > high


def _average_finding(read: ReadTable, line: PrintedSummary, grade: Grade, meaning: str) -> TableFinding:
    count, decimals = len(line.members), line.cell.decimals + 2
    mean = sum(cell.value or 0 for cell in line.members) / count
    room = sum(0.5 * 10.0**-cell.decimals for cell in line.members) / count + 0.5 * 10.0**-line.cell.decimals
    text = (
        f"({line.sum_text})/{count} = {number_text(mean, decimals)}; rounding allows a difference of "
        f"{number_text(room, decimals)}, printed {number_text(abs(mean - (line.cell.value or 0)), decimals)} away"
    )
    return read.finding(grade, "average", [line.row], [line.column], text, meaning)


def totals(rows: PrintedRows) -> Iterator[TableFinding]:
    """Totals that are not the sums of their members."""
    for read in rows.tables:
        of_rows = [_word(path[-1]) in TOTALS for path in read.table.columns]
        lines = list(summaries(read.table, TOTALS))
        for across in (False, True):
            yield from _totals_of(read, [line for line in lines if of_rows[line.column] is across])


def _totals_of(read: ReadTable, lines: Sequence[PrintedSummary]) -> Iterator[TableFinding]:
    sums = [_adding(line) for line in lines]
    misfits = [line for line, adding in zip(lines, sums, strict=True) if adding is None]
    plain = 2 * len(misfits) <= len(lines) if len(lines) > 1 else all(are_counts(line.members) for line in lines)
    for line in misfits:
        share = f"{len(lines) - len(misfits)} of {len(lines)} totals of the table are the sums of their members"
        yield _total_finding(read, line, share if plain else "no sum of its members", plain)
    for line in filter(None, sums):
        named = f"{read.table.title} {read.table.column_name(line.column)}"
        if _is_rounded(line) and not _SHARES.search(named):
            yield _total_finding(read, line, "no sum of its members, if they are counts and not rounded", plain=False)


_SHARES = re.compile(r"%|percent|share|proportion|rate", re.IGNORECASE)


def _adding(line: PrintedSummary) -> PrintedSummary | None:
    """The summary with the members that add up, all or the last of them: those before may count something else."""
    exact, count = are_counts((*line.members, line.cell)), len(line.members)
    last = (line._replace(members=line.members[start:]) for start in range(count - 1))
    return next((one for one in last if any(_meets(one, reading, 1.0, exact=exact) for reading in READINGS)), None)


def _is_whole_sum(line: PrintedSummary) -> bool:
    """Whether whole numbers add up: cases in a row of averages are counted, not averaged."""
    return _adding(line) is not None and not any(cell.decimals or cell.percent for cell in (*line.members, line.cell))


def _is_rounded(line: PrintedSummary) -> bool:
    """Whether whole numbers add up by rounding only, as counts do not; what adds up to 100 may be percent."""
    whole = not any(cell.decimals or cell.percent for cell in (*line.members, line.cell))
    return whole and line.cell.value != 100 and not _meets(line, "rounded", 1.0, exact=True)


def _total_finding(read: ReadTable, line: PrintedSummary, meaning: str, plain: bool) -> TableFinding:
    total = sum(cell.value or 0 for cell in line.members)
    decimals = max(cell.decimals for cell in (*line.members, line.cell))
    text = f"{line.sum_text} = {number_text(total, decimals)}, printed {line.cell.text}"
    grade = Grade.INCONSISTENT if plain else Grade.NOTE
    return read.finding(grade, "total", [line.row], [line.column], text, meaning)
