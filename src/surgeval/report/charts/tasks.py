"""Tasks: the scores behind each ranking, and how firm the ranking of each task is."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL
from surgeval.report.charts._ranking import (
    at_row,
    listed,
    marks,
    named,
    number,
    ordered_models,
    padded,
    part_of,
    row_names,
    same_part,
    tooltips,
)
from surgeval.report.theme import ACCENT, INK, QUIET, RULE, WIDTH_PX, row_step_px
from surgeval.report.words import short_names

POINTS = 2000
"""Most raw points that are drawn."""


def task_boxes(
    scores: pl.DataFrame,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    video_means: bool = False,
    measure: str = "score",
    name: str = "task-boxes",
    title: str = "Scores",
) -> Chart:
    """One row per model: every score of a task as a point, and a box over the middle half of them.

    Args:
        scores: Columns `model, value`, and `task` where there are several, `video` for means of videos.
        places: Columns `model` and `rank` (or `place`), which order the rows; by the median otherwise.
        group: Which task; the first of the table by default.
        video_means: One point per video, its mean, in place of one per case: right for dependent cases.
        measure: What the score is.
        name: Of the chart.
        title: Of the chart; the task's name is added.
    """
    chosen = part_of(scores, group)
    title += chosen.suffix
    frame = chosen.frame.with_columns(pl.col("value").cast(pl.Float64).fill_nan(None)).drop_nulls("value")
    if video_means and "video" in frame.columns:
        frame = frame.group_by("model", "video", maintain_order=True).agg(pl.col("value").mean())
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has a score")
    boxes = _boxes(frame, same_part(places, chosen))
    points = _points(frame, boxes)
    x_title = f"mean {measure} of a video" if video_means else measure
    picture = _box_picture(boxes, points, x_title)
    return drawn(
        name, picture, title=title, alt=_box_words(boxes, measure), data=boxes.drop(LABEL),
        caption=_box_caption(boxes, points.height, frame.height, video_means, measure),
    )  # fmt: skip


def _box_picture(boxes: pl.DataFrame, points: pl.DataFrame, x_title: str) -> Any:
    alt = altair()
    rows, step = boxes.height, row_step_px(boxes.height)
    ends = padded([*points["value"], *boxes["low"], *boxes["high"]])
    scale = alt.Scale(domain=ends, nice=False)
    shown = boxes.with_row_index("at").with_columns(top=pl.col("at") - 0.3, foot=pl.col("at") + 0.3)
    tips = tooltips(_BOX_TIPS, shown.columns)

    def across(field: str) -> Any:
        return alt.X(f"{field}:Q", title=x_title, scale=scale)

    dots = marks(points).mark_circle(size=max(4, step * 0.6), color=QUIET, opacity=0.45)
    spread = marks(shown).mark_rule(color=ACCENT, strokeWidth=1.2)
    body = marks(shown).mark_rect(fill="#9ecae1", fillOpacity=0.5, stroke=ACCENT, strokeWidth=1)
    middle = marks(shown).mark_rule(color=INK, strokeWidth=2)
    up_down = {"y": at_row("top", rows), "y2": "foot:Q", "tooltip": tips}
    return alt.layer(
        dots.encode(y=at_row("at", rows), x=across("value")),
        spread.encode(y=at_row("at", rows), x=across("low"), x2=alt.X2("high:Q")),
        body.encode(x=across("q25"), x2=alt.X2("q75:Q"), **up_down),
        middle.encode(x=across("median"), **up_down),
        row_names(boxes[LABEL].to_list(), ends[0], scale, step_px=step),
    ).properties(width=WIDTH_PX, height=rows * step)


def _boxes(frame: pl.DataFrame, places: pl.DataFrame | None) -> pl.DataFrame:
    """Five numbers per model: quartiles, and the outermost scores within one and a half boxes of them."""
    value = pl.col("value")
    boxes = frame.group_by("model", maintain_order=True).agg(
        value.quantile(0.25, "linear").alias("q25"), value.median().alias("median"),
        value.quantile(0.75, "linear").alias("q75"), value.mean().alias("mean"), pl.len().alias("points"),
    )  # fmt: skip
    reach = 1.5 * (pl.col("q75") - pl.col("q25"))
    inside = frame.join(boxes, on="model")
    inside = inside.filter(value.is_between(pl.col("q25") - reach, pl.col("q75") + reach))
    ends = inside.group_by("model").agg(low=value.min(), high=value.max())
    boxes = boxes.join(ends, on="model").sort("median", "mean", "model", descending=[True, True, False])
    order = ordered_models(boxes["model"], places)
    labels = short_names(order)
    ranked = pl.DataFrame({"model": order, LABEL: list(labels.values())})
    return ranked.join(boxes, on="model", maintain_order="left")


def _points(frame: pl.DataFrame, boxes: pl.DataFrame) -> pl.DataFrame:
    """The points to draw: all, or every so-manieth in the order of value, scattered the same way every time."""
    row = {model: at for at, model in enumerate(boxes["model"])}
    every = max(1, -(-frame.height // POINTS))
    points = frame.select("value", at=pl.col("model").replace_strict(row, return_dtype=pl.Float64))
    points = points.sort("at", "value").gather_every(every)
    scattered = (np.arange(points.height) * 0.6180339887498949) % 1.0 - 0.5
    return points.select(pl.col("value").round(5), at=(pl.col("at") + 0.6 * pl.Series(scattered)).round(3))


_BOX_TIPS = (
    ("model", "N", ""), ("median", "Q", ".3f"), ("q25", "Q", ".3f"), ("q75", "Q", ".3f"), ("mean", "Q", ".3f"),
    ("points", "Q", "d"),
)  # fmt: skip


def _box_caption(boxes: pl.DataFrame, drawn_points: int, total: int, video_means: bool, measure: str) -> str:
    each = f"the mean {measure} of one video" if video_means else f"the {measure} of one case"
    few, many = min(boxes["points"].to_list()), max(boxes["points"].to_list())
    n = f"{few}" if few == many else f"{few} to {many}"
    words = (
        f"Points: {each} (n = {n} per model). Boxes: the middle half; ticks: the median; lines: to the outermost"
        " point within one and a half box lengths."
    )
    return words if drawn_points == total else words + f" Drawn: {drawn_points:,} of {total:,} points, evenly by value."


def _box_words(boxes: pl.DataFrame, measure: str) -> str:
    phrases = [
        f"{row[LABEL]} {number(row['median'])} ({number(row['q25'])} to {number(row['q75'])})"
        for row in boxes.iter_rows(named=True)
    ]
    return f"Median {measure} (middle half) of {boxes.height} models: {listed(phrases, 5)}."


def tau_violin(
    frequencies: pl.DataFrame,
    quartiles: pl.DataFrame | None = None,
    *,
    evidence: str = "",
    name: str = "tau-violin",
    title: str = "How firm each ranking is",
) -> Chart:
    """One row per task or board: how often resampling gave which Kendall's tau with the original ranking.

    Args:
        frequencies: Columns `task` or `board`, `tau_b, share`: `tau_frequencies` of a ranking.
        quartiles: Columns `task, q25, median, q75`: `tau` of a ranking; adds a bar and a tick.
        evidence: What was resampled how often, for the caption.
        name: Of the chart.
        title: Of the chart.
    """
    kind = "task" if "task" in frequencies.columns else "board"
    given = named(frequencies).drop_nulls("tau_b")
    if given.is_empty():
        return nothing_to_show(name, title, "no resample gave a ranking that could be compared")
    alt = altair()
    order = given[kind].unique(maintain_order=True).to_list()
    labels = short_names(order)
    width = _bin_width(min(given["tau_b"].to_list()))
    bins = _bins(given, kind, order, width)
    step, rows = max(18, row_step_px(len(order)) + 8), len(order)
    ends = [min(0.5, min(bins["left"].to_list())), 1 + width]
    scale = alt.Scale(domain=ends, nice=False)
    x = alt.X("left:Q", title="Kendall's tau-b with the original ranking", scale=scale)
    tips = tooltips(((kind, "N", ""), ("left", "Q", ".3f"), ("right", "Q", ".3f"), ("share", "Q", ".1%")), bins.columns)
    bodies = marks(bins).mark_rect(color=ACCENT, opacity=0.75)
    bodies = bodies.encode(y=at_row("from", rows), y2=alt.Y2("to:Q"), x=x, x2=alt.X2("right:Q"), tooltip=tips)
    base = marks(pl.DataFrame({"at": range(rows)})).mark_rule(color=RULE).encode(y=at_row("at", rows))
    layers = [base, bodies, row_names(list(labels.values()), ends[0], scale, step_px=step)]
    if quartiles is not None and not quartiles.is_empty():
        layers += _quartile_marks(quartiles, kind, order, scale)
    picture = alt.layer(*layers).properties(width=WIDTH_PX, height=step * len(order))
    return drawn(
        name, picture, title=title, alt=_tau_words(given, kind, labels), data=frequencies,
        caption=f"Height of a body: the share of resamples{f' ({evidence})' if evidence else ''} whose ranking has that"
        f" tau-b with the original one (1: the same order; 0: no relation), in steps of {width:g}; each body is scaled"
        f" to its own peak.{' Lines: the middle half; diamonds: the median.' if len(layers) > 3 else ''}",
    )  # fmt: skip


def _bin_width(lowest: float) -> float:
    """Bins fine enough for the spread that there is."""
    return 0.05 if lowest < 0.3 else 0.02 if lowest < 0.7 else 0.01


def _bins(given: pl.DataFrame, kind: str, order: list[str], width: float) -> pl.DataFrame:
    """Bodies of the violins: shares of tau in bins around multiples of the width, half above and half below a row."""
    middle = (pl.col("tau_b") / width).round() * width
    bins = given.with_columns(left=(middle - width / 2).round(6)).group_by(kind, "left").agg(pl.col("share").sum())
    half = 0.42 * pl.col("share") / pl.col("share").max().over(kind)
    at = pl.col(kind).replace_strict({task: row for row, task in enumerate(order)}, return_dtype=pl.Float64)
    bins = bins.with_columns(
        (at - half).alias("from"), (at + half).alias("to"), right=(pl.col("left") + width).round(6)
    )
    return bins.sort(at, "left")


def _quartile_marks(quartiles: pl.DataFrame, kind: str, order: list[str], scale: Any) -> list[Any]:
    alt = altair()
    at = at_row("at", len(order))
    rows = named(quartiles).filter(pl.col(kind).is_in(order)).drop_nulls("median")
    place = {task: row for row, task in enumerate(order)}
    rows = rows.with_columns(at=pl.col(kind).replace_strict(place, return_dtype=pl.Float64))
    bar = (
        marks(rows).mark_rule(color=INK, strokeWidth=2).encode(y=at, x=alt.X("q25:Q", scale=scale), x2=alt.X2("q75:Q"))
    )
    tick = marks(rows).mark_point(shape="diamond", filled=True, size=50, fill="white", stroke=INK, opacity=1)
    return [bar, tick.encode(y=at, x=alt.X("median:Q", scale=scale))]


def _tau_words(given: pl.DataFrame, kind: str, labels: dict[str, str]) -> str:
    mean = given.group_by(kind, maintain_order=True).agg(
        mean=(pl.col("tau_b") * pl.col("share")).sum() / pl.col("share").sum()
    )
    phrases = [f"{labels[task]} {number(value)}" for task, value in mean.sort("mean").iter_rows()]
    return f"Mean Kendall's tau-b under resampling of {len(phrases)} {kind}s, least firm first: {listed(phrases, 6)}."
