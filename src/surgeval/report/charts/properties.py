"""Properties of cases: how common they are, and what is expected with and without each."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, rows_axis, rows_height
from surgeval.report.charts._marks import (
    first_rows,
    head_beside,
    number,
    percent,
    row_scale,
    text_beside,
    tips,
    typed,
)
from surgeval.report.theme import ACCENT, CONTRAST, INK, QUIET, WIDTH_PX, row_step_px
from surgeval.report.words import term_names
from surgeval.stats.mixed.diagnostics import SPARSE

MOST_TERMS = 100
SCALES = {"conditional": "a typical case (conditional)", "population": "the population (averaged over random effects)"}
_SIDES = {"without": "without the property", "with": "with the property"}


def property_prevalence(
    frame: pl.DataFrame,
    *,
    by: pl.DataFrame | None = None,
    unit: str = "units",
    name: str = "property-prevalence",
    title: str = "How common the properties are",
) -> Chart:
    """One bar per property: the share of rows that have it, the most common on top; sparse ones are marked.

    Args:
        frame: The prevalence of `failures` (`diagnostics.prevalence`): columns `term`, `share`, `rows`, `units`.
        by: The same per group (column `group`, such as the patient), drawn as ticks.
        unit: What the finest independent unit is.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no 0/1 property was analysed")
    frame = typed(frame, name, texts=("term",), numbers=("share", "rows", "units"))
    alt = altair()
    ranked, note = first_rows(frame.sort("share", "term", descending=[True, False]), MOST_TERMS, "properties")
    kind = pl.when(pl.col("units") < SPARSE).then(pl.lit("hardly assessable")).otherwise(pl.lit("enough"))
    label = pl.col("term").replace_strict(term_names(ranked["term"].to_list())).alias(LABEL)
    rows = ranked.with_columns(kind.alias("units_are"), label)
    text = [
        f"{percent(row['share'])}  ({row['units']:,}{' !' if row['units'] < SPARSE else ''})" for row in rows.to_dicts()
    ]
    rows = rows.with_columns(pl.Series("share_text", text, dtype=pl.String))
    order = rows[LABEL].to_list()
    y = rows_axis(order, scale=row_scale(order))
    base = alt.Chart(chart_data(rows), width=WIDTH_PX, height=rows_height(len(order)))
    color = alt.Color("units_are:N", scale=alt.Scale(domain=["enough", "hardly assessable"], range=[ACCENT, CONTRAST]),
                      legend=None)  # fmt: skip
    x = alt.X("share:Q", title="share of rows with the property", axis=alt.Axis(format="%"), scale=alt.Scale(zero=True))
    bars = base.mark_bar(opacity=0.5 if by is not None else 1, height=max(3, row_step_px(len(order)) * 0.55)).encode(
        y=y, x=x, color=color, tooltip=tips(rows, "term", "share .1%", "rows", "units")
    )
    layers = [bars, text_beside(base, y, "share_text", len(order)), head_beside(f"share ({unit})")]
    if by is not None and by.height:
        layers.insert(1, _group_ticks(by, rows, y, len(order)))
    sparse = frame.filter(pl.col("units") < SPARSE).height
    top, rare = rows.row(0, named=True), rows.row(-1, named=True)
    ticks = " Black ticks: single groups." if len(layers) == 4 else ""
    return drawn(
        name, alt.layer(*layers), title=title,
        alt=f"Prevalence of {frame.height} properties: from {top[LABEL]} {percent(top['share'])} to {rare[LABEL]} "
            f"{percent(rare['share'])}; {sparse} rest on fewer than {SPARSE} {unit}.{note}",
        caption=f"Bars: share of rows with the property; in parentheses the {unit} that have it.{ticks} Orange and !: "
                f"fewer than {SPARSE} {unit}, so that its effect is hardly assessable ({sparse} of "
                f"{frame.height}).{note}",
        data=frame,
    )  # fmt: skip


def _group_ticks(by: pl.DataFrame, rows: pl.DataFrame, y: Any, count: int) -> Any:
    alt = altair()
    ticks = by.join(rows.select("term", LABEL), on="term")
    base = alt.Chart(chart_data(ticks)).mark_tick(color=INK, thickness=1, size=row_step_px(count) * 0.7, opacity=0.6)
    return base.encode(y=y, x=alt.X("share:Q"), tooltip=tips(ticks, "term", "group", "share .1%", "rows"))


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
    change = _changes(frame)
    ranked, note = first_rows(change, MOST_TERMS, "properties")
    names = term_names(ranked["term"].to_list())
    side = pl.when(pl.col("value") == 0).then(pl.lit(_SIDES["without"])).otherwise(pl.lit(_SIDES["with"]))
    rows = frame.filter(pl.col("term").is_in(list(names)))
    rows = rows.with_columns(pl.col("term").replace_strict(names).alias(LABEL), side.alias("side"))
    scales = [scale for scale in SCALES if scale in set(rows["scale"])]
    width = WIDTH_PX if len(scales) == 1 else WIDTH_PX // 2 + 10
    parts = [_panel(rows, scale, list(names.values()), width, first=not place) for place, scale in enumerate(scales)]
    picture = altair().hconcat(*parts, spacing=14).resolve_scale(x="shared", color="shared", shape="shared")
    return drawn(
        name, picture, title=title, alt=_spoken(ranked, names, outcome) + note,
        caption=f"Expected {outcome}: hollow without, filled with the property, the other properties as they are in "
                "the data. Bars: Wald intervals. Left, a typical case: all random effects at zero. Right, the "
                "population: averaged over random effects, as a new case drawn at random will show. The two are not "
                f"to be mixed.{note}",
        data=frame,
    )  # fmt: skip


def _changes(frame: pl.DataFrame) -> pl.DataFrame:
    """Per property the change from without to with, on the population's scale where there is one; the worst first."""
    scale = "population" if "population" in set(frame["scale"]) else frame["scale"][0]
    means = frame.filter(pl.col("scale") == scale).group_by("term", maintain_order=True)
    changes = means.agg(pl.col("mean").filter(pl.col("value") == 0).first().alias("without"),
                      pl.col("mean").filter(pl.col("value") == 1).first().alias("with_it"))  # fmt: skip
    change = (pl.col("with_it") - pl.col("without")).alias("change")
    return changes.with_columns(change).sort("change", nulls_last=True, maintain_order=True)


def _panel(rows: pl.DataFrame, scale: str, order: list[str], width: int, *, first: bool) -> Any:
    alt = altair()
    points = rows.filter(pl.col("scale") == scale)
    shift = max(2, row_step_px(len(order)) // 6)
    y = rows_axis(order, scale=row_scale(order))
    if not first:
        y = alt.Y(f"{LABEL}:N", sort=order, title=None, axis=None, scale=row_scale(order))
    heading = alt.Title(SCALES[scale], fontSize=11, fontWeight="normal", limit=width)
    sides = list(_SIDES.values())
    legend = alt.Legend(orient="top", title=None)
    color = alt.Color("side:N", scale=alt.Scale(domain=sides, range=[QUIET, ACCENT]), legend=legend)
    fill = alt.Fill("side:N", scale=alt.Scale(domain=sides, range=["#ffffff", ACCENT]), legend=legend)
    shape = alt.Shape("side:N", scale=alt.Scale(domain=sides, range=["circle", "diamond"]), legend=legend)
    x = alt.X("low:Q", title="expected outcome", scale=alt.Scale(zero=False, padding=10))
    tooltip = tips(points, "term", "side", "mean .3f", "low .3f", "high .3f")
    layers = []
    for place, side in enumerate(sides):
        marks_of_side = points.filter(pl.col("side") == side)
        base = alt.Chart(chart_data(marks_of_side), width=width, height=rows_height(len(order)), title=heading)
        offset = -shift if place == 0 else shift
        layers.append(
            base.mark_rule(strokeWidth=1.8, yOffset=offset).encode(
                y=y, x=x, x2=alt.X2("high:Q"), color=color, tooltip=tooltip
            )
        )
        dots = base.mark_point(size=38, opacity=1, strokeWidth=1.5, yOffset=offset)
        layers.append(dots.encode(y=y, x=alt.X("mean:Q"), color=color, fill=fill, shape=shape, tooltip=tooltip))
    return alt.layer(*layers)


def _spoken(ranked: pl.DataFrame, names: dict[str, str], outcome: str) -> str:
    words = [f"{names[row['term']]} from {number(row['without'])} to {number(row['with_it'])}"
             for row in ranked.head(3).iter_rows(named=True)]  # fmt: skip
    best = ranked.row(-1, named=True)
    tail = (
        f"; best: {names[best['term']]} from {number(best['without'])} to {number(best['with_it'])}"
        if ranked.height > 3
        else ""
    )
    return (
        f"Expected {outcome} without and with {ranked.height} properties, in the population: {'; '.join(words)}{tail}."
    )
