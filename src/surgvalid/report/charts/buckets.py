"""The bucket matrix: how good each model is at each capability, in and out of distribution, and over the trivial
baseline.
"""

from __future__ import annotations

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts._ranking import (
    BUCKET,
    bucket_evidence,
    listed,
    model_labels,
    ordered_models,
    part_of,
    same_part,
    with_bucket,
)
from surgvalid.report.charts.tables import number
from surgvalid.report.drawing.grid import GridCell, GridImage
from surgvalid.scoring.trivial_baselines import BASELINES

FLOOR_ROW = "best trivial baseline without video"
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
    """One row per model, one column per bucket: accuracy as number and shade, and its margin over the trivial baseline.

    Args:
        buckets: Columns `board, capability, ood, model, accuracy, questions, videos`.
        places: Columns `model` and `place`, which order the rows.
        floors: Columns `floor, level, name, accuracy, questions`, as `surgvalid score baselines` writes them. A trivial
            baseline is used where it was found on as many questions as the bucket has.
        group: Which leaderboard; the first of the table by default.
        name: Of the chart.
        title: Of the chart; the leaderboard's name is added.
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
    floored = bool(cells["margin"].is_not_null().any())
    return Chart(
        name,
        title,
        _spoken(cells, labels, floored),
        _caption(floored, floors is not None) + bucket_evidence(chosen.frame),
        chosen.frame,
        _image(cells, list(labels.values())),
    )


def _cells(frame: pl.DataFrame, labels: dict[str, str], floors: pl.DataFrame | None) -> pl.DataFrame:
    side = pl.when(pl.col("ood").cast(pl.Boolean)).then(pl.lit("ood")).otherwise(pl.lit("id"))
    cells = with_bucket(frame).with_columns(
        slice=pl.col("capability") + "_" + side,
        row=pl.col("model").replace_strict(labels, return_dtype=pl.String),
    )
    if floors is None or floors.is_empty():
        best = pl.DataFrame(schema={"slice": pl.String, "floor": pl.Float64, "questions": pl.Int64})
    else:
        honest = floors.filter((pl.col("level") == "bucket") & pl.col("floor").is_in(BASELINES))
        best = honest.group_by(pl.col("name").alias("slice"), pl.col("questions").cast(pl.Int64)).agg(
            floor=pl.col("accuracy").max()
        )
    cells = cells.with_columns(pl.col("questions").cast(pl.Int64)).join(
        best, on=["slice", "questions"], how="left", maintain_order="left"
    )
    return cells.with_columns(margin=pl.col("accuracy") - pl.col("floor"))


def _image(cells: pl.DataFrame, labels: list[str]) -> GridImage:
    """Accuracies of models, and below them the trivial baseline and the size of each bucket."""
    heads = cells[BUCKET].unique(maintain_order=True).to_list()
    order = [*labels, *([FLOOR_ROW] if cells["floor"].is_not_null().any() else []), SIZE_ROW]
    drawn = []
    for row in cells.iter_rows(named=True):
        words = f"{row['row']}, {row[BUCKET]}: {number(row['accuracy'])}"
        words += f", {row['margin']:+.3f} over the trivial baseline" if row["margin"] is not None else ""
        at = order.index(row["row"]), heads.index(row[BUCKET])
        drawn.append(GridCell(*at, number(row["accuracy"]), row["accuracy"] or 0.0, words))
    for row in cells.unique(BUCKET, maintain_order=True).iter_rows(named=True):
        column = heads.index(row[BUCKET])
        if row["floor"] is not None:
            drawn.append(GridCell(order.index(FLOOR_ROW), column, number(row["floor"])))
        drawn.append(GridCell(order.index(SIZE_ROW), column, f"{row['questions']} / {row['videos']}"))
    return GridImage(tuple(order), tuple(heads), tuple(drawn))


def _caption(floored: bool, asked: bool) -> str:
    words = "Numbers and shades: the share of questions of the bucket answered rightly."
    if floored:
        return words + " Row at the bottom: the best input-blind system; pointing at a cell shows the margin over it."
    return words + (" No trivial baseline was found on the same questions, so no margin is shown." if asked else "")


def _spoken(cells: pl.DataFrame, labels: dict[str, str], floored: bool) -> str:
    phrases = []
    best = cells.sort("accuracy", descending=True, nulls_last=True, maintain_order=True)
    for bucket in cells[BUCKET].unique(maintain_order=True):
        rows = best.filter(pl.col(BUCKET) == bucket)
        row = rows.row(0, named=True)
        ties = rows.filter(pl.col("accuracy") == row["accuracy"]).height - 1
        over = f", {row['margin']:+.3f} over the trivial baseline" if row["margin"] is not None else ""
        phrases.append(
            f"{bucket}: {row['row']}{f' and {ties} more' if ties > 0 else ''} {number(row['accuracy'])}{over}"
        )
    against = " against the trivial baselines" if floored else ""
    words = f"Accuracy of {len(labels)} models in {len(phrases)} buckets{against}."
    return f"{words} Best in each: {listed(phrases, 10)}."
