"""Uncertainty of values and of differences: what respecting videos does to it, and which differences remain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.charts._marks import (
    amount,
    column,
    counted,
    distinct,
    first_rows,
    head_beside,
    level_words,
    line_at,
    number,
    row_scale,
    sizes,
    text_beside,
    tips,
    typed,
)
from surgeval.report.theme import ACCENT, CONTRAST, INK, QUIET, WIDTH_PX, row_step_px
from surgeval.report.words import plain

NAIVE = "naive"
NAIVE_WORDS, CLUSTER_WORDS = "rows as if independent", "videos respected"
MOST_PAIRS = 100
MOST_VIDEOS = 24


def naive_against_cluster(
    frame: pl.DataFrame,
    *,
    name: str = "naive-against-cluster",
    title: str = "Intervals that ignore videos, and intervals that respect them",
    largest_is_best: bool = True,
) -> Chart:
    """Two intervals per model and how many times wider the one is that respects videos.

    Args:
        frame: Tables of `interval` with resample `naive` and with one other, one below the other: columns
            `model`, `value`, `low`, `high`, `resample`, and `statistic`, `cases`, `videos` where known.
        name: Of the chart.
        title: Of the chart.
        largest_is_best: Which end of the axis is good.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has an interval")
    frame = typed(frame, name, texts=("model", "resample"), numbers=("value", "low", "high"))
    alt = altair()
    pairs = _width_pairs(frame, largest_is_best)
    order = pairs[LABEL].to_list()
    kind = pl.when(pl.col("resample") == NAIVE).then(pl.lit(NAIVE_WORDS)).otherwise(pl.lit(CLUSTER_WORDS))
    rows = frame.join(pairs.select("model", LABEL), on="model").with_columns(kind.alias("kind"))
    shift = max(2, row_step_px(len(order)) // 6)
    y = rows_axis(order, scale=row_scale(order))
    layers = [
        _span(
            rows.filter(pl.col("kind") == words),
            y,
            shift if words == CLUSTER_WORDS else -shift,
            rows_height(len(order)),
        )
        for words in (NAIVE_WORDS, CLUSTER_WORDS)
    ]
    beside = text_beside(alt.Chart(chart_data(pairs)), y, "ratio_text", len(order))
    median = _median(pairs["width_ratio"])
    statistic = _statistic(frame)
    spoken = _spoken_pairs(pairs)
    return drawn(
        name, alt.layer(*[mark for pair in layers for mark in pair], beside, head_beside("width ratio")), title=title,
        alt=f"The {statistic} of {amount(len(order), 'model')} with two {level_words(frame)} each. Intervals that "
            f"respect videos are {number(median, 2)} times as wide in the median. {spoken}",
        caption=f"Points: {statistic}. Bars: {level_words(frame)}; upper, orange and square: single rows as if "
                f"independent; lower, blue and round: whole videos as units ({sizes(frame)}). Text: width of the lower "
                f"over the upper interval; the median over models is {number(median, 2)}.",
        data=frame,
    )  # fmt: skip


def _width_pairs(frame: pl.DataFrame, largest_is_best: bool) -> pl.DataFrame:
    """One row per model: value, both widths and their ratio; the best model first."""
    width = pl.col("high") - pl.col("low")
    naive = pl.col("resample") == NAIVE
    pairs = frame.group_by("model", maintain_order=True).agg(
        pl.col("value").first(),
        width.filter(~naive).first().alias("width"),
        width.filter(naive).first().alias("naive_width"),
    )
    ratio = pl.when(pl.col("naive_width") > 0).then(pl.col("width") / pl.col("naive_width"))
    pairs = pairs.with_columns(ratio.alias("width_ratio")).sort(
        "value", descending=largest_is_best, nulls_last=True, maintain_order=True
    )
    text = [f"{ratio:.1f}×" if ratio is not None else "–" for ratio in pairs["width_ratio"]]
    return labelled(pairs).with_columns(pl.Series("ratio_text", text, dtype=pl.String))


def _span(rows: pl.DataFrame, y: Any, shift_px: int, height: Any) -> tuple[Any, Any]:
    alt = altair()
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=height)
    tooltip = tips(rows, "model", "kind", "value .3f", "low .3f", "high .3f", "cases", "videos")
    x = alt.X("low:Q", title=f"value (bars: {level_words(rows)})", scale=alt.Scale(zero=False, padding=8))
    kinds = [NAIVE_WORDS, CLUSTER_WORDS]
    color = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=["#e69f00", ACCENT]), title=None,
                      legend=alt.Legend(orient="top", symbolSize=70, symbolOpacity=1))  # fmt: skip
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["square", "circle"]), title=None)
    rule = base.mark_rule(strokeWidth=2, yOffset=shift_px).encode(
        y=y, x=x, x2=alt.X2("high:Q"), color=color, tooltip=tooltip
    )
    point = base.mark_point(filled=True, size=28, yOffset=shift_px, opacity=1)
    return rule, point.encode(y=y, x=alt.X("value:Q"), color=color, shape=shape, tooltip=tooltip)


def _spoken_pairs(pairs: pl.DataFrame) -> str:
    known = pairs.filter(pl.col("width_ratio").is_not_null()).sort("width_ratio", maintain_order=True)
    if known.is_empty():
        return "No ratio of widths is known."
    low, high = known.row(0, named=True), known.row(-1, named=True)
    words = f"{high[LABEL]}: {high['width_ratio']:.2f} times"
    return f"{words}." if known.height == 1 else f"From {low[LABEL]}: {low['width_ratio']:.2f} to {words}."


def _median(values: pl.Series) -> float | None:
    median: float | None = values.to_frame("value").select(pl.col("value").median()).item()
    return median


def _statistic(frame: pl.DataFrame) -> str:
    named = column(frame, "statistic")
    return plain(named[0], limit=30) if named is not None and len(named) else "value"


def difference_intervals(
    frame: pl.DataFrame,
    *,
    name: str = "difference-intervals",
    title: str = "Differences between models",
    unit: str = "videos",
    by: Sequence[str] = (),
) -> Chart:
    """One row per pair of models: the difference and its interval, the largest on top.

    Args:
        frame: Tables of `compare`, one below the other: columns `model_a`, `model_b`, `difference`, `low`, `high`,
            and `favours`, `p_false_claim`, `statistic`, `cases`, `videos` where known.
        name: Of the chart.
        title: Of the chart.
        unit: The independent unit that was resampled.
        by: Columns of the slices, where pairs were compared slice by slice.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no pair of models was compared")
    frame = typed(frame, name, texts=("model_a", "model_b", *by), numbers=("difference", "low", "high"))
    alt = altair()
    clear = ((pl.col("low") > 0) | (pl.col("high") < 0)).fill_null(False)
    verdict = pl.when(clear).then(pl.lit("interval excludes zero")).otherwise(pl.lit("interval includes zero"))
    largest, note = first_rows(
        frame.sort(pl.col("difference").abs(), descending=True, nulls_last=True, maintain_order=True),
        MOST_PAIRS,
        "pairs",
    )
    pairs = distinct([_pair_name(row, by) for row in largest.iter_rows(named=True)])
    rows = labelled(largest.with_columns(pl.Series("pair", pairs), verdict.alias("verdict")), "pair", limit=60)
    first = rows.row(0, named=True)
    rows = rows.sort("difference", descending=True, nulls_last=True, maintain_order=True)
    order = rows[LABEL].to_list()
    number_clear = frame.filter(clear).height
    picture = _differences(rows, order)
    spread = (
        f"{first[LABEL]} {number(first['difference'], signed=True)} [{number(first['low'])}, {number(first['high'])}]"
    )
    return drawn(
        name, alt.layer(line_at(0.0), *picture), title=title,
        alt=f"Differences of {amount(frame.height, 'pair')} of models; the intervals of {number_clear:,} exclude "
            f"zero. Largest: {spread}.{note}",
        caption=f"Points: {_statistic(frame)} of the first model minus the second, on the cases both were scored on. "
                f"Bars: {level_words(frame)} over {unit} ({sizes(frame)}), not adjusted for the "
                f"number of pairs. Filled, blue: the interval excludes zero ({number_clear:,} of {frame.height:,}); "
                f"hollow, grey: it does not.{note}",
        data=frame,
    )  # fmt: skip


def _pair_name(row: dict[str, Any], by: Sequence[str]) -> str:
    slices = "".join(f", {plain(row[name], limit=14)}" for name in by)
    first, second = (plain(row[side], limit=20) or "(no name)" for side in ("model_a", "model_b"))
    return f"{first} − {second}{slices}"


def _differences(rows: pl.DataFrame, order: list[str]) -> tuple[Any, Any, Any]:
    alt = altair()
    y = rows_axis(order, scale=row_scale(order))
    kinds = ["interval excludes zero", "interval includes zero"]
    legend = alt.Legend(orient="top", symbolSize=60)
    stroke = alt.Color("verdict:N", scale=alt.Scale(domain=kinds, range=[ACCENT, QUIET]), title=None, legend=legend)
    fill = alt.Fill("verdict:N", scale=alt.Scale(domain=kinds, range=[ACCENT, "#ffffff"]), title=None, legend=legend)
    tooltip = tips(rows, "model_a", "model_b", "difference +.3f", "low +.3f", "high +.3f", "favours",
                   "p_false_claim .2g", "cases", "videos")  # fmt: skip
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(len(order)))
    x = alt.X("low:Q", title=f"difference, first minus second (bars: {level_words(rows)})", scale=alt.Scale(padding=8))
    rule = base.mark_rule(strokeWidth=2).encode(y=y, x=x, x2=alt.X2("high:Q"), color=stroke, tooltip=tooltip)
    point = base.mark_point(size=40, opacity=1, strokeWidth=1.5)
    dots = point.encode(y=y, x=alt.X("difference:Q"), color=stroke, fill=fill, tooltip=tooltip)
    text = [number(value, signed=True) for value in rows["difference"]]
    values = alt.Chart(chart_data(rows.with_columns(pl.Series("difference_text", text))))
    return rule, dots, text_beside(values, y, "difference_text", len(order))


def video_leverage(
    frame: pl.DataFrame,
    *,
    name: str = "video-leverage",
    title: str = "What single videos do to the headline",
    estimand: str = "headline value, the mean over buckets",
) -> Chart:
    """One row per video: how far the headline moves when it is left out, the largest move on top.

    Args:
        frame: The table `leverage_videos` of `score`: columns `video`, `change`, and `questions`,
            `headline_without` where known.
        name: Of the chart.
        title: Of the chart.
        estimand: What the headline is.
    """
    frame = typed(frame, name, texts=("video",), numbers=("change",))
    known = frame.filter(pl.col("change").is_not_null())
    if known.is_empty():
        return nothing_to_show(name, title, "no video can be left out")
    alt = altair()
    ranked = known.sort(pl.col("change").abs(), descending=True, maintain_order=True)
    shown, note = first_rows(ranked, MOST_VIDEOS, "videos")
    way = pl.when(pl.col("change") > 0).then(pl.lit("rises without it")).otherwise(pl.lit("falls without it"))
    rows = labelled(shown.with_columns(way.alias("headline")), "video")
    order = rows[LABEL].to_list()
    kinds = ["rises without it", "falls without it"]
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(len(order)))
    y = rows_axis(order, scale=row_scale(order))
    color = alt.Color("headline:N", scale=alt.Scale(domain=kinds, range=[CONTRAST, ACCENT]), title="headline",
                      legend=alt.Legend(orient="top"))  # fmt: skip
    shape = alt.Shape(
        "headline:N", scale=alt.Scale(domain=kinds, range=["triangle-right", "triangle-left"]), title="headline"
    )
    tooltip = tips(rows, "video", "questions", "headline_without .4f", "change +.4f")
    x = alt.X("change:Q", title="change of the headline when the video is left out", scale=alt.Scale(padding=10))
    stem = base.mark_rule(strokeWidth=1.5).encode(y=y, x=x, x2=alt.datum(0), color=color, tooltip=tooltip)
    head = base.mark_point(filled=True, size=60, opacity=1).encode(y=y, x=x, color=color, shape=shape, tooltip=tooltip)
    top = rows.row(0, named=True)
    questions = counted(column(rows, "questions"), "questions each")
    return drawn(
        name, alt.layer(line_at(0.0, color=INK), stem, head), title=title,
        alt=f"Leaving out one of {known.height:,} videos moves the headline by at most {number(abs(top['change']), 4)} "
            f"({top[LABEL]}: {number(top['change'], 4, signed=True)}).{note}",
        caption=f"Change of the {estimand}, when one video is left out (n = {known.height:,} videos"
                f"{', ' + questions if questions else ''}). Triangles point to where the headline moves.{note}",
        data=frame,
    )  # fmt: skip
