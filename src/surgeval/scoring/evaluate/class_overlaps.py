"""Overlap of every class in label maps: DSC and IoU as means over images, and IoU of pooled pixels.

Pixels are counted once, `[image, class, (true positive, predicted, reference)]`; the three measures share the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.metrics.metric import ratio, units_of
from surgeval.metrics.segmentation import dsc_of, iou_of
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.evaluate.per_class import ClassJob

_MEASURES = {"dsc": dsc_of, "iou": iou_of, "iou_pooled": iou_of}
_ABSENT = "surface-distance"
"""The rule for a class that neither mask holds: no value."""


class CountedImages(NamedTuple):
    """Pixel counts of every image and class, and the video of each image."""

    counts: np.ndarray
    video: Sequence[str]


@dataclass(frozen=True)
class ClassOverlap:
    """One measure of every class."""

    name: str
    ignore: int | None = None

    @property
    def _pooled(self) -> bool:
        return self.name == "iou_pooled"

    @property
    def facts(self) -> MetricFacts:
        """Estimand and the rules for absent classes and ignored pixels."""
        conventions = {
            "neither mask holds the class": "no value" if self._pooled else "the image is left out",
            "only one mask holds the class": "0",
            "ignored pixels": "none" if self.ignore is None else f"reference label {self.ignore}",
        }
        estimand = "pixels of all images" if self._pooled else "mean over images that hold the class in either mask"
        return MetricFacts(self.name, estimand=estimand, conventions=conventions)

    def prepare(self, cases: CountedImages) -> np.ndarray:
        """What adds up over images, `[video, class, kind]`."""
        rows = cases.counts
        if not self._pooled:
            scores = _MEASURES[self.name](rows, empty=_ABSENT)
            known = ~np.isnan(scores)
            rows = np.stack([np.where(known, scores, 0.0), known], axis=-1)
        units = units_of(cases.video, len(rows))
        sums = np.zeros((len(units.names), *rows.shape[1:]))
        np.add.at(sums, units.codes, rows)
        return sums

    def class_values(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """The value of every class; NaN where it is nowhere."""
        totals = np.tensordot(np.asarray(weights, dtype=np.float64), statistics, axes=1)
        return iou_of(totals, empty=_ABSENT) if self._pooled else ratio(totals[..., 0], totals[..., 1])


def overlap_jobs(
    counts: np.ndarray, videos: Sequence[str], classes: Sequence[int], ignore: int | None
) -> list[ClassJob]:
    """All three measures of every class, with the number of images whose reference holds it."""
    labels = [str(label) for label in sorted(classes)]
    images = [int(count) for count in (counts[..., 2] > 0).sum(axis=0)]
    counted = CountedImages(counts, videos)
    return [ClassJob(name, ClassOverlap(name, ignore), counted, labels, images) for name in _MEASURES]
