"""How far single answers are off: counts, shares in percent, and sets.

Errors of counts: absolute error, Expected Cost and normalised Expected Cost.

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

Errors of shares given in percent, in percentage points.

Definition: |reference - prediction|, never more than the distance from the reference to the farther
of 0 % and 100 %, which is also what a missing prediction costs. Source: the tolerance of percentage
answers in the FOCUS toolkit is stated in percentage points, so is the error.

Agreement of two sets: Jaccard index, set F1 and exact equality, one number per case.

Definitions, with R the reference set and P the predicted one:
    Jaccard = |R and P| / |R or P|        set F1 = 2 |R and P| / (|R| + |P|)        exact = 1 if R = P
Sources: Jaccard (1912); Dice (1945); recommended for multi-label answers by Metrics Reloaded
(Maier-Hein et al., Nature Methods 21, 2024) and named as "set-based metrics" by the FOCUS design.

The one decision: two empty sets agree perfectly (1), an empty and a non-empty one not at all (0).
Whether "none" is the empty set or a member of its own makes no difference to any of the three.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse

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


def percentage_points_errors(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The error of each share in percentage points; NaN predictions are missing and cost the worst.

    Example:
        >>> percentage_points_errors([30, 80, 50], [35, float("nan"), 1e9]).tolist()
        [5.0, 80.0, 50.0]
    """
    shares, given = np.asarray(reference, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    if shares.shape != given.shape or not np.isfinite(shares).all():
        raise Misuse(f"expected finite references and as many predictions, got {shares.size} and {given.size}")
    worst = np.maximum(shares, np.abs(100.0 - shares))
    return np.minimum(np.abs(np.where(np.isnan(given), math.inf, given) - shares), worst)


def memberships(sets: Iterable[Iterable[str]], *, names: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Which of `names` each set holds: `member[set, name]`.

    Raises:
        Misuse: A set holds something that is not among the names.

    Example:
        >>> memberships([{"Clip"}, set()], names=["Clip", "Mesh"]).tolist()
        [[True, False], [False, False]]
    """
    listed = [tuple(members) for members in sets]
    column = {name: index for index, name in enumerate(names)}
    if strangers := sorted({m for members in listed for m in members if m not in column}):
        raise Misuse(f"{', '.join(map(repr, strangers[:5]))} not among the {len(column)} names given")
    member = np.zeros((len(listed), len(column)), dtype=bool)
    rows = [row for row, members in enumerate(listed) for _ in members]
    member[rows, [column[m] for members in listed for m in members]] = True
    return member


def jaccard(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The Jaccard index of each row of two membership arrays.

    Example:
        >>> jaccard([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]).round(3).tolist()
        [0.333, 1.0]
    """
    left, right = _members(reference, prediction)
    return _share((left & right).sum(axis=1), (left | right).sum(axis=1))


def set_f1(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The set F1 (Dice coefficient) of each row of two membership arrays.

    Example:
        >>> set_f1([[1, 1, 0], [1, 0, 0]], [[1, 0, 1], [0, 0, 0]]).tolist()
        [0.5, 0.0]
    """
    left, right = _members(reference, prediction)
    return _share(2 * (left & right).sum(axis=1), left.sum(axis=1) + right.sum(axis=1))


def exact(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """1 where both rows hold the same members, 0 elsewhere.

    Example:
        >>> exact([[1, 0], [1, 1]], [[1, 0], [1, 0]]).tolist()
        [1.0, 0.0]
    """
    left, right = _members(reference, prediction)
    return np.asarray((left == right).all(axis=1), dtype=np.float64)


def _members(
    reference: npt.ArrayLike, prediction: npt.ArrayLike
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    left, right = np.asarray(reference, dtype=bool), np.asarray(prediction, dtype=bool)
    if left.shape != right.shape or left.ndim != 2:
        raise Misuse(f"expected two arrays of cases by members, got shapes {left.shape} and {right.shape}")
    return left, right


def _share(numerator: npt.NDArray[np.int_], whole: npt.NDArray[np.int_]) -> npt.NDArray[np.float64]:
    return np.divide(numerator, whole, out=np.ones(len(numerator)), where=whole > 0)
