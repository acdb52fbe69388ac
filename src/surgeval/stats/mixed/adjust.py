"""p values adjusted for asking several questions of the same data.

Holm (1979) controls the chance of any false finding, Benjamini and Hochberg (1995) the expected share of false
ones among the findings.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """p values adjusted by Holm's step-down procedure; NaN stays NaN and does not count.

    Example:
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    return _stepped(np.asarray(p_values, float), down=True)


def benjamini_hochberg(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """p values adjusted by the step-up procedure of Benjamini and Hochberg; NaN stays NaN.

    Example:
        >>> benjamini_hochberg([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.04, 0.04]
    """
    return _stepped(np.asarray(p_values, float), down=False)


def _stepped(p_values: np.ndarray, *, down: bool) -> np.ndarray:
    result = np.full(len(p_values), np.nan)
    known = np.flatnonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    m, rank = len(order), np.arange(len(order))
    if down:
        adjusted = np.maximum.accumulate((m - rank) * p_values[order])
    else:
        adjusted = np.minimum.accumulate((m / (rank + 1) * p_values[order])[::-1])[::-1]
    result[order] = np.minimum(adjusted, 1.0)
    return result
