"""Top-k accuracy in its three flavours, which share a name elsewhere and are three different numbers.

Definitions, with the k classes of largest score of a case:
    single   share of cases whose one reference class is among them
    any hit  share of cases of which at least one reference class is among them ("overlap")
    recall   share of reference classes, all cases pooled, that are among them
The decision is the tie rule. `against` breaks ties in disfavour of the reference, so a model that gives all
classes the same score gains nothing; `last` takes the class with the larger index first, as scikit-learn does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from surgeval.errors import Misuse, UnknownName
from surgeval.metrics.classification.cases import ScoreCases
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgeval.schema.metric_facts import MetricFacts

Flavour = Literal["single", "any hit", "recall"]
Ties = Literal["against", "last"]
_NAMES = {"single": "top_k_accuracy", "any hit": "top_k_any_hit", "recall": "top_k_recall"}
_TIES = {"against": "classes that are not in the reference first", "last": "the larger class index first"}


@dataclass(frozen=True)
class TopK(WeightedMetric):
    """Whether reference classes are among the k best scored.

    Args:
        k: How many classes count as named.
        flavour: `single`, `any hit` or `recall`.
        ties: How equal scores are ordered.
        unlabelled: For `any hit`, whether a case without a reference class is left out or counts as wrong.
    """

    takes = ("scores",)

    k: int = 5
    flavour: Flavour = "single"
    ties: Ties = "against"
    unlabelled: Literal["skip", "wrong"] = "skip"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise Misuse(f"k must be at least 1, got {self.k}")
        if self.flavour not in _NAMES:
            raise UnknownName("flavour of top-k", self.flavour, _NAMES)
        if self.ties not in _TIES:
            raise UnknownName("tie rule", self.ties, _TIES)

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"k": str(self.k), "flavour": self.flavour, "ties": _TIES[self.ties]}
        if self.flavour == "any hit":
            conventions["case without reference class"] = "left out" if self.unlabelled == "skip" else "wrong"
        estimand = "share of reference labels" if self.flavour == "recall" else "share of cases"
        return self.declared(_NAMES[self.flavour], estimand=f"{estimand}, all units pooled", conventions=conventions)

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """Hits and what could have been hit, per unit.

        Raises:
            Misuse: The flavour `single` on cases with several labels.
        """
        if self.flavour == "single" and not cases.single_label:
            raise Misuse("top-k of flavour 'single' needs one reference class per case; use 'any hit' or 'recall'")
        hits, possible = self._hits(cases), cases.reference.sum(axis=1)
        if self.flavour != "recall":
            hits, labelled = hits > 0, possible > 0
            possible = np.ones(len(possible)) if self.unlabelled == "wrong" else labelled
        units = len(cases.units.names)
        sums = [np.bincount(cases.units.codes, weights=count, minlength=units) for count in (hits, possible)]
        return np.stack(sums, axis=1)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The share."""
        hits, possible = weighted_sums(statistics, weights).T
        return ratio(hits, possible)

    def _hits(self, cases: ScoreCases) -> np.ndarray:
        member = cases.reference
        if self.ties == "against":
            first = np.argsort(member, axis=1, kind="stable")
        else:
            first = np.broadcast_to(np.arange(cases.classes)[::-1], member.shape)
        scores = np.take_along_axis(cases.scores, first, axis=1)
        order = np.take_along_axis(first, np.argsort(-scores, axis=1, kind="stable"), axis=1)
        return np.asarray(np.take_along_axis(member, order[:, : self.k], axis=1).sum(axis=1))
