"""One-to-one matching of boxes in every frame, fast where there is nothing to choose.

In most frames no box overlaps two others, and the best matching is simply every overlapping pair. Only the other
frames need the assignment solver.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from surgeval.metrics.metric import Floats, Indices
from surgeval.metrics.tracking.sequences import Overlaps

Flags = npt.NDArray[np.bool_]


def contested_frames(found: Overlaps, candidate: Flags) -> Indices:
    """The frames in which a box has more than one candidate partner."""
    rows = np.bincount(found.pair_reference[candidate], minlength=found.reference.identity.size)
    columns = np.bincount(found.pair_prediction[candidate], minlength=found.prediction.identity.size)
    shared = candidate & ((rows[found.pair_reference] > 1) | (columns[found.pair_prediction] > 1))
    return np.unique(np.searchsorted(found.starts, np.flatnonzero(shared), side="right") - 1)


def best_in_frame(found: Overlaps, score: Floats, frame: int) -> Indices:
    """The pairs of one frame whose one-to-one matching has the largest sum of scores.

    Args:
        found: All pairs.
        score: The scores of the pairs of this frame.
        frame: Which frame.
    """
    width = int(found.prediction.starts[frame + 1] - found.prediction.starts[frame])
    rows, columns = linear_sum_assignment(score.reshape(-1, width), maximize=True)
    return np.asarray(found.starts[frame] + rows * width + columns)


def best_pairs(found: Overlaps, score: Floats) -> Indices:
    """The pairs of all frames whose one-to-one matching has the largest sum of scores; pairs of score 0 are none."""
    candidate = score > 0
    chosen = candidate.copy()
    for frame in contested_frames(found, candidate).tolist():
        own = slice(found.starts[frame], found.starts[frame + 1])
        chosen[own] = False
        chosen[best_in_frame(found, score[own], frame)] = True
    return np.flatnonzero(chosen & candidate)
