"""Segments: edit score and F1@k, and whether predictions hold still.

Segment-wise agreement: edit score and F1@k.

Definitions (Lea et al., CVPR 2017; as in the widely used MS-TCN evaluation):
    edit  = 1 - Levenshtein(order of reference labels, order of predicted labels) / longer of the two
    F1@k  = 2 TP / (2 TP + FP + FN), where predicted segments are taken in order of time, each looks at the
            reference segment of its label with the largest IoU, and is a TP if that IoU is at least k and
            nobody took it before; every reference segment left over is a FN
Values are in [0, 1]; published ones are often percent.

The one decision: F1@k of counts summed over the corpus (MS-TCN) and mean of the F1@k of each video
(SAR-RARP50) go by one name and differ, so `average` is part of the metric. Segments with an ignored label
(background) are dropped from both sides before anything is compared; without a segment on either side a video
has nothing to score.

Whether predictions hold still: changes per minute, short segments, and spurious switches of a tool.

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
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import RatioOfSums, UnitStatistics, ratio
from surgvalid.metrics.phases.videos import PhaseVideo, Segments, segments
from surgvalid.schema.metric_facts import MetricFacts

Average = Literal["corpus", "videos"]


class SegmentCounts(NamedTuple):
    """Matched and unmatched segments."""

    true_positive: int
    false_positive: int
    false_negative: int


def edit_score(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, ignore: Sequence[Hashable] = ()) -> float:
    """The edit score of two label sequences; NaN without any segment.

    Example:
        >>> edit_score([1, 1, 2, 2, 3], [1, 2, 2, 1, 3])
        0.75
    """
    ours, theirs = (_kept(labels, ignore).labels for labels in (reference, prediction))
    longest = max(ours.size, theirs.size)
    return 1 - levenshtein(ours, theirs) / longest if longest else float("nan")


def levenshtein(first: npt.ArrayLike, second: npt.ArrayLike) -> int:
    """The fewest insertions, deletions and replacements that make one sequence the other.

    Example:
        >>> levenshtein([1, 2, 3], [1, 3])
        1
    """
    left, right = np.asarray(first), np.asarray(second)
    steps = np.arange(right.size + 1)
    row = steps.copy()
    for place, label in enumerate(left.tolist(), start=1):
        best = np.empty_like(row)
        best[0] = place
        best[1:] = np.minimum(row[1:] + 1, row[:-1] + (right != label))
        row = np.minimum.accumulate(best - steps) + steps
    return int(row[-1])


def segment_counts(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, overlap: float, ignore: Sequence[Hashable] = ()
) -> SegmentCounts:
    """Matched and unmatched segments of two label sequences at one overlap.

    Example:
        >>> segment_counts([1, 1, 1, 2, 2], [1, 1, 2, 2, 2], overlap=0.5)
        SegmentCounts(true_positive=2, false_positive=0, false_negative=0)
    """
    ours, theirs = _kept(reference, ignore), _kept(prediction, ignore)
    shared = np.minimum.outer(theirs.stops, ours.stops) - np.maximum.outer(theirs.starts, ours.starts)
    hull = np.maximum.outer(theirs.stops, ours.stops) - np.minimum.outer(theirs.starts, ours.starts)
    iou = np.where(theirs.labels[:, None] == ours.labels[None, :], np.maximum(shared, 0) / np.maximum(hull, 1), 0.0)
    taken = np.zeros(ours.labels.size, dtype=bool)
    for row in iou:
        if taken.size and row[best := int(row.argmax())] >= overlap:
            taken[best] = True
    hits = int(taken.sum())
    return SegmentCounts(hits, theirs.labels.size - hits, ours.labels.size - hits)


def _kept(labels: npt.ArrayLike, ignore: Sequence[Hashable]) -> Segments:
    runs = segments(labels)
    dropped = set(ignore)
    kept = np.array([label not in dropped for label in runs.labels.tolist()], dtype=bool)
    return Segments(runs.labels[kept], runs.starts[kept], runs.stops[kept])


def _ignored(ignore: Sequence[Hashable]) -> dict[str, str]:
    return {"ignored labels": ", ".join(map(str, ignore)) or "none", "no segments on either side": "not scored"}


def _sides(cases: Sequence[PhaseVideo]) -> list[tuple[np.ndarray, np.ndarray]]:
    wrong = [str(v.name or i) for i, v in enumerate(cases) if len(v.reference) != len(v.prediction)]
    if wrong:
        raise Misuse(f"videos {', '.join(wrong[:5])} have unequal numbers of reference and predicted labels")
    return [(np.asarray(video.reference), np.asarray(video.prediction)) for video in cases]


class EditScore(RatioOfSums):
    """The mean over videos of the edit score."""

    takes = ("label sequences",)

    def __init__(self, *, ignore: Sequence[Hashable] = ()) -> None:
        self.ignore = tuple(ignore)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and ignored labels."""
        return self.declared(
            "segment_edit", estimand="mean over videos", conventions=_ignored(self.ignore), pooled=False
        )

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """The score of every video, and whether there is one."""
        scores = np.array([edit_score(*pair, ignore=self.ignore) for pair in _sides(cases)], dtype=np.float64)
        return np.stack([np.nan_to_num(scores), ~np.isnan(scores)], axis=1)


class SegmentF1(RatioOfSums):
    """F1@k over the corpus or as a mean over videos; units are videos."""

    takes = ("label sequences",)

    def __init__(self, *, overlap: float, average: Average = "corpus", ignore: Sequence[Hashable] = ()) -> None:
        if not 0 < overlap <= 1:
            raise Misuse(f"overlap must be above 0 and at most 1 (F1@10 is 0.1), got {overlap!r}")
        if average not in ("corpus", "videos"):
            raise UnknownName("average", average, ("corpus", "videos"))
        self.overlap, self.average, self.ignore = overlap, average, tuple(ignore)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, overlap and average."""
        name = f"segment_f1_{self.overlap * 100:g}" + ("" if self.average == "corpus" else "_per_video")
        estimand = "segments of all videos" if self.average == "corpus" else "mean over videos"
        conventions = {"overlap": f"IoU at least {self.overlap:g}", "matching": "greedy in order of time"}
        return self.declared(
            name, estimand=estimand, conventions=conventions | _ignored(self.ignore), pooled=self.average == "corpus"
        )

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Twice the hits, and all segments of both sides, of every video."""
        counts = [segment_counts(*pair, overlap=self.overlap, ignore=self.ignore) for pair in _sides(cases)]
        hits, wrong, missed = np.asarray(counts, dtype=np.float64).reshape(-1, 3).T
        segments_of_both = 2 * hits + wrong + missed
        if self.average == "corpus":
            return np.stack([2 * hits, segments_of_both], axis=1)
        return np.stack([ratio(2 * hits, segments_of_both, empty=0.0), segments_of_both > 0], axis=1)


class Changes(NamedTuple):
    """How often labels change in one video."""

    predicted: int
    reference: int
    minutes: float


def label_changes(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, fps: float = 1.0) -> Changes:
    """The changes of both label sequences.

    Example:
        >>> label_changes([1] * 60, [1, 2] * 30)
        Changes(predicted=59, reference=0, minutes=1.0)
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


class Flicker(RatioOfSums):
    """Label changes per minute beyond those of the reference; units are videos."""

    takes = ("label sequences",)

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


class _UpToSeconds(RatioOfSums):
    """What is shorter than a limit."""

    takes = ("label sequences",)

    def __init__(self, *, shorter_s: float = 5.0) -> None:
        self.shorter_s = shorter_s


class ShortSegments(_UpToSeconds):
    """The share of predicted segments shorter than `shorter_s`; units are videos."""

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


class SpuriousSwitches(_UpToSeconds):
    """Short switches of a tool without cause, per minute; units are videos of on/off labels."""

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
