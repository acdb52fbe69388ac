"""Counts of detections at one threshold: F1, and false alarms per image.

Definitions, after matching as in `matching`: a detection that takes a counting reference is a true positive, one
that takes none a false positive, a counting reference that nobody takes a false negative.
    F1                      2 TP / (2 TP + FP + FN), classes pooled or averaged
    false alarms per image  false positives / images, of all classes or only of those without any reference
The second kind is what average precision cannot see: a class that no image holds has no precision, so false
alarms of it are free there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.detection.cases import DetectionCases
from surgvalid.metrics.detection.matching import Engine, Kind, match
from surgvalid.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio, weighted_sums
from surgvalid.schema.metric_facts import MetricFacts

Average = Literal["micro", "macro"]
Classes = Literal["absent", "all"]
TRUE, FALSE, REFERENCES, IMAGES = range(4)


@dataclass(frozen=True)
class _Counts(WeightedMetric):
    """Counts per unit and class.

    Args:
        iou: The threshold of overlap.
        least_score: Detections below it are dropped first; 0 keeps those without score too.
        kind: Whether boxes or masks are compared.
        max_detections: Detections kept per image and class.
        engine: `numba`, `numpy` or whichever is there.
    """

    takes = ("objects",)

    iou: float = 0.5
    least_score: float | None = None
    kind: Kind = "box"
    max_detections: int = 100
    engine: Engine = "auto"

    def __post_init__(self) -> None:
        if not 0 < self.iou <= 1:
            raise Misuse(f"the threshold of overlap lies above 0 and up to 1, got {self.iou}")

    def prepare(self, cases: DetectionCases) -> UnitStatistics:
        """True positives, false positives and references per unit and class, and images per unit.

        Detections without score are matched as listed and all kept.
        """
        confident = cases.prediction.score is not None
        if self.least_score is not None and not confident:
            raise Misuse("detections have no score, so least_score cannot be applied; leave it out")
        options = {"max_detections": self.max_detections, "kind": self.kind, "engine": self.engine}
        matching = match(cases, ious=(self.iou,), confident=confident, **options)  # type: ignore[arg-type]
        kept = ~matching.ignored[0, 0]
        if self.least_score is not None:
            kept &= matching.score >= self.least_score
        codes, hit = cases.units.codes, matching.matched[0, 0]
        counts = np.zeros((len(cases.units.names), cases.classes, 4), dtype=np.int32)
        for field, chosen in ((TRUE, kept & hit), (FALSE, kept & ~hit)):
            np.add.at(counts[..., field], (codes[matching.image[chosen]], matching.category[chosen]), 1)
        real = matching.reference_counts[0]
        np.add.at(
            counts[..., REFERENCES], (codes[matching.reference_image[real]], matching.reference_category[real]), 1
        )
        counts[..., IMAGES] = np.bincount(codes, minlength=len(counts))[:, None]
        return counts

    def _conventions(self) -> dict[str, str]:
        return {
            "overlap": f"IoU of {'boxes' if self.kind == 'box' else 'masks'} of at least {self.iou:g}",
            "kept": "all detections" if self.least_score is None else f"score at least {self.least_score:g}",
            "detections per image and class": f"at most {self.max_detections}",
            "no confidence": "matched as listed",
            "crowd": "neither missed nor found; detections in it are ignored",
        }


@dataclass(frozen=True)
class DetectionF1(_Counts):
    """F1 of the detections at one threshold of overlap.

    Args:
        average: `micro` pools the classes; `macro` is the mean over classes with a reference.
    """

    average: Average = "micro"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.average not in ("micro", "macro"):
            raise UnknownName("average", self.average, ("micro", "macro"))

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        pooled = {"micro": "classes pooled", "macro": "plain mean over classes with a reference"}[self.average]
        name = "detection_f1" if self.average == "micro" else "macro_detection_f1"
        conventions = {**self._conventions(), "average": pooled, "nothing there and nothing detected": "undefined"}
        return self.declared(name, estimand="objects of all units pooled", conventions=conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The F1."""
        counts = weighted_sums(statistics, weights)
        if self.average == "micro":
            counts = counts.sum(axis=1, keepdims=True)
        below = counts[..., TRUE] + counts[..., FALSE] + counts[..., REFERENCES]
        values = ratio(2 * counts[..., TRUE], below)
        if self.average == "micro":
            return values[:, 0]
        present = counts[..., REFERENCES] > 0
        return ratio(np.where(present, values, 0.0).sum(axis=1), present.sum(axis=1))


@dataclass(frozen=True)
class FalseAlarmsPerImage(_Counts):
    """False positives per image.

    Args:
        classes: `absent` counts only classes without any reference, which average precision cannot see;
            `all` counts every class.
    """

    classes: Classes = "absent"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.classes not in ("absent", "all"):
            raise UnknownName("choice of classes", self.classes, ("absent", "all"))

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        which = {"absent": "those without any reference", "all": "all"}[self.classes]
        name = "false_alarms_per_image" if self.classes == "all" else "absent_class_false_alarms_per_image"
        conventions = {**self._conventions(), "classes": which}
        return self.declared(name, 0.0, math.inf, "smaller", "mean over images, all units pooled", conventions)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The false positives per image."""
        counts = weighted_sums(statistics, weights)
        alarms = counts[..., FALSE]
        if self.classes == "absent":
            alarms = np.where(counts[..., REFERENCES] > 0, 0.0, alarms)
        return ratio(alarms.sum(axis=1), counts[:, 0, IMAGES])
