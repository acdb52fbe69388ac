"""Values with their intervals: one row per model, the point, and the range that resampling whole videos leaves."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.charts._marks import level_words
from surgeval.report.charts._ranking import tooltips
from surgeval.report.theme import ACCENT, WIDTH_PX


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
        frame: Columns `model`, `value`, `low`, `high`, `n` (independent units) where known, and `panel` where
            values of several competitions stand side by side on one scale.
        name: Of the chart.
        title: Of the chart.
        estimand: What the value estimates.
        unit: The independent unit that was resampled.
        largest_is_best: Which end of the axis is good; None where nobody said.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has a value")
    alt = altair()
    top, from_large = "best" if largest_is_best is not None else "largest", largest_is_best is not False
    rows = labelled(_sorted(frame, from_large=from_large))
    order = rows[LABEL].unique(maintain_order=True).to_list()
    panels = rows["panel"].unique(maintain_order=True).to_list() if "panel" in rows.columns else []
    width = WIDTH_PX if not panels else (_PANELS_PX - _GAP_PX * (len(panels) - 1)) // len(panels)
    base = alt.Chart(width=width, height=rows_height(len(order)))
    y = rows_axis(order)
    tips = tooltips(_TIPS, rows.columns)
    level = level_words(frame)
    words = estimand if panels else f"{estimand} (bars: {level.removesuffix('s')})"
    axis = alt.Axis(tickCount=4) if panels else alt.Axis(tickCount=8)
    x = alt.X("low:Q", title=words if len(panels) < 3 else None, scale=alt.Scale(zero=False, padding=8), axis=axis)
    span = base.mark_rule(strokeWidth=2, color=ACCENT).encode(y=y, x=x, x2=alt.X2("high:Q"), tooltip=tips)
    point = base.mark_point(filled=True, size=45, color=ACCENT, opacity=1).encode(y=y, x=alt.X("value:Q"), tooltip=tips)
    picture = alt.layer(span, point, data=chart_data(rows))
    if panels:
        head = alt.Column("panel:N", sort=panels, title=None, header=alt.Header(labelFontWeight="bold"))
        picture = picture.facet(column=head, spacing=_GAP_PX)
    return drawn(
        name, picture, title=title, alt=_words_by_panel(rows, estimand, top, from_large=from_large),
        caption=f"Points: {estimand}. Bars: {level} over {unit}{_units(rows, unit)}."
        + (f" One scale for all panels; the {top} on average on top." if panels else ""),
        data=frame,
    )  # fmt: skip


_PANELS_PX, _GAP_PX = 660, 30
"""Width of several panels together, and the room between two."""


def _sorted(frame: pl.DataFrame, *, from_large: bool) -> pl.DataFrame:
    """The best on top: by the value, or by its mean over panels."""
    if "panel" not in frame.columns:
        return frame.sort("value", descending=from_large, nulls_last=True)
    mean = frame.with_columns(mean=pl.col("value").mean().over("model"))
    return mean.sort("mean", "model", descending=[from_large, False], nulls_last=True, maintain_order=True)


_TIPS = (("model", "N", ""), ("value", "Q", ".3f"), ("low", "Q", ".3f"), ("high", "Q", ".3f"), ("n", "Q", ""))


def _units(rows: pl.DataFrame, unit: str) -> str:
    if "n" not in rows.columns or rows["n"].null_count() == rows.height:
        return ""
    counts = [int(n) for n in rows["n"].drop_nulls()]
    few, many = min(counts), max(counts)
    return f" (n = {few} {unit})" if few == many else f" (n = {few} to {many} {unit})"


def _words_by_panel(rows: pl.DataFrame, estimand: str, top: str, *, from_large: bool) -> str:
    if "panel" not in rows.columns:
        return _spoken(rows, estimand, top)
    panels = rows.sort("value", descending=from_large, nulls_last=True).group_by("panel")
    by_panel = {str(panel): _spoken(rows, estimand, top) for (panel,), rows in panels}
    return " ".join(f"{panel}: {by_panel[panel]}" for panel in rows["panel"].unique(maintain_order=True))


def _spoken(rows: pl.DataFrame, estimand: str, top: str) -> str:
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    best = f"{first[LABEL]} {_number(first['value'])} [{_number(first['low'])}, {_number(first['high'])}]"
    if rows.height == 1:
        return f"{estimand} of one model: {best}."
    return f"{estimand} of {rows.height} models, {top} first: {best} to {last[LABEL]} {_number(last['value'])}."


def _number(value: float | None) -> str:
    return "not scored" if value is None or value != value else f"{value:.3f}"
