"""One dot per model at its value: the least that a chart can be."""

from __future__ import annotations

import polars as pl

from surgvalid.report.chart import Chart, nothing_to_show
from surgvalid.report.drawing.rows import Mark, RowsImage


def value_dots(values: pl.DataFrame, *, name: str = "value-dots", title: str = "Values") -> Chart:
    """One dot per model, at its value.

    Args:
        values: Columns `model` and `value`.
        name: Of the chart.
        title: Of the chart.
    """
    if values.is_empty():
        return nothing_to_show(name, title, "no model has a value")
    numbers = values["value"].to_list()
    labels = tuple(f"{place}. {model}" for place, model in enumerate(values["model"], start=1))
    image = RowsImage(labels, tuple(Mark(place, value) for place, value in enumerate(numbers)), axis="value")
    alt = f"Values of {len(numbers)} models, from {min(numbers):.3f} to {max(numbers):.3f}."
    return Chart(name, title, alt, "Dots: the value of each model.", values, image)
