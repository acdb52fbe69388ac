"""Identity F1: how far one predicted identity stands for one reference identity over a whole sequence.

Definition (Ristani et al., ECCV Workshops 2016): reference and predicted identities are matched one to one so that
the number IDTP of frames in which matched identities overlap with an IoU of at least 0.5 is largest, and
    IDF1 = 2 IDTP / (reference boxes + predicted boxes)

The one decision: without a box on either side there is no value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from surgeval.errors import Misuse
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgeval.metrics.tracking.sequences import Overlaps, TrackSequence, overlaps
from surgeval.schema.metric_facts import MetricFacts


def identity_matches(overlap: Overlaps, *, threshold: float = 0.5) -> int:
    """IDTP: the most frames that one-to-one matched identities can share."""
    shape = overlap.reference.identities, overlap.prediction.identities
    near = overlap.similarity >= threshold
    together = np.bincount(overlap.identity_pairs()[near], minlength=shape[0] * shape[1]).reshape(shape)
    return int(together[linear_sum_assignment(together, maximize=True)].sum())


class IdentityF1(WeightedMetric):
    """IDF1 over all sequences; units are sequences."""

    takes = ("tracks",)

    def __init__(self, *, threshold: float = 0.5) -> None:
        if not 0 < threshold <= 1:
            raise Misuse(f"threshold must be an IoU above 0 and at most 1, got {threshold!r}")
        self.threshold = threshold

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, threshold and matching."""
        conventions = {
            "threshold": f"IoU at least {self.threshold:g}",
            "matching": "identities one to one over the sequence, most shared frames",
            "sequences": "counts add up",
            "neither reference nor prediction": "no value",
        }
        return self.declared("idf1", estimand="boxes of all sequences", conventions=conventions)

    def prepare(self, cases: Sequence[TrackSequence | Overlaps]) -> UnitStatistics:
        """Twice the shared frames, and the boxes of both sides, of every sequence."""
        rows = []
        for case in cases:
            overlap = overlaps(case)
            boxes = overlap.reference.identity.size + overlap.prediction.identity.size
            rows.append((2 * identity_matches(overlap, threshold=self.threshold), boxes))
        return np.array(rows, dtype=np.float64).reshape(-1, 2)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """IDF1 under each weighting."""
        shared, boxes = weighted_sums(statistics, weights).T
        return ratio(shared, boxes)
