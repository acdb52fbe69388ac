"""Columns of text that hold numbers as people write them: with decimal commas, and with marks where there is none."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

ABSENT = ("NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "null", "None", "-", "--")
"""Marks of a value that is not there."""
_NUMBER = r"^[+-]?\d+([.,]\d+)?([eE][+-]?\d+)?$"
_NEARLY = 0.5
"""Share of cells from which on a column is thought to be of numbers."""


def with_numbers(frame: pl.DataFrame, texts: Collection[str]) -> tuple[pl.DataFrame, list[str]]:
    """The table with such columns as numbers, and a sentence for everything that was not plainly one.

    Args:
        frame: The table.
        texts: Columns that name something, and stay as they are.

    Example:
        >>> with_numbers(pl.DataFrame({"dice": ["0,5", "NA"]}), ())[1]
        ["decimal commas in 'dice' are read as points", "'NA' in 'dice' is read as no score (1 cell)"]
    """
    taken: list[str] = []
    made = {}
    for name in (name for name in frame.columns if name not in texts and frame[name].dtype == pl.String):
        cells = frame[name].str.strip_chars()
        known = cells.filter(cells.is_not_null() & (cells != "") & ~cells.is_in(ABSENT))
        if known.is_empty() or not known.str.contains(_NUMBER).all():
            continue
        if known.str.contains(",", literal=True).any():
            taken.append(f"decimal commas in {name!r} are read as points")
        marks = cells.filter(cells.is_in(ABSENT))
        if len(marks):
            shown = ", ".join(map(repr, marks.unique(maintain_order=True)))
            count = f"{len(marks)} cell{'s' if len(marks) > 1 else ''}"
            taken.append(f"{shown} in {name!r} is read as no score ({count})")
        made[name] = cells.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).fill_nan(None)
    return frame.with_columns(**made), taken


def nearly_numbers(frame: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """What is wrong with the columns of which most cells, but not all, are numbers."""
    problems = []
    for name in (name for name in columns if frame[name].dtype == pl.String):
        cells = frame[name].str.strip_chars()
        wrong = cells.is_not_null() & (cells != "") & ~cells.is_in(ABSENT) & ~cells.str.contains(_NUMBER)
        count, held = int(wrong.sum()), cells.drop_nulls().len()
        if held and count / held < _NEARLY:
            row = int(wrong.arg_true()[0])
            problems.append(
                f"{name!r} could be a score, but row {row + 1} holds {cells[row]!r} ({count} of {held} cells "
                f"{'is' if count == 1 else 'are'} no number{'' if count == 1 else 's'}); leave such cells empty"
            )
    return problems
