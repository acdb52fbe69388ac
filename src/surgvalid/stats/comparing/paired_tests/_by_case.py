"""Tests whose unit is the case: McNemar and Wilcoxon. They ignore that cases of one video go together."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from scipy import special

from surgvalid.errors import Misuse
from surgvalid.stats.comparing.paired_tests._by_video import two_sided
from surgvalid.stats.comparing.paired_tests._scores import PairedScores, Tested


def mcnemar_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided exact binomial p-values from the cases on which exactly one model is right.

    Raises:
        Misuse: Scores other than 0 and 1.
    """
    del seed, replicates
    values = scores.values
    if not np.isin(values, (0.0, 1.0)).all():
        raise Misuse("test 'mcnemar' needs scores of 0 and 1, and other values were found; use 'sign-flip'")
    only_first = values.T @ (1.0 - values)
    first, second = scores.pairs
    up, down = only_first[first, second], only_first[second, first]
    p = 2.0 * special.bdtr(np.minimum(up, down), (up + down).astype(np.int64), 0.5)
    return Tested(np.minimum(1.0, p), "exact binomial")


def wilcoxon_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided signed-rank p-values of every pair, normal approximation with continuity correction."""
    del seed, replicates
    return Tested(signed_rank_p(scores.case_differences, alternative="two-sided"), "normal approximation")


def signed_rank_p(differences: np.ndarray, *, alternative: Literal["greater", "two-sided"]) -> np.ndarray:
    """Wilcoxon signed-rank p-values, one per column; NaN where every difference is zero.

    Zeros and NaN are dropped, ties get mid-ranks, the variance is corrected for ties, and the normal
    approximation has a continuity correction: the rule of R's `wilcox.test(exact = FALSE)`, which
    challengeR uses. Differences are used as they come; rounding noise decides ties as it does there.

    Example:
        >>> signed_rank_p(np.array([[1.0], [2.0], [3.0], [-0.5]]), alternative="greater").round(4).tolist()
        [0.1006]
    """
    positive, n, ties = np.zeros((3, differences.shape[1]))
    for place, column in enumerate(differences.T):
        used = column[np.isfinite(column) & (column != 0.0)]
        size = np.abs(used)
        run = np.unique(size, return_counts=True)[1].astype(float)
        positive[place] = pl.Series(size).rank().to_numpy()[used > 0].sum()
        n[place], ties[place] = len(used), (run**3 - run).sum()
    return signed_rank_tail(positive, n, ties, alternative=alternative)


def signed_rank_tail(
    positive: np.ndarray, n: np.ndarray, ties: np.ndarray, *, alternative: Literal["greater", "two-sided"]
) -> np.ndarray:
    """The p-value of a sum of positive ranks among `n` differences; `ties` is the sum of t^3 - t."""
    gap = positive - n * (n + 1) / 4.0
    variance = n * (n + 1) * (2 * n + 1) / 24.0 - ties / 48.0
    step = 0.5 if alternative == "greater" else 0.5 * np.sign(gap)
    z = np.divide(gap - step, np.sqrt(np.maximum(variance, 0.0)), out=np.full(gap.shape, np.nan), where=variance > 0)
    return np.asarray(special.ndtr(-z)) if alternative == "greater" else two_sided(z)
