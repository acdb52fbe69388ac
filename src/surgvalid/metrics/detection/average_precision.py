"""Average precision and average recall of detections, as the COCO evaluation defines them, under any weights.

`CocoAP` and `CocoAR` average over a grid of overlap thresholds and over the classes that have a reference:
COCO's own grid is 0.50 to 0.95, a clinical one 0.05 to 0.50 is customary where finding matters more than
outlining, and any other can be given. `coco_summary` gives the twelve numbers of the COCO protocol.

What AP does not see: detections of a class that no image of the data set holds. They cost nothing here, so
`false_positives_per_image` belongs beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.detection.cases import DetectionCases
from surgvalid.metrics.detection.matching import (
    COCO_SIZES,
    SLACK,
    Areas,
    Curve,
    Engine,
    Kind,
    Matches,
    Range,
    Ties,
    areas,
    curve_of,
    match,
)
from surgvalid.metrics.metric import (
    Floats,
    UnitStatistics,
    WeightedMetric,
    exact_weights,
    ratio,
    redeem,
    tickets,
    weight_rows,
)
from surgvalid.schema.metric_facts import MetricFacts

COCO_IOUS = tuple(np.linspace(0.5, 0.95, 10).tolist())
CLINICAL_IOUS = tuple(np.linspace(0.05, 0.5, 10).tolist())
IOU_GRIDS = {"coco": COCO_IOUS, "clinical": CLINICAL_IOUS, "50": (0.5,), "75": (0.75,)}
"""Grids of overlap thresholds by name."""

Average = Literal["macro", "weighted"]
Confidence = Literal["scores", "none"]
_AVERAGES = {"macro": "plain mean over classes", "weighted": "mean over classes, weighted by their references"}
_SHAPES = {"box": "boxes", "mask": "masks"}
COMPATS = {"pycocotools": "a match with the annotation whose id is 0 counts as none"}
"""Flawed scorers that can be reproduced, and the flaw."""
_KEPT = 4
"""So many weightings are remembered: AP and AR of all videos, and of every class, are asked for under the same."""
_TIES = {"listed": "in order of image, then as listed", "pooled": "one step"}


@dataclass(frozen=True)
class CurveStore:
    """The curves of every class and threshold, and the references of every class and unit."""

    curves: tuple[tuple[Curve, ...], ...]
    """`[class][threshold]`."""
    references: Floats
    """`[unit, class]`: those that count."""
    units: int


def curve_store(cases: DetectionCases, matches: Matches, *, size: int = 0, ties: Ties = "listed") -> CurveStore:
    """The curves of one size range."""
    codes, units = cases.units.codes, len(cases.units.names)
    cuts = np.searchsorted(matches.category, np.arange(cases.classes + 1))
    curves = tuple(
        tuple(
            curve_of(matches, codes, slice(start, stop), (size, place), ties=ties)
            for place in range(matches.matched.shape[1])
        )
        for start, stop in itertools.pairwise(cuts)
    )
    references = np.zeros((units, cases.classes))
    counts = matches.reference_counts[size]
    np.add.at(references, (codes[matches.reference_image[counts]], matches.reference_category[counts]), 1.0)
    return CurveStore(curves, references, units)


@dataclass(frozen=True)
class _OverGrid(WeightedMetric):
    """A number of every class and threshold, averaged over both.

    Args:
        ious: A grid by name (`coco`, `clinical`, `50`, `75`) or thresholds.
        kind: Whether boxes or masks are compared.
        size: A size range by name (`all`, `small`, `medium`, `large`) or its two ends in square pixels.
        max_detections: Detections kept per image and class.
        average: How classes become one number.
        confidence: `scores`, or `none` where the model gives none: detections are then matched as listed and
            all of a class are one step of the curve.
        ties: How equal scores are taken.
        engine: `numba`, `numpy` or whichever is there; the results are equal.
        compat: `pycocotools` counts a match with the annotation whose id is 0 as none, as that scorer does.
    """

    takes = ("objects",)
    store = CurveStore

    ious: str | Sequence[float] = "coco"
    kind: Kind = "box"
    size: str | Range = "all"
    max_detections: int = 100
    average: Average = "macro"
    confidence: Confidence = "scores"
    ties: Ties = "listed"
    engine: Engine = "auto"
    name: str = ""
    compat: str | None = None

    def __post_init__(self) -> None:
        for kind, name, known in (
            ("grid of thresholds", self.ious, IOU_GRIDS),
            ("kind of overlap", self.kind, ("box", "mask")),
            ("size range", self.size, COCO_SIZES),
            ("average", self.average, _AVERAGES),
            ("rule for confidences", self.confidence, ("scores", "none")),
            ("tie rule", self.ties, _TIES),
            ("scorer", self.compat, COMPATS),
        ):
            if isinstance(name, str) and name not in known:
                raise UnknownName(kind, name, known)
        if not self.thresholds or not all(0 < threshold <= 1 for threshold in self.thresholds):
            raise Misuse(f"thresholds of overlap lie above 0 and up to 1, got {list(self.thresholds)}")
        if self.max_detections < 1:
            raise Misuse(f"max_detections must be at least 1, got {self.max_detections}")

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The thresholds of overlap."""
        return IOU_GRIDS[self.ious] if isinstance(self.ious, str) else tuple(float(iou) for iou in self.ious)

    @property
    def size_range(self) -> Range:
        """The ends of the size range."""
        return COCO_SIZES[self.size] if isinstance(self.size, str) else (float(self.size[0]), float(self.size[1]))

    @property
    def facts(self) -> MetricFacts:
        """Name, range and conventions."""
        confident = self.confidence == "scores"
        low, high = self.size_range
        conventions = {
            "overlap": f"IoU of {_SHAPES[self.kind]}; share inside where the reference is a crowd",
            "thresholds": ", ".join(f"{iou:.2f}" for iou in self.thresholds),
            "average": _AVERAGES[self.average],
            "absent class": "left out, its false alarms unseen",
            "area": f"{low:g} to {high:g} square pixels",
            "missing area": "that of the mask or box",
            "detections per image and class": f"at most {self.max_detections}",
            "confidence": "as given" if confident else "none: all detections of a class are one step",
            "equal scores": _TIES[self.ties if confident else "pooled"],
            **({"polygons": "the pixels that pycocotools draws"} if self.kind == "mask" else {}),
            **({} if self.compat is None else {"reproduces": f"{self.compat}: {COMPATS[self.compat]}"}),
            **self._own_conventions(),
        }
        tail = "" if self.compat is None else f"_{self.compat}"
        return self.declared(
            self._name() + tail, estimand="images of all units in one ranking per class", conventions=conventions
        )

    @property
    def corrected(self) -> Self | None:
        """The metric that a reproduced scorer should have been; None where nothing is reproduced."""
        return None if self.compat is None else replace(self, compat=None)

    def prepare(self, cases: DetectionCases) -> UnitStatistics:
        """Matches at every threshold, found once for all metrics of the same cases."""
        confident = self.confidence == "scores"
        ties: Ties = self.ties if confident else "pooled"
        options: dict[str, Any] = {
            "ious": self.thresholds,
            "sizes": (self.size_range,),
            "max_detections": self.max_detections,
            "kind": self.kind,
            "confident": confident,
            "engine": self.engine,
            "lose_0": self.compat is not None,
        }
        made: dict[Any, CurveStore] = cases.__dict__.setdefault("_stores", {})
        if (how := (*options.values(), ties)) not in made:
            made[how] = curve_store(cases, match(cases, **options), ties=ties)
        return tickets(made[how], made[how].units)

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The value of every class, mean over thresholds, `[weighting, class]`; NaN without reference."""
        store, by_unit = redeem(statistics, weight_rows(weights, len(statistics)))
        return np.asarray(self._chosen(grid_areas(store, by_unit, self.engine)).mean(axis=2))

    def class_terms(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """What each class adds to a plain mean, `[weighting, class]`; NaN for one that is left out."""
        values = self.class_values(statistics, weights)
        return values if self.average == "macro" else np.full(values.shape, np.nan)

    def class_support(self, statistics: UnitStatistics) -> Floats:
        """`[unit, class]`: references."""
        store, by_unit = redeem(statistics, np.eye(len(statistics)))
        return np.asarray(by_unit @ store.references)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The average over classes with a reference."""
        store, by_unit = redeem(statistics, weights)
        return over_classes(
            self._chosen(grid_areas(store, by_unit, self.engine)), by_unit @ store.references, self.average
        )

    def _chosen(self, areas: Areas) -> Floats:
        raise NotImplementedError

    def _name(self) -> str:
        raise NotImplementedError

    def _own_conventions(self) -> dict[str, str]:
        return {}


def grid_areas(store: CurveStore, weights: Floats, engine: Engine = "auto") -> Areas:
    """Precision and recall of every class and threshold, each `[weighting, class, threshold]`; the last are kept."""
    made: dict[Any, Areas] = store.__dict__.setdefault("_areas", {})
    if (how := (engine, weights.shape, weights.tobytes())) in made:
        return made[how]
    by_unit, exact = exact_weights(weights)
    references, slack = by_unit @ store.references, np.where(exact, 0.0, SLACK)
    lines = [
        [areas(curve, by_unit, references[:, place], slack, engine=engine) for curve in curves]
        for place, curves in enumerate(store.curves)
    ]
    if len(made) >= _KEPT:
        made.clear()
    made[how] = Areas(*np.asarray(lines).transpose(2, 3, 0, 1))
    return made[how]


def over_classes(values: Floats, references: Floats, average: Average = "macro") -> Floats:
    """The mean over thresholds and over the classes that have a reference."""
    present = references > 0
    share = references if average == "weighted" else present.astype(np.float64)
    return ratio(np.where(present, values.mean(axis=2), 0.0) * share @ np.ones(share.shape[1]), share.sum(axis=1))


@dataclass(frozen=True)
class CocoAP(_OverGrid):
    """Average precision at 101 recall levels, mean over thresholds and classes."""

    def _chosen(self, areas: Areas) -> Floats:
        return areas.precision

    def _name(self) -> str:
        return self.name or "coco_ap"

    def _own_conventions(self) -> dict[str, str]:
        return {"interpolation": "101 recall levels, largest precision at that recall or beyond"}


@dataclass(frozen=True)
class CocoAR(_OverGrid):
    """The share of references found, mean over thresholds and classes."""

    def _chosen(self, areas: Areas) -> Floats:
        return areas.recall

    def _name(self) -> str:
        return self.name or "coco_ar"


SUMMARY = (
    *("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large"),
    *("ar1", "ar10", "ar100", "ar100_small", "ar100_medium", "ar100_large"),
)
"""Names of the twelve numbers, in the order of the COCO protocol."""


def coco_summary(
    cases: DetectionCases, *, kind: Kind = "box", ious: str | Sequence[float] = "coco", engine: Engine = "auto"
) -> dict[str, float]:
    """The twelve numbers of the COCO protocol, matched once; NaN where no class has a reference.

    With another grid than COCO's, `ap50` and `ap75` are NaN unless the grid holds 0.50 and 0.75.
    """
    thresholds = IOU_GRIDS[ious] if isinstance(ious, str) else tuple(ious)
    matches = match(cases, ious=thresholds, sizes=tuple(COCO_SIZES.values()), kind=kind, engine=engine)
    one = np.ones((1, len(cases.units.names)))
    summary: dict[str, float] = {}
    for place, size in enumerate(COCO_SIZES):
        store = curve_store(cases, matches, size=place)
        references = one @ store.references
        precision, recall = grid_areas(store, one, engine)
        suffix = "" if size == "all" else f"_{size}"
        summary[f"ap{suffix}"] = float(over_classes(precision, references)[0])
        summary[f"ar100{suffix}"] = float(over_classes(recall, references)[0])
        if size == "all":
            for label, iou in (("ap50", 0.5), ("ap75", 0.75)):
                held = np.flatnonzero(np.isclose(thresholds, iou))
                summary[label] = float(over_classes(precision[..., held], references)[0]) if held.size else np.nan
            for most in (1, 10):
                recall = _plain_recalls(matches, references[0], most)
                summary[f"ar{most}"] = float(over_classes(recall, references)[0])
    return {name: summary[name] for name in SUMMARY}


def _plain_recalls(matches: Matches, references: Floats, most: int) -> Floats:
    """Recall at all sizes with at most `most` detections per image and class, `[1, class, threshold]`."""
    hits = matches.matched[0] & ~matches.ignored[0] & (matches.rank < most)
    edges = np.searchsorted(matches.category, np.arange(len(references) + 1))
    counts = [[np.count_nonzero(row[start:end]) for row in hits] for start, end in pairwise(edges.tolist())]
    return ratio(np.array(counts, dtype=np.float64), references[:, None])[None]
