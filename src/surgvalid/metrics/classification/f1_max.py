"""F1-max: the best F1 that any threshold on the scores could have reached.

Definition (Rau et al., Systematic Evaluation of Large VLMs for Surgical AI, 2025): thresholds evenly spaced from
the smallest to the largest score, a case predicted positive when its score is at least the threshold, the
largest F1 over thresholds, the mean over classes. `per class` gives every class its own grid and its own
threshold; `global` takes one grid over all scores and one threshold for all classes.

The threshold is chosen on the very cases it is scored on, so this is an upper bound, and the lowest threshold
predicts everything positive: noise scores at least what `all_positive` gives, which is printed beside it. Give
`thresholds` (one per class, from validation data) for an honest number.

The decision: the grid spans the scores of the weighted cases, so a resample has the grid it would have as a
data set of its own. Weightings with the same extremes share the counting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.classification.cases import Bools, ScoreCases
from surgvalid.metrics.metric import (
    Floats,
    Indices,
    UnitStatistics,
    WeightedMetric,
    incidence,
    ratio,
    redeem,
    tickets,
    weight_rows,
)
from surgvalid.schema.metric_facts import MetricFacts

Scope = Literal["per class", "global"]


class Extremes(NamedTuple):
    """The smallest and largest score in each unit, `[unit, class]`."""

    low: Floats
    high: Floats


@dataclass(frozen=True)
class ScoreStore:
    """Scores, kept whole because the grid of thresholds depends on the weighting."""

    scores: Floats
    """`[case, class]`."""
    reference: Bools
    """`[case, class]`."""
    codes: Indices
    """The unit of each case."""
    extremes: Extremes
    positives: Floats
    """Per unit and class."""
    totals: Floats
    """Cases per unit."""
    units: int


@dataclass(frozen=True)
class F1Max(WeightedMetric):
    """The best F1 over thresholds, mean over classes with a positive case.

    Args:
        scope: `per class` or `global`.
        steps: How many thresholds.
        thresholds: Fixed thresholds, one per class; nothing is searched then.
    """

    takes = ("scores",)
    store = ScoreStore

    scope: Scope = "per class"
    steps: int = 200
    thresholds: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if self.scope not in ("per class", "global"):
            raise UnknownName("scope of F1-max", self.scope, ("per class", "global"))
        if self.steps < 2:
            raise Misuse(f"at least 2 thresholds are needed, got {self.steps}")

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        grid = f"{self.steps} thresholds evenly from the smallest to the largest score, {self.scope}"
        searched = "the best on the same cases: an upper bound, never below predicting everything positive"
        conventions = {
            "grid": grid if self.thresholds is None else "none",
            "threshold": searched if self.thresholds is None else "given, one per class",
            "predicted positive": "score at least the threshold",
            "absent class": "left out",
        }
        name = "f1_max" if self.scope == "per class" else "f1_max_global"
        return self.declared(name, estimand="pooled over the cases of all units", conventions=conventions)

    def prepare(self, cases: ScoreCases) -> UnitStatistics:
        """The scores, and the extremes of every unit."""
        units, shape = len(cases.units.names), (len(cases.units.names), cases.classes)
        low, high, positives = np.full(shape, np.inf), np.full(shape, -np.inf), np.zeros(shape)
        np.minimum.at(low, cases.units.codes, cases.scores)
        np.maximum.at(high, cases.units.codes, cases.scores)
        np.add.at(positives, cases.units.codes, cases.reference)
        if self.scope == "global":
            low[:], high[:] = low.min(axis=1, keepdims=True), high.max(axis=1, keepdims=True)
        totals = np.bincount(cases.units.codes, minlength=units).astype(np.float64)
        store = ScoreStore(
            cases.scores, cases.reference, cases.units.codes, Extremes(low, high), positives, totals, units
        )
        return tickets(store, units)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The best F1."""
        store, by_unit = redeem(statistics, weights)
        present = by_unit @ store.positives > 0
        curves = np.stack([self._curve(store, by_unit, column) for column in range(store.scores.shape[1])], axis=1)
        curves = np.where(present[..., None], curves, 0.0)
        if self.scope == "global":
            best = curves.sum(axis=1).max(axis=1)
        else:
            best = curves.max(axis=2).sum(axis=1)
        return ratio(best, present.sum(axis=1))

    def all_positive(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The mean F1 of predicting everything positive: the trivial baseline beside every F1-max."""
        store, by_unit = redeem(statistics, weight_rows(weights, len(statistics)))
        positives = by_unit @ store.positives
        values = ratio(2 * positives, positives + (by_unit @ store.totals)[:, None], empty=0.0)
        return ratio(values.sum(axis=1), (positives > 0).sum(axis=1))

    def _curve(self, store: ScoreStore, weights: Floats, column: int) -> Floats:
        """F1 at every threshold, `[weighting, threshold]`."""
        scores, member = store.scores[:, column], store.reference[:, column]
        positives = (weights @ store.positives[:, column])[:, None]
        steps = self.steps if self.thresholds is None else 1
        curve = np.zeros((len(weights), steps))
        for grid, chosen in self._grids(store, weights, column):
            passed = np.searchsorted(grid, scores, side="right")
            counted = passed > 0
            line = passed[counted] - 1 + steps * member[counted]
            table = incidence(line, store.codes[counted], (2 * steps, store.units))
            sums = np.asarray(table @ weights[chosen].T).T.reshape(-1, 2, steps)
            reached = np.cumsum(sums[..., ::-1], axis=2)[..., ::-1]
            predicted = reached.sum(axis=1)
            curve[chosen] = ratio(2 * reached[:, 1], predicted + positives[chosen], empty=0.0)
        return curve

    def _grids(self, store: ScoreStore, weights: Floats, column: int) -> Iterator[tuple[Floats, np.ndarray]]:
        """Each grid of thresholds with the weightings it belongs to."""
        if self.thresholds is not None:
            if len(self.thresholds) != store.scores.shape[1]:
                raise Misuse(f"expected {store.scores.shape[1]} thresholds, one per class, got {len(self.thresholds)}")
            yield np.array([self.thresholds[column]], dtype=np.float64), np.arange(len(weights))
            return
        low, high = store.extremes.low[:, column], store.extremes.high[:, column]
        ends = np.array([(low[row > 0].min(initial=np.inf), high[row > 0].max(initial=-np.inf)) for row in weights])
        pairs, which = np.unique(ends, axis=0, return_inverse=True)
        for place, (least, most) in enumerate(pairs):
            if least <= most:
                yield np.linspace(least, most, self.steps), np.flatnonzero(which.ravel() == place)
