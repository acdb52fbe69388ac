"""What must be known about a metric before its numbers can be used: range, direction, conventions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """The facts of one metric. A number without them is not a result."""

    name: str
    low: float = 0.0
    high: float = 1.0
    larger_is_better: bool = True
    estimand: str = "mean over cases"
    conventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def worst(self) -> float:
        """The worst value the metric can take; what a missing score counts as under `missing="worst"`."""
        return self.low if self.larger_is_better else self.high


CORRECT = MetricFacts("correct", conventions={"missing": "wrong", "late": "wrong"})
"""Whether an answer is right: the metric every question has."""

TIME_TOLERANCES_S = (1, 2, 5, 10, 30)
"""Tolerances at which times are reported, in seconds."""

_TIME = {
    "several times": "matched one to one with the least total error; mean over the longer list",
    "unmatched": "counts as missing",
    "missing": "distance to the farthest end of the question's window, at least 30 s",
    "given but farther": "counts as missing, so that no answer is never better than an answer",
}
_COUNT = {
    "missing": "distance to the farthest of 0 and the largest reference count",
    "given but farther": "counts as missing",
}
_SHARE = {
    "missing": "distance to the farthest of 0 % and 100 %",
    "given but farther": "counts as missing",
}

KNOWN_METRICS: dict[str, MetricFacts] = {
    facts.name: facts
    for facts in (
        CORRECT,
        MetricFacts("set_jaccard", conventions={"both none": "1", "missing": "0"}),
        MetricFacts("set_f1", conventions={"both none": "1", "missing": "0"}),
        MetricFacts("set_exact", conventions={"missing": "0"}),
        MetricFacts("time_error_s", 0.0, math.inf, False, conventions=_TIME),
        *(MetricFacts(f"time_within_{t}s", conventions={**_TIME, "missing": "0"}) for t in TIME_TOLERANCES_S),
        MetricFacts("count_error", 0.0, math.inf, False, conventions=_COUNT),
        MetricFacts("percentage_points_error", 0.0, math.inf, False, conventions=_SHARE),
        MetricFacts("accuracy"),
        MetricFacts("dsc"),
        MetricFacts("iou"),
        MetricFacts("nsd"),
        MetricFacts("ap"),
        MetricFacts("f1"),
    )
}
"""Metrics whose range is known without being told. Others are accepted with any finite value."""
