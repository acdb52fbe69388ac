"""Segmentation of several instances: matching, MI_DSC, MI_NSD, and pixel counts per instance.

Definition (ROBUST-MIS, Ross et al., Medical Image Analysis 70, 2021): the DSC of every reference with every
predicted instance is computed, instances are matched one to one so that the sum of DSC is largest, and
    MI_DSC = sum of the DSC of matched pairs / max(number of reference, of predicted instances)
so that every instance left over on the larger side counts 0. MI_NSD scores the same pairs by NSD.

The one decision: background is no instance. The script that circulates matches it like one and then drops
the first row, which shifts the pairs when background is not matched to background. Two instances that share
no pixel are left over on both sides, never a pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from surgvalid.metrics.metric import CaseMean, Floats, ratio
from surgvalid.metrics.segmentation.masks import EmptyRule, Labels, MaskCases, empty_rule
from surgvalid.metrics.segmentation.overlap import distinct_labels
from surgvalid.metrics.segmentation.surfaces import Nsd, Outline, nsd
from surgvalid.schema.metric_facts import MetricFacts

SMALL_LABELS = 65_536
"""Below this, labels are looked up in a table instead of being sorted."""


class InstanceCounts(NamedTuple):
    """Pixels of one instance, for failure analysis: recall is TP of reference, precision TP of predicted."""

    reference_id: int | None
    """None for an invented instance."""
    prediction_id: int | None
    """None for a missed instance."""
    true_positive: int
    predicted: int
    reference: int

    @property
    def dsc(self) -> float:
        """The Dice similarity of the pair; 0 for an instance left over."""
        return 2 * self.true_positive / (self.predicted + self.reference)


def instance_counts(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> list[InstanceCounts]:
    """Every instance of an image with its matched partner: pairs first, then missed, then invented ones.

    Args:
        reference: Label map, 0 background, every other number one instance.
        prediction: Label map of the same shape; its numbers need not agree with those of the reference.

    Example:
        >>> instance_counts([[1, 1, 0, 2]], [[7, 0, 0, 0]])
        ... # doctest: +NORMALIZE_WHITESPACE
        [InstanceCounts(reference_id=1, prediction_id=7, true_positive=1, predicted=1, reference=2),
         InstanceCounts(reference_id=2, prediction_id=None, true_positive=0, predicted=0, reference=1)]
    """
    ((left, right),) = MaskCases([reference], [prediction]).pairs()
    reference_ids, prediction_ids, joint = joint_counts(left, right)
    shared, sizes, predicted = joint[1:, 1:], joint[1:].sum(axis=1), joint[:, 1:].sum(axis=0)
    dsc = ratio(2 * shared, sizes[:, None] + predicted[None, :])
    pairs = [(r, p) for r, p in zip(*linear_sum_assignment(dsc, maximize=True), strict=True) if shared[r, p] > 0]
    listed = [
        InstanceCounts(reference_ids[r], prediction_ids[p], int(shared[r, p]), int(predicted[p]), int(sizes[r]))
        for r, p in pairs
    ]
    missed = sorted(set(range(len(reference_ids))) - {r for r, _ in pairs})
    invented = sorted(set(range(len(prediction_ids))) - {p for _, p in pairs})
    listed += [InstanceCounts(reference_ids[r], None, 0, 0, int(sizes[r])) for r in missed]
    return listed + [InstanceCounts(None, prediction_ids[p], 0, int(predicted[p]), 0) for p in invented]


def joint_counts(reference: Labels, prediction: Labels) -> tuple[list[int], list[int], npt.NDArray[np.int64]]:
    """The instances of both maps, and the pixels of each pair with background in row and column 0."""
    foreground = (reference != 0) | (prediction != 0)
    left, right = reference[foreground].astype(np.int64), prediction[foreground].astype(np.int64)
    (left_ids, left_codes), (right_ids, right_codes) = _background_first(left), _background_first(right)
    flat = left_codes * right_ids.size + right_codes
    joint = np.bincount(flat, minlength=left_ids.size * right_ids.size).reshape(left_ids.size, right_ids.size)
    return left_ids[1:].tolist(), right_ids[1:].tolist(), joint


def _background_first(labels: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """The distinct labels with 0 in front, whether it occurs or not, and the place of each pixel's label in them."""
    ids = np.array([0, *(label for label in distinct_labels(labels) if label != 0)], dtype=np.int64)
    if ids.min() >= 0 and ids[-1] < SMALL_LABELS:
        place = np.zeros(int(ids[-1]) + 1, dtype=np.intp)
        place[ids] = np.arange(ids.size)
        return ids, place[labels]
    order = np.argsort(ids)
    return ids, order[np.searchsorted(ids, labels, sorter=order)]


def mi_dsc(reference: npt.ArrayLike, prediction: npt.ArrayLike, *, empty: EmptyRule | str = "robust-mis") -> float:
    """The multi-instance DSC of one image; NaN where it is not scored.

    Example:
        >>> mi_dsc([[1, 1, 0, 2]], [[7, 7, 0, 0]])
        0.5
    """
    listed = instance_counts(reference, prediction)
    return _mean(listed, [item.dsc for item in listed], empty)


def mi_nsd(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    tolerance_px: float,
    outline: Outline | str = Outline.BORDER,
    empty: EmptyRule | str = "robust-mis",
) -> float:
    """The multi-instance NSD of one image: instances matched by DSC, each pair scored by its NSD."""
    left, right = np.asarray(reference), np.asarray(prediction)
    listed = instance_counts(left, right)
    scores = [
        nsd(left == item.reference_id, right == item.prediction_id, tolerance_px=tolerance_px, outline=outline)
        if item.true_positive
        else 0.0
        for item in listed
    ]
    return _mean(listed, scores, empty)


def _mean(listed: list[InstanceCounts], scores: list[float], empty: EmptyRule | str) -> float:
    references = sum(item.reference_id is not None for item in listed)
    predictions = sum(item.prediction_id is not None for item in listed)
    if references and predictions:
        return math.fsum(scores) / max(references, predictions)
    return float(empty_rule(empty).apply(0.0, references == 0, predictions == 0))


_MATCHING = {"matching": "one to one, largest sum of DSC", "unmatched": "zero", "background": "no instance"}


class MultiInstanceDsc(CaseMean):
    """The mean over images of MI_DSC."""

    takes = ("masks",)

    def __init__(self, *, empty: EmptyRule | str = "robust-mis") -> None:
        self.empty = empty_rule(empty)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, matching and the empty-mask rule."""
        return self.declared("mi_dsc", estimand="mean over images", conventions={**_MATCHING, **self.empty.conventions})

    def scores(self, cases: MaskCases) -> Floats:
        """The MI_DSC of every image."""
        return np.array([mi_dsc(*pair, empty=self.empty) for pair in cases.pairs()], dtype=np.float64)


class MultiInstanceNsd(Nsd):
    """The mean over images of MI_NSD."""

    score = staticmethod(mi_nsd)

    def __init__(
        self,
        *,
        tolerance_px: float,
        outline: Outline | str = Outline.BORDER,
        empty: EmptyRule | str = "robust-mis",
    ) -> None:
        super().__init__(tolerance_px=tolerance_px, outline=outline, empty=empty)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, matching, tolerance and the empty-mask rule."""
        surface = {"tolerance": f"{self.tolerance_px:g} px, inclusive", "outline": self.outline.value}
        conventions = {**_MATCHING, **surface, **self.empty.conventions}
        return self.declared("mi_nsd", estimand="mean over images", conventions=conventions)
