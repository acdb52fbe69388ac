"""Adaptive Gauss-Hermite quadrature for a model with one random intercept.

The likelihood of a level is an integral over its effect; Laplace replaces the integrand by a normal curve at
its mode, quadrature evaluates it at `points` places around that mode (Pinheiro and Bates 1995). With one point
both agree. It matters for few 0/1 outcomes per level, where Laplace underestimates the variance.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.optimise import optimum
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.model.design import Design, design_of
from surgvalid.stats.mixed.model.families import Binomial, Poisson
from surgvalid.stats.mixed.model.formula import ModelFormula


class QuadratureDeviance:
    """Negative log-likelihood in (log sd, coefficients), with the gradient by central differences."""

    def __init__(self, design: Design, points: int) -> None:
        self.design, self.points = design, points
        self.family: Binomial | Poisson = (
            Poisson(design.response, design.weights)
            if design.model.family == "poisson"
            else Binomial(design.response, design.trials, design.weights)
        )
        self.codes, self.levels = design.factors[0].codes, design.factors[0].levels
        self.nodes, log_weights = _hermite(points)
        self.log_weights = log_weights + self.nodes**2
        self.effects = np.zeros(self.levels)
        self.evaluations = 0

    def value(self, parameters: np.ndarray) -> float:
        """The negative log-likelihood."""
        sd, base = np.exp(parameters[0]), self.design.fixed @ parameters[1:] + self.design.offset
        modes, widths = self._modes(base, sd)
        self.evaluations += 1
        totals = np.empty((self.points, self.levels))
        for k in range(self.points):
            effect = modes + np.sqrt(2.0) * widths * self.nodes[k]
            rows = _row_values(self.family, base + sd * effect[self.codes])
            totals[k] = np.bincount(self.codes, rows, minlength=self.levels) - effect**2 / 2 + self.log_weights[k]
        integrals = special.logsumexp(totals, axis=0) + np.log(widths) - 0.5 * np.log(np.pi)
        return -float(integrals.sum())

    def _modes(self, base: np.ndarray, sd: float) -> tuple[np.ndarray, np.ndarray]:
        """Most likely spherical effect of each level and the width of the curve there."""
        effects = self.effects
        for _ in range(100):
            score, weight = self.family.terms(base + sd * effects[self.codes])
            slope = sd * np.bincount(self.codes, score, minlength=self.levels) - effects
            curve = 1 + sd**2 * np.bincount(self.codes, weight, minlength=self.levels)
            step = np.clip(slope / curve, -2.0, 2.0)
            effects = effects + step
            if np.max(np.abs(step)) < 1e-10:
                break
        self.effects = effects
        return effects, 1 / np.sqrt(curve)

    def __call__(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        steps = np.eye(len(parameters)) * self.step
        gradient = [(self.value(parameters + h) - self.value(parameters - h)) / (2 * h.max()) for h in steps]
        return self.value(parameters), np.array(gradient)

    step: np.ndarray | float = 1e-4


def fit_quadrature(
    table: pl.DataFrame | Design, model: ModelFormula | str | None = None, *, points: int = 9, where: str = "table"
) -> MixedFit:
    """The model with one random intercept, its likelihood by adaptive quadrature with `points` points.

    Raises:
        Misuse: The model has no or several random intercepts, or is linear (where it would change nothing).
    """
    if not 1 <= points <= 100:
        raise Misuse(f"quadrature needs 1 to 100 points, got {points}")
    if not isinstance(table, Design):
        if model is None:
            raise Misuse("a table needs a model or a formula to be fitted with")
        table = design_of(table, ModelFormula.parse(model) if isinstance(model, str) else model, where=where)
    if (
        len(table.factors) != 1
        or table.factors[0].values is not None
        or table.model.family in ("gaussian", "ordered-beta")
    ):
        raise Misuse(
            f"quadrature integrates over one random intercept of a binomial or Poisson model; this one has "
            f"{len(table.factors)} ({table.model.family}). Use the Laplace fit"
        )
    laplace = fit(table)
    group = laplace.groups[0]
    if group.sd == 0:
        return replace(laplace, method="quadrature")
    deviance = QuadratureDeviance(table, points)
    rough = np.r_[group.log_sd_error, laplace.standard_errors]
    deviance.step = 1e-3 * rough
    scale = np.diag(np.where(np.isfinite(rough), rough, 1.0))
    best = optimum(deviance, np.r_[np.log(group.sd), laplace.beta], scale)
    sd, errors = float(np.exp(best.parameters[0])), np.sqrt(np.diag(best.covariance))
    modes, widths = deviance._modes(table.fixed @ best.parameters[1:] + table.offset, sd)
    new = replace(group, sd=sd, log_sd_error=float(errors[0]), mean=sd * modes, spread=sd * widths)
    return replace(
        laplace,
        method="quadrature",
        beta=best.parameters[1:],
        covariance=best.covariance[1:, 1:],
        groups=(new,),
        log_likelihood=deviance.family.saturated - best.value,
        linear_predictor=table.fixed @ best.parameters[1:] + table.offset + new.mean[deviance.codes],
        convergence=replace(
            laplace.convergence,
            converged=best.converged,
            distance=best.newton_decrement,
            iterations=best.iterations,
            evaluations=deviance.evaluations,
        ),
    )


def _row_values(family: Binomial | Poisson, eta: np.ndarray) -> np.ndarray:
    """Log-likelihood of every row relative to the saturated model."""
    if isinstance(family, Poisson):
        return np.asarray(family.weights * (family.counts * eta - np.exp(np.minimum(eta, 700.0))) - family.base)
    return np.asarray(family.hits * eta - family.draws * np.logaddexp(0.0, eta) - family.base)


def _hermite(points: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite.hermgauss(points)
    return nodes, np.log(weights)
