"""Agreement with lme4 (tight tolerances) and glmmTMB on classic data sets.

lme4 at its defaults stops early and is no oracle to three digits, so the tight fits are compared with.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from mixed_profiles import profile_deviation, profile_interval
from mixed_quadrature import fit_quadrature
from shared_data import shared
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit


def data(name: str) -> pl.DataFrame:
    frame = pl.read_csv(shared("data", "mixed_models") / f"{name}.csv")
    if name == "cbpp":
        return frame.with_columns(pl.col("period").cast(pl.String), obs=pl.int_range(pl.len()))
    if name == "grouseticks":
        return frame.with_columns(pl.col("YEAR").cast(pl.String), cH=pl.col("HEIGHT") - pl.col("HEIGHT").mean())
    if name == "VerbAgg":
        return frame.with_columns(y=(pl.col("r2") == "Y").cast(pl.Int64))
    return frame


def stored(file: str, key: str) -> dict[str, Any]:
    found = json.loads((shared("data", "mixed_models") / file).read_text())[key]
    if "vc" in found:
        found["sd"] = {row["grp"]: row["sdcor"] for row in found["vc"].values()}
    return dict(found)


def r_name(name: str) -> str:
    """Our `period[2]` is R's `period2`."""
    return name.replace("[", "").replace("]", "")


def agrees(
    found: MixedFit, peer: dict[str, Any], *, groups: dict[str, str] | None = None, log_lik: bool = True
) -> None:
    names = [r_name(name) for name in found.names]
    beta, se = (np.array([peer[part][name] for name in names]) for part in ("beta", "se"))
    np.testing.assert_allclose((found.beta - beta) / se, 0, atol=1e-3)
    np.testing.assert_allclose(found.standard_errors, se, rtol=1e-3)
    for name, sd in found.sd.items():
        assert sd == pytest.approx(peer["sd"][(groups or {}).get(name, name)], rel=1e-3, abs=1e-6)
    if log_lik:
        assert found.log_likelihood == pytest.approx(peer["loglik"], abs=1e-5)
    assert found.convergence.converged


GLMM = [
    ("cbpp", "incidence / size ~ period + (1 | herd)", "binomial", "cbpp_laplace__lme4tight"),
    ("cbpp", "incidence / size ~ period + (1 | herd)", "binomial", "cbpp_laplace__tmb"),
    ("cbpp", "incidence / size ~ period + (1 | herd) + (1 | obs)", "binomial", "cbpp_olre__lme4tight"),
    ("cbpp", "incidence / size ~ period + (1 | herd) + (1 | obs)", "binomial", "cbpp_olre__tmb"),
    ("grouseticks", "TICKS ~ YEAR + cH + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION)", "poisson",
     "grouseticks_laplace__lme4tight"),
    ("grouseticks", "TICKS ~ YEAR + cH + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION)", "poisson",
     "grouseticks_laplace__tmb"),
    ("VerbAgg", "y ~ Anger + Gender + btype + situ + (1 | id) + (1 | item)", "binomial", "verbagg_laplace__lme4tight"),
    ("VerbAgg", "y ~ Anger + Gender + btype + situ + (1 | id) + (1 | item)", "binomial", "verbagg_laplace__tmb"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "family", "key"), GLMM, ids=[case[3] for case in GLMM])
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_generalised_models_agree_with_tight_fits_of_r(
    name: str, text: str, family: Any, key: str, engine: Any
) -> None:
    if engine == "numba":
        pytest.importorskip("numba")
    agrees(fit(data(name), text, family=family, engine=engine), stored("classic_tight.json", key))


LMM = [
    ("sleepstudy", "Reaction ~ Days + (1 | Subject)", "sleepstudy_int_REML", {}),
    ("Penicillin", "diameter ~ (1 | plate) + (1 | sample)", "penicillin_REML", {}),
    ("Pastes", "strength ~ (1 | batch / cask)", "pastes_REML", {"batch:cask": "cask:batch"}),
    ("Dyestuff2", "Yield ~ (1 | Batch)", "dyestuff2_singular_REML", {}),
]


@pytest.mark.parametrize(("name", "text", "key", "groups"), LMM, ids=[case[2] for case in LMM])
def test_linear_models_agree_with_lmer(name: str, text: str, key: str, groups: dict[str, str]) -> None:
    found, peer = fit(data(name), text, family="gaussian"), stored("lme4_classic.json", key)
    agrees(found, peer, groups=groups)
    assert found.sigma == pytest.approx(peer["sd"]["Residual"], rel=1e-3)


def test_the_singular_fit_is_exactly_zero_as_in_lme4() -> None:
    found = fit(data("Dyestuff2"), "Yield ~ (1 | Batch)", family="gaussian")
    assert found.sd["Batch"] == 0.0
    assert found.convergence.singular == ("Batch",)


@pytest.mark.parametrize("points", [9, 25])
def test_quadrature_agrees_with_lme4(points: int) -> None:
    """lme4 leaves out constants of the likelihood here, so coefficients and deviation are compared."""
    found = fit_quadrature(data("cbpp"), "incidence / size ~ period + (1 | herd)", points=points)
    agrees(found, stored("lme4_classic.json", f"cbpp_nAGQ{points}"), log_lik=False)


PROFILES = [
    ("cbpp", "incidence / size ~ period + (1 | herd)", "binomial", {"herd": (0.3460732, 1.0999746)}),
    ("Penicillin", "diameter ~ (1 | plate) + (1 | sample)", "gaussian",
     {"plate": (0.6335660, 1.1821040), "sample": (1.0957892, 3.5562916), "Residual": (0.4858454, 0.6294535)}),
    ("Pastes", "strength ~ (1 | batch) + (1 | batch:cask)", "gaussian",
     {"batch": (0.0, 2.946591), "batch:cask": (2.1579337, 4.053589), "Residual": (0.6520234, 1.085448)}),
]  # fmt: skip
"""Limits of `confint(fit, method = "profile")`, lme4 1.1-31 at its defaults; it interpolates between points."""


@pytest.mark.parametrize(("name", "formula", "family", "limits"), PROFILES, ids=[case[0] for case in PROFILES])
def test_profile_intervals_of_deviations_agree_with_lme4(
    name: str, formula: str, family: Any, limits: dict[str, tuple[float, float]]
) -> None:
    found = fit(data(name), formula, family=family)
    for group, (low, high) in limits.items():
        ours = profile_deviation(found, group)
        assert ours.low == pytest.approx(low, rel=2e-3)
        assert ours.high == pytest.approx(high, rel=2e-3)


def test_profile_intervals_of_coefficients_agree_with_lme4() -> None:
    found = fit(data("cbpp"), "incidence / size ~ period + (1 | herd)")
    for term, low, high in (("period[2]", -1.6167833, -0.4077631), ("period[4]", -2.5007506, -0.8007553)):
        ours = profile_interval(found, term)
        assert (ours.low, ours.high) == pytest.approx((low, high), abs=2e-3)
