"""Errors of counts: absolute error, Expected Cost and normalised Expected Cost.

Definitions, for cases with reference count i and predicted count j and weights w that sum to 1:
    EC  = sum over cases of w * cost(i, j)        with cost |i - j| (power 1) or (i - j)^2 (power 2)
    NEC = EC / min over constants d of the sum over cases of w * cost(i, d)
With equal weights EC is the sum over all (i, j) of prior(i) * rate(j given i) * cost(i, j).
Sources: Ferrer, Analysis and Comparison of Classification Metrics, arXiv:2209.05355; Metrics Reloaded
(Maier-Hein et al., Nature Methods 21, 2024); named for counting questions by the FOCUS design.
NEC below 1 beats the best constant answer; 1 equals it; there is no upper end.

The one decision: a missing prediction costs the worst that a prediction within 0..top could cost, top
being the largest reference, and a given one never costs more. So silence is never the better answer,
one absurd number cannot outweigh the set, and the scale does not depend on any model's predictions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse

Floats = npt.NDArray[np.float64]


class ExpectedCost(NamedTuple):
    """The Expected Cost of a set of predictions, and of the best constant beside it."""

    value: float
    normalised: float
    """`value` over `constant_cost`; NaN where a constant answers everything right."""
    constant: int
    constant_cost: float


def worst_errors(reference: npt.ArrayLike, *, top: float | None = None) -> Floats:
    """The largest error a prediction within 0..top can make on each reference.

    Example:
        >>> worst_errors([1, 4]).tolist()
        [3.0, 4.0]
    """
    counts = _counts(reference)
    highest = counts.max(initial=0.0) if top is None else top
    return np.asarray(np.maximum(counts, np.abs(highest - counts)))


def count_errors(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, top: float | None = None) -> Floats:
    """The absolute error of each prediction; NaN predictions are missing and cost the worst.

    Args:
        reference: Counts, zero or more.
        prediction: Counts; NaN where there is none.
        top: The upper end of the range of legal counts; the largest reference if left out.

    Example:
        >>> count_errors([1, 4, 2], [2, float("nan"), 1000]).tolist()
        [1.0, 4.0, 2.0]
    """
    counts, given = _counts(reference), np.asarray(prediction, dtype=np.float64)
    if counts.shape != given.shape:
        raise Misuse(f"{counts.size} references and {given.size} predictions")
    worst = worst_errors(counts, top=top)
    error = np.abs(np.where(np.isnan(given), math.inf, given) - counts)
    return np.minimum(error, worst)


def expected_cost(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    power: int = 1,
    top: float | None = None,
    weights: npt.ArrayLike | None = None,
) -> ExpectedCost:
    """The Expected Cost of counts, plain and over that of the best constant.

    Args:
        reference: Counts, zero or more.
        prediction: Counts; NaN where there is none.
        power: 1 for the cost |i - j|, 2 for (i - j)^2.
        top: The upper end of the range of legal counts; the largest reference if left out.
        weights: Of the cases, equal if left out. The best constant is sought under the same weights.

    Example:
        >>> cost = expected_cost([0, 1, 1, 4], [0, 1, 2, 4])
        >>> cost.value, cost.constant, cost.constant_cost, cost.normalised
        (0.25, 1, 1.0, 0.25)
    """
    if power not in (1, 2):
        raise Misuse(f"power must be 1 or 2, got {power!r}")
    counts = _counts(reference)
    if not counts.size:
        return ExpectedCost(math.nan, math.nan, 0, math.nan)
    share = _shares(weights, counts.size)
    value = float(share @ count_errors(counts, prediction, top=top) ** power)
    constant = _best_constant(counts, share, power)
    constant_cost = float(share @ np.abs(counts - constant) ** power)
    return ExpectedCost(value, value / constant_cost if constant_cost > 0 else math.nan, constant, constant_cost)


def _best_constant(counts: Floats, share: Floats, power: int) -> int:
    """The least constant of least cost: the weighted median, or a neighbour of the weighted mean."""
    if power == 1:
        order = np.argsort(counts, kind="stable")
        reached = np.cumsum(share[order]) >= 0.5 - 1e-12
        return int(counts[order][np.argmax(reached)])
    below = math.floor(share @ counts)
    costs = [float(share @ (counts - d) ** 2) for d in (below, below + 1)]
    return below if costs[0] <= costs[1] else below + 1


def _shares(weights: npt.ArrayLike | None, size: int) -> Floats:
    share = np.ones(size) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.shape != (size,) or not np.isfinite(share).all() or (share < 0).any() or share.sum() <= 0:
        raise Misuse(f"weights must be {size} finite numbers, none negative and not all zero")
    return np.asarray(share / share.sum())


def _counts(reference: npt.ArrayLike) -> Floats:
    counts = np.asarray(reference, dtype=np.float64)
    if counts.ndim != 1 or not np.isfinite(counts).all() or (counts < 0).any():
        raise Misuse("reference counts must be one list of finite numbers, none negative")
    return counts
