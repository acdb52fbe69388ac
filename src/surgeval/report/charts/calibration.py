"""Calibration: whether answers given with a confidence are right as often as it says."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data
from surgeval.report.charts._marks import amount, chosen_models, counted, percent, tips, typed
from surgeval.report.theme import INK, PALETTE, QUIET, SHAPES

MOST_MODELS = 6
SIDE_PX = 340


def calibration(
    frame: pl.DataFrame,
    *,
    name: str = "calibration",
    title: str = "Confidence against share of right answers",
) -> Chart:
    """A reliability curve per model over the diagonal, with the cases of every bin below.

    Args:
        frame: As `reliability_table` gives it: columns `model`, `confidence`, `observed`, `cases`. The first six
            models are drawn.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no answer comes with a confidence")
    frame = typed(frame, name, texts=("model",), numbers=("confidence", "observed", "cases"))
    models = frame["model"].unique(maintain_order=True).to_list()
    rows, order = chosen_models(frame, models, MOST_MODELS)
    note = "" if len(models) <= MOST_MODELS else (
        f" The first {MOST_MODELS} of {len(models)} models are shown; the saved CSV has all."
    )  # fmt: skip
    total = rows.group_by(LABEL, maintain_order=True).agg(pl.col("cases").sum())["cases"]
    return drawn(
        name, _picture(rows, order), title=title, alt=_spoken(rows, len(models)) + note,
        caption="Points: bins of answers; across, their mean confidence, and up, the share that was right; larger "
                f"points hold more cases (n = {counted(total, 'cases')} per model). On the diagonal confidence means "
                f"what it says; below it the model is too sure. Lower panel: cases per bin.{note}",
        data=frame,
    )  # fmt: skip


def _picture(rows: pl.DataFrame, order: list[str]) -> Any:
    alt = altair()
    unit = alt.Scale(domain=[0, 1])
    x = alt.X("confidence:Q", scale=unit, title=None, axis=alt.Axis(format="%", labels=False))
    y = alt.Y("observed:Q", scale=unit, title="share right", axis=alt.Axis(format="%"))
    legend = alt.Legend(title=None, orient="right")
    color = alt.Color(f"{LABEL}:N", scale=alt.Scale(domain=order, range=list(PALETTE[: len(order)])), legend=legend)
    shape = alt.Shape(f"{LABEL}:N", scale=alt.Scale(domain=order, range=list(SHAPES[: len(order)])), legend=legend)
    size = alt.Size(
        "cases:Q", scale=alt.Scale(range=[25, 220]), legend=alt.Legend(title="cases in bin", symbolFillColor=QUIET)
    )
    tooltip = tips(rows, "model", "confidence .3f", "observed .3f", "cases")
    line = alt.Chart(alt.Data(values=[{"a": 0, "b": 0}, {"a": 1, "b": 1}])).mark_line(
        color=INK, strokeDash=[4, 3], strokeWidth=1
    )
    diagonal = line.encode(x=alt.X("a:Q", scale=unit), y=alt.Y("b:Q", scale=unit))
    base = alt.Chart(chart_data(rows), width=SIDE_PX, height=SIDE_PX)
    curve = base.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=color)
    dots = base.mark_point(filled=True, opacity=0.9).encode(
        x=x, y=y, color=color, shape=shape, size=size, tooltip=tooltip
    )
    low = alt.Chart(chart_data(rows), width=SIDE_PX, height=70)
    foot = alt.X("confidence:Q", scale=unit, title="mean confidence of the bin", axis=alt.Axis(format="%"))
    count = alt.Y("cases:Q", title="cases", axis=alt.Axis(tickCount=3), scale=alt.Scale(zero=True))
    counts = low.mark_line(strokeWidth=1.2, point=False).encode(x=foot, y=count, color=color)
    ends = low.mark_point(filled=True, size=25, opacity=1).encode(
        x=foot, y=count, color=color, shape=shape, tooltip=tooltip
    )
    return alt.vconcat(alt.layer(diagonal, curve, dots), alt.layer(counts, ends), spacing=8)


def _spoken(rows: pl.DataFrame, models: int) -> str:
    """The widest gap of every model shown, the widest first."""
    gap = (pl.col("confidence") - pl.col("observed")).alias("gap")
    widest = (
        rows.with_columns(gap)
        .sort(pl.col("gap").abs(), descending=True, maintain_order=True)
        .unique(LABEL, keep="first", maintain_order=True)
    )
    words = [
        f"{row[LABEL]}: says {percent(row['confidence'])}, is right in {percent(row['observed'])} "
        f"({amount(row['cases'], 'case')})"
        for row in widest.head(4).iter_rows(named=True)
    ]
    return (
        f"Reliability of {amount(models, 'model')}; widest gap between confidence and share right: {'; '.join(words)}."
    )
