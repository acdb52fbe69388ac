"""Metrics of the whole confusion matrix: MCC, Cohen's kappa, Expected Cost; for one label per case.

Definitions, with n[i, j] the weight of cases of class i predicted as j, N their sum, r and p the sums over
rows and columns:
    MCC (Gorodkin 2004)        (N trace - r.p) / sqrt((N^2 - p.p) (N^2 - r.r))
    kappa (Cohen 1960, 1968)   1 - N sum(cost n) / sum(cost r p')       cost |i - j|^power, or 0/1 for nominal
    EC (Ferrer 2022)           sum over i of prior(i) sum over j of rate(j given i) cost(i, j)
    normalised EC              EC / the least EC of a constant prediction
The decision: a case without an answer is a prediction of its own kind, never right, and costs as much as the
worst class would. Classes without reference have no rate and are left out of EC; priors are taken over the rest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.classification.cases import LabelCases
from surgvalid.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgvalid.schema.metric_facts import MetricFacts

CostName = Literal["nominal", "absolute", "squared"]
Prior = Literal["reference", "equal"]
_POOLED = "pooled over the cases of all units"
_POWERS = {"nominal": 0, "absolute": 1, "squared": 2}


def confusion(cases: LabelCases) -> UnitStatistics:
    """Cases per unit, reference class and prediction; the last prediction is "no answer"."""
    units, classes = len(cases.units.names), cases.classes
    predicted = np.where(cases.prediction < 0, classes, cases.prediction)
    cells = (cases.units.codes * classes + cases.reference) * (classes + 1) + predicted
    counts = np.bincount(cells, minlength=units * classes * (classes + 1)).astype(np.int32)
    return counts.reshape(units, classes, classes + 1)


def costs_of(kind: CostName | Sequence[Sequence[float]] | Floats, classes: int) -> Floats:
    """Costs `[reference class, prediction]`, with the worst of each row for "no answer" at the end.

    Raises:
        UnknownName: No such kind of cost.
        Misuse: A table of the wrong shape, with negative costs or a cost for being right.

    Example:
        >>> costs_of("absolute", 3).tolist()
        [[0.0, 1.0, 2.0, 2.0], [1.0, 0.0, 1.0, 1.0], [2.0, 1.0, 0.0, 2.0]]
    """
    if isinstance(kind, str):
        if kind not in _POWERS:
            raise UnknownName("cost", kind, _POWERS)
        place = np.arange(classes)
        distance = np.abs(place[:, None] - place).astype(np.float64)
        table = np.where(distance > 0, distance ** _POWERS[kind], 0.0)
    else:
        table = np.asarray(kind, dtype=np.float64)
        if table.shape != (classes, classes) or not (table >= 0).all() or np.diag(table).any():
            raise Misuse(f"costs must be {classes} by {classes}, none negative, and 0 on the diagonal")
    worst = table.max(axis=1, keepdims=True) if classes > 1 else np.ones((1, 1))
    return np.concatenate([table, worst], axis=1)


class _OfConfusion(WeightedMetric):
    """A metric of the whole confusion matrix."""

    takes = ("labels",)

    def prepare(self, cases: LabelCases) -> UnitStatistics:
        """Confusion matrices per unit."""
        return confusion(cases)


@dataclass(frozen=True)
class MatthewsCorrelation(_OfConfusion):
    """Matthews' correlation for any number of classes."""

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {
            "constant prediction": "0",
            "constant reference": "undefined",
            "no answer": "a prediction of its own, never right",
        }
        return self.declared("mcc", low=-1.0, estimand=_POOLED, conventions=conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The correlation."""
        table = weighted_sums(statistics, weights)
        total, rows, columns = table.sum(axis=(1, 2)), table.sum(axis=2), table.sum(axis=1)
        right = np.trace(table, axis1=1, axis2=2)
        covariance = right * total - (rows * columns[:, :-1]).sum(axis=1)
        spreads = [np.maximum(total**2 - (side**2).sum(axis=1), 0.0) for side in (rows, columns)]
        varied, varying = ((side > 0).sum(axis=1) > 1 for side in (rows, columns))
        value = ratio(covariance, np.sqrt(spreads[0] * spreads[1]), empty=0.0)
        return np.where(varied, np.where(varying, value, 0.0), np.nan)


@dataclass(frozen=True)
class Kappa(_OfConfusion):
    """Cohen's kappa of prediction and reference, nominal or for ordered classes.

    Args:
        cost: `nominal`, `absolute` (linear kappa) or `squared` (quadratic kappa).
    """

    cost: CostName = "squared"

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        name = {"nominal": "kappa", "absolute": "linear_kappa", "squared": "quadratic_kappa"}[self.cost]
        conventions = {
            "disagreement": f"{self.cost} distance of class indices",
            "constant and equal": "undefined",
            "no answer": "a rating of its own, as far away as the farthest class",
        }
        return self.declared(name, low=-math.inf, estimand=_POOLED, conventions=conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The kappa."""
        table = weighted_sums(statistics, weights)
        cost = costs_of(self.cost, table.shape[1])
        observed = (cost * table).sum(axis=(1, 2)) * table.sum(axis=(1, 2))
        expected = np.einsum("ij,wi,wj->w", cost, table.sum(axis=2), table.sum(axis=1))
        return np.asarray(1.0 - ratio(observed, expected))


@dataclass(frozen=True)
class ExpectedCost(_OfConfusion):
    """The mean cost of the predictions, plain or over that of the best constant prediction.

    Args:
        cost: `nominal`, `absolute`, `squared`, or a table `[reference, prediction]`.
        prior: `reference` (as often as in the data), `equal`, or one number per class.
        normalised: Whether to divide by the cost of the best constant.
    """

    cost: CostName | Sequence[Sequence[float]] = "absolute"
    prior: Prior | Sequence[float] = "reference"
    normalised: bool = False

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {
            "cost": self.cost if isinstance(self.cost, str) else "given table",
            "prior": self.prior if isinstance(self.prior, str) else "given",
            "absent class": "left out, prior taken over the others",
            "no answer": "costs the worst of its row",
            "constant answers all": "normalised value undefined" if self.normalised else "no matter",
        }
        name = "normalised_expected_cost" if self.normalised else "expected_cost"
        return self.declared(name, 0.0, math.inf, "smaller", estimand=_POOLED, conventions=conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The cost."""
        table = weighted_sums(statistics, weights)
        cost = costs_of(self.cost, table.shape[1])
        support = table.sum(axis=2)
        prior = self._priors(support)
        per_class = ratio((table * cost).sum(axis=2), support, empty=0.0)
        value = np.where(support.any(axis=1), (prior * per_class).sum(axis=1), np.nan)
        return ratio(value, (prior @ cost[:, :-1]).min(axis=1)) if self.normalised else value

    def _priors(self, support: Floats) -> Floats:
        if isinstance(self.prior, str):
            if self.prior not in ("reference", "equal"):
                raise UnknownName("prior", self.prior, ("reference", "equal"))
            share = support if self.prior == "reference" else (support > 0).astype(np.float64)
        else:
            given = np.asarray(self.prior, dtype=np.float64)
            if given.shape != support.shape[1:] or not (given >= 0).all():
                raise Misuse(f"prior must be {support.shape[1]} numbers, none negative")
            share = np.where(support > 0, given, 0.0)
        return ratio(share, share.sum(axis=1, keepdims=True), empty=0.0)
