"""CLEAR MOT: MOTA and identity switches.

Definitions (Bernardin and Stiefelhagen, EURASIP JIVP 2008), for pairs of IoU at least 0.5:
    MOTA = 1 - (FN + FP + IDSW) / number of reference boxes
    IDSW = how often a reference identity is matched to another predicted identity than when it was last matched
In each frame, pairs that continue the match of the frame before come first, then the sum of IoU is made largest.

The one decision: "the frame before" is the last frame with boxes on both sides (as in TrackEval). MOTA has no lower
end: with more false boxes than reference boxes it is negative. Without a reference box there is no MOTA.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surgeval.errors import Misuse
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgeval.metrics.tracking.matching import best_in_frame, contested_frames
from surgeval.metrics.tracking.sequences import Overlaps, TrackSequence, overlaps
from surgeval.schema.metric_facts import MetricFacts

_EPSILON = np.finfo(np.float64).eps
_CONTINUED = 1000.0
"""What continuing a match is worth beside an IoU of at most 1."""


class ClearCounts(NamedTuple):
    """Boxes and identity switches of one sequence."""

    true_positive: int
    false_negative: int
    false_positive: int
    switches: int


def clear_counts(overlap: Overlaps, *, threshold: float = 0.5) -> ClearCounts:
    """The CLEAR counts of one sequence."""
    partner = _partners(overlap, threshold)
    matched = np.flatnonzero(partner >= 0)
    hits = matched.size
    order = matched[np.argsort(overlap.reference.identity[matched], kind="stable")]
    same = overlap.reference.identity[order[1:]] == overlap.reference.identity[order[:-1]]
    switches = int((same & (partner[order[1:]] != partner[order[:-1]])).sum())
    ours, theirs = overlap.reference.identity.size, overlap.prediction.identity.size
    return ClearCounts(hits, ours - hits, theirs - hits, switches)


def _partners(overlap: Overlaps, threshold: float) -> np.ndarray:
    """The predicted identity matched to each reference row, -1 where there is none."""
    partner = np.full(overlap.reference.identity.size, -1, dtype=np.intp)
    candidate = overlap.similarity >= threshold - _EPSILON
    contested = contested_frames(overlap, candidate)
    free = candidate.copy()
    for frame in contested.tolist():
        free[overlap.starts[frame] : overlap.starts[frame + 1]] = False
    partner[overlap.pair_reference[free]] = overlap.prediction.identity[overlap.pair_prediction[free]]
    both = np.flatnonzero(np.diff(overlap.starts) > 0)
    for frame in contested.tolist():
        place = int(np.searchsorted(both, frame))
        before = int(both[place - 1]) if place else None
        chosen = _continued(overlap, candidate, partner, frame, before)
        partner[overlap.pair_reference[chosen]] = overlap.prediction.identity[overlap.pair_prediction[chosen]]
    return partner


def _continued(
    overlap: Overlaps, candidate: np.ndarray, partner: np.ndarray, frame: int, before: int | None
) -> np.ndarray:
    """The matched pairs of a contested frame, given the matches of the frame before."""
    pairs_here = slice(int(overlap.starts[frame]), int(overlap.starts[frame + 1]))
    last = np.full(overlap.reference.identities, -1, dtype=np.intp)
    if before is not None:
        rows = slice(int(overlap.reference.starts[before]), int(overlap.reference.starts[before + 1]))
        last[overlap.reference.identity[rows]] = partner[rows]
    identity = overlap.reference.identity[overlap.pair_reference[pairs_here]]
    again = last[identity] == overlap.prediction.identity[overlap.pair_prediction[pairs_here]]
    score = np.where(candidate[pairs_here], _CONTINUED * again + overlap.similarity[pairs_here], 0.0)
    chosen = best_in_frame(overlap, score, frame)
    return np.asarray(chosen[candidate[chosen]])


class _Clear(WeightedMetric):
    """Options and counts shared by MOTA and identity switches; units are sequences."""

    takes = ("tracks",)

    def __init__(self, *, threshold: float = 0.5) -> None:
        if not 0 < threshold <= 1:
            raise Misuse(f"threshold must be an IoU above 0 and at most 1, got {threshold!r}")
        self.threshold = threshold

    @property
    def conventions(self) -> dict[str, str]:
        """What the options say, in words."""
        matching = "continued matches first, then largest sum of IoU"
        return {"threshold": f"IoU at least {self.threshold:g}", "matching": matching, "sequences": "counts add up"}

    def prepare(self, cases: Sequence[TrackSequence | Overlaps]) -> UnitStatistics:
        """The counts of every sequence."""
        rows = [clear_counts(overlaps(case), threshold=self.threshold) for case in cases]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)


class Mota(_Clear):
    """MOTA over all sequences."""

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, threshold and matching."""
        conventions = self.conventions | {"no reference box": "no value"}
        return self.declared("mota", -math.inf, 1.0, "larger", "boxes of all sequences", conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """MOTA under each weighting."""
        hits, missed, invented, switches = weighted_sums(statistics, weights).T
        return ratio(hits - invented - switches, hits + missed)


class IdentitySwitches(_Clear):
    """The mean number of identity switches of a sequence."""

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, threshold and matching."""
        return self.declared(
            "id_switches", 0.0, math.inf, "smaller", "mean over sequences", self.conventions, pooled=False
        )

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """Identity switches per sequence under each weighting."""
        return ratio(weighted_sums(statistics, weights)[:, 3], weights.sum(axis=1))
