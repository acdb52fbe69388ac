"""Agreement coefficients as functions of sums over videos, so that a resample is a vector of weights.

Each coefficient has additive statistics, one row per video, and a function from their sum to the value.
Sources: Cohen 1960 and 1968 (weighted), Fleiss 1971, Gwet 2008 (AC1), Krippendorff 2011 ("Computing
Krippendorff's alpha-reliability"), Shrout and Fleiss 1979 for ICC(2,1) and ICC(3,1) (two-way analysis of variance;
(2,1) counts a rater's constant offset as disagreement, (3,1) does not).

NaN means undefined: everybody said the same one thing, so there is nothing to agree about beyond chance.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Literal, NamedTuple

import numpy as np

from surgvalid.errors import UnknownName
from surgvalid.stats.intervals.statistic import divided

Scale = Literal["nominal", "ordinal", "interval"]
SCALES = ("nominal", "ordinal", "interval")
KAPPA_WEIGHTS = ("none", "linear", "quadratic")


class Coefficient(NamedTuple):
    """One coefficient, ready to be weighted."""

    name: str
    statistics: np.ndarray
    """`[video, entry]`: what the units of each video add."""
    value: Callable[[np.ndarray], np.ndarray]
    """Sums `[..., entry]` to values `[...]`."""


class Units(NamedTuple):
    """Which video each unit belongs to, and how much it counts."""

    videos: np.ndarray
    weights: np.ndarray

    @classmethod
    def single(cls, number: int) -> Units:
        """Units that count once each, all of one video."""
        return cls(np.zeros(number, dtype=np.int64), np.ones(number))

    def sums(self, statistics: np.ndarray) -> np.ndarray:
        """Weighted sums of `[unit, entry]` per video."""
        out = np.zeros((int(self.videos.max(initial=0)) + 1, statistics.shape[1]))
        np.add.at(out, self.videos, statistics * self.weights[:, None])
        return out

    def cells(self, cell: np.ndarray, size: int, weights: np.ndarray) -> np.ndarray:
        """Weighted counts of each cell per video; cells below 0 count for nothing."""
        number = int(self.videos.max(initial=0)) + 1
        kept = cell >= 0
        flat = self.videos[kept] * size + cell[kept]
        return np.bincount(flat, weights=(self.weights * weights)[kept], minlength=number * size).reshape(number, size)


def cohen(
    first: np.ndarray, second: np.ndarray, categories: int, units: Units, *, weights: str = "none"
) -> Coefficient:
    """Cohen's kappa of two raters; units that one of them did not rate count for nothing.

    Args:
        first: Codes of one rater, -1 where not rated.
        second: Codes of the other.
        categories: How many categories there are.
        units: Videos and weights of the units.
        weights: `none`, `linear` or `quadratic` in the distance of categories.
    """
    if weights not in KAPPA_WEIGHTS:
        raise UnknownName("kappa weights", weights, KAPPA_WEIGHTS)
    cell = np.where((first >= 0) & (second >= 0), first * categories + second, -1)
    cells = units.cells(cell, categories * categories, np.ones(len(cell)))
    distance = np.abs(np.subtract.outer(np.arange(categories), np.arange(categories))).astype(np.float64)
    cost = {"none": (distance > 0).astype(np.float64), "linear": distance, "quadratic": distance**2}[weights]

    def value(sums: np.ndarray) -> np.ndarray:
        table = sums.reshape(*sums.shape[:-1], categories, categories)
        rows, columns = table.sum(axis=-1), table.sum(axis=-2)
        expected = np.einsum("...i,...j,ij->...", rows, columns, cost)
        observed = (table * cost).sum(axis=(-2, -1)) * table.sum(axis=(-2, -1))
        return np.asarray(1.0 - divided(observed, expected))

    name = "cohen kappa" if weights == "none" else f"cohen kappa, {weights} weights"
    return Coefficient(name, cells, value)


def percent_agreement(codes: np.ndarray, units: Units) -> Coefficient:
    """The share of pairs of raters of a unit that agree, averaged over units."""
    statistics = units.sums(_agreed(codes))
    return Coefficient("agreement", statistics, lambda sums: divided(sums[..., 0], sums[..., 1]))


def gwet(codes: np.ndarray, units: Units) -> Coefficient:
    """Gwet's AC1, which stays near percent agreement where nearly everybody says the same."""

    def value(sums: np.ndarray) -> np.ndarray:
        means = divided(sums[..., 2:], sums[..., 1:2])
        chance = (means * (1 - means)).sum(axis=-1) / max(means.shape[-1] - 1, 1)
        return divided(divided(sums[..., 0], sums[..., 1]) - chance, 1 - chance)

    return Coefficient("Gwet's AC1", units.sums(_agreed(codes)), value)


def _agreed(codes: np.ndarray) -> np.ndarray:
    """Per unit: the share of pairs that agree, whether there is any pair, and the share of each category."""
    counts, number = _counts(codes)
    usable = number >= 2
    pairs = np.where(usable, number * (number - 1), 1.0)
    agree = np.where(usable, (counts * (counts - 1)).sum(axis=1) / pairs, 0.0)
    return np.column_stack([agree, usable, usable[:, None] * counts / np.maximum(number, 1)[:, None]])


def fleiss(codes: np.ndarray, units: Units) -> Coefficient | None:
    """Fleiss' kappa; None where units differ in how many raters they have (use Krippendorff's alpha)."""
    counts, number = _counts(codes)
    rated = number > 0
    if not rated.any() or np.ptp(number[rated]) > 0 or number[rated][0] < 2:
        return None
    raters = number[rated][0]
    agree = np.where(rated, ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1)), 0.0)
    statistics = np.column_stack([agree, rated.astype(np.float64), counts])

    def value(sums: np.ndarray) -> np.ndarray:
        number = sums[..., 1]
        share = divided(sums[..., 2:], (number * raters)[..., None])
        chance = (share**2).sum(axis=-1)
        return divided(divided(sums[..., 0], number) - chance, 1.0 - chance)

    return Coefficient("fleiss kappa", units.sums(statistics), value)


def krippendorff(
    codes: np.ndarray, categories: int, units: Units, *, scale: str = "nominal", numbers: np.ndarray | None = None
) -> Coefficient:
    """Krippendorff's alpha; units with fewer than two ratings count for nothing.

    Args:
        codes: `[unit, rater]`, -1 where not rated.
        categories: How many categories there are.
        units: Videos and weights of the units.
        scale: `nominal`, `ordinal` (categories in order) or `interval`.
        numbers: For `interval`, the number each category stands for.
    """
    if scale not in SCALES:
        raise UnknownName("scale", scale, SCALES)
    number = (codes >= 0).sum(axis=1)
    share = np.where(number >= 2, 1.0 / np.maximum(number - 1, 1), 0.0)
    coincidence = np.zeros((int(units.videos.max(initial=0)) + 1, categories * categories))
    for first, second in permutations(codes.T, 2):
        cell = np.where((first >= 0) & (second >= 0), first * categories + second, -1)
        coincidence += units.cells(cell, categories * categories, share)
    fixed = np.ones((categories, categories)) - np.eye(categories)
    if scale == "interval" and numbers is not None:
        fixed = np.subtract.outer(numbers, numbers) ** 2

    def value(sums: np.ndarray) -> np.ndarray:
        table = sums.reshape(*sums.shape[:-1], categories, categories)
        margin = table.sum(axis=-1)
        total = margin.sum(axis=-1)
        distance = _ordinal(margin) if scale == "ordinal" else fixed
        observed = (table * distance).sum(axis=(-2, -1))
        expected = (margin[..., :, None] * margin[..., None, :] * distance).sum(axis=(-2, -1))
        return np.asarray(1.0 - (total - 1) * divided(observed, expected))

    return Coefficient(f"krippendorff alpha, {scale}", coincidence, value)


def icc(numbers: np.ndarray, units: Units, *, kind: Literal["2,1", "3,1"]) -> Coefficient | None:
    """ICC(2,1) or ICC(3,1) over the units that every rater rated; None where fewer than two raters."""
    raters = numbers.shape[1]
    whole = np.isfinite(numbers).all(axis=1)
    if raters < 2 or whole.sum() < 2:
        return None
    centre = numbers[whole].mean()
    rated = np.where(whole[:, None], numbers - centre, 0.0)
    statistics = np.column_stack([whole, rated, rated.sum(axis=1) ** 2, (rated**2).sum(axis=1)]).astype(np.float64)

    def value(sums: np.ndarray) -> np.ndarray:
        number, columns = sums[..., 0], sums[..., 1 : 1 + raters]
        grand = divided(columns.sum(axis=-1) ** 2, number * raters)
        between = sums[..., 1 + raters] / raters - grand
        among = divided((columns**2).sum(axis=-1), number) - grand
        error = sums[..., 2 + raters] - sums[..., 1 + raters] / raters - among
        ms_units = divided(between, number - 1)
        ms_raters = among / (raters - 1)
        ms_error = divided(error, (number - 1) * (raters - 1))
        offset = raters * divided(ms_raters - ms_error, number) if kind == "2,1" else 0.0
        return divided(ms_units - ms_error, ms_units + (raters - 1) * ms_error + offset)

    return Coefficient(f"ICC({kind})", units.sums(statistics), value)


def _counts(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ratings per unit and category, and per unit."""
    counts = np.zeros((len(codes), int(codes.max(initial=0)) + 1))
    rows, raters = np.nonzero(codes >= 0)
    np.add.at(counts, (rows, codes[rows, raters]), 1.0)
    return counts, counts.sum(axis=1)


def _ordinal(margin: np.ndarray) -> np.ndarray:
    """Squared number of ratings between two categories, the end ones counted half."""
    middle = np.cumsum(margin, axis=-1) - margin / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)
