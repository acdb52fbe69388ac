"""A fitted mixed model: coefficients, random effects, likelihood and how the optimiser fared.

A category of a property that the model has not seen has no coefficient, so `design_rows` refuses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import TableInvalid
from surgvalid.stats.mixed.fit.restricted import CovarianceSpread
from surgvalid.stats.mixed.model.design import INTERCEPT, Column, Design, crossed_columns
from surgvalid.stats.mixed.model.formula import Slope, column_of
from surgvalid.stats.mixed.model.ordered_beta import Cutpoints, expected_score, expected_slope


@dataclass(frozen=True)
class Convergence:
    """How the optimiser fared."""

    converged: bool
    singular: tuple[str, ...]
    """Random effects whose variance is estimated as zero."""
    iterations: int
    evaluations: int
    distance: float
    """Distance to the optimum in standard errors (Newton decrement)."""
    smallest_eigenvalue: float
    engine: str


@dataclass(frozen=True)
class Group:
    """One random effect: its standard deviation and the prediction for each level."""

    name: str
    sd: float
    log_sd_error: float
    """Standard error of the logarithm of `sd`; NaN where the variance is zero."""
    labels: pl.Series
    mean: np.ndarray
    """Conditional mode per level, on the scale of the linear predictor."""
    spread: np.ndarray
    """Conditional standard deviation per level."""
    slope: Slope | None = None
    """The column whose effect varies, and between what; None for an intercept."""


@dataclass(frozen=True)
class MixedFit:
    """A fitted mixed model."""

    design: Design
    method: str
    """`laplace`, `laplace-reml`, `quadrature`, `reml` or `ml`."""
    family: str
    beta: np.ndarray
    covariance: np.ndarray
    """Of the coefficients, accounting for the estimation of the variances."""
    groups: tuple[Group, ...]
    log_likelihood: float
    parameters: int
    convergence: Convergence
    linear_predictor: np.ndarray
    """Of every row, with its random effects."""
    sigma: float | None = None
    """Residual standard deviation of a linear mixed model."""
    log_sigma_error: float = float("nan")
    freedom: np.ndarray | None = None
    """Satterthwaite degrees of freedom of the coefficients of a linear mixed model."""
    precision: float | None = None
    """Of a beta-binomial or ordered beta model."""
    cutpoints: Cutpoints | None = None
    """Of an ordered beta model: where scores become exactly 0 and 1."""
    nuisance: np.ndarray = field(default_factory=lambda: np.zeros(0))
    """The parameters of the family beyond the linear predictor, as they are searched."""
    covariance_spread: CovarianceSpread | None = None
    """How sure `covariance` itself is, where the variances are restricted estimates."""
    penalty: Mapping[str, float] = field(default_factory=dict)
    """Coefficients held near zero because the data alone do not bound them, with the weight of half their square."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return self.design.names

    @property
    def standard_errors(self) -> np.ndarray:
        """Of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def sd(self) -> dict[str, float]:
        """Standard deviation per random effect."""
        return {group.name: group.sd for group in self.groups}

    @property
    def fixed_predictor(self) -> np.ndarray:
        """Linear predictor without random effects."""
        return np.asarray(self.design.fixed @ self.beta + self.design.offset)

    def expected(self, eta: np.ndarray) -> np.ndarray:
        """The expected outcome (probability, rate or score) at linear predictors."""
        if self.family == "gaussian":
            return eta
        if self.family == "poisson":
            return np.asarray(np.exp(np.minimum(eta, 700.0)))
        return expected_score(eta, self.cutpoints) if self.cutpoints is not None else np.asarray(special.expit(eta))

    def expected_slope(self, eta: np.ndarray) -> np.ndarray:
        """The derivative of the expected outcome by the linear predictor."""
        if self.cutpoints is not None:
            return expected_slope(eta, self.cutpoints)
        response = self.expected(eta)
        if self.family == "gaussian":
            return np.ones_like(response)
        return response if self.family == "poisson" else response * (1 - response)


def design_rows(mixed_fit: MixedFit, table: pl.DataFrame, *, where: str = "table") -> np.ndarray:
    """The design matrix of a fit for the rows of another table, in the order of its coefficients.

    Raises:
        TableInvalid: A property has categories that the model does not know.
    """
    known: dict[str, np.ndarray] = {INTERCEPT: np.ones(table.height)}
    problems = []
    for term in mixed_fit.design.model.fixed:
        parts: list[list[Column]] = []
        for variable in term.split(":"):
            name = column_of(variable)
            fitted, new = mixed_fit.design.frame[name], table[name]
            if variable == name and (fitted.dtype.is_numeric() or fitted.dtype == pl.Boolean):
                parts.append([(name, new.cast(pl.Float64, strict=False).to_numpy())])
                continue
            levels, text = fitted.cast(pl.String).unique().sort().to_list(), new.cast(pl.String)
            strange = sorted(set(text.drop_nulls()) - set(levels))
            if strange:
                problems.append(f"property {name!r} has categories the model does not know: {', '.join(strange[:5])}")
            coded = [(f"{name}[{level}]", (text == level).cast(pl.Float64).to_numpy()) for level in levels[1:]]
            parts.append(coded or [(name, np.zeros(table.height))])
        combined: list[Column] = reduce(crossed_columns, parts)
        known |= dict(combined)
    if problems:
        raise TableInvalid(where, problems)
    return np.column_stack([known[name] for name in mixed_fit.names])
