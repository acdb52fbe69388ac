"""Tables of a fitted mixed model: variance components, and what its charts are drawn from.

On the latent scale a logit model has residual variance pi^2 / 3, a log-link count model log(1 + 1 / mean) (Nakagawa,
Johnson and Schielzeth 2017). R2 marginal is the share of the fixed effects, R2 conditional that of fixed and random
effects together. The effect of single rows (observation-level) is residual, not explained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy import special

from surgvalid.results.tables import failures as tables
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.grid import is_category
from surgvalid.stats.mixed.inference.marginal import marginal_means
from surgvalid.stats.mixed.inference.residuals import ResidualCheck, quantile_residuals
from surgvalid.stats.mixed.model.formula import column_of

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
    z = float(special.ndtri(0.5 + level / 2))
    rows = []
    for group in fitted.groups:
        ends = _ends(group.sd, z * group.log_sd_error) if group.sd > 0 else [None, None]
        rows.append((group.name, group.sd**2, group.sd, group.sd**2 / total, len(group.labels), *ends))
    if fitted.sigma is not None:
        ends = _ends(fitted.sigma, z * fitted.log_sigma_error)
        rows.append((RESIDUAL, fitted.sigma**2, fitted.sigma, fitted.sigma**2 / total, fitted.design.rows, *ends))
    schema = {
        "group": pl.String,
        "variance": pl.Float64,
        "sd": pl.Float64,
        "icc": pl.Float64,
        "levels": pl.Int64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
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


MOST_POINTS = 300
"""Points of one Q-Q plot; the ends are always kept."""


SIMULATED_ROWS = 50_000
"""Beyond, residuals are not simulated unasked: it takes a hundred times as long as a fit."""
SIMULATED_SETS = 100


class FitTables(Mapping[str, pl.DataFrame]):
    """The tables of a fit by name; those that charts are drawn from are made when first looked at, and kept."""

    def __init__(self, made: Mapping[str, pl.DataFrame], fit: MixedFit, *, level: float) -> None:
        self._made, self._fit, self._level = made, fit, level

    @cached_property
    def _all(self) -> dict[str, pl.DataFrame]:
        return {**self._made, **drawn_tables(self._fit, level=self._level)}

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._made[name] if name in self._made else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._made or name in self._all


def drawn_tables(fitted: MixedFit, *, level: float) -> dict[str, pl.DataFrame]:
    """Random effects and their quantiles, expected outcomes with and without a property, and simulated residuals.

    Empty tables are left out, and residuals are simulated only up to `SIMULATED_ROWS` rows.
    """
    drawn = {
        "random_effects": random_effects_table(fitted),
        "quantiles": quantile_table(fitted),
        "marginal_means": marginal_table(fitted, level=level),
    }
    if fitted.design.rows <= SIMULATED_ROWS:
        frame, tests = residual_table(quantile_residuals(fitted, draws=SIMULATED_SETS))
        kept = [{"test": name, "value": float(value)} for name, value in tests.items() if value is not None]
        drawn |= {"residuals": frame, "residual_tests": tables.RESIDUAL_TESTS.frame(kept)}
    return {name: frame for name, frame in drawn.items() if not frame.is_empty()}


def random_effects_table(fitted: MixedFit) -> pl.DataFrame:
    """Every level of every random effect: group, level, conditional mean and conditional SD."""
    parts = [
        tables.RANDOM_EFFECTS.frame(
            {
                "group": [group.name] * len(group.labels),
                "level": group.labels.cast(pl.String),
                "mean": group.mean,
                "sd": group.spread,
            }
        )
        for group in fitted.groups
    ]
    return pl.concat(parts) if parts else tables.RANDOM_EFFECTS.frame([])


def quantile_table(fitted: MixedFit) -> pl.DataFrame:
    """Standardised predictions of every random effect (and residuals of a linear model) against normal quantiles."""
    samples = {group.name: group.mean for group in fitted.groups if group.sd > 0}
    if fitted.family == "gaussian":
        samples = {"residuals": fitted.design.response - fitted.linear_predictor, **samples}
    parts = [normal_quantiles(name, values) for name, values in samples.items()]
    return pl.concat(parts) if parts else tables.QUANTILES.frame([])


def normal_quantiles(name: str, values: np.ndarray) -> pl.DataFrame:
    """Sorted, standardised values beside the normal quantiles of their ranks, thinned in the middle."""
    values = np.sort(np.asarray(values, dtype=np.float64)[np.isfinite(values)])
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    if not spread > 0:
        return tables.QUANTILES.frame([])
    expected = special.ndtri((np.arange(1, len(values) + 1) - 0.375) / (len(values) + 0.25))
    keep = kept_ranks(len(values))
    return tables.QUANTILES.frame(
        {
            "group": [name] * len(keep),
            "expected": expected[keep],
            "observed": ((values - values.mean()) / spread)[keep],
            "n": [len(values)] * len(keep),
        }
    )


def kept_ranks(count: int, *, most: int = MOST_POINTS) -> np.ndarray:
    """Which of `count` sorted values to draw: all, or the ends and an even selection between.

    Example:
        >>> kept_ranks(3).tolist(), len(kept_ranks(10_000, most=100)) <= 100
        ([0, 1, 2], True)
    """
    if count <= most:
        return np.arange(count)
    ends = most // 5
    middle = np.linspace(ends, count - 1 - ends, most - 2 * ends).astype(np.int64)
    return np.unique(np.concatenate([np.arange(ends), middle, np.arange(count - ends, count)]))


def residual_table(check: ResidualCheck) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Simulated residuals as a column, and their tests by name."""
    names = "uniformity_p dispersion dispersion_p outliers outlier_p conditional".split()
    return tables.RESIDUALS.frame({"residual": check.residuals}), {name: getattr(check, name) for name in names}


def marginal_table(fitted: MixedFit, *, level: float = 0.95) -> pl.DataFrame:
    """Marginal means without and with every 0/1 property or category: term, value, scale, mean, low, high.

    A category stands as `phase[b]`, and `value` 0 is then the first category instead of it.
    """
    parts = [table for column in _categories(fitted) for table in _sides(fitted, column, level)]
    return tables.MARGINAL_MEANS.frame(pl.concat(parts) if parts else [])


def _categories(fitted: MixedFit) -> list[str]:
    """Properties with levels that the fit has a coefficient for."""
    assessed = {fitted.design.terms[name] for name in fitted.names[1:] if name in fitted.design.terms}
    columns = [column_of(term) for term in fitted.design.model.fixed if ":" not in term and term in assessed]
    return [column for column in columns if is_category(fitted, column)]


def _sides(fitted: MixedFit, column: str, level: float) -> list[pl.DataFrame]:
    """The means of every level beside those of the first."""
    means = marginal_means(fitted, column, level=level)
    values = means["value"].unique(maintain_order=True).to_list()
    single = column in fitted.names
    sides = []
    for value in values[1:]:
        for place, value_of_side in ((0.0, values[0]), (1.0, value)):
            rows = means.filter(pl.col("value") == value_of_side)
            term = column if single else f"{column}[{value}]"
            shown = (pl.lit(term).alias("term"), pl.lit(place).alias("value"))
            sides.append(rows.select(*shown, "scale", "mean", "low", "high"))
    return sides
