"""Values over settings: how much a threshold, a tolerance or a frame rate decides."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data
from surgeval.report.charts._marks import amount, chosen_models, number, tips, typed
from surgeval.report.theme import PALETTE, SHAPES, WIDTH_PX
from surgeval.report.words import plain

MOST_LINES = 12


def setting_curves(
    frame: pl.DataFrame,
    *,
    name: str = "setting-curves",
    title: str = "Values over settings",
    what: str = "value",
) -> Chart:
    """One line per model through its values under each setting, in the order of the table.

    Args:
        frame: Columns `model`, `setting`, `value`.
        name: Of the chart.
        title: Of the chart.
        what: What the values are.
    """
    frame = typed(frame, name, texts=("model", "setting"), numbers=("value",)) if not frame.is_empty() else frame
    known = frame.filter(pl.col("value").is_finite()) if not frame.is_empty() else frame
    if known.is_empty():
        return nothing_to_show(name, title, "no model has a value")
    alt = altair()
    means = known.group_by("model", maintain_order=True).agg(mean=pl.col("value").mean())
    order = means.sort("mean", descending=True, maintain_order=True)["model"].to_list()
    rows, labels = chosen_models(known, order, MOST_LINES)
    settings = list(dict.fromkeys(plain(one) for one in known["setting"]))
    note = (
        f" The first {MOST_LINES} of {len(order)} models are shown; the saved CSV has all."
        if len(order) > MOST_LINES
        else ""
    )
    x = alt.X("setting:N", sort=settings, title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    y = alt.Y("value:Q", title=plain(what), scale=alt.Scale(zero=False, padding=8))
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(labels))]
    shapes = [SHAPES[(place + place // len(SHAPES)) % len(SHAPES)] for place in range(len(labels))]
    legend = alt.Legend(title=None, orient="right")
    colour = alt.Color(f"{LABEL}:N", scale=alt.Scale(domain=labels, range=colours), legend=legend)
    shape = alt.Shape(f"{LABEL}:N", scale=alt.Scale(domain=labels, range=shapes), legend=legend)
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=240)
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y, color=colour)
    dots = base.mark_point(filled=True, size=40, opacity=1).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tips(rows, "model", "setting", "value")
    )
    first = known.filter(pl.col("model") == order[0])
    low, high = first["value"].min(), first["value"].max()
    words = (
        f"{amount(len(order), 'model')} under {len(settings)} settings; {plain(order[0], limit=28)} goes from "
        f"{number(low)} to {number(high)}."  # type: ignore[arg-type]
    )
    return drawn(
        name, alt.layer(line, dots), title=title, alt=f"{title}. {words}",
        caption=f"{plain(what).capitalize()} of every model under each setting.{note}", data=frame,
    )  # fmt: skip
