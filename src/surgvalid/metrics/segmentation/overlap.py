"""Overlap of masks: DSC and IoU per image, mIoU over classes, and how steadily masks follow a video.

Overlap of masks: DSC and IoU per image, mIoU over classes, pooled or per image.

Definitions, with TP the pixels in both masks, P those predicted, R those of the reference:
    DSC = 2 TP / (P + R)          IoU = TP / (P + R - TP)
    mIoU pooled     = mean over classes of the IoU of pixels summed over all images
    mIoU per image  = mean over images of the mean over classes of the IoU in that image
Sources: Dice (1945); Jaccard (1912); Metrics Reloaded (Maier-Hein et al., Nature Methods 21, 2024).

The one decision: both mIoUs go by one name in papers and differ by several points, so neither is called
plain "mIoU" here. A class that occurs in neither mask has no IoU and is not scored, unless the rule says 1.

How steadily masks follow a video: consecutive predicted masks against consecutive reference masks.

Definition, for frames t and t + 1 of one video, with IoU(both empty) = 1:
    step gap        = |IoU(P_t, P_t+1) - IoU(R_t, R_t+1)|
    mask stability gap = mean of the step gaps
A flickering mask has low self-overlap where the reference has high; a frozen one the reverse.

The one decision: the gap is to the reference's own movement, not to 1. A prediction that never moves would
otherwise be the most stable of all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid, Misuse
from surgvalid.metrics.metric import (
    CaseMean,
    Floats,
    RatioOfSums,
    UnitStatistics,
    WeightedMetric,
    mean_known,
    ratio,
    units_of,
)
from surgvalid.metrics.segmentation.masks import (
    EmptyRule,
    Labels,
    MaskCases,
    PixelCounts,
    empty_rule,
    mask_pair,
    pixel_counts,
)
from surgvalid.schema.metric_facts import MetricFacts

LARGEST_LABEL = 65535
"""No class has a larger number: label maps are images, and images hold at most 16 bits."""
Counts = npt.NDArray[np.float64]
"""Numbers of pixels with the columns of `PixelCounts` on the last axis."""


def dsc_of(counts: npt.ArrayLike, *, empty: EmptyRule | str = "default") -> Floats:
    """The Dice similarity of pixel counts `[..., (true positive, predicted, reference)]`.

    Example:
        >>> dsc_of([[1, 2, 2], [0, 0, 0]]).tolist()
        [0.5, 1.0]
    """
    return _ruled(counts, empty, lambda tp, predicted, reference: ratio(2 * tp, predicted + reference))


def iou_of(counts: npt.ArrayLike, *, empty: EmptyRule | str = "default") -> Floats:
    """The intersection over union of pixel counts `[..., (true positive, predicted, reference)]`.

    Example:
        >>> iou_of([[1, 2, 2], [0, 3, 0]]).round(3).tolist()
        [0.333, 0.0]
    """
    return _ruled(counts, empty, lambda tp, predicted, reference: ratio(tp, predicted + reference - tp))


def _ruled(
    counts: npt.ArrayLike, empty: EmptyRule | str, formula: Callable[[Counts, Counts, Counts], Floats]
) -> Floats:
    tp, predicted, reference = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    return empty_rule(empty).apply(formula(tp, predicted, reference), reference == 0, predicted == 0)


class CountedMasks(NamedTuple):
    """Images whose pixels were counted before, so that no mask is read again; overlaps take them like `MaskCases`."""

    counts: Counts
    """As `class_counts` gives them."""
    binary: Counts
    """`[image, (true positive, predicted, reference)]` of whatever is not 0."""
    unit: Sequence[Hashable] | None = None


def _binary_counts(cases: MaskCases | CountedMasks) -> Counts:
    if isinstance(cases, CountedMasks):
        return cases.binary
    listed: list[PixelCounts] = [pixel_counts(*pair) for pair in cases.pairs()]
    return np.asarray(listed, dtype=np.float64).reshape(-1, 3)


class _Overlap(CaseMean):
    """A mean over images of an overlap of binary masks."""

    takes = ("masks",)

    formula: Callable[..., Floats]

    def __init__(self, *, empty: EmptyRule | str = "default", name: str = "") -> None:
        self.empty, self.name = empty_rule(empty), name or type(self).__name__.lower()

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and the empty-mask rule."""
        return self.declared(self.name, estimand="mean over images", conventions=dict(self.empty.conventions))

    def scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The overlap of every image."""
        return type(self).formula(_binary_counts(cases), empty=self.empty)


class Dsc(_Overlap):
    """The mean over images of the Dice similarity of binary masks."""

    formula = staticmethod(dsc_of)


class Iou(_Overlap):
    """The mean over images of the intersection over union of binary masks."""

    formula = staticmethod(iou_of)


def class_counts(cases: MaskCases | CountedMasks, *, classes: Sequence[int], ignore: int | None = None) -> Counts:
    """Pixel counts of every class in every image, `counts[image, class, (true positive, predicted, reference)]`.

    Args:
        cases: Label maps.
        classes: The declared classes. 0 is a class like any other here: list it only to score background.
        ignore: A reference label whose pixels are left out, whatever was predicted there.

    Raises:
        InputInvalid: Labels that are neither declared, nor 0, nor ignored; all are named.
    """
    if isinstance(cases, CountedMasks):
        return cases.counts
    declared = np.asarray(sorted(classes), dtype=np.int64)
    if not declared.size or declared[0] < 0 or declared[-1] > LARGEST_LABEL or len(set(classes)) != len(classes):
        raise Misuse(f"classes must be different whole numbers from 0 to {LARGEST_LABEL}, got {list(classes)!r}")
    problems: list[str] = []
    rows = [_class_row(index, pair, declared, ignore, problems) for index, pair in enumerate(cases.pairs())]
    if problems:
        raise InputInvalid("label maps", problems)
    return np.asarray(rows, dtype=np.float64).reshape(-1, declared.size, 3)


def _class_row(
    index: int, pair: tuple[Labels, Labels], declared: npt.NDArray[np.int64], ignore: int | None, problems: list[str]
) -> Counts:
    whole = (labels.clip(max=np.iinfo(np.int64).max) if labels.dtype == np.uint64 else labels for labels in pair)
    reference, prediction = (labels.ravel().astype(np.int64, copy=False) for labels in whole)
    if ignore is not None:
        kept = reference != ignore
        reference, prediction = reference[kept], prediction[kept]
    for name, labels in (("reference", reference), ("prediction", prediction)):
        if strange := sorted(set(distinct_labels(labels)) - set(declared.tolist()) - {0}):
            problems.append(f"image {index}: the {name} holds undeclared labels {strange[:5]}")
    if problems:
        return np.zeros((declared.size, 3))
    top = int(declared[-1]) + 1
    columns = (reference[reference == prediction], prediction, reference)
    return np.stack([np.bincount(labels, minlength=top)[declared] for labels in columns], axis=1).astype(np.float64)


def distinct_labels(labels: npt.NDArray[np.int64]) -> list[int]:
    """The distinct labels; cheap for the small numbers that label maps hold."""
    if labels.size and labels.min() >= 0 and labels.max() <= LARGEST_LABEL:
        return [int(label) for label in np.flatnonzero(np.bincount(labels))]
    return [int(label) for label in np.unique(labels)]


class _MeanIou:
    """Options shared by both mIoUs."""

    def __init__(
        self, *, classes: Sequence[int], ignore: int | None = None, empty: EmptyRule | str = "surface-distance"
    ) -> None:
        self.classes, self.ignore, self.empty = tuple(classes), ignore, empty_rule(empty)

    @property
    def conventions(self) -> dict[str, str]:
        listed = ", ".join(map(str, self.classes))
        ignored = "none" if self.ignore is None else f"reference label {self.ignore}"
        return {"classes": listed, "ignored pixels": ignored, **self.empty.conventions}


class PooledMeanIou(_MeanIou, WeightedMetric):
    """The mean over classes of the IoU of pixels summed over all images."""

    takes = ("masks",)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, classes and the rule for absent ones."""
        conventions = self.conventions | {"absent class": self.conventions["both masks empty"]}
        return self.declared("miou_pooled", estimand="mean over classes of pooled pixels", conventions=conventions)

    def prepare(self, cases: MaskCases | CountedMasks) -> UnitStatistics:
        """Pixel counts of every unit and class."""
        counts = class_counts(cases, classes=self.classes, ignore=self.ignore)
        units = units_of(cases.unit, len(counts))
        summed = np.zeros((len(units.names), *counts.shape[1:]))
        np.add.at(summed, units.codes, counts)
        return summed

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The IoU of every class under each weighting."""
        return iou_of(np.tensordot(np.asarray(weights, dtype=np.float64), statistics, axes=1), empty=self.empty)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mIoU under each weighting."""
        scores = self.class_values(statistics, weights)
        scores[weights.sum(axis=1) == 0] = np.nan
        return mean_known(scores)


class ImageMeanIou(_MeanIou, CaseMean):
    """The mean over images of the mean over classes of the IoU in each image."""

    takes = ("masks",)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, classes and the rule for absent ones."""
        estimand = "mean over images of their mean over classes"
        return self.declared("miou_per_image", estimand=estimand, conventions=self.conventions)

    def scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The mean over classes of every image."""
        return mean_known(iou_of(class_counts(cases, classes=self.classes, ignore=self.ignore), empty=self.empty))


@dataclass(frozen=True, slots=True)
class MaskVideo:
    """The masks of one video, frames in order of time."""

    reference: Sequence[npt.ArrayLike]
    prediction: Sequence[npt.ArrayLike]


class MaskStability(NamedTuple):
    """Self-overlap of consecutive masks of one video."""

    predicted: float
    """Mean IoU of consecutive predicted masks; NaN with fewer than two frames."""
    reference: float
    gap: float
    """Mean absolute difference, step by step."""
    steps: int

    @property
    def relative(self) -> float:
        """Predicted self-overlap over the reference's own: below 1 flickers, above 1 lags."""
        return float(ratio(self.predicted, self.reference))


def mask_stability(video: MaskVideo) -> MaskStability:
    """How predicted masks change from frame to frame, against how the reference does.

    Example:
        >>> on, off = np.ones((2, 2), bool), np.zeros((2, 2), bool)
        >>> mask_stability(MaskVideo([on, on, on], [on, off, on]))
        MaskStability(predicted=0.0, reference=1.0, gap=1.0, steps=2)
    """
    frames = MaskCases(video.reference, video.prediction).pairs()
    both = [(iou_between(a, c), iou_between(b, d)) for (a, b), (c, d) in pairwise(frames)]
    if not both:
        return MaskStability(np.nan, np.nan, np.nan, 0)
    reference, predicted = np.asarray(both).T
    gap = float(np.abs(predicted - reference).mean())
    return MaskStability(float(predicted.mean()), float(reference.mean()), gap, len(both))


def iou_between(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """The IoU of two masks of one kind; 1 when both are empty."""
    return float(iou_of(pixel_counts(*mask_pair(first, second))))


class MaskStabilityGap(RatioOfSums):
    """The mean over frame steps of the gap between predicted and reference self-overlap; units are videos."""

    takes = ("mask videos",)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction and what is compared."""
        conventions = {"compared with": "the reference's own change", "both masks empty": "self-overlap 1"}
        return self.declared("mask_stability_gap", 0.0, 1.0, "smaller", "mean over steps between frames", conventions)

    def prepare(self, cases: Sequence[MaskVideo]) -> UnitStatistics:
        """Sum of gaps and number of steps of every video."""
        stabilities = [mask_stability(video) for video in cases]
        rows = [(item.gap * item.steps if item.steps else 0.0, item.steps) for item in stabilities]
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)
