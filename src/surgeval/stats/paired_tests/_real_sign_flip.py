"""The sign-flip test of all pairs of models, whatever their scores are.

Many real scores still live on a grid: halves, thirds, tenths, set overlaps. Multiplied up they are whole numbers and
the exact test applies to all pairs at once. Where they are not, each pair gets its own p-value from `flip_p`, which
draws nothing.
"""

from __future__ import annotations

import numpy as np

from surgeval.stats.paired_tests._flip_p import COUNTED_VIDEOS, flip_p
from surgeval.stats.paired_tests._grid import grid_of
from surgeval.stats.paired_tests._scores import PairedScores, Tested
from surgeval.stats.paired_tests._sign_flip import exact_p, fits_lattice

MANY_PAIRS = 1000
"""Beyond so many pairs, those whose p-value decides nothing under any correction get a quicker one."""
SMALLEST_LEVEL = 0.001
"""Smallest level for which a p-value 20 times below the first step of Holm passes whatever its last digits are."""
LARGEST_P = 0.2
"""Beyond it nothing is significant at any level in use."""


def sign_flip_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided p-values of every pair, and how they were computed; nothing is drawn."""
    del seed, replicates
    factor = grid_of(scores.values)
    if factor is not None:
        differences = np.rint(scores.video_differences * factor)
        if fits_lattice(differences):
            return Tested(exact_p(differences), "exact" if factor == 1 else f"exact, scores times {factor}")
    few, pairs = len(scores.sizes) <= COUNTED_VIDEOS, len(scores.pairs[0])
    if few or pairs <= MANY_PAIRS:
        return Tested(flip_p(scores.video_differences), "exact, patterns counted" if few else "counted or saddlepoint")
    bounds = (SMALLEST_LEVEL / pairs / 20, LARGEST_P)
    p = flip_p(scores.video_differences, refined=bounds)
    return Tested(p, f"counted or saddlepoint; below {bounds[0]:.1g} and above {bounds[1]:g} saddlepoint alone")
