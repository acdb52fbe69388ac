"""Firth's fit of a design without random effects, tested by the penalised profile (see `surgeval.stats.firth`)."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import Misuse
from surgeval.stats.corrections import adjusted
from surgeval.stats.firth import fit_firth, profile_drop
from surgeval.stats.mixed.design import INTERCEPT, Design
from surgeval.stats.mixed.families import Binomial
from surgeval.stats.mixed.inference import crossing
from surgeval.stats.mixed.result import Convergence, MixedFit
from surgeval.stats.mixed.term_tests import TermTests, term_tests


def firth_tested(design: Design, *, level: float = 0.95) -> tuple[MixedFit, TermTests]:
    """The fit, and every coefficient with p value and interval by the penalised profile.

    Raises:
        Misuse: The design has random effects.
    """
    if design.factors:
        raise Misuse("Firth's fit knows no random effects; leave them out, or use the normal penalty")
    mixed_fit = firth_fit(design)
    tests = term_tests(mixed_fit, None, inference="wald-z", level=level)
    bound = float(stats.chi2.ppf(level, 1))
    rows = [_profiled(mixed_fit, j, bound) for j in range(len(mixed_fit.names))]
    p = np.array([row[0] for row in rows])
    counted = np.where([name == INTERCEPT for name in mixed_fit.names], np.nan, p)
    table = tests.table.with_columns(
        pl.Series("p_value", p),
        pl.Series("low", [row[1] for row in rows]),
        pl.Series("high", [row[2] for row in rows]),
        pl.Series("p_holm", adjusted(counted, "holm")).fill_nan(None),
        pl.Series("p_bh", adjusted(counted, "bh")).fill_nan(None),
        pl.lit("chi-squared, Firth's profile").alias("method"),
    )
    return mixed_fit, TermTests(table, (), tests.findings, tests.inference, tests.video)


def firth_fit(design: Design) -> MixedFit:
    """The fit in the form that every table of a failure analysis is made from."""
    hits, draws = design.weights * design.response, design.weights * design.trials
    penalised = fit_firth(design.fixed, hits, draws, offset=design.offset)
    predictor = design.fixed @ penalised.coefficients + design.offset
    family = Binomial(design.response, design.trials, design.weights)
    smallest = float(np.linalg.eigvalsh(penalised.covariance)[0])
    return MixedFit(
        design=design, method="firth", family="binomial", beta=penalised.coefficients, covariance=penalised.covariance,
        groups=(), log_likelihood=family.value(predictor) + family.saturated, parameters=len(design.names),
        convergence=Convergence(penalised.converged, (), penalised.steps, penalised.steps, 0.0, smallest, "numpy"),
        linear_predictor=predictor,
    )  # fmt: skip


def _profiled(fitted: MixedFit, j: int, bound: float) -> tuple[float, float, float]:
    """The p value of a coefficient and its limits."""
    design = fitted.design
    hits, draws = design.weights * design.response, design.weights * design.trials
    drop = profile_drop(design.fixed, hits, draws, j, offset=design.offset)
    estimate, step = float(fitted.beta[j]), float(np.sqrt(bound) * fitted.standard_errors[j])
    low, high = (crossing(drop, estimate, side * step, bound) for side in (-1, 1))
    return float(stats.chi2.sf(max(drop(0.0), 0.0), 1)), low, high
