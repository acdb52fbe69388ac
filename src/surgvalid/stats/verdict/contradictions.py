"""Whether who is better depends on a condition: centres, devices, classes, phases.

Definition. Conditions of units (a centre): Welch's F (1951) of the units' differences by stratum, its p-value from
permuted labels (all labellings where there are fewer than 9,999). Conditions within units (a class): with `D_vc` the
difference in class c of unit v and `E_vc = D_vc - mean_c D_vc`, the statistic `sum_c (sum_v E_vc)^2 / sum_v E_vc^2`
under sign flips of whole vectors `E_v`. Holm over the columns tested.

It depends on a column where its p-value is at most alpha and two strata contradict each other: their own sign-flip
tests point in opposite directions, each at one-sided `alpha / (strata - 1)`.

What another centre may show is the prediction interval `m +- t[K-1] s sqrt(1 + 1/K)` over the differences of K
centres, each counted once; below five centres there is none.

The decision a reader would question: opposite means alone are not enough. Where one stratum has an effect and the
others none, they disagree in sign in 38 to 68 % of studies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import stdtrit

from surgvalid.stats.comparing.corrections import adjusted
from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.draws import stream
from surgvalid.stats.intervals.statistic import divided
from surgvalid.stats.verdict.joint_flips import DRAWN_PATTERNS, sign_patterns

FEWEST_PLACES = 5
"""Centres below which nothing is said about another one."""
MOST_STRATA = 12
"""Levels of a column beyond which it is no condition."""


class Stratum(NamedTuple):
    """One level of a condition."""

    name: str
    difference: float
    """Mean over its units; positive where the first model is better."""
    units: int
    p_value: float
    """Two-sided, of its own sign-flip test."""
    gaps: tuple[float, ...] = ()
    """The difference in each unit."""


class Condition(NamedTuple):
    """A column, how sure it is that differences depend on it, and its strata."""

    column: str
    p_adjusted: float
    strata: tuple[Stratum, ...]
    within: bool
    """Whether one unit has several of its levels."""

    def contradicting(self, alpha: float = 0.05) -> tuple[Stratum, Stratum] | None:
        """The two strata that name different models most surely; None where no two do."""
        if not self.p_adjusted <= alpha:
            return None
        edge = 2 * alpha / max(1, len(self.strata) - 1)
        sure = sorted((one for one in self.strata if one.p_value <= edge * (1 + 1e-12)), key=lambda one: one.p_value)
        better, worse = ([one for one in sure if way * one.difference > 0] for way in (1, -1))
        return (better[0], worse[0]) if better and worse else None


def predicted(condition: Condition, *, level: float = 0.95) -> tuple[float, float] | None:
    """Between which differences another stratum like these may lie; None below `FEWEST_PLACES`.

    Example:
        >>> five = tuple(Stratum(str(place), gap, 4, 1.0) for place, gap in enumerate((1.0, 2.0, 3.0, 4.0, 5.0)))
        >>> [round(end, 2) for end in predicted(Condition("center", 1.0, five, within=False))]
        [-1.81, 7.81]
    """
    gaps = np.array([one.difference for one in condition.strata])
    if len(gaps) < FEWEST_PLACES:
        return None
    half = float(stdtrit(len(gaps) - 1, (1 + level) / 2) * gaps.std(ddof=1) * math.sqrt(1 + 1 / len(gaps)))
    return float(gaps.mean()) - half, float(gaps.mean()) + half


def conditions(
    gaps: np.ndarray, units: np.ndarray, columns: Mapping[str, pl.Series], *, number: int
) -> tuple[Condition, ...]:
    """Every column tested.

    Args:
        gaps: The difference of two models in each case, positive where the first is better; NaN where not shared.
        units: The unit of each case, 0 to `number - 1`.
        columns: Conditions of the cases.
        number: How many units there are.
    """
    tested = [
        one
        for name, column in columns.items()
        if (one := _condition(name, column, gaps, units, number)) is not None and math.isfinite(one.p_adjusted)
    ]
    corrected = adjusted(np.array([one.p_adjusted for one in tested]), "holm")
    return tuple(one._replace(p_adjusted=float(p)) for one, p in zip(tested, corrected, strict=True))


def _condition(name: str, column: pl.Series, gaps: np.ndarray, units: np.ndarray, number: int) -> Condition | None:
    text = column.cast(pl.String).fill_null("").to_numpy()
    held = np.isfinite(gaps) & (text != "")
    levels, codes = np.unique(text[held].astype(str), return_inverse=True)
    if not 2 <= len(levels) <= MOST_STRATA:
        return None
    cells = units[held] * len(levels) + codes
    sums = np.bincount(cells, weights=gaps[held], minlength=number * len(levels))
    means = divided(sums, np.bincount(cells, minlength=number * len(levels))).reshape(number, len(levels))
    known = np.isfinite(means)
    within = bool((known.sum(axis=1) > 1).any())
    p = _within_p(means[known.all(axis=1)]) if within else _between_p(means)
    strata = tuple(
        Stratum(
            str(level), float(gaps_there.mean()), len(gaps_there), float(flip_p(gaps_there)[0]), (*gaps_there.tolist(),)
        )
        for level, gaps_there in zip(levels, (one[np.isfinite(one)] for one in means.T), strict=True)
    )
    return Condition(name, p, strata, within)


def _within_p(means: np.ndarray) -> float:
    """The p-value of strata that every unit has; NaN with fewer than two such units."""
    if len(means) < 2:
        return math.nan
    centred = means - means.mean(axis=1, keepdims=True)
    squares = (centred**2).sum(axis=0)
    if not (squares > 1e-24).any():
        return 1.0
    flipped = divided((sign_patterns(len(means)) @ centred) ** 2, squares)
    return _share(np.nansum(flipped, axis=1))


def _between_p(means: np.ndarray) -> float:
    """The p-value of strata that each unit has one of; strata of a single unit do not enter."""
    known = np.isfinite(means)
    means = means[:, known.sum(axis=0) > 1]
    unit, codes = np.nonzero(np.isfinite(means))
    if means.shape[1] < 2:
        return math.nan
    values = means[unit, codes]
    if np.ptp(values) <= 1e-12 * np.abs(values).max():
        return 1.0
    return _share(_welch(values, _labellings(codes)))


def _share(statistics: np.ndarray) -> float:
    """How many patterns are at least as extreme as the first, which is the data."""
    return float((statistics >= statistics[0] * (1 - 1e-9)).mean())


def _welch(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Welch's F of the values under every row of labels."""
    sizes = np.bincount(labels[0]).astype(np.float64)
    inside = [labels == code for code in range(len(sizes))]
    mean = np.stack([one @ values / size for one, size in zip(inside, sizes, strict=True)], axis=1)
    square = np.stack([one @ values**2 / size for one, size in zip(inside, sizes, strict=True)], axis=1)
    spread = np.maximum((square - mean**2) * sizes / (sizes - 1), 1e-12 * float(values.var()))
    weight = sizes / spread
    total, strata = weight.sum(axis=1, keepdims=True), len(sizes)
    centre = (weight * mean).sum(axis=1, keepdims=True) / total
    lack = ((1 - weight / total) ** 2 / (sizes - 1)).sum(axis=1)
    between = (weight * (mean - centre) ** 2).sum(axis=1) / (strata - 1)
    return np.asarray(between / (1 + 2 * (strata - 2) / (strata**2 - 1) * lack))


def _labellings(codes: np.ndarray) -> np.ndarray:
    """The labels, then other ways to give them to the units: all, or 9,999 with the data's own."""
    sizes = np.bincount(codes).tolist()
    ways = math.factorial(len(codes))
    for size in sizes:
        ways //= math.factorial(size)
    if ways <= DRAWN_PATTERNS:
        return np.array([codes, *_arranged(len(codes), sizes)])
    drawn = np.tile(codes, (DRAWN_PATTERNS, 1))
    stream(0, "permuted-strata").permuted(drawn[1:], axis=1, out=drawn[1:])
    return drawn


def _arranged(units: int, sizes: Sequence[int]) -> list[np.ndarray]:
    """Every way to give out labels `0, 1, ...` of which there are so many."""
    rows = [np.full(units, -1)]
    for code, size in enumerate(sizes):
        rows = [
            np.where(np.isin(np.arange(units), chosen), code, row)
            for row in rows
            for chosen in itertools.combinations(np.flatnonzero(row < 0).tolist(), size)
        ]
    return rows
