"""Oracles of the Wald tables: tests of terms left out, profile intervals, the parametric bootstrap.

A profile interval ends where the likelihood, maximised over all else, has dropped too far.

Wald intervals on the log scale suppose that the likelihood is symmetric there, which it is not for a factor of five or
ten levels: its upper limit lies much farther away than the lower one. The profile has no such assumption. Zero is on
the boundary; the interval reaches it where a model without the factor is not worse by the chi-squared quantile. Linear
models are profiled by full likelihood, as lme4 does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl
from scipy import special, stats

from surgvalid.errors import Misuse, UnknownName
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.fit.fit import conditioned, family_of, fit, kernel_for, laplace_deviance
from surgvalid.stats.mixed.fit.lmm import LinearDeviance
from surgvalid.stats.mixed.fit.optimise import Deviance, crossing, minimise
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.fit_tables import RESIDUAL, variance_table
from surgvalid.stats.mixed.inference.inference import likelihood_ratio, simulate
from surgvalid.stats.mixed.model.design import Design
from surgvalid.stats.mixed.model.structure import Factor

_SMALLEST = 1e-3
"""Where the search upwards begins for a deviation estimated as zero."""

_T = TypeVar("_T")
Method = Literal["wald", "profile", "bootstrap"]


class Interval(NamedTuple):
    """An estimate with its limits."""

    value: float
    low: float
    high: float


class Problem(NamedTuple):
    """A deviance with its optimum, ready to be held fixed in one parameter."""

    deviance: Deviance
    best: np.ndarray
    value: float
    scale: np.ndarray
    noise: float


def profile_deviation(fitted: MixedFit, name: str, *, level: float = 0.95) -> Interval:
    """Interval for the standard deviation of a random effect (or of the `Residual`) by profiling the likelihood.

    Args:
        fitted: The fitted model.
        name: The random effect, such as `patient` or `algorithm:instance`.
        level: Of the interval.

    Raises:
        UnknownName: The model has no such random effect.
    """
    names = [group.name for group in fitted.groups] + ([RESIDUAL] if fitted.sigma is not None else [])
    if name not in names:
        raise UnknownName("random effect", name, names)
    index, factors = names.index(name), fitted.design.factors
    whole = _problem(fitted, factors)
    bound = float(stats.chi2.ppf(level, 1))
    drop = _drop(whole, index)
    center = float(np.exp(whole.best[index]))
    start = max(float(whole.best[index]), float(np.log(_SMALLEST)))
    step = float(np.sqrt(bound)) * float(whole.scale[index, index])
    high = float(np.exp(crossing(drop, start, step, bound)))
    if name != RESIDUAL:
        without = _problem(fitted, factors[:index] + factors[index + 1 :])
        if 2 * (without.value - whole.value) <= bound:
            return Interval(center, 0.0, high)
    return Interval(center, float(np.exp(crossing(drop, start, -step, bound))), high)


def variance_intervals(
    fitted: MixedFit, *, method: Method = "profile", level: float = 0.95, replicates: int = 200, seed: int = 0
) -> pl.DataFrame:
    """Every standard deviation with its limits: group, sd, low, high, method.

    Args:
        fitted: The fitted model.
        method: `wald` (on the log scale, free), `profile` (some refits per limit) or parametric `bootstrap`.
        level: Of the intervals.
        replicates: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        UnknownName: There is no such method.
    """
    if method not in ("wald", "profile", "bootstrap"):
        raise UnknownName("method of intervals", method, ["wald", "profile", "bootstrap"])
    table = variance_table(fitted, level=level).select("group", "sd", "low", "high")
    if method == "profile":
        limits = [profile_deviation(fitted, name, level=level) for name in table["group"]]
        table = table.with_columns(low=pl.Series([x.low for x in limits]), high=pl.Series([x.high for x in limits]))
    if method == "bootstrap":
        drawn = bootstrap(fitted, replicates=replicates, level=level, seed=seed)
        drawn = drawn.select(pl.col("term").str.extract(r"^sd\((.*)\)$").alias("group"), "low", "high")
        table = table.select("group", "sd").join(drawn, on="group", how="left", maintain_order="left")
    return table.with_columns(method=pl.lit(method))


def _drop(problem: Problem, index: int) -> Callable[[float], float]:
    """Twice the loss of log-likelihood with one parameter held, the others sought from the nearest place known."""
    scale = np.delete(np.delete(problem.scale, index, axis=0), index, axis=1)
    known = {float(problem.best[index]): (np.delete(problem.best, index), 0.0)}

    def drop(held: float) -> float:
        def reduced(others: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = problem.deviance(np.insert(others, index, held))
            return value, np.delete(gradient, index)

        if held not in known:
            nearest = min(known, key=lambda place: abs(place - held))
            others, value, _, _ = minimise(reduced, known[nearest][0], scale, noise=problem.noise)
            known[held] = others, 2 * (value - problem.value)
        return known[held][1]

    return drop


def _problem(fitted: MixedFit, factors: tuple[Factor, ...]) -> Problem:
    design, _ = conditioned(fitted.design)
    if fitted.family == "gaussian":
        return _linear_problem(design, factors)
    family = family_of(design, overdispersed=fitted.family == "beta-binomial")
    deviance = laplace_deviance(design, family, factors, _engine(fitted))
    start = deviance.start()
    best, value, _, _ = minimise(deviance, start.parameters, start.scale, noise=family.noise)
    return Problem(deviance, best, value, start.scale, family.noise)


def _linear_problem(design: Design, factors: tuple[Factor, ...]) -> Problem:
    kernel, _ = kernel_for(factors, design.rows, "auto")
    deviance = LinearDeviance(design.response - design.offset, design.fixed, design.weights, kernel, restricted=False)
    start = deviance.start()
    theta = minimise(deviance, start.parameters, start.scale)[0]
    log_sigma = float(np.log(deviance.solution(theta).sigma))
    scale = np.diag(np.append(np.diag(start.scale), 1 / np.sqrt(2 * max(design.rows - len(design.names), 1))))
    best, value, _, _ = minimise(deviance.unprofiled, np.append(theta + log_sigma, log_sigma), scale)
    return Problem(deviance.unprofiled, best, value, scale, 0.0)


def _engine(fitted: MixedFit) -> Literal["numpy", "numba"]:
    return "numba" if fitted.convergence.engine == "numba" else "numpy"


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
    bound = float(2 * special.gammaincinv(0.5, level))
    return Interval(center, *(crossing(drop, center, side * np.sqrt(bound) * error, bound) for side in (-1, 1)))


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
    return pl.DataFrame(
        {
            "term": [*fitted.names, *(f"sd({name})" for name in _deviation_names(fitted))],
            "value": np.r_[fitted.beta, _deviations(fitted)],
            "std_error": values.std(axis=0, ddof=1),
            "low": low,
            "high": high,
            "replicates": len(draws),
        }
    )


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
