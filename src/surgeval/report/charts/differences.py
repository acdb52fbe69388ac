"""Differences between two models with their intervals: how much better, not only whether."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import rows_height
from surgeval.report.charts._ranking import (
    BUCKET,
    in_rows,
    listed,
    marks,
    number,
    padded,
    part_of,
    shown_of,
    tooltips,
    with_bucket,
)
from surgeval.report.theme import ACCENT, INK, WIDTH_PX
from surgeval.report.words import short_names

ROWS = 24
"""Most pairs that are drawn."""


def pair_differences(
    differences: pl.DataFrame,
    *,
    group: str | None = None,
    bucket: str | None = None,
    models: tuple[str, ...] = (),
    estimand: str = "difference in accuracy",
    name: str = "pair-differences",
    title: str = "Differences between models",
) -> Chart:
    """One row per pair of models (and bucket): by how much the first is ahead, with its interval, largest on top.

    Args:
        differences: Columns `model_a, model_b, difference, low, high`, and `board, capability, ood` or `task`
            where there are several.
        group: Which board; the first of the table by default.
        bucket: One bucket ("object recognition, ID"); all by default.
        models: Only pairs of these models; all by default.
        estimand: What the difference is of.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    chosen = part_of(differences, group)
    title += chosen.suffix + (f", {bucket}" if bucket else "")
    frame = with_bucket(chosen.frame)
    if bucket is not None:
        frame = frame.filter(pl.col(BUCKET) == bucket)
    if models:
        frame = frame.filter(pl.col("model_a").is_in(models) & pl.col("model_b").is_in(models))
    frame = frame.filter(pl.col("difference").is_not_null())
    if frame.is_empty():
        return nothing_to_show(name, title, "there is no pair of models")
    alt = altair()
    rows = _rows(frame)
    order = rows["row"].to_list()
    tips = tooltips(_TIPS, rows.columns)
    ends = [0.0, *rows["low"], *rows["high"], *rows["difference"]]
    scale = alt.Scale(domain=padded(ends), nice=False)
    x_title = f"{estimand} (bars: 95 % interval)"
    x = alt.X("low:Q", title=x_title, scale=scale)
    spread = marks(rows.filter(pl.col("low").is_not_null())).mark_rule(strokeWidth=2, color=ACCENT)
    zero = marks(pl.DataFrame({"nothing": [0]})).mark_rule(color=INK, strokeDash=[3, 3])
    fill = alt.Color("fill:N", scale=None, legend=None)
    points = marks(rows).mark_point(size=45, filled=False, stroke=ACCENT, strokeWidth=1.5, opacity=1)
    picture = alt.layer(
        zero.encode(x=alt.X("nothing:Q", title=x_title, scale=scale)),
        spread.encode(y=in_rows(order, field="row", limit_px=420), x=x, x2=alt.X2("high:Q"), tooltip=tips),
        points.encode(
            y=in_rows(order, field="row", limit_px=420),
            x=alt.X("difference:Q", title=x_title, scale=scale),
            fill=fill,
            tooltip=tips,
        ),
    ).properties(width=WIDTH_PX, height=rows_height(len(order)))
    return drawn(
        name, picture, title=title, alt=_spoken(rows, frame, estimand), data=chosen.frame,
        caption=f"Points: {estimand}, first model minus second; the model ahead is named first. Bars: 95 % intervals"
        " over videos, for each pair alone. Filled: the interval leaves out 0. Largest differences on top."
        + shown_of(rows.height, frame.height, "pairs"),
    )  # fmt: skip


def _rows(frame: pl.DataFrame) -> pl.DataFrame:
    """The largest differences, turned so that the model ahead comes first."""
    behind = pl.col("difference") < 0
    first, second = pl.col("model_a"), pl.col("model_b")
    turned = frame.select(
        BUCKET,
        ahead=pl.when(behind).then(second).otherwise(first),
        behind=pl.when(behind).then(first).otherwise(second),
        difference=pl.col("difference").abs(),
        low=pl.when(behind).then(-pl.col("high")).otherwise(pl.col("low")),
        high=pl.when(behind).then(-pl.col("low")).otherwise(pl.col("high")),
    )
    top = turned.sort("difference", "ahead", "behind", BUCKET, descending=[True, False, False, False]).head(ROWS)
    labels = short_names([*top["ahead"], *top["behind"]], limit=20)
    words = pl.col("ahead").replace_strict(labels) + " − " + pl.col("behind").replace_strict(labels)
    if top[BUCKET].n_unique() > 1:
        words = words + " · " + pl.col(BUCKET).replace_strict(short_names(top[BUCKET], limit=24))
    clear = pl.col("low").fill_null(0) > 0
    top = top.with_columns(row=words, fill=pl.when(clear).then(pl.lit(ACCENT)).otherwise(pl.lit("#ffffff")))
    return top.with_columns(pl.Series("row", list(short_names(top["row"], limit=80).values())))


_TIPS = (
    ("ahead", "N", ""), ("behind", "N", ""), (BUCKET, "N", ""), ("difference", "Q", ".3f"), ("low", "Q", ".3f"),
    ("high", "Q", ".3f"),
)  # fmt: skip


def _spoken(rows: pl.DataFrame, frame: pl.DataFrame, estimand: str) -> str:
    phrases = [
        f"{row['row']} {number(row['difference'])} [{number(row['low'])}, {number(row['high'])}]"
        for row in rows.iter_rows(named=True)
    ]
    clear = frame.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
    apart = f"{clear} of {frame.height} intervals leave out 0"
    return f"{estimand[:1].upper()}{estimand[1:]} of pairs of models; {apart}. Largest: {listed(phrases)}."
