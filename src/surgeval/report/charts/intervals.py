"""Values with their intervals: one row per model, the point, and the range that resampling whole videos leaves."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.theme import ACCENT, WIDTH_PX


def value_intervals(
    frame: pl.DataFrame,
    *,
    name: str = "value-intervals",
    title: str = "Values with 95 % intervals",
    estimand: str = "mean over questions",
    unit: str = "videos",
    largest_is_best: bool = True,
) -> Chart:
    """One row per model: its value and interval, the best on top.

    Args:
        frame: Columns `model`, `value`, `ci_low`, `ci_high`, and `n` (independent units) where known.
        name: Of the chart.
        title: Of the chart.
        estimand: What the value estimates.
        unit: The independent unit that was resampled.
        largest_is_best: Which end of the axis is good.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has a value")
    alt = altair()
    rows = labelled(frame.sort("value", descending=largest_is_best, nulls_last=True))
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(rows.height))
    y = rows_axis(rows[LABEL].to_list())
    tips = [alt.Tooltip(f"{column}:{kind}", format=form) for column, kind, form in _TIPS if column in rows.columns]
    x = alt.X("ci_low:Q", title=f"{estimand} (bars: 95 % interval)", scale=alt.Scale(zero=False, padding=8))
    span = base.mark_rule(strokeWidth=2, color=ACCENT).encode(y=y, x=x, x2="ci_high:Q", tooltip=tips)
    point = base.mark_point(filled=True, size=45, color=ACCENT, opacity=1).encode(y=y, x="value:Q", tooltip=tips)
    return drawn(
        name, alt.layer(span, point), title=title, alt=_spoken(rows, estimand),
        caption=f"Points: {estimand}. Bars: 95 % intervals from resampling whole {unit}{_units(rows, unit)}.",
        data=frame,
    )  # fmt: skip


_TIPS = (("model", "N", ""), ("value", "Q", ".3f"), ("ci_low", "Q", ".3f"), ("ci_high", "Q", ".3f"), ("n", "Q", ""))


def _units(rows: pl.DataFrame, unit: str) -> str:
    if "n" not in rows.columns or rows["n"].null_count() == rows.height:
        return ""
    counts = [int(n) for n in rows["n"].drop_nulls()]
    few, many = min(counts), max(counts)
    return f" (n = {few} {unit})" if few == many else f" (n = {few} to {many} {unit})"


def _spoken(rows: pl.DataFrame, estimand: str) -> str:
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    best = f"{first[LABEL]} {_number(first['value'])} [{_number(first['ci_low'])}, {_number(first['ci_high'])}]"
    if rows.height == 1:
        return f"{estimand} of one model: {best}."
    return f"{estimand} of {rows.height} models, best first: {best} to {last[LABEL]} {_number(last['value'])}."


def _number(value: float | None) -> str:
    return "not scored" if value is None or value != value else f"{value:.3f}"
