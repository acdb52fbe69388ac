"""How far the leader is ahead: patient by patient of one other model, or of every other model with its interval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.tables import LABEL, labelled, number, reach, typed
from surgvalid.report.drawing.rows import Key, Mark, RowsImage, Upright
from surgvalid.report.drawing.slopes import SlopesAndRows
from surgvalid.report.words import count_of, plain

MOST_ROWS = 40
"""Patients that get a row each; more are dots in one."""
MOST_SPOKEN = 40
_STRIP_ROWS = 4
"""Height of the dots of many patients, in rows."""


def _band(margin: float | None) -> tuple[float, float, str] | None:
    if not margin:
        return None
    return -margin, margin, f"within {margin:g}: too small to matter (your margin)"


def paired_patients(
    frame: pl.DataFrame,
    *,
    leader: str,
    other: str,
    interval: Mapping[str, float | None] | None = None,
    margin: float | None = None,
    metric: str = "value",
    unit: str = "patient",
    larger: bool = True,
    means: tuple[float | None, float | None] = (None, None),
    name: str = "paired-patients",
    title: str = "",
) -> Chart:
    """Two models on the same patients: their values, and each difference beside the mean one with its interval.

    Args:
        frame: Columns `model`, `video`, `value`: the mean of each patient by each model.
        leader: The model that the sentence is about.
        other: The model that it is compared with.
        interval: `difference`, `low` and `high` of the verdict, in the metric's good direction; ends that are not
            finite are not drawn. Without it no mean is drawn either.
        margin: The difference that matters.
        metric: What the values are.
        unit: What a mark is.
        larger: Whether larger values are better.
        means: The values of the other and of the leader, as they are told elsewhere.
        name: Of the chart.
        title: Of the chart.
    """
    title = title or f"{unit.capitalize()} by {unit}, in {plain(metric, limit=30)}"
    several = "cases" in frame.columns and bool((frame["cases"] > 1).any())
    frame = typed(frame, name, texts=("model", "video"), numbers=("value",))
    pairs = _pairs(frame, leader, other, larger=larger)
    if pairs.is_empty():
        return nothing_to_show(name, title, f"no {unit} has a score of both models")
    minus = f"{plain(leader, limit=20)} \u2212 {plain(other, limit=20)}"
    if not larger:
        minus = f"{plain(other, limit=20)} \u2212 {plain(leader, limit=20)}"
    rows = RowsImage(
        *_rows(pairs, interval, unit),
        axis=f"difference in {plain(metric, limit=30)}, {minus}",
        uprights=(Upright(0.0, "quiet"),),
        band=_band(margin),
        sides=(f"{plain(other, limit=20)} better", f"{plain(leader, limit=20)} better") if interval else None,
        beside=(("", _texts(pairs, interval)),),
        symmetric=True,
        strong=1 if interval else 0,
    )
    ahead = pairs.filter(pl.col("gap") > 0).height
    each = [f"{label} {number(gap, signed=True)}" for label, gap in pairs.select(LABEL, "gap").iter_rows()]
    rest = f", and {len(each) - MOST_SPOKEN} more" if len(each) > MOST_SPOKEN else ""
    alt = (
        f"{plain(leader, limit=40)} is ahead in {ahead} of {count_of(pairs.height, unit)}. "
        f"Difference in {plain(metric, limit=30)}, {minus}: {', '.join(each[:MOST_SPOKEN])}{rest}."
    )
    caption = f"One mark per {unit}{': the mean of its cases' if several else ''}."
    caption += _interval_words(interval, unit)
    caption += " Shaded: differences that you called too small to matter." if margin else ""
    values = tuple(pairs.select(LABEL, "theirs", "ours").iter_rows())
    image = SlopesAndRows(
        plain(other, limit=24), plain(leader, limit=24), values, f"{plain(metric)} of each {unit}", rows, means
    )
    return Chart(name, title, alt, caption, pairs.drop(LABEL), image if pairs.height <= MOST_ROWS else rows)


def _pairs(frame: pl.DataFrame, leader: str, other: str, *, larger: bool) -> pl.DataFrame:
    """One row per patient of both models: both values and the difference in the good direction, the largest first."""
    sides = [
        frame.filter((pl.col("model") == model) & pl.col("value").is_finite()).select(
            "video", pl.col("value").alias(side)
        )
        for model, side in ((leader, "ours"), (other, "theirs"))
    ]
    gap = (pl.col("ours") - pl.col("theirs")) * (1 if larger else -1)
    joined = sides[0].join(sides[1], on="video", maintain_order="left").with_columns(gap=gap)
    return labelled(joined.sort("gap", "video", descending=[True, False]), "video", limit=22)


def _rows(
    pairs: pl.DataFrame, interval: Mapping[str, float | None] | None, unit: str
) -> tuple[tuple[str, ...], tuple[Mark, ...]]:
    labels, marks = [], []
    if interval:
        low, high = interval.get("low"), interval.get("high")
        known = low is not None and high is not None
        words = reach(interval["difference"], low, high, signed=True)
        labels.append(f"All {count_of(pairs.height, unit)}")
        marks.append(Mark(0, interval["difference"], low, high, "blue", "diamond", not known, px=5, words=words))
    first = len(labels)
    apart = pairs.height <= MOST_ROWS
    for place, (label, gap) in enumerate(pairs.select(LABEL, "gap").iter_rows()):
        look = "quiet" if not interval or not gap else "blue" if gap > 0 else "warm"
        words = f"{label}: {number(gap, signed=True)}"
        if apart:
            labels.append(label)
            marks.append(Mark(first + place, gap, min(gap, 0.0), max(gap, 0.0), look, px=1.3, words=words))
        else:
            marks.append(Mark(first, gap, look=look, shift=_spread(place, _STRIP_ROWS), words=words))
    if not apart:
        labels += [f"each {unit}", *[""] * (_STRIP_ROWS - 1)]
    return tuple(labels), tuple(marks)


def _spread(place: int, rows: int = 1) -> float:
    """Where in so many rows a dot lies, so that neighbours stand apart."""
    return (place * 0.6180339887498949 % 1.0) * (rows - 0.4) - 0.3


def _texts(pairs: pl.DataFrame, interval: Mapping[str, float | None] | None) -> tuple[str, ...]:
    mean = [number(interval["difference"], signed=True)] if interval else []
    each = [number(gap, signed=True) for gap in pairs["gap"]] if pairs.height <= MOST_ROWS else [""] * _STRIP_ROWS
    return (*mean, *each)


def _interval_words(interval: Mapping[str, float | None] | None, unit: str) -> str:
    if not interval:
        return f" No interval: nobody said which {unit}s are of one patient."
    if interval.get("low") is None or interval.get("high") is None:
        return " Hollow diamond: the mean difference; so few cannot carry an interval."
    return f" Diamond and bar: the mean difference with its interval, from the same test over {unit}s as the sentence."


def lead_intervals(
    frame: pl.DataFrame,
    *,
    leader: str = "",
    margin: float | None = None,
    metric: str = "value",
    unit: str = "patient",
    name: str = "lead-intervals",
    title: str = "How far the leader is ahead of each other model",
) -> Chart:
    """One row per other model: how far the leader is ahead of it, all pairs held together, the next best on top.

    Args:
        frame: Columns `model`, `difference`, `low`, `high` (in the metric's good direction), in order.
        leader: Who is ahead.
        margin: The difference that matters.
        metric: What the values are.
        unit: What is independent.
        name: Of the chart.
        title: Of the chart.
    """
    frame = typed(frame, name, texts=("model",), numbers=("difference", "low", "high"))
    rows = labelled(frame.drop_nulls("difference").sort("difference", "model"))
    if rows.is_empty():
        return nothing_to_show(name, title, "there is no other model")
    marks = tuple(_lead_mark(place, row) for place, row in enumerate(rows.iter_rows(named=True)))
    clear = sum(not mark.hollow for mark in marks)
    first = rows.row(0, named=True)
    who = plain(leader, limit=40) or "The leader"
    return Chart(
        name,
        title,
        f"{who} is shown to be ahead of {clear} of {count_of(rows.height, 'model')}"
        ". "
        f"Nearest: {first[LABEL]} {reach(first['difference'], first['low'], first['high'], signed=True)}.",
        f"Points: how far {who} is ahead, towards the better side. Bars: intervals over {unit}s, which hold for all "
        "pairs together. Hollow: that model may be as good or better."
        + (" Shaded: differences that you called too small to matter." if margin else ""),
        frame,
        RowsImage(
            tuple(rows[LABEL]),
            marks,
            axis=f"how far {plain(who, limit=30)} is ahead of each, in {plain(metric, limit=30)}",
            beside=(("ahead by", tuple(number(value, signed=True) for value in rows["difference"])),),
            uprights=(Upright(0.0, "quiet"),),
            band=_band(margin),
            legend=(Key("is shown to be behind"), Key("may be as good or better", "quiet", hollow=True)),
        ),
    )


def group_leads(
    frame: pl.DataFrame,
    *,
    leader: str,
    other: str,
    margin: float | None = None,
    metric: str = "value",
    unit: str = "patient",
    name: str = "group-leads",
    title: str = "Who is ahead in each group",
) -> Chart:
    """One row per group of patients: each difference of two models as a dot, and their mean; the largest on top.

    Args:
        frame: Columns `group` and `difference`, a row per patient and group, positive where the leader is better.
        leader: The model that the sentence is about.
        other: The model that it is compared with.
        margin: The difference that matters.
        metric: What the values are.
        unit: What a dot is.
        name: Of the chart.
        title: Of the chart.
    """
    frame = typed(frame, name, texts=("group",), numbers=("difference",))
    means = frame.group_by("group", maintain_order=True).agg(pl.col("difference").mean(), n=pl.len())
    rows = labelled(means.drop_nulls("difference").sort("difference", "group", descending=[True, False]), "group")
    if rows.is_empty():
        return nothing_to_show(name, title, "there is no group")
    labels = [f"{label} ({count_of(n, unit)})" for label, n in rows.select(LABEL, "n").iter_rows()]
    marks, means_shown = [], tuple(number(mean, signed=True) for mean in rows["difference"])
    for row, (group, mean) in enumerate(rows.select("group", "difference").iter_rows()):
        for place, gap in enumerate(frame.filter(pl.col("group") == group)["difference"].drop_nulls()):
            look = "blue" if gap > 0 else "warm" if gap else "quiet"
            marks.append(Mark(row, gap, look=look, hollow=True, shift=_spread(place), words=number(gap, signed=True)))
        marks.append(Mark(row, mean, look="ink", shape="diamond", words=f"{labels[row]}: {means_shown[row]}"))
    spoken = "; ".join(f"{label} {mean}" for label, mean in zip(labels[:12], means_shown, strict=False))
    return Chart(
        name,
        title,
        f"Mean differences in {plain(metric, limit=30)}, positive where {plain(leader, limit=40)} is better: {spoken}.",
        f"One dot per {unit}. Diamonds: their mean in each group.",
        frame,
        RowsImage(
            tuple(labels),
            tuple(marks),
            axis=f"difference in {plain(metric, limit=30)}, towards the better model",
            beside=(("mean", means_shown),),
            uprights=(Upright(0.0, "quiet"),),
            band=_band(margin),
            sides=(f"{plain(other, limit=20)} better", f"{plain(leader, limit=20)} better"),
            symmetric=True,
        ),
    )


def _lead_mark(place: int, row: dict[str, Any]) -> Mark:
    clear = row["low"] is not None and row["low"] > 0
    words = f"{row[LABEL]}: {reach(row['difference'], row['low'], row['high'], signed=True)}"
    return Mark(
        place, row["difference"], row["low"], row["high"], "blue" if clear else "quiet", hollow=not clear, words=words
    )
