"""Marks and words that the charts of analyses share: tooltips, columns of text beside rows, cells, spoken numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from surgeval.errors import TableInvalid
from surgeval.report.chart import altair
from surgeval.report.charts._encode import LABEL, chart_data, labelled
from surgeval.report.theme import INK, QUIET, WIDTH_PX, label_px, row_step_px
from surgeval.report.words import column_words

DARK, LIGHT = "#000000", "#ffffff"


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

    Raises:
        TableInvalid: With every column that is missing.
    """
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


def tips(frame: pl.DataFrame, *columns: str) -> list[Any]:
    """Tooltips for those of the columns that the table has; `value .3f` is a column with its number format."""
    tooltips = []
    for column in columns:
        name, _, form = column.partition(" ")
        if name in frame.columns:
            numeric = frame.schema[name].is_numeric()
            tooltips.append(
                altair().Tooltip(
                    name, type="quantitative" if numeric else "nominal", format=form, title=column_words(name)
                )
            )
    return tooltips


def row_scale(order: Sequence[str]) -> Any:
    """A vertical scale with exactly these rows, whatever each layer holds."""
    return altair().Scale(domain=list(order))


def text_beside(base: Any, y: Any, field: str, rows: int, *, x_px: float = WIDTH_PX + 8, **options: Any) -> Any:
    """A column of text to the right of the picture, one entry per row."""
    alt = altair()
    size = label_px(row_step_px(rows))
    marks = base.mark_text(align="left", baseline="middle", fontSize=size, color=INK, clip=False, **options)
    return marks.encode(x=alt.XValue(x_px), y=y, text=alt.Text(f"{field}:N"))


def head_beside(words: str, *, x_px: float = WIDTH_PX + 8) -> Any:
    """The heading of a column of text."""
    alt = altair()
    marks = alt.Chart(alt.Data(values=[{"words": words}])).mark_text(align="left", fontSize=11, color=QUIET)
    return marks.encode(x=alt.XValue(x_px), y=alt.YValue(-8), text=alt.Text("words:N"))


def line_at(value: float, *, dash: Sequence[int] = (), color: str = QUIET) -> Any:
    """A vertical line at a value of the horizontal axis."""
    alt = altair()
    marks = alt.Chart(alt.Data(values=[{"at": value}])).mark_rule(color=color, strokeDash=list(dash), strokeWidth=1)
    return marks.encode(x=alt.X("at:Q"))


def ink_on(share: pl.Expr) -> pl.Expr:
    """The ink that can be read on a cell of the surface scheme, dark at 0 and light at 1."""
    return pl.when(share > 0.55).then(pl.lit(DARK)).otherwise(pl.lit(LIGHT))


def cell_text(cells: pl.DataFrame, x: Any, y: Any, field: str, *, size_px: float = 11) -> list[Any]:
    """The text in cells whose column `ink` says in which ink, one layer per ink."""
    alt = altair()
    layers = []
    for ink in (DARK, LIGHT):
        texts = cells.filter(pl.col("ink") == ink)
        if texts.height:
            marks = alt.Chart(chart_data(texts)).mark_text(fontSize=size_px, color=ink, baseline="middle")
            layers.append(marks.encode(x=x, y=y, text=alt.Text(f"{field}:N")))
    return layers


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


def number(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """A number in words; `unknown` where there is none.

    Example:
        >>> number(0.5), number(-0.25, 2, signed=True), number(None)
        ('0.500', '-0.25', 'unknown')
    """
    if value is None or value != value:
        return "unknown"
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def percent(share: float | None) -> str:
    """A share as a percentage; small ones keep a digit.

    Example:
        >>> percent(0.256), percent(0.004)
        ('26 %', '0.4 %')
    """
    if share is None or share != share:
        return "unknown"
    return f"{share:.1%}".replace("%", " %") if 0 < share < 0.095 else f"{share:.0%}".replace("%", " %")


def amount(count: int, what: str) -> str:
    """A count with its noun: `1 model`, `12 models`.

    Example:
        >>> amount(1, "model"), amount(1200, "model")
        ('1 model', '1,200 models')
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


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
