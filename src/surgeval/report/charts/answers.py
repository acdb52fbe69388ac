"""Answers looked at one by one: how far times are off, which counts are taken for which, how long answers take."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.charts._marks import (
    amount,
    cell_text,
    chosen_models,
    counted,
    extremes,
    head_beside,
    ink_on,
    line_at,
    number,
    percent,
    row_scale,
    text_beside,
    tips,
    typed,
)
from surgeval.report.theme import ACCENT, CONTRAST, INK, PALETTE, QUIET, SURFACE, WIDTH_PX
from surgeval.report.words import plain
from surgeval.schema.metric_facts import TIME_TOLERANCES_S

MOST_LINES = 7
DASHES: tuple[list[int], ...] = ([], [6, 3], [2, 2], [8, 2, 2, 2], [10, 4], [4, 1], [1, 3])
TIME_GRID_S = tuple(
    np.round(np.concatenate([np.arange(0, 10, 0.5), np.arange(10, 30, 1), np.arange(30, 61, 2)]), 1).tolist()
)
"""Seconds at which the share within is shown."""
MOST_COUNT = 12
"""Counts above stand together as `12+`."""

SHORTEST_S = 0.01
"""Shorter times are drawn here, because a log scale has no zero."""


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
    alt = altair()
    curves = _curves(frame)
    shares = _within(frame, tolerance_s)
    rows, order = chosen_models(curves, shares["model"].to_list(), MOST_LINES)
    others = curves.filter(~pl.col("model").is_in(rows["model"].unique().to_list())).select(
        pl.col("model").rank("dense").cast(pl.Int64).alias("line"), "within_s", pl.col("share").round(4)
    )
    x = alt.X("within_s:Q", title="error at most (seconds)", scale=alt.Scale(type="symlog", constant=2, domain=[0, 60]),
              axis=alt.Axis(values=[0, *TIME_TOLERANCES_S, 60]))  # fmt: skip
    y = alt.Y("share:Q", title="share of questions", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    tooltip = tips(rows, "model", "within_s", "share .1%", "questions")
    quiet = alt.Chart(chart_data(others), width=WIDTH_PX, height=320).mark_line(
        color=QUIET, strokeWidth=0.6, opacity=0.5
    )
    legend = alt.Legend(orient="right", symbolStrokeWidth=2.5, symbolSize=300)
    color = alt.Color(
        "label:N", scale=alt.Scale(domain=order, range=list(PALETTE[: len(order)])), title=None, legend=legend
    )
    dash = alt.StrokeDash(
        "label:N", scale=alt.Scale(domain=order, range=list(DASHES[: len(order)])), title=None, legend=legend
    )
    loud = alt.Chart(chart_data(rows)).mark_line(strokeWidth=2)
    picture = alt.layer(
        line_at(tolerance_s, dash=(4, 3), color=INK),
        quiet.encode(x=x, y=y, detail=alt.Detail("line:N")),
        loud.encode(x=x, y=y, color=color, strokeDash=dash, tooltip=tooltip),
    )
    best, worst = shares.row(0, named=True), shares.row(-1, named=True)
    note = (
        f" The {len(order)} best are named; the other {len(shares) - len(order)} are thin grey lines."
        if others.height
        else ""
    )
    spoken = f"{plain(best['model'], limit=28)} {percent(best['share'])}"
    tail = f" to {plain(worst['model'], limit=28)} {percent(worst['share'])}" if shares.height > 1 else ""
    return drawn(
        name, picture, title=title,
        alt=f"Share of time questions answered within {tolerance_s:g} s by {amount(shares.height, 'model')}: "
            f"{spoken}{tail}.{note}",
        caption=f"Share of questions whose mean absolute time error is at most x seconds ({_questions(shares)}); "
                f"missing answers count with the worst error. Dashed vertical line: tolerance of {tolerance_s:g} "
                f"s.{note}",
        data=curves,
    )  # fmt: skip


def _within(frame: pl.DataFrame, tolerance_s: float) -> pl.DataFrame:
    """Per model the share of questions within the tolerance, the best first."""
    within = (pl.col("value").fill_nan(None) <= tolerance_s).fill_null(False)
    shares = frame.group_by("model", maintain_order=True).agg(within.mean().alias("share"), pl.len().alias("questions"))
    return shares.sort("share", "model", descending=[True, False])


def _curves(frame: pl.DataFrame) -> pl.DataFrame:
    grid = np.asarray(TIME_GRID_S)
    parts = []
    for (model,), rows in frame.group_by("model", maintain_order=True):
        errors = np.sort(rows["value"].cast(pl.Float64).fill_null(np.nan).fill_nan(np.inf).to_numpy())
        share = np.searchsorted(errors, grid, side="right") / len(errors)
        parts.append(pl.DataFrame({"model": [model] * len(grid), "within_s": grid, "share": share,
                                   "questions": [len(errors)] * len(grid)}))  # fmt: skip
    return pl.concat(parts)


def _questions(shares: pl.DataFrame) -> str:
    return f"n = {counted(shares['questions'], 'questions')}"


def count_confusion(
    frame: pl.DataFrame,
    *,
    model: str = "",
    name: str = "count-confusion",
    title: str = "Counts answered against reference counts",
) -> Chart:
    """A table of numbers: how often each reference count was answered with each count.

    Args:
        frame: One row per counting question: columns `reference` and `response` (null: no usable answer).
        model: Whose answers they are, for the words.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no question asks for a count")
    frame = typed(frame, name, numbers=("reference", "response"))
    alt = altair()
    top = min(MOST_COUNT, max(int(extremes(frame[side])[1]) for side in ("reference", "response")))
    words = [*[str(n) for n in range(top)], f"{top}+" if _beyond(frame, top) else str(top)]
    cells = _cells(frame, top, words)
    base = alt.Chart(chart_data(cells), width=alt.Step(38), height=alt.Step(28))
    columns, rows = [*words, "none"], words[::-1]
    x = alt.X("answered:N", scale=alt.Scale(domain=columns), title="count answered (none: no usable answer)",
              axis=alt.Axis(labelAngle=0))  # fmt: skip
    y = alt.Y("counted:N", scale=alt.Scale(domain=rows), title="reference count")
    shade = alt.Color("share:Q", scale=alt.Scale(scheme=SURFACE, domain=[0, 1]), title="share of row",
                      legend=alt.Legend(format="%", gradientLength=120))  # fmt: skip
    tooltip = tips(cells, "counted", "answered", "questions", "share .0%")
    squares = base.mark_rect(stroke="white").encode(x=x, y=y, color=shade, tooltip=tooltip)
    edge = alt.Chart(chart_data(cells.filter(pl.col("counted") == pl.col("answered"))))
    right = edge.mark_rect(filled=False, stroke=INK, strokeWidth=2).encode(x=x, y=y)
    return drawn(
        name, alt.layer(squares, right, *cell_text(cells, x, y, "questions")), title=title,
        alt=_spoken_counts(frame, model),
        caption=f"Numbers: questions{' of ' + plain(model, limit=40) if model else ''} (n = {frame.height:,}). Shade: "
                "share of the questions with that reference count. Framed cells: right answers."
                + (f" Counts from {top} on stand together." if words[-1].endswith("+") else ""),
        data=cells.drop("ink"),
    )  # fmt: skip


def _beyond(frame: pl.DataFrame, top: int) -> bool:
    return bool(((frame["reference"] > top).fill_null(False) | (frame["response"] > top).fill_null(False)).any())


def _cells(frame: pl.DataFrame, top: int, words: list[str]) -> pl.DataFrame:
    """Questions per pair of reference and answered count, with their share of the reference count's row."""
    named = dict(enumerate(words))
    sides = [pl.col(side).cast(pl.Int64).clip(0, top).replace_strict(named, return_dtype=pl.String) for side in
             ("reference", "response")]  # fmt: skip
    cells = (
        frame.filter(pl.col("reference").is_not_null())
        .select(sides[0].alias("counted"), sides[1].fill_null("none").alias("answered"))
        .group_by("counted", "answered").agg(pl.len().alias("questions"))
    )  # fmt: skip
    share = pl.col("questions") / pl.col("questions").sum().over("counted")
    place = pl.col("counted").replace_strict({word: i for i, word in named.items()}, return_dtype=pl.Int64)
    return (
        cells.with_columns(share.alias("share"))
        .with_columns(ink_on(pl.col("share")).alias("ink"))
        .sort(place, "answered")
    )


def _spoken_counts(frame: pl.DataFrame, model: str) -> str:
    right = int((frame["reference"] == frame["response"]).fill_null(False).sum())
    over = int((frame["response"] > frame["reference"]).fill_null(False).sum())
    none = frame["response"].null_count()
    who = f" by {plain(model, limit=40)}" if model else ""
    return (
        f"{amount(frame.height, 'counting question')} answered{who}: {right} right ({percent(right / frame.height)}), "
        f"{over} too high, {frame.height - right - over - none} too low, {none} without a usable answer."
    )


def latency_against_budget(
    frame: pl.DataFrame,
    *,
    budget_s: float,
    name: str = "latency-against-budget",
    title: str = "Time per answer against the budget",
) -> Chart:
    """One row per model: median, 95th percentile and longest time per answer, the fastest on top.

    Args:
        frame: As `latency_table` gives it: columns `model`, `p50_s`, `p95_s`, `max_s`, `late_share`, `questions`.
        budget_s: Seconds allowed per answer.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no answer has a time")
    frame = typed(frame, name, texts=("model",), numbers=("p50_s", "p95_s", "max_s", "late_share", "questions"))
    alt = altair()
    late = [percent(share) for share in frame["late_share"]]
    rows = labelled(
        frame.with_columns(pl.Series("late", late, dtype=pl.String)).sort("p95_s", nulls_last=True, maintain_order=True)
    )
    rows = rows.with_columns(
        pl.col(f"{quantile}_s").clip(SHORTEST_S).alias(f"{quantile}_drawn") for quantile in ("p50", "p95", "max")
    )
    order = rows[LABEL].to_list()
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(len(order)))
    y = rows_axis(order, scale=row_scale(order))
    tooltip = tips(rows, "model", "p50_s .2f", "p95_s .2f", "max_s .2f", "late", "questions")
    x = alt.X(
        "p50_drawn:Q", title="seconds per answer (log scale)", scale=alt.Scale(type="log", nice=False, padding=12)
    )
    layers: list[Any] = [
        line_at(budget_s, dash=(4, 3), color=CONTRAST),
        base.mark_rule(color=QUIET, strokeWidth=1).encode(y=y, x=x, x2=alt.X2("max_drawn:Q"), tooltip=tooltip),
        base.mark_rule(color=ACCENT, strokeWidth=4).encode(y=y, x=x, x2=alt.X2("p95_drawn:Q"), tooltip=tooltip),
        base.mark_point(filled=True, color=INK, size=45, opacity=1).encode(y=y, x=x, tooltip=tooltip),
        base.mark_tick(color=QUIET, thickness=2, size=8).encode(y=y, x=alt.X("max_drawn:Q"), tooltip=tooltip),
        text_beside(base, y, "late", len(order)),
        head_beside("late"),
    ]
    over = rows.filter(pl.col("late_share") > 0)
    slow = rows.sort("p95_s", nulls_last=False, maintain_order=True).row(-1, named=True)
    return drawn(
        name, alt.layer(*layers), title=title,
        alt=f"Time per answer of {amount(len(order), 'model')} against a budget of {budget_s:g} s; {over.height} have "
            f"late answers. Slowest: {slow[LABEL]}, median {number(slow['p50_s'], 2)} s, 95th percentile "
            f"{number(slow['p95_s'], 2)} s, late {slow['late']}.",
        caption=f"Black points: median; blue bars: up to the 95th percentile; grey lines: up to the longest. Dashed "
                f"vertical line: budget of {budget_s:g} s. Text: share of questions answered late or not at all "
                f"({_questions(rows)}). Times under {SHORTEST_S:g} s are drawn there.",
        data=frame,
    )  # fmt: skip
