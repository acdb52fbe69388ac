"""The restricted likelihood of counts and 0/1 outcomes, and effects that vary between groups."""

import numpy as np
import polars as pl
import pytest

from mixed_data import RANDOM, nested_table
from surgvalid.errors import Misuse
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.fit.fit import family_of, fit, laplace_deviance
from surgvalid.stats.mixed.fit.optimise import minimise
from surgvalid.stats.mixed.fit.restricted import RestrictedDeviance, penalty_scale
from surgvalid.stats.mixed.inference.inference import likelihood_ratio
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula, Slope

TABLE = nested_table(cell=0.8)
COUNTS = f"hits / total ~ smoke + size + {RANDOM}"


def restricted(formula: str, penalty: np.ndarray | None = None) -> RestrictedDeviance:
    design = design_of(
        TABLE, ModelFormula.parse(formula, family="poisson" if formula.startswith("count") else "binomial")
    )
    return RestrictedDeviance(laplace_deviance(design, family_of(design), design.factors, "numpy", penalty))


@pytest.mark.parametrize(
    "formula",
    [COUNTS, f"{COUNTS} + (1 | algorithm:instance)", f"correct ~ smoke + size + {RANDOM} + (0 + size | patient)",
     f"count ~ smoke + size + {RANDOM} + (0 + smoke | image)"],
)  # fmt: skip
def test_the_gradient_is_that_of_the_value(formula: str) -> None:
    deviance = restricted(formula, np.array([0.0, 0.3, 0.1]))
    deviance.plain.mode_tolerance = 1e-22
    point = np.log(np.linspace(0.3, 0.8, deviance.plain.factors))
    gradient = deviance(point)[1]
    for k, axis in enumerate(1e-4 * np.eye(len(point))):
        slope = (deviance(point + axis)[0] - deviance(point - axis)[0]) / 2e-4
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


def test_a_slope_of_a_column_of_ones_is_an_intercept() -> None:
    table = TABLE.with_columns(one=pl.lit(1.0))
    slope = fit(table, "hits / total ~ smoke + size + (1 | image) + (0 + one | patient)", restricted=True)
    intercept = fit(table, "hits / total ~ smoke + size + (1 | image) + (1 | patient)", restricted=True)
    assert slope.log_likelihood == pytest.approx(intercept.log_likelihood, abs=1e-8)
    assert slope.sd["0 + one | patient"] == pytest.approx(intercept.sd["patient"], abs=1e-5)
    np.testing.assert_allclose(slope.standard_errors, intercept.standard_errors, rtol=1e-5)


def test_the_unit_of_a_slope_does_not_matter() -> None:
    formula = "hits / total ~ smoke + size + (1 | image) + (0 + size | patient)"
    plain = fit(TABLE, formula, restricted=True)
    large = fit(TABLE.with_columns(size=pl.col("size") * 1e5), formula, restricted=True)
    assert large.sd["0 + size | patient"] == pytest.approx(plain.sd["0 + size | patient"] / 1e5, rel=1e-4)
    assert large.beta[2] * 1e5 == pytest.approx(plain.beta[2], rel=1e-4)


def test_the_variance_of_few_videos_is_larger_than_by_full_likelihood() -> None:
    full, rest = (fit(TABLE, "hits / total ~ smoke + size + (1 | patient) + (1 | image)", restricted=r)
                  for r in (False, True))  # fmt: skip
    assert rest.sd["image"] > full.sd["image"]
    assert rest.method == "laplace-reml"
    assert rest.covariance_spread is not None
    with pytest.raises(Misuse, match="does not compare with a full one"):
        likelihood_ratio(rest, full)


def test_the_start_changes_nothing_but_the_way() -> None:
    free = fit(TABLE, COUNTS, restricted=True)
    begun = fit(TABLE, COUNTS, restricted=True, start=free)
    np.testing.assert_allclose(begun.beta, free.beta, atol=1e-5)


def test_a_penalty_that_vanishes_changes_nothing() -> None:
    free = fit(TABLE, COUNTS)
    np.testing.assert_allclose(fit(TABLE, COUNTS, penalty={"smoke": 1e-9}).beta, free.beta, atol=1e-5)
    strong = fit(TABLE, COUNTS, penalty={"smoke": 1e4})
    assert abs(strong.beta[1]) < 0.01
    assert strong.penalty == {"smoke": 1e4}


def test_numeric_columns_are_penalised_in_units_of_two_deviations() -> None:
    assert penalty_scale(np.array([0.0, 1.0, 1.0])) == 1.0
    assert penalty_scale(np.array([0.0, 10.0])) == pytest.approx(10.0)


def test_slopes_are_part_of_a_formula() -> None:
    model = ModelFormula.parse("y ~ x + (x || video) + (0 + z | a:b)")
    assert model.random == ("video",)
    assert model.slopes == (Slope("x", "video"), Slope("z", "a:b"))
    assert str(model) == "y ~ x + (1 | video) + (0 + x | video) + (0 + z | a:b)"
    with pytest.raises(Misuse, match=r"\(x \|\| video\)"):
        ModelFormula.parse("y ~ x + (x | video)")


def test_the_minimum_is_where_the_gradient_vanishes() -> None:
    deviance = restricted(COUNTS)
    point = np.log(np.full(4, 0.5)) + stream(1, "restricted").normal(0, 0.1, 4)
    best, _, gradient, _ = minimise(deviance, point, np.eye(4) * 0.3)
    assert np.max(np.abs(gradient)) < 1e-3
    assert np.all(np.isfinite(best))


def test_the_value_does_not_depend_on_where_the_search_came_from() -> None:
    """Effects of one set of deviations are no starting point for another; steps once stuck between the two."""
    table = TABLE.with_columns(hits=pl.when(pl.col("algorithm") == "C").then(0).otherwise(pl.col("hits")))
    design = design_of(table, ModelFormula.parse(f"{COUNTS} + (1 | algorithm:instance)"))
    points = np.array([[0.5, -1.7, -1.2, -0.9, -0.9], [1.3, -1.5, -0.8, -0.3, -0.7], [1.6, -1.5, -1.2, -0.4, -1.0]])
    deviance = RestrictedDeviance(laplace_deviance(design, family_of(design), design.factors, "numpy"))
    for point in points:
        fresh = RestrictedDeviance(laplace_deviance(design, family_of(design), design.factors, "numpy"))
        assert deviance(point)[0] == pytest.approx(fresh(point)[0], abs=1e-6)


SLOPED = f"correct ~ smoke + size + {RANDOM} + (0 + size | patient)"


@pytest.mark.parametrize("formula", [COUNTS, f"{COUNTS} + (1 | algorithm:instance)", SLOPED])
def test_the_mode_is_guessed_along_its_tangent(formula: str) -> None:
    deviance = restricted(formula, np.array([0.0, 0.3, 0.1]))
    deviance.plain.mode_tolerance = 1e-22
    point = np.log(np.linspace(0.3, 0.8, deviance.plain.factors))
    step = 1e-3 * np.linspace(1, -1, len(point))
    deviance(point)
    middle, guess = deviance._joint.eta.copy(), deviance._along(deviance._tangent, step)
    deviance(point + step)
    np.testing.assert_allclose(guess, deviance._joint.eta - middle, atol=2e-5 * np.abs(guess).max() / 1e-3 + 1e-9)


@pytest.mark.parametrize("formula", [COUNTS, f"{COUNTS} + (1 | algorithm:instance)", SLOPED])
def test_one_step_beside_the_mode_gives_the_differences_of_whole_solutions(formula: str) -> None:
    deviance = restricted(formula)
    point, *_ = minimise(deviance, np.log(np.full(deviance.plain.factors, 0.5)), np.eye(deviance.plain.factors) * 0.3)
    spread = deviance.spread(point, deviance.solution(point))
    deviance.plain.mode_tolerance = 1e-22
    curvature, slopes = [], []
    for axis in 0.02 * np.eye(len(point)):
        high, low = (deviance.solution(point + s * axis) for s in (1, -1))
        curvature.append((high.gradient - low.gradient) / 0.04)
        slopes.append((high.covariance - low.covariance) / 0.04)
    size = np.abs(slopes).max()
    np.testing.assert_allclose(spread.slopes, np.array(slopes), atol=2e-3 * size)
    np.testing.assert_allclose(
        np.linalg.inv(spread.deviations), np.array(curvature), atol=2e-3 * np.abs(curvature).max()
    )
