"""Charts of a plan and of what came after: what more videos or questions bring, and videos in the order of time."""

from __future__ import annotations

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.answers import curves_of
from surgvalid.report.charts.tables import LABEL, extremes, number, typed
from surgvalid.report.drawing.curves import Curves, PlotCurve
from surgvalid.report.words import count_of, percent, plain

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
    rows = typed(frame, name, texts=texts, numbers=numbers)
    rows = rows.filter(pl.col("goal") == goal) if goal else rows
    if rows.is_empty():
        return nothing_to_show(name, title, "no number of videos was looked at")
    rows = rows.sort("videos")
    curves = [PlotCurve("chance to reach the goal", tuple(rows.select("videos", "chance").iter_rows()), shape="none")]
    simulated = rows.select("videos", "simulated").drop_nulls()
    if simulated.height:
        curves.append(PlotCurve("share of simulated studies", tuple(simulated.iter_rows()), "ink", joined=False))
    image = Curves(
        tuple(curves),
        "videos",
        "chance to reach the goal",
        y_ends=(0.0, 1.0),
        log=extremes(rows["videos"])[0] > 0,
        y_percent=True,
        levels=(wanted,),
        uprights=() if videos is None else (float(videos),),
        band=tuple(rows.select("videos", "low", "high").drop_nulls().iter_rows()),
    )
    few, many = extremes(rows["videos"])
    answer = (
        f"{percent(wanted)} is reached with {count_of(videos, 'video')}."
        if videos
        else f"{percent(wanted)} is not reached."
    )
    words = f"From {number(few, 0)} to {number(many, 0)} videos the chance goes from {_ends(rows)}. {answer}"
    caption = (
        "Line: the chance of a study to reach the goal; band: the range that the pilot leaves open, being a sample "
        "itself; dots: shares of simulated studies. Dashed: the chance asked for; upright: the answer."
    )
    return Chart(name, title, f"{title}. {words}", caption, rows, image)


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
    rows = typed(frame, name, texts=texts, numbers=numbers)
    rows = rows.filter(pl.col("reach").is_not_null() & (pl.col("total_questions") > 0))
    if rows.is_empty():
        return nothing_to_show(name, title, "nothing shows what more questions per video would bring")
    shown = rows["videos"].unique().sort().to_list()
    kept = shown if len(shown) <= _MOST_LINES else shown[:: -(-len(shown) // _MOST_LINES)]
    label = pl.format("{} videos", pl.col("videos").cast(pl.Int64)).alias(LABEL)
    rows = rows.filter(pl.col("videos").is_in(kept)).sort("videos", "questions").with_columns(label)
    order = [f"{int(count)} videos" for count in kept]
    what = "width of the interval" if rows["reach_of"][0] == "width" else "smallest difference found"
    image = Curves(
        curves_of(rows, order, "total_questions", "reach"),
        "questions (frames) in all",
        f"{what} (smaller is better)",
        y_ends=(0.0, 1.05 * max(extremes(rows["reach"])[1], wanted or 0.0)),
        log=True,
        levels=() if wanted is None else (wanted,),
    )
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
    return Chart(name, title, f"{title}. {words}", caption, rows.drop(LABEL), image)


def _ends(rows: pl.DataFrame) -> str:
    ordered = rows.sort("videos")["chance"]
    return f"{percent(ordered[0])} to {percent(ordered[-1])}"


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def video_timeline(
    frame: pl.DataFrame,
    *,
    name: str = "video-timeline",
    title: str = "Every video in its turn",
    model: str | None = None,
) -> Chart:
    """One mark per video in the order of time, and the mean of the videos of each period.

    Args:
        frame: Columns `model`, `video`, `time`, `period` (validation or new), `value`; in order.
        name: Of the chart.
        title: Of the chart.
        model: The one that is shown; the first where None.
    """
    texts = ("model", "video", "time", "period")
    rows = typed(frame, name, texts=texts, numbers=("value",))
    if not rows.is_empty():
        shown = plain(rows["model"][0]) if model is None else model
        rows = rows.filter(pl.col("model") == (rows["model"][0] if model is None else model))
        rows = rows.filter(pl.col("value").is_not_null()).with_row_index("turn", offset=1)
    if rows.is_empty():
        return nothing_to_show(name, title, "no video has a value")
    title = f"{title}: {plain(shown, limit=60)}"
    means = rows.group_by("period", maintain_order=True).agg(
        mean=pl.col("value").mean(), first=pl.col("turn").min(), last=pl.col("turn").max(), videos=pl.len()
    )
    curves = []
    for period, look, shape in (("validation", "blue", "circle"), ("new", "warm", "up")):
        points = tuple(rows.filter(pl.col("period") == period).select("turn", "value").iter_rows())
        curves.append(PlotCurve(period, points, look, shape=shape, joined=False))
        for mean, first, last in means.filter(pl.col("period") == period).select("mean", "first", "last").iter_rows():
            curves.append(PlotCurve("", ((first, mean), (last, mean)), look, shape="none"))
    words = "; ".join(
        f"{row['period']}: {count_of(row['videos'], 'video')}, mean {number(row['mean'])}" for row in means.to_dicts()
    )
    caption = "Each mark is a video. Lines: the mean of the videos of each period, every video counted once."
    image = Curves(tuple(curves), "videos in the order of time", "value of the video")
    return Chart(name, title, f"{title}. {words}.", caption, rows, image)
