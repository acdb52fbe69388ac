"""Logistic regression with cluster-robust uncertainty: marginal odds ratios, no random effects.

The estimate is the ordinary logit (see `logistic`). Its covariance is the sandwich with scores summed per cluster,
one-way or two-way, with t quantiles at one degree of freedom less than clusters: CR1 from `FEW_CLUSTERS` clusters on,
CR2 below, where CR1 is too narrow; or percentiles of refits on resampled clusters. The odds ratio compares population
averages; that of a mixed model compares cases with equal random effects and is farther from one. The two answer
different questions and never share a table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy import stats

from surgeval.errors import Misuse, TooFewVideos, UnknownName
from surgeval.results.tables import failures as tables
from surgeval.stats.draws import stream
from surgeval.stats.logistic import (
    FEW_CLUSTERS,
    KINDS,
    LogisticFit,
    cluster_bootstrap,
    cluster_covariance,
    fit_logistic,
)
from surgeval.stats.mixed.design import Design, factor_of

Kind = Literal["auto", "CR0", "CR1", "CR2", "bootstrap"]


@dataclass(frozen=True)
class RobustLogit:
    """Marginal log odds ratios with cluster-robust uncertainty."""

    fit: LogisticFit
    standard_errors: np.ndarray
    clusters: dict[str, int]
    kind: str
    """`CR0`, `CR1`, `CR2` or `bootstrap`."""
    codes: tuple[np.ndarray, ...]
    replicates: int = 0
    seed: int = 0

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
        t = np.divide(self.beta, self.standard_errors, out=np.full_like(self.beta, np.nan),
                      where=self.standard_errors > 0)  # fmt: skip
        low, high = self._limits(level)
        with np.errstate(over="ignore"):
            ratio, low, high = np.exp(self.beta), np.exp(low), np.exp(high)
        return tables.MARGINAL.frame({
            "term": list(self.names), "estimate": self.beta, "std_error": self.standard_errors, "t": t,
            "p_value": 2 * stats.t.sf(np.abs(t), self.freedom), "marginal_odds_ratio": ratio, "low": low,
            "high": high, "covariance": self.kind, "clusters": min(self.clusters.values()),
        }).fill_nan(None)  # fmt: skip

    def _limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        if self.kind == "bootstrap":
            drawn = cluster_bootstrap(self.fit, self.codes[0], replicates=self.replicates, level=level,
                                      rng=stream(self.seed, "robust-logit"))  # fmt: skip
            return drawn.low, drawn.high
        width = float(stats.t.ppf(0.5 + level / 2, self.freedom)) * self.standard_errors
        return self.beta - width, self.beta + width


def robust_logit(
    design: Design, clusters: tuple[str, ...], *, kind: Kind = "auto", replicates: int = 1000, seed: int = 0
) -> RobustLogit:
    """The logit of a design with scores clustered by one or two columns.

    Args:
        design: Its random effects are ignored; successes of trials count as so many rows of the same cluster.
        clusters: One or two columns of the design's table.
        kind: `CR0`, `CR1`, `CR2`, `bootstrap` (one column only), or `auto`: CR2 below `FEW_CLUSTERS`, else CR1.
        replicates: Bootstrap refits.
        seed: Of the bootstrap.

    Raises:
        TooFewVideos: A clustering has fewer than two levels.
        Misuse: The outcome is no count and no 0/1, or two groupings are to be resampled.
    """
    if kind not in ("auto", *KINDS, "bootstrap"):
        raise UnknownName("covariance", kind, ["auto", *KINDS, "bootstrap"])
    if design.model.family != "binomial":
        raise Misuse("cluster-robust odds ratios need successes of trials or a 0/1 outcome; leave the clusters out")
    if kind == "bootstrap" and len(clusters) != 1:
        raise Misuse("the cluster bootstrap resamples one grouping; use CR1 or CR2 for two")
    for name in (variable for cluster in clusters for variable in cluster.split(":")):
        if name not in design.frame.columns:
            raise UnknownName("column of the design", name, design.frame.columns)
    groups = [factor_of(design.frame, name) for name in clusters]
    for group in groups:
        if group.levels < 2:
            raise TooFewVideos(f"column {group.name!r} has {group.levels} cluster; robust errors need at least two")
    counts = {group.name: group.levels for group in groups}
    codes = tuple(group.codes for group in groups)
    logit = fit_logistic(design.fixed, design.response, design.names, weights=design.weights, trials=design.trials,
                         offset=design.offset)  # fmt: skip
    chosen = ("CR2" if min(counts.values()) < FEW_CLUSTERS else "CR1") if kind == "auto" else kind
    if chosen == "bootstrap":
        drawn = cluster_bootstrap(logit, codes[0], replicates=replicates, level=0.95, rng=stream(seed, "robust-logit"))
        errors = drawn.std_error
    else:
        errors = np.sqrt(np.maximum(np.diag(cluster_covariance(logit, codes, kind=chosen)), 0.0))
    return RobustLogit(logit, errors, counts, chosen, codes, replicates, seed)
