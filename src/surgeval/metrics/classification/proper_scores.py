"""Proper scores of probabilities: Brier score and log score.

Definitions, for the probability p(c) of class c and y(c) = 1 for the reference class, else 0:
    Brier, one label per case    mean over cases of the sum over classes of (p - y)^2      from 0 to 2
    Brier, several labels        mean over (case, label) cells of (p - y)^2                from 0 to 1
    log score                    mean over cases of -ln p(reference class)
(Brier 1950; Good 1952.) The binary Brier score of one label is the second with one column, half of the first
with two. Probabilities below `least` count as `least` in the log score, since one certain error is infinite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surgeval.errors import InputInvalid, Misuse
from surgeval.metrics.classification.cases import ScoreCases
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgeval.schema.metric_facts import MetricFacts

SUM_TOLERANCE = 1e-4
"""How far the probabilities of one case may be from adding up to 1 (single precision rounds)."""


def check_probabilities(cases: ScoreCases) -> None:
    """Refuse scores that are no probabilities.

    Raises:
        InputInvalid: With every problem.
    """
    problems = []
    wrong = np.argwhere((cases.scores < 0) | (cases.scores > 1))
    if wrong.size:
        case, column = wrong[0]
        score = cases.scores[case, column]
        problems.append(f"{len(wrong)} probabilities outside [0, 1] (first: case {case}, class {column}, {score:g})")
    sums = cases.scores.sum(axis=1)
    if cases.single_label and (off := np.flatnonzero(np.abs(sums - 1) > SUM_TOLERANCE)).size:
        problems.append(
            f"{off.size} cases whose probabilities do not add up to 1 (first: case {off[0]}, {sums[off[0]]:g}); "
            "store more digits (half precision is too coarse) or divide each case by its sum"
        )
    if problems:
        raise InputInvalid("scores", problems)


def _mean_statistics(losses: Floats, cases: ScoreCases) -> UnitStatistics:
    """The sum of losses and the number of cases, per unit."""
    units = len(cases.units.names)
    sums = [np.bincount(cases.units.codes, weights=weight, minlength=units) for weight in (losses, None)]
    return np.stack(sums, axis=1)


def _means(statistics: UnitStatistics, weights: Floats) -> Floats:
    loss, count = weighted_sums(statistics, weights).T
    return ratio(loss, count)


@dataclass(frozen=True)
class Brier(WeightedMetric):
    """The Brier score of the classes of a case, summed over classes."""

    takes = ("scores",)

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"classes": "summed, so that the worst is 2"}
        return self.declared("brier", 0.0, 2.0, "smaller", "mean over cases, all units pooled", conventions)

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """Sums of losses per unit.

        Raises:
            Misuse: Cases with several labels.
            InputInvalid: Scores that are no probabilities.
        """
        if not cases.single_label:
            raise Misuse("the Brier score summed over classes needs one reference class per case; use 'label_brier'")
        check_probabilities(cases)
        return _mean_statistics(((cases.scores - cases.reference) ** 2).sum(axis=1), cases)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean loss."""
        return _means(statistics, weights)


@dataclass(frozen=True)
class LabelBrier(WeightedMetric):
    """The Brier score of (case, label) cells; the binary one where there is one label."""

    takes = ("scores",)

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"labels": "plain mean over the declared labels"}
        return self.declared("label_brier", 0.0, 1.0, "smaller", "mean over cells, all units pooled", conventions)

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """Sums of losses per unit.

        Raises:
            InputInvalid: Scores that are no probabilities.
        """
        check_probabilities(cases)
        return _mean_statistics(((cases.scores - cases.reference) ** 2).mean(axis=1), cases)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean loss."""
        return _means(statistics, weights)


@dataclass(frozen=True)
class LogScore(WeightedMetric):
    """The mean negative log of the probability given to the reference class.

    Args:
        least: The smallest probability that is believed.
    """

    takes = ("scores",)

    least: float = 1e-15

    def __post_init__(self) -> None:
        if not 0 < self.least < 1:
            raise Misuse(f"least must lie between 0 and 1, got {self.least}")

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {"logarithm": "natural", "smallest probability": f"{self.least:g}"}
        return self.declared("log_score", 0.0, math.inf, "smaller", "mean over cases, all units pooled", conventions)

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """Sums of losses per unit.

        Raises:
            Misuse: Cases with several labels.
            InputInvalid: Scores that are no probabilities.
        """
        if not cases.single_label:
            raise Misuse("the log score needs one reference class per case")
        check_probabilities(cases)
        given = np.maximum(cases.scores[cases.reference], self.least)
        return _mean_statistics(np.maximum(-np.log(given), 0.0), cases)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean loss."""
        return _means(statistics, weights)
