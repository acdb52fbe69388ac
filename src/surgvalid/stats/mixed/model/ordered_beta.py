"""Ordered beta: scores in [0, 1] with exact zeros and ones, one linear predictor for misses, overlap and perfection.

Definition (Kubinec 2023, "Ordered beta regression"). With cutpoints c1 < c2, a = expit(eta - c1), b = expit(eta - c2)
and mu = expit(eta), a score is 0 with probability 1 - a, 1 with probability b, and otherwise, with probability a - b,
drawn from a beta distribution of mean mu and precision phi. E y = (a - b) mu + b.

Parameters beyond the linear predictor: log phi, c1, log(c2 - c1); a cutpoint is left out where no score lies on its
side (then a = 1 or b = 0). The second derivative is the observed one, which can be negative in a row, as for the
beta-binomial.

The decision a reader would question: one predictor drives misses and overlap alike. Where a property makes misses rarer
but overlap worse, its effect here is an average of the two; `two_parts` looks for that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from surgvalid.stats.mixed.model.families import EPSILON, Terms

_EDGE = 1e-12


class Cutpoints(NamedTuple):
    """Where scores become exactly 0 and exactly 1, on the scale of the linear predictor; infinite where they do not."""

    low: float = -np.inf
    high: float = np.inf


class OrderedBeta:
    """Scores in [0, 1] with a logit link, zeros and ones by ordered cutpoints."""

    name = "ordered-beta"
    saturated = 0.0

    def __init__(self, scores: np.ndarray, weights: np.ndarray | None = None) -> None:
        self.scores = np.asarray(scores, float)
        self.weights = np.ones(len(self.scores)) if weights is None else np.asarray(weights, float)
        self.zero, self.one = self.scores == 0, self.scores == 1
        self.inside = ~(self.zero | self.one)
        self.has_zeros, self.has_ones = bool(self.zero.any()), bool(self.one.any())
        y = self.scores[self.inside]
        self.log_y, self.log_rest = np.log(y), np.log1p(-y)
        self.noise = 1e-9 + EPSILON * float(np.sqrt(np.sum(self.weights**2)))
        cuts = [-2.0] * self.has_zeros + [(np.log(4.0) if self.has_zeros else 2.0)] * self.has_ones
        self.start = np.array([1.0, *cuts])

    def cutpoints(self, nuisance: np.ndarray) -> Cutpoints:
        """The cutpoints that parameters stand for."""
        if self.has_zeros and self.has_ones:
            return Cutpoints(float(nuisance[1]), float(nuisance[1] + np.exp(nuisance[2])))
        return Cutpoints(
            float(nuisance[1]) if self.has_zeros else -np.inf, float(nuisance[1]) if self.has_ones else np.inf
        )

    def value(self, eta: np.ndarray, nuisance: np.ndarray, /) -> float:
        """Log-likelihood (density of the scores inside)."""
        low, high = self.cutpoints(nuisance)
        phi, middle = np.exp(nuisance[0]), eta[self.inside]
        rows = np.zeros(len(eta))
        rows[self.zero] = special.log_expit(low - eta[self.zero])
        rows[self.one] = special.log_expit(eta[self.one] - high)
        mu = _mean(middle)
        between = special.log_expit(middle - low) + special.log_expit(high - middle) + np.log1p(-np.exp(low - high))
        beta = (mu * phi - 1) * self.log_y + ((1 - mu) * phi - 1) * self.log_rest
        rows[self.inside] = between + beta - special.betaln(mu * phi, (1 - mu) * phi)
        return float(np.sum(self.weights * rows))

    def terms(self, eta: np.ndarray, nuisance: np.ndarray, /) -> Terms:
        """Score and observed weight."""
        a, b = self._bounds(eta, nuisance)
        score = np.where(self.zero, -a, 1.0 - b)
        weight = np.where(self.zero, a * (1 - a), b * (1 - b))
        mu, d, pull, curve, _ = self._beta(eta, nuisance, order=1)
        inner_a, inner_b = a[self.inside], b[self.inside]
        score[self.inside] = 1 - inner_a - inner_b + d * pull
        bounds = inner_a * (1 - inner_a) + inner_b * (1 - inner_b)
        weight[self.inside] = bounds - d * (1 - 2 * mu) * pull + d**2 * curve
        return Terms(self.weights * score, self.weights * weight)

    def slope(self, eta: np.ndarray, nuisance: np.ndarray, /) -> np.ndarray:
        """Derivative of the observed weight."""
        a, b = self._bounds(eta, nuisance)
        by_a, by_b = (share * (1 - share) * (1 - 2 * share) for share in (a, b))
        slope = np.where(self.zero, by_a, by_b)
        mu, d, pull, curve, third = self._beta(eta, nuisance, order=2)
        skew = 1 - 2 * mu
        bounds = (by_a + by_b)[self.inside]
        slope[self.inside] = bounds - d * (skew**2 - 2 * d) * pull + 3 * d**2 * skew * curve + d**3 * third
        return np.asarray(self.weights * slope)

    def _bounds(self, eta: np.ndarray, nuisance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of a score above 0, and of a score of 1."""
        low, high = self.cutpoints(nuisance)
        return special.expit(eta - low), special.expit(eta - high)

    def _beta(self, eta: np.ndarray, nuisance: np.ndarray, *, order: int) -> tuple[np.ndarray, ...]:
        """Of rows inside: mean, its slope; first, minus second, minus third derivative of the beta part by the mean."""
        phi, mu = np.exp(nuisance[0]), _mean(eta[self.inside])
        p, q = mu * phi, (1 - mu) * phi
        pull = phi * (self.log_y - self.log_rest - special.digamma(p) + special.digamma(q))
        curve = phi**2 * (special.polygamma(1, p) + special.polygamma(1, q))
        third = phi**3 * (special.polygamma(2, p) - special.polygamma(2, q)) if order > 1 else np.zeros(0)
        return mu, mu * (1 - mu), pull, curve, third

    def reordered(self, order: np.ndarray) -> OrderedBeta:
        """The family with its rows in another order."""
        return OrderedBeta(self.scores[order], self.weights[order])


def _mean(eta: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(special.expit(eta), _EDGE, 1 - _EDGE))


def expected_score(eta: np.ndarray, cutpoints: Cutpoints) -> np.ndarray:
    """The expected score of a row.

    Example:
        >>> expected_score(np.array([0.0]), Cutpoints()).tolist()
        [0.5]
    """
    a, b, mu = special.expit(eta - cutpoints.low), special.expit(eta - cutpoints.high), special.expit(eta)
    return np.asarray((a - b) * mu + b)


def expected_slope(eta: np.ndarray, cutpoints: Cutpoints) -> np.ndarray:
    """The derivative of the expected score by the linear predictor."""
    a, b, mu = special.expit(eta - cutpoints.low), special.expit(eta - cutpoints.high), special.expit(eta)
    by_a, by_b = a * (1 - a), b * (1 - b)
    return np.asarray((by_a - by_b) * mu + (a - b) * mu * (1 - mu) + by_b)


def drawn_scores(eta: np.ndarray, cutpoints: Cutpoints, precision: float, rng: np.random.Generator) -> np.ndarray:
    """A score per row from the model."""
    a, b, mu = special.expit(eta - cutpoints.low), special.expit(eta - cutpoints.high), _mean(eta)
    place, inside = rng.random(len(eta)), rng.beta(mu * precision, (1 - mu) * precision)
    inside = np.clip(inside, 1e-9, 1 - 1e-9)
    return np.where(place >= a, 0.0, np.where(place < b, 1.0, inside))
