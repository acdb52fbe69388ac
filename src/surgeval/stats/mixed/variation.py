"""Where a property varies: between videos or inside them, in how many, and the degrees of freedom that leaves.

A property that is constant inside every video is observed once per video, however many rows there are, so its t test
has as many degrees of freedom as there are videos beyond the coefficients that are constant there too (containment).
A property that changes inside videos is observed once per video in which it changes, if its effect may differ between
videos. How often such tests are wrong was simulated: docs/validation-mixed.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from surgeval.stats.mixed.design import INTERCEPT, Design
from surgeval.stats.mixed.structure import Factor

Varies = Literal["between", "within", "mixed"]


@dataclass(frozen=True)
class Variation:
    """Where one column of the design varies."""

    varies: Varies
    """`between` videos only, `within` every video, or inside some of them (`mixed`)."""
    videos: int
    """Videos that carry the effect: all, or those in which the column changes."""
    having: int | None
    """Videos with a row that has the property; None where the column is not 0/1."""
    lacking: int | None
    """Videos with a row that does not have it."""


def variation(column: np.ndarray, video: Factor) -> Variation:
    """Where a column varies.

    Example:
        >>> import polars as pl
        >>> video = Factor("video", np.array([0, 0, 1, 1, 2]), pl.Series(["a", "b", "c"]))
        >>> variation(np.array([1.0, 1.0, 0.0, 0.0, 0.0]), video)
        Variation(varies='between', videos=3, having=1, lacking=2)
        >>> variation(np.array([1.0, 0.0, 0.0, 0.0, 0.0]), video).varies
        'mixed'
    """
    changing = int(changes_inside(column, video).sum())
    binary = bool(np.isin(column, (0.0, 1.0)).all())
    having, lacking = (len(np.unique(video.codes[column == value])) for value in (1.0, 0.0)) if binary else (None, None)
    if not changing:
        return Variation("between", video.levels, having, lacking)
    return Variation("within" if changing == video.levels else "mixed", changing, having, lacking)


def changes_inside(column: np.ndarray, group: Factor) -> np.ndarray:
    """Per level of a grouping, whether the column takes at least two values there."""
    low, high = np.full(group.levels, np.inf), np.full(group.levels, -np.inf)
    np.minimum.at(low, group.codes, column)
    np.maximum.at(high, group.codes, column)
    return np.asarray(high > low)


def contained_freedom(design: Design, video: Factor) -> np.ndarray:
    """Degrees of freedom per coefficient by containment; infinite where no grouping contains its column.

    For every grouping (not the effect of single rows) inside whose levels a column never changes: levels less the rank
    of all columns that are constant there, the smallest of these. The intercept counts the videos.
    """
    freedom = np.full(len(design.names), np.inf)
    for group in (video, *(f for f in design.factors if f.values is None and f.levels < design.rows)):
        constant = np.array([not changes_inside(column, group).any() for column in design.fixed.T])
        left = group.levels - _rank(design.fixed[:, constant], group)
        tested = constant.copy()
        tested[0] = group is video
        freedom[tested] = np.minimum(freedom[tested], left)
    return freedom


def _rank(columns: np.ndarray, group: Factor) -> int:
    """Rank of columns that are constant inside groups, one row per group."""
    first = np.zeros(group.levels, dtype=np.int64)
    first[group.codes[::-1]] = np.arange(len(group.codes))[::-1]
    return int(np.linalg.matrix_rank(columns[first]))


def slope_rank(design: Design, name: str, video: Factor) -> int:
    """One, and one more for every property of videos that the effect of a coefficient depends on."""
    pieces = set(name.split(":"))
    others = [np.ones(design.rows)]
    for other in design.names:
        rest = [piece for piece in other.split(":") if piece not in pieces]
        if other == INTERCEPT or not pieces < set(other.split(":")) or not rest:
            continue
        partner = ":".join(rest)
        column = design.fixed[:, design.names.index(partner)] if partner in design.names else None
        if column is not None and not changes_inside(column, video).any():
            others.append(column)
    return _rank(np.column_stack(others), video)


def slope_freedom(satterthwaite: float, videos: int, rank: int) -> float:
    """Satterthwaite's degrees of freedom of an effect that varies between videos, held between two limits.

    Example:
        >>> slope_freedom(3.0, 8, 1), slope_freedom(9.5, 8, 1), slope_freedom(float("inf"), 8, 1)
        (7.0, 9.5, 14.0)
    """
    least = float(videos - rank)
    return float(np.clip(satterthwaite, least, 2 * least))
