"""Errors of shares given in percent, in percentage points.

Definition: |reference - prediction|, never more than the distance from the reference to the farther
of 0 % and 100 %, which is also what a missing prediction costs. Source: the tolerance of percentage
answers in the FOCUS toolkit is stated in percentage points, so is the error.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse


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
