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


CLASSIFICATION: dict[str, Factory] = {}
"""Labels, scores and probabilities per case."""

DETECTION: dict[str, Factory] = {}
"""Boxes and masks of objects in images."""

SEGMENTATION: dict[str, Factory] = {
    "dsc": Factory("segmentation.Dsc"),
    "iou": Factory("segmentation.Iou"),
    "miou_pooled": Factory("segmentation.PooledMeanIou"),
    "miou_per_image": Factory("segmentation.ImageMeanIou"),
    "nsd_border": Factory("segmentation.Nsd", outline="border"),
    "nsd_contour": Factory("segmentation.Nsd", outline="contour"),
    "hd95_px": Factory("segmentation.Hausdorff95"),
    "mi_dsc": Factory("segmentation.MultiInstanceDsc"),
    "mi_nsd": Factory("segmentation.MultiInstanceNsd"),
    "mask_stability_gap": Factory("segmentation.MaskStabilityGap"),
}
"""Masks per pixel."""

TIME: dict[str, Factory] = {}
"""Phases, segments, transitions, intervals, latency."""

TRIPLETS: dict[str, Factory] = {}
"""Instrument, verb and target."""

TRACKING: dict[str, Factory] = {}
"""Identities over time."""

METRICS: dict[str, Factory] = {**CLASSIFICATION, **DETECTION, **SEGMENTATION, **TIME, **TRIPLETS, **TRACKING}
"""Every metric by name; `METRICS[name](**options)` makes it."""


def make_metric(name: str, **options: Any) -> Metric:
    """The metric of a name.

    Raises:
        UnknownName: Nothing has that name.
    """
    if name not in METRICS:
        raise UnknownName("metric", name, METRICS)
    return METRICS[name](**options)
