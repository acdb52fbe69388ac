"""Restricted likelihood, random slopes and penalties against stored fits of glmmTMB, lme4 and blme."""

from typing import Any

import numpy as np
import pytest

from mixed_data import stored_inference as stored
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula

BINARY = "correct ~ phase + smoke + size + model + (1 | video)"


def agrees(found: MixedFit, reference: dict[str, Any], *, log_lik: float, beta: float, errors: float) -> None:
    expected = np.array(list(reference["beta"].values()))
    given = np.sqrt(np.diag(np.array(reference["vcov"])))
    assert found.log_likelihood == pytest.approx(reference["logLik"], abs=log_lik)
    assert np.max(np.abs(found.beta - expected) / given) < beta
    np.testing.assert_allclose(found.standard_errors, given, rtol=errors)
    np.testing.assert_allclose(list(found.sd.values()), list(reference["sd"].values()), rtol=1e-5)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_a_random_slope_equals_that_of_glmmtmb(engine: Any) -> None:
    table, reference = stored("set2_binary")
    pytest.importorskip("numba") if engine == "numba" else None
    found = fit(table, f"{BINARY} + (0 + smoke | video)", engine=engine)
    agrees(found, reference["slope_uncorrelated"], log_lik=1e-8, beta=1e-4, errors=1e-5)
    assert fit(table, "correct ~ phase + smoke + size + model + (smoke || video)").beta.tolist() == pytest.approx(
        found.beta.tolist(), abs=1e-9
    )


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_the_restricted_likelihood_equals_that_of_glmmtmb(engine: Any) -> None:
    """The standard errors of glmmTMB add the spread of the variances through the joint mode, hence 2 %."""
    table, reference = stored("set2_binary")
    pytest.importorskip("numba") if engine == "numba" else None
    found = fit(table, BINARY, restricted=True, engine=engine)
    assert found.method == "laplace-reml"
    assert found.log_likelihood == pytest.approx(reference["reml"]["logLik"], abs=1e-6)
    assert found.sd["video"] == pytest.approx(reference["reml"]["sd"]["video"], rel=1e-5)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(np.array(reference["reml"]["vcov"]))), rtol=0.02)


def test_an_interaction_with_the_group_equals_that_of_glmmtmb() -> None:
    table, reference = stored("set2_binary")
    found = fit(table, f"{BINARY} + (1 | video:smoke)")
    assert found.log_likelihood == pytest.approx(reference["video_by_smoke"]["logLik"], abs=1e-6)


@pytest.mark.parametrize("width", [2.5, 1.5])
def test_a_normal_penalty_equals_the_prior_of_blme(width: float) -> None:
    table, reference = stored("set4_separated")
    expected = reference[f"normal_{width}_glmm"]
    design = design_of(table, ModelFormula.parse("y ~ x + r + (1 | video)"), separation="keep")
    found = fit(design, penalty={"x": 1 / width**2, "r": 1 / width**2})
    np.testing.assert_allclose(found.beta, list(expected["beta"].values()), atol=1e-4)
    np.testing.assert_allclose(found.standard_errors, list(expected["se"].values()), atol=1e-4)
    assert found.sd["video"] == pytest.approx(expected["sd"], abs=1e-4)
