"""A small table for every chart, at any number of models and with any names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from chart_examples_analysis import EXAMPLES_ANALYSIS
from chart_examples_challenge import EXAMPLES_CHALLENGE
from surgvalid.report.chart import Chart
from surgvalid.report.charts import CHARTS
from surgvalid.testing._charts import HOSTILE, plain_names

__all__ = ["EXAMPLES", "HOSTILE", "plain_names"]


def _value_intervals(names: Sequence[str]) -> Chart:
    middle = np.linspace(0.3, 0.8, len(names))
    return CHARTS["value_intervals"](
        pl.DataFrame(
            {"model": names, "value": middle, "low": middle - 0.1, "high": middle + 0.1, "n": [40] * len(names)},
            schema={
                "model": pl.String,
                "value": pl.Float64,
                "low": pl.Float64,
                "high": pl.Float64,
                "n": pl.Int64,
            },
        )
    )


EXAMPLES: dict[str, Callable[[Sequence[str]], Chart]] = {
    "value_intervals": _value_intervals,
    **EXAMPLES_CHALLENGE,
    **EXAMPLES_ANALYSIS,
}
"""By the chart's name, a function from names (of models, or whatever its rows are) to the chart."""
