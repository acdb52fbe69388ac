"""Scores of all models on the same cases, and their sums within videos: what every paired test starts from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np


class Tested(NamedTuple):
    """What a test gives back."""

    p: np.ndarray
    """Two-sided p-values, one per pair."""
    method: str
    """How they were computed, in words."""


@dataclass(frozen=True)
class PairedScores:
    """Scores `values[case, model]` without holes, and the video of each case.

    Example:
        >>> scores = PairedScores(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([0, 0, 1]))
        >>> scores.sums.tolist(), scores.sizes.tolist()
        ([[2.0, 1.0], [0.0, 1.0]], [2.0, 1.0])
    """

    values: np.ndarray
    videos: np.ndarray
    """For each case the index of its video, 0 to one less than the number of videos."""

    @cached_property
    def sums(self) -> np.ndarray:
        """The sum of the scores of each video: `sums[video, model]`."""
        order = np.argsort(self.videos, kind="stable")
        starts = np.flatnonzero(np.diff(self.videos[order], prepend=-1))
        return np.asarray(np.add.reduceat(self.values[order], starts, axis=0))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of cases of each video."""
        return np.bincount(self.videos).astype(float)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """The indices of the first and the second model of every pair."""
        return pair_indices(self.values.shape[1])

    @property
    def video_differences(self) -> np.ndarray:
        """First minus second model, summed within videos: `[video, pair]`."""
        first, second = self.pairs
        return np.asarray(self.sums[:, first] - self.sums[:, second])

    @property
    def case_differences(self) -> np.ndarray:
        """First minus second model: `[case, pair]`."""
        first, second = self.pairs
        return np.asarray(self.values[:, first] - self.values[:, second])

    @property
    def mean_differences(self) -> np.ndarray:
        """First minus second model, mean over cases, for each pair; exact zero for equal sums."""
        total = self.sums.sum(axis=0)
        first, second = self.pairs
        gap = total[first] - total[second]
        noise = 1e-12 * np.maximum(1.0, np.abs(total[first]))
        return np.where(np.abs(gap) <= noise, 0.0, gap) / len(self.values)


def pair_indices(models: int) -> tuple[np.ndarray, np.ndarray]:
    """The indices of both models of every pair, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Example:
        >>> [side.tolist() for side in pair_indices(3)]
        [[0, 0, 1], [1, 2, 2]]
    """
    first, second = np.triu_indices(models, k=1)
    return first, second
