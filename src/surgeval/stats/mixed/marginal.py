"""Estimated marginal means: the probability (or rate, or score) at each value of a property.

`conditional` is the value for a typical case, with all random effects at zero; `population` averages over
random effects, which is what a new, randomly drawn case will show. Other properties keep the values they have
in the data and the predictions are averaged over the rows. A logit is not linear, so the two differ: effects
look smaller in the population. Intervals are Wald on the scale of the linear predictor (delta method).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from scipy import special, stats

from surgeval.errors import UnknownName
from surgeval.results.tables import failures as tables
from surgeval.stats.mixed.design import INTERCEPT
from surgeval.stats.mixed.result import MixedFit

_POINTS = 25


def marginal_means(
    found: MixedFit, term: str, *, values: Sequence[float] = (0.0, 1.0), level: float = 0.95
) -> pl.DataFrame:
    """Rows `term, value, scale, mean, low, high`, two scales per value of the property.

    Raises:
        UnknownName: The model has no such coefficient.
    """
    if term not in found.names or term == INTERCEPT:
        raise UnknownName("property", term, found.names[1:])
    j, z = found.names.index(term), float(stats.norm.ppf(0.5 + level / 2))
    rows = []
    for value in values:
        matrix = found.design.fixed.copy()
        matrix[:, j] = value
        for scale, spread in (("conditional", 0.0), ("population", _random_sd(found))):
            mean, error = _averaged(found, matrix, spread)
            low, high = (_back(found, _link(found, mean) + sign * z * error) for sign in (-1, 1))
            rows.append({"term": term, "value": float(value), "scale": scale, "mean": mean, "low": low, "high": high})
    return tables.MARGINAL_MEANS.frame(rows)


def _random_sd(found: MixedFit) -> float:
    return float(np.sqrt(sum(group.sd**2 for group in found.groups)))


def _averaged(found: MixedFit, matrix: np.ndarray, spread: float) -> tuple[float, float]:
    """Mean response over the rows, and its standard error on the link scale."""
    eta = matrix @ found.beta + found.design.offset
    nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS if spread else 1)
    weights = weights / weights.sum()
    response, slope = np.zeros(len(eta)), np.zeros(len(eta))
    for node, weight in zip(nodes, weights, strict=True):
        value = _response(found, eta + spread * node)
        response += weight * value
        slope += weight * _response_slope(found, value)
    mean = float(response.mean())
    gradient = (slope @ matrix) / len(eta) / float(_response_slope(found, np.array([mean]))[0])
    return mean, float(np.sqrt(gradient @ found.covariance @ gradient))


def _response(found: MixedFit, eta: np.ndarray) -> np.ndarray:
    if found.family == "gaussian":
        return eta
    if found.family == "poisson":
        return np.asarray(np.exp(np.minimum(eta, 700.0)))
    return np.asarray(special.expit(eta))


def _response_slope(found: MixedFit, response: np.ndarray) -> np.ndarray:
    if found.family == "gaussian":
        return np.ones_like(response)
    return response if found.family == "poisson" else response * (1 - response)


def _link(found: MixedFit, mean: float) -> float:
    if found.family == "gaussian":
        return mean
    return float(np.log(mean) if found.family == "poisson" else special.logit(mean))


def _back(found: MixedFit, value: float) -> float:
    return float(_response(found, np.array([value]))[0])
