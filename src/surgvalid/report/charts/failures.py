"""Failure analysis: which properties harm or help, for all models together and for each by itself."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.charts.answers import MOST_LINES, curves_of
from surgvalid.report.charts.tables import LABEL, chosen_models, extremes, number, typed
from surgvalid.report.drawing.curves import Curves
from surgvalid.report.drawing.grid import GridCell, GridImage
from surgvalid.report.drawing.rows import Key, Mark, RowsImage, Upright
from surgvalid.report.words import count_of, plain, short_names, term_names
from surgvalid.stats.mixed.inference.term_tests import LARGER, NOT_ASSESSABLE, SMALLER
from surgvalid.stats.mixed.model.design import INTERCEPT

_WIDEST = 8.0
"""Log odds beyond which intervals are cut: odds of three thousand to one say no more than that."""
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_WAYS = {"harms": ("warm", "left"), "helps": ("blue", "right"), "not significant": ("quiet", "circle")}
_UNJUDGED = {SMALLER: ("warm", "down"), LARGER: ("blue", "up")}
"""Where nobody said which values are better."""


def stars(p_value: float | None) -> str:
    """The stars of a p value: one up to .05, two up to .01, three up to .001.

    Example:
        >>> stars(0.05), stars(0.004), stars(0.2), stars(None)
        ('*', '**', '', '')
    """
    if p_value is None or p_value != p_value:
        return ""
    return next((mark for limit, mark in STARS if p_value <= limit), "")


def typed_effects(frame: pl.DataFrame, chart: str, *, models: bool = False, p_column: str = "p_value") -> pl.DataFrame:
    """A table of effects with columns as forests need them; a missing symbol is blank.

    Raises:
        TableInvalid: With every column that is missing.
    """
    texts = ("term", "model") if models else ("term",)
    numbers = ("estimate", "p_value", p_column, "odds_ratio", "low", "high")
    return typed(frame, chart, texts=texts, numbers=numbers, kept=("symbol",)).with_columns(
        pl.col("symbol").fill_null("")
    )


def forest_axis(ratio: bool, outcome: str) -> str:
    """What the horizontal axis of a forest is called."""
    return f"log odds ratio of {plain(outcome, limit=40)}" if ratio else "effect on the outcome"


def prepared(table: pl.DataFrame, p_column: str = "p_value") -> pl.DataFrame:
    """Effects with limits on the scale of the estimate, cut at the edge, with stars and text."""
    ends = [_on_scale(row, end) for row in table.iter_rows(named=True) for end in ("low", "high")]
    edge = _edge(table, ends) if bool(table["odds_ratio"].is_not_null().any()) else math.inf
    p_values = table[p_column].to_list()
    ways = [_way(row, p) for row, p in zip(table.iter_rows(named=True), p_values, strict=True)]
    return table.with_columns(
        pl.Series("shown_low", [_cut(end, edge) for end in ends[::2]], dtype=pl.Float64),
        pl.Series("shown_high", [_cut(end, edge) for end in ends[1::2]], dtype=pl.Float64),
        pl.Series("shown", [_cut(value, edge) for value in table["estimate"]], dtype=pl.Float64),
        pl.Series("stars", [stars(p) for p in p_values], dtype=pl.String),
        pl.Series("effect", ways, dtype=pl.String),
        pl.Series("size_text", [_size_text(row) for row in table.iter_rows(named=True)], dtype=pl.String),
    )


def _edge(table: pl.DataFrame, ends: list[float | None]) -> float:
    """Where intervals are cut, so that a single endless one does not press all others together."""
    known = sorted(abs(end) for end in ends if end is not None)
    if not known:
        return 1.0
    largest = max((abs(value) for value in table["estimate"].drop_nulls()), default=0.0)
    return min(_WIDEST, max(0.5, min(known[-1], max(2 * largest, 4 * known[len(known) // 2]))))


def _on_scale(row: dict[str, Any], end: str) -> float | None:
    value = row[end]
    if value is None or value != value:
        return None
    if row["odds_ratio"] is None:
        return float(value)
    return math.log(value) if value > 0 else -math.inf


def _cut(value: float | None, edge: float) -> float | None:
    return None if value is None or value != value else max(-edge, min(edge, value))


def _way(row: dict[str, Any], p_value: float | None) -> str:
    if row["estimate"] is None or not stars(p_value):
        return "not significant"
    mark = row["symbol"].strip("()")
    if mark in _UNJUDGED:
        return str(mark)
    return "harms" if mark.startswith("-") or (not mark and row["estimate"] < 0) else "helps"


def helps_up(table: pl.DataFrame) -> bool | None:
    """Whether larger estimates help, as the symbols say; None where they do not."""
    marked = table.filter(pl.col("symbol").str.contains(r"[+-]") & (pl.col("estimate").fill_nan(None).abs() > 0))
    if marked.is_empty():
        return None
    row = marked.row(0, named=True)
    return bool((row["estimate"] > 0) == ("+" in row["symbol"]))


def _size_text(row: dict[str, Any]) -> str:
    if row["symbol"] == NOT_ASSESSABLE or row["estimate"] is None:
        return "not assessable"
    value = row["estimate"] if row["odds_ratio"] is None else row["odds_ratio"]
    return f"{_short(value)} ({_short(row['low'])} to {_short(row['high'])})"


def _short(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}" if abs(value) < 10_000 else "over 10,000"


MOST_TERMS = 60
MOST_MODELS = 40


def effects_forest(
    frame: pl.DataFrame,
    *,
    outcome: str = "a right answer",
    kind: str = "conditional",
    rows: int | None = None,
    p_column: str = "p_value",
    name: str = "effects-forest",
    title: str = "Effects of properties",
) -> Chart:
    """One row per property: its effect with interval, stars, odds ratio and symbol, the most harmful on top.

    Args:
        frame: The table `effects` of `failures`: columns `term`, `estimate`, `p_value`, `odds_ratio`, `low`,
            `high` (limits of the odds ratio, or of the estimate where there is none) and `symbol`; the intercept is
            left out. Rows with the symbol `x` are not assessable.
        outcome: What the odds are of.
        kind: `conditional` (of one case, given its random effects) or `marginal` (of the population).
        rows: How many rows of data the model was fitted to, for the caption.
        p_column: Which p values the stars are of: `p_value` or `p_holm`.
        name: Of the chart.
        title: Of the chart.
    """
    frame = typed_effects(frame, name, p_column=p_column)
    table = prepared(frame.filter(pl.col("term") != INTERCEPT), p_column)
    if table.is_empty():
        return nothing_to_show(name, title, "no property was analysed")
    note = ""
    if table.height > MOST_TERMS:
        note = f" The {MOST_TERMS} of {table.height:,} properties with the smallest p values are shown."
        table = table.sort(p_column, nulls_last=True, maintain_order=True).head(MOST_TERMS)
    table = table.sort("estimate", nulls_last=True, maintain_order=True, descending=helps_up(table) is False)
    table = table.with_columns(pl.col("term").replace_strict(term_names(table["term"].to_list())).alias(LABEL))
    ratio = bool(table["odds_ratio"].is_not_null().any())
    fitted = f", n = {rows:,} rows" if rows is not None else ""
    scale = (
        f"{kind} log odds ratios of {plain(outcome, limit=40)}" if ratio else "estimates on the scale of the outcome"
    )
    return Chart(
        name,
        title,
        _spoken(table, ratio) + note,
        f"Points: {scale} with the property against without it, the other properties held fixed{fitted}. "
        "Bars: intervals, cut at the edge of the image. Triangles point to harm (left) or help (right) "
        f"where p ≤ 0.05. Stars: {'p' if p_column == 'p_value' else 'Holm-adjusted p'} ≤ 0.05, 0.01 and "
        f"0.001. Symbols: one to three plus or minus signs for growing odds ratios; x: not assessable.{note}",
        frame,
        _forest(table, forest_axis(ratio, outcome), "odds ratio (interval)" if ratio else "estimate"),
    )


def _forest(table: pl.DataFrame, axis: str, head: str) -> RowsImage:
    ways = _WAYS | {way: look for way, look in _UNJUDGED.items() if way in set(table["effect"])}
    marks = [
        Mark(
            place,
            row["shown"],
            row["shown_low"],
            row["shown_high"],
            *ways[row["effect"]],
            words=f"{row[LABEL]}: {row['size_text']}",
        )
        for place, row in enumerate(table.iter_rows(named=True))
    ]
    return RowsImage(
        tuple(table[LABEL]),
        tuple(marks),
        axis=axis,
        beside=((head, tuple(table["size_text"])), ("", tuple(table["stars"])), ("symbol", tuple(table["symbol"]))),
        uprights=(Upright(0.0),),
        legend=tuple(Key(way, *look) for way, look in ways.items()),
    )


def _spoken(table: pl.DataFrame, ratio: bool) -> str:
    known = table.filter(pl.col("symbol") != NOT_ASSESSABLE)
    significant = known.filter(pl.col("effect") != "not significant")
    what = "property" if table.height == 1 else "properties"
    parts = [f"{table.height} {what}, {known.height} assessable, {significant.height} with p ≤ 0.05"]
    what = "odds ratio" if ratio else "estimate"
    for way, words in (("harms", "harmful"), ("helps", "helpful")):
        strongest = (
            significant.filter(pl.col("effect") == way)
            .sort(pl.col("estimate").abs(), descending=True, maintain_order=True)
            .head(4)
        )
        listed = [
            f"{row[LABEL]} ({what} {row['size_text']}{', ' + row['stars']})" for row in strongest.iter_rows(named=True)
        ]
        if listed:
            parts.append(f"most {words}: {', '.join(listed)}")
    return "; ".join(parts) + "."


def model_effects(
    frame: pl.DataFrame,
    *,
    outcome: str = "a right answer",
    p_column: str = "p_value",
    name: str = "model-effects",
    title: str = "Effects of properties on each model",
) -> Chart:
    """A map of effects with signs, one row per property and one column per model.

    Args:
        frame: The table `per_model` of `failures`: the columns of `effects` and `model`.
        outcome: What the odds are of.
        p_column: Which p values decide what is marked: `p_value`, or `p_corrected` where the table has such a column.
        name: Of the chart.
        title: Of the chart.
    """
    frame = typed_effects(frame, name, models=True, p_column=p_column)
    table = prepared(frame.filter(pl.col("term") != INTERCEPT), p_column)
    if table.is_empty():
        return nothing_to_show(name, title, "no model was analysed by itself")
    up = helps_up(table)
    terms = table.group_by("term", maintain_order=True).agg(pl.col("estimate").mean())
    terms = terms.sort("estimate", nulls_last=True, descending=up is False)
    note = ""
    if terms.height > MOST_TERMS:
        end = "highest" if up is False else "lowest"
        note = f" The {MOST_TERMS} of {terms.height:,} properties with the {end} mean effects are shown."
        terms = terms.head(MOST_TERMS)
        table = table.filter(pl.col("term").is_in(terms["term"].to_list()))
    named = term_names(terms["term"].to_list())
    models = table["model"].cast(pl.String).unique(maintain_order=True).to_list()
    called = short_names(models[:MOST_MODELS], limit=24)
    ratio = bool(table["odds_ratio"].is_not_null().any())
    scale = f"log odds ratios of {plain(outcome, limit=40)}" if ratio else "estimates on the scale of the outcome"
    counts = table.group_by("model", maintain_order=True).agg((pl.col("effect") == "harms").sum().alias("harms"))
    most = counts.sort("harms", "model", descending=[True, False]).row(0, named=True)
    below = "p ≤ 0.05" if p_column == "p_value" else "p ≤ 0.05 after correction over all cells"
    shades = "orange below and blue above 0" if up is None else "orange harms and blue helps"
    return Chart(
        name,
        title,
        f"Effects of {len(named)} properties on {count_of(len(models), 'model')}, each analysed by itself. Most "
        f"harmful properties: {plain(most['model'], limit=24)} with {most['harms']}.{note}",
        f"Conditional {scale}, each model fitted by itself. Shade: effect, {shades}; signs: {below}; x: not "
        f"assessable.{note}",
        frame,
        GridImage(tuple(named.values()), tuple(called.values()), _effect_cells(table, list(named), list(called), up)),
    )


_SIGNS = {"harms": "\u2212", "helps": "+", LARGER: "\u25b2", SMALLER: "\u25bc"}


def _effect_cells(table: pl.DataFrame, terms: list[str], models: list[str], up: bool | None) -> tuple[GridCell, ...]:
    edge = max(1.0, min(3.0, float(table["shown"].abs().quantile(0.95) or 1.0)))
    turn = -1.0 if up is False else 1.0
    cells = []
    for row in table.filter(pl.col("model").is_in(models)).iter_rows(named=True):
        sign = "x" if row["symbol"] == NOT_ASSESSABLE else _SIGNS.get(row["effect"], "")
        shade = 0.0 if row["shown"] is None or sign == "x" else turn * row["shown"] / edge
        words = f"{plain(row['model'], limit=40)}, {plain(row['term'], limit=60)}: {row['size_text']}"
        cells.append(GridCell(terms.index(row["term"]), models.index(row["model"]), sign, shade, words))
    return tuple(cells)


def property_curve(frame: pl.DataFrame, *, name: str = "property-curve", title: str = "Loss along a property") -> Chart:
    """What each model loses along one property, with the interval of a single one.

    Args:
        frame: Columns `property`, `model`, `middle`, `loss`, `low`, `high`; rows of one property.
        name: Of the chart.
        title: Of the chart.
    """
    rows = typed(frame, name, texts=("property", "model"), numbers=("middle", "loss", "low", "high"))
    if rows.is_empty():
        return nothing_to_show(name, title, "no property is a number")
    models = rows["model"].unique(maintain_order=True).to_list()
    drawn, order = chosen_models(rows, models, MOST_LINES)
    band = () if len(models) > 1 else tuple(rows.select("middle", "low", "high").drop_nulls().iter_rows())
    column = plain(str(rows["property"][0]), limit=60)
    image = Curves(curves_of(drawn, order, "middle", "loss"), column, "mean loss", band=band)
    note = f" The first {MOST_LINES} of {len(models)} models are shown." if len(models) > MOST_LINES else ""
    least, most = extremes(rows["loss"])
    words = f"Mean loss by {column}, {number(least)} to {number(most)}.{note}"
    shade = "shaded: the interval over videos" if band else "intervals over videos are in the table"
    caption = (
        f"Points: steps with equally many rows, at the mean of {column}; up, what is lost on average; {shade}.{note}"
    )
    return Chart(name, title, f"{title}. {words}", caption, rows, image)
