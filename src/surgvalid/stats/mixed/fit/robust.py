"""Logistic regression with cluster-robust uncertainty: marginal odds ratios, no random effects.

The estimate is the ordinary logit (see `logistic`). Its covariance is the sandwich with scores summed per cluster,
one-way or two-way, with t quantiles at one degree of freedom less than clusters: CR1 from `FEW_CLUSTERS` clusters on,
CR2 below, where CR1 is too narrow. The odds ratio compares population
averages; that of a mixed model compares cases with equal random effects and is farther from one. The two answer
different questions and never share a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.results.tables import failures as tables
from surgvalid.stats.mixed.fit.logistic import LogisticFit, cluster_covariance, covariance_kind, fit_logistic
from surgvalid.stats.mixed.model.design import Design, factor_of


@dataclass(frozen=True)
class RobustLogit:
    """Marginal log odds ratios with cluster-robust uncertainty."""

    fit: LogisticFit
    standard_errors: np.ndarray
    clusters: dict[str, int]
    kind: str
    """`CR0`, `CR1` or `CR2`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients."""
        return tuple(self.fit.names)

    @property
    def beta(self) -> np.ndarray:
        """Marginal log odds ratios."""
        return self.fit.coefficients

    @property
    def freedom(self) -> int:
        """Degrees of freedom: one less than the fewest clusters."""
        return min(self.clusters.values()) - 1

    def table(self, *, level: float = 0.95) -> pl.DataFrame:
        """Rows `term, estimate, std_error, t, p_value, marginal_odds_ratio, low, high, covariance, clusters`."""
        t = np.divide(
            self.beta, self.standard_errors, out=np.full_like(self.beta, np.nan), where=self.standard_errors > 0
        )
        width = float(special.stdtrit(self.freedom, 0.5 + level / 2)) * self.standard_errors
        with np.errstate(over="ignore"):
            ratio, low, high = np.exp(self.beta), np.exp(self.beta - width), np.exp(self.beta + width)
        return tables.MARGINAL.frame(
            {
                "term": list(self.names),
                "estimate": self.beta,
                "std_error": self.standard_errors,
                "t": t,
                "p_value": 2 * special.stdtr(self.freedom, -np.abs(t)),
                "marginal_odds_ratio": ratio,
                "low": low,
                "high": high,
                "covariance": self.kind,
                "clusters": min(self.clusters.values()),
            }
        ).fill_nan(None)


def robust_logit(design: Design, clusters: tuple[str, ...], *, kind: str = "auto") -> RobustLogit:
    """The logit of a design with scores clustered by one or two columns.

    Args:
        design: Its random effects are ignored; successes of trials count as so many rows of the same cluster.
        clusters: One or two columns of the design's table.
        kind: `CR0`, `CR1`, `CR2`, or `auto`: CR2 below `FEW_CLUSTERS`, else CR1.

    Raises:
        TooFewVideos: A clustering has fewer than two levels.
        Misuse: The outcome is no count and no 0/1.
    """
    if design.model.family != "binomial":
        raise Misuse("cluster-robust odds ratios need successes of trials or a 0/1 outcome; leave the clusters out")
    for name in (variable for cluster in clusters for variable in cluster.split(":")):
        if name not in design.frame.columns:
            raise UnknownName("column of the design", name, design.frame.columns)
    groups = [factor_of(design.frame, name) for name in clusters]
    for group in groups:
        if group.levels < 2:
            raise TooFewVideos(f"column {group.name!r} has {group.levels} cluster; robust errors need at least two")
    counts = {group.name: group.levels for group in groups}
    logit = fit_logistic(
        design.fixed, design.response, design.names, weights=design.weights, trials=design.trials, offset=design.offset
    )
    chosen = covariance_kind(min(counts.values())) if kind == "auto" else kind
    covariance = cluster_covariance(logit, [group.codes for group in groups], kind=chosen)
    return RobustLogit(logit, np.sqrt(np.maximum(np.diag(covariance), 0.0)), counts, chosen)
