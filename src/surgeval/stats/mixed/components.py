"""Variance components: deviations with intervals, shares of variance (ICC) and explained variance (R2).

On the latent scale a logit model has residual variance pi^2 / 3, a log-link count model log(1 + 1 / mean)
(Nakagawa, Johnson and Schielzeth 2017). R2 marginal is the share of the fixed effects, R2 conditional that of
fixed and random effects together. The effect of single rows (observation-level) is residual, not explained.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy import stats

from surgeval.stats.mixed.result import MixedFit

RESIDUAL = "Residual"


class Explained(NamedTuple):
    """Nakagawa's R2."""

    marginal: float
    conditional: float


def residual_variance(fitted: MixedFit) -> float:
    """Variance of the distribution itself on the scale of the linear predictor; NaN for scores with exact 0 and 1."""
    if fitted.family == "ordered-beta":
        return float("nan")
    if fitted.sigma is not None:
        return fitted.sigma**2
    if fitted.family == "poisson":
        random = sum(group.sd**2 for group in fitted.groups)
        return float(np.logaddexp(0.0, -(np.mean(fitted.fixed_predictor) + random / 2)))
    return float(np.pi**2 / 3)


def variance_table(fitted: MixedFit, *, level: float = 0.95) -> pl.DataFrame:
    """Every random effect: group, variance, sd, icc, levels, low and high of the sd.

    Intervals are Wald on the log scale; they are missing where the variance is zero.
    """
    residual = residual_variance(fitted)
    total = sum(group.sd**2 for group in fitted.groups) + residual
    z = float(stats.norm.ppf(0.5 + level / 2))
    rows = []
    for group in fitted.groups:
        ends = _ends(group.sd, z * group.log_sd_error) if group.sd > 0 else [None, None]
        rows.append((group.name, group.sd**2, group.sd, group.sd**2 / total, len(group.labels), *ends))
    if fitted.sigma is not None:
        ends = _ends(fitted.sigma, z * fitted.log_sigma_error)
        rows.append((RESIDUAL, fitted.sigma**2, fitted.sigma, fitted.sigma**2 / total, fitted.design.rows, *ends))
    schema = {"group": pl.String, "variance": pl.Float64, "sd": pl.Float64, "icc": pl.Float64, "levels": pl.Int64,
              "low": pl.Float64, "high": pl.Float64}  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row").fill_nan(None)


def _ends(sd: float, width: float) -> list[float | None]:
    """Limits of a deviation from a half-width on the log scale; none where that is beyond all reason."""
    return [sd * float(np.exp(-width)), sd * float(np.exp(width))] if width < 300 else [None, None]


def explained(fitted: MixedFit) -> Explained:
    """Shares of the variance that fixed effects, and fixed and random effects together, explain."""
    fixed = float(np.var(fitted.design.fixed @ fitted.beta))
    rows = fitted.design.rows
    random = sum(group.sd**2 for group in fitted.groups if len(group.labels) < rows)
    total = fixed + sum(group.sd**2 for group in fitted.groups) + residual_variance(fitted)
    return Explained(fixed / total, (fixed + random) / total)
