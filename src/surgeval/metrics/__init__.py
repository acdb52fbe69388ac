"""Metrics: arrays in, numbers out; one file per family.

`METRICS` lists every metric that can be weighted (see `surgeval.metrics.metric`), one line each. Nothing is
imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surgeval.errors import UnknownName

if TYPE_CHECKING:
    from surgeval.schema.metric import Metric


class Factory:
    """Makes one metric: a class in a module of this package, with options that can be overridden."""

    def __init__(self, home: str, **options: Any) -> None:
        self.home, self.options = home, options

    def __call__(self, **options: Any) -> Metric:
        """The metric, with these options in place of its own."""
        module, _, name = self.home.rpartition(".")
        made: Metric = getattr(import_module(f"{__name__}.{module}"), name)(**{**self.options, **options})
        return made


_MICRO = {"average": "micro", "labels": "declared"}

CLASSIFICATION: dict[str, Factory] = {
    "accuracy": Factory("classification.averages.Accuracy"),
    "label_accuracy": Factory("classification.averages.LabelAccuracy"),
    "balanced_accuracy": Factory("classification.averages.BalancedAccuracy"),
    "label_balanced_accuracy": Factory("classification.averages.LabelBalancedAccuracy"),
    "macro_precision": Factory("classification.averages.ClassAverage", measure="precision"),
    "macro_recall": Factory("classification.averages.ClassAverage", measure="recall"),
    "macro_f1": Factory("classification.averages.ClassAverage", measure="f1"),
    "macro_jaccard": Factory("classification.averages.ClassAverage", measure="jaccard"),
    "macro_specificity": Factory("classification.averages.ClassAverage", measure="specificity", undefined="skip"),
    "macro_npv": Factory("classification.averages.ClassAverage", measure="npv", undefined="skip"),
    "weighted_precision": Factory("classification.averages.ClassAverage", measure="precision", average="weighted"),
    "weighted_recall": Factory("classification.averages.ClassAverage", measure="recall", average="weighted"),
    "weighted_f1": Factory("classification.averages.ClassAverage", measure="f1", average="weighted"),
    "weighted_jaccard": Factory("classification.averages.ClassAverage", measure="jaccard", average="weighted"),
    "micro_precision": Factory("classification.averages.ClassAverage", measure="precision", **_MICRO),
    "micro_recall": Factory("classification.averages.ClassAverage", measure="recall", **_MICRO),
    "micro_f1": Factory("classification.averages.ClassAverage", measure="f1", **_MICRO),
    "micro_jaccard": Factory("classification.averages.ClassAverage", measure="jaccard", **_MICRO),
    "mcc": Factory("classification.confusion.MatthewsCorrelation"),
    "kappa": Factory("classification.confusion.Kappa", cost="nominal"),
    "linear_kappa": Factory("classification.confusion.Kappa", cost="absolute"),
    "quadratic_kappa": Factory("classification.confusion.Kappa", cost="squared"),
    "expected_cost": Factory("classification.confusion.ExpectedCost"),
    "normalised_expected_cost": Factory("classification.confusion.ExpectedCost", normalised=True),
    "mean_ap": Factory("classification.ranking.MeanAveragePrecision"),
    "weighted_ap": Factory("classification.ranking.MeanAveragePrecision", average="weighted"),
    "micro_ap": Factory("classification.ranking.MeanAveragePrecision", average="micro"),
    "macro_auroc": Factory("classification.ranking.AreaUnderROC"),
    "weighted_auroc": Factory("classification.ranking.AreaUnderROC", average="weighted"),
    "micro_auroc": Factory("classification.ranking.AreaUnderROC", average="micro"),
    "top_k_accuracy": Factory("classification.top_k.TopK", flavour="single"),
    "top_k_any_hit": Factory("classification.top_k.TopK", flavour="any hit"),
    "top_k_recall": Factory("classification.top_k.TopK", flavour="recall"),
    "f1_max": Factory("classification.f1_max.F1Max"),
    "f1_max_global": Factory("classification.f1_max.F1Max", scope="global"),
    "brier": Factory("classification.proper_scores.Brier"),
    "label_brier": Factory("classification.proper_scores.LabelBrier"),
    "log_score": Factory("classification.proper_scores.LogScore"),
    "ece": Factory("classification.calibration.CalibrationError"),
    "ece_equal_mass": Factory("classification.calibration.CalibrationError", binning="equal mass"),
    "classwise_ece": Factory("classification.calibration.CalibrationError", kind="classwise"),
    "rms_calibration_error": Factory("classification.calibration.CalibrationError", norm="l2"),
    "max_calibration_error": Factory("classification.calibration.CalibrationError", norm="max"),
}
"""Labels, scores and probabilities per case."""

DETECTION: dict[str, Factory] = {
    "coco_ap": Factory("detection.average_precision.CocoAP"),
    "coco_ap50": Factory("detection.average_precision.CocoAP", ious="50", name="coco_ap50"),
    "clinical_ap": Factory("detection.average_precision.CocoAP", ious="clinical", name="clinical_ap"),
    "weighted_coco_ap": Factory("detection.average_precision.CocoAP", average="weighted", name="weighted_coco_ap"),
    "coco_mask_ap": Factory("detection.average_precision.CocoAP", kind="mask", name="coco_mask_ap"),
    "coco_ar": Factory("detection.average_precision.CocoAR"),
    "detection_f1": Factory("detection.counts.DetectionF1"),
    "macro_detection_f1": Factory("detection.counts.DetectionF1", average="macro"),
    "false_alarms_per_image": Factory("detection.counts.FalseAlarmsPerImage", classes="all"),
    "absent_class_false_alarms_per_image": Factory("detection.counts.FalseAlarmsPerImage"),
}
"""Boxes and masks of objects in images."""

SEGMENTATION: dict[str, Factory] = {}
"""Masks per pixel."""

TIME: dict[str, Factory] = {}
"""Phases, segments, transitions, intervals, latency."""

TRIPLETS: dict[str, Factory] = {}
"""Instrument, verb and target."""

TRACKING: dict[str, Factory] = {}
"""Identities over time."""

METRICS: dict[str, Factory] = {**CLASSIFICATION, **DETECTION, **SEGMENTATION, **TIME, **TRIPLETS, **TRACKING}
"""Every metric by name; `METRICS[name](**options)` makes it."""


def open_metric(name: str, **options: Any) -> Metric:
    """The metric of a name.

    Raises:
        UnknownName: Nothing has that name.
    """
    if name not in METRICS:
        raise UnknownName("metric", name, METRICS)
    return METRICS[name](**options)
