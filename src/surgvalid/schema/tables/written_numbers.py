"""Columns of text that hold numbers as people write them: with commas and points, and with marks where there is none.

A comma may stand before decimals or between thousands, and so may a point: `1,234` is either. What a mark means is
settled by the cells of its column that can be read in one way alone (`0,85`, `1,234.5`), then by the other columns
of the file, then by the caller; where nobody settles it, it is not guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

import polars as pl

from surgvalid.errors import UnknownName
from surgvalid.schema.metric_facts import known_as

Meaning = Literal["decimal", "thousands"]
ABSENT = tuple(
    "NA N/A n/a na n.a. N.A. k.A. n.d. NaN nan NULL null None - -- – — failed Failed FAILED inf Inf INF ∞".split()
)
"""Marks of a value that is not there, of a model that gave nothing, and of a distance to nothing."""
_ANSWERS = {
    **dict.fromkeys("yes true right correct ja richtig oui".split(), 1.0),
    **dict.fromkeys("no false wrong incorrect nein falsch non".split(), 0.0),
}
_MARKS = {",": "comma", ".": "point"}
_POWER = r"([eE][+-]?\d+)?$"
_PLAIN = r"^[+-]?\d+" + _POWER
_NEARLY = 0.5
"""Share of cells from which on a column is thought to be of numbers."""


class Numbers(NamedTuple):
    """A table whose columns of written numbers are numbers."""

    frame: pl.DataFrame
    taken: list[str]
    """A sentence for everything that was not plainly a number."""
    open: dict[str, str]
    """Columns that stay text because two readings fit: what to say, by their names."""
    percent: list[str]
    """Columns that were written with percent signs."""


class _Column(NamedTuple):
    """The cells of a column of written numbers, and what they say about its marks."""

    cells: pl.Series
    """Without percent signs."""
    percent: str
    """The first cell where all of them have one."""
    settled: dict[str, set[Meaning]]
    """By mark: what the cells that allow one reading alone take it for."""
    unsure: dict[str, int]
    """By mark: the first row with a cell that allows both."""


def with_numbers(frame: pl.DataFrame, texts: Collection[str], decimal: str | None = None) -> Numbers:
    """The table with such columns as numbers.

    Args:
        frame: The table.
        texts: Columns that name something, and stay as they are.
        decimal: What stands before decimals (`comma` or `point`), where a column does not show it.

    Raises:
        UnknownName: `decimal` is another word.

    Example:
        >>> with_numbers(pl.DataFrame({"dice": ["0,5", "NA"]}), ()).taken
        ["decimal commas in 'dice' are read as points", "'NA' in 'dice' is read as no score (1 cell)"]
        >>> with_numbers(pl.DataFrame({"latency": ["1,234", "987"]}), (), "point").frame["latency"].to_list()
        [1234.0, 987.0]
    """
    if decimal is not None and decimal not in _MARKS.values():
        raise UnknownName("decimal mark", decimal, _MARKS.values())
    written = {
        name: column
        for name in frame.columns
        if name not in texts and frame[name].dtype == pl.String and (column := _column(frame[name])) is not None
    }
    undecided: dict[str, str] = {}
    made = {name: answers for name in frame.columns if (answers := _answers(frame[name])) is not None}
    taken = [f"words in {name!r} are read as 1 (right) and 0 (wrong)" for name in made]
    for name, column in written.items():
        meanings = {mark: _meaning(mark, name, written, decimal) for mark in _MARKS}
        if problem := _problem(name, column, meanings):
            undecided[name] = problem
            continue
        taken += _sentences(name, column, meanings)
        cells = column.cells.set(column.cells.is_in(ABSENT), None)
        for mark in (mark for mark, meaning in meanings.items() if meaning == "thousands"):
            cells = cells.str.replace_all(mark, "", literal=True)
        numbers = cells.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).fill_nan(None)
        made[name] = numbers / 100 if column.percent else numbers
    percent = [name for name, column in written.items() if column.percent and name in made]
    return Numbers(frame.with_columns(**made), taken, undecided, percent)


def _answers(column: pl.Series) -> pl.Series | None:
    """Right and wrong answers in words as numbers, where a column of a known metric holds them; None elsewhere."""
    if column.dtype != pl.String or not known_as(column.name):
        return None
    cells = column.str.strip_chars()
    numbers = cells.str.to_lowercase().replace_strict(_ANSWERS, default=None, return_dtype=pl.Float64)
    held = len(cells) - int(cells.is_in(("", *ABSENT)).fill_null(True).sum())
    return numbers if 0 < numbers.count() == held else None


def nearly_numbers(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """What is wrong with the columns of which most cells, but not all, are numbers."""
    problems = []
    for name in (name for name in columns if frame[name].dtype == pl.String):
        cells = frame[name].str.strip_chars()
        signs = cells.str.ends_with("%")
        in_percent = bool(signs.any()) and int(signs.sum()) >= _NEARLY * cells.drop_nulls().len()
        cells = cells.str.replace(r"\s*%$", "") if in_percent else cells
        wrong = cells.is_not_null() & (cells != "") & ~cells.is_in(ABSENT) & ~_is_number(cells)
        count, held = int(wrong.sum()), cells.drop_nulls().len()
        bare = (~signs & (cells != "") & ~cells.is_in(ABSENT)).arg_true()
        if not count and in_percent and len(bare):
            problems.append(
                f"{name!r} could be a score, but row {bare[0] + 1} holds {cells[bare[0]]!r} without a percent sign, "
                f"unlike {int(signs.sum())} of {held} cells; write all of them in one way"
            )
        elif count and count / held < _NEARLY:
            row = int(wrong.arg_true()[0])
            problems.append(
                f"{name!r} could be a score, but row {row + 1} holds {cells[row]!r} ({count} of {held} cells "
                f"{'is' if count == 1 else 'are'} no number{'' if count == 1 else 's'}); leave such cells empty"
            )
    return problems


def _other(mark: str) -> str:
    return next(one for one in _MARKS if one != mark)


def _either(cells: pl.Series, mark: str) -> pl.Series:
    """Which cells are `1,234`: a number with decimals, or one thousand and something."""
    return cells.str.contains(rf"^[+-]?[1-9]\d{{0,2}}[{mark}]\d{{3}}$")


def _before_decimals(cells: pl.Series, mark: str) -> pl.Series:
    grouped = rf"[1-9]\d{{0,2}}([{_other(mark)}]\d{{3}})+"
    return cells.str.contains(rf"^[+-]?(\d+|{grouped})[{mark}]\d+{_POWER}") & ~_either(cells, mark)


def _between_thousands(cells: pl.Series, mark: str) -> pl.Series:
    group = rf"[{mark}]\d{{3}}"
    return cells.str.contains(rf"^[+-]?[1-9]\d{{0,2}}(({group})+[{_other(mark)}]\d+|({group}){{2,}})$")


def _is_number(cells: pl.Series) -> pl.Series:
    is_one = cells.str.contains(_PLAIN)
    for mark in _MARKS:
        is_one = is_one | _either(cells, mark) | _before_decimals(cells, mark) | _between_thousands(cells, mark)
    return is_one


def _column(column: pl.Series) -> _Column | None:
    """The column if all its cells are numbers, empty, or marks of a value that is not there."""
    cells = column.str.strip_chars()
    known = cells.filter(cells.is_not_null() & (cells != "") & ~cells.is_in(ABSENT))
    percent = str(known[0]) if len(known) and known.str.ends_with("%").all() else ""
    if percent:
        cells, known = (some.str.replace(r"\s*%$", "") for some in (cells, known))
    if known.is_empty() or not _is_number(known).all():
        return None
    settled: dict[str, set[Meaning]] = {mark: set() for mark in _MARKS}
    for mark, meanings in settled.items():
        if _before_decimals(known, mark).any():
            meanings.add("decimal")
        if _between_thousands(known, mark).any():
            meanings.add("thousands")
    rows = {mark: _either(cells, mark).arg_true() for mark in _MARKS}
    return _Column(cells, percent, settled, {mark: int(places[0]) for mark, places in rows.items() if len(places)})


def _meaning(mark: str, name: str, written: Mapping[str, _Column], decimal: str | None) -> Meaning | None:
    """What a mark in a column stands for; None where it is not there, or nobody knows."""
    column = written[name]
    if len(column.settled[mark]) == 1:
        return next(iter(column.settled[mark]))
    if column.settled[mark] or mark not in column.unsure:
        return None
    if decimal is not None:
        return "decimal" if decimal == _MARKS[mark] else "thousands"
    if len(others := {meaning for one in written.values() for meaning in one.settled[mark]}) == 1:
        return others.pop()
    commas = any("decimal" in one.settled[","] for one in written.values())
    return "decimal" if mark == "." and not others and not commas else None  # as everything else reads a point


def _problem(name: str, column: _Column, meanings: Mapping[str, Meaning | None]) -> str:
    """Why the cells of a column cannot be read; empty where they can."""
    for mark, meaning in meanings.items():
        word = _MARKS[mark]
        if len(column.settled[mark]) > 1:
            return (
                f"{word}s in {name!r} stand before decimals in some cells and between thousands in others; "
                "write all of them in one way"
            )
        if meaning is None and mark in column.unsure:
            row = column.unsure[mark]
            cell = column.cells[row]
            sign = "%" if column.percent else ""
            small, large = cell.replace(mark, ".") + sign, cell.replace(mark, "") + sign
            return (
                f"{cell + sign!r} in {name!r} (row {row + 1}) can be read in two ways: as {small} (--decimal {word}) "
                f"or as {large} (--decimal {_MARKS[_other(mark)]}); say which"
            )
    return ""


def _number(cell: str, meanings: Mapping[str, Meaning | None]) -> float:
    for mark, meaning in meanings.items():
        cell = cell.replace(mark, "") if meaning == "thousands" else cell
    return float(cell.replace(",", "."))


def _sentences(name: str, column: _Column, meanings: Mapping[str, Meaning | None]) -> list[str]:
    sentences = [f"decimal commas in {name!r} are read as points"] if meanings[","] == "decimal" else []
    for mark, word in _MARKS.items():
        if meanings[mark] == "thousands":
            cell = next(cell for cell in column.cells if cell and mark in cell)
            number = _number(cell, meanings)
            sentences.append(f"{word}s in {name!r} stand between thousands: {cell!r} is read as {number:.15g}")
    if column.percent:
        number = _number(column.percent.rstrip("%").strip(), meanings) / 100
        sentences.append(f"percent signs in {name!r} are read as hundredths: {column.percent!r} is {number:.12g}")
    marks = column.cells.filter(column.cells.is_in(ABSENT))
    if len(marks):
        shown = ", ".join(map(repr, marks.unique(maintain_order=True)))
        count = f"{len(marks)} cell{'s' if len(marks) > 1 else ''}"
        sentences.append(f"{shown} in {name!r} is read as no score ({count})")
    return sentences
