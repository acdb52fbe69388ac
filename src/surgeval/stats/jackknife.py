"""Leaving out one unit at a time: jackknife values, standard errors and influence (Efron 1982, chapter 3)."""

from __future__ import annotations

import numpy as np

from surgeval.errors import Misuse
from surgeval.stats.nesting import ROWS
from surgeval.stats.replicates import Sample, unit_sums
from surgeval.stats.statistic import Statistic, divided, lerp, unweighted


def leave_one_out(sample: Sample) -> np.ndarray:
    """The value of each model without each unit of the first resampled level: `[unit, model]`.

    For `naive` the unit is the row, for `cluster` and `two-stage` the video, for a hierarchy its
    largest unit.

    Raises:
        Misuse: For a naive resample with the estimand `videos`.
    """
    if sample.nest.levels == (ROWS,):
        return _without_rows(sample)
    owners = top_units(sample)
    if sample.estimand == "videos":
        within = sample.within_units()
        known = np.isfinite(within)
        return _without(owners, np.where(known, within, 0.0), known.astype(np.float64))
    if sample.statistic.is_mean:
        return _without(owners, *unit_sums(sample.values, sample.nest.row_starts))
    rows = np.repeat(owners, sample.nest.sizes)
    kept = (unweighted(sample.statistic, sample.values[rows != unit]) for unit in range(int(owners.max()) + 1))
    return np.stack(list(kept))


def jackknife_sd(left_out: np.ndarray) -> np.ndarray:
    """The jackknife standard error of each column."""
    units = len(left_out)
    return np.asarray(np.sqrt((units - 1) / units * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)))


def top_units(sample: Sample) -> np.ndarray:
    """For each smallest named unit, the largest unit it lies in."""
    starts = sample.nest.starts[1 : len(sample.nest.levels) - sample.nest.draws_rows]
    owners = np.arange(sample.nest.units)
    for level in reversed(starts):
        owners = (np.searchsorted(level, owners, side="right") - 1).astype(owners.dtype)
    return owners


def _without(owners: np.ndarray, totals: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    units = int(owners.max()) + 1
    by_top = np.zeros((2, units, totals.shape[1]))
    np.add.at(by_top[0], owners, totals)
    np.add.at(by_top[1], owners, numbers)
    return divided(totals.sum(axis=0) - by_top[0], numbers.sum(axis=0) - by_top[1])


def _without_rows(sample: Sample) -> np.ndarray:
    if sample.estimand == "videos":
        raise Misuse(
            "leaving out rows is not defined for the estimand 'videos' under resample 'naive'; "
            "use resample='cluster' or 'two-stage'"
        )
    if sample.statistic.is_mean:
        scored = np.isfinite(sample.values)
        totals = np.where(scored, sample.values, 0.0)
        return divided(totals.sum(axis=0) - totals, scored.sum(axis=0) - scored)
    if isinstance(sample.statistic, Statistic) and sample.statistic.quantile is not None:
        return np.stack([_quantile_without(column, sample.statistic.quantile) for column in sample.values.T], axis=1)
    every = np.arange(len(sample.values))
    return np.stack([unweighted(sample.statistic, sample.values[every != row]) for row in every])


def _quantile_without(values: np.ndarray, quantile: float) -> np.ndarray:
    """The quantile without each value in turn: only three different answers are possible."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    number = len(values)
    if number < 2 or np.isnan(ordered[-1]):
        return np.full(number, np.nan)
    position = (number - 2) * quantile
    low = int(np.floor(position))
    high = min(low + 1, number - 2)
    place = np.arange(number)
    without = lerp(ordered[low + (place <= low)], ordered[high + (place <= high)], np.full(number, position - low))
    out = np.empty(number)
    out[order] = without
    return out
