"""Outcome families: log-likelihood of a row as a function of its linear predictor, with derivatives.

`score` is the first derivative, `weight` the negative second, `slope` the derivative of `weight`. The
log-likelihood is summed relative to the saturated model, because that of pixel counts is about -10^7 and
its leading digits would drown the differences an optimiser needs; `saturated` adds it back.

Beta-binomial: successes are binomial with a probability drawn from a beta distribution of mean p and
precision phi (Skellam 1948), the sensitivity analysis for overdispersed counts. Its second derivative is
the observed one, which can be negative in a row; the Laplace approximation only needs the sums to be positive.
"""

from __future__ import annotations

from copy import copy
from typing import NamedTuple, Protocol, Self

import numpy as np
from scipy import special

from surgvalid.stats.mixed.fit.products import dot

EPSILON = 4 * float(np.finfo(float).eps)
NONE = np.zeros(0)
"""No parameters beyond the linear predictor."""


def _length(values: np.ndarray) -> float:
    return float(np.sqrt(dot(values, values)))


class Terms(NamedTuple):
    """First and negative second derivative of the log-likelihood, row by row."""

    score: np.ndarray
    weight: np.ndarray


class Family(Protocol):
    """What the Laplace deviance needs to know about an outcome."""

    name: str
    saturated: float
    """Log-likelihood of the saturated model."""
    noise: float
    """Rounding error to expect in `value`, which an optimiser must not chase."""
    start: np.ndarray
    """Where the search for the parameters beyond the linear predictor begins; empty where there are none."""

    def value(self, eta: np.ndarray, nuisance: np.ndarray, /) -> float:
        """Log-likelihood relative to the saturated model; `nuisance` are the parameters beyond the linear predictor."""
        ...

    def terms(self, eta: np.ndarray, nuisance: np.ndarray, /) -> Terms:
        """Score and weight."""
        ...

    def slope(self, eta: np.ndarray, nuisance: np.ndarray, /) -> np.ndarray:
        """Derivative of the weight."""
        ...

    def reordered(self, order: np.ndarray) -> Family:
        """The family with its rows in another order."""
        ...


class Binomial:
    """Successes out of trials with a logit link; Bernoulli when every trial count is one."""

    name, start = "binomial", NONE

    def __init__(self, successes: np.ndarray, trials: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.successes, self.trials = np.asarray(successes, float), np.asarray(trials, float)
        self.weights = np.ones(len(self.trials)) if weights is None else np.asarray(weights, float)
        k, n, w = self.successes, self.trials, self.weights
        self.base = w * (special.xlogy(k, k / n) + special.xlog1py(n - k, -k / n))
        choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        self.saturated = float(np.sum(w * choose) + np.sum(self.base))
        self.hits, self.draws = w * k, w * n
        self.noise = EPSILON * _length(self.draws)

    def value(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> float:
        """Log-likelihood relative to the saturated model."""
        soft = np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
        return float(np.sum(self.hits * eta - self.draws * soft - self.base))

    def terms(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> Terms:
        """Score and weight."""
        small = np.exp(-np.abs(eta))
        share = 1.0 / (1.0 + small)
        probability = np.where(eta >= 0, share, small * share)
        return Terms(self.hits - self.draws * probability, self.draws * small * share * share)

    def slope(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> np.ndarray:
        """Derivative of the weight."""
        small = np.exp(-np.abs(eta))
        share = 1.0 / (1.0 + small)
        return np.asarray(self.draws * small * share**3 * np.copysign(1.0 - small, -eta))

    def reordered(self, order: np.ndarray) -> Self:
        """The family with its rows in another order."""
        twin = copy(self)
        for name in "successes trials weights base hits draws".split():
            setattr(twin, name, getattr(self, name)[order])
        return twin


class Poisson:
    """Counts with a log link."""

    name, start = "poisson", NONE

    def __init__(self, counts: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.counts = np.asarray(counts, float)
        self.weights = np.ones(len(self.counts)) if weights is None else np.asarray(weights, float)
        y, w = self.counts, self.weights
        self.base = w * (special.xlogy(y, y) - y)
        self.saturated = float(np.sum(self.base) - np.sum(w * special.gammaln(y + 1)))
        self.noise = EPSILON * _length(w * y)

    def value(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> float:
        """Log-likelihood relative to the saturated model."""
        return float(np.sum(self.weights * self.counts * eta - self.slope(eta) - self.base))

    def terms(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> Terms:
        """Score and weight."""
        rate = self.slope(eta)
        return Terms(self.weights * self.counts - rate, rate)

    def slope(self, eta: np.ndarray, _nuisance: np.ndarray = NONE, /) -> np.ndarray:
        """Derivative of the weight."""
        return np.asarray(self.weights * np.exp(np.minimum(eta, 700.0)))

    def reordered(self, order: np.ndarray) -> Poisson:
        """The family with its rows in another order."""
        return Poisson(self.counts[order], self.weights[order])


class BetaBinomial:
    """Successes out of trials whose probability varies by a beta distribution of precision phi."""

    name, start = "beta-binomial", np.array([2.0])
    saturated = 0.0

    def __init__(self, successes: np.ndarray, trials: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.successes, self.trials = np.asarray(successes, float), np.asarray(trials, float)
        self.weights = np.ones(len(self.trials)) if weights is None else np.asarray(weights, float)
        k, n = self.successes, self.trials
        self.noise = 1e-9 + EPSILON * _length(self.weights * n)
        self.choose = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)

    def value(self, eta: np.ndarray, nuisance: np.ndarray, /) -> float:
        """Log-likelihood."""
        phi, p = np.exp(nuisance[0]), np.clip(special.expit(eta), 1e-12, 1 - 1e-12)
        k, n, a, b = self.successes, self.trials, p * phi, (1 - p) * phi
        return float(np.sum(self.weights * (self.choose + special.betaln(k + a, n - k + b) - special.betaln(a, b))))

    def terms(self, eta: np.ndarray, nuisance: np.ndarray, /) -> Terms:
        """Score and observed weight."""
        p, (first, second) = self._derivatives(eta, nuisance, 2)
        dp, w = p * (1 - p), self.weights
        return Terms(w * first * dp, -w * (second * dp**2 + first * dp * (1 - 2 * p)))

    def slope(self, eta: np.ndarray, nuisance: np.ndarray, /) -> np.ndarray:
        """Derivative of the observed weight."""
        p, (first, second, third) = self._derivatives(eta, nuisance, 3)
        dp, skew = p * (1 - p), 1 - 2 * p
        curve = third * dp**3 + 3 * second * dp**2 * skew + first * dp * (skew**2 - 2 * dp)
        return np.asarray(-self.weights * curve)

    def _derivatives(self, eta: np.ndarray, nuisance: np.ndarray, most: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The probability, and the derivatives of the log-likelihood by it from the first to that of order `most`."""
        phi, p = np.exp(nuisance[0]), np.clip(special.expit(eta), 1e-12, 1 - 1e-12)
        k, n, a, b = self.successes, self.trials, p * phi, (1 - p) * phi
        orders = []
        for order in range(most):
            hits = special.polygamma(order, k + a) - special.polygamma(order, a)
            misses = special.polygamma(order, n - k + b) - special.polygamma(order, b)
            orders.append(phi ** (order + 1) * (hits - (-1) ** order * misses))
        return p, orders

    def reordered(self, order: np.ndarray) -> BetaBinomial:
        """The family with its rows in another order."""
        return BetaBinomial(self.successes[order], self.trials[order], self.weights[order])
