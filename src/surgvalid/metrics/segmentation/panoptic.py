"""Panoptic quality of label maps, with its two factors, per class over all images.

Definition (Kirillov et al., CVPR 2019): a reference and a predicted segment of one class match where their IoU is above
0.5, which no two pairs of one segment can be, so nothing has to be chosen. Per class, over all images together
    SQ = sum of the IoU of matches / TP    RQ = TP / (TP + FP / 2 + FN / 2)    PQ = SQ * RQ
and the mean over the classes that have any TP, FP or FN.

The one decision: what a segment is. In a map of classes it is all pixels of one class; in a map of objects one object,
of class `label // 1000` where every label is 1000 or more (as Cityscapes numbers them), else of one class for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import (
    Floats,
    StoredScores,
    UnitStatistics,
    mean_known,
    ratio,
    units_of,
)
from surgvalid.metrics.segmentation.classes import ClassMean, listed
from surgvalid.metrics.segmentation.instances import joint_counts
from surgvalid.metrics.segmentation.masks import Labels, MaskCases
from surgvalid.metrics.segmentation.overlap import CountedMasks
from surgvalid.schema.metric_facts import MetricFacts

OBJECTS_OF_A_CLASS, MATCHED = 1000, 0.5
_NAMES = {"pq": "panoptic_quality", "sq": "segmentation_quality", "rq": "recognition_quality"}


class PanopticQuality(ClassMean):
    """The mean over classes of PQ, SQ or RQ of all images together."""

    def __init__(
        self, *, classes: Sequence[int], instances: bool = False, measure: str = "pq", ignore: int | None = None
    ) -> None:
        if measure not in _NAMES:
            raise UnknownName("factor of panoptic quality", measure, _NAMES)
        self.measure, self.instances, self.ignore = measure, instances, ignore
        self.coded = instances and min(classes, default=0) >= OBJECTS_OF_A_CLASS
        self.classes = tuple(sorted({self._class_of(label) for label in classes}))

    def _class_of(self, label: int) -> int:
        return (label // OBJECTS_OF_A_CLASS if self.coded else 1) if self.instances else label

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, what a segment is, and the rules for absent classes and ignored pixels."""
        of_objects = f"label // {OBJECTS_OF_A_CLASS}" if self.coded else "one for all objects"
        conventions = {
            "classes": listed(self.classes),
            "segment": "an object" if self.instances else "all pixels of a class in an image",
            "class of a segment": of_objects if self.instances else "its label",
            "match": "IoU above 0.5",
            "pixels of no segment": "background, which counts against a prediction there (panopticapi ignores them)",
            "class in neither map": "left out",
            "ignored pixels": "none"
            if self.ignore is None
            else f"reference label {self.ignore}; a prediction with most of its pixels there is left out",
        }
        estimand = "mean over classes of the value of all images together"
        return self.declared(_NAMES[self.measure], estimand=estimand, conventions=conventions, pooled=True)

    def class_scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """Sum of IoU, TP, FP and FN of every image and class, one class after the other."""
        if isinstance(cases, CountedMasks):
            raise Misuse("segments need the pixels of masks, not their counts")
        rows = [self._counts(*pair).ravel() for pair in cases.pairs()]
        return np.array(rows, dtype=np.float64).reshape(-1, 4 * len(self.classes))

    def _counts(self, reference: Labels, prediction: Labels) -> Floats:
        ours, theirs, joint = joint_counts(reference, prediction)
        void = np.zeros(len(theirs))
        sizes, predicted, shared = joint[1:].sum(axis=1), joint[:, 1:].sum(axis=0), joint[1:, 1:]
        if self.ignore in ours:
            at = ours.index(self.ignore)
            void = shared[at].astype(np.float64)
            ours, sizes, shared = ours[:at] + ours[at + 1 :], np.delete(sizes, at), np.delete(shared, at, axis=0)
        classes = [np.array([self._class_of(label) for label in side], dtype=np.int64) for side in (ours, theirs)]
        alike = classes[0][:, None] == classes[1][None, :]
        iou = np.where(alike, ratio(shared, sizes[:, None] + (predicted - void)[None, :] - shared), 0.0)
        left, right = np.nonzero(iou > MATCHED)
        invented = np.setdiff1d(np.flatnonzero(void <= predicted / 2), right)
        missed = np.setdiff1d(np.arange(len(ours)), left)
        matched, few = classes[0][left], len(self.classes)
        listed_of = [np.searchsorted(self.classes, one) for one in (matched, classes[1][invented], classes[0][missed])]
        sums = np.bincount(listed_of[0], iou[left, right], minlength=few)
        return np.stack([sums, *(np.bincount(one, minlength=few) for one in listed_of)], axis=1)

    def prepare(self, cases: MaskCases | CountedMasks | StoredScores) -> UnitStatistics:
        """The counts of every unit and class."""
        rows = cases.scores if isinstance(cases, StoredScores) else self.class_scores(cases)
        units = units_of(cases.unit, len(rows))
        sums = np.zeros((len(units.names), len(self.classes), 4))
        np.add.at(sums, units.codes, rows.reshape(-1, len(self.classes), 4))
        return sums

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The value of every class; NaN where it is nowhere."""
        overlap, true, invented, missed = np.moveaxis(
            np.tensordot(np.asarray(weights, dtype=np.float64), statistics, axes=1), -1, 0
        )
        whole = true + invented / 2 + missed / 2
        of = {"pq": (overlap, whole), "sq": (overlap, true), "rq": (true, whole)}
        return np.asarray(ratio(*of[self.measure]))

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean over classes that have a value."""
        return mean_known(self.class_values(statistics, weights))
