"""Other tests that keep the video as the unit: studentised z, cluster bootstrap, t on video means."""

from __future__ import annotations

import numpy as np
from scipy import special

from surgeval.stats.draws import stream, video_counts
from surgeval.stats.paired_tests._scores import PairedScores, Tested


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
