"""Logistic regression by Newton's method, with covariances that respect clusters.

The fit is iteratively reweighted least squares. The covariance is the sandwich `B M B` with bread `B`,
the inverse information, and meat `M`, the sum over clusters of the outer product of their scores:

* `CR0`: as it stands;
* `CR1`: times `G / (G - 1) * (n - 1) / (n - k)`, as Stata and statsmodels do, and as R's
  `sandwich::vcovCL(type = "HC1")`; R's default for glm (`type = "HC0"`) keeps only `G / (G - 1)`;
* `CR2`: scores corrected by `(I - H_gg)**(-1/2)` within each cluster on the working scale (Bell and
  McCaffrey 2002), which removes the bias of few clusters when the working model holds.

Two-way clusters add the covariances of both groupings and subtract that of their intersection (Cameron,
Gelbach and Miller 2011). Where that leaves a variance negative, negative eigenvalues are set to zero, as
they propose; otherwise the sum stays as it is, equal to statsmodels and to R's default.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from surgeval.errors import Misuse, TooFewVideos, UnknownName
from surgeval.stats.draws import video_counts

KINDS = ("CR0", "CR1", "CR2")
FEW_CLUSTERS = 50
"""Clusters below which CR2 is the default: the sandwich is too narrow below 20 to 50 of them, the more so the less
equal they are (Cameron and Miller 2015, section VI). The larger bound is the careful one."""
SEPARATED = 15.0
"""A coefficient beyond this on the logit scale of a 0/1 column means separation, not evidence."""


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
    iterations: int = 50,
) -> LogisticFit:
    """The maximum-likelihood fit; collinear columns are left out and named.

    Args:
        design: `[row, column]`, with an intercept if one is wanted.
        outcome: 0 or 1 per row, or successes where there are `trials`.
        names: One per column.
        weights: How often each row counts.
        trials: How many trials each row stands for (one, unless given); the fit keeps shares of successes.
        offset: A known part of the linear predictor.
        iterations: Most Newton steps.

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
    return _fitted(design, outcome, names, weights, offset, iterations)


def _fitted(
    design: np.ndarray,
    outcome: np.ndarray,
    names: Sequence[str],
    weights: np.ndarray,
    offset: np.ndarray | None,
    iterations: int = 50,
) -> LogisticFit:
    kept = independent_columns(design[weights > 0])
    reduced = design[:, kept]
    beta, converged = _newton(reduced, outcome, weights, offset, iterations)
    fitted = expit(reduced @ beta + (0.0 if offset is None else offset))
    variance = weights * fitted * (1 - fitted)
    information = (reduced * variance[:, None]).T @ reduced
    inside = np.clip(fitted, 1e-300, 1 - 1e-16)
    likelihood = float((weights * (outcome * np.log(inside) + (1 - outcome) * np.log1p(-inside))).sum())
    scale = np.maximum(np.ptp(reduced, axis=0), 1e-12)
    runaway = tuple(names[kept[i]] for i in np.flatnonzero(np.abs(beta) * np.minimum(scale, 1.0) > SEPARATED))
    return LogisticFit(
        [names[i] for i in kept], beta, reduced, outcome, fitted, weights, information, likelihood,
        converged and not runaway, tuple(name for i, name in enumerate(names) if i not in kept), runaway, offset,
    )  # fmt: skip


def independent_columns(design: np.ndarray, *, tolerance: float = 1e-9) -> list[int]:
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
        if size > 0 and left > tolerance * size:
            kept.append(column)
            basis = np.column_stack([basis, vector / left])
    return kept


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


def _newton(
    design: np.ndarray, outcome: np.ndarray, weights: np.ndarray, offset: np.ndarray | None, iterations: int
) -> tuple[np.ndarray, bool]:
    beta, known = np.zeros(design.shape[1]), np.zeros(len(design)) if offset is None else offset
    for _ in range(iterations):
        fitted = expit(design @ beta + known)
        score = design.T @ (weights * (outcome - fitted))
        information = (design * (weights * fitted * (1 - fitted))[:, None]).T @ design
        step = np.linalg.lstsq(information, score, rcond=None)[0]
        size = np.abs(step).max(initial=0.0)
        beta = beta + step * min(1.0, 5.0 / size if size > 0 else 1.0)
        if size < 1e-10:
            return beta, True
        if np.abs(beta).max(initial=0.0) > 4 * SEPARATED:
            break
    return beta, False


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
