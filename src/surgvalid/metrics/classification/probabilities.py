"""Metrics of probabilities: proper scores, and whether probabilities mean what they say.

Proper scores of probabilities: Brier score and log score.

Definitions, for the probability p(c) of class c and y(c) = 1 for the reference class, else 0:
    Brier, one label per case    mean over cases of the sum over classes of (p - y)^2      from 0 to 2
    Brier, several labels        mean over (case, label) cells of (p - y)^2                from 0 to 1
    log score                    mean over cases of -ln p(reference class)
(Brier 1950; Good 1952.) The binary Brier score of one label is the second with one column, half of the first
with two. Probabilities below `least` count as `least` in the log score, since one certain error is infinite.

Whether probabilities mean what they say: expected calibration error and the reliability table.

Definition: confidences are sorted into bins; with w(b) the share of cases in bin b, c(b) their mean confidence
and o(b) the observed share of hits,
    ECE = sum over bins of w(b) |o(b) - c(b)|      (norm "l2": root of the weighted squares; "max": the largest)
(Naeini et al., AAAI 2015; classwise: Kull et al., NeurIPS 2019; equal mass: Nguyen and O'Connor, EMNLP 2015).
`top label` looks at the largest probability and whether that class is right; `classwise` at every class's
probability and takes the mean over classes.

Decisions. Equal width: bin k of B holds [k/B, (k+1)/B), the last one also 1. Equal mass: equal confidences stay
together and go where the middle of their weight lies, so repeating a case and giving it weight 2 is the same.
ECE depends on the bins and is biased upwards in small samples; it is never a proper score (see proper_scores).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.classification.cases import ScoreCases
from surgvalid.metrics.metric import (
    Floats,
    Indices,
    RatioOfSums,
    UnitStatistics,
    WeightedMetric,
    blocks,
    exact_weights,
    incidence,
    ratio,
    redeem,
    tickets,
    weight_rows,
)
from surgvalid.schema.metric_facts import MetricFacts

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


@dataclass(frozen=True)
class Brier(RatioOfSums):
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


@dataclass(frozen=True)
class LabelBrier(RatioOfSums):
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


@dataclass(frozen=True)
class LogScore(RatioOfSums):
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


Kind = Literal["top label", "classwise"]
Bins = Literal["equal width", "equal mass"]
Norm = Literal["l1", "l2", "max"]
_NORMS = {"l1": "weighted mean gap", "l2": "root of the weighted mean squared gap", "max": "largest gap"}
_CHOICES = {"kind": ("top label", "classwise"), "binning": ("equal width", "equal mass"), "norm": tuple(_NORMS)}


class Reliability(NamedTuple):
    """One line per bin of a reliability diagram, in order of confidence; empty bins are NaN."""

    weight: Floats
    confidence: Floats
    observed: Floats


class Confidences(NamedTuple):
    """Confidences of one task (top label, or one class), reduced to lines in order of confidence."""

    sums: sparse.csr_array
    """`[3 * lines, unit]`: cases, then their confidences added up, then hits."""
    lines: int


@dataclass(frozen=True)
class CalibrationStore:
    """The confidences of every task."""

    tasks: tuple[Confidences, ...]
    units: int


@dataclass(frozen=True)
class CalibrationError(WeightedMetric):
    """Expected calibration error.

    Args:
        kind: `top label` or `classwise`.
        binning: `equal width` or `equal mass`.
        bins: How many.
        norm: `l1` (ECE), `l2` (root mean square) or `max`.
    """

    takes = ("scores",)
    store = CalibrationStore

    kind: Kind = "top label"
    binning: Bins = "equal width"
    bins: int = 15
    norm: Norm = "l1"

    def __post_init__(self) -> None:
        for option, known in _CHOICES.items():
            if getattr(self, option) not in known:
                raise UnknownName(option, getattr(self, option), known)
        if self.bins < 1:
            raise Misuse(f"at least one bin is needed, got {self.bins}")
        object.__setattr__(self, "smooth", self.norm != "max")

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        conventions = {
            "confidence": self.kind,
            "bins": f"{self.bins}, {self.binning}",
            "norm": _NORMS[self.norm],
            "equal confidences": "in one bin",
        }
        return self.declared(
            self._name(), better="smaller", estimand="pooled over the cases of all units", conventions=conventions
        )

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """Cases, confidences and hits per unit, in bins or in order of confidence.

        Raises:
            InputInvalid: Scores that are no probabilities.
            Misuse: `top label` on cases with several labels.
        """
        check_probabilities(cases)
        codes, units = cases.units.codes, len(cases.units.names)
        columns = [self._top_label(cases)] if self.kind == "top label" else _columns(cases)
        tasks = tuple(self._confidences(given, hits, codes, units) for given, hits in columns)
        return tickets(CalibrationStore(tasks, units), units)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The error, mean over classes if classwise."""
        store, by_unit = redeem(statistics, exact_weights(weights).weights)
        errors = np.zeros(len(by_unit))
        for task in store.tasks:
            for block in blocks(by_unit, 3 * task.lines):
                errors[block] += self._error(self._binned(task, by_unit[block]))
        return errors / len(store.tasks)

    def reliability(self, statistics: UnitStatistics, weights: npt.ArrayLike, *, task: int = 0) -> Reliability:
        """The reliability table under one weighting; `task` is the class where classwise."""
        store, by_unit = redeem(statistics, weight_rows(weights, len(statistics))[:1])
        cases, confidence, hits = self._binned(store.tasks[task], by_unit)[:, 0]
        return Reliability(ratio(cases, cases.sum()), ratio(confidence, cases), ratio(hits, cases))

    def _error(self, binned: Floats) -> Floats:
        cases, confidence, hits = binned
        gap, share = np.abs(ratio(hits - confidence, cases, empty=0.0)), ratio(cases, cases.sum(axis=1, keepdims=True))
        if self.norm == "max":
            return np.where(cases.any(axis=1), gap.max(axis=1), np.nan)
        power = 1 if self.norm == "l1" else 2
        return np.asarray((share * gap**power).sum(axis=1) ** (1 / power))

    def _binned(self, task: Confidences, weights: Floats) -> Floats:
        """Cases, confidences and hits, `[3, weighting, bin]`."""
        sums = np.asarray(task.sums @ weights.T).reshape(3, task.lines, len(weights))
        if self.binning == "equal width":
            return sums.transpose(0, 2, 1)
        reached = np.cumsum(sums[0], axis=0)
        middle = ratio(self.bins * (reached - sums[0] / 2), reached[-1], empty=0.0)
        running = np.concatenate([np.zeros((3, 1, len(weights))), np.cumsum(sums, axis=1)], axis=1)
        edges = np.arange(1, self.bins + 1)
        ends = np.stack([np.searchsorted(column, edges, side="left") for column in middle.T])
        upto = np.take_along_axis(running, np.broadcast_to(ends.T, (3, *ends.T.shape)), axis=1)
        return np.diff(upto, axis=1, prepend=0.0).transpose(0, 2, 1)

    def _confidences(self, given: Floats, hits: np.ndarray, codes: Indices, units: int) -> Confidences:
        if self.binning == "equal width":
            line, lines = np.minimum((given * self.bins).astype(np.intp), self.bins - 1), self.bins
        else:
            distinct, line = np.unique(given, return_inverse=True)
            lines = max(len(distinct), 1)
        rows = np.concatenate([line, line + lines, line + 2 * lines])
        amounts = np.concatenate([np.ones(len(given)), given, hits.astype(np.float64)])
        return Confidences(incidence(rows, np.tile(codes, 3), (3 * lines, units), amounts), lines)

    def _top_label(self, cases: ScoreCases) -> tuple[Floats, np.ndarray]:
        if not cases.single_label:
            raise Misuse("calibration of the top label needs one reference class per case; use kind='classwise'")
        top = cases.scores.argmax(axis=1)
        place = np.arange(len(top))
        return cases.scores[place, top], cases.reference[place, top]

    def _name(self) -> str:
        stem = {"l1": "ece", "l2": "rms_calibration_error", "max": "max_calibration_error"}[self.norm]
        return ("classwise_" if self.kind == "classwise" else "") + stem + _SUFFIX[self.binning]


def _columns(cases: ScoreCases) -> list[tuple[Floats, np.ndarray]]:
    return list(zip(cases.scores.T, cases.reference.T, strict=True))


_SUFFIX = {"equal width": "", "equal mass": "_equal_mass"}
