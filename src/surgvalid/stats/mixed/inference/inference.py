"""What a fitted mixed model says about its coefficients and variances, with uncertainty.

Wald intervals use the full-Hessian standard errors (t with Satterthwaite's degrees of freedom in linear
models). Likelihood-ratio tests of a variance lie on the boundary of the parameter space, so their null
distribution is a mixture of chi-squared distributions (Self and Liang 1987): for one variance half a point
mass at zero and half one degree of freedom.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.model.design import INTERCEPT
from surgvalid.stats.mixed.model.ordered_beta import drawn_scores


class Ratio(NamedTuple):
    """A likelihood-ratio test."""

    statistic: float
    freedom: int
    p_value: float


def wald_table(fitted: MixedFit, *, level: float = 0.95) -> pl.DataFrame:
    """Every coefficient: estimate, std_error, t, p_value, p_holm, p_bh, low, high.

    Adjusted p values count the properties, not the intercept. Where no degrees of freedom are given, `t` is z.
    """
    t = fitted.beta / fitted.standard_errors
    freedom = np.full(len(t), np.inf) if fitted.freedom is None else fitted.freedom
    p = 2 * special.stdtr(freedom, -np.abs(t))
    width = special.stdtrit(freedom, 0.5 + level / 2) * fitted.standard_errors
    tested = np.array([name != INTERCEPT for name in fitted.names])
    asked = np.where(tested, p, np.nan)
    return pl.DataFrame(
        {
            "term": list(fitted.names),
            "estimate": fitted.beta,
            "std_error": fitted.standard_errors,
            "t": t,
            "p_value": p,
            "p_holm": adjusted(asked, "holm"),
            "p_bh": adjusted(asked, "bh"),
            "low": fitted.beta - width,
            "high": fitted.beta + width,
        }
    ).fill_nan(None)


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
    p_value = float(special.chdtrc(freedom, statistic))
    if variances:
        below = float(special.chdtrc(freedom - 1, statistic)) if freedom > 1 else float(statistic <= 0)
        p_value = 0.5 * (p_value + below)
    return Ratio(statistic, freedom, p_value)


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
