"""Paired tests between models, each with its unit and, where it ignores clusters, its warning.

All pairs of models are tested at once on the same cases. The exact sign-flip test by video is the
default of every ranking here; the others exist to be compared with it, or to repeat published work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from surgvalid.errors import Misuse, UnknownName
from surgvalid.stats.comparing.corrections import CORRECTIONS, Correction, adjusted, is_significant
from surgvalid.stats.comparing.paired_tests._by_case import mcnemar_p, signed_rank_p, signed_rank_tail, wilcoxon_p
from surgvalid.stats.comparing.paired_tests._by_video import bootstrap_p, sign_flip_p, studentised_z, video_means_p, z_p
from surgvalid.stats.comparing.paired_tests._flip_p import flip_p, smallest_p
from surgvalid.stats.comparing.paired_tests._scores import PairedScores, Tested, pair_indices
from surgvalid.stats.comparing.paired_tests._sign_flip import exact_p

__all__ = [
    "CORRECTIONS",
    "TESTS",
    "Correction",
    "PairTests",
    "PairedScores",
    "PairedTest",
    "adjusted",
    "exact_p",
    "flip_p",
    "is_significant",
    "pair_indices",
    "pair_tests",
    "paired_test",
    "scores_tested",
    "signed_rank_p",
    "signed_rank_tail",
    "smallest_p",
    "studentised_z",
]


@dataclass(frozen=True)
class PairedTest:
    """One test and what a reader must know about it."""

    name: str
    title: str
    unit: str
    """What is taken to be independent: `video` or `case`."""
    run: Callable[..., Tested]
    warning: str = ""
    """Why its p-values may not be trusted; empty where they may."""

    def smallest_p(self, *, videos: int, cases: int, replicates: int) -> float:
        """The smallest p-value the test can give, whatever the scores; 0 where it has no lower bound.

        Example:
            >>> TESTS["sign-flip"].smallest_p(videos=9, cases=90, replicates=0)
            0.00390625
        """
        floors = {
            "sign-flip": 2.0 ** min(0, 1 - videos),
            "mcnemar": 2.0 ** min(0, 1 - cases),
            "cluster-bootstrap": 2.0 / (replicates + 1),
            "sign-flip-z": float(special.erfc(np.sqrt(videos / 2.0))),
        }
        return floors.get(self.name, 0.0)


_IGNORES = (
    "{} takes the cases of one video for independent; where they are not, it finds differences between "
    "equal models far more often than its level says"
)
TESTS: dict[str, PairedTest] = {
    test.name: test
    for test in (
        PairedTest("sign-flip", "sign-flip test by video", "video", sign_flip_p),
        PairedTest("sign-flip-z", "studentised sign-flip test by video", "video", z_p),
        PairedTest(
            "cluster-bootstrap",
            "percentile bootstrap of whole videos",
            "video",
            bootstrap_p,
            "the percentile bootstrap rejects too often with few videos (about 9 % instead of 5 % with ten)",
        ),
        PairedTest("video-means-t", "t-test on differences of video means", "video", video_means_p),
        PairedTest("mcnemar", "McNemar's exact test", "case", mcnemar_p, _IGNORES.format("McNemar's test")),
        PairedTest(
            "wilcoxon", "Wilcoxon signed-rank test", "case", wilcoxon_p, _IGNORES.format("Wilcoxon's signed-rank test")
        ),
    )
}


@dataclass(frozen=True)
class PairTests:
    """The tests of all pairs of models on one set of cases."""

    test: PairedTest
    method: str
    """How the p-values were computed, such as `exact`."""
    first: np.ndarray
    second: np.ndarray
    difference: np.ndarray
    """Mean score of the first model minus that of the second."""
    p: np.ndarray
    p_adjusted: np.ndarray
    significant: np.ndarray
    smallest_p: float
    unreachable: bool
    """True when not even the smallest p-value would survive the correction, so nothing can be significant."""


def paired_test(name: str) -> PairedTest:
    """The test of that name.

    Raises:
        UnknownName: No such test; the message carries the nearest one.
    """
    if name not in TESTS:
        raise UnknownName("test", name, TESTS)
    return TESTS[name]


def pair_tests(
    values: np.ndarray,
    videos: np.ndarray,
    *,
    test: str = "sign-flip",
    correction: str = "holm",
    alpha: float = 0.05,
    seed: int = 0,
    replicates: int = 9999,
) -> PairTests:
    """Every pair of models tested on the same cases.

    Args:
        values: Scores `[case, model]`, without NaN.
        videos: For each case its video, by name or by number.
        test: One of `TESTS`.
        correction: `holm`, `none` or `bh`, over all pairs.
        alpha: The level; a pair is significant when its adjusted p-value is at most this.
        seed: For the tests that draw.
        replicates: For the tests that draw.

    Raises:
        Misuse: Scores with NaN, or a level outside (0, 1).

    Example:
        >>> scores = np.array([[1, 0], [1, 0], [1, 1], [1, 0], [1, 0], [0, 0], [1, 0]], dtype=float)
        >>> pair_tests(scores, np.arange(7)).p.tolist()
        [0.0625]
    """
    values = np.asarray(values, dtype=float)
    if np.isnan(values).any():
        raise Misuse(f"{int(np.isnan(values).sum())} scores are not given; drop those cases or fill them first")
    _, codes = np.unique(np.asarray(videos), return_inverse=True)
    scores = PairedScores(values, codes)
    return scores_tested(scores, test=test, correction=correction, alpha=alpha, seed=seed, replicates=replicates)


def scores_tested(
    scores: PairedScores, *, test: str, correction: str, alpha: float, seed: int, replicates: int
) -> PairTests:
    """Every pair of models of `scores` tested; see `pair_tests`."""
    chosen = paired_test(test)
    if not 0 < alpha < 1:
        raise Misuse(f"alpha must lie between 0 and 1, got {alpha}")
    p, method = chosen.run(scores, seed=seed, replicates=replicates)
    p_adjusted = adjusted(p, correction)
    difference = scores.mean_differences
    first, second = scores.pairs
    smallest = chosen.smallest_p(videos=len(scores.sizes), cases=len(scores.values), replicates=replicates)
    reachable = smallest * (len(p) if correction == "holm" else 1)
    significant = is_significant(p_adjusted, alpha) & (difference != 0.0)
    return PairTests(
        chosen, method, first, second, difference, p, p_adjusted, significant, smallest, bool(reachable > alpha)
    )
