"""What a remedy changed: the effect of every property before and after."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, rows_axis, rows_height
from surgeval.report.charts._forest import WIDEST
from surgeval.report.charts._marks import amount, head_beside, line_at, row_scale, text_beside, tips, typed
from surgeval.report.theme import ACCENT, QUIET, WIDTH_PX, row_step_px
from surgeval.report.words import plain, term_names

MOST_TERMS = 60
_ROUNDS = ("before", "after")
_NUMBERS = tuple(f"{side}{end}" for side in _ROUNDS for end in ("", "_low", "_high"))


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
    table = typed(frame, name, texts=("term", "verdict"), numbers=(*_NUMBERS, "p_holm"))
    note = ""
    if table.height > MOST_TERMS:
        note = f" The {MOST_TERMS} of {table.height:,} properties with the smallest p values are shown."
        table = table.sort("p_holm", nulls_last=True, maintain_order=True).head(MOST_TERMS)
    table = table.sort("before", nulls_last=True, maintain_order=True)
    table = table.with_columns(pl.col("term").replace_strict(term_names(table["term"].to_list())).alias(LABEL))
    order = table[LABEL].to_list()
    y = rows_axis(order, scale=row_scale(order))
    beside = altair().Chart(chart_data(table), width=WIDTH_PX, height=rows_height(len(order)))
    words = [text_beside(beside, y, "verdict", len(order)), head_beside("change (Holm)")]
    picture = altair().layer(line_at(0.0), *_marks(table, order), *words)
    changed = table.filter(pl.col("verdict").str.contains("harmful"))
    listed = ", ".join(f"{row[LABEL]} {row['verdict']}" for row in changed.head(6).iter_rows(named=True))
    count = amount(table.height, "property") if table.height == 1 else f"{table.height:,} properties"
    return drawn(
        name, picture, title=title, alt=f"{count} before and after; shown to have changed: {listed or 'none'}.{note}",
        caption="Effects on the scale of the model (log odds ratios, or points of a continuous outcome), intervals. "
                "Grey: before, blue: after, of the same cases. A verdict stands where the paired change passes Holm's "
                f"correction over the properties. Intervals are cut at {WIDEST:g}.{note}",
        data=frame,
    )  # fmt: skip


def _marks(table: pl.DataFrame, order: list[str]) -> list[Any]:
    """Intervals and points of both rounds, the old one above the new one."""
    alt = altair()
    looks, legend = {"color": [QUIET, ACCENT], "shape": ["circle", "diamond"]}, alt.Legend(orient="top")
    scales = {name: alt.Scale(domain=list(_ROUNDS), range=look) for name, look in looks.items()}
    color = alt.Color("round:N", title=None, scale=scales["color"], legend=legend)
    shape = alt.Shape("round:N", title=None, scale=scales["shape"], legend=legend)
    middle = row_step_px(len(order)) / 2
    layers: list[Any] = []
    for place, side in enumerate(_ROUNDS):
        rows = table.select(
            LABEL, "term", "verdict", "p_holm", pl.lit(side).alias("round"), pl.col(side).alias("estimate"),
            *(pl.col(f"{side}_{end}").clip(-WIDEST, WIDEST).alias(end) for end in ("low", "high")),
            pl.col(side).clip(-WIDEST, WIDEST).alias("shown"),
        )  # fmt: skip
        base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(len(order)))
        y, dodge = rows_axis(order, scale=row_scale(order)), alt.value(middle + (-3.5 if place == 0 else 3.5))
        tooltip = tips(rows, "term", "round", "estimate +.3f", "low +.3f", "high +.3f", "p_holm .2g", "verdict")
        x = alt.X("low:Q", title=plain("effect: harm to the left, help to the right of 0 where larger is better"))
        rule = base.mark_rule(strokeWidth=2).encode(y=y, x=x, x2="high:Q", yOffset=dodge, color=color, tooltip=tooltip)
        point = base.mark_point(filled=True, size=50, opacity=1)
        layers += [rule, point.encode(y=y, x="shown:Q", yOffset=dodge, color=color, shape=shape, tooltip=tooltip)]
    return layers
