"""Metrics of true and false positives and negatives per class, and their averages over classes.

Definitions per class, from weighted counts:
    precision = TP/(TP+FP)    recall = TP/(TP+FN)    F1 = 2TP/(2TP+FP+FN)    Jaccard = TP/(TP+FP+FN)
    specificity = TN/(TN+FP)  NPV = TN/(TN+FN)
macro = plain mean over the included classes; weighted = mean weighted by reference support; micro = the
ratio of the sums. Balanced accuracy (Brodersen et al., ICPR 2010) = mean recall of the classes.

The decision a reader would question is which classes are included, so it is an argument and part of the
record: `declared` (all of them; one that never occurs counts as `undefined`), `supported` (those with a
reference case), `union` (those with a reference or a predicted case). Under `union` one stray prediction
of an absent class moves the macro mean. The policy is applied inside every weighting, since a resample
without a class is a data set without that class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from surgvalid.errors import UnknownName
from surgvalid.metrics.classification.cases import LabelCases, SetCases
from surgvalid.metrics.metric import (
    Floats,
    RatioOfSums,
    UnitStatistics,
    WeightedMetric,
    mean_known,
    ratio,
    weight_rows,
    weighted_sums,
)
from surgvalid.schema.metric_facts import MetricFacts

Measure = Literal["precision", "recall", "f1", "jaccard", "specificity", "npv"]
Average = Literal["macro", "weighted", "micro"]
LabelPolicy = Literal["declared", "supported", "union"]
Undefined = Literal["zero", "skip"]

TP, FP, FN, TN = range(4)
_RATIOS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    # measure: (counts summed above the line, counts summed below it)
    "precision": ((TP,), (TP, FP)),
    "recall": ((TP,), (TP, FN)),
    "f1": ((TP, TP), (TP, TP, FP, FN)),
    "jaccard": ((TP,), (TP, FP, FN)),
    "specificity": ((TN,), (TN, FP)),
    "npv": ((TN,), (TN, FN)),
}
_POLICIES = {
    "declared": "all declared classes",
    "supported": "classes with a reference case",
    "union": "classes with a reference or a predicted case",
}
_UNDEFINED = {"zero": "a class without denominator counts 0", "skip": "a class without denominator is left out"}


def class_counts(cases: LabelCases | SetCases) -> UnitStatistics:
    """TP, FP, FN and TN of every class in every unit: `counts[unit, class, kind]`.

    A case without an answer is a false negative of its class and a false positive of none.
    """
    units, classes = len(cases.units.names), cases.classes
    if isinstance(cases, LabelCases):
        support, predicted, hits = _label_sums(cases, units)
    else:
        member = (cases.reference, cases.prediction, cases.reference & cases.prediction)
        support, predicted, hits = (_unit_sums(array, cases.units.codes, units) for array in member)
    total = np.bincount(cases.units.codes, minlength=units)[:, None]
    counts = np.empty((units, classes, 4), dtype=np.int32)
    counts[..., TP], counts[..., FP], counts[..., FN] = hits, predicted - hits, support - hits
    counts[..., TN] = total - support - predicted + hits
    return counts


def _label_sums(cases: LabelCases, units: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reference cases, predicted cases and hits per unit and class."""
    codes, classes = cases.units.codes, cases.classes
    answered, hit = cases.prediction >= 0, cases.reference == cases.prediction

    def count(labels: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        cells = np.bincount(codes[chosen] * classes + labels[chosen], minlength=units * classes)
        return cells.reshape(units, classes)

    everything = np.ones(len(codes), dtype=bool)
    return count(cases.reference, everything), count(cases.prediction, answered), count(cases.reference, hit)


def _unit_sums(member: np.ndarray, codes: np.ndarray, units: int) -> np.ndarray:
    sums = np.zeros((units, member.shape[1]), dtype=np.int64)
    np.add.at(sums, codes, member)
    return sums


class _FromCounts(WeightedMetric):
    """A metric of the counts of every class."""

    def prepare(self, cases: LabelCases | SetCases) -> UnitStatistics:
        """Counts per unit and class."""
        return class_counts(cases)

    def class_support(self, statistics: UnitStatistics) -> Floats:
        """`[unit, class]`: reference cases."""
        return np.asarray(statistics[..., TP] + statistics[..., FN], dtype=np.float64)


@dataclass(frozen=True)
class ClassAverage(_FromCounts):
    """Precision, recall, F1, Jaccard, specificity or NPV, averaged over classes.

    Args:
        measure: What is computed per class.
        average: How classes become one number.
        labels: Which classes are included.
        undefined: What a class without denominator counts.
    """

    takes = ("labels", "sets")

    measure: Measure = "f1"
    average: Average = "macro"
    labels: LabelPolicy = "supported"
    undefined: Undefined = "zero"

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("measure", self.measure, _RATIOS),
            ("average", self.average, ("macro", "weighted", "micro")),
            ("label policy", self.labels, _POLICIES),
            ("rule for undefined classes", self.undefined, _UNDEFINED),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {
            "average": self.average,
            "labels": f"{self.labels}: {_POLICIES[self.labels]}",
            "undefined": _UNDEFINED[self.undefined],
            "no answer": "a false negative of its class",
        }
        name = f"{self.average}_{self.measure}"
        return self.declared(name, estimand="pooled over the cases of all units", conventions=conventions)

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The measure of every class under each weighting, `[weighting, class]`; NaN where undefined."""
        return self._class_values(weighted_sums(statistics, weight_rows(weights, len(statistics))), np.nan)

    def class_terms(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """What each class adds to a plain mean, `[weighting, class]`; NaN for one that is left out."""
        counts = weighted_sums(statistics, weight_rows(weights, len(statistics)))
        values = self._class_values(counts, 0.0 if self.undefined == "zero" else np.nan)
        return np.where(_included(counts, self.labels) & (self.average == "macro"), values, np.nan)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The average over the included classes."""
        counts = weighted_sums(statistics, weights)
        included = _included(counts, self.labels)
        if self.average == "micro":
            kept = np.where(included[..., None], counts, 0.0).sum(axis=1, keepdims=True)
            empty = 0.0 if self.undefined == "zero" else np.nan
            pooled = self._class_values(kept, empty)[:, 0]
            return np.where(included.any(axis=1), pooled, np.nan)
        values = self._class_values(counts, 0.0 if self.undefined == "zero" else np.nan)
        support = counts[..., TP] + counts[..., FN] if self.average == "weighted" else 1.0
        share = (included & ~np.isnan(values)) * support
        return ratio((np.nan_to_num(values) * share).sum(axis=1), share.sum(axis=1))

    def _class_values(self, counts: Floats, empty: float) -> Floats:
        above, below = _RATIOS[self.measure]
        return ratio(sum(counts[..., k] for k in above), sum(counts[..., k] for k in below), empty=empty)


def _included(counts: Floats, policy: LabelPolicy) -> np.ndarray:
    """Which classes enter under each weighting; none where nothing has weight."""
    if policy == "supported":
        return np.asarray(counts[..., TP] + counts[..., FN] > 0)
    if policy == "union":
        return np.asarray(counts[..., TP] + counts[..., FN] + counts[..., FP] > 0)
    return np.asarray(counts.sum(axis=2) > 0)


@dataclass(frozen=True)
class BalancedAccuracy(_FromCounts):
    """Mean recall over the classes that have a reference case; for one label per case."""

    takes = ("labels",)

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"labels": _POLICIES["supported"], "no answer": "wrong", "chance": "1 / included classes"}
        return self.declared(
            "balanced_accuracy", estimand="pooled over the cases of all units", conventions=conventions
        )

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The recall of every class under each weighting, `[weighting, class]`; NaN without a reference case."""
        return ClassAverage("recall", "macro").class_values(statistics, weights)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean recall."""
        return ClassAverage("recall", "macro").values(statistics, weights)


@dataclass(frozen=True)
class LabelBalancedAccuracy(_FromCounts):
    """Mean over labels of (sensitivity + specificity) / 2; for several labels per case, such as CVS criteria."""

    takes = ("sets",)

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {
            "average": "plain mean over labels",
            "one-sided label": "a label without positive or without negative references is left out",
        }
        return self.declared(
            "label_balanced_accuracy", estimand="pooled over the cases of all units", conventions=conventions
        )

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The balanced accuracy of every label, `[weighting, label]`; NaN where one-sided."""
        counts = weighted_sums(statistics, weight_rows(weights, len(statistics)))
        sensitivity = ratio(counts[..., TP], counts[..., TP] + counts[..., FN])
        specificity = ratio(counts[..., TN], counts[..., TN] + counts[..., FP])
        return np.asarray((sensitivity + specificity) / 2)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean over labels with both kinds of references."""
        return mean_known(self.class_values(statistics, weights))


@dataclass(frozen=True)
class Accuracy(RatioOfSums):
    """The share of cases that are entirely right: the label, or the whole set of labels."""

    takes = ("labels", "sets")

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"no answer": "wrong", "several labels": "right only if the whole set is"}
        return self.declared("accuracy", estimand="share of cases, all units pooled", conventions=conventions)

    def prepare(self, cases: LabelCases | SetCases) -> UnitStatistics:
        """Right cases and all cases per unit."""
        right = cases.reference == cases.prediction
        whole = right if right.ndim == 1 else right.all(axis=1)
        units = len(cases.units.names)
        sums = [np.bincount(cases.units.codes, weights=weight, minlength=units) for weight in (whole, None)]
        return np.stack(sums, axis=1).astype(np.int32)


@dataclass(frozen=True)
class LabelAccuracy(_FromCounts):
    """The share of (case, label) cells that are right; for several labels per case."""

    takes = ("labels", "sets")

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {
            "cells": "every case has one cell per declared label",
            "chance": "rare labels make this high for a model that predicts nothing",
        }
        return self.declared("label_accuracy", estimand="share of cells, all units pooled", conventions=conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The share."""
        counts = weighted_sums(statistics, weights).sum(axis=1)
        return ratio(counts[:, TP] + counts[:, TN], counts.sum(axis=1))
