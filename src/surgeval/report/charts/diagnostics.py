"""Whether a fitted mixed model can be believed: its random effects, their shape, and simulated residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show
from surgeval.report.charts._encode import LABEL, chart_data, labelled, rows_axis, rows_height
from surgeval.report.charts._marks import extremes, line_at, number, row_scale, tips, typed
from surgeval.report.theme import ACCENT, CONTRAST, INK, QUIET, WIDTH_PX
from surgeval.report.words import plain, short_names
from surgeval.schema.shown_tables import p_phrase
from surgeval.stats.mixed.fit_tables import kept_ranks

MOST_LEVELS = 50
MOST_PANELS = 6
BINS = 20
WIDE = 1.96
PANEL_PX = 250


def caterpillar(
    frame: pl.DataFrame,
    *,
    group: str | None = None,
    name: str = "caterpillar",
    title: str = "Random effects",
) -> Chart:
    """One row per level of a random effect: its mean and 1.96 conditional deviations, the hardest on top.

    With more than fifty levels the fifty lowest are shown.

    Args:
        frame: As `random_effects_table` gives it: columns `group`, `level`, `mean`, `sd`.
        group: Which random effect, such as the patient; the first of the table if left out.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "the model has no random effect")
    frame = typed(frame, name, texts=("group", "level"), numbers=("mean", "sd"))
    group = str(frame["group"][0]) if group is None else group
    rows = frame.filter((pl.col("group") == group) & pl.col("mean").is_not_null()).sort("mean", "level")
    if rows.is_empty():
        return nothing_to_show(name, title, f"the model has no random effect {plain(group, limit=40)!r}")
    alt = altair()
    levels, shown = rows.height, rows.head(MOST_LEVELS)
    low, high = pl.col("mean") - WIDE * pl.col("sd"), pl.col("mean") + WIDE * pl.col("sd")
    side = pl.when(high < 0).then(pl.lit("below average")).when(low > 0).then(pl.lit("above average"))
    shown = labelled(shown, "level").with_columns(
        low.alias("low"), high.alias("high"), side.otherwise(pl.lit("not told apart from average")).alias("where")
    )
    order = shown[LABEL].to_list()
    y = rows_axis(order, scale=row_scale(order), title=plain(group, limit=40))
    base = alt.Chart(chart_data(shown), width=WIDTH_PX, height=rows_height(len(order)))
    kinds = ["below average", "not told apart from average", "above average"]
    legend = alt.Legend(orient="top", title=None, labelLimit=200)
    color = alt.Color("where:N", scale=alt.Scale(domain=kinds, range=[CONTRAST, QUIET, ACCENT]), legend=legend)
    shape = alt.Shape(
        "where:N", scale=alt.Scale(domain=kinds, range=["triangle-left", "circle", "triangle-right"]), legend=legend
    )
    tooltip = tips(shown, "level", "mean +.3f", "sd .3f", "low +.3f", "high +.3f")
    x = alt.X("low:Q", title="effect on the linear predictor (mean ± 1.96 conditional SD)", scale=alt.Scale(padding=8))
    rule = base.mark_rule(strokeWidth=1.8).encode(y=y, x=x, x2=alt.X2("high:Q"), color=color, tooltip=tooltip)
    dots = base.mark_point(filled=True, size=42, opacity=1).encode(
        y=y, x=alt.X("mean:Q"), color=color, shape=shape, tooltip=tooltip
    )
    note = f" The {MOST_LEVELS} lowest of {levels:,} levels are shown." if levels > MOST_LEVELS else ""
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    below = rows.filter(pl.col("mean") + WIDE * pl.col("sd") < 0).height
    return drawn(
        name, alt.layer(line_at(0.0), rule, dots), title=title,
        alt=f"Effects of {levels:,} levels of {plain(group, limit=40)}, from {plain(first['level'], limit=28)} "
            f"{number(first['mean'], 2, signed=True)} to {plain(last['level'], limit=28)} "
            f"{number(last['mean'], 2, signed=True)}; {below:,} lie below average beyond 1.96 deviations.{note}",
        caption=f"Conditional means of the random effect of {plain(group, limit=40)} (n = {levels:,} levels) on the "
                "scale of the linear predictor (log odds for right and wrong answers); 0 is the average. Bars: ± "
                f"1.96 conditional standard deviations. The hardest is on top.{note}",
        data=rows,
    )  # fmt: skip


def normal_qq(
    frame: pl.DataFrame,
    *,
    name: str = "normal-qq",
    title: str = "Quantiles against a normal curve",
) -> Chart:
    """One panel per random effect (and for residuals of a linear model): sorted values against normal quantiles.

    Args:
        frame: As `quantile_table` gives it: columns `group`, `expected`, `observed`, `n`.
        name: Of the chart.
        title: Of the chart.
    """
    if frame.is_empty():
        return nothing_to_show(name, title, "no random effect varies")
    frame = typed(frame, name, texts=("group",), numbers=("expected", "observed", "n"))
    alt = altair()
    groups = frame["group"].cast(pl.String).unique(maintain_order=True).to_list()
    labels = short_names(groups[:MOST_PANELS], limit=30)
    edge = 1.05 * max(1.0, *(extremes(frame[side].abs())[1] for side in ("expected", "observed")))
    panels = [
        _qq_panel(frame.filter(pl.col("group").cast(pl.String) == one), label, min(edge, 8.0))
        for one, label in labels.items()
    ]
    rows = [alt.hconcat(*panels[place : place + 3], spacing=20) for place in range(0, len(panels), 3)]
    note = f" The first {MOST_PANELS} of {len(groups)} are shown." if len(groups) > MOST_PANELS else ""
    furthest = frame.with_columns((pl.col("observed") - pl.col("expected")).abs().alias("gap")).sort(
        "gap", descending=True, maintain_order=True
    )
    top = furthest.row(0, named=True)
    return drawn(
        name, alt.vconcat(*rows, spacing=20), title=title,
        alt=f"Normal quantile plots of {', '.join(labels.values())}. Furthest from the line: "
            f"{plain(top['group'], limit=30)}, {number(top['observed'], 2)} where a normal curve has "
            f"{number(top['expected'], 2)}.{note}",
        caption="Across: quantiles of a normal curve; up: sorted values in their own standard deviations; n in each "
                "heading. On the line a normal curve holds; predictions of few levels are drawn towards zero and say "
                f"little.{note}",
        data=frame,
    )  # fmt: skip


def _qq_panel(rows: pl.DataFrame, label: str, edge: float) -> Any:
    alt = altair()
    heading = alt.Title(f"{label} (n = {rows['n'][0]:,})", fontSize=11, fontWeight="normal", limit=PANEL_PX)
    scale = alt.Scale(domain=[-edge, edge], nice=False, clamp=True)
    base = alt.Chart(chart_data(rows), width=PANEL_PX, height=PANEL_PX, title=heading)
    x = alt.X("expected:Q", scale=scale, title="normal quantile")
    y = alt.Y("observed:Q", scale=scale, title="standardised value")
    dots = base.mark_point(size=22, color=ACCENT, filled=True, opacity=0.7).encode(
        x=x, y=y, tooltip=tips(rows, "expected .2f", "observed .2f")
    )
    return alt.layer(_diagonal(-edge, edge, scale), dots)


def _diagonal(low: float, high: float, scale: Any) -> Any:
    alt = altair()
    ends = alt.Chart(alt.Data(values=[{"a": low, "b": low}, {"a": high, "b": high}]))
    line = ends.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1)
    return line.encode(x=alt.X("a:Q", scale=scale), y=alt.Y("b:Q", scale=scale))


def simulated_residuals(
    frame: pl.DataFrame,
    *,
    tests: Mapping[str, Any] | None = None,
    name: str = "simulated-residuals",
    title: str = "Residuals against data simulated from the model",
) -> Chart:
    """Two panels: quantiles of the scaled residuals against uniform ones, and their histogram.

    Args:
        frame: Column `residual`, between 0 and 1, as `residual_table` gives it.
        tests: The tests beside it, by name: `uniformity_p`, `dispersion`, `dispersion_p`, `outliers`, `outlier_p`,
            `conditional`.
        name: Of the chart.
        title: Of the chart.
    """
    values = frame["residual"].drop_nulls().drop_nans().sort().to_numpy() if frame.height else np.zeros(0)
    if not values.size:
        return nothing_to_show(name, title, "no residual was simulated")
    alt = altair()
    keep = kept_ranks(len(values))
    points = pl.DataFrame(
        {"expected": ((np.arange(1, len(values) + 1) - 0.5) / len(values))[keep], "observed": values[keep]}
    )
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    bars = pl.DataFrame({"start": edges[:-1], "end": edges[1:], "rows": counts})
    unit = alt.Scale(domain=[0, 1])
    base = alt.Chart(chart_data(points), width=PANEL_PX, height=PANEL_PX)
    dots = base.mark_point(size=18, color=ACCENT, filled=True, opacity=0.7).encode(
        x=alt.X("expected:Q", scale=unit, title="uniform quantile"),
        y=alt.Y("observed:Q", scale=unit, title="scaled residual"),
    )
    right = alt.Chart(chart_data(bars), width=PANEL_PX, height=PANEL_PX)
    blocks = right.mark_bar(color=ACCENT, stroke="white").encode(
        x=alt.X("start:Q", scale=unit, title="scaled residual"), x2=alt.X2("end:Q"), y=alt.Y("rows:Q", title="rows"),
        y2=alt.datum(0),
        tooltip=tips(bars, "start .2f", "end .2f", "rows"),
    )  # fmt: skip
    level = (
        alt.Chart(alt.Data(values=[{"rows": len(values) / BINS}]))
        .mark_rule(color=INK, strokeDash=[4, 3])
        .encode(y=alt.Y("rows:Q"))
    )
    words = _tests_in_words(tests or {})
    return drawn(
        name, alt.hconcat(alt.layer(_diagonal(0, 1, unit), dots), alt.layer(blocks, level), spacing=30), title=title,
        alt=f"Scaled residuals of {len(values):,} rows; a right model has them uniform. {words} The fullest of {BINS} "
            f"bins holds {int(counts.max()):,} rows, the emptiest {int(counts.min()):,}, where "
            f"{len(values) / BINS:,.0f} are expected.",
        caption=f"Share of simulated outcomes below the observed one (n = {len(values):,} rows). Left: sorted, "
                f"against uniform quantiles. Right: counts in {BINS} bins; dashed: what a right model gives. {words}",
        data=frame,
    )  # fmt: skip


def _tests_in_words(tests: Mapping[str, Any]) -> str:
    parts = []
    if "uniformity_p" in tests:
        parts.append(f"uniformity {p_phrase(tests['uniformity_p'])}")
    if "dispersion" in tests:
        parts.append(f"dispersion {number(tests['dispersion'], 2)} ({p_phrase(tests.get('dispersion_p'))})")
    if "outliers" in tests:
        parts.append(f"{tests['outliers']:.0f} outliers ({p_phrase(tests.get('outlier_p'))})")
    if not parts:
        return "No tests are given."
    how = {True: " Estimated random effects were kept.", False: " Random effects were drawn anew."}
    return f"Tests: {', '.join(parts)}.{how.get(tests.get('conditional', None), '')}"
