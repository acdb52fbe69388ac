"""What all charts share: tables as chart data, labels for models, axes that fit the number of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import polars as pl

from surgeval.report.chart import altair
from surgeval.report.theme import label_px, row_step_px
from surgeval.report.words import plain, short_names

LABEL = "label"
"""The column that `labelled` adds."""


def labelled(frame: pl.DataFrame, column: str = "model", *, limit: int = 28) -> pl.DataFrame:
    """The table with a short, distinct, harmless `label` for the names in `column`."""
    names = short_names(frame[column].cast(pl.String).fill_null("(none)").to_list(), limit=limit)
    return frame.with_columns(pl.col(column).cast(pl.String).fill_null("(none)").replace_strict(names).alias(LABEL))


def chart_data(frame: pl.DataFrame) -> Any:
    """The rows as inline data: text made harmless, numbers that JSON does not know left out.

    They are a tuple, which the package passes on; lists it would copy cell by cell for every layer.
    """
    rows = ({name: _value(value) for name, value in row.items()} for row in frame.to_dicts())
    return altair().InlineData(values=tuple(rows))


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int | list | None):
        return value
    return plain(value)


def rows_axis(order: Sequence[str], *, title: str | None = None, field: str = LABEL, **options: Any) -> Any:
    """The vertical axis with one row per label, in the given order, with letters that fit."""
    alt = altair()
    axis = alt.Axis(labelFontSize=label_px(row_step_px(len(order))), labelOverlap=False, ticks=False, domain=False)
    return alt.Y(f"{field}:N", sort=list(order), title=title, axis=axis, **options)


def rows_height(rows: int) -> Any:
    """The height of a chart with that many rows."""
    return altair().Step(row_step_px(rows))
