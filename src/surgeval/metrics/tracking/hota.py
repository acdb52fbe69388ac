"""Higher order tracking accuracy: HOTA, and the detection and association accuracy it is made of.

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

from collections.abc import Sequence
from typing import Literal

import numpy as np

from surgeval.errors import UnknownName
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgeval.metrics.tracking.matching import best_pairs
from surgeval.metrics.tracking.sequences import Overlaps, TrackSequence, overlaps
from surgeval.schema.metric_facts import MetricFacts

ALPHAS = np.arange(0.05, 0.99, 0.05)
"""Localisation thresholds."""

_EPSILON = np.finfo(np.float64).eps
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
