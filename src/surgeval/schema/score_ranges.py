"""Scores that no metric can take, told by the column and the row in which they stand."""

from __future__ import annotations

import polars as pl

from surgeval.schema.metric_facts import MetricFacts


def range_problems(rows: pl.DataFrame, column: str, facts: MetricFacts) -> list[str]:
    """What is wrong with scores of one metric that lie outside its range; nothing where none does.

    Args:
        rows: `row`, counted from 1 as the user counts them, and `value`.
        column: Where the scores stand, in the words of the user.
        facts: Of the metric.

    Example:
        >>> from surgeval.schema.metric_facts import facts_by_name
        >>> range_problems(pl.DataFrame({"row": [1, 2], "value": [85, 1]}), "Dice", facts_by_name("dice"))
        ["column 'Dice' has 1 entry outside [0, 1] (first: row 1, 85)"]
    """
    low, high = facts.low, facts.high
    endless = rows.filter(pl.col("value").is_infinite())
    bad = rows.filter(((pl.col("value") < low) | (pl.col("value") > high)) & pl.col("value").is_finite())
    problems = []
    if endless.height:
        are, they = ("is", "it") if endless.height == 1 else ("are", "they")
        hint = f"leave {'it' if endless.height == 1 else 'them'} empty and say with --missing what {they} count"
        hint += "s as" if endless.height == 1 else " as"
        problems.append(f"column {column!r} has {_entries(endless)} that {are} not finite ({_first(endless)}); {hint}")
    if bad.height:
        of = "" if column.casefold() == facts.name.casefold() else f", the range of {facts.name!r}"
        percent = high == 1 and bad["value"].is_between(0, 100).all() and bad.height > rows.height / 2
        hint = "; divide percentages by 100" if percent else ""
        span = f"outside [{low:g}, {high:g}]"
        problems.append(f"column {column!r} has {_entries(bad)} {span}{of} ({_first(bad)}){hint}")
    return problems


def _entries(rows: pl.DataFrame) -> str:
    return "1 entry" if rows.height == 1 else f"{rows.height} entries"


def _first(rows: pl.DataFrame) -> str:
    row, value = rows.select("row", "value").row(0)
    return f"first: row {row}, {value:g}"
