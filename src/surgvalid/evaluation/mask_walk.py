"""All that is asked of pairs of masks in one walk over them, several threads at a time, none of them kept.

Files are read, checked, counted and scored pair by pair; what stays is a row of numbers per image, so a hundred
thousand masks need no more memory than a hundred. Results do not depend on the number of threads.

Overlap of every class in label maps: DSC and IoU as means over images, and IoU of pooled pixels.

Pixels are counted once, `[image, class, (true positive, predicted, reference)]`; the three measures share the counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from surgvalid.errors import InputInvalid
from surgvalid.evaluation.measure import ClassJob
from surgvalid.evaluation.sanity.trivial_predictors import Trivial
from surgvalid.metrics.metric import CaseMean
from surgvalid.metrics.segmentation.classes import ClassDsc, ClassMean, ImageClassDsc
from surgvalid.metrics.segmentation.instances import InstanceCounts, MultiInstanceDsc, MultiInstanceNsd, instance_counts
from surgvalid.metrics.segmentation.masks import MaskCases, pixel_counts
from surgvalid.metrics.segmentation.overlap import (
    LARGEST_LABEL,
    CountedMasks,
    Dsc,
    ImageMeanIou,
    Iou,
    PooledMeanIou,
    class_counts,
    distinct_labels,
    dsc_of,
    iou_of,
)
from surgvalid.schema.metric_facts import MetricFacts

FROM_COUNTS = (Dsc, Iou, PooledMeanIou, ImageMeanIou, ClassDsc, ImageClassDsc)
"""Metrics that need no more than pixel counts."""
_AT_ONCE = 256
"""Pairs handed to the threads together."""
Maps = Mapping[str, np.ndarray]
Pair = tuple[np.ndarray, np.ndarray]
PixelMetric = CaseMean | ClassMean
"""Metrics that need the pixels of each image."""


class _Image(NamedTuple):
    """What one pair of masks gave."""

    problem: str = ""
    labels: frozenset[int] = frozenset()
    counts: np.ndarray | None = None
    binary: tuple[int, ...] = ()
    pixels: int = 0
    scores: tuple[np.ndarray, ...] = ()
    instances: tuple[InstanceCounts, ...] = ()


@dataclass(frozen=True)
class Walked:
    """What all pairs of masks gave, in the order of their names."""

    problems: list[str]
    counts: np.ndarray
    binary: np.ndarray
    pixels: np.ndarray
    """Pixels of every image that count."""
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    instances: Sequence[Sequence[InstanceCounts]] = ()

    def counted(self, video: Sequence[str], places: Sequence[int] | None = None) -> CountedMasks:
        """The counts of some images, all if not told which."""
        chosen = slice(None) if places is None else list(places)
        return CountedMasks(self.counts[chosen], self.binary[chosen], video)

    def trivial(self, video: Sequence[str], places: Sequence[int], classes: Sequence[int]) -> tuple[Trivial, ...]:
        """Every pixel of the most frequent class, as a predictor."""
        chosen = list(places)
        counts, binary, pixels = self.counts[chosen].copy(), self.binary[chosen].copy(), self.pixels[chosen]
        most = int(counts[..., 2].sum(axis=0).argmax())
        counts[..., :2] = 0
        counts[:, most, 0], counts[:, most, 1] = counts[:, most, 2], pixels
        binary[:, 0], binary[:, 1] = binary[:, 2], pixels
        label = sorted(classes)[most]
        return (Trivial(f"label {label} for every pixel", CountedMasks(counts, binary, video)),)


def labels_in(ours: Maps, theirs: Maps, ignore: int | None) -> list[int]:
    """The classes that there are, where nobody declared them; 1 where there are none.

    Raises:
        InputInvalid: Pairs that cannot be compared; all are named.
    """
    problems, seen = [], set[int]()
    for image in _over(sorted(ours), partial(_looked_at, ours, theirs, (), ignore, None, False)):
        problems += [image.problem] if image.problem else []
        seen |= image.labels
    if problems:
        raise InputInvalid("masks", problems)
    return sorted(seen) or [1]


def masks_walked(
    ours: Maps,
    theirs: Maps,
    classes: Sequence[int],
    ignore: int | None,
    metrics: Mapping[str, PixelMetric] | None = None,
) -> Walked:
    """Everything that is asked of the pairs whose names both sides have.

    Args:
        ours: Label maps of the references.
        theirs: Of the predictions.
        classes: The declared classes; with none, pairs are only checked.
        ignore: A reference label whose pixels do not count.
        metrics: Those that need the pixels of each image; with None, pairs are only checked.
    """
    names = sorted(set(ours) & set(theirs))
    by_instance = any(isinstance(one, MultiInstanceDsc | MultiInstanceNsd) for one in (metrics or {}).values())
    look = partial(_looked_at, ours, theirs, tuple(classes), ignore, metrics, by_instance)
    problems, rows, binary, pixels, scores, instances = [], [], [], [], [], []
    for image in _over(names, look):
        if image.problem:
            problems.append(image.problem)
        elif image.counts is not None:
            rows.append(image.counts)
            binary.append(image.binary)
            pixels.append(image.pixels)
            scores.append(image.scores)
            instances.append(image.instances)
    return Walked(
        problems,
        np.array(rows, dtype=np.float64).reshape(len(rows), len(classes), 3),
        np.array(binary, dtype=np.float64).reshape(len(rows), 3),
        np.array(pixels, dtype=np.float64),
        {name: np.array([one[place] for one in scores]) for place, name in enumerate(metrics or {})},
        instances if by_instance else (),
    )


def _over(names: Sequence[str], look: partial[_Image]) -> Iterator[_Image]:
    """What `look` gives for every name, in order."""
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for start in range(0, len(names), _AT_ONCE):
            yield from pool.map(look, names[start : start + _AT_ONCE])


def _looked_at(
    ours: Maps,
    theirs: Maps,
    classes: tuple[int, ...],
    ignore: int | None,
    metrics: Mapping[str, PixelMetric] | None,
    by_instance: bool,
    name: str,
) -> _Image:
    pair = np.asarray(ours[name]), np.asarray(theirs[name])
    joint = _joint(pair)
    problem, labels = _problem(name, pair, classes, ignore, joint)
    if problem or metrics is None or not classes:
        return _Image(problem, labels)
    cases = MaskCases([pair[0]], [pair[1]])
    counts, binary = _counts(cases, classes, ignore, joint)
    return _Image(
        "",
        labels,
        counts,
        binary,
        pair[0].size if ignore is None else int(np.count_nonzero(pair[0] != ignore)),
        tuple(_scores(metric, cases) for metric in metrics.values()),
        tuple(instance_counts(*pair)) if by_instance else (),
    )


def _scores(metric: PixelMetric, cases: MaskCases) -> np.ndarray:
    """The score of one image, or that of every class in it."""
    return np.asarray((metric.scores(cases) if isinstance(metric, CaseMean) else metric.class_scores(cases))[0])


def _joint(pair: Pair) -> np.ndarray | None:
    """How often each two labels meet, `[reference, prediction]`, for maps of 8 bits and one shape; counted once."""
    if any(one.ndim != 2 or one.dtype not in (np.uint8, np.bool_) for one in pair) or pair[0].shape != pair[1].shape:
        return None
    codes = (pair[0].ravel().astype(np.uint16) << 8) | pair[1].ravel()
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    if 4 * starts.size > codes.size:  # stretches of equal pixels too short to be worth their lengths
        joint = np.bincount(codes, minlength=1 << 16)
    else:
        lengths = np.diff(starts, append=codes.size)
        joint = np.bincount(codes[starts], lengths, minlength=1 << 16).astype(np.intp)
    return joint.reshape(256, 256)


def _counts(
    cases: MaskCases, classes: Sequence[int], ignore: int | None, joint: np.ndarray | None
) -> tuple[np.ndarray, tuple[int, ...]]:
    """Pixels of every class, and of whatever is not 0: true positives, predicted, reference."""
    kept = joint
    if kept is not None and ignore is not None and 0 <= ignore <= 255:
        kept = kept.copy()
        kept[ignore] = 0
    declared = {0, *classes}
    if joint is None or kept is None or max(classes) > 255 or not declared >= {*np.flatnonzero(kept.sum(axis=0))}:
        counts = class_counts(cases, classes=classes, ignore=ignore)[0]
        return counts, tuple(pixel_counts(cases.reference[0], cases.prediction[0]))
    binary = tuple(int(one.sum()) for one in (joint[1:, 1:], joint[:, 1:], joint[1:]))
    columns = (np.diagonal(kept), kept.sum(axis=0), kept.sum(axis=1))
    return np.stack([column[sorted(classes)] for column in columns], axis=1).astype(np.float64), binary


def _problem(
    name: str, pair: Pair, classes: Sequence[int], ignore: int | None, joint: np.ndarray | None
) -> tuple[str, frozenset[int]]:
    """Why two label maps cannot be compared, and their labels where they can."""
    none = frozenset[int]()
    if any(one.ndim != 2 or one.dtype.kind not in "bui" for one in pair):
        shown = " and ".join(f"{one.dtype} of shape {one.shape}" for one in pair)
        return f"{name!r}: label maps are two-dimensional and of whole numbers, got {shown}", none
    if not pair[0].size:
        return f"{name!r}: the reference is {pair[0].shape} and has no pixels", none
    if pair[0].shape != pair[1].shape:
        return f"{name!r}: the reference is {pair[0].shape}, the prediction {pair[1].shape}; resize one", none
    if joint is not None:
        seen = frozenset(np.flatnonzero(joint.sum(axis=0) + joint.sum(axis=1)).tolist())
    else:
        seen = frozenset(label for one in pair for label in distinct_labels(one.ravel()))
    labels = seen - {0, ignore}
    if outside := sorted(label for label in labels if not 0 <= label <= LARGEST_LABEL):
        return f"{name!r}: labels {outside[:5]} are not within 0 and {LARGEST_LABEL}; number them anew", none
    if classes and (strange := sorted(labels - set(classes))):
        return f"{name!r}: labels {strange[:5]} are not among the classes {list(classes)}", none
    return "", labels


_MEASURES = {"dsc": dsc_of, "iou": iou_of}
_ABSENT = "surface-distance"
"""The rule for a class that neither mask holds: no value."""


class ClassOverlap(ClassMean):
    """The DSC or IoU of every class in the images that hold it."""

    def __init__(self, name: str, ignore: int | None) -> None:
        self.name, self.ignore = name, ignore

    @property
    def facts(self) -> MetricFacts:
        """Estimand and the rules for absent classes and ignored pixels."""
        return _overlap_facts(
            self.name, "mean over images that hold the class in either mask", "the image is left out", self.ignore
        )

    def class_scores(self, cases: CountedMasks) -> np.ndarray:  # type: ignore[override]
        """Of every image and class."""
        return _MEASURES[self.name](cases.counts, empty=_ABSENT)


class ClassPixels(PooledMeanIou):
    """The IoU of every class, pixels of all images together."""

    @property
    def facts(self) -> MetricFacts:
        """Estimand and the rules for absent classes and ignored pixels."""
        return _overlap_facts("iou_pooled", "pixels of all images", "no value", self.ignore)


def _overlap_facts(name: str, estimand: str, absent: str, ignore: int | None) -> MetricFacts:
    conventions = {
        "neither mask holds the class": absent,
        "only one mask holds the class": "0",
        "ignored pixels": "none" if ignore is None else f"reference label {ignore}",
    }
    return MetricFacts(name, estimand=estimand, conventions=conventions)


def overlap_jobs(counted: CountedMasks, classes: Sequence[int], ignore: int | None) -> list[ClassJob]:
    """All three measures of every class, with the number of images whose reference holds it."""
    labels = [str(label) for label in sorted(classes)]
    images = [int(count) for count in (counted.counts[..., 2] > 0).sum(axis=0)]
    metrics: dict[str, ClassOverlap | ClassPixels] = {name: ClassOverlap(name, ignore) for name in _MEASURES}
    metrics["iou_pooled"] = ClassPixels(classes=classes, ignore=ignore)
    return [ClassJob(name, metric, counted, labels, images) for name, metric in metrics.items()]
