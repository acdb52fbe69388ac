"""One file per family of charts; every function takes tables with published columns and gives a `Chart`.

To add one: write it in its family's file, name it in `CHARTS`, and give it an example in
`tests/chart_examples.py`, where it has to stand three and a hundred models, hostile names and empty tables.
"""

from __future__ import annotations

from collections.abc import Callable

from surgeval.report.chart import Chart
from surgeval.report.charts.board import board
from surgeval.report.charts.buckets import bucket_matrix
from surgeval.report.charts.differences import pair_differences
from surgeval.report.charts.intervals import value_intervals
from surgeval.report.charts.pairs import dominance_matrix, significance_map
from surgeval.report.charts.places import place_frequencies, place_shares, places_by_rule
from surgeval.report.charts.podium import podium, ranking_heat_map
from surgeval.report.charts.task_distance import task_dendrogram, task_network
from surgeval.report.charts.tasks import task_boxes, tau_violin

CHARTS: dict[str, Callable[..., Chart]] = {
    chart.__name__: chart
    for chart in (
        value_intervals,
        board, place_frequencies, place_shares, places_by_rule, podium, ranking_heat_map, significance_map,
        dominance_matrix, bucket_matrix, pair_differences, task_boxes, tau_violin, task_dendrogram, task_network,
    )
}  # fmt: skip
"""Every chart by name."""
