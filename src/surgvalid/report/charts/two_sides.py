"""Two intervals in every row: rows against videos as units, without against with a property, before against after."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.intervals import statistic_of
from surgvalid.report.charts.tables import LABEL, first_rows, labelled, level_words, number, reach, sizes, typed
from surgvalid.report.drawing.rows import Key, Mark, RowsImage, Upright
from surgvalid.report.words import count_of, term_names

NAIVE = "naive"
MOST_TERMS = 60
WIDEST = 8.0
"""Log odds beyond which intervals are cut: odds of three thousand to one say no more than that."""


class _Side(NamedTuple):
    """One of two intervals in a row."""

    words: str
    rows: pl.DataFrame
    """Columns `label`, `value`, `low`, `high`."""


def _two_sides(order: list[str], first: _Side, second: _Side, panel: int = 0) -> list[Mark]:
    marks = []
    for side, look, shape, shift in ((first, "quiet", "circle", -0.18), (second, "blue", "diamond", 0.18)):
        for row in side.rows.filter(pl.col(LABEL).is_in(order)).iter_rows(named=True):
            words = f"{row[LABEL]}, {side.words}: {reach(row['value'], row['low'], row['high'])}"
            marks.append(
                Mark(
                    order.index(row[LABEL]),
                    row["value"],
                    row["low"],
                    row["high"],
                    look,
                    shape,
                    look == "quiet",
                    shift,
                    words=words,
                    panel=panel,
                )
            )
    return marks


def _legend(first: str, second: str) -> tuple[Key, Key]:
    return Key(first, "quiet", "circle", True), Key(second, "blue", "diamond")


def naive_against_cluster(
    frame: pl.DataFrame,
    *,
    name: str = "naive-against-cluster",
    title: str = "Intervals that ignore videos, and intervals that respect them",
    largest_is_best: bool = True,
) -> Chart:
    """Two intervals per model and how many times wider the one clustered by video is.

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
    pairs = _width_pairs(frame, largest_is_best)
    order = pairs[LABEL].to_list()
    rows = frame.join(pairs.select("model", LABEL), on="model")
    naive = pl.col("resample") == NAIVE
    sides = _Side("rows as if independent", rows.filter(naive)), _Side("videos respected", rows.filter(~naive))
    ratios = tuple(f"{ratio:.1f}\u00d7" if ratio is not None else "–" for ratio in pairs["width_ratio"])
    statistic, median = statistic_of(frame), pairs.select(pl.col("width_ratio").median()).item()
    axis = f"{statistic} (bars: {level_words(frame)})"
    image = RowsImage(
        tuple(order),
        tuple(_two_sides(order, *sides)),
        axis=axis,
        beside=(("width ratio", ratios),),
        legend=_legend(sides[0].words, sides[1].words),
    )
    return Chart(
        name,
        title,
        f"The {statistic} of {count_of(len(order), 'model')} with two {level_words(frame)} each. Intervals "
        f"clustered by video are {number(median, 2)} times as wide in the median.",
        f"Points: {statistic}. Bars: {level_words(frame)}; hollow: single rows as if independent; filled: whole videos "
        f"as units ({sizes(frame)}). Text: width of the lower over the upper interval; the median over models is "
        f"{number(median, 2)}.",
        frame,
        image,
    )


def _width_pairs(frame: pl.DataFrame, largest_is_best: bool) -> pl.DataFrame:
    """One row per model: value, both widths and their ratio; the best model first."""
    width, naive = pl.col("high") - pl.col("low"), pl.col("resample") == NAIVE
    pairs = frame.group_by("model", maintain_order=True).agg(
        pl.col("value").first(),
        width.filter(~naive).first().alias("width"),
        width.filter(naive).first().alias("naive_width"),
    )
    ratio = pl.when(pl.col("naive_width") > 0).then(pl.col("width") / pl.col("naive_width"))
    ordered = pairs.with_columns(ratio.alias("width_ratio")).sort(
        "value", descending=largest_is_best, nulls_last=True, maintain_order=True
    )
    return labelled(ordered)


SCALES = {"conditional": "a typical case (conditional)", "population": "the population (averaged over random effects)"}


def marginal_means(
    frame: pl.DataFrame,
    *,
    outcome: str = "chance of a right answer",
    name: str = "marginal-means",
    title: str = "Expected outcome with and without each property",
) -> Chart:
    """Two panels, for a typical case and for the population: the expected outcome without and with each property.

    Args:
        frame: Tables of `marginal_means` of every property, one below the other: columns `term`, `value` (0 or 1),
            `scale` (`conditional` or `population`), `mean`, `low`, `high`.
        outcome: What is expected.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no 0/1 property was analysed")
    frame = typed(frame, name, texts=("term", "scale"), numbers=("value", "mean", "low", "high"))
    ranked, note = first_rows(_changes(frame), MOST_TERMS, "properties")
    names = term_names(ranked["term"].to_list())
    rows = frame.filter(pl.col("term").is_in(list(names))).with_columns(
        pl.col("term").replace_strict(names).alias(LABEL), has=pl.col("value") != 0, value=pl.col("mean")
    )
    scales, order = [scale for scale in SCALES if scale in set(rows["scale"])], list(names.values())
    marks: list[Mark] = []
    for panel, scale in enumerate(scales):
        mine = rows.filter(pl.col("scale") == scale)
        sides = _Side("without", mine.filter(~pl.col("has"))), _Side("with", mine.filter("has"))
        marks += _two_sides(order, *sides, panel=panel)
    image = RowsImage(
        tuple(order),
        tuple(marks),
        axis="expected outcome",
        panels=tuple(SCALES[scale] for scale in scales),
        legend=_legend("without the property", "with the property"),
    )
    worst = [f"{names[term]} from {number(a)} to {number(b)}" for term, a, b, _ in ranked.head(3).iter_rows()]
    return Chart(
        name,
        title,
        f"Expected {outcome} without and with {ranked.height} properties, in the population: {'; '.join(worst)}.{note}",
        f"Expected {outcome}: hollow without, filled with the property, the other properties as they are in "
        "the data. Bars: Wald intervals. Left, a typical case: all random effects at zero. Right, the "
        "population: averaged over random effects, as a new case drawn at random will show. The two are not "
        f"to be mixed.{note}",
        frame,
        image,
    )


def _changes(frame: pl.DataFrame) -> pl.DataFrame:
    """Per property the change from without to with, on the population's scale where there is one; the worst first."""
    scale = "population" if "population" in set(frame["scale"]) else frame["scale"][0]
    changes = (
        frame.filter(pl.col("scale") == scale)
        .group_by("term", maintain_order=True)
        .agg(
            pl.col("mean").filter(pl.col("value") == 0).first().alias("without"),
            pl.col("mean").filter(pl.col("value") == 1).first().alias("with_it"),
        )
    )
    change = (pl.col("with_it") - pl.col("without")).alias("change")
    return changes.with_columns(change).sort("change", nulls_last=True, maintain_order=True)


def effect_changes(
    frame: pl.DataFrame,
    *,
    name: str = "effect-changes",
    title: str = "Effects of properties before and after",
) -> Chart:
    """One row per property: its effect before and after on the same cases, with intervals, and what is shown of it.

    Args:
        frame: The table `effect_changes` of `failure_change`: columns `term`, `before`, `before_low`, `before_high`,
            `after`, `after_low`, `after_high`, `p_holm` and `verdict`.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no property was analysed")
    ends = [f"{side}{end}" for side in ("before", "after") for end in ("", "_low", "_high")]
    table = typed(frame, name, texts=("term", "verdict"), numbers=(*ends, "p_holm"))
    note = ""
    if table.height > MOST_TERMS:
        note = f" The {MOST_TERMS} of {table.height:,} properties with the smallest p values are shown."
        table = table.sort("p_holm", nulls_last=True, maintain_order=True).head(MOST_TERMS)
    table = table.sort("before", nulls_last=True, maintain_order=True)
    table = table.with_columns(pl.col("term").replace_strict(term_names(table["term"].to_list())).alias(LABEL))
    order = table[LABEL].to_list()
    sides = [
        _Side(
            side, table.select(LABEL, *(pl.col(f"{side}{end}").clip(-WIDEST, WIDEST).alias(as_) for end, as_ in _ENDS))
        )
        for side in ("before", "after")
    ]
    image = RowsImage(
        tuple(order),
        tuple(_two_sides(order, sides[0], sides[1])),
        axis="effect: harm to the left, help to the right of 0 where larger is better",
        beside=(("change (Holm)", tuple(table["verdict"])),),
        uprights=(Upright(0.0),),
        legend=_legend("before", "after"),
    )
    changed = table.filter(pl.col("verdict").str.contains("harmful"))
    listed = ", ".join(f"{row[LABEL]} {row['verdict']}" for row in changed.head(6).iter_rows(named=True))
    count = count_of(table.height, "property") if table.height == 1 else f"{table.height:,} properties"
    return Chart(
        name,
        title,
        f"{count} before and after; shown to have changed: {listed or 'none'}.{note}",
        "Effects on the scale of the model (log odds ratios, or points of a continuous outcome), intervals. "
        "Hollow: before, filled: after, of the same cases. A verdict stands where the paired change passes Holm's "
        f"correction over the properties. Intervals are cut at {WIDEST:g}.{note}",
        frame,
        image,
    )


_ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))
