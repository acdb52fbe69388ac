"""Segment-wise agreement: edit score and F1@k.

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
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse, UnknownName
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio
from surgeval.metrics.phases.videos import PhaseVideo, Segments, segments
from surgeval.schema.metric_facts import MetricFacts

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


class EditScore(WeightedMetric):
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

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean score under each weighting."""
        totals = weights @ statistics
        return ratio(totals[:, 0], totals[:, 1])


class SegmentF1(WeightedMetric):
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

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The F1 under each weighting."""
        totals = weights @ statistics
        return ratio(totals[:, 0], totals[:, 1])
