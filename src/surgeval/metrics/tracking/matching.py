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


def contested_frames(overlap: Overlaps, candidate: Flags) -> Indices:
    """The frames in which a box has more than one candidate partner."""
    rows = np.bincount(overlap.pair_reference[candidate], minlength=overlap.reference.identity.size)
    columns = np.bincount(overlap.pair_prediction[candidate], minlength=overlap.prediction.identity.size)
    shared = candidate & ((rows[overlap.pair_reference] > 1) | (columns[overlap.pair_prediction] > 1))
    return np.unique(np.searchsorted(overlap.starts, np.flatnonzero(shared), side="right") - 1)


def best_in_frame(overlap: Overlaps, score: Floats, frame: int) -> Indices:
    """The pairs of one frame whose one-to-one matching has the largest sum of scores.

    Args:
        overlap: All pairs.
        score: The scores of the pairs of this frame.
        frame: Which frame.
    """
    width = int(overlap.prediction.starts[frame + 1] - overlap.prediction.starts[frame])
    rows, columns = linear_sum_assignment(score.reshape(-1, width), maximize=True)
    return np.asarray(overlap.starts[frame] + rows * width + columns)


def best_pairs(overlap: Overlaps, score: Floats) -> Indices:
    """The pairs of all frames whose one-to-one matching has the largest sum of scores; pairs of score 0 are none."""
    candidate = score > 0
    chosen = candidate.copy()
    for frame in contested_frames(overlap, candidate).tolist():
        pairs_here = slice(overlap.starts[frame], overlap.starts[frame + 1])
        chosen[pairs_here] = False
        chosen[best_in_frame(overlap, score[pairs_here], frame)] = True
    return np.flatnonzero(chosen & candidate)
