"""Accuracy in the worst unit: how bad the worst video is, which a mean over videos hides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surgvalid.metrics.classification.cases import LabelCases
from surgvalid.metrics.metric import Floats, UnitStatistics, WeightedMetric
from surgvalid.schema.metric_facts import MetricFacts


@dataclass(frozen=True)
class WorstUnitAccuracy(WeightedMetric):
    """The lowest accuracy of any unit that counts."""

    takes = ("labels",)
    smooth = False  # the lowest value jumps with the units: intervals resample them

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"no answer": "wrong", "units": "of whatever size; a small one is easily the worst"}
        return self.declared("worst_unit_accuracy", estimand="lowest accuracy of a unit", conventions=conventions)

    def prepare(self, cases: LabelCases) -> UnitStatistics:
        """Of every unit its accuracy."""
        units = cases.units
        right = np.bincount(units.codes, weights=cases.reference == cases.prediction, minlength=len(units.names))
        return np.asarray(right / np.bincount(units.codes, minlength=len(units.names)))

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The lowest accuracy among units of positive weight."""
        lowest = np.where(weights > 0, statistics, np.inf).min(axis=1)
        return np.asarray(np.where(np.isfinite(lowest), lowest, np.nan))
