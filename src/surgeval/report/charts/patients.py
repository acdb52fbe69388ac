"""Patients one by one: how far apart they lie within a model, and which of them fail."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.charts._marks import amount, extremes, number, tips, typed
from surgeval.report.theme import ACCENT, INK, WIDTH_PX
from surgeval.report.words import plain


def patient_values(
    frame: pl.DataFrame,
    *,
    name: str = "patient-values",
    title: str = "Every patient of every model",
    metric: str = "value",
    unit: str = "patient",
    largest_is_best: bool = True,
) -> Chart:
    """One dot per patient in the row of each model, and a tick at their mean; the best model on top.

    Args:
        frame: Columns `model`, `video`, `value`, and `cases` where known.
        name: Of the chart.
        title: Of the chart.
        metric: What the values are.
        unit: What a dot is.
        largest_is_best: Which end of the axis is good.
    """
    frame = typed(frame, name, texts=("model", "video"), numbers=("value",)) if not frame.is_empty() else frame
    known = frame.filter(pl.col("value").is_finite()) if not frame.is_empty() else frame
    if known.is_empty():
        return nothing_to_show(name, title, f"no {unit} has a value")
    alt = altair()
    means = known.group_by("model", maintain_order=True).agg(mean=pl.col("value").mean())
    means = labelled(means.sort("mean", descending=largest_is_best, maintain_order=True))
    order = means[LABEL].to_list()
    rows = known.join(means.select("model", LABEL), on="model", how="left")
    x = alt.X("value:Q", title=plain(metric), scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=8))
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(len(order)))
    dots = base.mark_point(filled=True, size=36, color=ACCENT, opacity=0.45).encode(
        y=rows_axis(order), x=x, tooltip=tips(rows, "model", "video", "value", "cases")
    )
    tick = alt.Chart(chart_data(means)).mark_tick(thickness=2, size=14, color=INK, opacity=1)
    low, high = extremes(known["value"])
    words = (
        f"{amount(means.height, 'model')}, {amount(known['video'].n_unique(), unit)}; "
        f"{plain(metric)} of single {unit}s from {number(low)} to {number(high)}."
    )
    return drawn(
        name, alt.layer(dots, tick.encode(y=rows_axis(order), x=alt.X("mean:Q"))), title=title, alt=f"{title}. {words}",
        caption=f"Each dot is a {unit}: the mean of its cases. Ticks: the mean over {unit}s. The best model on top.",
        data=frame,
    )  # fmt: skip
