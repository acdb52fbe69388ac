"""Logistic regression with cluster-robust standard errors: marginal odds ratios, no random effects.

The estimate is the ordinary logit; its covariance is the sandwich with scores summed per cluster, one-way or
two-way (Cameron, Gelbach and Miller 2011), with the usual factor G/(G-1) * (N-1)/(N-p) and t quantiles with G - 1
degrees of freedom. The odds ratio compares population averages; that of a mixed model compares cases with equal
random effects and is farther from one. The two answer different questions and never share a table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import TooFewVideos
from surgeval.stats.mixed.design import Design, factor_of
from surgeval.stats.mixed.fit import fit
from surgeval.stats.mixed.structure import Factor

FEW_CLUSTERS = 40


@dataclass(frozen=True)
class RobustLogit:
    """Marginal log odds ratios with cluster-robust uncertainty."""

    names: tuple[str, ...]
    beta: np.ndarray
    covariance: np.ndarray
    clusters: dict[str, int]

    @property
    def standard_errors(self) -> np.ndarray:
        """Of the coefficients."""
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def table(self, *, level: float = 0.95) -> pl.DataFrame:
        """Rows `term, estimate, std_error, t, p_value, marginal_odds_ratio, ci_low, ci_high`."""
        freedom = min(self.clusters.values()) - 1
        t = self.beta / self.standard_errors
        width = stats.t.ppf(0.5 + level / 2, freedom) * self.standard_errors
        return pl.DataFrame({
            "term": list(self.names), "estimate": self.beta, "std_error": self.standard_errors, "t": t,
            "p_value": 2 * stats.t.sf(np.abs(t), freedom), "marginal_odds_ratio": np.exp(self.beta),
            "ci_low": np.exp(self.beta - width), "ci_high": np.exp(self.beta + width),
        })  # fmt: skip


def robust_logit(design: Design, clusters: tuple[str, ...], *, small_sample: bool = True) -> RobustLogit:
    """The logit of a design with scores clustered by one or two columns.

    Args:
        design: Its random effects are ignored; successes of trials count as so many rows of the same cluster.
        clusters: One or two columns of the design's table.
        small_sample: Apply the factor for few clusters.

    Raises:
        TooFewVideos: A clustering has fewer than two levels.
    """
    plain = fit(replace(design, factors=()))
    groups = [factor_of(design.frame, name) for name in clusters]
    if len(clusters) == 2:
        groups.append(factor_of(design.frame, ":".join(clusters)))
    probability = 1 / (1 + np.exp(-plain.fixed_predictor))
    weight = design.weights * design.trials * probability * (1 - probability)
    bread = np.linalg.inv(design.fixed.T @ (weight[:, None] * design.fixed))
    scores = (design.weights * (design.response - design.trials * probability))[:, None] * design.fixed
    meat = np.zeros_like(bread)
    for sign, group in zip((1, 1, -1), groups, strict=False):
        meat += sign * _meat(scores, group, small_sample)
    counts = {group.name: group.levels for group in groups[: len(clusters)]}
    return RobustLogit(design.names, plain.beta, bread @ meat @ bread, counts)


def _meat(scores: np.ndarray, group: Factor, small_sample: bool) -> np.ndarray:
    if group.levels < 2:
        raise TooFewVideos(f"column {group.name!r} has {group.levels} cluster; robust errors need at least two")
    sums = np.zeros((group.levels, scores.shape[1]))
    np.add.at(sums, group.codes, scores)
    rows, columns = scores.shape
    factor = group.levels / (group.levels - 1) * (rows - 1) / (rows - columns) if small_sample else 1.0
    return np.asarray(factor * sums.T @ sums)
