"""One file per family of charts; every function takes tables with published columns and gives a `Chart`.

To add one: write it in its family's file, name it in `_FAMILIES`, and give it an example in
`tests/support/chart_examples.py`, where it has to stand three and a hundred models, hostile names and empty tables.
A family is imported when one of its charts is asked for: a report needs few of them, and some need much.
"""

from __future__ import annotations

from collections.abc import Callable

from surgvalid.catalogue import Catalogue, Homes, called_with
from surgvalid.report.chart import Chart

__all__ = ["CHARTS", "leaderboard", "tables"]

_FAMILIES = {
    "intervals": ("value_intervals", "difference_intervals"),
    "leaderboard": ("board", "significance_map"),
    "leads": ("paired_patients", "lead_intervals", "group_leads"),
    "strata": ("strata_deltas", "patient_values"),
    "answers": ("calibration",),
    "failures": ("effects_forest", "model_effects", "property_curve"),
    "planning": ("plan_curve", "plan_trade", "video_timeline"),
}
_HOME = {name: f"{family}.{name}" for family, names in _FAMILIES.items() for name in names}
CHARTS: Catalogue[Callable[..., Chart]] = Catalogue(
    "chart", "charts", Homes(__name__, _HOME), take=called_with("a function that gives a chart")
)
"""Every chart by name."""


def __getattr__(name: str) -> Callable[..., Chart]:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return CHARTS[name]
