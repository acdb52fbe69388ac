"""Tables of a fitted mixed model that its charts are drawn from: random effects, quantiles, marginal means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from surgeval.results.tables import failures as tables
from surgeval.stats.mixed.formula import column_of
from surgeval.stats.mixed.grid import is_category
from surgeval.stats.mixed.marginal import marginal_means
from surgeval.stats.mixed.residuals import ResidualCheck, quantile_residuals
from surgeval.stats.mixed.result import MixedFit

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
    """What caterpillars, Q-Q plots, expected outcomes with and without a property, and residuals are drawn from.

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
            {"group": [group.name] * len(group.labels), "level": group.labels.cast(pl.String), "mean": group.mean,
             "sd": group.spread}
        )
        for group in fitted.groups
    ]  # fmt: skip
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
    expected = stats.norm.ppf((np.arange(1, len(values) + 1) - 0.375) / (len(values) + 0.25))
    keep = kept_ranks(len(values))
    return tables.QUANTILES.frame(
        {"group": [name] * len(keep), "expected": expected[keep], "observed": ((values - values.mean()) / spread)[keep],
         "n": [len(values)] * len(keep)}
    )  # fmt: skip


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
    """Simulated residuals as a column, and their tests by name, as `simulated_residuals` takes them."""
    names = ("uniformity_p", "dispersion", "dispersion_p", "outliers", "outlier_p", "conditional")
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
