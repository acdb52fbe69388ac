"""Simultaneous confidence sets of ranks: which ranks each model could have, all sets right together.

Definition. `c_vm` is what video v adds to the mean of model m, so `d_v = c_vj - c_vk` for a pair and
`T = |sum d_v| / sqrt(sum d_v^2)`. Whole videos are flipped, with one sign for all pairs, and the largest T over the
pairs is compared with its own distribution: the critical value is the `ceil(level B)`-th of B patterns. Pairs beyond it
are rejected and the rest is tested again without them until nothing new is rejected (step-down max-T, Romano and Wolf
2005). A model's set runs from 1 + the number of models significantly better to M - the number significantly worse
(Mogstad, Romano, Shaikh and Wilhelm 2024), and all sets hold together at the level.

All `2^(V-1)` patterns up to 12 videos; beyond, 9,999 drawn from a named stream, the data's own signs among them.

The decision a reader would question: signs instead of normal multipliers. With the latter all sets of twenty equal
models are right in 3 % of the cases with six videos and 63 % with twenty; with signs in 95 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surgeval.stats.draws import stream
from surgeval.stats.intervals import check_level
from surgeval.stats.paired_tests import pair_indices
from surgeval.stats.sign_flip_interval import FEWEST_TESTED

LISTED_VIDEOS = 12
DRAWN_PATTERNS = 9_999
_CELLS = 4_000_000
_TIE = 1e-9


class RankSets(NamedTuple):
    """The smallest and the largest rank each model could have, 1 for the best."""

    low: np.ndarray
    high: np.ndarray
    better: np.ndarray
    """`[i, j]`: whether i is significantly better than j, all pairs together."""
    patterns: int


def rank_sets(
    contributions: np.ndarray,
    *,
    level: float = 0.95,
    larger_is_better: bool = True,
    patterns: int = DRAWN_PATTERNS,
    seed: int = 0,
    name: str = "all",
) -> RankSets:
    """The set of ranks of every model.

    Args:
        contributions: `[video, model]`, summing over videos to the values that are ranked.
        level: Probability that all sets are right.
        larger_is_better: Direction of the values.
        patterns: How many are drawn beyond 12 videos.
        seed: Their seed.
        name: What is ranked; names the stream.

    Example:
        >>> good, poor = np.linspace(0.8, 0.9, 8), np.linspace(0.3, 0.5, 8)
        >>> found = rank_sets(np.stack([good, poor, poor + 0.001 * np.cos(np.arange(8))], axis=1))
        >>> found.low.tolist(), found.high.tolist()
        ([1, 2, 2], [1, 3, 3])
    """
    check_level(level)
    models = contributions.shape[1]
    first, second = pair_indices(models)
    # Centred on the models' mean so that what all share leaves no rounding in the differences.
    centred = contributions - contributions.mean(axis=1, keepdims=True)
    spread = np.sqrt(((centred[:, first] - centred[:, second]) ** 2).sum(axis=0))
    total = centred.sum(axis=0)
    scale = np.abs(centred).sum(axis=0)
    gap = total[first] - total[second]
    testable = spread > _TIE * np.maximum(scale[first] + scale[second], 1e-300)
    statistic = np.divide(np.abs(gap), spread, out=np.zeros_like(gap), where=testable)
    number, rejected = 0, np.zeros(len(gap), dtype=bool)
    if len(contributions) >= FEWEST_TESTED:
        signs = sign_patterns(len(contributions), patterns, seed, name)
        number = len(signs)
        rejected = _rejected(signs @ centred, statistic, np.where(testable, spread, np.inf), level)
    ahead = np.sign(gap) * (1 if larger_is_better else -1)
    better = np.zeros((models, models), dtype=bool)
    better[first, second], better[second, first] = rejected & (ahead > 0), rejected & (ahead < 0)
    return RankSets(1 + better.sum(axis=0), models - better.sum(axis=1), better, number)


def sign_patterns(videos: int, patterns: int, seed: int, name: str) -> np.ndarray:
    """Sign patterns `[pattern, video]`: every one up to a common change of sign, or drawn ones after the data's own."""
    if videos <= LISTED_VIDEOS:
        return 1.0 - 2.0 * ((np.arange(2 ** (videos - 1))[:, None] >> np.arange(videos)) & 1)
    drawn = stream(seed, "rank-sets", name).integers(0, 2, (patterns, videos))
    drawn[0] = 0
    return np.asarray(1.0 - 2.0 * drawn)


def _rejected(flipped: np.ndarray, statistic: np.ndarray, spread: np.ndarray, level: float) -> np.ndarray:
    """Which pairs fall to the step-down procedure; `flipped[pattern, model]` are the flipped sums."""
    rejected = np.zeros(len(statistic), dtype=bool)
    place = math.ceil(level * len(flipped) * (1 - 1e-12)) - 1
    while not rejected.all():
        largest = np.concatenate([block.max(axis=1) for block in _statistics(flipped, spread, ~rejected)])
        critical = np.partition(largest, place)[place]
        new = ~rejected & (statistic > critical * (1 + _TIE))
        if not new.any():
            break
        rejected |= new
    return rejected


def _statistics(flipped: np.ndarray, spread: np.ndarray, chosen: np.ndarray) -> Iterator[np.ndarray]:
    """The statistics of the chosen pairs under each pattern, some patterns at a time."""
    first, second = (side[chosen] for side in pair_indices(flipped.shape[1]))
    rows = max(1, _CELLS // max(1, len(first)))
    for start in range(0, len(flipped), rows):
        block = flipped[start : start + rows]
        yield np.abs(block[:, first] - block[:, second]) / spread[chosen]
