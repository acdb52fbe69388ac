"""Ranks with ties, distances of rankings, and statistics of resampled columns, under the generic rules."""

from __future__ import annotations

import numpy as np
import polars as pl

from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.ranking._focus.merge import places_of


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


def rounded(values: np.ndarray) -> np.ndarray:
    """Values to twelve digits of their largest, so that rounding noise breaks no tie."""
    scale = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    return np.asarray(np.round(values / scale, 12))


def min_ranks(score: np.ndarray) -> np.ndarray:
    """Ranks along the last axis, largest first; equal values share the best rank, NaN comes last.

    Example:
        >>> min_ranks(np.array([0.5, 0.9, 0.9, 0.1])).tolist()
        [3, 1, 1, 4]
    """
    hole = np.isnan(score)
    if hole.any():
        score = np.where(hole, np.nanmin(score, initial=0.0) - 1.0, score)
    return places_of(rounded(score))


def case_ranks(oriented: np.ndarray) -> np.ndarray:
    """Ranks of the models that have a score on each case, `[case, model]`, ties sharing the best; NaN without one."""
    return np.where(np.isnan(oriented), np.nan, places_of(oriented))


def consensus_ranks(ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The mean over tasks of ranks with average ties: the "euclidean" consensus.

    Args:
        ranks: `[task, ..., model]`, any tie rule; they are ranked again with average ties.
        weights: One per task.
    """
    tied = (ranks[..., None, :] == ranks[..., :, None]).sum(axis=-1)
    average = places_of(-ranks) + (tied - 1) / 2
    return np.asarray(np.tensordot(weights / weights.sum(), average, axes=1))


def resampled_mean(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means `[replicate, model]` of the cases drawn `counts[replicate, case]` times; NaN are left out."""
    given = np.isfinite(values)
    total = counts.astype(float) @ np.where(given, values, 0.0)
    used = counts.astype(float) @ given
    return np.asarray(np.divide(total, used, out=np.full(total.shape, np.nan), where=used > 0))


def resampled_quantile(values: np.ndarray, counts: np.ndarray, q: float) -> np.ndarray:
    """Quantiles `[replicate, model]` of the cases drawn so often; linear interpolation (R's type 7)."""
    out = np.empty((len(counts), values.shape[1]))
    for model in range(values.shape[1]):
        order = np.argsort(values[:, model], kind="stable")
        ordered = values[order, model]
        drawn = np.where(np.isfinite(ordered), counts[:, order], 0)
        out[:, model] = weighted_quantile(np.broadcast_to(ordered, drawn.shape), drawn, q)
    return out


def weighted_quantile(ordered: np.ndarray, counts: np.ndarray, q: float) -> np.ndarray:
    """The quantile of each row of sorted values, each repeated `counts` times; NaN for an empty row."""
    reached = np.cumsum(counts, axis=1)
    n = reached[:, -1:]
    at = np.maximum(n - 1, 0) * q
    lower = np.floor(at + 1e-9)
    low, high = _entry(ordered, reached, lower), _entry(ordered, reached, np.minimum(lower + 1, np.maximum(n - 1, 0)))
    share = np.maximum(at - lower, 0.0)[:, 0]
    value = np.where(share > 0, low + share * (high - low), low)
    return np.where(n[:, 0] > 0, value, np.nan)


def _entry(ordered: np.ndarray, reached: np.ndarray, position: np.ndarray) -> np.ndarray:
    index = np.minimum((reached <= position).sum(axis=1), ordered.shape[1] - 1)
    return np.asarray(ordered[np.arange(len(ordered)), index])
