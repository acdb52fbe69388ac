"""Values and differences with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.tables import (
    LABEL,
    column,
    distinct,
    first_rows,
    labelled,
    level_words,
    number,
    reach,
    sizes,
    typed,
)
from surgvalid.report.drawing.rows import Key, Mark, RowsImage, Upright
from surgvalid.report.words import count_of, plain

MOST_PAIRS = 100


def value_intervals(
    frame: pl.DataFrame,
    *,
    name: str = "value-intervals",
    title: str = "Values with 95 % intervals",
    estimand: str = "mean over questions",
    unit: str = "videos",
    largest_is_best: bool | None = True,
) -> Chart:
    """One row per model: its value and interval, the best on top, or the largest where nobody said which is best.

    Args:
        frame: Columns `model`, `value`, `low`, `high`, and `n` (independent units) where known.
        name: Of the chart.
        title: Of the chart.
        estimand: What the value estimates.
        unit: The independent unit that was resampled.
        largest_is_best: Which end of the axis is good; None where nobody said.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has a value")
    frame = typed(frame, name, texts=("model",), numbers=("value", "low", "high"))
    top, from_large = "best" if largest_is_best is not None else "largest", largest_is_best is not False
    rows = labelled(frame.sort("value", descending=from_large, nulls_last=True))
    level = level_words(frame)
    image = RowsImage(
        tuple(rows[LABEL]),
        tuple(_mark(place, row) for place, row in enumerate(rows.iter_rows(named=True))),
        axis=f"{plain(estimand)} (bars: {level.removesuffix('s')})",
        beside=(("", tuple(number(value) for value in rows["value"])),),
    )
    caption = f"Points: {estimand}. Bars: {level} over {unit}{_units(rows, unit)}."
    return Chart(name, title, _spoken(rows, estimand, top), caption, frame, image)


def _mark(place: int, row: dict[str, Any]) -> Mark:
    words = f"{row[LABEL]}: {reach(row['value'], row['low'], row['high'])}"
    return Mark(place, row["value"], row["low"], row["high"], words=words)


def _units(rows: pl.DataFrame, unit: str) -> str:
    if "n" not in rows.columns or rows["n"].null_count() == rows.height:
        return ""
    counts = [int(n) for n in rows["n"].drop_nulls()]
    few, many = min(counts), max(counts)
    return f" (n = {few} {unit})" if few == many else f" (n = {few} to {many} {unit})"


def _spoken(rows: pl.DataFrame, estimand: str, top: str) -> str:
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    best = f"{first[LABEL]} {reach(first['value'], first['low'], first['high'])}"
    if rows.height == 1:
        return f"{estimand} of one model: {best}."
    return f"{estimand} of {rows.height} models, {top} first: {best} to {last[LABEL]} {number(last['value'])}."


def difference_intervals(
    frame: pl.DataFrame,
    *,
    name: str = "difference-intervals",
    title: str = "Differences between models",
    unit: str = "videos",
    by: Sequence[str] = (),
) -> Chart:
    """One row per pair of models: the difference and its interval, the largest on top.

    Args:
        frame: Tables of `compare`, one below the other: columns `model_a`, `model_b`, `difference`, `low`, `high`,
            and `favours`, `p_value`, `statistic`, `cases`, `videos` where known.
        name: Of the chart.
        title: Of the chart.
        unit: The independent unit that was resampled.
        by: Columns of the slices, where pairs were compared slice by slice.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no pair of models was compared")
    frame = typed(frame, name, texts=("model_a", "model_b", *by), numbers=("difference", "low", "high"))
    clear = ((pl.col("low") > 0) | (pl.col("high") < 0)).fill_null(False)
    size = pl.col("difference").abs()
    largest, note = first_rows(
        frame.with_columns(clear=clear).sort(size, descending=True, nulls_last=True, maintain_order=True),
        MOST_PAIRS,
        "pairs",
    )
    pairs = distinct([_pair_name(row, by) for row in largest.iter_rows(named=True)])
    rows = labelled(largest.with_columns(pl.Series("pair", pairs)), "pair", limit=60)
    first = rows.row(0, named=True)
    rows = rows.sort("difference", descending=True, nulls_last=True, maintain_order=True)
    number_clear = frame.filter(clear).height
    return Chart(
        name,
        title,
        f"Differences of {count_of(frame.height, 'pair')} of models; the intervals of {number_clear:,} exclude zero. "
        f"Largest: {first[LABEL]} {reach(first['difference'], first['low'], first['high'], signed=True)}.{note}",
        f"Points: {statistic_of(frame)} of the first model minus the second, on the cases both were scored on. "
        f"Bars: {level_words(frame)} over {unit} ({sizes(frame)}), not adjusted for the "
        f"number of pairs. Filled, blue: the interval excludes zero ({number_clear:,} of {frame.height:,}); "
        f"hollow, grey: it does not.{note}",
        frame,
        _differences(rows),
    )


def _differences(rows: pl.DataFrame) -> RowsImage:
    marks = [
        Mark(
            place,
            row["difference"],
            row["low"],
            row["high"],
            "blue" if row["clear"] else "quiet",
            hollow=not row["clear"],
            words=f"{row[LABEL]}: {reach(row['difference'], row['low'], row['high'], signed=True)}",
        )
        for place, row in enumerate(rows.iter_rows(named=True))
    ]
    return RowsImage(
        tuple(rows[LABEL]),
        tuple(marks),
        axis=f"difference, first minus second (bars: {level_words(rows)})",
        beside=(("", tuple(number(value, signed=True) for value in rows["difference"])),),
        uprights=(Upright(0.0),),
        legend=(Key("interval excludes zero"), Key("interval includes zero", "quiet", hollow=True)),
    )


def _pair_name(row: dict[str, Any], by: Sequence[str]) -> str:
    slices = "".join(f", {plain(row[name], limit=14)}" for name in by)
    first, second = (plain(row[side], limit=20) or "(no name)" for side in ("model_a", "model_b"))
    return f"{first} − {second}{slices}"


def statistic_of(frame: pl.DataFrame) -> str:
    """What the values of a table are, where it says so."""
    named = column(frame, "statistic")
    return plain(named[0], limit=30) if named is not None and len(named) else "value"
