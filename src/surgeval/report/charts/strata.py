"""Strata: how far each model's value under a condition lies from its value on all cases."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.charts._marks import (
    amount,
    column,
    level_words,
    line_at,
    number,
    row_scale,
    text_beside,
    tips,
    typed,
)
from surgeval.report.theme import INK, PALETTE, QUIET, SHAPES, WIDTH_PX, label_px, row_step_px
from surgeval.report.words import plain, short_names
from surgeval.stats.contrasts import ALL_MODELS

MOST_STRATA = 100
MOST_BESIDE = 7
"""Models that get a line of their own within each stratum."""
MOST_LINES = 120
_LINE_PX = 11
_MEDIAN_WORDS = "median of models"


def strata_deltas(
    frame: pl.DataFrame,
    *,
    name: str = "strata-deltas",
    title: str = "Values under each condition against all cases",
    against: str = "all cases",
) -> Chart:
    """One row per stratum: the differences of the models and their median with its interval, the worst on top.

    Up to seven models get their own interval; more are shown as points.

    Args:
        frame: The table of `strata`: columns `column`, `stratum`, `model`, `delta`, `low`, `high`, and `statistic`,
            `cases`, `videos` where known.
        name: Of the chart.
        title: Of the chart.
        against: What the strata are compared with.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "there is no stratum")
    frame = typed(frame, name, texts=("column", "stratum", "model"), numbers=("delta", "low", "high"))
    rows, middle = _rows(frame)
    if middle.is_empty():
        return nothing_to_show(name, title, "no stratum has a case")
    note = ""
    if middle.height > MOST_STRATA:
        note = f" The {MOST_STRATA} of {middle.height:,} strata with the lowest differences are shown."
        middle = middle.head(MOST_STRATA)
    order = middle[LABEL].to_list()
    rows = rows.filter(pl.col(LABEL).is_in(order))
    models = rows.filter(pl.col("model") != ALL_MODELS)["model"].unique(maintain_order=True).to_list()
    apart = 1 < len(models) <= MOST_BESIDE and len(order) * (len(models) + 1) <= MOST_LINES
    picture = _apart(rows, middle, order, models) if apart else _together(rows, middle, order)
    return drawn(
        name, picture, title=title, alt=_spoken(middle, len(models), against) + note,
        caption=_caption(frame, len(models), apart, against) + note, data=frame,
    )  # fmt: skip


def _rows(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All rows with the label of their stratum, and one row per stratum: the median of models, or the only model."""
    words = [_stratum_name(row) for row in frame.select("column", "stratum").iter_rows()]
    rows = labelled(frame.with_columns(pl.Series("condition", words)), "condition", limit=32)
    known = rows.filter(pl.col("delta").is_not_null())
    several = known.filter(pl.col("model") == ALL_MODELS)
    middle = several if several.height else known.unique(LABEL, keep="first", maintain_order=True)
    return known, middle.sort("delta", LABEL)


def _stratum_name(row: tuple[Any, ...]) -> str:
    column, stratum = (str(cell) for cell in row)
    return stratum if column == stratum else f"{column}: {stratum}"


def _together(rows: pl.DataFrame, middle: pl.DataFrame, order: list[str]) -> Any:
    """Models as small points, the median with its interval over them."""
    alt = altair()
    y = rows_axis(order, scale=row_scale(order))
    size = label_px(row_step_px(len(order))) + 3
    tooltip = tips(rows, *_TIPS)
    single = rows.filter(pl.col("model") != ALL_MODELS)
    x = alt.X("delta:Q", title=_axis(rows), scale=alt.Scale(padding=10))
    small = alt.Chart(chart_data(single), width=WIDTH_PX, height=rows_height(len(order)))
    ticks = small.mark_tick(color=QUIET, thickness=1.2, size=size, opacity=0.55).encode(y=y, x=x, tooltip=tooltip)
    base = alt.Chart(chart_data(_with_text(middle)))
    rule = base.mark_rule(color=INK, strokeWidth=2).encode(
        y=y, x=alt.X("low:Q"), x2=alt.X2("high:Q"), tooltip=tips(middle, *_TIPS)
    )
    point = base.mark_point(filled=True, shape="diamond", color=INK, size=60, opacity=1)
    dots = point.encode(y=y, x=alt.X("delta:Q"), tooltip=tips(middle, *_TIPS))
    return alt.layer(line_at(0.0), ticks, rule, dots, text_beside(base, y, "delta_text", len(order)))


def _apart(rows: pl.DataFrame, middle: pl.DataFrame, order: list[str], models: list[str]) -> Any:
    """Every model with its own interval, one line each within the stratum, the median below them."""
    alt = altair()
    labels = short_names(models, limit=24)
    words = [*labels.values(), _MEDIAN_WORDS]
    who = pl.col("model").replace_strict({**labels, ALL_MODELS: _MEDIAN_WORDS})
    data = rows.with_columns(who.alias("who"))
    height = len(order) * (_LINE_PX * len(words) + 8)
    colors = [*[*PALETTE[:6], QUIET][: len(models)], INK]
    axis = alt.Axis(labelOverlap=False, ticks=False, domain=False, grid=True, bandPosition=0, labelFontSize=11)
    y = alt.Y(f"{LABEL}:N", title=None, axis=axis, scale=alt.Scale(domain=order, paddingInner=0.15, paddingOuter=0.05))
    offset = alt.YOffset("who:N", scale=alt.Scale(domain=words))
    legend = alt.Legend(orient="top", columns=4, symbolOpacity=1)
    color = alt.Color("who:N", scale=alt.Scale(domain=words, range=colors), title=None, legend=legend)
    shapes = [*[shape for shape in SHAPES if shape != "diamond"][: len(models)], "diamond"]
    shape = alt.Shape("who:N", scale=alt.Scale(domain=words, range=shapes), title=None, legend=legend)
    base = alt.Chart(chart_data(data), width=WIDTH_PX, height=height)
    x = alt.X("low:Q", title=_axis(rows), scale=alt.Scale(padding=10))
    tooltip = tips(data, *_TIPS)
    rule = base.mark_rule(strokeWidth=1.8).encode(
        y=y, yOffset=offset, x=x, x2=alt.X2("high:Q"), color=color, tooltip=tooltip
    )
    point = base.mark_point(filled=True, size=40, opacity=1)
    dots = point.encode(y=y, yOffset=offset, x=alt.X("delta:Q"), color=color, shape=shape, tooltip=tooltip)
    beside = alt.Chart(chart_data(_with_text(middle))).mark_text(align="left", fontSize=11, color=INK)
    text = beside.encode(x=alt.XValue(WIDTH_PX + 8), y=y, text=alt.Text("delta_text:N"))
    return alt.layer(line_at(0.0), rule, dots, text)


_TIPS = ("condition", "model", "value .3f", "baseline .3f", "delta +.3f", "low +.3f", "high +.3f", "cases", "videos",
         "note")  # fmt: skip


def _with_text(middle: pl.DataFrame) -> pl.DataFrame:
    videos = column(middle, "videos")
    counts = [""] * middle.height if videos is None else [f"  ({n} v.)" if n is not None else "" for n in videos]
    text = [number(value, signed=True) + count for value, count in zip(middle["delta"], counts, strict=True)]
    return middle.with_columns(pl.Series("delta_text", text, dtype=pl.String))


def _axis(rows: pl.DataFrame) -> str:
    return f"difference of the {_statistic(rows)} (bars: {level_words(rows)})"


def _statistic(rows: pl.DataFrame) -> str:
    named = column(rows, "statistic")
    return plain(named[0], limit=30) if named is not None and len(named) else "value"


def _spoken(middle: pl.DataFrame, models: int, against: str) -> str:
    worst = [f"{row[LABEL]} {number(row['delta'], signed=True)} [{number(row['low'])}, {number(row['high'])}]"
             for row in middle.head(3).iter_rows(named=True)]  # fmt: skip
    best = middle.row(-1, named=True)
    below = middle.filter(pl.col("high") < 0).height
    tail = f" Highest: {best[LABEL]} {number(best['delta'], signed=True)}." if middle.height > 3 else ""
    return (
        f"Differences of {amount(models, 'model')} to {against} in {middle.height} "
        f"{'stratum' if middle.height == 1 else 'strata'}; in {below} the interval lies below zero. Lowest: "
        f"{'; '.join(worst)}.{tail}"
    )


def _caption(frame: pl.DataFrame, models: int, apart: bool, against: str) -> str:
    head = f"{_statistic(frame)} in the stratum minus that of {against}; strata overlap. "
    videos = "; v.: videos in the stratum" if "videos" in frame.columns else ""
    bars = f"Bars: {level_words(frame)}; missing where the stratum has one video{videos}."
    if models == 1:
        return f"{head}Diamonds: the model. {bars}"
    others = "Coloured shapes: single models" if apart else "Grey ticks: single models"
    return f"{head}Black diamonds and numbers: median over {models} models of their differences. {others}. {bars}"
