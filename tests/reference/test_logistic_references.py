"""Our cluster-robust logistic regression against statsmodels.

R's sandwich differs by named factors only: `vcovCL(type = "HC1")` is CR1, and `vcovCL(type = "HC0")`, its
default for glm, is CR0 times G / (G - 1).
"""

import json

import numpy as np
import pytest
import statsmodels.api as sm

from repository import REPOSITORY
from surgvalid.stats.mixed.fit.logistic import cluster_covariance, fit_logistic


def problem(seed: int, rows: int = 400):
    rng = np.random.default_rng(seed)
    video = rng.integers(0, 25, rows)
    other = rng.integers(0, 30, rows)
    design = np.column_stack([np.ones(rows), rng.random(rows) < 0.4, rng.normal(size=rows)]).astype(float)
    effect = design @ [0.3, -0.8, 0.5] + rng.normal(size=25)[video] + rng.normal(size=30)[other]
    outcome = (rng.random(rows) < 1 / (1 + np.exp(-effect))).astype(float)
    return design, outcome, video, other


@pytest.mark.parametrize("seed", range(4))
def test_coefficients_and_one_way_covariances_equal_statsmodels(seed: int) -> None:
    design, outcome, video, _ = problem(seed)
    fit = fit_logistic(design, outcome, ["a", "b", "c"])
    model = sm.Logit(outcome, design)
    for kind, corrected in (("CR1", True), ("CR0", False)):
        theirs = model.fit(disp=0, cov_type="cluster", cov_kwds={"groups": video, "use_correction": corrected})
        np.testing.assert_allclose(fit.coefficients, theirs.params, rtol=1e-8)
        np.testing.assert_allclose(cluster_covariance(fit, [video], kind=kind), theirs.cov_params(), rtol=1e-6)
    assert fit.log_likelihood == pytest.approx(theirs.llf)


@pytest.mark.parametrize("seed", range(4))
def test_two_way_covariances_equal_statsmodels(seed: int) -> None:
    design, outcome, video, other = problem(seed)
    fit = fit_logistic(design, outcome, ["a", "b", "c"])
    groups = np.stack([video, other], axis=1)
    theirs = sm.Logit(outcome, design).fit(disp=0, cov_type="cluster", cov_kwds={"groups": groups})
    np.testing.assert_allclose(cluster_covariance(fit, [video, other], kind="CR1"), theirs.cov_params(), rtol=1e-6)


def test_case_weights_equal_rows_written_out() -> None:
    design, outcome, _video, _ = problem(9, rows=120)
    weights = np.random.default_rng(0).integers(0, 4, 120)
    weighted = fit_logistic(design, outcome, ["a", "b", "c"], weights=weights)
    written = sm.Logit(np.repeat(outcome, weights), np.repeat(design, weights, axis=0)).fit(disp=0)
    np.testing.assert_allclose(weighted.coefficients, written.params, rtol=1e-8)


STORED = REPOSITORY / "tests" / "golden" / "sandwich"


def test_covariances_equal_those_that_r_s_sandwich_computed() -> None:
    """Stored output of `fit.R` beside the data; R itself is not needed."""
    table = np.genfromtxt(STORED / "logit.csv", delimiter=",", names=True)
    r = json.loads((STORED / "logit_sandwich.json").read_text())
    design = np.column_stack([np.ones(len(table)), table["smoke"], table["window"]])
    video, template = table["video"].astype(int), table["template"].astype(int)
    fit = fit_logistic(design, table["correct"], ["(Intercept)", "smoke", "window"])
    np.testing.assert_allclose(fit.coefficients, r["coefficients"], rtol=1e-9)
    assert fit.log_likelihood == pytest.approx(r["log_likelihood"], rel=1e-12)
    one_way, few = cluster_covariance(fit, [video], kind="CR0"), len(np.unique(video))
    np.testing.assert_allclose(one_way, r["HC0_video_no_cadjust"], rtol=1e-7)
    np.testing.assert_allclose(one_way * few / (few - 1), r["HC0_video"], rtol=1e-7)
    np.testing.assert_allclose(cluster_covariance(fit, [video], kind="CR1"), r["HC1_video"], rtol=1e-7)
    both = cluster_covariance(fit, [video, template], kind="CR0")
    np.testing.assert_allclose(both, r["HC0_both_no_cadjust"], rtol=1e-7)
    np.testing.assert_allclose(cluster_covariance(fit, [video, template], kind="CR1"), r["HC1_both"], rtol=1e-7)
