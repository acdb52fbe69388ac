"""Coefficients that the data alone do not bound: found, held near zero by a penalty, and tested by the profile.

Where every row with a property succeeds, no finite odds ratio fits best. Leaving such a property out hides the
strongest failures and biases the rest, so it stays, with b^2 / (2 * 2.5^2) added to the deviance: a normal prior with
deviation 2.5 on the log odds ratio (Gelman et al. 2008 take a Cauchy of that scale; in simulations the normal had the
smaller errors). Numeric columns are first divided by twice their standard deviation; the intercept is free.

Wald's test fails where the likelihood is far from a parabola, so p and interval are those of the penalised profile, its
signed root compared with t. The variances are held at their restricted estimates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import linalg, special

from surgvalid.stats.mixed.fit.fit import Engine, family_of, laplace_deviance
from surgvalid.stats.mixed.fit.optimise import crossing, minimise
from surgvalid.stats.mixed.fit.restricted import penalty_scale
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.fit.separation import separating_terms
from surgvalid.stats.mixed.model.design import Design

PRIOR_SD = 2.5
FEWEST_OUTCOMES = 5
"""Successes, and failures, that each value of a 0/1 property needs before its coefficient is left free."""
LARGEST_EFFECT = 4.0
LARGEST_ERROR = 2.0
_NUISANCE_SCALE = 0.2
"""Rough standard error of a family's own parameters, to scale the search by."""


def penalties(design: Design, names: set[str]) -> dict[str, float]:
    """The weight of half the square of each named coefficient."""
    return {
        name: (penalty_scale(design.fixed[:, j]) / PRIOR_SD) ** 2
        for j, name in enumerate(design.names)
        if name in names and j
    }


def unbounded(design: Design) -> set[str]:
    """Coefficients of a binomial model that separate the outcome, or whose property has hardly a success or failure."""
    if design.model.family != "binomial":
        return set()
    return set(separating_terms(design)) | {name for j, name in enumerate(design.names) if j and _scarce(design, j)}


def _scarce(design: Design, j: int) -> bool:
    column = design.fixed[:, j]
    if not np.isin(column, (0.0, 1.0)).all():
        return False
    sides = [(design.response[column == v].sum(), design.trials[column == v].sum()) for v in (0.0, 1.0)]
    return any(min(hits, tries - hits) < FEWEST_OUTCOMES for hits, tries in sides)


def runaway(fitted: MixedFit) -> set[str]:
    """Coefficients of a fit that are too large or too uncertain to be what the data say."""
    if fitted.family not in ("binomial", "beta-binomial", "ordered-beta"):
        return set()
    scale = np.array([penalty_scale(column) for column in fitted.design.fixed.T])
    wild = (np.abs(fitted.beta) * scale > LARGEST_EFFECT) | ~(fitted.standard_errors * scale <= LARGEST_ERROR)
    return {name for j, name in enumerate(fitted.names) if j and wild[j] and fitted.design.fixed[:, j].any()}


def profile_test(
    fitted: MixedFit, j: int, df: float, *, level: float = 0.95, engine: Engine = "auto"
) -> tuple[float, float, float]:
    """The p value of a coefficient and the ends of its interval, by the penalised profile with the variances held."""
    drop = _drop(fitted, j, engine)
    estimate, error = float(fitted.beta[j]), float(fitted.standard_errors[j])
    p_value = 2 * float(special.stdtr(df, -np.sqrt(max(drop(0.0), 0.0))))
    bound = float(special.stdtrit(df, 0.5 + level / 2)) ** 2
    low, high = (crossing(drop, estimate, side * np.sqrt(bound) * error, bound) for side in (-1, 1))
    return p_value, low, high


def _drop(fitted: MixedFit, j: int, engine: Engine) -> Callable[[float], float]:
    """Twice the rise of the deviance where coefficient `j` is held at a value, the others free."""
    design = fitted.design
    keep = [k for k in range(len(design.names)) if k != j]
    weights = np.array([fitted.penalty.get(name, 0.0) for name in design.names])
    factors = tuple(f for f, group in zip(design.factors, fitted.groups, strict=True) if group.sd > 0)
    log_sd = np.log([group.sd for group in fitted.groups if group.sd > 0]) if factors else np.zeros(0)
    nuisance = np.eye(len(fitted.nuisance)) * _NUISANCE_SCALE
    root = linalg.block_diag(np.linalg.cholesky(fitted.covariance[np.ix_(keep, keep)]), nuisance)

    def least(value: float) -> float:
        moved = replace(
            design,
            fixed=design.fixed[:, keep],
            names=tuple(design.names[k] for k in keep),
            offset=design.offset + value * design.fixed[:, j],
        )
        family = family_of(moved, overdispersed=fitted.family == "beta-binomial")
        deviance = laplace_deviance(moved, family, factors, engine, weights[keep])

        def given(rest: np.ndarray) -> tuple[float, np.ndarray]:
            height, gradient = deviance(np.append(log_sd, rest))
            return height, gradient[len(log_sd) :]

        lowest = minimise(given, np.append(fitted.beta[keep], fitted.nuisance), root, noise=deviance.family.noise)[1]
        return lowest + float(weights[j]) * value**2 / 2

    best = least(float(fitted.beta[j]))
    return lambda value: 2 * (least(value) - best)
