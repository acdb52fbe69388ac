"""One file per family of charts; every function takes tables with published columns and gives a `Chart`.

To add one: write it in its family's file, name it in `CHARTS`, and give it an example in
`tests/support/chart_examples.py`, where it has to stand three and a hundred models, hostile names and empty tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surgeval.catalogue import Catalogue
from surgeval.report.chart import Chart
from surgeval.report.charts.aggregation import aggregation_flips
from surgeval.report.charts.agreement import agreement_matrix
from surgeval.report.charts.answers import count_confusion, latency_against_budget, time_error
from surgeval.report.charts.board import board
from surgeval.report.charts.buckets import bucket_matrix
from surgeval.report.charts.calibration import calibration
from surgeval.report.charts.diagnostics import caterpillar, normal_qq, simulated_residuals
from surgeval.report.charts.differences import pair_differences
from surgeval.report.charts.effect_changes import effect_changes
from surgeval.report.charts.failures import effects_forest, model_effects
from surgeval.report.charts.intervals import value_intervals
from surgeval.report.charts.monitoring import video_timeline
from surgeval.report.charts.pairs import dominance_matrix, significance_map
from surgeval.report.charts.patients import patient_values
from surgeval.report.charts.places import place_frequencies, place_shares, places_by_rule
from surgeval.report.charts.planning import plan_curve, plan_trade
from surgeval.report.charts.podium import podium, ranking_heat_map
from surgeval.report.charts.properties import marginal_means, property_prevalence
from surgeval.report.charts.settings import setting_curves
from surgeval.report.charts.strata import strata_deltas
from surgeval.report.charts.task_distance import task_dendrogram, task_network
from surgeval.report.charts.tasks import task_boxes, tau_violin
from surgeval.report.charts.timeline import timeline
from surgeval.report.charts.uncertainty import difference_intervals, naive_against_cluster, video_leverage

__all__ = [
    "CHARTS",
    "aggregation_flips",
    "agreement_matrix",
    "board",
    "bucket_matrix",
    "calibration",
    "caterpillar",
    "count_confusion",
    "difference_intervals",
    "dominance_matrix",
    "effect_changes",
    "effects_forest",
    "latency_against_budget",
    "marginal_means",
    "model_effects",
    "naive_against_cluster",
    "normal_qq",
    "pair_differences",
    "patient_values",
    "place_frequencies",
    "place_shares",
    "places_by_rule",
    "plan_curve",
    "plan_trade",
    "podium",
    "property_prevalence",
    "ranking_heat_map",
    "setting_curves",
    "significance_map",
    "simulated_residuals",
    "strata_deltas",
    "task_boxes",
    "task_dendrogram",
    "task_network",
    "tau_violin",
    "time_error",
    "timeline",
    "value_intervals",
    "video_leverage",
    "video_timeline",
]

_CHARTS: dict[str, Callable[..., Chart]] = {
    chart.__name__: chart
    for chart in (
        value_intervals,
        board, place_frequencies, place_shares, places_by_rule, podium, ranking_heat_map, significance_map,
        dominance_matrix, bucket_matrix, pair_differences, task_boxes, tau_violin, task_dendrogram, task_network,
        naive_against_cluster, strata_deltas, aggregation_flips, difference_intervals, video_leverage,
        calibration, time_error, count_confusion, latency_against_budget,
        effects_forest, model_effects, caterpillar, normal_qq, simulated_residuals, property_prevalence, marginal_means,
        timeline, agreement_matrix, patient_values, setting_curves,
        plan_curve, plan_trade, video_timeline, effect_changes,
    )
}  # fmt: skip


def _taken(name: str, drawn: Any) -> Callable[..., Chart]:
    if not callable(drawn):
        raise TypeError(f"{name!r} leads to a {type(drawn).__name__}, not to a function that gives a chart")
    function: Callable[..., Chart] = drawn
    return function


CHARTS: Catalogue[Callable[..., Chart]] = Catalogue("chart", "charts", _CHARTS, take=_taken)
"""Every chart by name."""
