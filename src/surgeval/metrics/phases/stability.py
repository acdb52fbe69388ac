"""Whether predictions hold still: changes per minute, short segments, and spurious switches of a tool.

Definitions for one video of length T minutes:
    flicker     = max(0, changes of the predicted label - changes of the reference) / T
    short share = predicted segments shorter than d seconds / predicted segments
    tool switch = a run of the predicted on/off signal shorter than d seconds, with a run of the other state on
                  both sides, in which the reference does not change: spurious switches per minute
Frame-wise accuracy hardly notices any of them: one wrong frame in a hundred is 99 % right and sixty changes of
display an hour at 1 fps.

The one decision: flicker counts only what exceeds the reference, video by video, so that one sluggish video does
not pay for a nervous one. Missed changes are the matter of transition recall.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio
from surgeval.metrics.phases.videos import PhaseVideo, segments
from surgeval.schema.metric_facts import MetricFacts


class Changes(NamedTuple):
    """How often labels change in one video."""

    predicted: int
    reference: int
    minutes: float

    @property
    def excess_per_min(self) -> float:
        """Predicted minus reference changes per minute; negative where changes are missing."""
        return (self.predicted - self.reference) / self.minutes


def label_changes(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, fps: float = 1.0) -> Changes:
    """The changes of both label sequences.

    Example:
        >>> label_changes([1] * 60, [1, 2] * 30).excess_per_min
        59.0
    """
    ours, theirs = segments(reference), segments(prediction)
    minutes = np.asarray(reference).size / fps / 60
    return Changes(max(theirs.starts.size - 1, 0), max(ours.starts.size - 1, 0), minutes)


def spurious_switches(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, shorter_s: float, fps: float = 1.0
) -> int:
    """How often a tool is switched on and off again (or off and on) for less than `shorter_s` without cause.

    Example:
        >>> spurious_switches([0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 1, 1], shorter_s=2)
        1
    """
    truth, runs = np.asarray(reference, dtype=bool), segments(np.asarray(prediction, dtype=bool))
    changed = np.concatenate(([0], np.cumsum(truth[1:] != truth[:-1])))
    switches = 0
    for start, stop in zip(runs.starts[1:-1], runs.stops[1:-1], strict=True):
        short = (stop - start) / fps < shorter_s
        switches += int(short and changed[start - 1] == changed[stop])
    return switches


class _Share(WeightedMetric):
    """A sum over videos divided by another one."""

    takes = ("label sequences",)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The quotient of the sums under each weighting."""
        totals = weights @ statistics
        return ratio(totals[:, 0], totals[:, 1])


def _checked(cases: Sequence[PhaseVideo]) -> Sequence[PhaseVideo]:
    wrong = [
        str(video.name or index)
        for index, video in enumerate(cases)
        if len(video.reference) != len(video.prediction)
        or not len(video.reference)
        or not (math.isfinite(video.fps) and video.fps > 0)
    ]
    if wrong:
        raise Misuse(f"videos {', '.join(wrong[:5])} need frames, as many on both sides, and a positive frame rate")
    return cases


class Flicker(_Share):
    """Label changes per minute beyond those of the reference; units are videos."""

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and what is counted."""
        conventions = {"excess": "per video, never below 0", "missing changes": "not counted here"}
        return self.declared(
            "flicker_per_min", 0.0, math.inf, "smaller", "excess changes per minute of video", conventions, unit="1/min"
        )

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Excess changes and minutes of every video."""
        changes = [label_changes(np.asarray(v.reference), np.asarray(v.prediction), fps=v.fps) for v in _checked(cases)]
        rows = [(max(0, item.predicted - item.reference), item.minutes) for item in changes]
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)


class ShortSegments(_Share):
    """The share of predicted segments shorter than `shorter_s`; units are videos."""

    def __init__(self, *, shorter_s: float = 5.0) -> None:
        self.shorter_s = shorter_s

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and limit."""
        conventions = {"short": f"less than {self.shorter_s:g} s", "first and last segment": "counted"}
        return self.declared("short_segment_share", 0.0, 1.0, "smaller", "segments of all videos", conventions)

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Short segments and segments of every video."""
        rows = []
        for video in _checked(cases):
            runs = segments(np.asarray(video.prediction))
            rows.append((int(((runs.stops - runs.starts) / video.fps < self.shorter_s).sum()), runs.starts.size))
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)


class SpuriousSwitches(_Share):
    """Short switches of a tool without cause, per minute; units are videos of on/off labels."""

    def __init__(self, *, shorter_s: float = 5.0) -> None:
        self.shorter_s = shorter_s

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and limit."""
        conventions = {"switch": f"on-off or off-on within {self.shorter_s:g} s while the reference does not change"}
        return self.declared(
            "spurious_switches_per_min", 0.0, math.inf, "smaller", "per minute of video", conventions, unit="1/min"
        )

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Spurious switches and minutes of every video."""
        rows = []
        for video in _checked(cases):
            sides = np.asarray(video.reference), np.asarray(video.prediction)
            switches = spurious_switches(*sides, shorter_s=self.shorter_s, fps=video.fps)
            rows.append((switches, len(video.reference) / video.fps / 60))
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)
