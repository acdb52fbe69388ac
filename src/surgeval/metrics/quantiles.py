"""Quantiles of values that belong to units, under any weights.

Definition: the q-quantile is the smallest value at which the weight of the values up to it reaches the share q
of all weight (the inverse of the distribution function; no interpolation).

The one decision: interpolated quantiles depend on how often a sample was written out, so a weight would not be
a repetition. The inverse does not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.metrics.metric import Floats, Indices, UnitStatistics, blocks, redeem, tickets


class SortedValues(NamedTuple):
    """Values in rising order, with the unit of each."""

    values: Floats
    unit: Indices
    units: int


def quantile_statistics(values: npt.ArrayLike, unit: npt.ArrayLike, units: int) -> UnitStatistics:
    """Statistics from which `weighted_quantiles` reads; `unit` numbers the units from 0."""
    listed = np.asarray(values, dtype=np.float64)
    order = np.argsort(listed, kind="stable")
    return tickets(SortedValues(listed[order], np.asarray(unit, dtype=np.intp)[order], units), units)


def weighted_quantiles(statistics: UnitStatistics, weights: Floats, q: float) -> Floats:
    """The q-quantile under each weighting; NaN without weight.

    Example:
        >>> weighted_quantiles(quantile_statistics([3.0, 1.0, 2.0], [0, 0, 1], 2), np.array([[1.0, 1.0]]), 0.5)
        array([2.])
    """
    quantiles = np.full(len(weights), np.nan)
    if not len(statistics):
        return quantiles
    store, by_unit = redeem(statistics, weights)
    if not store.values.size:
        return quantiles
    for block in blocks(by_unit, store.values.size):
        reached = np.cumsum(by_unit[block][:, store.unit], axis=1)
        total = reached[:, -1]
        place = np.argmax(reached >= (q * total * (1 - 1e-12))[:, None], axis=1)
        first = np.argmax(reached > 0, axis=1)
        quantiles[block] = np.where(total > 0, store.values[np.maximum(place, first)], np.nan)
    return quantiles
