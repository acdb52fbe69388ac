"""Recognition of action triplets: mAP over all frames or per video, for triplets and their components.

Definitions, with AP the step sum of one class (no interpolation, equal scores one step):
    global      mean over classes of the AP of all frames in one ranking
    video-wise  mean over classes of the mean over videos of the AP within each video
Component scores and references are the largest of the triplets that belong to the class. Source: Nwoye and Padoy,
Data Splits and Metrics for Method Benchmarking on Surgical Action Triplet Datasets, arXiv:2204.05235; video-wise is
what CholecT50 benchmarks report.

The one decision: a class without a positive frame (in all videos, or in one of them) has no AP and is left out.
`compat="ivtmetrics-0.1.5"` computes what that scorer computes on a current scikit-learn: it looks for the text
"-0.0" to leave such classes out, gets "0.0" and counts them as 0. On scikit-learn up to 1.2 it found the text, and
`compat="ivtmetrics-0.1.5 on scikit-learn 1.2"` is that. In both, dropping null triplets touches whole triplets only,
never components.

Which instrument, verb and target each action triplet is made of.

The classes of CholecT45 and CholecT50 (Nwoye et al., Medical Image Analysis 78, 2022): 100 triplets of 6
instruments, 10 verbs and 15 targets, the last six with the null verb and the null target of one instrument each.
A component is the set of triplets that share an instrument, a verb, a target or a pair of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.classification.cases import ScoreCases
from surgvalid.metrics.classification.ranking import MeanAveragePrecision, RankingStore
from surgvalid.metrics.metric import (
    Floats,
    UnitStatistics,
    WeightedMetric,
    mean_known,
    ratio,
    units_of,
    weight_rows,
    weighted_sums,
)
from surgvalid.schema.metric_facts import MetricFacts

COMPONENTS = ("ivt", "i", "v", "t", "iv", "it")
"""Triplet, instrument, verb, target, and the two pairs with the instrument."""


@dataclass(frozen=True, slots=True)
class TripletMap:
    """Instrument, verb and target of every triplet, in the order of the triplet classes."""

    name: str
    triplets: tuple[tuple[int, int, int], ...]
    null: frozenset[int]
    """Triplets that mean no action."""

    def members(self, component: str, *, null: bool = True) -> list[npt.NDArray[np.intp]]:
        """For each class of a component, in rising order of its id, the triplets that belong to it.

        Args:
            component: One of `COMPONENTS`.
            null: Whether the null triplets take part; without them the null verb and target are no classes.
        """
        if component not in COMPONENTS:
            raise UnknownName("component of triplets", component, COMPONENTS)
        positions = {"ivt": (0, 1, 2), "i": (0,), "v": (1,), "t": (2,), "iv": (0, 1), "it": (0, 2)}[component]
        kept = [index for index in range(len(self.triplets)) if null or index not in self.null]
        key = {
            index: (index,) if component == "ivt" else tuple(self.triplets[index][place] for place in positions)
            for index in kept
        }
        return [np.array([i for i in kept if key[i] == one], np.intp) for one in sorted(set(key.values()))]

    def component(self, table: npt.ArrayLike, component: str, *, null: bool = True) -> npt.NDArray[Any]:
        """A table `[frame, triplet]` as `[frame, class of the component]`: the largest of each class's triplets.

        Example:
            >>> tiny = TripletMap("tiny", ((0, 0, 0), (0, 1, 0), (1, 0, 1)), frozenset())
            >>> tiny.component([[0.2, 0.7, 0.1]], "i").tolist()
            [[0.7, 0.1]]
        """
        whole = np.asarray(table)
        if whole.ndim != 2 or whole.shape[1] != len(self.triplets):
            raise Misuse(f"{self.name} has {len(self.triplets)} triplets, got a table of shape {whole.shape}")
        return np.stack([whole[:, classes].max(axis=1) for classes in self.members(component, null=null)], axis=1)


_BY_INSTRUMENT_AND_VERB = (
    (0, 2, (1, 0, 10)),
    (0, 0, (3, 2, 4, 1, 0, 12, 8, 10, 11, 13)),
    (0, 8, (0,)),
    (0, 1, (2, 4, 1, 0, 12, 8, 10, 11)),
    (1, 3, (7, 5, 3, 2, 4, 1, 0, 8, 10, 11)),
    (1, 2, (9, 3, 2, 1, 0, 10)),
    (1, 0, (1, 8, 13)),
    (1, 1, (2, 4, 0, 8, 10)),
    (2, 3, (5, 3, 2, 4, 1, 0, 8, 10)),
    (2, 5, (5, 11)),
    (2, 2, (5, 3, 2, 1, 0, 10, 11)),
    (2, 1, (0, 8)),
    (3, 3, (10,)),
    (3, 5, (9, 5, 3, 2, 1, 8, 10, 11)),
    (3, 2, (1, 0, 10)),
    (4, 4, (5, 3, 2, 4, 1)),
    (5, 6, (6,)),
    (5, 2, (2, 4, 1, 0, 10)),
    (5, 7, (7, 4, 8)),
    (5, 1, (0, 8, 10)),
)
"""(instrument, verb, targets): the triplets with an action, in the order of their class ids."""

CHOLECT50_TRIPLETS = TripletMap(
    "CholecT50",
    (
        *((i, v, t) for i, v, targets in _BY_INSTRUMENT_AND_VERB for t in targets),
        *((instrument, 9, 14) for instrument in range(6)),
    ),
    frozenset(range(94, 100)),
)
"""The 100 classes of CholecT45 and CholecT50."""


Absent = Literal["skip", "zero"]
COMPATS = {
    "ivtmetrics-0.1.5": "zero",
    "ivtmetrics-0.1.5 on scikit-learn 1.2": "skip",
}
"""Scorers that can be reproduced, with what they make of an absent class."""


@dataclass(frozen=True, slots=True)
class TripletCases:
    """References and scores of every triplet in every frame, with the video of each frame."""

    reference: npt.ArrayLike
    """`[frame, triplet]`, 0 or 1."""
    scores: npt.ArrayLike
    """`[frame, triplet]`, larger is more likely."""
    video: Sequence[Hashable] | npt.NDArray[np.generic] | None = None
    """The unit of each frame; all frames are one video if left out."""

    def checked(self, triplets: int) -> tuple[npt.NDArray[np.bool_], Floats, Sequence[Hashable]]:
        """The tables and the videos.

        Raises:
            InputInvalid: With every problem.
        """
        reference, scores = np.asarray(self.reference), np.asarray(self.scores)
        problems = [
            f"{name} must be a table [frame, triplet] with {triplets} columns, got shape {table.shape}"
            for name, table in (("reference", reference), ("scores", scores))
            if table.ndim != 2 or table.shape[1] != triplets
        ]
        if not problems and len(reference) != len(scores):
            problems.append(f"{len(reference)} frames of references and {len(scores)} of scores")
        if reference.dtype.kind not in "biuf" or not np.isin(reference, (0, 1)).all():
            problems.append("references must be 0 or 1")
        if scores.dtype.kind not in "biuf" or not np.isfinite(scores).all():
            problems.append("scores must be finite numbers")
        video = [0] * len(reference) if self.video is None else list(self.video)
        if len(video) != len(reference):
            problems.append(f"{len(reference)} frames but {len(video)} videos")
        if problems:
            raise InputInvalid("triplets", problems)
        return reference.astype(bool), scores.astype(np.float64), video


class _TripletMap(WeightedMetric):
    """Options shared by global and video-wise mAP; units are videos."""

    takes = ("triplet scores",)
    for_preparing = ("triplets",)

    kind: str
    estimand: str

    def __init__(
        self,
        *,
        component: str = "ivt",
        null: Literal["keep", "drop"] = "keep",
        absent: Absent = "skip",
        compat: str | None = None,
        triplets: TripletMap = CHOLECT50_TRIPLETS,
    ) -> None:
        for kind, name, known in (
            ("component of triplets", component, COMPONENTS),
            ("rule for null triplets", null, ("keep", "drop")),
            ("rule for absent classes", absent, ("skip", "zero")),
            ("scorer", compat, (*COMPATS, None)),
        ):
            if name not in known:
                raise UnknownName(kind, name, [str(one) for one in known if one is not None])
        if compat is not None and absent not in ("skip", COMPATS[compat]):
            raise Misuse("compat decides what an absent class counts as; leave absent out")
        self.component, self.null, self.compat, self.triplets = component, null, compat, triplets
        self.absent = absent if compat is None else COMPATS[compat]

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, component, and rules for null triplets and absent classes."""
        tail = "" if self.compat is None else "_" + self.compat.replace(" ", "_")
        conventions = {
            "component": f"{self.component} of {self.triplets.name}, largest of its triplets",
            "null triplets": "dropped" if self._dropped else "kept",
            "absent class": "left out" if self.absent == "skip" else "counts 0",
            "interpolation": "none (step sum)",
            "equal scores": "one step",
            "reproduces": self.compat or "nothing flawed",
        }
        name = f"triplet_map_{self.component}{self.kind}{tail}"
        commutes = bool(self.kind) and self.absent == "zero"  # every video has a value of every class
        return self.declared(name, estimand=self.estimand, conventions=conventions, pooled=not commutes)

    @property
    def _dropped(self) -> bool:
        """The scorer that is reproduced drops null triplets from whole triplets only."""
        return self.null == "drop" and (self.compat is None or self.component == "ivt")

    @property
    def corrected(self) -> _TripletMap | None:
        """The metric that a reproduced scorer should have been; None where nothing is reproduced."""
        if self.compat is None:
            return None
        return type(self)(component=self.component, null=self.null, triplets=self.triplets)

    def _tables(self, cases: TripletCases) -> tuple[npt.NDArray[np.bool_], Floats, Sequence[Hashable]]:
        reference, scores, video = cases.checked(len(self.triplets.triplets))
        kept = not self._dropped
        ours, theirs = (self.triplets.component(table, self.component, null=kept) for table in (reference, scores))
        return ours, theirs, video


class GlobalTripletMap(_TripletMap):
    """The mean over classes of the AP of all frames in one ranking."""

    kind = ""
    store = RankingStore
    estimand = "mean over classes, frames of all videos in one ranking"

    def prepare(self, cases: TripletCases) -> UnitStatistics:
        """The ranking of every class, found once."""
        reference, scores, video = self._tables(cases)
        return self._average().prepare(ScoreCases(reference, scores, unit=video))

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mAP under each weighting."""
        if not len(statistics):
            return np.full(len(weights), np.nan)
        return self._average().values(statistics, weights)

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The AP of every class, `[weighting, class]`; NaN for a class without positives."""
        return self._average().class_values(statistics, weights)

    def class_terms(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The same with 0 for a class without positives, where these count."""
        return self._average().class_terms(statistics, weights)

    def class_support(self, statistics: UnitStatistics) -> Floats:
        """`[unit, class]`: frames with the class."""
        return self._average().class_support(statistics)

    def _average(self) -> MeanAveragePrecision:
        return MeanAveragePrecision(absent="zero" if self.absent == "zero" else "skip")


class VideoTripletMap(_TripletMap):
    """The mean over classes of the mean over videos of the AP within each video."""

    kind = "_videos"
    estimand = "mean over classes of the mean over videos"

    def prepare(self, cases: TripletCases) -> UnitStatistics:
        """Per video and class the AP, and whether it counts."""
        reference, scores, video = self._tables(cases)
        units = units_of(video, len(reference))
        rows = [self._one(reference[units.codes == u], scores[units.codes == u]) for u in range(len(units.names))]
        values = np.array(rows).reshape(len(rows), reference.shape[1])
        counted = np.ones(values.shape) if self.absent == "zero" else ~np.isnan(values)
        return np.stack([np.nan_to_num(values), counted], axis=-1)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mAP under each weighting."""
        return mean_known(self.class_values(statistics, weights))

    def class_values(self, statistics: UnitStatistics, weights: npt.ArrayLike) -> Floats:
        """The mean AP over videos of every class, `[weighting, class]`; NaN for a class that no video has."""
        totals = weighted_sums(statistics, weight_rows(weights, len(statistics)))
        return ratio(totals[..., 0], totals[..., 1])

    def class_support(self, statistics: UnitStatistics) -> Floats:
        """`[video, class]`: 1 where the video counts for the class."""
        return np.asarray(statistics[..., 1], dtype=np.float64)

    def _one(self, reference: npt.NDArray[np.bool_], scores: Floats) -> Floats:
        metric = MeanAveragePrecision()
        statistics = metric.prepare(ScoreCases(reference, scores, unit=[0] * len(reference)))
        return np.asarray(metric.class_values(statistics, np.ones((1, 1)))[0])
