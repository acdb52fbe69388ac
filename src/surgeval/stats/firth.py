"""Firth's logistic regression: finite odds ratios where the outcome is separated, without choosing a prior's width.

Definition (Firth 1993; Heinze and Schemper 2002). The log-likelihood is raised by half the logarithm of the determinant
of the information, log|X'WX| / 2 (Jeffreys' prior), which removes the first-order bias of the coefficients; the score
becomes X'(y - n p + h (1/2 - p)) with h the leverages of the weighted design. Standard errors are those of the inverse
information, as in R's brglm2; tests and intervals are by the penalised profile likelihood, as in logistf, because a
separated coefficient is far from normal.

The decision a reader would question: rows are independent here. With random effects the determinant would have to be
that of the whole mixed model, which needs third derivatives and shrinks the spread between videos; such fits take the
normal penalty of `mixed.penalised` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

_TOLERANCE = 1e-11
_MOST_STEPS = 500
_LONGEST = 2.0
"""Of a step, on the scale of the linear predictor's coefficients."""


class FirthFit(NamedTuple):
    """A fitted logistic regression."""

    coefficients: np.ndarray
    covariance: np.ndarray
    """The inverse information at the estimate."""
    log_likelihood: float
    """Without the penalty and without binomial coefficients."""
    penalised: float
    """With the penalty."""
    steps: int
    converged: bool


def fit_firth(
    design: np.ndarray,
    successes: np.ndarray,
    trials: np.ndarray,
    *,
    offset: np.ndarray | float = 0.0,
    held: int | None = None,
    value: float = 0.0,
) -> FirthFit:
    """The maximum of the penalised likelihood.

    Args:
        design: `[row, column]`, with an intercept if one is wanted, and no column that others determine.
        successes: Of each row.
        trials: Of each row.
        offset: A known part of the linear predictor.
        held: A coefficient that is not free, for profiles; the penalty is still that of the whole design.
        value: What it is held at.

    Example:
        >>> smoke = np.array([[1.0, 0], [1, 0], [1, 1], [1, 1]])
        >>> fit_firth(smoke, np.array([0.0, 1, 1, 1]), np.ones(4)).coefficients.round(3).tolist()
        [0.0, 1.609]
    """
    free = np.array([j for j in range(design.shape[1]) if j != held], dtype=np.int64)
    beta = np.zeros(design.shape[1])
    if held is not None:
        beta[held] = value
    at = _State(design, successes, trials, offset, beta)
    for steps in range(1, _MOST_STEPS + 1):  # noqa: B007
        move = np.zeros(len(beta))
        move[free] = np.linalg.solve(at.information[np.ix_(free, free)], at.score[free])
        move *= min(1.0, _LONGEST / max(float(np.abs(move).max(initial=0.0)), 1e-300))
        gain = float(at.score @ move)
        new = _State(design, successes, trials, offset, at.beta + move)
        while not new.penalised >= at.penalised - 1e-12 * abs(at.penalised) and np.abs(move).max(initial=0.0) > 1e-12:
            move /= 2
            new = _State(design, successes, trials, offset, at.beta + move)
        at = new
        if gain < _TOLERANCE:
            break
    covariance = np.linalg.inv(at.information)
    return FirthFit(at.beta, covariance, at.log_likelihood, at.penalised, steps, gain < _TOLERANCE)


class _State:
    """Likelihood, penalty, information and modified score at one point."""

    def __init__(
        self, design: np.ndarray, successes: np.ndarray, trials: np.ndarray, offset: np.ndarray | float,
        beta: np.ndarray,
    ) -> None:  # fmt: skip
        eta = design @ beta + offset
        share = special.expit(eta)
        weight = trials * share * special.expit(-eta)
        self.beta = beta
        self.information = (design * weight[:, None]).T @ design
        sign, size = np.linalg.slogdet(self.information)
        self.log_likelihood = float(np.sum(successes * special.log_expit(eta)
                                           + (trials - successes) * special.log_expit(-eta)))  # fmt: skip
        self.penalised = self.log_likelihood + 0.5 * float(size) if sign > 0 else -np.inf
        if not np.isfinite(self.penalised):
            self.score = np.zeros(len(beta))
            return
        leverage = weight * np.einsum("ij,jk,ik->i", design, np.linalg.inv(self.information), design)
        self.score = design.T @ (successes - trials * share + leverage * (0.5 - share))


def profile_drop(
    design: np.ndarray, successes: np.ndarray, trials: np.ndarray, j: int, *, offset: np.ndarray | float = 0.0
) -> Callable[[float], float]:
    """Twice the loss of penalised log-likelihood where coefficient `j` is held at a value, the others free."""
    best = fit_firth(design, successes, trials, offset=offset).penalised
    return lambda value: 2 * (best - fit_firth(design, successes, trials, offset=offset, held=j, value=value).penalised)
