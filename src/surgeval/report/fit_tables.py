"""Tables of a fitted mixed model that its charts are drawn from: random effects, quantiles, marginal means."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from surgeval.stats.mixed.formula import column_of
from surgeval.stats.mixed.grid import is_category
from surgeval.stats.mixed.marginal import marginal_means
from surgeval.stats.mixed.residuals import ResidualCheck
from surgeval.stats.mixed.result import MixedFit

RANDOM_SCHEMA = {"group": pl.String, "level": pl.String, "mean": pl.Float64, "sd": pl.Float64}
QUANTILE_SCHEMA = {"group": pl.String, "expected": pl.Float64, "observed": pl.Float64, "n": pl.Int64}
MOST_POINTS = 300
"""Points of one Q-Q plot; the ends are always kept."""


def random_effects_table(found: MixedFit) -> pl.DataFrame:
    """Every level of every random effect: group, level, conditional mean and conditional SD."""
    parts = [
        pl.DataFrame(
            {"group": [group.name] * len(group.labels), "level": group.labels.cast(pl.String), "mean": group.mean,
             "sd": group.spread},
            schema=RANDOM_SCHEMA,
        )
        for group in found.groups
    ]  # fmt: skip
    return pl.concat(parts) if parts else pl.DataFrame(schema=RANDOM_SCHEMA)


def quantile_table(found: MixedFit) -> pl.DataFrame:
    """Standardised predictions of every random effect (and residuals of a linear model) against normal quantiles."""
    samples = {group.name: group.mean for group in found.groups if group.sd > 0}
    if found.family == "gaussian":
        samples = {"residuals": found.design.response - found.linear_predictor, **samples}
    parts = [normal_quantiles(name, values) for name, values in samples.items()]
    return pl.concat(parts) if parts else pl.DataFrame(schema=QUANTILE_SCHEMA)


def normal_quantiles(name: str, values: np.ndarray) -> pl.DataFrame:
    """Sorted, standardised values beside the normal quantiles of their ranks, thinned in the middle."""
    values = np.sort(np.asarray(values, dtype=np.float64)[np.isfinite(values)])
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    if not spread > 0:
        return pl.DataFrame(schema=QUANTILE_SCHEMA)
    expected = stats.norm.ppf((np.arange(1, len(values) + 1) - 0.375) / (len(values) + 0.25))
    keep = kept_ranks(len(values))
    return pl.DataFrame(
        {"group": [name] * len(keep), "expected": expected[keep], "observed": ((values - values.mean()) / spread)[keep],
         "n": [len(values)] * len(keep)},
        schema=QUANTILE_SCHEMA,
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
    return pl.DataFrame({"residual": check.residuals}), {name: getattr(check, name) for name in names}


def marginal_table(found: MixedFit, *, level: float = 0.95) -> pl.DataFrame:
    """Marginal means without and with every 0/1 property or category: term, value, scale, mean, ci_low, ci_high.

    A category stands as `phase[b]`, and `value` 0 is then the first category instead of it.
    """
    parts = [part for column in _categories(found) for part in _sides(found, column, level)]
    schema = {"term": pl.String, "value": pl.Float64, "scale": pl.String, "mean": pl.Float64, "ci_low": pl.Float64,
              "ci_high": pl.Float64}  # fmt: skip
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)


def _categories(found: MixedFit) -> list[str]:
    """Properties with levels that the fit has a coefficient for."""
    assessed = {found.design.terms[name] for name in found.names[1:] if name in found.design.terms}
    columns = [column_of(term) for term in found.design.model.fixed if ":" not in term and term in assessed]
    return [column for column in columns if is_category(found, column)]


def _sides(found: MixedFit, column: str, level: float) -> list[pl.DataFrame]:
    """The means of every level beside those of the first."""
    means = marginal_means(found, column, level=level)
    values = means["value"].unique(maintain_order=True).to_list()
    single = column in found.names
    sides = []
    for value in values[1:]:
        for place, own in ((0.0, values[0]), (1.0, value)):
            rows = means.filter(pl.col("value") == own)
            term = column if single else f"{column}[{value}]"
            shown = (pl.lit(term).alias("term"), pl.lit(place).alias("value"))
            sides.append(rows.select(*shown, "scale", "mean", "ci_low", "ci_high"))
    return sides
