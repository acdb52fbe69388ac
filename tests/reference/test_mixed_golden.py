"""Ordered beta, beta-binomial, Firth, cluster-robust errors, degrees of freedom and marginal means against stored R.

Data and values lie in tests/golden/mixed, made there by `Rscript references.R` (versions.txt says by which versions).
"""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from clubsandwich import their_cr2
from mixed_predictions import means_table, slopes_over
from repository import REPOSITORY
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.logistic import cluster_covariance, fit_firth, fit_logistic
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.grid import emm, joint_test
from surgvalid.stats.mixed.inference.term_fits import contained_freedom
from surgvalid.stats.mixed.model.design import design_of, factor_of
from surgvalid.stats.mixed.model.formula import ModelFormula

FOLDER = REPOSITORY / "tests" / "golden" / "mixed"


def table(name: str) -> pl.DataFrame:
    return pl.read_csv(FOLDER / f"{name}.csv")


def stored(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text())  # type: ignore[no-any-return]


def column(rows: list[dict[str, Any]], name: str) -> np.ndarray:
    return np.array([row[name] for row in rows])


def agrees(found: MixedFit, reference: dict[str, Any], *, errors: float) -> None:
    """Coefficients to 1e-3 standard errors, as the specification asks; deviations and the precision to 1e-4."""
    se = np.array(list(reference["se"].values()))
    assert found.log_likelihood == pytest.approx(reference["logLik"], abs=1e-6)
    assert np.max(np.abs(found.beta - list(reference["beta"].values())) / se) < 1e-3
    np.testing.assert_allclose(found.standard_errors, se, rtol=errors)
    np.testing.assert_allclose(list(found.sd.values()), reference["sd"], rtol=1e-4)
    assert found.precision == pytest.approx(reference["phi"], rel=1e-4)


ORDERED = {"ml": "dice ~ x + w + (1 | video)", "slope": "dice ~ x + w + (1 | video) + (0 + x | video)"}


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", list(ORDERED))
def test_ordered_beta_equals_glmmtmb(name: str, engine: Any) -> None:
    pytest.importorskip("numba") if engine == "numba" else None
    found, reference = (
        fit(table("bounded"), ORDERED[name], family="ordered-beta", engine=engine),
        stored("bounded")[name],
    )
    agrees(found, reference, errors=1e-4)
    assert found.cutpoints is not None
    low, apart = reference["psi"]
    assert tuple(found.cutpoints) == pytest.approx((low, apart), abs=1e-3)
    assert found.convergence.converged


@pytest.mark.parametrize("name", list(ORDERED))
def test_restricted_ordered_beta_equals_glmmtmb(name: str) -> None:
    """Its coefficients are those of the joint mode, pulled towards zero; its errors add the spread of the variances."""
    reference = stored("bounded")["reml" if name == "ml" else "slope_reml"]
    found = fit(table("bounded"), ORDERED[name], family="ordered-beta", restricted=True)
    assert found.method == "laplace-reml"
    assert found.log_likelihood == pytest.approx(reference["logLik"], abs=1e-6)
    np.testing.assert_allclose(list(found.sd.values()), reference["sd"], rtol=1e-4)
    se = np.array(list(reference["se"].values()))
    np.testing.assert_allclose(found.standard_errors, se, rtol=0.02)
    assert np.max(np.abs(found.beta - list(reference["beta"].values())) / se) < 0.1


def test_beta_binomial_equals_glmmtmb_by_both_likelihoods() -> None:
    formula, reference = "hits / total ~ x + (1 | video)", stored("overdispersed")
    agrees(fit(table("overdispersed"), formula, family="beta-binomial"), reference["ml"], errors=1e-4)
    found = fit(table("overdispersed"), formula, family="beta-binomial", restricted=True)
    assert found.log_likelihood == pytest.approx(reference["reml"]["logLik"], abs=1e-6)
    assert found.sd["video"] == pytest.approx(reference["reml"]["sd"], rel=1e-4)


@pytest.mark.parametrize("name", ["binary", "counts"])
def test_firth_equals_brglm2(name: str) -> None:
    rows, reference = table("separated"), stored("separated")[name]
    design = rows.select(pl.lit(1.0).alias("one"), "x", "r", "size").to_numpy()
    hits, total = (rows["y"], np.ones(90)) if name == "binary" else (rows["hits"], rows["total"].to_numpy())
    found = fit_firth(design, hits.to_numpy().astype(float), total.astype(float))
    np.testing.assert_allclose(found.coefficients, list(reference["beta"].values()), atol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), list(reference["se"].values()), atol=1e-6)
    assert found.converged


def test_failures_by_firth_equals_brglm2() -> None:
    reference = stored("separated")
    for outcome, name in (({"outcome": "y"}, "binary"), ({"successes": "hits", "trials": "total"}, "counts")):
        result = failures(table("separated"), **outcome, fixed=["x", "r", "size"], separation="firth")
        np.testing.assert_allclose(result.table["estimate"], list(reference[name]["beta"].values()), atol=1e-6)
        np.testing.assert_allclose(result.table["std_error"], list(reference[name]["se"].values()), atol=1e-6)
        assert (result.records["fit"]["separation"], result.records["fit"]["method"]) == ("firth", "firth")
    result = failures(table("separated"), outcome="y", fixed=["x", "r", "video"], separation="firth")
    np.testing.assert_allclose(result.table["estimate"], list(reference["with_videos"]["beta"].values()), atol=1e-6)


def test_cluster_robust_covariances_equal_clubsandwich() -> None:
    """CR0 to rounding, and so CR2 with the root that they take (`clubsandwich`): theirs is symmetric on the scale of
    the outcome, ours on that of the linear predictor, where it costs no root of a matrix as large as the cluster."""
    rows, reference = table("clustered"), stored("clustered")
    design = rows.select(pl.lit(1.0).alias("one"), "smoke", "size").to_numpy()
    found = fit_logistic(design, rows["correct"].to_numpy(), ["one", "smoke", "size"])
    np.testing.assert_allclose(found.coefficients, list(reference["beta"].values()), rtol=1e-8)
    codes = np.unique(rows["video"].to_numpy(), return_inverse=True)[1]
    np.testing.assert_allclose(cluster_covariance(found, [codes], kind="CR0"), reference["CR0"], rtol=1e-6)
    ours, theirs = (np.sqrt(np.diag(c)) for c in (cluster_covariance(found, [codes], kind="CR2"), reference["CR2"]))
    np.testing.assert_allclose(ours, theirs, rtol=0.005)
    np.testing.assert_allclose(their_cr2(found, codes), reference["CR2"], rtol=1e-6)
    assert np.all(ours > np.sqrt(np.diag(reference["CR0"])))


LINEAR = "score ~ phase + size + smoke + w + phase:size + (1 | video)"


def test_degrees_of_freedom_equal_those_of_lmertest() -> None:
    found, reference = fit(table("phases"), LINEAR, family="gaussian"), stored("linear")
    rows = reference["satterthwaite"]
    assert found.freedom is not None
    np.testing.assert_allclose(found.beta, column(rows, "estimate"), atol=1e-5)
    np.testing.assert_allclose(found.standard_errors, column(rows, "se"), rtol=1e-4)
    np.testing.assert_allclose(found.freedom, column(rows, "df"), rtol=2e-3)


def test_the_freedom_of_a_property_of_whole_videos_is_about_that_of_kenward_and_roger() -> None:
    """Containment counts videos; Kenward and Roger's approximation comes to the same where videos are alike."""
    rows = stored("linear")["kenward_roger"]
    names = stored("linear")["terms"]
    frame = table("phases")
    design = design_of(frame, ModelFormula.parse(LINEAR, family="gaussian"))
    ours = contained_freedom(design, factor_of(frame, "video"))[design.names.index("w")]
    assert ours == 6
    assert rows[names.index("w")]["df"] == pytest.approx(ours, abs=0.2)


def test_means_pairs_trends_and_joint_tests_of_a_linear_model_equal_emmeans() -> None:
    found, reference = fit(table("phases"), LINEAR, family="gaussian"), stored("linear")
    means = means_table(emm(found, "phase"), ["phase"])
    np.testing.assert_allclose(means["mean"], column(reference["means"], "emmean"), atol=1e-5)
    np.testing.assert_allclose(means["std_error"], column(reference["means"], "SE"), atol=1e-5)
    pairs = emm(found, "phase").pairs(df=float(column(reference["pairs"], "df")[0]))
    np.testing.assert_allclose(pairs["estimate"], column(reference["pairs"], "estimate"), atol=1e-5)
    np.testing.assert_allclose(pairs["p_value"][:1], column(reference["pairs"], "p.value")[:1], atol=1e-4)
    trends = means_table(slopes_over(found, "size", "phase"), ["phase"], is_slope=True)
    np.testing.assert_allclose(trends["mean"], column(reference["trends"], "size.trend"), atol=1e-5)
    for row in reference["joint"]:
        test = joint_test(found, row["model term"], df=row["df2"])
        assert (test.rank, test.statistic) == (row["df1"], pytest.approx(row["F.ratio"], abs=6e-4))


def test_means_pairs_and_joint_tests_of_a_logit_model_equal_emmeans() -> None:
    found, reference = fit(table("phases"), "correct ~ phase*smoke + w + (1 | video)"), stored("categories")
    means = means_table(emm(found, "phase"), ["phase"])
    np.testing.assert_allclose(means["mean"], column(reference["means"], "emmean"), atol=1e-4)
    np.testing.assert_allclose(means["std_error"], column(reference["means"], "SE"), atol=1e-4)
    cells = means_table(emm(found, ["phase", "smoke"]), ["phase", "smoke"]).sort("smoke", "phase")
    np.testing.assert_allclose(cells["mean"], column(reference["cells"], "emmean"), atol=1e-4)
    for df, name in ((float("inf"), "pairs"), (6.0, "pairs_df6")):
        pairs = emm(found, "phase").pairs(df=df)
        np.testing.assert_allclose(pairs["estimate"], column(reference[name], "estimate"), atol=1e-4)
        np.testing.assert_allclose(pairs["p_value"], column(reference[name], "p.value"), atol=1e-4)
    for term, name in (("phase", "joint_phase_chi2"), ("phase:smoke", "joint_interaction_chi2")):
        test = joint_test(found, term)
        assert test.rank * test.statistic == pytest.approx(reference[name], rel=1e-4)


def test_the_stored_values_say_what_made_them() -> None:
    versions = (FOLDER / "versions.txt").read_text()
    named = ("glmmTMB", "emmeans", "lmerTest", "pbkrtest", "clubSandwich", "brglm2")
    assert all(f"\n{name} " in versions for name in named)
