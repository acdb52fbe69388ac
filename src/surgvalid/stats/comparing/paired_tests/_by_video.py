"""Tests that keep the video as the unit: sign flips, studentised z, cluster bootstrap, t on video means.

Many real scores live on a grid: halves, thirds, tenths, set overlaps. Multiplied up they are whole numbers and the
exact sign-flip test applies to all pairs at once (`_sign_flip`). Where they are not, each pair gets its own p-value
from `flip_p`, which draws nothing.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from surgvalid.stats.comparing.paired_tests._flip_p import COUNTED_VIDEOS, flip_p
from surgvalid.stats.comparing.paired_tests._scores import PairedScores, Tested
from surgvalid.stats.comparing.paired_tests._sign_flip import exact_p, fits_lattice, grid_of
from surgvalid.stats.draws import stream, video_counts

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


def studentised_z(numerator: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """`sum D / sqrt(sum D^2)`, and 0 where no video tells the models apart."""
    return np.asarray(np.divide(numerator, np.sqrt(squares), out=np.zeros_like(numerator), where=squares > 0))


def z_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided p-values of the studentised form of the sign-flip test, normal approximation."""
    del seed, replicates
    differences = scores.video_differences
    z = studentised_z(differences.sum(axis=0), (differences**2).sum(axis=0))
    return Tested(two_sided(z), "normal approximation")


def two_sided(z: np.ndarray) -> np.ndarray:
    """The two-sided p-value of a standard normal statistic."""
    return np.asarray(special.erfc(np.abs(z) / np.sqrt(2.0)))


def bootstrap_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided p-values by drawing whole videos: twice the share of replicates beyond zero."""
    counts = video_counts(len(scores.sizes), replicates, stream(seed, "cluster-bootstrap-test")).astype(float)
    totals = counts @ scores.sums
    first, second = scores.pairs
    gap = totals[:, first] - totals[:, second]
    noise = 1e-9 * (1.0 + np.abs(totals).max(initial=0.0))
    below, above = (gap <= noise).sum(axis=0), (gap >= -noise).sum(axis=0)
    p = 2.0 * (np.minimum(below, above) + 1) / (replicates + 1)
    return Tested(np.minimum(1.0, p), f"{replicates} replicates, seed {seed}")


def video_means_p(scores: PairedScores, *, seed: int, replicates: int) -> Tested:
    """Two-sided p-values of the t-test on differences of video means; every video weighs the same."""
    del seed, replicates
    means = scores.sums / scores.sizes[:, None]
    first, second = scores.pairs
    gap = means[:, first] - means[:, second]
    videos = len(gap)
    if videos < 2:
        return Tested(np.ones(gap.shape[1]), "undefined with one video")
    centre, spread = gap.mean(axis=0), gap.std(axis=0, ddof=1)
    flat = spread <= 1e-12 * np.maximum(1e-300, np.abs(centre))
    t = np.divide(centre * np.sqrt(videos), spread, out=np.zeros_like(centre), where=~flat)
    p = 2.0 * special.stdtr(videos - 1, -np.abs(t))
    p = np.where(flat, np.where(np.abs(centre) > 1e-12, 0.0, 1.0), p)
    return Tested(p, f"Student t, {videos - 1} degrees of freedom")
