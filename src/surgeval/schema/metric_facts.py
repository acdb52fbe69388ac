"""What must be known about a metric before its numbers can be used: range, direction, conventions."""

from __future__ import annotations

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

KNOWN_METRICS: dict[str, MetricFacts] = {
    facts.name: facts
    for facts in (
        CORRECT,
        MetricFacts("set_jaccard", conventions={"both none": "1", "missing": "0"}),
        MetricFacts("set_f1", conventions={"both none": "1", "missing": "0"}),
        MetricFacts("accuracy"),
        MetricFacts("dsc"),
        MetricFacts("iou"),
        MetricFacts("nsd"),
        MetricFacts("ap"),
        MetricFacts("f1"),
    )
}
"""Metrics whose range is known without being told. Others are accepted with any finite value."""
