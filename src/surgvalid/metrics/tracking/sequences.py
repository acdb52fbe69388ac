"""Boxes with identities over the frames of a sequence, and the overlap of all boxes that share a frame.

A box is (x, y, width, height) in any one unit. An identity may occur once per frame on each side. Where classes are
given, boxes of different classes never overlap.

One-to-one matching of boxes in every frame, fast where there is nothing to choose.

In most frames no box overlaps two others, and the best matching is simply every overlapping pair. Only the other
frames need the assignment solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from surgvalid.errors import InputInvalid
from surgvalid.metrics.detection.matching import box_iou
from surgvalid.metrics.metric import Floats, Indices

Labels = Sequence[Any] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class TrackSequence:
    """Reference and predicted boxes of one video, one row per box in any order."""

    reference_frame: npt.ArrayLike
    reference_id: Labels
    reference_box: npt.ArrayLike
    prediction_frame: npt.ArrayLike
    prediction_id: Labels
    prediction_box: npt.ArrayLike
    reference_class: Labels | None = None
    prediction_class: Labels | None = None
    name: str = ""


class Side(NamedTuple):
    """The boxes of one side in order of time."""

    identity: Indices
    """Numbers from 0."""
    identities: int
    starts: Indices
    """First row of each frame, one more than there are frames."""


class Overlaps(NamedTuple):
    """Every pair of boxes that share a frame, frame by frame, references outside and predictions inside."""

    reference: Side
    prediction: Side
    pair_reference: Indices
    """The reference row of each pair."""
    pair_prediction: Indices
    similarity: Floats
    starts: Indices
    """First pair of each frame, one more than there are frames."""

    def identity_pairs(self) -> Indices:
        """The pair of identities behind each pair of boxes, as one number."""
        ours, theirs = self.reference, self.prediction
        return ours.identity[self.pair_reference] * theirs.identities + theirs.identity[self.pair_prediction]


class _Boxes(NamedTuple):
    frame: npt.NDArray[np.int64]
    identity: Indices
    identities: int
    box: Floats
    label: Indices


def overlaps(sequence: TrackSequence | Overlaps) -> Overlaps:
    """The IoU of all pairs of boxes that share a frame; what is computed already comes back as it is.

    Raises:
        InputInvalid: Boxes that are no boxes, lists that do not fit together, an identity twice in a frame; all are
            named.
    """
    if isinstance(sequence, Overlaps):
        return sequence
    problems: list[str] = []
    classes = _class_codes(sequence, problems)
    sides = {
        "reference": (sequence.reference_frame, sequence.reference_id, sequence.reference_box, classes[0]),
        "prediction": (sequence.prediction_frame, sequence.prediction_id, sequence.prediction_box, classes[1]),
    }
    ours, theirs = (_boxes(name, *given, problems) for name, given in sides.items())
    if problems:
        raise InputInvalid(f"sequence {sequence.name}".rstrip(), problems)
    return _paired(ours, theirs)


def _class_codes(sequence: TrackSequence, problems: list[str]) -> tuple[Indices | None, Indices | None]:
    given = sequence.reference_class, sequence.prediction_class
    if (given[0] is None) != (given[1] is None):
        problems.append("classes are given on one side only")
    if given[0] is None or given[1] is None:
        return None, None
    place = {label: index for index, label in enumerate(dict.fromkeys([*given[0], *given[1]]))}
    ours, theirs = (
        np.fromiter((place[label] for label in side), np.intp, len(side)) for side in given if side is not None
    )
    return ours, theirs


def _boxes(
    name: str, frame: npt.ArrayLike, identity: Labels, box: npt.ArrayLike, label: Indices | None, problems: list[str]
) -> _Boxes:
    frames, corners = np.asarray(frame), np.asarray(box, dtype=np.float64)
    rows = frames.size
    corners = corners.reshape(0, 4) if not corners.size else corners
    if frames.ndim != 1 or (rows and frames.dtype.kind not in "iu"):
        problems.append(f"{name}: frames must be one list of whole numbers")
    elif len(identity) != rows or corners.shape != (rows, 4) or (label is not None and len(label) != rows):
        problems.append(f"{name}: {rows} frames, {len(identity)} identities and boxes of shape {corners.shape}")
    elif wrong := np.flatnonzero(~np.isfinite(corners).all(axis=1) | (corners[:, 2:] <= 0).any(axis=1)).tolist():
        problems.append(f"{name}: {len(wrong)} boxes without finite corners and positive size (first: row {wrong[0]})")
    else:
        return _ordered(name, frames.astype(np.int64), identity, corners, label, problems)
    return _Boxes(np.zeros(0, np.int64), np.zeros(0, np.intp), 0, np.zeros((0, 4)), np.zeros(0, np.intp))


def _ordered(
    name: str, frames: npt.NDArray[np.int64], identity: Labels, box: Floats, label: Indices | None, problems: list[str]
) -> _Boxes:
    place = {one: index for index, one in enumerate(dict.fromkeys(identity))}
    codes = np.fromiter((place[one] for one in identity), np.intp, frames.size)
    order = np.lexsort((codes, frames))
    frames, codes = frames[order], codes[order]
    twice = np.flatnonzero((frames[1:] == frames[:-1]) & (codes[1:] == codes[:-1]))
    if twice.size:
        shown = list(place)[codes[twice[0]]]
        problems.append(
            f"{name}: {twice.size} repeated identities in a frame (first: {shown} in frame {frames[twice[0]]})"
        )
    labels = np.zeros(frames.size, np.intp) if label is None else label[order]
    return _Boxes(frames, codes, len(place), box[order], labels)


def _paired(ours: _Boxes, theirs: _Boxes) -> Overlaps:
    frames = np.union1d(ours.frame, theirs.frame)
    ends = [np.append(np.searchsorted(side.frame, frames), side.frame.size) for side in (ours, theirs)]
    counts = [np.diff(end) for end in ends]
    row_frame = np.repeat(np.arange(frames.size), counts[0])
    width = counts[1][row_frame]
    pair_reference = np.repeat(np.arange(ours.frame.size), width)
    opening = np.cumsum(width) - width
    within = np.arange(pair_reference.size) - opening[pair_reference]
    pair_prediction = ends[1][row_frame][pair_reference] + within
    similarity = box_iou(ours.box, theirs.box, pair_reference, pair_prediction)
    similarity *= ours.label[pair_reference] == theirs.label[pair_prediction]
    starts = np.concatenate(([0], np.cumsum(counts[0] * counts[1])))
    sides = [Side(side.identity, side.identities, end) for side, end in zip((ours, theirs), ends, strict=True)]
    return Overlaps(sides[0], sides[1], pair_reference, pair_prediction, similarity, starts)


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
