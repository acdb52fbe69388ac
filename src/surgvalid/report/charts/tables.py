"""What all charts share: tables with the columns that a chart needs, labels of rows, numbers in words."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from surgvalid.errors import TableInvalid
from surgvalid.report.drawing.scales import MINUS
from surgvalid.report.words import short_names

LABEL = "label"
"""The column that `labelled` adds."""


def labelled(frame: pl.DataFrame, column: str = "model", *, limit: int = 28) -> pl.DataFrame:
    """The table with a short, distinct, harmless `label` for the names in `column`."""
    names = short_names(frame[column].cast(pl.String).fill_null("(none)").to_list(), limit=limit)
    return frame.with_columns(pl.col(column).cast(pl.String).fill_null("(none)").replace_strict(names).alias(LABEL))


def typed(
    frame: pl.DataFrame, chart: str, *, texts: Sequence[str] = (), numbers: Sequence[str] = (), kept: Sequence[str] = ()
) -> pl.DataFrame:
    """The table with columns as a chart needs them, however its file was read.

    Args:
        frame: The table.
        chart: Whose table it is.
        texts: Columns that become text; a missing name reads `(none)`.
        numbers: Columns that become numbers; what is none, or is not finite, becomes null.
        kept: Columns that become text in which null has a meaning.

    A table without rows may lack columns: what a verb has not found has often none.

    Raises:
        TableInvalid: With every column that is missing.
    """
    if frame.is_empty():
        return pl.DataFrame(schema=dict.fromkeys((*texts, *kept), pl.String) | dict.fromkeys(numbers, pl.Float64))
    absent = [name for name in (*texts, *numbers, *kept) if name not in frame.columns]
    if absent:
        raise TableInvalid(f"table of chart {chart!r}", [f"column {name!r} is missing" for name in absent])
    return frame.with_columns(
        *(pl.col(name).cast(pl.String).fill_null("(none)") for name in texts),
        *(_number(name, frame.schema[name]) for name in dict.fromkeys(numbers)),
        *(pl.col(name).cast(pl.String) for name in kept),
    )


def _number(name: str, kind: pl.DataType) -> pl.Expr:
    if kind.is_integer():
        return pl.col(name)
    value = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(value.is_finite()).then(value).alias(name)


def first_rows(frame: pl.DataFrame, limit: int, what: str) -> tuple[pl.DataFrame, str]:
    """The rows that can be shown, and a sentence about those that cannot (empty where all can).

    Example:
        >>> first_rows(pl.DataFrame({"a": [1, 2, 3]}), 2, "videos")[1]
        ' The first 2 of 3 videos are shown; the saved CSV has all.'
    """
    if frame.height <= limit:
        return frame, ""
    return frame.head(limit), f" The first {limit} of {frame.height:,} {what} are shown; the saved CSV has all."


def chosen_models(frame: pl.DataFrame, order: Sequence[str], limit: int) -> tuple[pl.DataFrame, list[str]]:
    """The rows of the first models of an order, with their labels, and these labels in order."""
    shown = list(order)[:limit]
    rank = {name: place for place, name in enumerate(shown)}
    kept = frame.filter(pl.col("model").is_in(shown))
    kept = labelled(kept.sort(pl.col("model").replace_strict(rank, return_dtype=pl.Int64), maintain_order=True))
    return kept, kept[LABEL].unique(maintain_order=True).to_list()


def distinct(names: Sequence[str]) -> list[str]:
    """The names, repeated ones numbered, so that every row of a table keeps a row of its own.

    Example:
        >>> distinct(["a", "b", "a"])
        ['a', 'b', 'a (2)']
    """
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        labels.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return labels


def level_words(frame: pl.DataFrame) -> str:
    """How the intervals of a table are named: by its column `level`, or as 95 % intervals.

    Example:
        >>> level_words(pl.DataFrame({"level": [0.9]}))
        '90 % intervals'
    """
    level = column(frame, "level")
    given = [] if level is None else level.cast(pl.Float64, strict=False).drop_nulls().to_list()
    known = next((value for value in given if 0 < value < 1), 0.95)
    return f"{100 * known:g} % intervals"


def number(value: float | None, digits: int | None = None, *, signed: bool = False) -> str:
    """A number in words, beyond 1 with one digit; `unknown` where there is none.

    Example:
        >>> number(0.5), number(-0.25, 2, signed=True), number(26.72), number(None)
        ('0.500', '−0.25', '26.7', 'unknown')
    """
    if value is None or value != value:
        return "unknown"
    digits = (1 if abs(value) > 1 else 3) if digits is None else digits
    return (f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}").replace("-", MINUS)


def extremes(values: pl.Series) -> tuple[float, float]:
    """The smallest and the largest number of a column; zeros where it has none.

    Example:
        >>> extremes(pl.Series([3, None, 1])), extremes(pl.Series([], dtype=pl.Float64))
        ((1.0, 3.0), (0.0, 0.0))
    """
    known = values.cast(pl.Float64, strict=False).drop_nulls().drop_nans().sort()
    return (float(known[0]), float(known[-1])) if len(known) else (0.0, 0.0)


def counted(values: pl.Series | None, what: str) -> str:
    """How many units rows rest on: `40 videos`, or `12 to 40 videos`; empty where unknown."""
    if values is None or values.cast(pl.Float64, strict=False).drop_nulls().is_empty():
        return ""
    few, many = extremes(values)
    return f"{few:,.0f} {what}" if few == many else f"{few:,.0f} to {many:,.0f} {what}"


def column(frame: pl.DataFrame, name: str) -> pl.Series | None:
    """The column, or None where the table has none."""
    return frame[name] if name in frame.columns else None


def sizes(frame: pl.DataFrame) -> str:
    """The n of a table: `n = 200 cases of 40 videos`, as far as its columns tell."""
    known = [words for noun in ("cases", "videos") if (words := counted(column(frame, noun), noun))]
    return f"n = {' of '.join(known)}" if known else "n not stated"


def reach(value: float | None, low: float | None, high: float | None, *, signed: bool = False) -> str:
    """A value with its interval, where it has one.

    Example:
        >>> reach(0.8, 0.75, 0.85), reach(0.8, None, None)
        ('0.800 (0.750 to 0.850)', '0.800')
    """
    known = [one for one in (value, low, high) if one is not None]
    digits = 1 if any(abs(one) > 1 for one in known) else 3
    shown, *ends = (number(one, digits, signed=signed) for one in (value, low, high))
    return shown if low is None or high is None else f"{shown} ({' to '.join(ends)})"
