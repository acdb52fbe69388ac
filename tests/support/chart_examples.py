"""A small table for every chart, at any number of models and with any names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from chart_examples_analysis import EXAMPLES_ANALYSIS
from chart_examples_challenge import EXAMPLES_CHALLENGE
from surgeval.report.chart import Chart
from surgeval.report.charts import CHARTS

HOSTILE = (
    "</script><script>window.hacked=1</script>", "=HYPERLINK(\"http://x\")", "\\input{/etc/passwd} $x^2$ #eval",
    "a\u202egnp.exe", "datum.value; alert(1)", "名前 模型 🩺", "x" * 300, "line\nbreak", "", "{{ 7 * 7 }}",
)  # fmt: skip


def plain_names(count: int) -> list[str]:
    """That many harmless names."""
    return [f"model {number:03d}" for number in range(count)]


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
