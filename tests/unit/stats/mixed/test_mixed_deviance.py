"""Laplace and linear deviance: gradients against differences, values against independent calculations."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from mixed_data import RANDOM, nested_table
from surgvalid.stats.mixed.fit.fit import kernel_for
from surgvalid.stats.mixed.fit.laplace import LaplaceDeviance
from surgvalid.stats.mixed.fit.lmm import LinearDeviance
from surgvalid.stats.mixed.fit.optimise import hessian, minimise
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.families import BetaBinomial, Binomial, Poisson
from surgvalid.stats.mixed.model.formula import ModelFormula

FORMULAS = {
    "counts": f"hits / total ~ smoke + size + {RANDOM}",
    "counts with row effect": f"hits / total ~ smoke + size + {RANDOM} + (1 | algorithm:instance)",
    "binary": f"correct ~ smoke + size + {RANDOM}",
    "crossed twice": "hits / total ~ smoke + (1 | algorithm) + (1 | algorithm:patient) + (1 | image)",
}


def laplace(text: str, *, kind: str = "binomial") -> LaplaceDeviance:
    design = design_of(
        nested_table(cell=0.5), ModelFormula.parse(text, family="poisson" if kind == "poisson" else "binomial")
    )
    families = {
        "binomial": lambda: Binomial(design.response, design.trials),
        "poisson": lambda: Poisson(design.response),
        "beta-binomial": lambda: BetaBinomial(design.response, design.trials),
    }
    kernel, _ = kernel_for(design.factors, design.rows, "numpy")
    deviance = LaplaceDeviance(families[kind](), design.fixed, design.offset, kernel)
    deviance.mode_tolerance = 1e-18
    return deviance


def check_gradient(deviance, point: np.ndarray) -> None:
    step = 1e-5
    numeric = [(deviance(point + h)[0] - deviance(point - h)[0]) / (2 * step) for h in np.eye(len(point)) * step]
    np.testing.assert_allclose(deviance(point)[1], numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("text", FORMULAS.values(), ids=FORMULAS.keys())
@pytest.mark.parametrize("seed", [0, 1])
def test_the_laplace_gradient_is_exact(text: str, seed: int) -> None:
    deviance = laplace(text)
    start = deviance.start().parameters
    check_gradient(deviance, start + np.random.default_rng(seed).normal(0, 0.3, len(start)))


def test_the_gradient_is_exact_for_poisson_and_beta_binomial() -> None:
    for text, kind in ((f"count ~ smoke + {RANDOM}", "poisson"), (f"hits / total ~ smoke + {RANDOM}", "beta-binomial")):
        deviance = laplace(text, kind=kind)
        check_gradient(deviance, deviance.start().parameters + 0.2)


@pytest.mark.parametrize("text", FORMULAS.values(), ids=FORMULAS.keys())
def test_the_composed_hessian_equals_differences_of_the_whole_gradient(text: str) -> None:
    deviance = laplace(text)
    start = deviance.start()
    point = minimise(deviance, start.parameters, start.scale)[0]
    composed, differenced = deviance.hessian(point, start.scale), hessian(deviance, point, start.scale)
    np.testing.assert_allclose(composed, differenced, atol=2e-5)


def test_laplace_is_exact_where_the_integrand_is_normal() -> None:
    """One level per row and many trials: compare with brute-force integration."""
    hits, trials = np.array([3000.0, 7000.0, 5500.0]), np.full(3, 10_000.0)
    design = design_of(
        pl.DataFrame({"y": hits, "n": trials, "g": ["a", "b", "c"]}), ModelFormula.parse("y / n ~ (1 | g)")
    )  # fmt: skip
    kernel, _ = kernel_for(design.factors, 3, "numpy")
    family = Binomial(hits, trials)
    value = LaplaceDeviance(family, design.fixed, design.offset, kernel)(np.array([np.log(0.5), 0.1]))[0]
    grid = np.linspace(-4, 4, 40_001)
    probability = 1 / (1 + np.exp(-(0.1 + grid)))
    density = stats.norm.pdf(grid, scale=0.5)
    exact = sum(np.log(np.trapezoid(stats.binom.pmf(y, 10_000, probability) * density, grid)) for y in hits)
    assert family.saturated - value == pytest.approx(exact, abs=2e-4)


@pytest.mark.parametrize("restricted", [True, False])
def test_linear_gradients_are_exact_profiled_or_not(restricted: bool) -> None:
    design = design_of(nested_table(), ModelFormula.parse(f"score ~ smoke + size + {RANDOM}", family="gaussian"))
    kernel, _ = kernel_for(design.factors, design.rows, "numpy")
    weights = np.random.default_rng(0).uniform(0.5, 2, design.rows)
    deviance = LinearDeviance(design.response, design.fixed, weights, kernel, restricted=restricted)
    check_gradient(deviance, np.array([-0.3, 0.2, -1.0, 0.1]))
    check_gradient(deviance.unprofiled, np.array([-0.3, 0.2, -1.0, 0.1, 0.05]))


def test_the_linear_likelihood_is_the_normal_density() -> None:
    design = design_of(nested_table(), ModelFormula.parse(f"score ~ smoke + {RANDOM}", family="gaussian"))
    kernel, _ = kernel_for(design.factors, design.rows, "numpy")
    deviance = LinearDeviance(design.response, design.fixed, np.ones(design.rows), kernel, restricted=False)
    sd, sigma = np.array([0.4, 0.3, 0.6, 0.5]), 0.9
    value = deviance.unprofiled(np.log(np.append(sd, sigma)))[0]
    covariance = sigma**2 * np.eye(design.rows)
    for s, f in zip(sd, design.factors, strict=True):
        covariance += s**2 * (f.codes[:, None] == f.codes)
    precision = np.linalg.inv(covariance)
    beta = np.linalg.solve(design.fixed.T @ precision @ design.fixed, design.fixed.T @ precision @ design.response)
    expected = stats.multivariate_normal.logpdf(design.response, design.fixed @ beta, covariance)
    assert -value == pytest.approx(expected, abs=1e-8)
