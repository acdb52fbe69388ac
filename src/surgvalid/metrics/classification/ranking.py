"""Metrics of the order of scores: average precision, area under the ROC curve, top-k accuracy.

Metrics of the order of scores: average precision and area under the ROC curve.

Definitions. With the cases of one class in order of falling score and equal scores taken as one step g,
    AP    = sum over steps of (recall(g) - recall(g-1)) * precision(g)      the step sum, no interpolation
    AUROC = P(score of a positive > score of a negative) + P(equal) / 2
(AP as in scikit-learn; AUROC as the Mann-Whitney statistic). Interpolated APs (11 or 101 points) are other
numbers and live with detection. mAP is the mean over classes: `macro` over those with a positive case,
`weighted` by the positives, `micro` by ranking all (case, class) cells together.

The decision: a class without positives has no AP and is left out (`absent="skip"`); `absent="zero"` counts it
as 0, which is what averaging scikit-learn's values does. Left out or not is decided inside every weighting.

The order is found once. Between two steps that hold a positive, only the weight of the negatives matters, so a
weighting costs one sparse product with as many rows as there are such steps.

Top-k accuracy in its three flavours, which share a name elsewhere and are three different numbers.

Definitions, with the k classes of largest score of a case:
    single   share of cases whose one reference class is among them
    any hit  share of cases of which at least one reference class is among them ("overlap")
    recall   share of reference classes, all cases pooled, that are among them
The decision is the tie rule. `against` breaks ties in disfavour of the reference, so a model that gives all
classes the same score gains nothing; `last` takes the class with the larger index first, as scikit-learn does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.classification.cases import ScoreCases
from surgvalid.metrics.metric import (
    Floats,
    Indices,
    RatioOfSums,
    UnitStatistics,
    WeightedMetric,
    blocks,
    incidence,
    ratio,
    redeem,
    tickets,
    weight_rows,
)
from surgvalid.schema.metric_facts import MetricFacts

Average = Literal["macro", "weighted", "micro"]
Absent = Literal["skip", "zero"]
_AVERAGES = {
    "macro": "plain mean over classes",
    "weighted": "mean over classes, weighted by their positive cases",
    "micro": "all (case, class) cells in one ranking",
}


class ScoreRanking(NamedTuple):
    """One ranking, reduced to the steps (distinct scores) that hold a positive."""

    sums: sparse.csr_array
    """`[3 * steps, unit]`: positives of each step, then its negatives, then negatives between it and the last."""
    positives: Floats
    """Per unit."""
    negatives: Floats


class RankingSteps(NamedTuple):
    """Weights at the steps of a ranking, `[step, weighting]`."""

    hits: Floats
    tied: Floats
    between: Floats


def ranking_of(scores: Floats, positive: np.ndarray, codes: Indices, units: int) -> ScoreRanking:
    """The ranking of some cases by falling score."""
    order = np.argsort(-scores, kind="stable")
    ranked, hit, unit = scores[order], positive[order], codes[order]
    group = np.concatenate(([0], np.cumsum(ranked[1:] != ranked[:-1]))) if len(ranked) else np.zeros(0, np.intp)
    steps = np.unique(group[hit])
    step = np.searchsorted(steps, group)
    kept = step < len(steps)
    step, hit_kept, unit_kept = step[kept], hit[kept], unit[kept]
    tied = group[kept] == steps[step]
    line = step + len(steps) * np.where(hit_kept, 0, np.where(tied, 1, 2))
    sums = incidence(line, unit_kept, (3 * len(steps), units))
    counts = [np.bincount(unit[chosen], minlength=units).astype(np.float64) for chosen in (hit, ~hit)]
    return ScoreRanking(sums, *counts)


def steps_of(ranking: ScoreRanking, weights: Floats) -> RankingSteps:
    """The weights of positives and negatives at each step."""
    sums = np.asarray(ranking.sums @ weights.T)
    return RankingSteps(*sums.reshape(3, len(sums) // 3, len(weights)))


def average_precisions(ranking: ScoreRanking, weights: Floats) -> Floats:
    """The AP of one ranking under each weighting; NaN without positives."""
    hits, tied, between = steps_of(ranking, weights)
    hits_so_far = np.cumsum(hits, axis=0)
    precision = ratio(hits_so_far, np.cumsum(hits + tied + between, axis=0), empty=0.0)
    return ratio((hits * precision).sum(axis=0), weights @ ranking.positives)


def areas_under_roc(ranking: ScoreRanking, weights: Floats) -> Floats:
    """The AUROC of one ranking under each weighting; NaN without positives or without negatives."""
    hits, tied, between = steps_of(ranking, weights)
    negatives = weights @ ranking.negatives
    above = np.cumsum(tied + between, axis=0) - tied
    beaten = (hits * (negatives - above - tied / 2)).sum(axis=0)
    return ratio(beaten, (weights @ ranking.positives) * negatives)


@dataclass(frozen=True)
class RankingStore:
    """The rankings of all classes, or the one of all cells."""

    rankings: tuple[ScoreRanking, ...]
    units: int


@dataclass(frozen=True)
class _OverClasses(WeightedMetric):
    """A metric of a ranking, averaged over classes.

    Args:
        average: How classes become one number.
        absent: Whether a class without a value is left out or counts 0.
    """

    takes = ("scores",)
    store = RankingStore

    average: Average = "macro"
    absent: Absent = "skip"

    def __post_init__(self) -> None:
        if self.average not in _AVERAGES:
            raise UnknownName("average", self.average, _AVERAGES)
        if self.absent not in ("skip", "zero"):
            raise UnknownName("rule for absent classes", self.absent, ("skip", "zero"))

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """The order of the scores of every class, found once."""
        codes, units = cases.units.codes, len(cases.units.names)
        if self.average == "micro":
            cells = np.repeat(codes, cases.classes)
            pooled = ranking_of(cases.scores.ravel(), cases.reference.ravel(), cells, units)
            return tickets(RankingStore((pooled,), units), units)
        columns = zip(cases.scores.T, cases.reference.T, strict=True)
        rankings = tuple(ranking_of(scores, member, codes, units) for scores, member in columns)
        return tickets(RankingStore(rankings, units), units)

    def _one(self, ranking: ScoreRanking, weights: Floats) -> Floats:
        raise NotImplementedError

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The value of every class, `[weighting, class]`; NaN where undefined. One column if micro."""
        store, by_unit = redeem(statistics, weight_rows(weights, len(statistics)))
        columns = [self._in_blocks(ranking, by_unit) for ranking in store.rankings]
        return np.stack(columns, axis=1)

    def class_terms(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """What each class adds to a plain mean, `[weighting, class]`; NaN for one that is left out."""
        values = self.class_values(statistics, weights)
        if self.average != "macro":
            return np.full(values.shape, np.nan)
        return np.nan_to_num(values) if self.absent == "zero" else values

    def class_support(self, statistics: UnitStatistics) -> Floats:
        """`[unit, class]`: positive cases."""
        store, by_unit = redeem(statistics, np.eye(len(statistics)))
        return np.stack([by_unit @ ranking.positives for ranking in store.rankings], axis=1)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The average."""
        values = self.class_values(statistics, weights)
        if self.average == "micro":
            return values[:, 0]
        store, by_unit = redeem(statistics, weights)
        known = ~np.isnan(values)
        share = known.astype(np.float64)
        if self.average == "weighted":
            share = known * np.stack([by_unit @ ranking.positives for ranking in store.rankings], axis=1)
        elif self.absent == "zero":
            share = np.broadcast_to(by_unit.any(axis=1, keepdims=True), values.shape).astype(np.float64)
        return ratio((np.where(known, values, 0.0) * share).sum(axis=1), share.sum(axis=1))

    def _in_blocks(self, ranking: ScoreRanking, weights: Floats) -> Floats:
        values = np.empty(len(weights))
        for block in blocks(weights, ranking.sums.shape[0]):
            values[block] = self._one(ranking, weights[block])
        return values

    def _conventions(self) -> dict[str, str]:
        absent = "left out" if self.absent == "skip" else "counts 0"
        return {"average": _AVERAGES[self.average], "absent class": absent, "equal scores": "one step"}


@dataclass(frozen=True)
class MeanAveragePrecision(_OverClasses):
    """Average precision as a step sum, averaged over classes."""

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        name = "mean_ap" if self.average == "macro" else f"{self.average}_ap"
        conventions = {**self._conventions(), "interpolation": "none (step sum)"}
        return self.declared(name, estimand="cases of all units in one ranking per class", conventions=conventions)

    def _one(self, ranking: ScoreRanking, weights: Floats) -> Floats:
        return average_precisions(ranking, weights)


@dataclass(frozen=True)
class AreaUnderROC(_OverClasses):
    """Area under the ROC curve, averaged over classes."""

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {**self._conventions(), "equal scores": "half a win"}
        return self.declared(
            f"{self.average}_auroc", estimand="cases of all units in one ranking per class", conventions=conventions
        )

    def _one(self, ranking: ScoreRanking, weights: Floats) -> Floats:
        return areas_under_roc(ranking, weights)


Flavour = Literal["single", "any hit", "recall"]
Ties = Literal["against", "last"]
_NAMES = {"single": "top_k_accuracy", "any hit": "top_k_any_hit", "recall": "top_k_recall"}
_TIES = {"against": "classes that are not in the reference first", "last": "the larger class index first"}


@dataclass(frozen=True)
class TopK(RatioOfSums):
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

    def _hits(self, cases: ScoreCases) -> np.ndarray:
        member = cases.reference
        if self.ties == "against":
            first = np.argsort(member, axis=1, kind="stable")
        else:
            first = np.broadcast_to(np.arange(cases.classes)[::-1], member.shape)
        scores = np.take_along_axis(cases.scores, first, axis=1)
        order = np.take_along_axis(first, np.argsort(-scores, axis=1, kind="stable"), axis=1)
        return np.asarray(np.take_along_axis(member, order[:, : self.k], axis=1).sum(axis=1))
