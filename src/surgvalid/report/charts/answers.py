"""Answers one by one: how far times and counts are off, how long they take, and what their confidence is worth."""

from __future__ import annotations

import numpy as np
import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.tables import LABEL, chosen_models, counted, typed
from surgvalid.report.drawing.curves import Curves, PlotCurve
from surgvalid.report.drawing.svg import DASHES, SERIES, SHAPES
from surgvalid.report.words import count_of, percent, plain

MOST_LINES = 7
TIME_GRID_S = tuple(
    np.round(np.concatenate([np.arange(0.5, 10, 0.5), np.arange(10, 30, 1), np.arange(30, 61, 2)]), 1).tolist()
)
"""Seconds at which the share within is shown."""


def curves_of(rows: pl.DataFrame, order: list[str], x: str, y: str, *, marked: bool = True) -> tuple[PlotCurve, ...]:
    """One curve per label, each with a look of its own."""
    made = []
    for place, label in enumerate(order):
        points = rows.filter(pl.col(LABEL) == label).select(x, y).drop_nulls().iter_rows()
        shape = SHAPES[place % len(SHAPES)] if marked else "none"
        look, dash = SERIES[place % len(SERIES)], DASHES[place % len(DASHES)]
        made.append(PlotCurve(label, tuple(points), look, dash, shape))
    return tuple(made)


def time_error(
    frame: pl.DataFrame,
    *,
    tolerance_s: float = 5.0,
    name: str = "time-error",
    title: str = "How far times are off",
) -> Chart:
    """One curve per model: the share of questions whose time error is at most so many seconds.

    Args:
        frame: Rows of the metric `time_error_s` of a score table: columns `model` and `value` (seconds; a missing
            answer has the worst value of its question, null and NaN count as never within).
        tolerance_s: The tolerance that is marked; models are ordered by the share within it.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no question asks for a time")
    frame = typed(frame, name, texts=("model",), numbers=("value",))
    curves, shares = _within_each(frame), _within(frame, tolerance_s)
    rows, order = chosen_models(curves, shares["model"].to_list(), MOST_LINES)
    best, worst = shares.row(0, named=True), shares.row(-1, named=True)
    note = f" The {len(order)} best of {shares.height} are shown." if shares.height > len(order) else ""
    spoken = f"{plain(best['model'], limit=28)} {percent(best['share'])}"
    tail = f" to {plain(worst['model'], limit=28)} {percent(worst['share'])}" if shares.height > 1 else ""
    image = Curves(
        curves_of(rows, order, "within_s", "share", marked=False),
        "error at most (seconds, log scale)",
        "share of questions",
        (0.5, 60.0),
        (0.0, 1.0),
        log=True,
        y_percent=True,
        uprights=(tolerance_s,),
    )
    return Chart(
        name,
        title,
        f"Share of time questions answered within {tolerance_s:g} s by {count_of(shares.height, 'model')}: "
        f"{spoken}{tail}.{note}",
        f"Share of questions whose mean absolute time error is at most x seconds ({_questions(shares)}); missing "
        f"answers count with the worst error. Dashed vertical line: tolerance of {tolerance_s:g} s.{note}",
        curves,
        image,
    )


def _within(frame: pl.DataFrame, tolerance_s: float) -> pl.DataFrame:
    """Per model the share of questions within the tolerance, the best first."""
    within = (pl.col("value").fill_nan(None) <= tolerance_s).fill_null(False)
    shares = frame.group_by("model", maintain_order=True).agg(within.mean().alias("share"), pl.len().alias("questions"))
    return shares.sort("share", "model", descending=[True, False])


def _within_each(frame: pl.DataFrame) -> pl.DataFrame:
    grid = np.asarray(TIME_GRID_S)
    tables = []
    for (model,), rows in frame.group_by("model", maintain_order=True):
        errors = np.sort(rows["value"].cast(pl.Float64).fill_null(np.nan).fill_nan(np.inf).to_numpy())
        share = np.searchsorted(errors, grid, side="right") / len(errors)
        columns = {"model": [model] * len(grid), "within_s": grid, "share": share}
        tables.append(pl.DataFrame({**columns, "questions": [len(errors)] * len(grid)}))
    return pl.concat(tables)


def _questions(shares: pl.DataFrame) -> str:
    return f"n = {counted(shares['questions'], 'questions')}"


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
