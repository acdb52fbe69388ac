"""Copeland's rule over the buckets.

Definition. `n_ij` is the number (or weight) of buckets in which i is ahead of j. i dominates j when
`n_ij > n_ji`. A model's score is the number of models it dominates minus the number that dominate it;
its place is one plus the number of models with a higher score.
Source: seed document of the challenge, ranking scheme; Copeland (1951).

Copeland is not independent of the field: an entry added or removed can swap two others. The
leave-one-model-out table shows whether it does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components


@dataclass(frozen=True)
class Copeland:
    """The merged ranking, before ties are broken."""

    counts: np.ndarray
    """`n_ij`."""
    dominates: np.ndarray
    score: np.ndarray
    place: np.ndarray

    @property
    def dominated(self) -> np.ndarray:
        """How many models each one dominates."""
        return np.asarray(self.dominates.sum(axis=1))

    @property
    def dominated_by(self) -> np.ndarray:
        """By how many models each one is dominated."""
        return np.asarray(self.dominates.sum(axis=0))

    @property
    def condorcet_winner(self) -> int | None:
        """The model that dominates every other one, or None."""
        winners = np.flatnonzero(self.dominated == len(self.score) - 1)
        return int(winners[0]) if len(winners) else None

    @property
    def cycles(self) -> list[list[int]]:
        """Groups of models that dominate each other in a circle."""
        _, component = connected_components(csr_array(self.dominates), directed=True, connection="strong")
        groups = [np.flatnonzero(component == c).tolist() for c in np.unique(component)]
        return [group for group in groups if len(group) > 1]


def copeland(ahead: np.ndarray, weights: np.ndarray | None = None) -> Copeland:
    """The Copeland ranking from `ahead[bucket, model, model]`.

    Example:
        >>> ahead = np.array([[[0, 1], [0, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]], dtype=bool)
        >>> copeland(ahead).score.tolist(), copeland(ahead).place.tolist()
        ([1, -1], [1, 2])
    """
    weights = np.ones(len(ahead)) if weights is None else weights
    counts = np.tensordot(weights, ahead.astype(float), axes=1)
    dominates = counts - counts.T > 1e-9 * max(1.0, float(np.sum(weights)))
    score = dominates.sum(axis=1).astype(np.int64) - dominates.sum(axis=0)
    return Copeland(counts, dominates, score, places_of(score))


def places_of(score: np.ndarray) -> np.ndarray:
    """One plus the number of higher scores, along the last axis; equal scores share a place.

    Example:
        >>> places_of(np.array([3, 0, 3, -6])).tolist()
        [1, 3, 1, 4]
    """
    return np.asarray(1 + (score[..., None, :] > score[..., :, None]).sum(axis=-1))
