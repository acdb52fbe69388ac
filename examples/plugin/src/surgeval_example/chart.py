"""One dot per model at its value: the least that a chart can be."""

from __future__ import annotations

import polars as pl

from surgeval.report.chart import Chart, altair, drawn, nothing_to_show

_LONGEST_LABEL = 40


def value_dots(values: pl.DataFrame, *, name: str = "value-dots", title: str = "Values") -> Chart:
    """One dot per model, at its value.

    Args:
        values: Columns `model` and `value`.
        name: Of the chart.
        title: Of the chart.
    """
    if values.is_empty():
        return nothing_to_show(name, title, "no model has a value")
    alt = altair()
    label = pl.col("model").str.replace_all(r"\p{C}", " ").str.slice(0, _LONGEST_LABEL)
    rows = values.select("value", model=pl.format("{}. {}", pl.int_range(1, pl.len() + 1), label))
    dots = alt.Chart(alt.Data(values=rows.to_dicts())).mark_point(filled=True, size=60)
    dots = dots.encode(x=alt.X("value:Q", scale=alt.Scale(zero=False)), y=alt.Y("model:N", sort=None, title=None))
    low, high = float(rows["value"].min()), float(rows["value"].max())
    return drawn(
        name, dots.properties(width=420, height=alt.Step(18)), title=title, data=values,
        alt=f"Values of {rows.height} models, from {low:.3f} to {high:.3f}.", caption="Dots: the value of each model.",
    )  # fmt: skip
