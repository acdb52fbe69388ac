"""Metrics: arrays in, numbers out; one file per family.

`METRICS` lists every metric that can be weighted (see `surgvalid.metrics.metric`), one line each. Nothing is
imported before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from surgvalid.catalogue import Catalogue, packages_named
from surgvalid.errors import Misuse

if TYPE_CHECKING:
    from surgvalid.schema.metric_facts import Metric

__all__ = [
    "CLASSIFICATION",
    "DETECTION",
    "METRICS",
    "SEGMENTATION",
    "TIME",
    "TRACKING",
    "TRIPLETS",
    "Factory",
    "answer_errors",
    "classification",
    "detection",
    "metric",
    "metrics_for",
    "open_metric",
    "packing",
    "phases",
    "segmentation",
    "times",
    "tracking",
    "triplets",
]


class Factory:
    """Makes one metric: of a class in a module of this package or a given one, with options that can be overridden."""

    def __init__(self, home: str | Callable[..., Metric], **options: Any) -> None:
        self.home, self.options = home, options

    @packages_named()
    def __call__(self, **options: Any) -> Metric:
        """The metric, with these options in place of its own.

        Raises:
            Misuse: An option that the metric needs is missing, or one is given that it does not have.
        """
        chosen = self._chosen()
        try:
            wanted = signature(chosen).bind(**{**self.options, **options})
        except TypeError as error:
            raise Misuse(f"options of {chosen.__name__}: {error}") from None
        made: Metric = chosen(*wanted.args, **wanted.kwargs)
        return made

    @property
    def family(self) -> str:
        """The module that it comes from."""
        return self.home.rpartition(".")[0] if isinstance(self.home, str) else self.home.__module__

    @property
    def makes(self) -> Any:
        """The class or function that makes the metric."""
        return self._chosen()

    @property
    def option_names(self) -> frozenset[str]:
        """The options that the metric has."""
        return frozenset(signature(self._chosen()).parameters)

    @property
    def takes(self) -> tuple[str, ...]:
        """The forms of cases that the metric says it takes."""
        return tuple(getattr(self._chosen(), "takes", ()))

    def _chosen(self) -> Any:
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(f"{__name__}.{module}"), name)


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
    "top_k_accuracy": Factory("classification.ranking.TopK", flavour="single"),
    "top_k_any_hit": Factory("classification.ranking.TopK", flavour="any hit"),
    "top_k_recall": Factory("classification.ranking.TopK", flavour="recall"),
    "f1_max": Factory("classification.f1_max.F1Max"),
    "f1_max_global": Factory("classification.f1_max.F1Max", scope="global"),
    "brier": Factory("classification.probabilities.Brier"),
    "label_brier": Factory("classification.probabilities.LabelBrier"),
    "log_score": Factory("classification.probabilities.LogScore"),
    "ece": Factory("classification.probabilities.CalibrationError"),
    "ece_equal_mass": Factory("classification.probabilities.CalibrationError", binning="equal mass"),
    "classwise_ece": Factory("classification.probabilities.CalibrationError", kind="classwise"),
    "rms_calibration_error": Factory("classification.probabilities.CalibrationError", norm="l2"),
    "max_calibration_error": Factory("classification.probabilities.CalibrationError", norm="max"),
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

SEGMENTATION: dict[str, Factory] = {
    "dsc": Factory("segmentation.overlap.Dsc"),
    "dsc_foreground": Factory("segmentation.overlap.Dsc", name="dsc_foreground"),
    "dsc_classes": Factory("segmentation.classes.ClassDsc"),
    "dsc_classes_monai": Factory("segmentation.classes.ImageClassDsc"),
    "dsc_classes_monai_batch": Factory("segmentation.classes.ClassDsc", absent="monai"),
    "nsd_classes": Factory("segmentation.classes.ClassNsd"),
    "hd95_classes_px": Factory("segmentation.classes.ClassDistance"),
    "assd_classes_px": Factory("segmentation.classes.ClassDistance", measure="assd"),
    "iou": Factory("segmentation.overlap.Iou"),
    "miou_pooled": Factory("segmentation.overlap.PooledMeanIou"),
    "miou_per_image": Factory("segmentation.overlap.ImageMeanIou"),
    "nsd_border": Factory("segmentation.surfaces.Nsd", outline="border"),
    "nsd_contour": Factory("segmentation.surfaces.Nsd", outline="contour"),
    "hd95_px": Factory("segmentation.surfaces.Hausdorff95"),
    "mi_dsc": Factory("segmentation.instances.MultiInstanceDsc"),
    "mi_nsd": Factory("segmentation.instances.MultiInstanceNsd"),
    "mask_stability_gap": Factory("segmentation.overlap.MaskStabilityGap"),
}
"""Masks per pixel."""

TIME: dict[str, Factory] = {
    "phase_accuracy": Factory("phases.frames.PhaseAccuracy"),
    "phase_precision": Factory("phases.frames.PhaseMeasure", measure="precision"),
    "phase_recall": Factory("phases.frames.PhaseMeasure", measure="recall"),
    "phase_jaccard": Factory("phases.frames.PhaseMeasure", measure="jaccard"),
    "phase_f1": Factory("phases.frames.PhaseMeasure", measure="f1"),
    "phase_accuracy_ad": Factory("phases.frames.PhaseAccuracy", rule="ad"),
    "phase_accuracy_relaxed_matlab": Factory("phases.frames.PhaseAccuracy", rule="relaxed_matlab"),
    "phase_accuracy_relaxed_intended": Factory("phases.frames.PhaseAccuracy", rule="relaxed_intended"),
    "phase_precision_ad": Factory("phases.frames.PhaseMeasure", measure="precision", rule="ad"),
    "phase_recall_ad": Factory("phases.frames.PhaseMeasure", measure="recall", rule="ad"),
    "phase_jaccard_ad": Factory("phases.frames.PhaseMeasure", measure="jaccard", rule="ad"),
    "phase_precision_relaxed_matlab": Factory("phases.frames.PhaseMeasure", measure="precision", rule="relaxed_matlab"),
    "phase_recall_relaxed_matlab": Factory("phases.frames.PhaseMeasure", measure="recall", rule="relaxed_matlab"),
    "phase_jaccard_relaxed_matlab": Factory("phases.frames.PhaseMeasure", measure="jaccard", rule="relaxed_matlab"),
    "phase_jaccard_relaxed_intended": Factory("phases.frames.PhaseMeasure", measure="jaccard", rule="relaxed_intended"),
    "phase_precision_relaxed_v1": Factory("phases.frames.PhaseMeasure", measure="precision", rule="relaxed_v1"),
    "phase_recall_relaxed_v1": Factory("phases.frames.PhaseMeasure", measure="recall", rule="relaxed_v1"),
    "phase_precision_relaxed_v2": Factory("phases.frames.PhaseMeasure", measure="precision", rule="relaxed_v2"),
    "phase_recall_relaxed_v2": Factory("phases.frames.PhaseMeasure", measure="recall", rule="relaxed_v2"),
    "segment_edit": Factory("phases.segmental.EditScore"),
    "segment_f1_10": Factory("phases.segmental.SegmentF1", overlap=0.1),
    "segment_f1_25": Factory("phases.segmental.SegmentF1", overlap=0.25),
    "segment_f1_50": Factory("phases.segmental.SegmentF1", overlap=0.5),
    "segment_f1_10_per_video": Factory("phases.segmental.SegmentF1", overlap=0.1, average="videos"),
    "segment_f1_25_per_video": Factory("phases.segmental.SegmentF1", overlap=0.25, average="videos"),
    "segment_f1_50_per_video": Factory("phases.segmental.SegmentF1", overlap=0.5, average="videos"),
    "transition_precision": Factory("phases.transitions.TransitionDetection", measure="precision"),
    "transition_recall": Factory("phases.transitions.TransitionDetection", measure="recall"),
    "transition_f1": Factory("phases.transitions.TransitionDetection", measure="f1"),
    "transition_delay_p50_s": Factory("phases.transitions.TransitionDelay", quantile=0.5),
    "transition_delay_p95_s": Factory("phases.transitions.TransitionDelay", quantile=0.95),
    "flicker_per_min": Factory("phases.segmental.Flicker"),
    "short_segment_share": Factory("phases.segmental.ShortSegments"),
    "spurious_switches_per_min": Factory("phases.segmental.SpuriousSwitches"),
    "temporal_iou": Factory("times.TemporalIou"),
    "latency_p50_s": Factory("times.LatencyQuantile", quantile=0.5),
    "latency_p95_s": Factory("times.LatencyQuantile", quantile=0.95),
    "latency_p99_s": Factory("times.LatencyQuantile", quantile=0.99),
    "deadline_miss_share": Factory("times.DeadlineMisses"),
}
"""Phases, segments, transitions, intervals, latency."""

TRIPLETS: dict[str, Factory] = {
    "triplet_map_ivt": Factory("triplets.GlobalTripletMap", component="ivt"),
    "triplet_map_ivt_videos": Factory("triplets.VideoTripletMap", component="ivt"),
    "triplet_map_i": Factory("triplets.GlobalTripletMap", component="i"),
    "triplet_map_i_videos": Factory("triplets.VideoTripletMap", component="i"),
    "triplet_map_v": Factory("triplets.GlobalTripletMap", component="v"),
    "triplet_map_v_videos": Factory("triplets.VideoTripletMap", component="v"),
    "triplet_map_t": Factory("triplets.GlobalTripletMap", component="t"),
    "triplet_map_t_videos": Factory("triplets.VideoTripletMap", component="t"),
    "triplet_map_iv": Factory("triplets.GlobalTripletMap", component="iv"),
    "triplet_map_iv_videos": Factory("triplets.VideoTripletMap", component="iv"),
    "triplet_map_it": Factory("triplets.GlobalTripletMap", component="it"),
    "triplet_map_it_videos": Factory("triplets.VideoTripletMap", component="it"),
    "triplet_map_ivt_ivtmetrics-0.1.5": Factory("triplets.GlobalTripletMap", compat="ivtmetrics-0.1.5"),
    "triplet_map_ivt_videos_ivtmetrics-0.1.5": Factory("triplets.VideoTripletMap", compat="ivtmetrics-0.1.5"),
}
"""Instrument, verb and target."""

TRACKING: dict[str, Factory] = {
    "hota": Factory("tracking.measures.Hota"),
    "deta": Factory("tracking.measures.Hota", component="deta"),
    "assa": Factory("tracking.measures.Hota", component="assa"),
    "mota": Factory("tracking.measures.Mota"),
    "idf1": Factory("tracking.measures.IdentityF1"),
    "id_switches": Factory("tracking.measures.IdentitySwitches"),
}
"""Identities over time."""


def _taken(name: str, made: Any) -> Factory:
    if not callable(made):
        raise TypeError(f"{name!r} leads to a {type(made).__name__}, not to a class or function that makes a metric")
    return made if isinstance(made, Factory) else Factory(made)


METRICS: Catalogue[Factory] = Catalogue(
    "metric",
    "metrics",
    {**CLASSIFICATION, **DETECTION, **SEGMENTATION, **TIME, **TRIPLETS, **TRACKING},
    take=_taken,
)
"""Every metric by name; `METRICS[name](**options)` makes it."""


def metrics_for(family: Mapping[str, Factory], *forms: str) -> dict[str, Factory]:
    """The metrics of a family that take cases of one of these forms."""
    return {name: factory for name, factory in family.items() if set(forms) & set(factory.takes)}


def open_metric(name: str, **options: Any) -> Metric:
    """The metric of a name.

    Raises:
        UnknownName: Nothing has that name.
        PluginBroken: An installed package offers it, and it cannot be used.
    """
    return METRICS[name](**options)
