"""Scores that no metric can take, told by the column and the row in which they stand."""

from __future__ import annotations

import numpy as np
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
    bad = rows.filter((pl.col("value") < low) | (pl.col("value") > high) | pl.col("value").is_infinite())
    if bad.is_empty():
        return []
    row, value = bad.select("row", "value").row(0)
    span = f"outside [{low:g}, {high:g}]" if np.isfinite([low, high]).any() else "that are not finite"
    of = "" if column.casefold() == facts.name.casefold() else f", the range of {facts.name!r}"
    percent = high == 1 and bad["value"].is_between(0, 100).all() and bad.height > rows.height / 2
    hint = "; divide percentages by 100" if percent else ""
    entries = "1 entry" if bad.height == 1 else f"{bad.height} entries"
    return [f"column {column!r} has {entries} {span}{of} (first: row {row}, {value:g}){hint}"]
