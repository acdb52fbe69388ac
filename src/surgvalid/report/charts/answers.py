"""What the confidence of answers is worth."""

from __future__ import annotations

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.tables import LABEL, chosen_models, counted, typed
from surgvalid.report.drawing.curves import Curves, PlotCurve
from surgvalid.report.drawing.svg import DASHES, SERIES, SHAPES
from surgvalid.report.words import count_of, percent

MOST_LINES = 7


def curves_of(rows: pl.DataFrame, order: list[str], x: str, y: str) -> tuple[PlotCurve, ...]:
    """One curve per label, each with a look of its own."""
    made = []
    for place, label in enumerate(order):
        points = rows.filter(pl.col(LABEL) == label).select(x, y).drop_nulls().iter_rows()
        look, dash = SERIES[place % len(SERIES)], DASHES[place % len(DASHES)]
        made.append(PlotCurve(label, tuple(points), look, dash, SHAPES[place % len(SHAPES)]))
    return tuple(made)


def calibration(
    frame: pl.DataFrame,
    *,
    name: str = "calibration",
    title: str = "Confidence against share of right answers",
) -> Chart:
    """A reliability curve per model over the diagonal.

    Args:
        frame: Columns `model`, `confidence`, `observed`, `cases`. The first seven models are drawn.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no answer comes with a confidence")
    frame = typed(frame, name, texts=("model",), numbers=("confidence", "observed", "cases"))
    models = frame["model"].unique(maintain_order=True).to_list()
    rows, order = chosen_models(frame, models, MOST_LINES)
    note = f" The first {MOST_LINES} of {len(models)} models are shown." if len(models) > MOST_LINES else ""
    total = rows.group_by(LABEL, maintain_order=True).agg(pl.col("cases").sum())["cases"]
    image = Curves(
        curves_of(rows, order, "confidence", "observed"),
        "mean confidence of the bin",
        "share right",
        (0.0, 1.0),
        (0.0, 1.0),
        x_percent=True,
        y_percent=True,
        diagonal=True,
    )
    return Chart(
        name,
        title,
        _spoken(rows, len(models)) + note,
        "Points: bins of answers; across, their mean confidence, and up, the share that was right (n = "
        f"{counted(total, 'cases')} per model). On the diagonal confidence means what it says; below it the model is "
        f"too sure.{note}",
        frame,
        image,
    )


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
        f"({count_of(row['cases'], 'case')})"
        for row in widest.head(4).iter_rows(named=True)
    ]
    who = f"Reliability of {count_of(models, 'model')}"
    return f"{who}; widest gap between confidence and share right: {'; '.join(words)}."
