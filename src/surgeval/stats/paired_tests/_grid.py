"""The grid that scores lie on: whole numbers, halves, tenths, set overlaps; none for truly real scores."""

from __future__ import annotations

import numpy as np

GRIDS = (1, 2, 3, 4, 5, 6, 10, 12, 20, 30, 60, 100, 420, 1000, 2520, 10000)
"""Factors tried, in this order, to make the scores whole numbers."""
_TOLERANCE = 1e-9


def grid_of(values: np.ndarray) -> int | None:
    """The factor that makes every score a whole number, or None.

    Example:
        >>> grid_of(np.array([0.5, 0.25])), grid_of(np.array([np.pi]))
        (4, None)
    """
    for factor in GRIDS:
        scaled = values * factor
        if np.abs(scaled - np.rint(scaled)).max(initial=0.0) < _TOLERANCE * factor:
            return factor
    return None
