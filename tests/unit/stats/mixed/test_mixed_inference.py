import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from mixed_data import RANDOM, nested_table
from mixed_profiles import bootstrap, drop_one, profile_deviation, profile_interval, variance_intervals
from surgvalid.errors import Misuse, UnknownName
from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.fit.fit import fit, laplace_deviance
from surgvalid.stats.mixed.inference.diagnostics import co_occurrence, diagnose, inflation, leave_one_out, prevalences
from surgvalid.stats.mixed.inference.fit_tables import explained, residual_variance, variance_table
from surgvalid.stats.mixed.inference.inference import likelihood_ratio, simulate, wald_table
from surgvalid.stats.mixed.inference.marginal import marginal_means
from surgvalid.stats.mixed.inference.residuals import normal_correlation, pearson_dispersion, quantile_residuals
from surgvalid.stats.mixed.inference.term_tests import symbol
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.families import Binomial
from surgvalid.stats.mixed.model.formula import ModelFormula

TABLE = nested_table(11, trials=20, cell=0.0)
COUNTS = fit(TABLE, f"hits / total ~ smoke + size + {RANDOM}")
LINEAR = fit(TABLE, f"score ~ smoke + size + {RANDOM}", family="gaussian")
probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@settings(max_examples=30)
@given(probabilities)
@pytest.mark.long
def test_adjusted_p_values_agree_with_statsmodels(values: list[float]) -> None:
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    np.testing.assert_allclose(adjusted(np.array(values), "holm"), multipletests(values, method="holm")[1], atol=1e-12)
    np.testing.assert_allclose(adjusted(np.array(values), "bh"), multipletests(values, method="fdr_bh")[1], atol=1e-12)


def test_missing_p_values_do_not_count() -> None:
    assert adjusted(np.array([0.01, math.nan, 0.04]), "holm").tolist()[::2] == [0.02, 0.04]


def test_wald_intervals_are_estimate_plus_minus_quantile_times_error() -> None:
    row = wald_table(COUNTS).row(1, named=True)
    assert row["high"] - row["estimate"] == pytest.approx(1.959964 * row["std_error"], rel=1e-6)
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(row["t"])))
    assert wald_table(COUNTS)["p_holm"][0] is None


def test_linear_models_use_degrees_of_freedom_of_satterthwaite() -> None:
    assert LINEAR.freedom is not None
    assert (LINEAR.freedom < TABLE.height).all()
    row = wald_table(LINEAR).row(1, named=True)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(row["t"]), LINEAR.freedom[1]))


def test_balanced_one_way_data_have_the_textbook_degrees_of_freedom() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"g": np.repeat(np.arange(8), 5), "y": np.repeat(rng.normal(0, 2, 8), 5) + rng.normal(size=40)}
    )
    assert fit(table, "y ~ (1 | g)", family="gaussian").freedom == pytest.approx([7.0], rel=1e-3)


def test_a_variance_is_tested_with_half_the_chi_squared_tail() -> None:
    without = fit(TABLE, "hits / total ~ smoke + size + (1 | algorithm) + (1 | patient) + (1 | image)")
    test = likelihood_ratio(COUNTS, without, variances=1)
    assert test.freedom == 1
    assert test.p_value == pytest.approx(0.5 * stats.chi2.sf(test.statistic, 1))


def test_models_that_do_not_compare_are_refused() -> None:
    with pytest.raises(Misuse, match="same rows"):
        likelihood_ratio(COUNTS, fit(TABLE.head(60), "hits / total ~ smoke"))
    with pytest.raises(Misuse, match="restricted likelihoods"):
        likelihood_ratio(LINEAR, fit(TABLE, f"score ~ smoke + {RANDOM}", family="gaussian"))
    with pytest.raises(Misuse, match="no parameter more"):
        likelihood_ratio(COUNTS, COUNTS)
    with pytest.raises(Misuse, match="one by one"):
        likelihood_ratio(COUNTS, COUNTS, variances=2)


def test_dropping_terms_one_by_one_tests_each() -> None:
    table = drop_one(fit(TABLE, "hits / total ~ smoke + size + (1 | instance)"))
    assert table["term"].to_list() == ["smoke", "size", "(1 | instance)"]
    assert (table["statistic"] >= 0).all()


def test_a_profile_interval_matches_wald_where_the_likelihood_is_quadratic() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"x": np.arange(600) % 2, "g": np.arange(600) // 6})
    eta = 0.3 * table["x"].to_numpy() + rng.normal(0, 0.5, 100)[table["g"].to_numpy()]
    table = table.with_columns(y=rng.binomial(50, special.expit(eta)), n=pl.lit(50))
    found = fit(table, "y / n ~ x + (1 | g)")
    profile, wald = profile_interval(found, "x"), wald_table(found).row(1, named=True)
    assert profile.low == pytest.approx(wald["low"], abs=0.01 * wald["std_error"] + 1e-3)
    assert profile.high == pytest.approx(wald["high"], abs=0.01 * wald["std_error"] + 1e-3)
    with pytest.raises(UnknownName):
        profile_interval(found, "smok")


def test_the_bootstrap_error_matches_the_hessian() -> None:
    found = fit(TABLE, "hits / total ~ smoke + (1 | instance)")
    drawn = bootstrap(found, replicates=150, seed=3)
    assert drawn["std_error"][1] == pytest.approx(found.standard_errors[1], rel=0.25)
    assert drawn["term"].to_list() == ["(Intercept)", "smoke", "sd(instance)"]
    assert drawn.equals(bootstrap(found, replicates=150, seed=3))


def test_simulated_outcomes_have_the_fitted_mean() -> None:
    rng = stream(0, "test")
    means = np.mean([simulate(LINEAR, rng).mean() for _ in range(400)])
    assert means == pytest.approx(LINEAR.fixed_predictor.mean(), abs=0.1)


def test_variance_shares_sum_to_one_with_the_residual() -> None:
    shares = variance_table(LINEAR)
    assert shares["icc"].sum() == pytest.approx(1.0)
    assert shares["group"][-1] == "Residual"
    latent = variance_table(COUNTS)
    assert latent["icc"].sum() == pytest.approx(
        1 - residual_variance(COUNTS) / (latent["variance"].sum() + math.pi**2 / 3)
    )
    inside = latent.filter(pl.col("sd") > 0)
    assert ((inside["low"] < inside["sd"]) & (inside["sd"] < inside["high"])).all()


def test_explained_variance_of_fixed_effects_is_the_smaller_share() -> None:
    shares = explained(COUNTS)
    assert 0 < shares.marginal < shares.conditional < 1
    row_level = fit(TABLE.with_columns(row=pl.int_range(120)), "hits / total ~ smoke + (1 | row)")
    assert explained(row_level).marginal == explained(row_level).conditional


def test_population_means_are_nearer_to_one_half_than_conditional_ones() -> None:
    table = marginal_means(COUNTS, "smoke")
    wide = table.pivot("scale", index="value", values="mean")
    assert (abs(wide["population"] - 0.5) < abs(wide["conditional"] - 0.5)).all()
    assert ((table["low"] < table["mean"]) & (table["mean"] < table["high"])).all()
    with pytest.raises(UnknownName, match="did you mean 'smoke'"):
        marginal_means(COUNTS, "smokey")


def test_marginal_means_of_a_linear_model_differ_by_the_coefficient() -> None:
    means = marginal_means(LINEAR, "smoke").filter(pl.col("scale") == "population")["mean"]
    assert means[1] - means[0] == pytest.approx(LINEAR.beta[1])


def test_leaving_out_levels_reports_the_shift_in_standard_errors() -> None:
    text = "hits / total ~ smoke + (1 | patient) + (1 | instance)"
    table = leave_one_out(fit(TABLE, text), "patient")
    alone = fit(TABLE.filter(pl.col("patient") != "p1"), text).beta[1]
    own = table.filter((pl.col("left_out") == "p1") & (pl.col("term") == "smoke"))["estimate"][0]
    assert own == pytest.approx(alone, abs=1e-4)
    assert table["left_out"].n_unique() == TABLE["patient"].n_unique()
    assert table.filter(pl.col("term") == "smoke")["shift"].abs().max() > 0
    with pytest.raises(UnknownName):
        leave_one_out(COUNTS, "surgeon")
    with pytest.raises(Misuse, match="2 levels"):
        leave_one_out(
            fit(TABLE.filter(pl.col("algorithm") != "C"), "hits / total ~ smoke + (1 | algorithm)"), "algorithm"
        )


def test_residuals_of_a_right_model_are_uniform_and_of_a_wrong_one_are_not() -> None:
    rng = np.random.default_rng(4)
    group = np.repeat(np.arange(100), 5)
    eta = rng.normal(0, 0.7, 100)[group]
    right = pl.DataFrame({"y": rng.binomial(20, special.expit(eta)), "n": 20, "g": group})
    wrong = right.with_columns(y=rng.binomial(20, special.expit(eta + rng.normal(0, 1.2, 500))))
    good = quantile_residuals(fit(right, "y / n ~ (1 | g)"), draws=100)
    bad = quantile_residuals(fit(wrong, "y / n ~ (1 | g)"), draws=100, conditional=True)
    assert good.uniformity_p > 0.01
    assert good.outlier_p > 0.01
    assert np.corrcoef(good.residuals, right["y"])[0, 1] > 0.8
    assert good.dispersion == pytest.approx(1.0, abs=0.3)
    assert bad.dispersion > 1.5
    assert bad.dispersion_p < 0.05
    assert bad.outlier_p < 1e-6
    assert pearson_dispersion(fit(wrong, "y / n ~ (1 | g)")) > 2


def test_outcomes_that_can_have_no_outliers_are_no_sign_of_a_wrong_model() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(40), 20)
    chance = special.expit(rng.normal(0, 0.7, 40)[group])
    right = pl.DataFrame({"y": (rng.random(800) < chance).astype(int), "g": group})
    check = quantile_residuals(fit(right, "y ~ (1 | g)"), draws=60)
    assert (check.outliers, check.outlier_p) == (0, 1.0)


def test_the_straightness_of_a_normal_sample_is_near_one() -> None:
    rng = np.random.default_rng(0)
    assert normal_correlation(rng.normal(size=500)) > 0.99
    assert normal_correlation(rng.exponential(size=500)) < 0.95
    assert math.isnan(normal_correlation(np.ones(10)))


def test_variance_inflation_is_one_for_independent_columns_and_large_for_overlap() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    table = pl.DataFrame(
        {"y": rng.normal(size=400), "a": x, "b": x + 0.1 * rng.normal(size=400), "c": rng.normal(size=400)}
    )
    found = fit(table, "y ~ a + b + c", family="gaussian")
    vif, condition = inflation(found.design)
    assert vif["a"] > 50
    assert vif["c"] == pytest.approx(1.0, abs=0.05)
    assert condition > 5
    assert {finding.code for finding in diagnose(found).findings} >= {"collinear"}


def test_prevalence_and_co_occurrence_describe_the_properties() -> None:
    design = design_of(TABLE.with_columns(clear=1 - pl.col("smoke"), odd=pl.int_range(120) % 2), ModelFormula.parse(
        "hits / total ~ smoke + odd + (1 | instance)"))  # fmt: skip
    shares = prevalences(design)
    assert shares["share"][0] == pytest.approx(TABLE["smoke"].mean())
    assert co_occurrence(design).row(0)[:2] == ("odd", "smoke")


def test_sparse_properties_and_few_levels_are_found() -> None:
    table = TABLE.with_columns(rare=(pl.col("instance").is_in(["i0", "i7"])).cast(pl.Int64))
    found = fit(table, "hits / total ~ smoke + rare + (1 | algorithm) + (1 | instance)")
    codes = {finding.code for finding in diagnose(found).findings}
    assert {"sparse", "few-levels"} <= codes


@given(st.floats(0.01, 20), st.floats(0, 1))
def test_symbols_point_in_the_direction_of_the_effect(ratio: float, p_value: float) -> None:
    for symmetric in (False, True):
        found = symbol(ratio, p_value, symmetric=symmetric)
        if p_value > 0.05 or ratio == 1:
            assert found == ""
        else:
            assert set(found) == ({"+"} if ratio > 1 else {"-"})


def test_symmetric_bins_mirror_each_other() -> None:
    for ratio in (1.1, 1.25, 1.3, 1.49, 1.51, 4.0):
        assert symbol(1 / ratio, 0.01, symmetric=True) == symbol(ratio, 0.01).replace("+", "-")
    assert symbol(1.3, 0.01, symmetric=True) == symbol(1.3, 0.01)


def test_symbols_have_the_bins_of_the_seed() -> None:
    ratios = [1.25, 1.26, 1.5, 1.51, 0.75, 0.74, 0.5, 0.49]
    assert [symbol(r, 0.01) for r in ratios] == ["+", "++", "++", "+++", "-", "--", "--", "---"]


def test_profile_intervals_of_deviations_lie_around_the_estimate_and_grow_with_the_level() -> None:
    for found, name in ((COUNTS, "instance"), (LINEAR, "Residual")):
        narrow, wide = (profile_deviation(found, name, level=level) for level in (0.8, 0.95))
        assert 0 < wide.low < narrow.low < narrow.value < narrow.high < wide.high < math.inf


def test_the_profile_drops_by_the_quantile_at_its_limits() -> None:
    """With one factor: the deviance at the limit, minimised by scipy, lies half a quantile above the optimum."""
    found = fit(TABLE, "hits / total ~ smoke + (1 | instance)")
    limits = profile_deviation(found, "instance")
    design = found.design
    deviance = laplace_deviance(design, Binomial(design.response, design.trials), design.factors, "numpy")
    best = deviance.family.saturated - found.log_likelihood
    for sd in (limits.low, limits.high):
        held = optimize.minimize(lambda beta, sd=sd: deviance(np.r_[np.log(sd), beta])[0], found.beta, tol=1e-10)
        assert 2 * (held.fun - best) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=2e-3)


def test_a_deviation_estimated_as_zero_has_an_interval_from_zero() -> None:
    table = TABLE.with_columns(coin=pl.Series(np.tile(["a", "b", "c", "d"], TABLE.height)[: TABLE.height]))
    found = fit(table, "hits / total ~ smoke + (1 | instance) + (1 | coin)")
    limits = profile_deviation(found, "coin")
    assert limits.low == 0
    assert 0 < limits.high < 1


def test_the_interval_of_a_weak_effect_reaches_zero_though_its_estimate_does_not() -> None:
    limits = profile_deviation(COUNTS, "patient")
    assert limits.low == 0 < limits.value < limits.high


def test_every_method_gives_intervals_for_every_deviation() -> None:
    for method in ("wald", "profile", "bootstrap"):
        table = variance_intervals(LINEAR, method=method, replicates=8)  # type: ignore[arg-type]
        assert table["group"].to_list() == ["algorithm", "patient", "image", "instance", "Residual"]
        assert (table["low"] <= table["high"]).all()
        assert table["method"].unique().to_list() == [method]


def test_profiling_what_the_model_does_not_have_is_refused() -> None:
    with pytest.raises(UnknownName, match="patient"):
        profile_deviation(COUNTS, "pateint")
    with pytest.raises(UnknownName):
        variance_intervals(COUNTS, method="exact")  # type: ignore[arg-type]
