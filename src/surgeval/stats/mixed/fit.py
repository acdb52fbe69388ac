"""Fitting: design -> deviance -> optimiser -> a fit with its convergence record.

A variance estimated at practically zero is compared with exactly zero: where leaving the factor out is no
worse, the fit is singular, the factor is reported with standard deviation zero, and everything else is
estimated without it. Nothing here is random, so equal input gives equal output.
"""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from surgeval.errors import ExtraNeeded, Misuse, TableInvalid, UnknownName
from surgeval.stats.mixed.design import Design, design_of
from surgeval.stats.mixed.families import BetaBinomial, Binomial, Family, Poisson
from surgeval.stats.mixed.formula import Model
from surgeval.stats.mixed.kernels import Effects, Kernel, NumpyKernel
from surgeval.stats.mixed.laplace import LaplaceDeviance
from surgeval.stats.mixed.lmm import LinearDeviance
from surgeval.stats.mixed.optimise import Optimum, minimise, optimum
from surgeval.stats.mixed.result import Convergence, Group, MixedFit
from surgeval.stats.mixed.structure import Factor, Layout, layout_of

Engine = Literal["auto", "numpy", "numba"]
NUMBA_FROM_ROWS = 5_000
"""Smaller data are fitted in numpy before numba would have been imported."""
SMALL_SD = 0.02
"""Below this (in units of the residual or latent scale) a standard deviation is compared with zero."""


def fit(
    table: pl.DataFrame | Design,
    model: Model | str | None = None,
    *,
    family: Literal["binomial", "poisson", "gaussian", "beta-binomial"] | None = None,
    restricted: bool = True,
    engine: Engine = "auto",
    errors: bool = True,
    where: str = "table",
) -> MixedFit:
    """The mixed model fitted to a table: Laplace for counts and 0/1, (restricted) likelihood for continuous.

    Args:
        table: The rows, or a design made before.
        model: The model, or its formula (`"tp / reference ~ smoke + (1 | patient)"`).
        family: What the outcome is, where `model` is a formula; or `beta-binomial` for overdispersed counts.
        restricted: Restricted likelihood for a continuous outcome; false for full likelihood.
        engine: `numpy`, `numba`, or the faster of those installed.
        errors: Whether standard errors are wanted; refits of resamples go without, several times faster.
        where: What to call the table in error messages.

    Raises:
        TableInvalid: The table does not fit the model; lists every problem.
        Misuse: The formula cannot be read.
    """
    if isinstance(model, str):
        base = "binomial" if family == "beta-binomial" else family or "binomial"
        model = Model.parse(model, family=base)
    if not isinstance(table, Design):
        if model is None:
            raise Misuse("a table needs a model or a formula to be fitted with")
        table = design_of(table, model, where=where)
    ready, back = conditioned(table)
    if table.model.family == "gaussian":
        found = _fit_linear(ready, restricted=restricted, engine=engine, errors=errors)
    else:
        found = _fit_laplace(
            ready, family_of(ready, overdispersed=family == "beta-binomial"), engine=engine, errors=errors
        )
    return found if back is None else _unscaled(found, table, back)


def conditioned(design: Design) -> tuple[Design, np.ndarray | None]:
    """The design with columns of extreme location or scale standardised, and the way back for coefficients."""
    columns = design.fixed[:, 1:]
    mean, spread = columns.mean(axis=0), columns.std(axis=0)
    poor = (spread < 1e-2) | (spread > 1e2) | (np.abs(mean) > 10 * spread)
    if not poor.any():
        return design, None
    shift, scale = np.where(poor, mean, 0.0), np.where(poor, spread, 1.0)
    back = np.diag(np.r_[1.0, 1 / scale])
    back[0, 1:] = -shift / scale
    fixed = np.column_stack([design.fixed[:, 0], (columns - shift) / scale])
    return replace(design, fixed=fixed), back


def _unscaled(found: MixedFit, design: Design, back: np.ndarray) -> MixedFit:
    """The fit in the units of the table; a restricted likelihood depends on them."""
    shift = float(np.log(np.diag(back)).sum()) if found.method == "reml" else 0.0
    spread = back @ found.covariance @ back.T
    return replace(found, design=design, beta=back @ found.beta, covariance=spread,
                   log_likelihood=found.log_likelihood + shift)  # fmt: skip


def kernel_for(factors: tuple[Factor, ...], rows: int, engine: Engine) -> tuple[Kernel, str]:
    """The elimination kernel for these factors, and which engine it is."""
    if engine not in ("auto", "numpy", "numba"):
        raise UnknownName("engine", engine, ["auto", "numpy", "numba"])
    layout = layout_of(factors, rows)
    installed = importlib.util.find_spec("numba") is not None
    if engine == "numba" and not installed:
        raise ExtraNeeded("engine 'numba'", "numba", "fast")
    if engine == "numba" or (engine == "auto" and installed and rows >= NUMBA_FROM_ROWS):
        from surgeval.stats.mixed.kernels_numba import NumbaKernel

        return NumbaKernel(layout), "numba"
    return NumpyKernel(layout), "numpy"


def family_of(design: Design, *, overdispersed: bool = False) -> Family:
    """The likelihood of a design's outcome; beta-binomial if `overdispersed`."""
    if design.model.family == "poisson":
        return Poisson(design.response, design.weights)
    kind = BetaBinomial if overdispersed else Binomial
    return kind(design.response, design.trials, design.weights)


def laplace_deviance(design: Design, family: Family, factors: tuple[Factor, ...], engine: Engine) -> LaplaceDeviance:
    """The Laplace deviance of a design with some of its factors."""
    kernel, name = kernel_for(factors, design.rows, engine)
    if name == "numba":
        from surgeval.stats.mixed.kernels_numba import compiled

        family = compiled(family)
    deviance = LaplaceDeviance(family, design.fixed, design.offset, kernel)
    deviance.engine = name
    return deviance


def _fit_laplace(design: Design, family: Family, *, engine: Engine, errors: bool) -> MixedFit:
    factors, singular = design.factors, list[str]()
    while True:
        deviance = laplace_deviance(design, family, factors, engine)
        start = deviance.start()
        point, value, _, iterations = minimise(deviance, start.parameters, start.scale, noise=family.noise)
        zero = _collapsed(design, family, factors, engine, np.exp(point[: len(factors)]), value)
        if zero is None:
            break
        singular.append(factors[zero].name)
        factors = factors[:zero] + factors[zero + 1 :]
    curvature = deviance.hessian if errors else _no_curvature
    best = optimum(deviance, point, start.scale, curvature=curvature, noise=family.noise)
    if errors and not best.converged:
        best = _second_start(deviance, start.scale, best)
    best = replace(best, iterations=best.iterations + iterations)
    return _laplace_result(design, family, factors, tuple(singular), deviance, best, errors)


def _collapsed(
    design: Design, family: Family, factors: tuple[Factor, ...], engine: Engine, sd: np.ndarray, value: float
) -> int | None:
    """Index of the smallest standard deviation, if it is practically zero and exactly zero is no worse."""
    if not len(sd) or sd.min() >= SMALL_SD:
        return None
    index = int(np.argmin(sd))
    deviance = laplace_deviance(design, family, factors[:index] + factors[index + 1 :], engine)
    start = deviance.start()
    without = minimise(deviance, start.parameters, start.scale, noise=family.noise)[1]
    return index if without <= value + 1e-5 + family.noise else None


def _converged(best: Optimum, errors: bool) -> bool:
    """Whether the optimum is proper; without a Hessian only the gradient can tell."""
    return best.converged if errors else best.newton_decrement < 1e-3


def _no_curvature(_: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Stands in for the Hessian where nobody asked for standard errors."""
    return np.full(scale.shape, np.nan)


def _second_start(deviance: LaplaceDeviance, scale: np.ndarray, first: Optimum) -> Optimum:
    """The better of the first optimum and one reached from moderate variances."""
    again = first.parameters.copy()
    again[: deviance.factors] = np.clip(again[: deviance.factors], np.log(0.2), np.log(2.0))
    again[deviance.factors :] = np.where(np.isfinite(again[deviance.factors :]), again[deviance.factors :], 0.0)
    second = optimum(deviance, again, scale, curvature=deviance.hessian, noise=deviance.family.noise)
    better = second.converged or (not first.converged and second.value < first.value - 1e-6)
    return second if better else first


def _laplace_result(
    design: Design, family: Family, factors: tuple[Factor, ...], singular: tuple[str, ...],
    deviance: LaplaceDeviance, best: Optimum, errors: bool,
) -> MixedFit:  # fmt: skip
    found = deviance.evaluate(best.parameters)
    if found is None:
        raise Misuse("the likelihood is not finite at its own optimum; rescale numeric properties or drop outliers")
    q, p = deviance.factors, deviance.coefficients
    sd, beta, extra = deviance.split(best.parameters)
    groups = _groups(design, factors, deviance.kernel.layout, sd, np.sqrt(np.diag(best.covariance))[:q],
                     found.mode.effects, found.spread.effects)  # fmt: skip
    predictor = np.empty(design.rows)
    predictor[deviance.kernel.layout.order] = found.mode.eta
    return MixedFit(
        design=design, method="laplace", family=family.name, beta=beta.copy(),
        covariance=best.covariance[q : q + p, q : q + p], groups=groups,
        log_likelihood=family.saturated - best.value, parameters=p + len(design.factors) + family.extra,
        convergence=Convergence(_converged(best, errors), singular, best.iterations, deviance.evaluations,
                                best.newton_decrement, best.smallest_eigenvalue, deviance.engine),
        linear_predictor=predictor, precision=float(np.exp(extra)) if family.extra else None,
    )  # fmt: skip


def _groups(
    design: Design, factors: tuple[Factor, ...], layout: Layout, sd: np.ndarray, errors: np.ndarray,
    mean: Effects, variance: Effects,
) -> tuple[Group, ...]:  # fmt: skip
    """Predictions per level, in the order of the labels; zero for factors that collapsed."""
    groups = []
    names = [factor.name for factor in factors]
    for factor in design.factors:
        if factor.name not in names:
            zero = np.zeros(factor.levels)
            groups.append(Group(factor.name, 0.0, float("nan"), factor.labels, zero, zero))
            continue
        i = names.index(factor.name)
        modes, spreads = (_by_level(layout, i, factor.levels, part, factor.codes) for part in (mean, variance))
        groups.append(Group(factor.name, float(sd[i]), float(errors[i]), factor.labels,
                            sd[i] * modes, sd[i] * np.sqrt(np.maximum(spreads, 0.0))))  # fmt: skip
    return tuple(groups)


def _by_level(layout: Layout, factor: int, levels: int, effects: Effects, codes: np.ndarray) -> np.ndarray:
    """Values of one factor's effects in the order of its codes."""
    result = np.empty(levels)
    if factor == layout.row_factor:
        result[codes[layout.order]] = effects.rows
    elif factor in layout.border:
        own = layout.column_factor == factor
        result[layout.column_level[own]] = effects.border[own]
    else:
        own = layout.node_factor == factor
        result[layout.node_level[own]] = effects.nodes[own]
    return result


def _fit_linear(design: Design, *, restricted: bool, engine: Engine, errors: bool) -> MixedFit:
    factors, singular = design.factors, list[str]()
    while True:
        kernel, name = kernel_for(factors, design.rows, engine)
        deviance = LinearDeviance(design.response - design.offset, design.fixed, design.weights, kernel,
                                  restricted=restricted)  # fmt: skip
        start = deviance.start()
        point, value, _, iterations = minimise(deviance, start.parameters, start.scale)
        theta = np.exp(point)
        if not len(theta) or theta.min() >= SMALL_SD:
            break
        index = int(np.argmin(theta))
        fewer = factors[:index] + factors[index + 1 :]
        smaller = LinearDeviance(design.response - design.offset, design.fixed, design.weights,
                                 kernel_for(fewer, design.rows, engine)[0], restricted=restricted)  # fmt: skip
        again = smaller.start()
        if minimise(smaller, again.parameters, again.scale)[1] > value + 1e-5:
            break
        singular.append(factors[index].name)
        factors = fewer
    return _linear_result(design, factors, tuple(singular), deviance, point, start.scale, iterations, name, errors)


def _linear_result(
    design: Design, factors: tuple[Factor, ...], singular: tuple[str, ...], deviance: LinearDeviance,
    log_theta: np.ndarray, scale: np.ndarray, iterations: int, engine: str,
    errors: bool,
) -> MixedFit:  # fmt: skip
    sigma = deviance.solution(log_theta).sigma
    if not sigma > 1e-7 * float(design.response.std()):
        reason = "is determined by the properties and groups; nothing is left to call a residual"
        raise TableInvalid("table", [f"{design.model.outcome!r} {reason}"])
    log_sigma = float(np.log(sigma))
    residual = np.array([[1 / np.sqrt(2 * max(design.rows - len(design.names), 1))]])
    full_scale = np.block([[scale, np.zeros((len(scale), 1))], [np.zeros((1, len(scale))), residual]])
    best = optimum(deviance.unprofiled, np.append(log_theta + log_sigma, log_sigma), full_scale,
                   curvature=deviance.hessian if errors else _no_curvature)  # fmt: skip
    log_sd, log_sigma = best.parameters[:-1], float(best.parameters[-1])
    found = deviance.solution(log_sd - log_sigma)
    sigma = float(np.exp(log_sigma))
    variances = sigma**2 * np.diag(found.unscaled)
    freedom = deviance.satterthwaite(variances, best.covariance) if errors else None
    spread = deviance.kernel.spread()
    log_errors = np.sqrt(np.diag(best.covariance))
    theta = np.exp(log_sd - log_sigma)
    variance = Effects(*(part * sigma**2 for part in spread.effects))
    groups = _groups(design, factors, deviance.kernel.layout, theta, log_errors[:-1], found.effects, variance)
    groups = tuple(replace(group, sd=group.sd * sigma) for group in groups)
    predictor = np.empty(design.rows)
    predictor[deviance.kernel.layout.order] = deviance.fitted(found)
    return MixedFit(
        design=design, method="reml" if deviance.restricted else "ml", family="gaussian", beta=found.beta,
        covariance=sigma**2 * found.unscaled, groups=groups, log_likelihood=-best.value,
        parameters=len(design.names) + len(design.factors) + 1,
        convergence=Convergence(_converged(best, errors), singular, iterations + best.iterations, deviance.evaluations,
                                best.newton_decrement, best.smallest_eigenvalue, engine),
        linear_predictor=predictor + design.offset, sigma=sigma, log_sigma_error=float(log_errors[-1]), freedom=freedom,
    )  # fmt: skip
