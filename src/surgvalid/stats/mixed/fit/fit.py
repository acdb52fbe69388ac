"""Fitting: design -> deviance -> optimiser -> a fit with its convergence record.

A variance estimated at practically zero is compared with exactly zero: where leaving the factor out is no
worse, the fit is singular, the factor is reported with standard deviation zero, and everything else is
estimated without it. Nothing here is random, so equal input gives equal output.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np
import polars as pl
from scipy import linalg

from surgvalid.errors import ExtraNeeded, Misuse, TableInvalid, UnknownName
from surgvalid.stats.mixed.fit.kernels import Effects, Kernel
from surgvalid.stats.mixed.fit.laplace import LaplaceDeviance
from surgvalid.stats.mixed.fit.lmm import LinearDeviance
from surgvalid.stats.mixed.fit.optimise import Optimum, minimise, optimum
from surgvalid.stats.mixed.fit.restricted import CovarianceSpread, RestrictedDeviance, RestrictedSolution
from surgvalid.stats.mixed.fit.result import Convergence, Group, MixedFit
from surgvalid.stats.mixed.model.design import Design, design_of
from surgvalid.stats.mixed.model.families import BetaBinomial, Binomial, Family, Poisson
from surgvalid.stats.mixed.model.formula import FamilyName, ModelFormula
from surgvalid.stats.mixed.model.ordered_beta import OrderedBeta
from surgvalid.stats.mixed.model.structure import EliminationLayout, Factor, layout_of
from surgvalid.stats.threads import one_thread

_Made = TypeVar("_Made")
Engine = Literal["auto", "numpy", "numba"]
NUMBA_FROM_ROWS = 5_000
"""Smaller data are fitted in numpy before numba would have been imported."""
SMALL_SD = 0.02
"""Below this (in units of the residual or latent scale) a standard deviation is compared with zero."""


@one_thread
def fit(
    table: pl.DataFrame | Design,
    model: ModelFormula | str | None = None,
    *,
    family: FamilyName | Literal["beta-binomial"] | None = None,
    restricted: bool | None = None,
    engine: Engine = "auto",
    errors: bool = True,
    penalty: Mapping[str, float] | None = None,
    start: MixedFit | None = None,
    where: str = "table",
) -> MixedFit:
    """The mixed model fitted to a table: Laplace for counts and 0/1, (restricted) likelihood for continuous.

    Args:
        table: The rows, or a design made before.
        model: The model, or its formula (`"tp / reference ~ smoke + (1 | patient)"`).
        family: What the outcome is, where `model` is a formula; or `beta-binomial` for overdispersed counts.
            `ordered-beta` is for scores in [0, 1] with exact zeros and ones.
        restricted: Whether variances maximise the restricted likelihood; by default those of a continuous outcome do.
        engine: `numpy`, `numba`, or the faster of those installed.
        errors: Whether standard errors are wanted; refits of resamples go without, several times faster.
        penalty: Coefficient to the weight of half its square in the deviance, for what the data do not bound.
        start: A fit of the same rows by a similar model, to begin from.
        where: What to call the table in error messages.

    Raises:
        TableInvalid: The table does not fit the model; lists every problem.
        Misuse: The formula cannot be read.
    """
    if isinstance(model, str):
        base = "binomial" if family == "beta-binomial" else family or "binomial"
        model = ModelFormula.parse(model, family=base)
    if not isinstance(table, Design):
        if model is None:
            raise Misuse("a table needs a model or a formula to be fitted with")
        table = design_of(table, model, where=where)
    ready, back = conditioned(table)
    if table.model.family == "gaussian":
        mixed_fit = _fit_linear(ready, restricted=restricted is not False, engine=engine, errors=errors)
    else:
        kind = family_of(ready, overdispersed=family == "beta-binomial")
        weights = _penalties(table, penalty or {}, back)
        fitted = _fit_restricted if restricted else _fit_laplace
        mixed_fit = fitted(ready, kind, weights, start, engine=engine, errors=errors)
        mixed_fit = replace(mixed_fit, penalty=dict(penalty or {}))
    mixed_fit = mixed_fit if back is None else _unscaled(mixed_fit, back)
    groups = tuple(map(_in_units, mixed_fit.groups, table.factors, ready.factors))
    return replace(mixed_fit, design=table, groups=groups)


def _penalties(design: Design, penalty: Mapping[str, float], back: np.ndarray | None) -> np.ndarray:
    """The weight of every coefficient's square, in the units the fit is made in."""
    if strange := [name for name in penalty if name not in design.names]:
        raise UnknownName("coefficient", strange[0], design.names)
    weights = np.array([penalty.get(name, 0.0) for name in design.names])
    return weights if back is None else weights * np.diag(back) ** 2


def conditioned(design: Design) -> tuple[Design, np.ndarray | None]:
    """The design with columns of extreme location or scale standardised, and the way back for coefficients."""
    design = replace(design, factors=tuple(map(_unit_slope, design.factors)))
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


def _unscaled(fitted: MixedFit, back: np.ndarray) -> MixedFit:
    """The fit in the units of the table; a restricted likelihood depends on them."""
    shift = float(np.log(np.diag(back)).sum()) if fitted.method.endswith("reml") else 0.0
    spread, wobble = back @ fitted.covariance @ back.T, fitted.covariance_spread
    if wobble is not None:
        wobble = wobble._replace(covariance=back @ wobble.covariance @ back.T, slopes=back @ wobble.slopes @ back.T)
    return replace(
        fitted,
        beta=back @ fitted.beta,
        covariance=spread,
        covariance_spread=wobble,
        log_likelihood=fitted.log_likelihood + shift,
    )


def _unit_slope(factor: Factor) -> Factor:
    """A random slope whose column has extreme units in units of its own size."""
    if factor.values is None or 1e-2 < (size := slope_size(factor)) < 1e2:
        return factor
    return replace(factor, values=factor.values / size)


def _in_units(group: Group, given: Factor, used: Factor) -> Group:
    """A random effect in the units of the table, where its column was scaled."""
    if used is given:
        return group
    size = slope_size(given)
    return replace(group, sd=group.sd / size, mean=group.mean / size, spread=group.spread / size)


def slope_size(factor: Factor) -> float:
    """Root mean square of the column of a random slope; one for an intercept."""
    return 1.0 if factor.values is None else float(np.sqrt(np.mean(factor.values**2))) or 1.0


def kernel_for(factors: tuple[Factor, ...], rows: int, engine: Engine) -> tuple[Kernel, str]:
    """The elimination kernel for these factors, and which engine it is."""
    if engine not in ("auto", "numpy", "numba"):
        raise UnknownName("engine", engine, ["auto", "numpy", "numba"])
    layout = layout_of(factors, rows)
    installed = importlib.util.find_spec("numba") is not None
    if engine == "numba" and not installed:
        raise ExtraNeeded("engine 'numba'", "numba", "fast")
    if engine == "numba" or (engine == "auto" and installed and rows >= NUMBA_FROM_ROWS):
        from surgvalid.stats.mixed.fit.kernels_numba import NumbaKernel

        return NumbaKernel(layout), "numba"
    return Kernel(layout), "numpy"


def family_of(design: Design, *, overdispersed: bool = False) -> Family:
    """The likelihood of a design's outcome; beta-binomial if `overdispersed`."""
    if design.model.family == "poisson":
        return Poisson(design.response, design.weights)
    if design.model.family == "ordered-beta":
        return OrderedBeta(design.response, design.weights)
    kind = BetaBinomial if overdispersed else Binomial
    return kind(design.response, design.trials, design.weights)


def laplace_deviance(
    design: Design, family: Family, factors: tuple[Factor, ...], engine: Engine, penalty: np.ndarray | None = None
) -> LaplaceDeviance:
    """The Laplace deviance of a design with some of its factors."""
    kernel, name = kernel_for(factors, design.rows, engine)
    deviance = LaplaceDeviance(family, design.fixed, design.offset, kernel, penalty)
    deviance.engine = name
    return deviance


class _Search(NamedTuple, Generic[_Made]):
    """A deviance, and where its search ended."""

    deviance: _Made
    point: np.ndarray
    value: float
    scale: np.ndarray
    iterations: int


def _searched(
    factors: tuple[Factor, ...], search: Callable[[tuple[Factor, ...]], _Search[_Made]], noise: float = 0.0
) -> tuple[_Search[_Made], tuple[Factor, ...], tuple[str, ...]]:
    """The search with the factors that stay, and the names of those left out because zero is no worse for them.

    The logarithms of the factors' deviations are the first parameters of every deviance.
    """
    best, singular = search(factors), list[str]()
    while len(factors) and (sd := np.exp(best.point[: len(factors)])).min() < SMALL_SD:
        index = int(np.argmin(sd))
        fewer = factors[:index] + factors[index + 1 :]
        without = search(fewer)
        if without.value > best.value + 1e-5 + noise:
            break
        singular.append(factors[index].name)
        best, factors = without, fewer
    return best, factors, tuple(singular)


def _fit_laplace(
    design: Design, family: Family, penalty: np.ndarray, _start: MixedFit | None, *, engine: Engine, errors: bool
) -> MixedFit:
    def search(factors: tuple[Factor, ...]) -> _Search[LaplaceDeviance]:
        deviance = laplace_deviance(design, family, factors, engine, penalty)
        start = deviance.start()
        point, value, _, iterations = minimise(deviance, start.parameters, start.scale, noise=family.noise)
        return _Search(deviance, point, value, start.scale, iterations)

    (deviance, point, _, scale, iterations), factors, singular = _searched(design.factors, search, family.noise)
    curvature = deviance.hessian if errors else _no_curvature
    best = optimum(deviance, point, scale, curvature=curvature, noise=family.noise)
    if errors and not best.converged:
        best = _second_start(deviance, scale, best)
    best = replace(best, iterations=best.iterations + iterations)
    return _laplace_result(design, family, factors, singular, deviance, best, errors)


def _fit_restricted(
    design: Design, family: Family, penalty: np.ndarray, known: MixedFit | None, *, engine: Engine, errors: bool
) -> MixedFit:
    """Variances by restricted likelihood, then coefficients by the ordinary one with the variances held."""

    def search(factors: tuple[Factor, ...]) -> _Search[RestrictedDeviance]:
        restricted = RestrictedDeviance(laplace_deviance(design, family, factors, engine, penalty))
        begin, scale = _restricted_start(restricted, factors, known)
        at, value, _, iterations = minimise(restricted, begin, scale, noise=family.noise)
        return _Search(restricted, at, value, scale, iterations)

    (restricted, at, value, _, iterations), factors, singular = _searched(design.factors, search, family.noise)
    deviance, q = restricted.plain, len(factors)
    solution = restricted.solution(at)
    wobble = restricted.spread(at, solution) if errors and solution is not None else None
    if solution is None:
        raise Misuse("the likelihood is not finite at its own optimum; rescale numeric properties or drop outliers")
    deviance.guess(restricted.predictor)
    point, covariance, distance = _coefficients_given(deviance, at, solution, wobble, errors=errors)
    spread = np.full((len(at),) * 2, np.nan) if wobble is None else wobble.deviations
    smallest = np.nan if wobble is None else float(np.linalg.eigvalsh(np.linalg.inv(spread))[0]) if len(spread) else 1.0
    around = linalg.block_diag(spread[:q, :q], covariance)
    best = Optimum(point, value, np.zeros(len(point)), around, iterations, distance, smallest)
    fitted = _laplace_result(design, family, factors, singular, deviance, best, errors)
    return replace(fitted, method="laplace-reml", covariance_spread=wobble)


def _restricted_start(
    search: RestrictedDeviance, factors: tuple[Factor, ...], known: MixedFit | None
) -> tuple[np.ndarray, np.ndarray]:
    """Where the search for variances begins, and rough errors to scale it by; an earlier fit spares the way there."""
    q, extra = len(factors), search.plain.extra
    if known is None:
        rough = search.plain.start()
        search.begin(search.plain.started, search.plain.family.start)
        kept = [*range(q), *range(len(rough.parameters) - extra, len(rough.parameters))]
        return rough.parameters[kept], rough.scale[np.ix_(kept, kept)]
    groups = {group.name: group for group in known.groups}
    begin, errors = np.empty(q), np.full(q + extra, 0.4)
    for i, factor in enumerate(factors):
        group = groups.get(factor.name)
        begin[i] = np.log(0.3 / slope_size(factor) if group is None else max(group.sd, 2 * SMALL_SD))
        if group is not None and np.isfinite(group.log_sd_error):
            errors[i] = min(group.log_sd_error, 1.0)
    search.begin(known.linear_predictor[search.plain.kernel.layout.order], known.nuisance)
    return np.append(begin, known.nuisance), np.diag(errors)


def _coefficients_given(
    deviance: LaplaceDeviance,
    at: np.ndarray,
    solution: RestrictedSolution,
    wobble: CovarianceSpread | None,
    *,
    errors: bool,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Parameters with coefficients at their optimum for these variances, their covariance, and how near it is.

    The family's own parameters are free again beside the coefficients: held, they would lend them their certainty.
    """
    q = deviance.factors
    root = _lower_root(solution.covariance)
    if deviance.extra:
        nuisance = np.eye(deviance.extra) * 0.2 if wobble is None else _lower_root(wobble.deviations[q:, q:])
        root = linalg.block_diag(root, nuisance)

    def given(rest: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = deviance(np.append(at[:q], rest))
        return value, gradient[q:]

    rest, _, gradient, _ = minimise(given, np.append(solution.beta, at[q:]), root, noise=deviance.family.noise)
    point, distance = np.append(at[:q], rest), float(np.linalg.norm(root.T @ gradient))
    if not errors:
        return point, np.full(root.shape, np.nan), distance
    if deviance.extra:
        matrix = deviance.hessian(point, linalg.block_diag(np.eye(q) * 0.1, root))[q:, q:]
    else:
        matrix = deviance.curvature(point, root)
    matrix = (matrix + matrix.T) / 2
    if not (np.isfinite(matrix).all() and np.linalg.eigvalsh(matrix)[0] > 0):
        return point, np.full(root.shape, np.nan), distance
    return point, np.asarray(root @ np.linalg.solve(matrix, root.T)), distance


def grows(base: MixedFit, factor: Factor, *, engine: Engine = "auto") -> bool:
    """Whether a small variance of one more random effect raises the restricted likelihood; else it is zero."""
    ready, back = conditioned(replace(base.design, factors=(*base.design.factors, factor)))
    *others, factor = ready.factors
    factors = tuple(f for f, group in zip(others, base.groups, strict=True) if group.sd > 0)
    penalty = _penalties(base.design, base.penalty, back)
    family = family_of(ready, overdispersed=base.family == "beta-binomial")
    deviance = laplace_deviance(ready, family, (*factors, factor), engine, penalty)
    search = RestrictedDeviance(deviance)
    search.begin(base.linear_predictor[deviance.kernel.layout.order], base.nuisance)
    sized = zip(base.groups, base.design.factors, others, strict=True)
    sd = [group.sd * (1.0 if given is used else slope_size(given)) for group, given, used in sized if group.sd > 0]
    solution = search.solution(np.append(np.log([*sd, SMALL_SD / slope_size(factor)]), base.nuisance))
    return solution is None or bool(solution.gradient[len(factors)] < 0)


def _lower_root(covariance: np.ndarray) -> np.ndarray:
    return np.asarray(linalg.cholesky((covariance + covariance.T) / 2, lower=True))


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
    design: Design,
    family: Family,
    factors: tuple[Factor, ...],
    singular: tuple[str, ...],
    deviance: LaplaceDeviance,
    best: Optimum,
    errors: bool,
) -> MixedFit:
    evaluation = deviance.evaluate(best.parameters)
    if evaluation is None:
        raise Misuse("the likelihood is not finite at its own optimum; rescale numeric properties or drop outliers")
    q, p = deviance.factors, deviance.coefficients
    sd, beta, nuisance = deviance.split(best.parameters)
    groups = _groups(
        design,
        factors,
        deviance.kernel.layout,
        sd,
        np.sqrt(np.diag(best.covariance))[:q],
        evaluation.mode.effects,
        evaluation.spread.effects,
    )
    predictor = np.empty(design.rows)
    predictor[deviance.kernel.layout.order] = evaluation.mode.eta
    return MixedFit(
        design=design,
        method="laplace",
        family=family.name,
        beta=beta.copy(),
        covariance=best.covariance[q : q + p, q : q + p],
        groups=groups,
        log_likelihood=family.saturated - best.value,
        parameters=p + len(design.factors) + len(nuisance),
        convergence=Convergence(
            _converged(best, errors),
            singular,
            best.iterations,
            deviance.evaluations,
            best.newton_decrement,
            best.smallest_eigenvalue,
            deviance.engine,
        ),
        linear_predictor=predictor,
        nuisance=nuisance.copy(),
        precision=float(np.exp(nuisance[0])) if len(nuisance) else None,
        cutpoints=family.cutpoints(nuisance) if isinstance(family, OrderedBeta) else None,
    )


def _groups(
    design: Design,
    factors: tuple[Factor, ...],
    layout: EliminationLayout,
    sd: np.ndarray,
    errors: np.ndarray,
    mean: Effects,
    variance: Effects,
) -> tuple[Group, ...]:
    """Predictions per level, in the order of the labels; zero for factors that collapsed."""
    groups = []
    names = [factor.name for factor in factors]
    for factor in design.factors:
        if factor.name not in names:
            zero = np.zeros(factor.levels)
            groups.append(Group(factor.name, 0.0, float("nan"), factor.labels, zero, zero, factor.slope))
            continue
        i = names.index(factor.name)
        modes, spreads = (_by_level(layout, i, factor.levels, moments, factor.codes) for moments in (mean, variance))
        groups.append(
            Group(
                factor.name,
                float(sd[i]),
                float(errors[i]),
                factor.labels,
                sd[i] * modes,
                sd[i] * np.sqrt(np.maximum(spreads, 0.0)),
                factor.slope,
            )
        )
    return tuple(groups)


def _by_level(layout: EliminationLayout, factor: int, levels: int, effects: Effects, codes: np.ndarray) -> np.ndarray:
    """Values of one factor's effects in the order of its codes."""
    result = np.empty(levels)
    if factor == layout.row_factor:
        result[codes[layout.order]] = effects.rows
    elif factor in layout.border:
        members = layout.column_factor == factor
        result[layout.column_level[members]] = effects.border[members]
    else:
        members = layout.node_factor == factor
        result[layout.node_level[members]] = effects.nodes[members]
    return result


def _fit_linear(design: Design, *, restricted: bool, engine: Engine, errors: bool) -> MixedFit:
    outcome = design.response - design.offset

    def search(factors: tuple[Factor, ...]) -> _Search[LinearDeviance]:
        kernel = kernel_for(factors, design.rows, engine)[0]
        deviance = LinearDeviance(outcome, design.fixed, design.weights, kernel, restricted=restricted)
        start = deviance.start()
        point, value, _, iterations = minimise(deviance, start.parameters, start.scale)
        return _Search(deviance, point, value, start.scale, iterations)

    ended, factors, singular = _searched(design.factors, search)
    name = kernel_for(factors, design.rows, engine)[1]
    return _linear_result(
        design, factors, singular, ended.deviance, ended.point, ended.scale, ended.iterations, name, errors
    )


def _linear_result(
    design: Design,
    factors: tuple[Factor, ...],
    singular: tuple[str, ...],
    deviance: LinearDeviance,
    log_theta: np.ndarray,
    scale: np.ndarray,
    iterations: int,
    engine: str,
    errors: bool,
) -> MixedFit:
    sigma = deviance.solution(log_theta).sigma
    if not sigma > 1e-7 * float(design.response.std()):
        reason = "is determined by the properties and groups; nothing is left to call a residual"
        raise TableInvalid("table", [f"{design.model.outcome!r} {reason}"])
    log_sigma = float(np.log(sigma))
    residual = np.array([[1 / np.sqrt(2 * max(design.rows - len(design.names), 1))]])
    full_scale = np.block([[scale, np.zeros((len(scale), 1))], [np.zeros((1, len(scale))), residual]])
    best = optimum(
        deviance.unprofiled,
        np.append(log_theta + log_sigma, log_sigma),
        full_scale,
        curvature=deviance.hessian if errors else _no_curvature,
    )
    log_sd, log_sigma = best.parameters[:-1], float(best.parameters[-1])
    solution = deviance.solution(log_sd - log_sigma)
    sigma = float(np.exp(log_sigma))
    wobble = CovarianceSpread(sigma**2 * solution.unscaled, deviance.slopes, best.covariance) if errors else None
    units = np.eye(len(design.names))
    freedom = np.array([wobble.satterthwaite(unit) for unit in units]) if wobble is not None else None
    spread = deviance.kernel.spread()
    log_errors = np.sqrt(np.diag(best.covariance))
    theta = np.exp(log_sd - log_sigma)
    variance = Effects(*(effect * sigma**2 for effect in spread.effects))
    groups = _groups(design, factors, deviance.kernel.layout, theta, log_errors[:-1], solution.effects, variance)
    groups = tuple(replace(group, sd=group.sd * sigma) for group in groups)
    predictor = np.empty(design.rows)
    predictor[deviance.kernel.layout.order] = deviance.fitted(solution)
    return MixedFit(
        design=design,
        method="reml" if deviance.restricted else "ml",
        family="gaussian",
        beta=solution.beta,
        covariance=sigma**2 * solution.unscaled,
        groups=groups,
        log_likelihood=-best.value,
        parameters=len(design.names) + len(design.factors) + 1,
        convergence=Convergence(
            _converged(best, errors),
            singular,
            iterations + best.iterations,
            deviance.evaluations,
            best.newton_decrement,
            best.smallest_eigenvalue,
            engine,
        ),
        linear_predictor=predictor + design.offset,
        sigma=sigma,
        log_sigma_error=float(log_errors[-1]),
        freedom=freedom,
        covariance_spread=wobble,
    )
