"""Failure analysis: which properties harm or help, for all models together and for each by itself."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, rows_axis, rows_height
from surgeval.report.charts._forest import forest_axis, forest_marks, helps_up, prepared, typed_effects
from surgeval.report.charts._marks import (
    DARK,
    LIGHT,
    amount,
    cell_text,
    head_beside,
    line_at,
    row_scale,
    text_beside,
    tips,
)
from surgeval.report.theme import DIVERGING, INK, SMALLEST_PX, label_px, row_step_px
from surgeval.report.words import plain, short_names, term_names
from surgeval.stats.mixed.design import INTERCEPT
from surgeval.stats.mixed.symbols import LARGER, NOT_ASSESSABLE, SMALLER

MOST_TERMS = 100
MOST_PANELS = 6
FOREST_PX = 400


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
    if frame.is_empty():
        return nothing_to_show(name, title, "no property was analysed")
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
    order = table[LABEL].to_list()
    y = rows_axis(order, scale=row_scale(order))
    base = altair().Chart(chart_data(table), width=FOREST_PX, height=rows_height(len(order)))
    beside = [
        text_beside(base, y, "size_text", len(order), x_px=FOREST_PX + 8),
        head_beside("odds ratio (interval)" if ratio else "estimate", x_px=FOREST_PX + 8),
        text_beside(base, y, "stars", len(order), x_px=FOREST_PX + 148),
        text_beside(base, y, "symbol", len(order), x_px=FOREST_PX + 182),
        head_beside("symbol", x_px=FOREST_PX + 176),
    ]
    picture = altair().layer(line_at(0.0), *forest_marks(base, table, y, forest_axis(ratio, outcome)), *beside)
    fitted = f", n = {rows:,} rows" if rows is not None else ""
    scale = (
        f"{kind} log odds ratios of {plain(outcome, limit=40)}" if ratio else "estimates on the scale of the outcome"
    )
    return drawn(
        name, picture, title=title, alt=_spoken(table, ratio) + note,
        caption=f"Points: {scale} with the property against without it, the other properties held fixed{fitted}. "
                "Bars: intervals; cut where an arrow stands. Triangles point to harm (left) or help (right) "
                f"where p ≤ 0.05. Stars: {'p' if p_column == 'p_value' else 'Holm-adjusted p'} ≤ 0.05, 0.01 and "
                f"0.001. Symbols: one to three plus or minus signs for growing odds ratios; x: not assessable.{note}",
        data=frame,
    )  # fmt: skip


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
        listed = [f"{row[LABEL]} ({what} {row['size_text']}{', ' + row['stars']})"
                  for row in strongest.iter_rows(named=True)]  # fmt: skip
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
    """A forest per model side by side; from seven models on, a map of effects with signs.

    Args:
        frame: The table `per_model` of `failures`: the columns of `effects` and `model`.
        outcome: What the odds are of.
        p_column: Which p values decide what is marked: `p_value`, or `p_corrected` where the table has such a column.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no model was analysed by itself")
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
    models = table["model"].cast(pl.String).unique(maintain_order=True).to_list()
    named = term_names(terms["term"].to_list())
    called = short_names(models, limit=24)
    table = table.with_columns(
        pl.col("term").replace_strict(named).alias(LABEL),
        pl.col("model").cast(pl.String).replace_strict(called).alias("who"),
    )
    order, whose = list(named.values()), list(called.values())
    panels = len(models) <= MOST_PANELS
    ratio = bool(table["odds_ratio"].is_not_null().any())
    scale = f"log odds ratios of {plain(outcome, limit=40)}" if ratio else "estimates on the scale of the outcome"
    picture = _panels(table, order, whose, ratio) if panels else _map(table, order, whose, ratio, up)
    counts = table.group_by("who", maintain_order=True).agg((pl.col("effect") == "harms").sum().alias("harms"))
    most = counts.sort("harms", "who", descending=[True, False]).row(0, named=True)
    below = "p ≤ 0.05" if p_column == "p_value" else "p ≤ 0.05 after correction over all cells"
    shades = "orange below and blue above 0" if up is None else "orange harms and blue helps"
    drawn_as = f"Shade: effect, {shades}; signs: {below}; x: not assessable."
    if panels:
        drawn_as = (
            f"One panel per model; triangles point to harm (left) or help (right) where {below}, bars are Wald "
            "intervals; x: not assessable."
        )
    return drawn(
        name, picture, title=title,
        alt=f"Effects of {len(order)} properties on {amount(len(models), 'model')}, each analysed by itself. Most "
            f"harmful properties: {most['who']} with {most['harms']}.{note}",
        caption=f"Conditional {scale}, each model fitted by itself. "
                f"{drawn_as}{note}",
        data=frame,
    )  # fmt: skip


def _panels(table: pl.DataFrame, order: list[str], whose: list[str], ratio: bool) -> Any:
    alt = altair()
    width = max(110, 620 // len(whose))
    parts = []
    for place, who in enumerate(whose):
        rows = table.filter(pl.col("who") == who)
        base = alt.Chart(
            chart_data(rows),
            width=width,
            height=rows_height(len(order)),
            title=alt.Title(who, fontSize=11, limit=width),
        )
        axis = rows_axis(order, scale=row_scale(order))
        if place:
            axis = alt.Y(f"{LABEL}:N", sort=order, title=None, axis=None, scale=row_scale(order))
        words = "log odds ratio" if ratio else "estimate"
        missing = alt.Chart(chart_data(rows.filter(pl.col("symbol") == NOT_ASSESSABLE).with_columns(at=pl.lit(0.0))))
        cross = missing.mark_text(text="x", color=INK, dx=8).encode(y=axis, x=alt.X("at:Q"))
        parts.append(alt.layer(line_at(0.0), *forest_marks(base, rows, axis, words), cross))
    return alt.hconcat(*parts, spacing=10).resolve_scale(x="shared", color="shared", shape="shared")


def _map(table: pl.DataFrame, order: list[str], whose: list[str], ratio: bool, up: bool | None) -> Any:
    alt = altair()
    step, column = row_step_px(len(order)), max(9, min(34, 760 // len(whose)))
    edge = max(1.0, min(3.0, float(table["shown"].abs().quantile(0.95) or 1.0)))
    sign = pl.when(pl.col("symbol") == NOT_ASSESSABLE).then(pl.lit("x")).when(pl.col("effect") == "harms").then(
        pl.lit("−")).when(pl.col("effect") == "helps").then(pl.lit("+")).when(pl.col("effect") == LARGER).then(
        pl.lit("▲")).when(pl.col("effect") == SMALLER).then(pl.lit("▼")).otherwise(pl.lit(""))  # fmt: skip
    ink = pl.when(pl.col("shown").abs().fill_null(0.0) > 0.7 * edge).then(pl.lit(LIGHT)).otherwise(pl.lit(DARK))
    table = table.with_columns(sign.alias("sign"), ink.alias("ink"))
    axis = alt.Axis(labelAngle=-60, labelFontSize=label_px(column), labelOverlap=False, orient="top")
    x = alt.X("who:N", scale=alt.Scale(domain=whose), title=None, axis=axis)
    y = rows_axis(order, scale=row_scale(order))
    shade = alt.Color(
        "shown:Q",
        scale=alt.Scale(range=list(DIVERGING)[:: -1 if up is False else 1], domain=[-edge, 0, edge], clamp=True),
        title=["log odds ratio" if ratio else "estimate", f"(cut at {edge:.1f})"],
    )
    tooltip = tips(
        table, "model", "term", "estimate +.3f", "odds_ratio .3f", "p_value .2g", "p_corrected .2g", "symbol", "note"
    )
    base = alt.Chart(chart_data(table), width=alt.Step(column), height=alt.Step(max(step, 12)))
    squares = base.mark_rect(stroke="white", strokeWidth=0.5).encode(x=x, y=y, color=shade, tooltip=tooltip)
    signs = cell_text(table.filter(pl.col("sign") != ""), x, y, "sign", size_px=max(SMALLEST_PX, min(13, column)))
    return alt.layer(squares, *signs)
