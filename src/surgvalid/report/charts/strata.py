"""Values under conditions and in single patients: how far they lie from all cases, and from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.intervals import statistic_of
from surgvalid.report.charts.tables import LABEL, column, extremes, labelled, level_words, number, reach, typed
from surgvalid.report.drawing.rows import Key, Mark, RowsImage, Upright
from surgvalid.report.words import count_of, plain
from surgvalid.stats.comparing.contrasts import ALL_MODELS

MOST_STRATA = 60


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
    models = rows.filter(pl.col("model") != ALL_MODELS)["model"].n_unique()
    return Chart(
        name,
        title,
        _spoken(middle, models, against) + note,
        _caption(frame, models, against) + note,
        frame,
        _image(rows, middle, models),
    )


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


def _image(rows: pl.DataFrame, middle: pl.DataFrame, models: int) -> RowsImage:
    """Models as small ticks, the median with its interval over them; the worst condition on top."""
    order = middle[LABEL].to_list()
    marks = []
    if models > 1:
        single = rows.filter(pl.col("model") != ALL_MODELS)
        for label, model, delta in single.select(LABEL, "model", "delta").iter_rows():
            words = f"{plain(model, limit=40)}, {label}: {number(delta, signed=True)}"
            marks.append(Mark(order.index(label), delta, look="edge", shape="tick", words=words))
    for place, row in enumerate(middle.iter_rows(named=True)):
        words = f"{row[LABEL]}: {reach(row['delta'], row['low'], row['high'], signed=True)}"
        marks.append(Mark(place, row["delta"], row["low"], row["high"], "blue", "diamond", words=words))
    middle_words = "median of models, with its interval" if models > 1 else "the model, with its interval"
    keys = (Key(middle_words, "blue", "diamond"), *((Key("one model", "edge", "tick"),) if models > 1 else ()))
    return RowsImage(
        tuple(order),
        tuple(marks),
        axis=f"difference of the {statistic_of(rows)} (bars: {level_words(rows)})",
        beside=(("", tuple(_texts(middle))),),
        uprights=(Upright(0.0),),
        legend=keys,
    )


def _texts(middle: pl.DataFrame) -> list[str]:
    videos = column(middle, "videos")
    counts = [""] * middle.height if videos is None else [f"  ({n} v.)" if n is not None else "" for n in videos]
    return [number(value, signed=True) + count for value, count in zip(middle["delta"], counts, strict=True)]


def _spoken(middle: pl.DataFrame, models: int, against: str) -> str:
    worst = [
        f"{row[LABEL]} {reach(row['delta'], row['low'], row['high'], signed=True)}"
        for row in middle.head(3).iter_rows(named=True)
    ]
    best = middle.row(-1, named=True)
    below = middle.filter(pl.col("high") < 0).height
    tail = f" Highest: {best[LABEL]} {number(best['delta'], signed=True)}." if middle.height > 3 else ""
    return (
        f"Differences of {count_of(models, 'model')} to {against} in {middle.height} "
        f"{'stratum' if middle.height == 1 else 'strata'}; in {below} the interval lies below zero. Lowest: "
        f"{'; '.join(worst)}.{tail}"
    )


def _caption(frame: pl.DataFrame, models: int, against: str) -> str:
    head = f"{statistic_of(frame)} in the stratum minus that of {against}; strata overlap. "
    videos = "; v.: videos in the stratum" if "videos" in frame.columns else ""
    bars = f"Bars: {level_words(frame)}; missing where the stratum has one video{videos}."
    if models == 1:
        return f"{head}Diamonds: the model. {bars}"
    return f"{head}Diamonds and numbers: median over {models} models of their differences. Ticks: single models. {bars}"


def patient_values(
    frame: pl.DataFrame,
    *,
    name: str = "patient-values",
    title: str = "Every patient of every model",
    metric: str = "value",
    unit: str = "patient",
    largest_is_best: bool = True,
    values: Mapping[str, Sequence[float | None]] | None = None,
) -> Chart:
    """One dot per patient in the row of each model, and a tick at their mean; the best model on top.

    Args:
        frame: Columns `model`, `video`, `value`, and `cases` where known.
        name: Of the chart.
        title: Of the chart.
        metric: What the values are.
        unit: What a dot is.
        largest_is_best: Which end of the axis is good.
        values: What each model reaches with the ends of its interval, where that is not the mean over patients.
    """
    frame = typed(frame, name, texts=("model", "video"), numbers=("value",))
    known = frame.filter(pl.col("value").is_finite())
    if known.is_empty():
        return nothing_to_show(name, title, f"no {unit} has a value")
    means = known.group_by("model", maintain_order=True).agg(mean=pl.col("value").mean())
    if values is not None:
        shown = [(model, *reached) for model, reached in values.items()]
        given = pl.DataFrame(shown, [*means.schema.items(), ("low", pl.Float64), ("high", pl.Float64)], orient="row")
        means = means.select("model").join(given, on="model", how="left", maintain_order="left")
    means = labelled(means.sort("mean", descending=largest_is_best, maintain_order=True))
    order = means[LABEL].to_list()
    rows = known.join(means.select("model", LABEL), on="model", how="left")
    marks = [
        Mark(order.index(label), value, words=f"{plain(video, limit=40)}: {number(value)}", hollow=True)
        for label, video, value in rows.select(LABEL, "video", "value").iter_rows()
    ]
    for place, row in enumerate(means.iter_rows(named=True)):
        marks.append(Mark(place, row["mean"], row.get("low"), row.get("high"), "ink", "tick"))
    low, high = extremes(known["value"])
    over = f"Ticks: the mean over {unit}s."
    if values is not None:
        over = "Tick and bar: the value of the model with its interval."
    if means.height > 1:
        over += " The best model on top."
    return Chart(
        name,
        title,
        f"{title}. {count_of(means.height, 'model')}, {count_of(known['video'].n_unique(), unit)}; "
        f"{plain(metric)} of single {unit}s from {number(low)} to {number(high)}.",
        f"Each dot is a {unit}: the mean of its cases. {over}",
        frame,
        RowsImage(
            tuple(order),
            tuple(marks),
            axis=plain(metric),
            beside=(("mean" if values is None else "value", tuple(number(mean) for mean in means["mean"])),),
        ),
    )
