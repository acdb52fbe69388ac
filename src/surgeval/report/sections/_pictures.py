"""Charts in sections: one that cannot be drawn from these tables becomes a sentence, never the end of the report."""

from __future__ import annotations

from typing import Any

import polars as pl

from surgeval.errors import ExtraNeeded, SurgevalError
from surgeval.report.chart import altair
from surgeval.report.charts import CHARTS
from surgeval.report.section import Block, Note
from surgeval.report.words import plain


def picture(chart: str, *tables: Any, **options: Any) -> Block:
    """The chart of that name, or a note that says why it could not be drawn.

    Raises:
        ExtraNeeded: The packages that draw are not installed.
    """
    try:
        with altair().utils.schemapi.debug_mode(False):  # parts are not validated one by one, which takes most time
            return CHARTS[chart](*tables, **options)
    except ExtraNeeded:
        raise
    except (SurgevalError, ValueError, TypeError, LookupError, ArithmeticError, pl.exceptions.PolarsError) as error:
        return Note(f"The figure {chart.replace('_', ' ')!r} could not be drawn: {plain(error, limit=300)}", "hint")
