"""Label sequences of videos as cases, and their segments.

A video is one label per frame from the reference and one from the prediction, at one frame rate. Labels are
names or numbers; a metric declares which there are, because a class that nobody lists decides a mean.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid, Misuse

Codes = npt.NDArray[np.int16]
Indices = npt.NDArray[np.intp]
Labels = Sequence[Hashable] | npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class PhaseVideo:
    """The labels of one video, frame by frame."""

    reference: Labels
    prediction: Labels
    fps: float = 1.0
    """Labels per second. Windows and tolerances are given in seconds, never in frames."""
    name: str = ""


class CodedVideo(NamedTuple):
    """One video with its labels as places in the declared list."""

    reference: Codes
    prediction: Codes
    fps: float


class Segments(NamedTuple):
    """Maximal runs of one label: frames `starts[i]` up to but not including `stops[i]`."""

    labels: npt.NDArray[Any]
    starts: Indices
    stops: Indices


def segments(labels: npt.ArrayLike) -> Segments:
    """The maximal runs of a sequence.

    Example:
        >>> runs = segments([3, 3, 1, 3])
        >>> runs.labels.tolist(), runs.starts.tolist(), runs.stops.tolist()
        ([3, 1, 3], [0, 2, 3], [2, 3, 4])
    """
    sequence = np.asarray(labels)
    if not sequence.size:
        return Segments(sequence, np.zeros(0, np.intp), np.zeros(0, np.intp))
    changes = np.flatnonzero(sequence[1:] != sequence[:-1]) + 1
    starts = np.concatenate(([0], changes))
    return Segments(sequence[starts], starts, np.append(changes, sequence.size))


def coded_videos(cases: Sequence[PhaseVideo], phases: Sequence[Hashable]) -> list[CodedVideo]:
    """Checked videos with labels as places in `phases`.

    Raises:
        InputInvalid: Lengths that differ, no frames, labels nobody declared, or a frame rate that is none; all
            videos and problems are named.
    """
    declared = {phase: place for place, phase in enumerate(phases)}
    if len(declared) != len(phases) or not declared:
        raise Misuse(f"phases must be different labels, at least one, got {list(phases)!r}")
    problems: list[str] = []
    coded = [_coded(index, video, declared, problems) for index, video in enumerate(cases)]
    if problems:
        raise InputInvalid("videos", problems)
    return coded


def _coded(index: int, video: PhaseVideo, declared: dict[Hashable, int], problems: list[str]) -> CodedVideo:
    where = f"video {video.name or index}"
    if len(video.reference) != len(video.prediction):
        problems.append(f"{where}: {len(video.reference)} reference and {len(video.prediction)} predicted labels")
    elif not len(video.reference):
        problems.append(f"{where}: no frames")
    if not (np.isfinite(video.fps) and video.fps > 0):
        problems.append(f"{where}: fps must be a positive number, got {video.fps!r}")
    sides = []
    for name, labels in (("reference", video.reference), ("prediction", video.prediction)):
        runs = segments(labels if isinstance(labels, np.ndarray) else np.fromiter(labels, object, len(labels)))
        shown = runs.labels.tolist()
        places = np.fromiter((declared.get(label, -1) for label in shown), np.int16, len(shown))
        codes = np.repeat(places, runs.stops - runs.starts)
        if (places < 0).any():
            strange = sorted({str(shown[place]) for place in np.flatnonzero(places < 0).tolist()})
            problems.append(f"{where}: the {name} holds undeclared labels {', '.join(strange[:5])}")
        sides.append(codes)
    return CodedVideo(sides[0], sides[1], float(video.fps))
