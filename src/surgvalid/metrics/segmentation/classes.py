"""Means over classes of DSC, NSD, HD95 and ASSD in label maps, under named rules for absent classes.

With s(i, c) the score of class c in image i (background is no class):
    classes last   mean over classes of the mean over images of s(i, c)
    images last    mean over images of the mean over classes of s(i, c)
Rules for a class that an image lacks:
    nnunet   in neither map: left out; in the prediction only: 0    nnU-Net v2.8.1, `foreground_mean`, classes last
    monai    in neither map, or in the prediction only: left out    MONAI 1.6.1 `DiceMetric(ignore_empty=True)`
The one decision: nnU-Net's rule is the default, because a false positive must cost something. One set of predictions
gives four numbers under them; each has a name of its own here.

A distance needs both outlines. Where one map lacks the class the diagonal of the image stands for it, which no distance
exceeds; ASSD is the mean over both outlines together, HD95 the larger of the two directed percentiles (both as MONAI).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import (
    CaseMean,
    Floats,
    StoredScores,
    UnitStatistics,
    WeightedMetric,
    mean_known,
    ratio,
    units_of,
)
from surgvalid.metrics.segmentation.masks import Labels, MaskCases
from surgvalid.metrics.segmentation.overlap import CountedMasks, class_counts, dsc_of
from surgvalid.metrics.segmentation.surfaces import assd_px, hausdorff_px, nsd
from surgvalid.schema.metric_facts import MetricFacts

AbsentRule = Literal["nnunet", "monai"]
_ABSENT = {"nnunet": "surface-distance", "monai": "monai-ignore-empty"}
_DISTANCES = {"hd95": hausdorff_px, "assd": assd_px}


class ClassMean(WeightedMetric):
    """The mean over classes of the mean over images of a score."""

    takes = ("masks",)
    classes: tuple[int, ...]

    @abstractmethod
    def class_scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The score of every image and class; NaN where there is none."""

    def prepare(self, cases: MaskCases | CountedMasks | StoredScores) -> UnitStatistics:
        """Sum and number of the scores of every unit and class."""
        scores = cases.scores if isinstance(cases, StoredScores) else self.class_scores(cases)
        units = units_of(cases.unit, len(scores))
        known = ~np.isnan(scores)
        sums = np.zeros((len(units.names), scores.shape[1], 2))
        np.add.at(sums, units.codes, np.stack([np.where(known, scores, 0.0), known], axis=-1))
        return sums

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The value of every class; NaN where it is nowhere."""
        totals = np.tensordot(np.asarray(weights, dtype=np.float64), statistics, axes=1)
        return ratio(totals[..., 0], totals[..., 1])

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean over classes that have a value."""
        return mean_known(self.class_values(statistics, weights))


def listed(classes: Sequence[int]) -> str:
    """Class numbers as conventions show them."""
    return ", ".join(map(str, sorted(classes)))


def _dsc_conventions(classes: Sequence[int], absent: AbsentRule, ignore: int | None) -> dict[str, str]:
    return {
        "classes": listed(classes),
        "class in neither map": "left out",
        "class in the prediction only": "0" if absent == "nnunet" else "left out",
        "class in the reference only": "0",
        "ignored pixels": "none" if ignore is None else f"reference label {ignore}",
    }


class ClassDsc(ClassMean):
    """The mean over classes of the mean over images of the DSC."""

    def __init__(self, *, classes: Sequence[int], absent: AbsentRule = "nnunet", ignore: int | None = None) -> None:
        if absent not in _ABSENT:
            raise UnknownName("rule for absent classes", absent, _ABSENT)
        self.classes, self.absent, self.ignore = tuple(classes), absent, ignore

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, classes and the rule for absent ones."""
        name = "dsc_classes" if self.absent == "nnunet" else "dsc_classes_monai_batch"
        conventions = _dsc_conventions(self.classes, self.absent, self.ignore)
        return self.declared(name, estimand="mean over classes of their mean over images", conventions=conventions)

    def class_scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The DSC of every image and class."""
        counts = class_counts(cases, classes=self.classes, ignore=self.ignore)
        return dsc_of(counts, empty=_ABSENT[self.absent])


class ImageClassDsc(CaseMean):
    """The mean over images of the mean over classes of the DSC, as MONAI's `DiceMetric(reduction="mean")`."""

    takes = ("masks",)

    def __init__(self, *, classes: Sequence[int], ignore: int | None = None) -> None:
        self.classes, self.ignore = tuple(classes), ignore

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, classes and the rule for absent ones."""
        conventions = _dsc_conventions(self.classes, "monai", self.ignore)
        return self.declared(
            "dsc_classes_monai", estimand="mean over images of their mean over classes", conventions=conventions
        )

    def scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The mean over classes of every image."""
        counts = class_counts(cases, classes=self.classes, ignore=self.ignore)
        return mean_known(dsc_of(counts, empty=_ABSENT["monai"]))


def _outline_scores(
    score: Callable[[Labels, Labels], float], cases: MaskCases | CountedMasks, classes: Sequence[int]
) -> Floats:
    """The score of the binary masks of every image and class."""
    if isinstance(cases, CountedMasks):
        raise Misuse("outlines need the pixels of masks, not their counts")
    rows = [[score(one == label, other == label) for label in sorted(classes)] for one, other in cases.pairs()]
    return np.array(rows, dtype=np.float64).reshape(-1, len(classes))


class ClassNsd(ClassMean):
    """The mean over classes of the mean over images of the NSD of border pixels."""

    def __init__(self, *, classes: Sequence[int], tolerance_px: float) -> None:
        self.classes, self.tolerance_px = tuple(classes), tolerance_px

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, classes, tolerance and the rule for absent ones."""
        conventions = {
            "classes": listed(self.classes),
            "tolerance": f"{self.tolerance_px:g} px, inclusive",
            "outline": "border",
            "class in neither map": "left out",
            "class in one map only": "0",
        }
        estimand = "mean over classes of their mean over images"
        return self.declared("nsd_classes", estimand=estimand, conventions=conventions)

    def class_scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The NSD of every image and class."""
        return _outline_scores(partial(nsd, tolerance_px=self.tolerance_px), cases, self.classes)


class ClassDistance(ClassMean):
    """The mean over classes of the mean over images of HD95 or ASSD, in pixels."""

    def __init__(self, *, classes: Sequence[int], measure: Literal["hd95", "assd"] = "hd95") -> None:
        if measure not in _DISTANCES:
            raise UnknownName("distance of outlines", measure, _DISTANCES)
        self.classes, self.measure = tuple(classes), measure

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, classes and what a class in one map alone counts as."""
        how = {
            "hd95": "95th percentile, linear interpolation, larger of both directions",
            "assd": "mean over both outlines together",
        }
        conventions = {
            "classes": listed(self.classes),
            "outline": "border",
            "distance": how[self.measure],
            "class in neither map": "left out",
            "class in one map only": "the diagonal of the image",
        }
        estimand = "mean over classes of their mean over images"
        return self.declared(f"{self.measure}_classes_px", 0.0, math.inf, "smaller", estimand, conventions, unit="px")

    def class_scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The distance of every image and class."""
        distance = _DISTANCES[self.measure]
        return _outline_scores(
            lambda one, other: distance(one, other) if one.any() or other.any() else math.nan, cases, self.classes
        )


class ClassDistanceMm(ClassDistance):
    """The same in millimetres, for square pixels of one size."""

    def __init__(self, *, classes: Sequence[int], mm_per_px: float, measure: Literal["hd95", "assd"] = "hd95") -> None:
        super().__init__(classes=classes, measure=measure)
        if not 0 < mm_per_px < math.inf:
            raise Misuse(f"mm_per_px must be a positive number of millimetres, got {mm_per_px!r}")
        self.mm_per_px = mm_per_px

    @property
    def facts(self) -> MetricFacts:
        """Those in pixels, with the size of a pixel."""
        plain = super().facts
        conventions = {**plain.conventions, "pixel": f"{self.mm_per_px:g} mm, square"}
        return replace(plain, name=f"{self.measure}_classes_mm", unit="mm", conventions=conventions)

    def class_scores(self, cases: MaskCases | CountedMasks) -> Floats:
        """The distance of every image and class."""
        return super().class_scores(cases) * self.mm_per_px
