import numpy as np
import polars as pl
import pytest

from mixed_data import RANDOM, nested_table
from mixed_quadrature import fit_quadrature
from surgvalid.errors import ExtraNeeded, Misuse, UnknownName
from surgvalid.stats.mixed.fit import fit as fit_module
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit

COUNTS = f"hits / total ~ smoke + size + {RANDOM} + (1 | algorithm:instance)"
BINARY = "correct ~ smoke + size + (1 | algorithm) + (1 | image)"
LINEAR = f"score ~ smoke + size + {RANDOM}"
KINDS = [(COUNTS, "binomial"), (BINARY, "binomial"), ("count ~ smoke + (1 | image)", "poisson"), (LINEAR, "gaussian")]


def same(left: MixedFit, right: MixedFit, *, tolerance: float = 1e-4) -> None:
    """Equal coefficients (in standard errors), standard errors, deviations and likelihood."""
    np.testing.assert_allclose((left.beta - right.beta) / left.standard_errors, 0, atol=tolerance)
    np.testing.assert_allclose(left.standard_errors, right.standard_errors, rtol=tolerance)
    np.testing.assert_allclose(list(left.sd.values()), list(right.sd.values()), rtol=10 * tolerance, atol=1e-4)
    assert left.log_likelihood == pytest.approx(right.log_likelihood, abs=1e-6)


@pytest.mark.parametrize(("text", "family"), KINDS)
def test_the_order_of_rows_changes_nothing(text: str, family: str) -> None:
    table = nested_table(2, cell=0.8)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=4)
    same(fit(table, text, family=family), fit(shuffled, text, family=family))  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "family"), KINDS)
def test_the_names_of_levels_change_nothing(text: str, family: str) -> None:
    table = nested_table(2, cell=0.8)
    renamed = table.with_columns(
        ("zz" + pl.col("image").str.reverse()).alias("image"), ("x" + pl.col("algorithm").reverse().over("instance"))
    ).with_columns(pl.col("algorithm").str.replace("xA", "q"))  # fmt: skip
    renamed = renamed.with_columns(table["algorithm"].replace({"A": "q", "B": "b", "C": "!"}))
    same(fit(table, text, family=family), fit(renamed, text, family=family))  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "family"), KINDS)
def test_equal_input_gives_equal_output(text: str, family: str) -> None:
    one, two = (fit(nested_table(1), text, family=family) for _ in range(2))  # type: ignore[arg-type]
    assert np.array_equal(one.beta, two.beta)
    assert np.array_equal(one.covariance, two.covariance, equal_nan=True)


@pytest.mark.parametrize(("text", "family"), KINDS)
def test_numba_and_numpy_agree(text: str, family: str) -> None:
    pytest.importorskip("numba")
    table = nested_table(3, cell=0.8)
    one, two = (fit(table, text, family=family, engine=engine) for engine in ("numpy", "numba"))  # type: ignore[arg-type]
    same(one, two, tolerance=1e-6)
    assert (one.convergence.engine, two.convergence.engine) == ("numpy", "numba")


def test_counts_equal_their_expansion_into_single_trials() -> None:
    table = nested_table(5)
    single = table.with_columns(
        outcome=pl.struct("hits", "total").map_elements(
            lambda row: [1] * row["hits"] + [0] * (row["total"] - row["hits"]), return_dtype=pl.List(pl.Int64)
        )
    ).explode("outcome", empty_as_null=True, keep_nulls=True)
    terms = f"~ smoke + size + {RANDOM}"
    counts, singles = fit(table, f"hits / total {terms}"), fit(single, f"outcome {terms}")
    np.testing.assert_allclose(counts.beta, singles.beta, atol=1e-5)
    np.testing.assert_allclose(counts.standard_errors, singles.standard_errors, rtol=1e-5)


def test_a_weight_of_two_equals_writing_the_row_twice() -> None:
    table = nested_table(6)
    terms = "correct ~ smoke + size + (1 | image)"
    weighted = fit(table.with_columns(w=pl.lit(2.0)), fit_module.ModelFormula.parse(terms, weights="w"))
    doubled = fit(pl.concat([table, table]), terms)
    np.testing.assert_allclose(weighted.beta, doubled.beta, atol=1e-5)
    np.testing.assert_allclose(weighted.standard_errors, doubled.standard_errors, rtol=1e-5)
    assert weighted.log_likelihood == pytest.approx(doubled.log_likelihood, abs=1e-6)


def test_scaling_the_weights_of_a_linear_model_rescales_only_the_residual() -> None:
    table = nested_table(7).with_columns(w=1 + pl.col("smoke"), w4=4.0 * (1 + pl.col("smoke")))
    one, four = (fit(table, fit_module.ModelFormula.parse(LINEAR, family="gaussian", weights=w)) for w in ("w", "w4"))
    np.testing.assert_allclose(one.beta, four.beta, atol=1e-5)
    np.testing.assert_allclose(one.standard_errors, four.standard_errors, rtol=1e-5)
    assert four.sigma == pytest.approx(2 * one.sigma, rel=1e-5)  # type: ignore[operator]
    assert four.log_likelihood == pytest.approx(one.log_likelihood, abs=1e-6)


def test_an_offset_shifts_the_intercept_by_itself() -> None:
    table = nested_table(8).with_columns(shift=pl.lit(0.7))
    plain = fit(table, f"hits / total ~ smoke + {RANDOM}")
    moved = fit(table, f"hits / total ~ smoke + offset(shift) + {RANDOM}")
    np.testing.assert_allclose(moved.beta - plain.beta, [-0.7, 0.0], atol=1e-5)


def test_without_random_effects_the_fit_is_logistic_regression() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    table = nested_table(9)
    found = fit(table, "correct ~ smoke + size")
    design = statsmodels.add_constant(table.select("smoke", "size").to_numpy().astype(float))
    peer = statsmodels.Logit(table["correct"].to_numpy(), design).fit(disp=0)
    np.testing.assert_allclose(found.beta, peer.params, rtol=1e-6)
    np.testing.assert_allclose(found.standard_errors, peer.bse, rtol=1e-5)
    assert found.log_likelihood == pytest.approx(peer.llf, abs=1e-8)


def test_a_variance_of_zero_is_reported_as_singular() -> None:
    table = pl.DataFrame({"y": [4, 6, 5, 5, 6, 4, 5, 5], "n": [10] * 8, "g": list("aabbccdd")})
    found = fit(table, "y / n ~ (1 | g)")
    assert found.sd == {"g": 0.0}
    assert found.convergence.singular == ("g",)
    assert found.convergence.converged
    assert np.isnan(found.groups[0].log_sd_error)


def test_predictions_follow_the_labels_of_their_levels() -> None:
    rng = np.random.default_rng(0)
    truth = {f"g{i}": 0.8 * (i - 4.5) for i in range(10)}
    names = rng.permutation(np.repeat(list(truth), 30))
    eta = np.array([truth[name] for name in names])
    table = pl.DataFrame({"y": rng.binomial(20, 1 / (1 + np.exp(-eta))), "n": [20] * 300, "g": names})
    for family, text in (("binomial", "y / n ~ (1 | g)"), ("gaussian", "e ~ (1 | g)")):
        found = fit(table.with_columns(e=eta + rng.normal(0, 0.1, 300)), text, family=family)  # type: ignore[arg-type]
        group = found.groups[0]
        expected = np.array([truth[label] for label in group.labels])
        np.testing.assert_allclose(group.mean + found.beta[0], expected, atol=0.4)
        assert (group.spread > 0).all()


def test_a_hundred_thousand_levels_of_one_row_each_are_fitted() -> None:
    rng = np.random.default_rng(1)
    eta = 0.5 + rng.normal(0, 0.8, 100_000)
    table = pl.DataFrame({"y": rng.binomial(30, 1 / (1 + np.exp(-eta))), "n": 30, "g": np.arange(100_000)})
    found = fit(table, "y / n ~ (1 | g)", engine="numpy")
    assert found.sd["g"] == pytest.approx(0.8, abs=0.02)
    assert found.beta[0] == pytest.approx(0.5, abs=0.02)


def test_beta_binomial_finds_the_precision_that_made_the_data() -> None:
    rng = np.random.default_rng(2)
    mean = 1 / (1 + np.exp(-(0.3 + 0.5 * (np.arange(2000) % 2))))
    table = pl.DataFrame({"y": rng.binomial(40, rng.beta(8 * mean, 8 * (1 - mean))), "n": 40, "x": np.arange(2000) % 2})
    found = fit(table, "y / n ~ x", family="beta-binomial")
    assert found.precision == pytest.approx(8, rel=0.15)
    assert found.beta[1] == pytest.approx(0.5, abs=0.12)


def test_one_quadrature_point_is_the_laplace_approximation() -> None:
    table = nested_table(4)
    one = fit_quadrature(table, "correct ~ smoke + (1 | image)", points=1)
    same(one, fit(table, "correct ~ smoke + (1 | image)"), tolerance=1e-3)


def test_quadrature_converges_with_more_points() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(60), 4)
    y = rng.binomial(1, 1 / (1 + np.exp(-rng.normal(0, 1.5, 60)[group])))
    table = pl.DataFrame({"y": y, "g": group})
    few, many, more = (fit_quadrature(table, "y ~ (1 | g)", points=p) for p in (1, 15, 25))
    assert many.sd["g"] == pytest.approx(more.sd["g"], rel=1e-3)
    assert few.sd["g"] != pytest.approx(more.sd["g"], rel=1e-2)


@pytest.mark.parametrize("points", [0, 101])
def test_quadrature_refuses_what_it_cannot_do(points: int) -> None:
    with pytest.raises(Misuse, match="1 to 100 points"):
        fit_quadrature(nested_table(), "correct ~ (1 | image)", points=points)
    with pytest.raises(Misuse, match="one random intercept"):
        fit_quadrature(nested_table(), "correct ~ (1 | image) + (1 | algorithm)")


def test_unknown_or_missing_engines_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match="did you mean 'numba'"):
        fit(nested_table(), BINARY, engine="nunba")  # type: ignore[arg-type]
    monkeypatch.setattr(fit_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ExtraNeeded, match=r"surgvalid\[fast\]"):
        fit(nested_table(), BINARY, engine="numba")
    assert fit(nested_table(), BINARY).convergence.engine == "numpy"
