"""What a fitted mixed model says about its coefficients and variances, with uncertainty.

Wald intervals use the full-Hessian standard errors (t with Satterthwaite's degrees of freedom in linear
models). Likelihood-ratio tests of a variance lie on the boundary of the parameter space, so their null
distribution is a mixture of chi-squared distributions (Self and Liang 1987): for one variance half a point
mass at zero and half one degree of freedom. Profile intervals invert the likelihood-ratio test; the
parametric bootstrap refits data simulated from the fit, random effects included.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl
from scipy import optimize, stats

from surgeval.errors import Misuse, UnknownName
from surgeval.stats.corrections import adjusted
from surgeval.stats.draws import stream
from surgeval.stats.mixed.design import INTERCEPT, Design
from surgeval.stats.mixed.fit import fit
from surgeval.stats.mixed.ordered_beta import drawn_scores
from surgeval.stats.mixed.result import MixedFit

_T = TypeVar("_T")


class Interval(NamedTuple):
    """An estimate with its limits."""

    value: float
    low: float
    high: float


class Ratio(NamedTuple):
    """A likelihood-ratio test."""

    statistic: float
    freedom: int
    p_value: float


def wald_table(fitted: MixedFit, *, level: float = 0.95) -> pl.DataFrame:
    """Every coefficient: estimate, std_error, z, p_value, p_holm, p_bh, low, high.

    Adjusted p values count the properties, not the intercept. In linear models `z` is a t statistic.
    """
    z = fitted.beta / fitted.standard_errors
    freedom = np.full(len(z), np.inf) if fitted.freedom is None else fitted.freedom
    p = 2 * stats.t.sf(np.abs(z), freedom)
    width = stats.t.ppf(0.5 + level / 2, freedom) * fitted.standard_errors
    tested = np.array([name != INTERCEPT for name in fitted.names])
    asked = np.where(tested, p, np.nan)
    return pl.DataFrame({
        "term": list(fitted.names), "estimate": fitted.beta, "std_error": fitted.standard_errors, "z": z, "p_value": p,
        "p_holm": adjusted(asked, "holm"), "p_bh": adjusted(asked, "bh"), "low": fitted.beta - width,
        "high": fitted.beta + width,
    }).fill_nan(None)  # fmt: skip


def likelihood_ratio(larger: MixedFit, smaller: MixedFit, *, variances: int = 0) -> Ratio:
    """Test of a model against a smaller one nested in it.

    Args:
        larger: The model with more parameters.
        smaller: The model without some of them, fitted to the same rows.
        variances: How many of the parameters tested are variances (0 or 1), which lie on a boundary.

    Raises:
        Misuse: The models were fitted to different rows, by restricted likelihood with different fixed
            effects, or differ by several variances.
    """
    if larger.design.rows != smaller.design.rows or larger.family != smaller.family:
        raise Misuse("likelihoods compare only between models of one family fitted to the same rows")
    restricted = [model.method.endswith("reml") for model in (larger, smaller)]
    if restricted[0] != restricted[1]:
        raise Misuse("a restricted likelihood does not compare with a full one; fit both the same way")
    if restricted[0] and larger.names != smaller.names:
        raise Misuse("restricted likelihoods do not compare between different fixed effects; fit with restricted=False")
    if variances not in (0, 1):
        raise Misuse(f"the boundary mixture is known for one variance, got {variances}; test them one by one")
    freedom = larger.parameters - smaller.parameters
    if freedom < 1:
        raise Misuse("the larger model has no parameter more than the smaller one")
    statistic = max(0.0, 2 * (larger.log_likelihood - smaller.log_likelihood))
    p_value = float(stats.chi2.sf(statistic, freedom))
    if variances:
        below = float(stats.chi2.sf(statistic, freedom - 1)) if freedom > 1 else float(statistic <= 0)
        p_value = 0.5 * (p_value + below)
    return Ratio(statistic, freedom, p_value)


def drop_one(fitted: MixedFit) -> pl.DataFrame:
    """Likelihood-ratio test of every coefficient and every variance, each left out in turn."""
    design = fitted.design
    whole = fit(design, restricted=False, errors=False)
    rows = []
    for j, name in enumerate(design.names[1:], start=1):
        without = replace(design, fixed=np.delete(design.fixed, j, axis=1), names=_without(design.names, j))
        rows.append((name, *likelihood_ratio(whole, fit(without, restricted=False, errors=False))))
    for j, factor in enumerate(design.factors):
        without = replace(design, factors=_without(design.factors, j))
        test = likelihood_ratio(whole, fit(without, restricted=False, errors=False), variances=1)
        rows.append((f"(1 | {factor.name})", *test))
    return pl.DataFrame(rows, schema=["term", "statistic", "freedom", "p_value"], orient="row")


def profile_interval(fitted: MixedFit, term: str, *, level: float = 0.95) -> Interval:
    """Interval for a coefficient by profiling the likelihood.

    Raises:
        UnknownName: There is no such coefficient.
    """
    if term not in fitted.names:
        raise UnknownName("coefficient", term, fitted.names)
    j, design = fitted.names.index(term), fitted.design
    rest = replace(design, fixed=np.delete(design.fixed, j, axis=1), names=_without(design.names, j))
    best = fit(design, restricted=False, errors=False)

    def drop(value: float) -> float:
        moved = replace(rest, offset=design.offset + value * design.fixed[:, j])
        return 2 * (best.log_likelihood - fit(moved, restricted=False, errors=False).log_likelihood)

    return _inverted(drop, float(best.beta[j]), float(fitted.standard_errors[j]), level)


def _inverted(drop: Callable[[float], float], center: float, error: float, level: float) -> Interval:
    """Where the likelihood has dropped by the chi-squared quantile on either side."""
    bound = float(stats.chi2.ppf(level, 1))
    return Interval(center, *(crossing(drop, center, side * np.sqrt(bound) * error, bound) for side in (-1, 1)))


def crossing(drop: Callable[[float], float], center: float, step: float, bound: float) -> float:
    """Where `drop`, zero at `center`, reaches `bound` in the direction of `step`; infinite if it does not in 20."""
    inner, outer = center, center + 1.2 * step
    for _ in range(20):
        if drop(outer) > bound:
            return float(optimize.brentq(lambda x: drop(x) - bound, inner, outer, xtol=1e-4 * abs(step), rtol=1e-8))
        inner, outer = outer, outer + step
    return float(np.sign(step) * np.inf)


def simulate(fitted: MixedFit, rng: np.random.Generator) -> np.ndarray:
    """An outcome per row drawn from the fitted model, with new random effects."""
    design, eta = fitted.design, fitted.fixed_predictor.copy()
    factors = {factor.name: factor for factor in design.factors}
    for group in fitted.groups:
        factor = factors[group.name]
        effect = rng.normal(0.0, 1.0, len(group.labels))[factor.codes] * group.sd
        eta += effect if factor.values is None else factor.values * effect
    return draw_outcome(fitted, eta, rng)


def draw_outcome(fitted: MixedFit, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An outcome per row given its linear predictor."""
    design = fitted.design
    if fitted.family == "gaussian":
        return np.asarray(eta + rng.normal(0.0, fitted.sigma or 0.0, len(eta)) / np.sqrt(design.weights))
    if fitted.family == "poisson":
        return np.asarray(rng.poisson(np.exp(np.minimum(eta, 20.0))), dtype=float)
    if fitted.cutpoints is not None and fitted.precision is not None:
        return drawn_scores(eta, fitted.cutpoints, fitted.precision, rng)
    probability = 1 / (1 + np.exp(-eta))
    if fitted.precision is not None:
        probability = rng.beta(fitted.precision * probability, fitted.precision * (1 - probability))
    return np.asarray(rng.binomial(design.trials.astype(np.int64), probability), dtype=float)


def bootstrap(fitted: MixedFit, *, replicates: int = 200, level: float = 0.95, seed: int = 0) -> pl.DataFrame:
    """Parametric bootstrap of every coefficient and deviation: value, std_error, low, high, replicates.

    Replicates whose refit fails (an outcome that never varies) are left out and show in the count.
    """
    rng = stream(seed, "parametric-bootstrap")
    kind: Literal["beta-binomial"] | None = "beta-binomial" if fitted.family == "beta-binomial" else None
    draws = []
    for _ in range(replicates):
        design = replace(fitted.design, response=simulate(fitted, rng))
        if _degenerate(design):
            continue
        again = fit(design, family=kind, restricted=fitted.method.endswith("reml"), errors=False)
        draws.append(np.r_[again.beta, _deviations(again)])
    if len(draws) < 2:
        raise Misuse("no bootstrap replicate could be fitted; the outcome hardly varies")
    values = np.array(draws)
    low, high = np.quantile(values, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return pl.DataFrame({
        "term": [*fitted.names, *(f"sd({name})" for name in _deviation_names(fitted))],
        "value": np.r_[fitted.beta, _deviations(fitted)],
        "std_error": values.std(axis=0, ddof=1), "low": low, "high": high, "replicates": len(draws),
    })  # fmt: skip


def _deviation_names(fitted: MixedFit) -> list[str]:
    return [group.name for group in fitted.groups] + ([] if fitted.sigma is None else ["Residual"])


def _deviations(fitted: MixedFit) -> list[float]:
    return [group.sd for group in fitted.groups] + ([] if fitted.sigma is None else [fitted.sigma])


def _degenerate(design: Design) -> bool:
    """Whether a simulated outcome leaves nothing to estimate."""
    if design.model.family == "binomial":
        return bool(np.all(design.response == 0) or np.all(design.response == design.trials))
    return bool(np.ptp(design.response) == 0)


def _without(items: tuple[_T, ...], index: int) -> tuple[_T, ...]:
    return items[:index] + items[index + 1 :]
