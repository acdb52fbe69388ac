"""The bucket matrix: how good each model is at each capability, in and out of distribution, and over the floor."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._ranking import (
    BUCKET,
    bucket_evidence,
    in_rows,
    listed,
    marks,
    model_labels,
    number,
    ordered_models,
    part_of,
    same_part,
    tooltips,
    with_bucket,
)
from surgeval.report.theme import INK, SURFACE, label_px, row_step_px
from surgeval.report.words import plain, short_names
from surgeval.scoring.floors import FLOORS

CELL_PX = 72
MARGIN_MODELS = 25
"""Most models whose margins fit below their accuracies."""
BREAK = "¦"
"""Where a column's head breaks into lines; the axis splits there."""
PALE = 0.55
"""Opacity of shades, so that dark letters can be read on all of them."""
FLOOR_ROW = "best floor without video"
SIZE_ROW = "questions / videos"


def bucket_matrix(
    buckets: pl.DataFrame,
    places: pl.DataFrame | None = None,
    floors: pl.DataFrame | None = None,
    *,
    group: str | None = None,
    name: str = "bucket-matrix",
    title: str = "Accuracy by capability",
) -> Chart:
    """One row per model, one column per bucket: accuracy as number and shade, and its margin over the floor.

    Args:
        buckets: Columns `board, capability, ood, model, accuracy, questions, videos`.
        places: Columns `model` and `place`, which order the rows.
        floors: Columns `floor, level, name, accuracy, questions`, as `surgeval floors` writes them. A floor is used
            where it was found on as many questions as the bucket has.
        group: Which board; the first of the table by default.
        name: Of the chart.
        title: Of the chart; the board's name is added.
    """
    chosen = part_of(buckets, group)
    title += chosen.suffix
    if chosen.frame.is_empty():
        return nothing_to_show(name, title, "no model has an accuracy in any bucket")
    ranking = same_part(places, chosen)
    mean = (
        chosen.frame.group_by("model")
        .agg(pl.col("accuracy").mean())
        .sort("accuracy", "model", descending=[True, False])
    )
    labels = model_labels(ordered_models(mean["model"], ranking), ranking)
    cells = _cells(chosen.frame, labels, floors)
    floored = cells["margin"].is_not_null().any()
    roomy = floored and len(labels) <= MARGIN_MODELS
    return drawn(
        name, _picture(cells, labels, roomy), title=title, alt=_spoken(cells, labels, floored), data=chosen.frame,
        caption=_caption(floored, roomy, floors is not None) + bucket_evidence(chosen.frame),
    )  # fmt: skip


def _cells(frame: pl.DataFrame, labels: dict[str, str], floors: pl.DataFrame | None) -> pl.DataFrame:
    side = pl.when(pl.col("ood").cast(pl.Boolean)).then(pl.lit("ood")).otherwise(pl.lit("id"))
    cells = with_bucket(frame).with_columns(
        slice=pl.col("capability") + "_" + side,
        row=pl.col("model").replace_strict(labels, return_dtype=pl.String),
    )
    heads = _heads(cells[BUCKET].unique(maintain_order=True).to_list())
    cells = cells.with_columns(head=pl.col(BUCKET).replace_strict(heads, return_dtype=pl.String))
    if floors is None or floors.is_empty():
        best = pl.DataFrame(schema={"slice": pl.String, "floor": pl.Float64, "questions": pl.Int64})
    else:
        honest = floors.filter((pl.col("level") == "bucket") & pl.col("floor").is_in(FLOORS))
        best = honest.group_by(pl.col("name").alias("slice"), pl.col("questions").cast(pl.Int64)).agg(
            floor=pl.col("accuracy").max()
        )
    cells = cells.with_columns(pl.col("questions").cast(pl.Int64)).join(
        best, on=["slice", "questions"], how="left", maintain_order="left"
    )
    return cells.with_columns(margin=pl.col("accuracy") - pl.col("floor"))


def _heads(names: list[str]) -> dict[str, str]:
    """The head of each column, all with as many lines; the last says ID or OOD."""
    labels = short_names((name.rpartition(", ")[0] for name in names), limit=40)
    lines = {}
    for name in names:
        group, _, side = name.rpartition(", ")
        words = labels[group].replace(BREAK, " ").split()[:3]
        lines[name] = [*(plain(word, limit=13) for word in words), side]
    most = max(len(parts) for parts in lines.values())
    return {name: BREAK.join([""] * (most - len(parts)) + parts) for name, parts in lines.items()}


def _feet(cells: pl.DataFrame) -> pl.DataFrame:
    """The rows under the models: floor, and size of each bucket."""
    each = cells.unique("head", maintain_order=True)
    floor = each.filter(pl.col("floor").is_not_null()).select(
        "head",
        row=pl.lit(FLOOR_ROW),
        words=pl.col("floor").map_elements(lambda value: f"{value:.3f}", return_dtype=pl.String),
    )
    words = pl.format("{} / {}", "questions", "videos")
    return pl.concat([floor, each.select("head", row=pl.lit(SIZE_ROW), words=words)])


def _picture(cells: pl.DataFrame, labels: dict[str, str], roomy: bool) -> Any:
    alt = altair()
    feet = _feet(cells)
    order = [*labels.values(), *feet["row"].unique(maintain_order=True)]
    step = 30 if roomy else row_step_px(len(order))
    heads = cells["head"].unique(maintain_order=True).to_list()
    axis = alt.Axis(
        orient="top", labelAngle=0, labelExpr=f"split(datum.label, '{BREAK}')", labelBaseline="bottom", ticks=False,
        domain=False, labelOverlap=False, labelLimit=CELL_PX - 2, labelFontSize=11, labelLineHeight=13,
        labelPadding=12 * heads[0].count(BREAK) + 4,
    )  # fmt: skip
    x = alt.X("head:N", sort=heads, scale=alt.Scale(domain=heads), title=None, axis=axis)
    y = in_rows(order, field="row")
    colour = alt.Color(
        "accuracy:Q", title="accuracy", scale=alt.Scale(scheme=SURFACE, domain=[0, 1]),
        legend=alt.Legend(orient="bottom", gradientLength=200, gradientOpacity=PALE, direction="horizontal"),
    )  # fmt: skip
    tips = tooltips(_TIPS, cells.columns)
    shown = cells.select("row", "head", "model", BUCKET, "accuracy", "floor", "margin", "questions", "videos")
    boxes = (
        marks(shown)
        .mark_rect(stroke="white", strokeWidth=0.5, opacity=PALE)
        .encode(x=x, y=y, color=colour, tooltip=tips)
    )
    size = label_px(step)
    up = -step / 2 * 0.36 if roomy else 0
    numbers = marks(shown).mark_text(fontSize=size, baseline="middle", color=INK, dy=up)
    layers = [boxes, numbers.encode(x=x, y=y, text=alt.Text("accuracy:Q", format=".3f"), tooltip=tips)]
    if roomy:
        over = marks(shown.filter(pl.col("margin").is_not_null())).mark_text(
            fontSize=size, baseline="middle", color=INK, dy=-up + 1
        )
        layers.append(over.encode(x=x, y=y, text=alt.Text("margin:Q", format="+.3f")))
    layers.append(
        marks(feet).mark_text(fontSize=size, baseline="middle", color=INK).encode(x=x, y=y, text=alt.Text("words:N"))
    )
    return alt.layer(*layers).properties(width=alt.Step(CELL_PX), height=alt.Step(step))


_TIPS = (
    ("model", "N", ""), (BUCKET, "N", ""), ("accuracy", "Q", ".3f"), ("floor", "Q", ".3f"), ("margin", "Q", "+.3f"),
    ("questions", "Q", "d"), ("videos", "Q", "d"),
)  # fmt: skip


def _caption(floored: bool, roomy: bool, asked: bool) -> str:
    words = "Numbers and shades: the share of questions of the bucket answered rightly."
    if floored:
        words += " Row at the bottom: the best system that never looks at the video."
        return words + (" Small numbers: the margin over it." if roomy else "")
    return words + (" No floor was found on the same questions, so no margin is shown." if asked else "")


def _spoken(cells: pl.DataFrame, labels: dict[str, str], floored: bool) -> str:
    phrases = []
    best = cells.sort("accuracy", descending=True, nulls_last=True, maintain_order=True)
    for bucket in cells[BUCKET].unique(maintain_order=True):
        rows = best.filter(pl.col(BUCKET) == bucket)
        row = rows.row(0, named=True)
        ties = rows.filter(pl.col("accuracy") == row["accuracy"]).height - 1
        over = f", {row['margin']:+.3f} over the floor" if row["margin"] is not None else ""
        phrases.append(
            f"{bucket}: {row['row']}{f' and {ties} more' if ties > 0 else ''} {number(row['accuracy'])}{over}"
        )
    words = f"Accuracy of {len(labels)} models in {len(phrases)} buckets{' against the floors' if floored else ''}."
    return f"{words} Best in each: {listed(phrases, 10)}."
