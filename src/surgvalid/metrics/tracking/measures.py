"""Tracking metrics: CLEAR MOT, identity F1, and HOTA with its two halves.

CLEAR MOT: MOTA and identity switches.

Definitions (Bernardin and Stiefelhagen, EURASIP JIVP 2008), for pairs of IoU at least 0.5:
    MOTA = 1 - (FN + FP + IDSW) / number of reference boxes
    IDSW = how often a reference identity is matched to another predicted identity than when it was last matched
In each frame, pairs that continue the match of the frame before come first, then the sum of IoU is made largest.

The one decision: "the frame before" is the last frame with boxes on both sides (as in TrackEval). MOTA has no lower
end: with more false boxes than reference boxes it is negative. Without a reference box there is no MOTA.

Identity F1: how far one predicted identity stands for one reference identity over a whole sequence.

Definition (Ristani et al., ECCV Workshops 2016): reference and predicted identities are matched one to one so that
the number IDTP of frames in which matched identities overlap with an IoU of at least 0.5 is largest, and
    IDF1 = 2 IDTP / (reference boxes + predicted boxes)

The one decision: without a box on either side there is no value.

Higher order tracking accuracy: HOTA, and the detection and association accuracy it is made of.

Definitions (Luiten et al., IJCV 129, 2021), for localisation thresholds alpha = 0.05, 0.10, ..., 0.95:
    DetA = TP / (TP + FN + FP)
    AssA = 1/TP * sum over TP c of TPA(c) / (TPA(c) + FNA(c) + FPA(c))
    HOTA = sqrt(DetA * AssA), each then averaged over alpha
Boxes of a frame are matched so that the sum of (global alignment of the identities) * (IoU) is largest, where the
global alignment is the soft Jaccard index of the two tracks. Over sequences, TP, FN, FP and the sums behind AssA add
up, so a bootstrap over videos is a weighted sum.

The one decision: where nothing is found at an alpha, AssA is 0 there (as in TrackEval); where there is neither a
reference nor a prediction there is no value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import Floats, RatioOfSums, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgvalid.metrics.tracking.sequences import (
    Overlaps,
    TrackSequence,
    best_in_frame,
    best_pairs,
    contested_frames,
    overlaps,
)
from surgvalid.schema.metric_facts import MetricFacts

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


class _AtThreshold(WeightedMetric):
    """Boxes match from an overlap on."""

    takes = ("tracks",)

    def __init__(self, *, threshold: float = 0.5) -> None:
        if not 0 < threshold <= 1:
            raise Misuse(f"threshold must be an IoU above 0 and at most 1, got {threshold!r}")
        self.threshold = threshold


class _Clear(_AtThreshold):
    """Options and counts shared by MOTA and identity switches; units are sequences."""

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


def identity_matches(overlap: Overlaps, *, threshold: float = 0.5) -> int:
    """IDTP: the most frames that one-to-one matched identities can share."""
    shape = overlap.reference.identities, overlap.prediction.identities
    near = overlap.similarity >= threshold
    together = np.bincount(overlap.identity_pairs()[near], minlength=shape[0] * shape[1]).reshape(shape)
    return int(together[linear_sum_assignment(together, maximize=True)].sum())


class IdentityF1(_AtThreshold, RatioOfSums):
    """IDF1 over all sequences; units are sequences."""

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


ALPHAS = np.arange(0.05, 0.99, 0.05)
"""Localisation thresholds."""

_COMPONENTS = ("hota", "deta", "assa")


def hota_sums(overlap: Overlaps) -> Floats:
    """TP, FN, FP and the sum of association scores of one sequence at every alpha, `[alpha, 4]`."""
    ours, theirs = overlap.reference, overlap.prediction
    sums = np.zeros((ALPHAS.size, 4))
    sums[:, 1], sums[:, 2] = ours.identity.size, theirs.identity.size
    if not overlap.similarity.size:
        return sums
    pairs, place = np.unique(overlap.identity_pairs(), return_inverse=True)
    lengths = (
        np.bincount(ours.identity)[pairs // theirs.identities] + np.bincount(theirs.identity)[pairs % theirs.identities]
    )
    shared = np.bincount(place, _soft_matches(overlap))
    matched = best_pairs(overlap, (shared / (lengths - shared))[place] * overlap.similarity)
    reached = np.searchsorted(ALPHAS - _EPSILON, overlap.similarity[matched], side="right")
    together = _at_least(place[matched], reached, pairs.size)
    sums[:, 0] = together.sum(axis=0)
    sums[:, 1:3] -= sums[:, :1]
    sums[:, 3] = (together**2 / np.maximum(1.0, lengths[:, None] - together)).sum(axis=0)
    return sums


def _soft_matches(overlap: Overlaps) -> Floats:
    """The share of each pair in all the overlap that its two boxes have."""
    similarity = overlap.similarity
    of_reference = np.bincount(overlap.pair_reference, similarity)[overlap.pair_reference]
    of_prediction = np.bincount(overlap.pair_prediction, similarity)[overlap.pair_prediction]
    whole = of_prediction + of_reference - similarity
    return np.divide(similarity, whole, out=np.zeros_like(similarity), where=whole > _EPSILON)


def _at_least(pair: np.ndarray, reached: np.ndarray, pairs: int) -> Floats:
    """Matches of each pair of identities that pass each alpha, `[pair, alpha]`."""
    levels = ALPHAS.size + 1
    exactly = np.bincount(pair * levels + reached, minlength=pairs * levels).reshape(pairs, levels)
    return np.cumsum(exactly[:, ::-1], axis=1)[:, ::-1][:, 1:].astype(np.float64)


class Hota(WeightedMetric):
    """HOTA, DetA or AssA over all sequences; units are sequences."""

    takes = ("tracks",)

    def __init__(self, *, component: Literal["hota", "deta", "assa"] = "hota") -> None:
        if component not in _COMPONENTS:
            raise UnknownName("component of HOTA", component, _COMPONENTS)
        self.component = component

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, thresholds and matching."""
        conventions = {
            "alpha": "0.05 to 0.95 in steps of 0.05, plain mean",
            "matching": "largest sum of global alignment * IoU per frame",
            "sequences": "counts and association sums add up",
            "nothing found at an alpha": "0",
            "neither reference nor prediction": "no value",
        }
        return self.declared(self.component, estimand="boxes of all sequences", conventions=conventions)

    def prepare(self, cases: Sequence[TrackSequence | Overlaps]) -> UnitStatistics:
        """The sums of every sequence."""
        return np.array([hota_sums(overlaps(case)) for case in cases]).reshape(-1, ALPHAS.size, 4)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean over alpha under each weighting."""
        hits, missed, invented, association = np.moveaxis(weighted_sums(statistics, weights), -1, 0)
        detection = ratio(hits, hits + missed + invented)
        within = np.where(np.isnan(detection), np.nan, ratio(association, hits, empty=0.0))
        chosen = {"hota": np.sqrt(detection * within), "deta": detection, "assa": within}[self.component]
        return np.asarray(chosen.mean(axis=1))
