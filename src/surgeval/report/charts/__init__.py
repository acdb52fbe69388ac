"""One file per family of charts; every function takes tables with published columns and gives a `Chart`.

To add one: write it in its family's file, name it in `CHARTS`, and give it an example in
`tests/chart_examples.py`, where it has to stand three and a hundred models, hostile names and empty tables.
"""

from __future__ import annotations

from collections.abc import Callable

from surgeval.report.chart import Chart
from surgeval.report.charts.intervals import value_intervals

CHARTS: dict[str, Callable[..., Chart]] = {
    chart.__name__: chart
    for chart in (
        value_intervals,
    )
}  # fmt: skip
"""Every chart by name."""
