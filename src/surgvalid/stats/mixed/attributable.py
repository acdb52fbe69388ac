"""Which share of what is lost goes with a property: effect times frequency, with an interval clustered by video.

The attributable share is `1 - L0 / L1`: L1 is the expected loss (1 - probability, 1 - score, rate) over the rows as
they are, L0 the same with the property taken away from the rows that have it, everything else as observed
(g-computation; Greenland and Drescher 1993). Random effects are averaged over (Gauss-Hermite), as in `marginal`.

Two things are uncertain. The coefficients: delta method with their covariance, in the fit in which the effect may
differ between videos. And which cases were seen: leaving out one video at a time with coefficients held. Scores of a
correct model have mean zero given the properties, so both variances add up; degrees of freedom by Satterthwaite from
those of the coefficient's test and one less than there are videos. The interval is made on the scale of log(L0 / L1).

Shares are associations, and those of properties that occur together overlap: they do not add up to one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse
from surgvalid.schema.metric_facts import facts_by_name
from surgvalid.stats.mixed.fit.result import MixedFit, design_rows
from surgvalid.stats.mixed.inference.grid import Value, grid_values, is_category, shown
from surgvalid.stats.mixed.model.design import factor_of
from surgvalid.stats.mixed.model.formula import column_of
from surgvalid.stats.mixed.report import FailuresResult

_POINTS = 21


@dataclass(frozen=True)
class Subgroup:
    """The rows that suffer from a property, and what they would be without it."""

    term: str
    """The coefficient that says so."""
    column: str
    words: str
    """Such as `smoke = yes`."""
    rows: np.ndarray
    """Which rows of the fit belong to it."""
    instead: Value
    """The value of the column that the others have."""
    turned: bool = False
    """Whether these are the cases without what the coefficient is of."""


class Share(NamedTuple):
    """What goes with a property."""

    value: float
    """Share of the expected loss."""
    low: float
    high: float
    points: float
    """Loss per row, in the unit of the outcome."""


class Loss(NamedTuple):
    """How an outcome is turned into a loss: `best - outcome` times the sign."""

    best: float
    sign: float

    def of(self, outcome: np.ndarray) -> np.ndarray:
        """The loss of outcomes."""
        return self.sign * (self.best - outcome)


def loss_of(result: FailuresResult) -> Loss:
    """How far outcomes are from the best one.

    Raises:
        Misuse: Nobody said which values are better, or the best one is not known.
    """
    family, better = result.fit.family, result.better
    if better is None:
        raise Misuse("recommendations need to know which values of the outcome are better; state it (better, --better)")
    if family in ("binomial", "ordered-beta"):
        return Loss(1.0, 1.0) if better == "larger" else Loss(0.0, -1.0)
    if family == "poisson" and better == "smaller":
        return Loss(0.0, -1.0)
    facts = facts_by_name(result.metric or result.fit.design.model.outcome)
    best = facts.high if better == "larger" else facts.low
    if family == "gaussian" and result.transform == "none" and np.isfinite(best):
        return Loss(float(best), 1.0 if better == "larger" else -1.0)
    why = "its best value is not known" if result.transform == "none" else f"it is analysed as its {result.transform}"
    raise Misuse(
        "which share of failures goes with a property is not defined for "
        f"{result.metric or result.fit.design.model.outcome!r} in a {family} model ({why}); give successes and trials, "
        "a 0/1 outcome, or a score with a known best value"
    )


def observed_loss(result: FailuresResult) -> np.ndarray:
    """The loss of every row of the fit, as it was observed."""
    design = result.fit.design
    outcome = design.response / design.trials if result.fit.family == "binomial" else design.response
    return loss_of(result).of(outcome)


def subgroups(result: FailuresResult) -> list[Subgroup]:
    """The rows that suffer from each property, by the sign of its coefficients; interactions are no properties.

    A category suffers against the first one; where a category helps, the first one suffers against the one that helps
    most. Of a number the half beyond its median suffers, against the median.
    """
    loss_of(result)
    sign = 1.0 if result.better == "larger" else -1.0
    groups: list[Subgroup] = []
    for term in result.fit.design.model.fixed:
        if ":" not in term and column_of(term) != result.model_column:
            groups += _of_term(result, term, sign)
    return groups


def _of_term(result: FailuresResult, term: str, sign: float) -> list[Subgroup]:
    fitted, column = result.fit, column_of(term)
    effects = dict(result.table.select("term", "estimate").iter_rows())
    names = [name for name in fitted.names if fitted.design.terms.get(name) == term]
    values = fitted.design.frame[column]
    if not is_category(fitted, column):
        middle = float(values.cast(pl.Float64).median())  # type: ignore[arg-type]
        above = sign * effects[names[0]] < 0 if names else True
        numbers = values.cast(pl.Float64).to_numpy()
        rows = numbers > middle if above else numbers < middle
        words = f"{column} {'above' if above else 'below'} {middle:.4g}"
        return [Subgroup(name, column, words, rows, middle, not above) for name in names]
    first, *others = grid_values(fitted, {})[column]
    of_level = {name: next(level for level in others if name in (column, f"{column}[{level}]")) for name in names}
    harmful = [name for name in names if sign * effects[name] < 0]
    helpful = [name for name in names if sign * effects[name] > 0]
    groups = [_level(fitted, name, column, of_level[name], first) for name in harmful]
    if helpful:
        most = max(helpful, key=lambda name: sign * effects[name])
        groups.append(replace(_level(fitted, most, column, first, of_level[most]), turned=True))
    return groups


def _level(fitted: MixedFit, name: str, column: str, level: Value, instead: Value) -> Subgroup:
    series = fitted.design.frame[column]
    same = series.cast(pl.String) == level if isinstance(level, str) else series.cast(pl.Float64) == level
    return Subgroup(name, column, f"{column} = {shown(level)}", same.fill_null(False).to_numpy(), instead)


def attributable(result: FailuresResult, group: Subgroup) -> Share | None:
    """The share of the loss that goes with a property; None where its effect could not be tested."""
    tests = result.tests
    df = tests.freedom(group.term)
    if df is None or df < 1:
        return None
    fitted, loss = tests.fit_of(result.fit.design.terms[group.term], result.fit), loss_of(result)
    without = _without(fitted, group)
    as_is, taken = (
        expected_loss(fitted, matrix @ fitted.beta + fitted.design.offset, _spread(fitted, matrix), loss)
        for matrix in (fitted.design.fixed, without)
    )
    ratio = taken.loss.mean() / as_is.loss.mean()
    slope = (taken.slope @ without) / taken.loss.sum() - (as_is.slope @ fitted.design.fixed) / as_is.loss.sum()
    by_model = float(slope @ fitted.covariance @ slope)
    by_cases, videos = _left_out(result, taken.loss, as_is.loss)
    variance = by_model + by_cases
    freedom = variance**2 / max(by_model**2 / df + by_cases**2 / max(videos - 1, 1), 1e-300)
    width = float(special.stdtrit(freedom, 0.5 + result.level / 2)) * float(np.sqrt(variance))
    low, high = (1 - ratio * np.exp(side * width) for side in (1, -1))
    return Share(float(1 - ratio), float(low), float(high), float((as_is.loss - taken.loss).mean()))


class ExpectedLoss(NamedTuple):
    """The expected loss of every row, and its derivative by the linear predictor."""

    loss: np.ndarray
    slope: np.ndarray


def expected_loss(fitted: MixedFit, eta: np.ndarray, spread: np.ndarray, loss: Loss) -> ExpectedLoss:
    """The expected loss at linear predictors, averaged over normal random effects of these deviations."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS if np.any(spread > 0) else 1)
    total, slope = np.zeros(len(eta)), np.zeros(len(eta))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        total += weight * loss.of(fitted.expected(eta + spread * node))
        slope -= weight * loss.sign * fitted.expected_slope(eta + spread * node)
    return ExpectedLoss(total, slope)


def _without(fitted: MixedFit, group: Subgroup) -> np.ndarray:
    """The design matrix with the property taken away from the rows that have it."""
    kind = pl.String() if isinstance(group.instead, str) else pl.Float64()
    frame = fitted.design.frame
    changed = design_rows(fitted, frame.with_columns(pl.lit(group.instead, kind).alias(group.column)))
    return np.where(group.rows[:, None], changed, fitted.design.fixed)


def _spread(fitted: MixedFit, matrix: np.ndarray) -> np.ndarray:
    """Deviation of the random part of every row, slopes at the values that a design matrix has."""
    total = np.zeros(len(matrix))
    for mixed, factor in zip(fitted.groups, fitted.design.factors, strict=True):
        values: np.ndarray | float = 1.0
        if factor.values is not None:
            values = factor.values
            if factor.slope is not None and factor.slope.column in fitted.names:
                j = fitted.names.index(factor.slope.column)
                values = factor.values + matrix[:, j] - fitted.design.fixed[:, j]
        total = total + mixed.sd**2 * np.square(values)
    return np.asarray(np.sqrt(total))


def _left_out(result: FailuresResult, taken: np.ndarray, as_is: np.ndarray) -> tuple[float, int]:
    """The variance of log(L0 / L1) between samples of videos with coefficients held, and the number of videos."""
    video = result.tests.video
    codes = factor_of(result.fit.design.frame, video).codes if video else np.arange(len(taken))
    videos = int(codes.max()) + 1
    above, below = (np.bincount(codes, weights=values, minlength=videos) for values in (taken, as_is))
    if videos < 2:
        return 0.0, videos
    rest = np.log((above.sum() - above) / (below.sum() - below))
    return float((videos - 1) / videos * np.square(rest - np.log(above.sum() / below.sum())).sum()), videos
