"""What forests of effects share: limits on the scale of the estimate, stars, and the marks of one panel."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from surgeval.report.chart import altair
from surgeval.report.charts._marks import tips, typed
from surgeval.report.theme import ACCENT, CONTRAST, QUIET
from surgeval.report.words import plain
from surgeval.stats.mixed.symbols import LARGER, NOT_ASSESSABLE, SMALLER

WIDEST = 8.0
"""Log odds beyond which intervals are cut: odds of three thousand to one say no more than that."""
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_WAYS = {
    "harms": (CONTRAST, "triangle-left"),
    "helps": (ACCENT, "triangle-right"),
    "not significant": (QUIET, "circle"),
}
_UNJUDGED = {SMALLER: (CONTRAST, "triangle-down"), LARGER: (ACCENT, "triangle-up")}
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
        pl.Series(
            "cut_low", [-edge if end is not None and end < -edge else None for end in ends[::2]], dtype=pl.Float64
        ),
        pl.Series(
            "cut_high", [edge if end is not None and end > edge else None for end in ends[1::2]], dtype=pl.Float64
        ),
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
    return min(WIDEST, max(0.5, min(known[-1], max(2 * largest, 4 * known[len(known) // 2]))))


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


def forest_marks(base: Any, table: pl.DataFrame, y: Any, axis: str) -> list[Any]:
    alt = altair()
    scale = alt.Scale(padding=12)
    drawn = set(table["effect"])
    ways = _WAYS | {way: look for way, look in _UNJUDGED.items() if way in drawn}
    colors, shapes = zip(*ways.values(), strict=True)
    color = alt.Color("effect:N", scale=alt.Scale(domain=list(ways), range=list(colors)), title=None,
                      legend=alt.Legend(orient="top"))  # fmt: skip
    shape = alt.Shape("effect:N", scale=alt.Scale(domain=list(ways), range=list(shapes)), title=None,
                      legend=alt.Legend(orient="top"))  # fmt: skip
    tooltip = tips(table, "model", "term", "estimate +.3f", "std_error .3f", "odds_ratio .3f", "low .3f",
                   "high .3f", "p_value .2g", "p_corrected .2g", "p_holm .2g", "symbol", "note")  # fmt: skip
    x = alt.X("shown_low:Q", title=axis, scale=scale)
    rule = base.mark_rule(strokeWidth=2).encode(y=y, x=x, x2=alt.X2("shown_high:Q"), color=color, tooltip=tooltip)
    point = base.mark_point(filled=True, size=55, opacity=1).encode(
        y=y, x=alt.X("shown:Q"), color=color, shape=shape, tooltip=tooltip
    )
    layers = [rule, point]
    for field, sign in (("cut_low", "‹"), ("cut_high", "›")):
        if table[field].is_not_null().any():
            arrow = base.mark_text(fontSize=16, fontWeight="bold", dx=-5 if sign == "‹" else 5, text=sign)
            layers.append(arrow.encode(y=y, x=alt.X(f"{field}:Q")))
    return layers
