"""How steadily masks follow a video: consecutive predicted masks against consecutive reference masks.

Definition, for frames t and t + 1 of one video, with IoU(both empty) = 1:
    step gap        = |IoU(P_t, P_t+1) - IoU(R_t, R_t+1)|
    mask stability gap = mean of the step gaps
A flickering mask has low self-overlap where the reference has high; a frozen one the reverse.

The one decision: the gap is to the reference's own movement, not to 1. A prediction that never moves would
otherwise be the most stable of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio
from surgeval.metrics.segmentation.masks import MaskCases, mask_pair, pixel_counts
from surgeval.metrics.segmentation.overlap import iou_of
from surgeval.schema.metric_facts import MetricFacts


@dataclass(frozen=True, slots=True)
class MaskVideo:
    """The masks of one video, frames in order of time."""

    reference: Sequence[npt.ArrayLike]
    prediction: Sequence[npt.ArrayLike]


class MaskStability(NamedTuple):
    """Self-overlap of consecutive masks of one video."""

    predicted: float
    """Mean IoU of consecutive predicted masks; NaN with fewer than two frames."""
    reference: float
    gap: float
    """Mean absolute difference, step by step."""
    steps: int

    @property
    def relative(self) -> float:
        """Predicted self-overlap over the reference's own: below 1 flickers, above 1 lags."""
        return float(ratio(self.predicted, self.reference))


def mask_stability(video: MaskVideo) -> MaskStability:
    """How predicted masks change from frame to frame, against how the reference does.

    Example:
        >>> on, off = np.ones((2, 2), bool), np.zeros((2, 2), bool)
        >>> mask_stability(MaskVideo([on, on, on], [on, off, on]))
        MaskStability(predicted=0.0, reference=1.0, gap=1.0, steps=2)
    """
    frames = MaskCases(video.reference, video.prediction).pairs()
    both = [(iou_between(a, c), iou_between(b, d)) for (a, b), (c, d) in pairwise(frames)]
    if not both:
        return MaskStability(np.nan, np.nan, np.nan, 0)
    reference, predicted = np.asarray(both).T
    gap = float(np.abs(predicted - reference).mean())
    return MaskStability(float(predicted.mean()), float(reference.mean()), gap, len(both))


def iou_between(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The IoU of two masks of one kind; 1 when both are empty."""
    return float(iou_of(pixel_counts(*mask_pair(first, second))))


class MaskStabilityGap(WeightedMetric):
    """The mean over frame steps of the gap between predicted and reference self-overlap; units are videos."""

    takes = ("mask videos",)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and what is compared."""
        conventions = {"compared with": "the reference's own change", "both masks empty": "self-overlap 1"}
        return self.declared("mask_stability_gap", 0.0, 1.0, "smaller", "mean over steps between frames", conventions)

    def prepare(self, cases: Sequence[MaskVideo]) -> UnitStatistics:
        """Sum of gaps and number of steps of every video."""
        stabilities = [mask_stability(video) for video in cases]
        rows = [(item.gap * item.steps if item.steps else 0.0, item.steps) for item in stabilities]
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The gap under each weighting."""
        totals = weights @ statistics
        return ratio(totals[:, 0], totals[:, 1])
