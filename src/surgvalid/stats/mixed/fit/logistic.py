"""Logistic regression by Newton's method, with cluster-robust covariances, and Firth's penalty where asked for.

The covariance is the sandwich `B M B` with bread `B`, the inverse information, and meat `M`, the sum over clusters of
the outer product of their scores:

* `CR0`: as it stands;
* `CR1`: times `G / (G - 1) * (n - 1) / (n - k)`, as Stata and statsmodels do, and as R's
  `sandwich::vcovCL(type = "HC1")`; R's default for glm (`type = "HC0"`) keeps only `G / (G - 1)`;
* `CR2`: scores corrected by `(I - H_gg)**(-1/2)` within each cluster on the working scale (Bell and
  McCaffrey 2002), which removes the bias of few clusters when the working model holds.

Two-way clusters add the covariances of both groupings and subtract that of their intersection (Cameron,
Gelbach and Miller 2011). Where that leaves a variance negative, negative eigenvalues are set to zero, as
they propose; otherwise the sum stays as it is, equal to statsmodels and to R's default.

Firth (1993; Heinze and Schemper 2002) raises the log-likelihood by half the logarithm of the determinant of the
information, log|X'WX| / 2 (Jeffreys' prior), which removes the first-order bias of the coefficients and keeps them
finite where the outcome is separated; the score becomes X'(y - n p + h (1/2 - p)) with h the leverages of the weighted
design. Standard errors are those of the inverse information, as in R's brglm2; tests and intervals are by the penalised
profile likelihood, as in logistf, because a separated coefficient is far from normal. The decision a reader would
question: rows are independent there. With random effects the determinant would have to be that of the whole mixed
model, which needs third derivatives and shrinks the spread between videos; such fits take the normal penalty of
`penalised` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.stats.draws import video_counts

KINDS = ("CR0", "CR1", "CR2")
FEW_CLUSTERS = 50
"""Clusters below which CR2 is the default: the sandwich is too narrow below 20 to 50 of them, the more so the less
equal they are (Cameron and Miller 2015, section VI). The larger bound is the careful one."""
SEPARATED = 15.0
"""A coefficient beyond this on the logit scale of a 0/1 column means separation, not evidence."""


_TOLERANCE = 1e-11
_MOST_STEPS = 500
_LONGEST = 5.0
"""Of a step, on the scale of the linear predictor's coefficients."""


@dataclass(frozen=True)
class LogisticFit:
    """A fitted logistic regression."""

    names: list[str]
    coefficients: np.ndarray
    design: np.ndarray
    outcome: np.ndarray
    fitted: np.ndarray
    weights: np.ndarray
    information: np.ndarray
    log_likelihood: float
    converged: bool
    dropped: tuple[str, ...] = ()
    """Columns left out because the others already say the same."""
    separated: tuple[str, ...] = ()
    """Columns whose coefficient runs away because they predict the outcome perfectly."""
    offset: np.ndarray | None = None

    @property
    def bread(self) -> np.ndarray:
        """The inverse information: the covariance if every row were independent."""
        return np.asarray(np.linalg.pinv(self.information, hermitian=True))


def fit_logistic(
    design: np.ndarray,
    outcome: np.ndarray,
    names: Sequence[str],
    *,
    weights: np.ndarray | None = None,
    trials: np.ndarray | None = None,
    offset: np.ndarray | None = None,
) -> LogisticFit:
    """The maximum-likelihood fit; collinear columns are left out and named.

    Args:
        design: `[row, column]`, with an intercept if one is wanted.
        outcome: 0 or 1 per row, or successes where there are `trials`.
        names: One per column.
        weights: How often each row counts.
        trials: How many trials each row stands for (one, unless given); the fit keeps shares of successes.
        offset: A known part of the linear predictor.

    Raises:
        Misuse: The outcome is not 0/1, or shapes do not match.
    """
    design, outcome = np.asarray(design, dtype=np.float64), np.asarray(outcome, dtype=np.float64)
    if design.shape != (len(outcome), len(names)):
        raise Misuse(f"design of shape {design.shape} does not fit {len(outcome)} outcomes and {len(names)} names")
    weights = np.ones(len(outcome)) if weights is None else np.asarray(weights, dtype=np.float64)
    if trials is None and not np.isin(outcome, (0.0, 1.0)).all():
        raise Misuse("a logistic regression needs outcomes that are 0 or 1")
    if trials is not None:
        if not ((trials > 0) & (outcome >= 0) & (outcome <= trials)).all():
            raise Misuse("successes must lie between 0 and their trials, and there must be trials in every row")
        outcome, weights = outcome / trials, weights * trials
    return _fitted(design, outcome, names, weights, offset)


def _fitted(
    design: np.ndarray, outcome: np.ndarray, names: Sequence[str], weights: np.ndarray, offset: np.ndarray | None
) -> LogisticFit:
    kept = independent_columns(design[weights > 0])
    reduced = design[:, kept]
    best = _climbed(_Problem(reduced, weights * outcome, weights, 0.0 if offset is None else offset), None, 100)
    beta = best.at.beta
    scale = np.maximum(np.ptp(reduced, axis=0), 1e-12)
    runaway = tuple(names[kept[i]] for i in np.flatnonzero(np.abs(beta) * np.minimum(scale, 1.0) > SEPARATED))
    return LogisticFit(
        [names[i] for i in kept],
        beta,
        reduced,
        outcome,
        best.at.share,
        weights,
        best.at.information,
        best.at.log_likelihood,
        best.converged and not runaway,
        tuple(name for i, name in enumerate(names) if i not in kept),
        runaway,
        offset,
    )


def independent_columns(design: np.ndarray) -> list[int]:
    """The first columns that are not combinations of those before them, by Gram-Schmidt in order.

    Example:
        >>> independent_columns(np.array([[1.0, 0, 1], [1, 1, 0], [1, 0, 1]]))
        [0, 1]
    """
    kept: list[int] = []
    basis = np.empty((len(design), 0))
    for column in range(design.shape[1]):
        vector = design[:, column]
        size = np.linalg.norm(vector)
        for _ in range(2):
            vector = vector - basis @ (basis.T @ vector)
        left = np.linalg.norm(vector)
        if size > 0 and left > 1e-9 * size:
            kept.append(column)
            basis = np.column_stack([basis, vector / left])
    return kept


def covariance_kind(fewest: int) -> str:
    """The correction that a number of clusters needs: CR2 below `FEW_CLUSTERS`, where CR1 is too narrow."""
    return "CR2" if fewest < FEW_CLUSTERS else "CR1"


def cluster_covariance(fit: LogisticFit, clusters: Sequence[np.ndarray], *, kind: str = "CR1") -> np.ndarray:
    """The covariance of the coefficients with one or two groupings of rows into clusters.

    Args:
        fit: The fit.
        clusters: One or two arrays with the cluster of each row.
        kind: `CR0`, `CR1` or `CR2`.

    Raises:
        UnknownName: No such kind.
        TooFewVideos: A grouping has a single cluster.
        Misuse: None, or more than two groupings.
    """
    if kind not in KINDS:
        raise UnknownName("kind of cluster covariance", kind, KINDS)
    if not 1 <= len(clusters) <= 2:
        raise Misuse(f"one or two groupings into clusters are possible, got {len(clusters)}")
    codes = [np.unique(np.asarray(grouping), return_inverse=True)[1] for grouping in clusters]
    if any(code.max(initial=0) < 1 for code in codes):
        raise TooFewVideos("a grouping has a single cluster, so nothing is known about the spread between clusters")
    total = sum(_one_way(fit, code, kind) for code in codes)
    if len(codes) == 1:
        return np.asarray(total)
    both = np.unique(codes[0] * (codes[1].max() + 1) + codes[1], return_inverse=True)[1]
    return nearest_covariance(np.asarray(total) - _one_way(fit, both, kind))


def nearest_covariance(matrix: np.ndarray) -> np.ndarray:
    """The matrix with negative eigenvalues set to zero where a variance is negative; unchanged elsewhere."""
    if np.diag(matrix).min(initial=0.0) >= 0:
        return matrix
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


class Resampled(NamedTuple):
    """Spread and percentiles of the coefficients over resampled clusters."""

    std_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    failed: int
    """Refits that separated or did not converge, and were left aside."""


def cluster_bootstrap(
    fit: LogisticFit, clusters: np.ndarray, *, replicates: int, level: float, rng: np.random.Generator
) -> Resampled:
    """Refits on clusters drawn with replacement, each with all its rows.

    With fewer than two refits that converge there is nothing to report, and the numbers are NaN.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    coefficients = []
    for row in video_counts(int(codes.max(initial=-1)) + 1, replicates, rng):
        again = _fitted(fit.design, fit.outcome, fit.names, fit.weights * row[codes], fit.offset)
        if again.converged and again.names == fit.names:
            coefficients.append(again.coefficients)
    if len(coefficients) < 2:
        blank = np.full(len(fit.names), np.nan)
        return Resampled(blank, blank, blank, replicates - len(coefficients))
    draws = np.stack(coefficients)
    low, high = np.quantile(draws, [0.5 - level / 2, 0.5 + level / 2], axis=0)
    return Resampled(draws.std(axis=0, ddof=1), low, high, replicates - len(coefficients))


def _one_way(fit: LogisticFit, codes: np.ndarray, kind: str) -> np.ndarray:
    groups = int(codes.max()) + 1
    rows, columns = fit.design.shape
    bread = fit.bread
    if kind == "CR2":
        scores = _adjusted_scores(fit, codes, groups, bread)
    else:
        scores = np.zeros((groups, columns))
        np.add.at(scores, codes, fit.design * (fit.weights * (fit.outcome - fit.fitted))[:, None])
    covariance = bread @ (scores.T @ scores) @ bread
    if kind == "CR1":
        covariance *= groups / (groups - 1) * (rows - 1) / (rows - columns)
    return np.asarray(covariance)


def _adjusted_scores(fit: LogisticFit, codes: np.ndarray, groups: int, bread: np.ndarray) -> np.ndarray:
    """CR2 scores; the inverse square root acts on a space as small as the number of columns."""
    root = np.sqrt(np.maximum(fit.weights * fit.fitted * (1 - fit.fitted), 1e-300))
    design = fit.design * root[:, None]
    residual = fit.weights * (fit.outcome - fit.fitted) / root
    half = _root(bread)
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(groups + 1))
    scores = np.empty((groups, design.shape[1]))
    for group in range(groups):
        rows = order[edges[group] : edges[group + 1]]
        leverage = design[rows] @ half
        share, vectors = np.linalg.eigh(leverage.T @ leverage)
        share = np.clip(share, 0.0, 1.0)
        gain = np.where(share < 1 - 1e-10, 1 / np.sqrt(np.maximum(1 - share, 1e-300)) - 1, 0.0)
        inner = (vectors * np.divide(gain, share, out=np.full_like(gain, 0.5), where=share > 1e-12)) @ vectors.T
        adjusted = residual[rows] + leverage @ (inner @ (leverage.T @ residual[rows]))
        scores[group] = design[rows].T @ adjusted
    return scores


def _root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


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
        >>> smoke = np.array([[1.0, 0], [1, 0], [1, 0], [1, 1], [1, 1]])
        >>> fit_firth(smoke, np.array([0.0, 1, 1, 1, 1]), np.ones(5)).coefficients.round(3).tolist()
        [0.511, 1.099]
    """
    problem = _Problem(design, successes, trials, offset, jeffreys=True)
    best = _climbed(problem, None if held is None else (held, value), _MOST_STEPS)
    covariance = np.linalg.inv(best.at.information)
    return FirthFit(best.at.beta, covariance, best.at.log_likelihood, best.at.penalised, best.steps, best.converged)


class _Problem(NamedTuple):
    """Successes of trials, what may explain them, and whether Jeffreys' prior is added."""

    design: np.ndarray
    successes: np.ndarray
    trials: np.ndarray
    offset: np.ndarray | float
    jeffreys: bool = False


class _State:
    """Likelihood, penalty, information and (modified) score at one point."""

    def __init__(self, problem: _Problem, beta: np.ndarray) -> None:
        design, successes, trials, offset, jeffreys = problem
        eta = design @ beta + offset
        self.beta, self.share = beta, special.expit(eta)
        weight = trials * self.share * special.expit(-eta)
        self.information = (design * weight[:, None]).T @ design
        rows = successes * special.log_expit(eta) + (trials - successes) * special.log_expit(-eta)
        self.penalised = self.log_likelihood = float(np.sum(rows))
        residual = successes - trials * self.share
        if jeffreys:
            sign, size = np.linalg.slogdet(self.information)
            self.penalised = self.log_likelihood + 0.5 * float(size) if sign > 0 else -np.inf
        if jeffreys and np.isfinite(self.penalised):
            leverage = weight * np.einsum("ij,jk,ik->i", design, np.linalg.inv(self.information), design)
            residual = residual + leverage * (0.5 - self.share)
        self.score = design.T @ residual if np.isfinite(self.penalised) else np.zeros(len(beta))


class _Climbed(NamedTuple):
    at: _State
    steps: int
    converged: bool


def _climbed(problem: _Problem, held: tuple[int, float] | None, most: int) -> _Climbed:
    """The maximum by Newton steps from zero, halved where they make things worse; one coefficient may be held."""
    beta, free = np.zeros(problem.design.shape[1]), np.arange(problem.design.shape[1])
    if held is not None:
        beta[held[0]], free = held[1], np.delete(free, held[0])
    at, gain, steps = _State(problem, beta), np.inf, 0
    while steps < most and not gain < _TOLERANCE:
        move = np.zeros(len(beta))
        move[free] = np.linalg.lstsq(at.information[np.ix_(free, free)], at.score[free], rcond=None)[0]
        move *= min(1.0, _LONGEST / max(float(np.abs(move).max(initial=0.0)), 1e-300))
        gain = float(at.score @ move)
        new = _State(problem, at.beta + move)
        while not new.penalised >= at.penalised - 1e-12 * abs(at.penalised) and np.abs(move).max(initial=0.0) > 1e-12:
            move /= 2
            new = _State(problem, at.beta + move)
        at, steps = new, steps + 1
    return _Climbed(at, steps, gain < _TOLERANCE)


def profile_drop(
    design: np.ndarray, successes: np.ndarray, trials: np.ndarray, j: int, *, offset: np.ndarray | float = 0.0
) -> Callable[[float], float]:
    """Twice the loss of penalised log-likelihood where coefficient `j` is held at a value, the others free."""
    best = fit_firth(design, successes, trials, offset=offset).penalised
    return lambda value: 2 * (best - fit_firth(design, successes, trials, offset=offset, held=j, value=value).penalised)
