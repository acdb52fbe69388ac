"""Profile intervals of standard deviations: where the likelihood, maximised over all else, has dropped too far.

Wald intervals on the log scale suppose that the likelihood is symmetric there, which it is not for a factor of five or
ten levels: its upper limit lies much farther away than the lower one. The profile has no such assumption. Zero is on
the boundary; the interval reaches it where a model without the factor is not worse by the chi-squared quantile. Linear
models are profiled by full likelihood, as lme4 does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import UnknownName
from surgeval.stats.mixed.components import RESIDUAL, variance_table
from surgeval.stats.mixed.design import Design
from surgeval.stats.mixed.fit import conditioned, family_of, kernel_for, laplace_deviance
from surgeval.stats.mixed.inference import Interval, bootstrap, crossing
from surgeval.stats.mixed.lmm import LinearDeviance
from surgeval.stats.mixed.optimise import Deviance, minimise
from surgeval.stats.mixed.result import MixedFit
from surgeval.stats.mixed.structure import Factor

_SMALLEST = 1e-3
"""Where the search upwards begins for a deviation estimated as zero."""


Method = Literal["wald", "profile", "bootstrap"]


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
