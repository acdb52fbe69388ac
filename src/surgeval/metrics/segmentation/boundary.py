"""Metrics over images of the distances between outlines: NSD in both definitions, and HD95.

The definitions are those of `surgeval.metrics.segmentation.surfaces`; here they become means over images.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from surgeval.metrics.case_means import CaseMean
from surgeval.metrics.metric import Floats
from surgeval.metrics.segmentation.empty import EmptyRule, empty_rule
from surgeval.metrics.segmentation.masks import MaskCases
from surgeval.metrics.segmentation.surfaces import Outline, hausdorff_px, nsd, outline_of
from surgeval.schema.metric_facts import MetricFacts


class Nsd(CaseMean):
    """The mean over images of the normalised surface distance; `outline` says which of the two."""

    takes = ("masks",)

    def __init__(
        self,
        *,
        tolerance_px: float,
        outline: Outline | str = Outline.BORDER,
        empty: EmptyRule | str = "surface-distance",
    ) -> None:
        self.tolerance_px, self.outline, self.empty = tolerance_px, outline_of(outline), empty_rule(empty)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, tolerance, outline and the empty-mask rule."""
        surface = {
            "tolerance": f"{self.tolerance_px:g} px, inclusive",
            "outline": self.outline.value,
            "beyond the image": "background",
        }
        conventions = {**surface, **self.empty.conventions}
        return self.declared(f"nsd_{self.outline.value}", estimand="mean over images", conventions=conventions)

    def scores(self, cases: MaskCases) -> Floats:
        """The NSD of every image."""
        score = partial(nsd, tolerance_px=self.tolerance_px, outline=self.outline, empty=self.empty)
        return np.array([score(*pair) for pair in cases.pairs()], dtype=np.float64)


class Hausdorff95(CaseMean):
    """The mean over images of the 95th percentile Hausdorff distance, in pixels."""

    takes = ("masks",)

    def __init__(self, *, outline: Outline | str = Outline.BORDER) -> None:
        self.outline = outline_of(outline)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, outline and what empty masks count as."""
        quantile = {Outline.BORDER: "linear interpolation", Outline.CONTOUR: "first distance reaching the length"}
        conventions = {
            "outline": self.outline.value,
            "percentile": f"95, {quantile[self.outline]}, larger of both directions",
            "both masks empty": "0",
            "one mask empty": "the diagonal of the image",
        }
        return self.declared("hd95_px", 0.0, math.inf, "smaller", "mean over images", conventions, unit="px")

    def scores(self, cases: MaskCases) -> Floats:
        """The HD95 of every image."""
        distances = [hausdorff_px(*pair, percentile=95.0, outline=self.outline) for pair in cases.pairs()]
        return np.array(distances, dtype=np.float64)
