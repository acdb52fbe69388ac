"""Intervals from replicates: percentile, basic and BCa (Efron and Tibshirani 1993, chapters 13 and 14).

Percentile takes the quantiles of the replicates (linear between them); basic mirrors them about the
value; BCa shifts the quantiles for median bias and for a standard error that changes with the value,
its acceleration taken from leaving out one resampled unit at a time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from surgeval.errors import Misuse, UnknownName

METHODS = ("percentile", "basic", "bca")


class Bounds(NamedTuple):
    """Lower and upper ends, one per model."""

    low: np.ndarray
    high: np.ndarray


def bounds(
    replicates: np.ndarray,
    value: np.ndarray,
    *,
    level: float = 0.95,
    method: str = "percentile",
    left_out: np.ndarray | None = None,
) -> Bounds:
    """The ends of the interval of each column.

    Args:
        replicates: `[replicate, column]`; NaN replicates (nothing scored was drawn) are left aside.
        value: The value of each column on the data themselves.
        level: Coverage asked for.
        method: `percentile`, `basic` or `bca`.
        left_out: For BCa, the values with one unit left out: `[unit, column]`.

    Raises:
        UnknownName: No such method.
        Misuse: A level outside (0, 1), or BCa without `left_out`.
    """
    check_level(level)
    tail = (1 - level) / 2
    if method == "percentile":
        return Bounds(*_quantiles(replicates, np.full_like(value, tail), np.full_like(value, 1 - tail)))
    if method == "basic":
        low, high = _quantiles(replicates, np.full_like(value, tail), np.full_like(value, 1 - tail))
        return Bounds(2 * value - high, 2 * value - low)
    if method == "bca":
        if left_out is None:
            raise Misuse("method 'bca' needs the values with one unit left out")
        shares = bca_shares(replicates, value, left_out, np.array([tail, 1 - tail]))
        return Bounds(*_quantiles(replicates, shares[0], shares[1]))
    raise UnknownName("interval method", method, METHODS)


def check_level(level: float) -> None:
    """Refuse a level that is no probability strictly between 0 and 1."""
    if not 0 < level < 1:
        raise Misuse(f"level must lie between 0 and 1, got {level!r}; for 95 % pass 0.95")


def percent(level: float) -> str:
    """A level as prose says it, unrounded.

    Example:
        >>> percent(0.95), percent(0.975)
        ('95%', '97.5%')
    """
    return f"{100 * level:g}%"


def bca_shares(replicates: np.ndarray, value: np.ndarray, left_out: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """The shares of the replicates that BCa reads off: `[tail, column]`; the plain tails where all are equal."""
    known = np.isfinite(replicates)
    number = np.maximum(known.sum(axis=0), 1)
    below = (replicates < value).sum(axis=0)
    ties = (replicates == value).sum(axis=0)
    share = (below + 0.5 * ties) / number
    bias = ndtri(np.clip(share, 0.5 / number, 1 - 0.5 / number))
    speed = acceleration(left_out)
    shifted = bias + ndtri(tails)[:, None]
    moved = ndtr(bias + shifted / (1 - speed * shifted))
    spread = np.nanmax(replicates, axis=0, initial=-np.inf) > np.nanmin(replicates, axis=0, initial=np.inf)
    return np.where(spread & np.isfinite(moved), moved, tails[:, None])


def acceleration(left_out: np.ndarray) -> np.ndarray:
    """A sixth of the skewness of the values with one unit left out; 0 where they do not vary."""
    gap = left_out.mean(axis=0) - left_out
    spread = (gap**2).sum(axis=0) ** 1.5
    third = (gap**3).sum(axis=0)
    return np.asarray(np.divide(third, 6 * spread, out=np.zeros_like(third), where=spread > 1e-300))


def _quantiles(replicates: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ends = np.full((2, replicates.shape[1]), np.nan)
    whole = np.isfinite(replicates).all(axis=0)
    if whole.any() and (low[whole] == low[whole][0]).all() and (high[whole] == high[whole][0]).all():
        ends[:, whole] = np.quantile(replicates[:, whole], [low[whole][0], high[whole][0]], axis=0)
        remaining = np.flatnonzero(~whole)
    else:
        remaining = np.arange(replicates.shape[1])
    for column in remaining:
        known = replicates[np.isfinite(replicates[:, column]), column]
        if known.size:
            ends[:, column] = np.quantile(known, [low[column], high[column]])
    return ends[0], ends[1]
