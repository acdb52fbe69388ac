"""Whether properties separate the outcome: then no finite odds ratio fits best, however the fit was made.

Definition (Albert and Anderson 1984; Konis 2007). Rows with equal properties form a pattern. Some combination of the
fixed effects separates the outcome if it is at least zero on patterns of pure success, at most zero on patterns of pure
failure, zero on mixed ones, and not zero everywhere. A linear programme finds the combination that separates most.

The decision a reader would question: random effects are left out. What separates the outcome without them separates it
with them, so nothing is flagged wrongly; what only random effects separate is left to the check for huge estimates.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from surgeval.stats.mixed.design import Design

MOST_PATTERNS = 20_000
"""Beyond, properties are numeric and the search takes longer than the fit."""
_ZERO = 1e-7


def separating_terms(design: Design) -> list[str]:
    """The properties that together separate the outcome, by name; empty where none do or it was not looked for."""
    patterns, home = np.unique(design.fixed, axis=0, return_inverse=True)
    if patterns.shape[1] < 2 or len(patterns) > MOST_PATTERNS:
        return []
    home = home.ravel()
    hits = np.bincount(home, weights=design.response, minlength=len(patterns))
    tries = np.bincount(home, weights=design.trials, minlength=len(patterns))
    side = np.where(hits >= tries, 1.0, np.where(hits <= 0, -1.0, 0.0))
    pure, mixed = side != 0, side == 0
    signed = side[pure, None] * patterns[pure]
    if not len(signed):
        return []
    found = linprog(
        -signed.sum(axis=0),
        A_ub=np.vstack([-signed, signed]),
        b_ub=np.concatenate([np.zeros(len(signed)), np.ones(len(signed))]),
        A_eq=patterns[mixed] if mixed.any() else None,
        b_eq=np.zeros(int(mixed.sum())) if mixed.any() else None,
        bounds=(-1e6, 1e6),
        method="highs",
    )
    if not found.success or -found.fun <= _ZERO:
        return []
    return [name for name, part in zip(design.names[1:], found.x[1:], strict=True) if abs(part) > _ZERO]
