"""The sign-flip test for scores that are no whole numbers.

Many real scores still live on a grid: halves, thirds, tenths, set overlaps. Multiplied up they are
whole numbers and the exact test applies. Where they are not, all sign patterns are listed for few
videos, and for many videos patterns are drawn with a published seed; the method is named in the result.
"""

from __future__ import annotations

import numpy as np

from surgeval.stats.draws import stream
from surgeval.stats.paired_tests._scores import PairedScores, Tested
from surgeval.stats.paired_tests._sign_flip import exact_p, fits_lattice

GRIDS = (1, 2, 3, 4, 5, 6, 10, 12, 20, 30, 60, 100, 420, 1000, 2520, 10000)
"""Factors tried, in this order, to make the scores whole numbers."""
LISTED_VIDEOS = 14
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


def sign_flip_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided p-values of every pair, and how they were computed."""
    factor = grid_of(scores.values)
    if factor is not None:
        differences = np.rint(scores.video_differences * factor)
        if fits_lattice(differences):
            return Tested(exact_p(differences), "exact" if factor == 1 else f"exact, scores times {factor}")
    differences = scores.video_differences
    if len(differences) <= LISTED_VIDEOS:
        return Tested(_listed_p(differences), "exact, all sign patterns listed")
    p = _drawn_p(differences, seed, replicates)
    return Tested(p, f"Monte Carlo, {replicates} sign patterns, seed {seed}", drawn=True)


def _listed_p(differences: np.ndarray) -> np.ndarray:
    videos = len(differences)
    patterns = np.arange(2 ** (videos - 1))[:, None] >> np.arange(videos)
    signs = 1.0 - 2.0 * (patterns & 1)
    extreme, pairs = _threshold(differences), differences.shape[1]
    p = np.empty(pairs)
    for start in range(0, pairs, 64):
        part = slice(start, start + 64)
        p[part] = (np.abs(signs @ differences[:, part]) >= extreme[part]).mean(axis=0)
    return p


def _drawn_p(differences: np.ndarray, seed: int, replicates: int) -> np.ndarray:
    rng, extreme = stream(seed, "sign-flip"), _threshold(differences)
    reached = np.zeros(differences.shape[1])
    for start in range(0, replicates, 2000):
        rows = min(2000, replicates - start)
        signs = 1.0 - 2.0 * rng.integers(0, 2, (rows, len(differences)))
        reached += (np.abs(signs @ differences) >= extreme).sum(axis=0)
    return np.asarray((reached + 1) / (replicates + 1))


def _threshold(differences: np.ndarray) -> np.ndarray:
    """What counts as at least as extreme; sums that differ by rounding only are equal."""
    return np.asarray(np.abs(differences.sum(axis=0)) - _TOLERANCE * (np.abs(differences).sum(axis=0) + 1e-300))
