"""Simultaneous confidence sets of ranks: which ranks each model could have, all sets right together.

Definition. `c_vm` is what video v adds to the mean of model m, so `d_v = c_vj - c_vk` for a pair. The pairs are tested
as a verdict tests them (joint sign flips of whole videos, min-p over all pairs, `joint_flips`), so that "better than"
means the same in a ranking and in a verdict. A model's set runs from 1 + the number of models shown to be better to
M - the number shown to be worse (Mogstad, Romano, Shaikh and Wilhelm 2024), and all sets hold together at the level.

The decision a reader would question: signs instead of normal multipliers. With the latter all sets of twenty equal
models are right in 3 % of the cases with six videos and 63 % with twenty; with signs in 95 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.verdict.joint_flips import joint_tests

_TIE = 1e-9


class RankSets(NamedTuple):
    """The smallest and the largest rank each model could have, 1 for the best."""

    low: np.ndarray
    high: np.ndarray
    better: np.ndarray
    """`[i, j]`: whether i is shown to be better than j, all pairs together."""


def rank_sets(
    contributions: np.ndarray, *, sizes: np.ndarray | None = None, level: float = 0.95, larger_is_better: bool = True
) -> RankSets:
    """The set of ranks of every model.

    Args:
        contributions: `[video, model]`, summing over videos to the values that are ranked.
        sizes: Cases of each video, where the value is a mean over cases; equal if left out.
        level: Probability that all sets are right.
        larger_is_better: Direction of the values.

    Example:
        >>> good, poor = np.linspace(0.8, 0.9, 8), np.linspace(0.3, 0.5, 8)
        >>> found = rank_sets(np.stack([good, poor, poor + 0.001 * np.cos(np.arange(8))], axis=1))
        >>> found.low.tolist(), found.high.tolist()
        ([1, 2, 2], [1, 3, 3])
    """
    check_level(level)
    models = contributions.shape[1]
    first, second = pair_indices(models)
    better = np.zeros((models, models), dtype=bool)
    if models > 1:
        # Centred on the models' mean so that what all share leaves no rounding in the differences.
        centred = contributions - contributions.mean(axis=1, keepdims=True)
        gaps = centred[:, first] - centred[:, second]
        scale = np.abs(centred).sum(axis=0)
        gaps = np.where(np.abs(gaps).max(axis=0) > _TIE * (scale[first] + scale[second]), gaps, 0.0)
        number = np.ones_like(gaps) if sizes is None else np.repeat(sizes[:, None], gaps.shape[1], axis=1)
        shown = joint_tests(gaps, number, alpha=1 - level).p_adjusted <= (1 - level) * (1 + 1e-12)
        ahead = np.sign(gaps.sum(axis=0)) * (1 if larger_is_better else -1)
        better[first, second], better[second, first] = shown & (ahead > 0), shown & (ahead < 0)
    return RankSets(1 + better.sum(axis=0), models - better.sum(axis=1), better)
