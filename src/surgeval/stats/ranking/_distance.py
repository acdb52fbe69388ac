"""How far two rankings are apart: Kendall's tau-b and Spearman's footrule, for many rankings at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from surgeval.stats.paired_tests import pair_indices


def kendall_tau_b(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kendall's tau-b along the last axis, broadcast over the others; NaN where a ranking is constant.

    Example:
        >>> float(kendall_tau_b(np.array([1, 2, 3, 4]), np.array([1, 3, 2, 4])).round(4))
        0.6667
    """
    first, second = pair_indices(a.shape[-1])
    up = np.sign(a[..., first] - a[..., second]).astype(float)
    down = np.sign(b[..., first] - b[..., second]).astype(float)
    together = (up * down).sum(axis=-1)
    size = np.sqrt((up * up).sum(axis=-1) * (down * down).sum(axis=-1))
    return np.asarray(np.divide(together, size, out=np.full(np.shape(together), np.nan), where=size > 0))


def spearman_footrule(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The sum of absolute differences of ranks along the last axis.

    Example:
        >>> int(spearman_footrule(np.array([1, 2, 3]), np.array([3, 2, 1])))
        4
    """
    return np.asarray(np.abs(a - b).sum(axis=-1))


def tau_frequencies(column: str, name: str, tau: np.ndarray) -> pl.DataFrame:
    """The share of resamples that gave each tau-b; null, last, is where a ranking was constant.

    Args:
        column: Heads the first column: `task` or `board`.
        name: What stands in it.
        tau: One value per resample.

    Example:
        >>> tau_frequencies("task", "t", np.array([1.0, np.nan, 1.0, -1.0])).rows()
        [('t', -1.0, 0.25), ('t', 1.0, 0.5), ('t', None, 0.25)]
    """
    value, count = np.unique(np.round(tau, 12), return_counts=True)
    schema = {"tau_b": pl.Float64, "share": pl.Float64}
    frame = pl.DataFrame({"tau_b": value, "share": count / max(1, len(tau))}, schema=schema)
    return frame.select(pl.lit(name).alias(column), pl.col("tau_b").fill_nan(None), "share")
