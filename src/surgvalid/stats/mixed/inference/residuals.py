"""Simulated quantile residuals: where an outcome lies among outcomes the fitted model would produce.

Dunn and Smyth (1996), in the simulation form popularised by DHARMa: for each row the share of simulated outcomes
below the observed one, ties broken at random. If the model is right they are uniform, whatever the family;
too many near 0 and 1 mean overdispersion, too few underdispersion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.inference import draw_outcome, simulate


@dataclass(frozen=True)
class ResidualCheck:
    """Quantile residuals with three tests of them."""

    residuals: np.ndarray
    uniformity_p: float
    """Kolmogorov-Smirnov test against the uniform distribution."""
    dispersion: float
    """Spread of observed around expected outcomes, relative to that of simulated ones; 1 where right."""
    dispersion_p: float
    outliers: int
    """Rows outside every simulated outcome."""
    outlier_p: float
    """Whether there are more than a right model gives; outcomes of few values have fewer (0/1 outcomes none)."""
    conditional: bool


def quantile_residuals(
    fitted: MixedFit, *, draws: int = 250, conditional: bool = False, seed: int = 0
) -> ResidualCheck:
    """Residuals against `draws` simulated data sets.

    Args:
        fitted: The fitted model.
        draws: Simulated data sets.
        conditional: Keep the estimated random effects instead of drawing new ones. Estimated effects follow
            the data, so small departures then show less.
        seed: Of the simulation.
    """
    from scipy.stats import kstest  # loading scipy.stats takes most of a second, and few ask for residuals

    rng = stream(seed, "quantile-residuals")
    observed, rows = fitted.design.response, fitted.design.rows
    below, equal = np.zeros(rows), np.zeros(rows)
    total, square = np.zeros(rows), np.zeros(rows)
    for _ in range(draws):
        outcome = draw_outcome(fitted, fitted.linear_predictor, rng) if conditional else simulate(fitted, rng)
        below += outcome < observed
        equal += outcome == observed
        total += outcome
        square += outcome**2
    residuals = (below + rng.random(rows) * (equal + 1)) / (draws + 1)
    mean = total / draws
    variance = np.maximum(square / draws - mean**2, 1e-12)
    dispersion, dispersion_p = _dispersion(fitted, observed, mean, variance, draws, conditional, seed)
    outliers = int(np.sum((below == draws) | (below + equal == 0)))
    outlier_p = float(special.bdtrc(outliers - 1, rows, 2 / (draws + 1)))
    uniformity = float(kstest(residuals, "uniform").pvalue)
    return ResidualCheck(residuals, uniformity, dispersion, dispersion_p, outliers, outlier_p, conditional)


def _dispersion(
    fitted: MixedFit,
    observed: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    draws: int,
    conditional: bool,
    seed: int,
) -> tuple[float, float]:
    """Mean squared standardised residual against its own simulated distribution."""
    rng = stream(seed, "dispersion")
    seen = float(np.mean((observed - mean) ** 2 / variance))
    simulated = []
    for _ in range(min(draws, 100)):
        outcome = draw_outcome(fitted, fitted.linear_predictor, rng) if conditional else simulate(fitted, rng)
        simulated.append(float(np.mean((outcome - mean) ** 2 / variance)))
    above, below = (int(np.sum(side)) for side in (np.array(simulated) >= seen, np.array(simulated) <= seen))
    p_value = min(1.0, 2 * (min(above, below) + 1) / (len(simulated) + 1))
    return seen / float(np.mean(simulated)), p_value


def pearson_dispersion(fitted: MixedFit) -> float:
    """Pearson's chi-squared over residual degrees of freedom, given the random effects; 1 where counts are binomial."""
    design, eta = fitted.design, fitted.linear_predictor
    if fitted.family == "poisson":
        mean = variance = np.exp(np.minimum(eta, 700.0))
    else:
        probability = 1 / (1 + np.exp(-eta))
        mean, variance = design.trials * probability, design.trials * probability * (1 - probability)
    scaled = design.weights * (design.response - mean) ** 2 / np.maximum(variance, 1e-12)
    return float(scaled.sum() / max(design.rows - fitted.parameters, 1))


def normal_correlation(values: np.ndarray) -> float:
    """Correlation of sorted values with normal quantiles: one on a straight Q-Q plot (Filliben 1975)."""
    values = np.sort(np.asarray(values, float))
    if len(values) < 3 or np.ptp(values) == 0:
        return float("nan")
    quantiles = special.ndtri((np.arange(1, len(values) + 1) - 0.375) / (len(values) + 0.25))
    return float(np.corrcoef(values, quantiles)[0, 1])
