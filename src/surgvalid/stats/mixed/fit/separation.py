"""Whether columns separate the outcome: then no finite odds ratio fits best, however the fit was made.

Definition (Albert and Anderson 1984; Konis 2007). Rows with equal columns form a pattern. Some combination of the
columns separates the outcome if it is at least zero on patterns of pure success, at most zero on patterns of pure
failure, zero on mixed ones, and not zero everywhere. A linear programme finds the combination that separates most.
Patterns on which that combination is not zero are decided by it alone; on the others the remaining columns have finite
estimates, which are the limits of those of the whole (Geyer 2009, "Likelihood inference in exponential families and
directions of recession").

The decision a reader would question: random effects are left out. What separates the outcome without them separates it
with them, so nothing is flagged wrongly; what only random effects separate is left to the check for huge estimates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from surgvalid.stats.mixed.model.design import Design

MOST_PATTERNS = 20_000
"""Beyond, columns are numeric and the search takes longer than the fit."""
_ZERO = 1e-7


class Separation(NamedTuple):
    """What separates, and what is decided by it."""

    columns: np.ndarray
    """Which columns have a part in it; none where the outcome is not separated, or it was not looked for."""
    rows: np.ndarray
    """Which rows it decides."""


def separation(design: np.ndarray, successes: np.ndarray, trials: np.ndarray | float = 1.0) -> Separation:
    """The columns that together separate the outcome, and the rows that they decide.

    Args:
        design: `[row, column]`, with the intercept.
        successes: Of each row.
        trials: Of each row.

    Example:
        >>> smoke = np.array([[1.0, 0], [1, 0], [1, 1], [1, 1]])
        >>> found = separation(smoke, np.array([0.0, 1, 1, 1]))
        >>> found.columns.tolist(), found.rows.tolist()
        ([False, True], [False, False, True, True])
    """
    nothing = Separation(np.zeros(design.shape[1], dtype=bool), np.zeros(len(design), dtype=bool))
    patterns, home = np.unique(design, axis=0, return_inverse=True)
    if len(patterns) > MOST_PATTERNS:
        return nothing
    home = home.ravel()
    hits = np.bincount(home, weights=successes, minlength=len(patterns))
    tries = np.bincount(home, weights=np.broadcast_to(trials, len(design)), minlength=len(patterns))
    side = np.where(hits >= tries, 1.0, np.where(hits <= 0, -1.0, 0.0))
    pure, mixed = side != 0, side == 0
    signed = side[pure, None] * patterns[pure]
    if not len(signed):
        return nothing
    solution = linprog(
        -signed.sum(axis=0),
        A_ub=np.vstack([-signed, signed]),
        b_ub=np.concatenate([np.zeros(len(signed)), np.ones(len(signed))]),
        A_eq=patterns[mixed] if mixed.any() else None,
        b_eq=np.zeros(int(mixed.sum())) if mixed.any() else None,
        bounds=(-1e6, 1e6),
        method="highs",
    )
    if not solution.success or -solution.fun <= _ZERO:
        return nothing
    return Separation(np.abs(solution.x) > _ZERO, (np.abs(patterns @ solution.x) > _ZERO)[home])


def separating_terms(design: Design) -> list[str]:
    """The properties that together separate the outcome, by name; empty where none do or it was not looked for."""
    if design.fixed.shape[1] < 2:
        return []
    separated = separation(design.fixed, design.response, design.trials).columns
    return [name for name, separates in zip(design.names[1:], separated[1:], strict=True) if separates]
