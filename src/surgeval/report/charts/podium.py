"""Ranks in every bucket or task: who was how good where, and how often each rank was reached."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL
from surgeval.report.charts._ranking import (
    BUCKET,
    bucket_evidence,
    dark_ink,
    in_rows,
    listed,
    marks,
    model_labels,
    named,
    number,
    ordered_models,
    own_colour,
    part_of,
    same_part,
    shown_of,
    tooltips,
    with_bucket,
)
from surgeval.report.theme import PALETTE, QUIET, RULE, SHAPES, SURFACE, label_px, row_step_px

PODIUM_MODELS = 10
"""Most models on a podium: more could not be told apart."""
PODIUM_WIDTH_PX = 760


def podium(
    buckets: pl.DataFrame,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    name: str = "podium",
    title: str = "Podium",
) -> Chart:
    """Values of the best models in every bucket, arranged by position; below, how often each reached it.

    Each position has one column per model, in the order of the board. A line joins the points of one bucket.

    Args:
        buckets: Columns `board, capability, ood, model, accuracy`, or `task, model, value, rank`.
        places: Columns `model` and `place` (or `rank`), which say which ten models are shown.
        group: Which board; the first of the table by default. Tasks are all shown together.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    frame, suffix, chosen = _board_or_tasks(buckets, places, group)
    title += suffix
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has a value in any bucket")
    every = ordered_models(frame.sort("value", descending=True)["model"], chosen)
    points = _positions(frame, model_labels(every[:PODIUM_MODELS], chosen))
    models = points["model"].n_unique()
    where = _where(buckets)
    picture = altair().vconcat(_values(points, models, where), _counts(points, models), spacing=14, bounds="flush")
    caption = (
        f"Each point: the value of one model in one {where}; positions by value among the models shown, best first;"
        " equal values share the better one. Inside a position the columns are the models in the order of the"
        f" legend. Lines join the points of one {where}. Bars: in how many of the {points[BUCKET].n_unique()}"
        f" {where}s the model has that position. Differences need not be significant."
    )
    return drawn(
        name, picture, title=title, alt=_podium_words(points, where), data=frame,
        caption=caption + bucket_evidence(frame) + shown_of(models, len(every)),
    )  # fmt: skip


def _where(frame: pl.DataFrame) -> str:
    return "bucket" if "capability" in frame.columns else "task"


def _board_or_tasks(
    buckets: pl.DataFrame, places: pl.DataFrame | None, group: str | None
) -> tuple[pl.DataFrame, str, pl.DataFrame | None]:
    """The rows of one board, or of all tasks, with columns `bucket` and `value`."""
    if "capability" not in buckets.columns:
        return with_bucket(named(buckets)), "", None if places is None else named(places)
    chosen = part_of(buckets, group)
    return with_bucket(chosen.frame.with_columns(value=pl.col("accuracy"))), chosen.suffix, same_part(places, chosen)


def _positions(frame: pl.DataFrame, labels: dict[str, str]) -> pl.DataFrame:
    """Of the models shown: position in each bucket, and the column to stand in."""
    models = list(labels)
    best = pl.col("rank") if "capability" not in frame.columns else -pl.col("value").round(12)
    rows = frame.filter(pl.col("model").is_in(models))
    rows = rows.filter(pl.col("value").is_not_null())
    rows = rows.with_columns(position=best.rank("min").over(BUCKET).cast(pl.Int64))
    column = pl.col("model").replace_strict({model: at for at, model in enumerate(models)}, return_dtype=pl.Int64)
    rows = rows.with_columns(pl.col("model").replace_strict(labels).alias(LABEL), column=column)
    slot = pl.col("position") - 0.5 + (pl.col("column") + 1.0) / (len(models) + 1)
    return rows.with_columns(slot=slot).sort("column", BUCKET)


def _colour_and_shape(points: pl.DataFrame) -> tuple[Any, Any]:
    alt = altair()
    order = points[LABEL].unique(maintain_order=True).to_list()
    colours = [(*PALETTE[:7], QUIET, "#882255", "#44aa99")[at % 10] for at in range(len(order))]
    shapes = [SHAPES[at % len(SHAPES)] for at in range(len(order))]
    legend = alt.Legend(title=None, orient="right", symbolSize=70, labelLimit=200)
    colour = alt.Color(f"{LABEL}:N", scale=alt.Scale(domain=order, range=colours), legend=legend)
    return colour, alt.Shape(f"{LABEL}:N", scale=alt.Scale(domain=order, range=shapes), legend=legend)


def _x(field: str, models: int, *, title: str | None, labels: bool) -> Any:
    alt = altair()
    axis = alt.Axis(values=list(range(1, models + 1)), format="d", grid=False, labels=labels, ticks=False)
    return alt.X(f"{field}:Q", title=title, scale=alt.Scale(domain=[0.5, models + 0.5], nice=False), axis=axis)


def _values(points: pl.DataFrame, models: int, where: str) -> Any:
    alt = altair()
    colour, shape = _colour_and_shape(points)
    y = alt.Y("value:Q", title=f"value in the {where}", scale=alt.Scale(zero=False))
    x = _x("slot", models, title=None, labels=False)
    edges = pl.DataFrame({"edge": [at + 0.5 for at in range(models + 1)]})
    walls = marks(edges).mark_rule(color=RULE).encode(x=_x("edge", models, title=None, labels=False))
    lines = marks(points.select("slot", "value", BUCKET)).mark_line(color=QUIET, opacity=0.35, strokeWidth=1)
    lines = lines.encode(x=x, y=y, detail=alt.Detail(f"{BUCKET}:N"), order=alt.Order("slot:Q"))
    tips = tooltips(
        (("model", "N", ""), (BUCKET, "N", ""), ("value", "Q", ".3f"), ("position", "Q", "d")), points.columns
    )
    dots = marks(points).mark_point(filled=True, size=45, opacity=0.9)
    dots = dots.encode(x=x, y=y, color=colour, shape=shape, tooltip=tips)
    return alt.layer(walls, lines, dots).properties(width=PODIUM_WIDTH_PX, height=280)


def _counts(points: pl.DataFrame, models: int) -> Any:
    alt = altair()
    colour, _ = _colour_and_shape(points)
    counts = points.group_by(LABEL, "model", "position", "slot", maintain_order=True).agg(times=pl.len())
    half = 0.42 / (models + 1)
    counts = counts.with_columns(left=pl.col("slot") - half, right=pl.col("slot") + half, none=0)
    x = _x("left", models, title="position among the models shown", labels=True)
    tips = tooltips((("model", "N", ""), ("position", "Q", "d"), ("times", "Q", "d")), counts.columns)
    y = alt.Y("times:Q", title="times", axis=alt.Axis(tickMinStep=1, tickCount=4))
    bars = (
        marks(counts)
        .mark_rect()
        .encode(x=x, x2=alt.X2("right:Q"), y=y, y2=alt.Y2("none:Q"), color=colour, tooltip=tips)
    )
    return bars.properties(width=PODIUM_WIDTH_PX, height=80)


def _podium_words(points: pl.DataFrame, where: str) -> str:
    wins = points.filter(pl.col("position") == 1).group_by(LABEL, "column").agg(times=pl.len())
    wins = wins.sort("times", "column", descending=[True, False])
    phrases = [f"{row[LABEL]} in {row['times']}" for row in wins.iter_rows(named=True)]
    spread = points["value"]
    return (
        f"Values of {points['model'].n_unique()} models in {points[BUCKET].n_unique()} {where}s, from"
        f" {number(min(spread.to_list()))} to {number(max(spread.to_list()))}. First position: {listed(phrases, 5)}."
    )


def ranking_heat_map(
    buckets: pl.DataFrame,
    places: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    name: str = "ranking-heat-map",
    title: str = "How often each rank was reached",
) -> Chart:
    """One row per model, one column per rank: the number of buckets or tasks in which the model has that rank.

    Args:
        buckets: Columns `board, capability, ood, model, rank`, or `task, model, rank`.
        places: Columns `model` and `place` (or `rank`), which order the rows.
        group: Which board; the first of the table by default. Tasks are all counted together.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    prepared = buckets if "accuracy" in buckets.columns else buckets.with_columns(accuracy=pl.lit(None, pl.Float64))
    frame, suffix, chosen = _board_or_tasks(prepared, places, group)
    title += suffix
    if frame.is_empty():
        return nothing_to_show(name, title, "no model has a rank in any bucket")
    alt = altair()
    mean = frame.group_by("model").agg(pl.col("rank").mean()).sort("rank", "model")
    order = ordered_models(mean["model"], chosen)
    labels, total, where = model_labels(order, chosen), frame[BUCKET].n_unique(), _where(frame)
    cells = frame.group_by("model", "rank").agg(times=pl.len())
    cells = cells.with_columns(
        pl.col("model").replace_strict(labels).alias(LABEL), ink=dark_ink(pl.col("times") > 0.5 * total)
    ).sort("model", "rank")
    step, last = row_step_px(len(order)), max(frame["rank"].to_list())
    x = alt.X(
        "rank:O", title=f"rank in a {where}", scale=alt.Scale(domain=list(range(1, last + 1))),
        axis=alt.Axis(labelAngle=0, labelOverlap=True, ticks=False),
    )  # fmt: skip
    colour = alt.Color(
        "times:Q", title=f"{where}s", scale=alt.Scale(scheme=SURFACE, domain=[0, total]),
        legend=alt.Legend(orient="top", tickMinStep=1, gradientLength=160),
    )  # fmt: skip
    tips = tooltips((("model", "N", ""), ("rank", "Q", "d"), ("times", "Q", "d")), cells.columns)
    boxes = (
        marks(cells)
        .mark_rect(stroke="white", strokeWidth=0.5)
        .encode(y=in_rows(list(labels.values())), x=x, color=colour)
    )
    words = marks(cells).mark_text(fontSize=label_px(step), baseline="middle")
    words = words.encode(
        y=in_rows(list(labels.values())), x=x, text=alt.Text("times:Q"), color=own_colour("ink"), tooltip=tips
    )
    width = max(12 if last <= 70 else 9, min(30, step))
    picture = (
        alt.layer(boxes, words)
        .resolve_scale(color="independent")
        .properties(width=alt.Step(width), height=alt.Step(step))
    )
    return drawn(
        name, picture, title=title, alt=_heat_words(cells, total, where), data=frame,
        caption=f"Numbers and shades: in how many of {total} {where}s the model has the rank. Equal ranks are shared"
        f", so a model's numbers add up to {total}.{bucket_evidence(frame)}",
    )  # fmt: skip


def _heat_words(cells: pl.DataFrame, total: int, where: str) -> str:
    first = cells.filter(pl.col("rank") == 1).sort("times", LABEL, descending=[True, False])
    phrases = [f"{row[LABEL]} in {row['times']}" for row in first.iter_rows(named=True)]
    return f"Ranks of {cells['model'].n_unique()} models in {total} {where}s. First rank: {listed(phrases, 5)}."
