"""Videos in the order of time, before and after a day."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import chart_data
from surgeval.report.charts._marks import amount, number, tips, typed
from surgeval.report.theme import ACCENT, CONTRAST, WIDTH_PX
from surgeval.report.words import plain

PERIODS = ("validation", "new")


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
    rows = typed(frame, name, texts=texts, numbers=("value",)) if not frame.is_empty() else frame
    if not rows.is_empty():
        shown = plain(rows["model"][0]) if model is None else model
        rows = rows.filter(pl.col("model") == (rows["model"][0] if model is None else model))
        rows = rows.filter(pl.col("value").is_not_null()).with_row_index("turn", offset=1)
    if rows.is_empty():
        return nothing_to_show(name, title, "no video has a value")
    alt = altair()
    title = f"{title}: {plain(shown, limit=60)}"
    x = alt.X("turn:Q", title="videos in the order of time", axis=alt.Axis(tickCount=8), scale=alt.Scale(nice=False))
    y = alt.Y("value:Q", title="value of the video", scale=alt.Scale(zero=False, padding=8))
    scale = alt.Scale(domain=list(PERIODS), range=[ACCENT, CONTRAST])
    colour = alt.Color("period:N", title=None, scale=scale)
    shape = alt.Shape("period:N", title=None, scale=alt.Scale(domain=list(PERIODS), range=["circle", "triangle-up"]))
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=220)
    dots = base.mark_point(filled=True, size=44, opacity=0.75).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips(rows, "video", "time", "value .3f", "period", "cases")
    )
    means = rows.group_by("period", maintain_order=True).agg(
        mean=pl.col("value").mean(), first=pl.col("turn").min(), last=pl.col("turn").max(), videos=pl.len()
    )
    lines = alt.Chart(chart_data(means)).mark_rule(strokeWidth=2)
    lines = lines.encode(x=alt.X("first:Q"), x2=alt.X2("last:Q"), y=alt.Y("mean:Q"), color=colour)
    words = "; ".join(
        f"{row['period']}: {amount(row['videos'], 'video')}, mean {number(row['mean'])}" for row in means.to_dicts()
    )
    caption = "Each mark is a video. Lines: the mean of the videos of each period, every video counted once."
    return drawn(name, alt.layer(dots, lines), title=title, alt=f"{title}. {words}.", caption=caption, data=rows)
