"""Matrices of pairs: how well raters agree, or how often properties occur together."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import chart_data
from surgeval.report.charts._marks import DARK, LIGHT, amount, cell_text, counted, extremes, ink_on, number, tips, typed
from surgeval.report.theme import DIVERGING, SMALLEST_PX, SURFACE, label_px
from surgeval.report.words import plain, short_names

MOST_NUMBERS = 16
"""Up to so many rows every cell carries its number."""
MOST_ROWS = 100


def agreement_matrix(
    frame: pl.DataFrame,
    *,
    first: str = "rater_a",
    second: str = "rater_b",
    value: str = "value",
    measure: str = "Cohen's kappa",
    diverging: bool = False,
    symmetric: bool = True,
    name: str = "agreement-matrix",
    title: str = "Agreement of raters",
) -> Chart:
    """A cell per pair with its coefficient, on both sides of the diagonal where pairs have no direction.

    Args:
        frame: One row per pair, as `agreement` gives it: the columns named here, and `low`, `high`, `units`, `videos`
            where known. Rows without a pair (coefficients of all raters) are left out.
        first: Column of one side.
        second: Column of the other side.
        value: Column of the coefficient.
        measure: What the coefficient is.
        diverging: Whether negative values matter as much as positive ones (correlations, such as phi).
        symmetric: Whether a pair says the same in both directions. Turn it off for what one rater said (across the
            rows) against what another said (across the columns), class by class.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "there is no pair")
    frame = typed(frame, name, kept=(first, second), numbers=(value,))
    pairs = frame.filter(pl.col(first).is_not_null() & pl.col(second).is_not_null())
    if pairs.is_empty():
        return nothing_to_show(name, title, "there is no pair")
    names = list(dict.fromkeys([*pairs[first].cast(pl.String), *pairs[second].cast(pl.String)]))
    labels = short_names(names[:MOST_ROWS], limit=24)
    note = f" The first {MOST_ROWS} of {len(names)} are shown; the saved CSV has all." if len(names) > MOST_ROWS else ""
    cells = _cells(pairs, ((first, second), (second, first))[: 1 + symmetric], value, labels, diverging=diverging)
    alt = altair()
    order = list(labels.values())
    step = max(9, min(46, 700 // len(order)))
    axis = {"labelFontSize": label_px(step), "labelOverlap": False, "ticks": False, "domain": False}
    x = alt.X(
        "column:N", scale=alt.Scale(domain=order), title=None, axis=alt.Axis(labelAngle=-50, orient="top", **axis)
    )
    y = alt.Y("row:N", scale=alt.Scale(domain=order), title=None, axis=alt.Axis(**axis))
    edge = max(0.1, extremes(cells["shown"].abs())[1])
    scale = alt.Scale(scheme=SURFACE, domain=[min(0.0, extremes(cells["shown"])[0]), max(1.0, edge)])
    if diverging:
        scale = alt.Scale(range=list(DIVERGING), domain=[-edge, 0, edge])
    tooltip = tips(cells, "row", "column", "shown .3f", "low .3f", "high .3f", "units", "videos", "note")
    bare = cells.drop("text", "ink").with_columns(pl.col(pl.Float64).round(4))
    base = alt.Chart(chart_data(bare), width=alt.Step(step), height=alt.Step(step))
    squares = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        x=x, y=y, color=alt.Color("shown:Q", scale=scale, title=measure), tooltip=tooltip
    )
    numbers = cell_text(cells, x, y, "text", size_px=SMALLEST_PX) if len(order) <= MOST_NUMBERS else []
    ways = "a pair stands on both sides of the diagonal."
    if not symmetric:
        ways = f"rows: {plain(first, limit=30)}, columns: {plain(second, limit=30)}."
    where = "The number stands in the cell." if numbers else "The number stands in the tooltip and in the saved CSV."
    return drawn(
        name, alt.layer(squares, *numbers), title=title, alt=_spoken(pairs, first, second, value, measure) + note,
        caption=f"Shade: {measure} of each of {amount(pairs.height, 'pair')}; {ways} {where}{_units(pairs)}{note}",
        data=pairs,
    )  # fmt: skip


def _cells(
    pairs: pl.DataFrame, ways: Sequence[tuple[str, str]], value: str, labels: dict[str, str], *, diverging: bool
) -> pl.DataFrame:
    """Every pair in each of the ways, with its text and the ink that can be read on its shade."""
    extra = [name for name in ("low", "high", "units", "videos", "note") if name in pairs.columns]
    sides = [
        pairs.select(pl.col(a).cast(pl.String).alias("row"), pl.col(b).cast(pl.String).alias("column"),
                     pl.col(value).cast(pl.Float64).alias("shown"), *extra)
        for a, b in ways
    ]  # fmt: skip
    cells = pl.concat(sides).filter(pl.col("row").is_in(list(labels)) & pl.col("column").is_in(list(labels)))
    cells = cells.unique(["row", "column"], keep="first", maintain_order=True)
    whole = all(shown is None or shown == int(shown) for shown in cells["shown"])
    text = ["–" if shown is None else f"{shown:.0f}" if whole else f"{shown:.2f}" for shown in cells["shown"]]
    largest = pl.col("shown").abs().max()
    strong = pl.when(pl.col("shown").abs() > 0.75 * largest).then(pl.lit(LIGHT)).otherwise(pl.lit(DARK))
    ink = strong if diverging else ink_on((pl.col("shown") / pl.max_horizontal(largest, 1.0)).fill_null(1.0))
    return cells.with_columns(
        pl.col("row", "column").replace_strict(labels, return_dtype=pl.String),
        pl.Series("text", text),
        ink.alias("ink"),
    )


def _units(pairs: pl.DataFrame) -> str:
    if "units" not in pairs.columns or pairs["units"].null_count() == pairs.height:
        return ""
    return f" n = {counted(pairs['units'], 'units per pair')}."


def _spoken(pairs: pl.DataFrame, first: str, second: str, value: str, measure: str) -> str:
    known = pairs.filter(pl.col(value).is_not_null()).sort(value, maintain_order=True)
    if known.is_empty():
        return f"{measure} of {amount(pairs.height, 'pair')}; none is defined."
    ends = [f"{plain(row[first], limit=24)} and {plain(row[second], limit=24)} {number(row[value], 2)}"
            for row in (known.row(0, named=True), known.row(-1, named=True))]  # fmt: skip
    if known.height == 1:
        return f"{measure} of one pair: {ends[0]}."
    return f"{measure} of {amount(pairs.height, 'pair')}: lowest {ends[0]}, highest {ends[1]}."
