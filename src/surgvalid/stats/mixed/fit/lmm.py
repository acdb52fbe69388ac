"""Restricted and full likelihood of a linear mixed model with random intercepts.

y = X beta + Z b + e, b_f ~ N(0, sd_f^2), e ~ N(0, sigma^2 / weight). With ratios theta_f = sd_f / sigma,
H = I + theta Z' W Z theta, e the generalised residual and r^2 its penalised sum of squares (Bates et al. 2015,
section 3), minus twice the restricted log-likelihood is

    log|H| + log|X' V^-1 X| + m (1 + log(2 pi r^2 / m)) - sum log weight,    m = n - p

where coefficients and sigma are profiled out; the full likelihood drops log|X' V^-1 X| and has m = n.
The gradient with respect to log theta_f needs only the solves that the value needs:
2 (levels_f - trace_f) - 2 |D_f R^-1|^2 - 2 (m / r^2) |u_f|^2, with D_f the effects of the columns of X.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from surgvalid.stats.mixed.fit.kernels import Effects, Kernel, product_of, share_of, trace_of
from surgvalid.stats.mixed.fit.laplace import Start
from surgvalid.stats.mixed.fit.products import dot, inner, pulled, times

_STEP = 0.01
_LARGEST = float(np.log(1e5))
"""Logarithm of the largest ratio of a group's deviation to the residual's that is searched."""


class Solution(NamedTuple):
    """Everything that follows from the ratios theta."""

    deviance: float
    gradient: np.ndarray
    """With respect to log theta, of the deviance (minus twice the log-likelihood) with sigma profiled out."""
    beta: np.ndarray
    unscaled: np.ndarray
    """(X' V^-1 X)^-1 in units of sigma^2."""
    squares: float
    freedom: int
    effects: Effects
    """Spherical effects in units of the outcome."""
    trace: np.ndarray
    split: np.ndarray
    """Gradient of the two determinants alone, per log theta."""
    norm: np.ndarray
    """|u_f|^2 per factor, in units of the outcome squared."""

    @property
    def sigma(self) -> float:
        """Residual standard deviation that maximises the likelihood for these ratios."""
        return float(np.sqrt(self.squares / self.freedom))


class LinearDeviance:
    """Negative log-likelihood as a function of log theta.

    The plain least-squares fit is taken off the outcome first, so that a large mean costs no digits.
    """

    def __init__(
        self, outcome: np.ndarray, fixed: np.ndarray, weights: np.ndarray, kernel: Kernel, *, restricted: bool
    ) -> None:
        order = kernel.layout.order
        self.fixed, self.weights = fixed[order], weights[order]
        target = pulled(self.fixed, self.weights * outcome[order])
        self.plain = np.linalg.solve(inner(self.fixed, self.fixed, self.weights), target)
        self.outcome = outcome[order] - times(self.fixed, self.plain)
        self._total = dot(self.weights, (outcome[order] - outcome.mean()) ** 2)
        self.kernel, self.restricted = kernel, restricted
        self.factors, self.coefficients = kernel.layout.factors, fixed.shape[1]
        self.evaluations = 0
        self.slopes = self._covariance = np.zeros(0)
        """How the covariance of the coefficients moves with each parameter, known after `hessian`."""
        self._both = np.ascontiguousarray(np.column_stack([self.fixed, self.outcome]))
        kernel.factorise(self.weights, np.ones(self.factors))
        self._sums = kernel.collect(self._both)

    def __call__(self, log_theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Negative log-likelihood (restricted or full) and its gradient; infinite where groups explain everything."""
        if np.max(log_theta, initial=0.0) > _LARGEST:
            return np.inf, np.zeros(self.factors)
        solution = self.solution(log_theta)
        if solution.squares < 1e-13 * self._total:
            return np.inf, np.zeros(self.factors)
        return solution.deviance / 2, solution.gradient / 2

    def solution(self, log_theta: np.ndarray) -> Solution:
        """Coefficients, residual variance, effects and deviance for the ratios given."""
        self.evaluations += 1
        layout, p = self.kernel.layout, self.coefficients
        self.kernel.factorise(self.weights, np.exp(log_theta))
        gram, parts = self.kernel.gram(self._sums)
        gram = (gram + gram.T) / 2
        root = _root(gram[:p, :p])
        beta = linalg.cho_solve(root, gram[:p, p])
        squares = max(float(gram[p, p] - gram[:p, p] @ beta), np.finfo(float).tiny)
        unscaled = linalg.cho_solve(root, np.eye(p))
        effects = Effects(*(block[:, p] - block[:, :p] @ beta for block in parts))
        trace = self.kernel.spread(rows=False).trace
        split = 2 * (layout.sizes - trace)
        determinant = self.kernel.log_determinant
        if self.restricted:
            determinant += 2 * float(np.log(np.diag(root[0])).sum())
            split = split - 2 * share_of(layout, parts, unscaled)
        freedom = len(self.outcome) - (p if self.restricted else 0)
        deviance = determinant + freedom * (1 + np.log(2 * np.pi * squares / freedom)) - np.log(self.weights).sum()
        norm = trace_of(layout, product_of(effects, effects))
        return Solution(
            float(deviance),
            split - 2 * norm * freedom / squares,
            beta + self.plain,
            unscaled,
            squares,
            freedom,
            effects,
            trace,
            split,
            norm,
        )

    def unprofiled(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Negative log-likelihood and gradient in (log sd per factor, log sigma), for intervals of them."""
        log_sigma = float(parameters[-1])
        if np.max(parameters[:-1] - log_sigma, initial=0.0) > 2 * _LARGEST or abs(log_sigma) > 300:
            return np.inf, np.zeros(len(parameters))
        solution = self.solution(parameters[:-1] - log_sigma)
        ratio = solution.squares * np.exp(-2 * log_sigma)
        constant = solution.freedom * (np.log(2 * np.pi) + 2 * log_sigma) + ratio
        profiled = solution.freedom * (1 + np.log(2 * np.pi * solution.squares / solution.freedom))
        self._covariance = solution.unscaled * np.exp(2 * log_sigma)
        by_theta = solution.split - 2 * solution.norm * np.exp(-2 * log_sigma)
        by_sigma = 2 * solution.freedom - 2 * ratio - by_theta.sum()
        return (solution.deviance - profiled + constant) / 2, np.append(by_theta, by_sigma) / 2

    def fitted(self, solution: Solution) -> np.ndarray:
        """Fixed and random part of every sorted row."""
        residual = self.outcome - times(self.fixed, solution.beta - self.plain)
        random, _ = self.kernel.solve(self.weights * residual)
        return np.asarray(times(self.fixed, solution.beta) + random)

    def hessian(self, point: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Whitened Hessian of `unprofiled` by central differences; keeps how the coefficients' variances move."""
        columns, slopes = [], np.empty((len(point), self.coefficients, self.coefficients))
        for k, axis in enumerate(scale.T):
            ends = []
            for sign in (1, -1):
                gradient = self.unprofiled(point + sign * _STEP * axis)[1]
                ends.append((scale.T @ gradient, self._covariance))
            columns.append((ends[0][0] - ends[1][0]) / (2 * _STEP))
            slopes[k] = (ends[0][1] - ends[1][1]) / (2 * _STEP)
        self.slopes = np.linalg.solve(scale.T, slopes.reshape(len(point), -1)).reshape(slopes.shape)
        matrix = np.array(columns)
        return np.asarray((matrix + matrix.T) / 2)

    def start(self) -> Start:
        """Ratios near the optimum by Schall's fixed point, with rough standard errors."""
        theta, sizes = np.ones(self.factors), self.kernel.layout.sizes
        freedom = np.ones(self.factors)
        for _ in range(30):
            solution = self.solution(np.log(theta))
            freedom = np.maximum(sizes - solution.trace, 1e-8)
            residual = max(len(self.outcome) - self.coefficients - freedom.sum(), 1.0)
            noise = (solution.squares - solution.norm.sum()) / residual
            ratio = np.sqrt(solution.norm / freedom / max(noise, 1e-300))
            updated = np.clip(theta * np.clip(ratio, 0.1, 10.0), 1e-4, 1e3)
            moved = np.max(np.abs(np.log(updated / theta)), initial=0.0)
            theta = updated
            if moved < 0.05:
                break
        return Start(np.log(theta), np.diag(1 / np.sqrt(2 * np.maximum(freedom, 0.5))))


def _root(gram: np.ndarray) -> tuple[np.ndarray, bool]:
    """Cholesky factor of X' V^-1 X; lifted by rounding where groups explain a column all but entirely."""
    try:
        return linalg.cho_factor(gram, lower=True)  # type: ignore[no-any-return]
    except linalg.LinAlgError:
        lift = max(float(np.trace(np.abs(gram))), 1e-12) * 1e-10
        return linalg.cho_factor(gram + lift * np.eye(len(gram)), lower=True)  # type: ignore[no-any-return]
