"""Estimated marginal means against integration by brute force."""

import numpy as np
import polars as pl
import pytest
from scipy import integrate, special, stats

from mixed_data import RANDOM, nested_table
from surgvalid.errors import UnknownName
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.marginal import marginal_means

TABLE = nested_table(3, trials=15, cell=0.0)
COUNTS = fit(TABLE, f"hits / total ~ smoke + size + {RANDOM}")


def row(table: pl.DataFrame, value: float, scale: str) -> dict[str, float]:
    return table.row(by_predicate=(pl.col("value") == value) & (pl.col("scale") == scale), named=True)


def by_hand(found: MixedFit, value: float, response: object, spread: float) -> float:
    """Mean over rows of the response integrated over a normal random effect with scipy's adaptive rule."""
    columns = found.design.fixed.copy()
    columns[:, found.names.index("smoke")] = value
    etas, counts = np.unique(columns @ found.beta + found.design.offset, return_counts=True)
    means = [
        integrate.quad(lambda u, eta=eta: response(eta + spread * u) * stats.norm.pdf(u), -9, 9, epsabs=1e-10)[0]  # type: ignore[operator]
        for eta in etas
    ]
    return float(np.average(means, weights=counts))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_population_means_are_the_integral_over_random_effects(value: float) -> None:
    table = marginal_means(COUNTS, "smoke")
    spread = float(np.sqrt(sum(group.sd**2 for group in COUNTS.groups)))
    expected = by_hand(COUNTS, value, special.expit, spread)
    assert row(table, value, "population")["mean"] == pytest.approx(expected, abs=1e-6)
    assert row(table, value, "conditional")["mean"] == pytest.approx(
        by_hand(COUNTS, value, special.expit, 0.0), abs=1e-8
    )


def test_population_rates_of_a_poisson_model_carry_half_the_variance() -> None:
    """With a log link the integral is known: exp(eta + variance / 2)."""
    found = fit(TABLE, f"count ~ smoke + {RANDOM}", family="poisson")
    table = marginal_means(found, "smoke")
    variance = sum(group.sd**2 for group in found.groups)
    for value in (0.0, 1.0):
        conditional, population = (row(table, value, scale)["mean"] for scale in ("conditional", "population"))
        assert population == pytest.approx(conditional * np.exp(variance / 2), rel=1e-6)


def test_intervals_match_draws_of_the_coefficients() -> None:
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(COUNTS.beta, COUNTS.covariance, size=4000)
    columns = COUNTS.design.fixed.copy()
    columns[:, COUNTS.names.index("smoke")] = 1.0
    means = special.expit(columns @ drawn.T).mean(axis=0)
    found = row(marginal_means(COUNTS, "smoke"), 1.0, "conditional")
    low, high = np.quantile(means, [0.025, 0.975])
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=0.02)


def test_a_numeric_property_can_be_asked_at_any_value() -> None:
    table = marginal_means(COUNTS, "size", values=[-1.0, 0.0, 2.5])
    assert table["value"].unique().sort().to_list() == [-1.0, 0.0, 2.5]
    assert ((table["low"] < table["mean"]) & (table["mean"] < table["high"])).all()
    with pytest.raises(UnknownName, match="smoke"):
        marginal_means(COUNTS, "smok")
