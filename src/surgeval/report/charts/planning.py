"""Pictures of a plan: what more videos bring, and what more questions per video bring beside them."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import chart_data
from surgeval.report.charts._marks import amount, extremes, number, percent, tips, typed
from surgeval.report.theme import ACCENT, CONTRAST, INK, PALETTE, QUIET, WIDTH_PX

HEIGHT_PX = 280
_MOST_LINES = 8


def plan_curve(
    frame: pl.DataFrame,
    *,
    name: str = "plan-curve",
    title: str = "What more videos bring",
    goal: str = "",
    wanted: float = 0.8,
    videos: int | None = None,
) -> Chart:
    """The chance of a study to reach its goal by the number of videos, with the range that a pilot leaves open.

    Args:
        frame: Columns `goal`, `videos`, `chance`, and `low`, `high`, `simulated` where known.
        name: Of the chart.
        title: Of the chart.
        goal: Of the table that is shown; all where empty.
        wanted: The chance that was asked for.
        videos: The answer, marked by a line.
    """
    texts, numbers = ("goal",), ("videos", "chance", "low", "high", "simulated")
    rows = typed(frame, name, texts=texts, numbers=numbers) if not frame.is_empty() else frame
    rows = rows.filter(pl.col("goal") == goal) if goal and not rows.is_empty() else rows
    if rows.is_empty():
        return nothing_to_show(name, title, "no number of videos was looked at")
    alt = altair()
    scale = "log" if extremes(rows["videos"])[0] > 0 else "linear"
    x = alt.X("videos:Q", title="videos", scale=alt.Scale(type=scale, nice=False), axis=alt.Axis(tickCount=8))
    share = alt.Scale(domain=[0, 1])
    y = alt.Y("chance:Q", title="chance to reach the goal", scale=share, axis=alt.Axis(format="%"))
    base = alt.Chart(chart_data(rows.sort("videos")), width=WIDTH_PX, height=HEIGHT_PX)
    layers = []
    if rows["low"].is_not_null().any():
        layers.append(
            base.mark_area(opacity=0.18, color=ACCENT).encode(x=x, y=alt.Y("low:Q", scale=share), y2=alt.Y2("high:Q"))
        )
    layers.append(base.mark_line(color=ACCENT, strokeWidth=2).encode(x=x, y=y))
    if rows["simulated"].is_not_null().any():
        dots = base.transform_filter("isValid(datum.simulated)").mark_point(filled=True, size=42, color=INK, opacity=1)
        layers.append(dots.encode(x=x, y=alt.Y("simulated:Q", scale=share), tooltip=tips(rows, "videos", "simulated")))
    rule = alt.Chart(alt.Data(values=[{"at": wanted}])).mark_rule(color=QUIET, strokeDash=[4, 3])
    layers.append(rule.encode(y=alt.Y("at:Q", scale=share)))
    if videos is not None:
        line = alt.Chart(alt.Data(values=[{"videos": videos}])).mark_rule(color=CONTRAST, strokeWidth=1.5)
        layers.append(line.encode(x=x))
    few, many = extremes(rows["videos"])
    answer = (
        f"{percent(wanted)} is reached with {amount(videos, 'video')}."
        if videos
        else f"{percent(wanted)} is not reached."
    )
    words = f"From {number(few, 0)} to {number(many, 0)} videos the chance goes from {_ends(rows)}. {answer}"
    caption = (
        "Line: the chance of a study to reach the goal; band: the range that the pilot leaves open, being a sample "
        "itself; dots: shares of simulated studies. Dashed: the chance asked for; upright: the answer."
    )
    return drawn(name, alt.layer(*layers), title=title, alt=f"{title}. {words}", caption=caption, data=rows)


def plan_trade(
    frame: pl.DataFrame,
    *,
    name: str = "plan-trade",
    title: str = "More videos against more frames",
    wanted: float | None = None,
) -> Chart:
    """What a study reaches by all its questions, one line per number of videos: lines flatten, videos move them down.

    Args:
        frame: Columns `videos`, `questions`, `total_questions`, `reach`, `reach_of`.
        name: Of the chart.
        title: Of the chart.
        wanted: The goal, marked by a line.
    """
    texts, numbers = ("reach_of",), ("videos", "questions", "total_questions", "reach")
    rows = typed(frame, name, texts=texts, numbers=numbers) if not frame.is_empty() else frame
    rows = rows.filter(pl.col("reach").is_not_null() & (pl.col("total_questions") > 0)) if not rows.is_empty() else rows
    if rows.is_empty():
        return nothing_to_show(name, title, "nothing shows what more questions per video would bring")
    alt = altair()
    shown = rows["videos"].unique().sort().to_list()
    kept = shown if len(shown) <= _MOST_LINES else shown[:: -(-len(shown) // _MOST_LINES)]
    rows = rows.filter(pl.col("videos").is_in(kept)).with_columns(
        line=pl.format("{} videos", pl.col("videos").cast(pl.Int64))
    )
    order = [f"{int(count)} videos" for count in kept]
    what = "width of the interval" if rows["reach_of"][0] == "width" else "smallest difference found"
    x = alt.X(
        "total_questions:Q", title="questions (frames) in all", scale=alt.Scale(type="log"), axis=alt.Axis(tickCount=8)
    )
    y = alt.Y("reach:Q", title=f"{what} (smaller is better)", scale=alt.Scale(zero=True))
    colour = alt.Color(
        "line:N", sort=order, title=None, scale=alt.Scale(domain=order, range=list(PALETTE)[: len(order)])
    )
    base = alt.Chart(chart_data(rows.sort("videos", "questions")), width=WIDTH_PX, height=HEIGHT_PX)
    tooltip = tips(rows, "videos", "questions", "total_questions", "reach .3f")
    shape = alt.Shape("line:N", sort=order, title=None, scale=alt.Scale(domain=order))
    layers = [
        base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour),
        base.mark_point(filled=True, size=30, opacity=1).encode(x=x, y=y, color=colour, shape=shape, tooltip=tooltip),
    ]
    if wanted is not None:
        rule = alt.Chart(alt.Data(values=[{"at": wanted}])).mark_rule(color=QUIET, strokeDash=[4, 3])
        layers.append(rule.encode(y=alt.Y("at:Q")))
    best = rows.filter(pl.col("videos") == kept[-1])["reach"].min()
    worst = rows.filter(pl.col("videos") == kept[0])["reach"].min()
    words = (
        f"However many questions are asked, {order[0]} reach {number(_float(worst))} at best, and {order[-1]} "
        f"{number(_float(best))}."
    )
    caption = (
        "Each line is a number of videos; along it, more and more questions are asked of each. Questions of one video "
        "repeat each other, so a line flattens where only further videos help. Dashed: the goal."
    )
    return drawn(
        name, alt.layer(*layers), title=title, alt=f"{title}. {words}", caption=caption, data=rows.drop("line")
    )


def _ends(rows: pl.DataFrame) -> str:
    ordered = rows.sort("videos")["chance"]
    return f"{percent(ordered[0])} to {percent(ordered[-1])}"


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
