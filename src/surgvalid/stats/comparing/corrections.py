"""Corrections of p-values for the number of tests in a family."""

from __future__ import annotations

from typing import Literal

import numpy as np

from surgvalid.errors import UnknownName

Correction = Literal["holm", "none", "bh"]
CORRECTIONS: dict[str, str] = {
    "holm": "Holm's step-down procedure: at most one false claim in the family, with probability 1 - alpha",
    "none": "no correction: each test keeps its own level",
    "bh": "Benjamini-Hochberg: the expected share of false claims among the claims",
}


def adjusted(p: np.ndarray, correction: str) -> np.ndarray:
    """Adjusted p-values, family by family along the last axis.

    NaN means that nothing could be tested: it stays NaN and does not count in the family.

    Raises:
        UnknownName: No such correction.

    Example:
        >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").tolist()
        [0.03, 0.06, 0.06]
    """
    if correction not in CORRECTIONS:
        raise UnknownName("correction", correction, CORRECTIONS)
    if correction == "none" or p.size == 0:
        return p.copy()
    order = np.argsort(p, axis=-1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=-1)
    tests = np.isfinite(p).sum(axis=-1, keepdims=True)
    position = np.arange(p.shape[-1])
    if correction == "holm":
        raised = np.maximum.accumulate(ranked * np.maximum(tests - position, 1), axis=-1)
    else:
        scaled = ranked * tests / (position + 1.0)
        scaled = np.where(np.isnan(scaled), np.inf, scaled)
        raised = np.minimum.accumulate(scaled[..., ::-1], axis=-1)[..., ::-1]
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.minimum(raised, 1.0), axis=-1)
    return np.where(np.isnan(p), np.nan, out)


def is_significant(p_adjusted: np.ndarray, alpha: float) -> np.ndarray:
    """Whether each adjusted p-value is at most `alpha`; NaN never is."""
    return np.asarray(p_adjusted <= alpha * (1.0 + 1e-12))
