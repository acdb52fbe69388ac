"""Distances between the outlines of two masks: NSD in both definitions, and the Hausdorff percentile.

Definitions, with S the outline elements of the reference, T those of the prediction, l their lengths:
    NSD(tau) = (l of S within tau of T + l of T within tau of S) / (l of S + l of T)
    HD95     = max of the 95th percentiles of the distances S -> T and T -> S
Two outlines go by the name:
    border   pixels of the mask with one of their four neighbours outside it; all lengths are 1
             (MONAI's default)
    contour  corners between pixels where the mask changes; lengths from marching squares, a straight
             step 1, a cut corner 0.5 * sqrt(2) (Nikolov et al., arXiv:1809.04430)
They differ by up to 0.15 on one image, so the variant is part of the number. Pixels beyond the image count
as background: an object cut off by the frame has an outline there.

The one decision: whether an element lies within tau needs no distance. The disk of radius tau is stamped
around every element of the other outline, which is exact on a grid and several times cheaper.
"""

from __future__ import annotations

import math
from enum import Enum
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial import KDTree

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import CaseMean, Floats
from surgvalid.metrics.segmentation.masks import EmptyRule, Mask, MaskCases, crop, empty_rule, mask_pair
from surgvalid.schema.metric_facts import MetricFacts

Flat = npt.NDArray[np.intp]

MOST_STAMPS = 4_000_000
"""Stamped pixels above which exact distances are cheaper than stamping."""


class Outline(Enum):
    """What the outline of a mask is made of."""

    BORDER = "border"
    CONTOUR = "contour"


class _Elements(NamedTuple):
    """The outline of one mask on a canvas that has room for any stamp."""

    flat: Flat
    lengths: Floats
    canvas: tuple[int, int]

    def points(self) -> npt.NDArray[np.intp]:
        return np.stack(np.divmod(self.flat, self.canvas[1]), axis=1)


def nsd(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    tolerance_px: float,
    outline: Outline | str = Outline.BORDER,
    empty: EmptyRule | str = "surface-distance",
) -> float:
    """The normalised surface distance of one pair of masks, in [0, 1]; NaN where it is not scored.

    Args:
        reference: Mask; whatever is not zero is foreground.
        prediction: Mask of the same shape.
        tolerance_px: Distance up to which an outline element counts as agreeing, inclusive.
        outline: Border pixels or contour elements.
        empty: What empty masks count as.

    Example:
        >>> square = np.zeros((8, 8), bool); square[2:6, 2:6] = True
        >>> nsd(square, np.roll(square, 1, axis=0), tolerance_px=1)
        1.0
        >>> round(nsd(square, np.roll(square, 1, axis=0), tolerance_px=0), 3)
        0.5
    """
    if not (math.isfinite(tolerance_px) and tolerance_px >= 0):
        raise Misuse(f"tolerance_px must be a finite number of pixels, zero or more, got {tolerance_px!r}")
    left, right = crop(*mask_pair(reference, prediction))
    rule, none = empty_rule(empty), [not left.any(), not right.any()]
    if any(none):
        return float(rule.apply(math.nan, *none))
    margin = math.floor(tolerance_px) + 1
    source, target = (_elements(mask, outline_of(outline), margin) for mask in (left, right))
    agreeing = _length_near(source, target, tolerance_px) + _length_near(target, source, tolerance_px)
    return float(agreeing / (source.lengths.sum() + target.lengths.sum()))


def hausdorff_px(
    reference: npt.ArrayLike,
    prediction: npt.ArrayLike,
    *,
    percentile: float = 95.0,
    outline: Outline | str = Outline.BORDER,
) -> float:
    """The larger of both directed percentiles of the distances between outlines, in pixels.

    Border pixels use linear interpolation between distances (as MONAI does); contour elements take the first
    distance at which the share of the length is reached (as surface-distance does). 0 where both masks are empty;
    the diagonal of the image, which no distance can exceed, where one of them is.

    Example:
        >>> square = np.zeros((8, 8), bool); square[2:6, 2:6] = True
        >>> hausdorff_px(square, np.roll(square, 2, axis=0))
        2.0
    """
    if not 0 < percentile <= 100:
        raise Misuse(f"percentile must be above 0 and at most 100, got {percentile!r}")
    whole, other = mask_pair(reference, prediction)
    left, right = crop(whole, other)
    if not left.any() and not right.any():
        return 0.0
    if not left.any() or not right.any():
        return math.hypot(*whole.shape)
    kind = outline_of(outline)
    source, target = (_elements(mask, kind, 1) for mask in (left, right))
    directed = _border_percentile if kind is Outline.BORDER else _contour_percentile
    return max(directed(source, target, percentile), directed(target, source, percentile))


def assd_px(reference: npt.ArrayLike, prediction: npt.ArrayLike) -> float:
    """The mean distance between both outlines together (average symmetric surface distance), in pixels.

    0 where both masks are empty; the diagonal of the image, which no distance can exceed, where one of them is.

    Example:
        >>> square = np.zeros((8, 8), bool); square[2:6, 2:6] = True
        >>> round(assd_px(square, np.roll(square, 1, axis=0)), 3)
        0.5
    """
    whole, other = mask_pair(reference, prediction)
    left, right = crop(whole, other)
    if not left.any() or not right.any():
        return math.hypot(*whole.shape) if left.any() or right.any() else 0.0
    source, target = (_elements(mask, Outline.BORDER, 1) for mask in (left, right))
    return float(np.concatenate([_distances(source, target), _distances(target, source)]).mean())


def outline_of(outline: Outline | str) -> Outline:
    """An outline given as itself or by name."""
    if isinstance(outline, Outline):
        return outline
    names = {kind.value: kind for kind in Outline}
    if outline not in names:
        raise UnknownName("outline", outline, names)
    return names[outline]


def _distances(source: _Elements, target: _Elements) -> Floats:
    """The distance from each element of one outline to the nearest of the other, exact."""
    distances, _ = KDTree(target.points()).query(source.points())
    return np.asarray(distances, dtype=np.float64)


def _border_percentile(source: _Elements, target: _Elements, percentile: float) -> float:
    return float(np.percentile(_distances(source, target), percentile))


def _contour_percentile(source: _Elements, target: _Elements, percentile: float) -> float:
    distances = _distances(source, target)
    order = np.argsort(distances, kind="stable")
    reached = np.cumsum(source.lengths[order]) / source.lengths.sum()
    at = min(int(np.searchsorted(reached, percentile / 100)), distances.size - 1)
    return float(distances[order[at]])


def _elements(mask: Mask, outline: Outline, margin: int) -> _Elements:
    return _border(mask, margin) if outline is Outline.BORDER else _contour(mask, margin)


def _border(mask: Mask, margin: int) -> _Elements:
    """Pixels of the mask with one of four neighbours outside it."""
    padded = np.pad(mask, margin)
    inner, middle = slice(margin, -margin), slice(margin - 1, -margin - 1)
    below = slice(margin + 1, None if margin == 1 else 1 - margin)
    inside = padded[middle, inner] & padded[below, inner]
    inside &= padded[inner, middle]
    inside &= padded[inner, below]
    padded[inner, inner] &= ~inside
    flat = np.flatnonzero(padded)
    return _Elements(flat, np.ones(flat.size), padded.shape)


_STEP, _CUT = 1.0, math.sqrt(0.5)
_LENGTHS = np.array(
    [0, _CUT, _CUT, _STEP, _CUT, _STEP, 2 * _CUT, _CUT, _CUT, 2 * _CUT, _STEP, _CUT, _STEP, _CUT, _CUT, 0]
)
"""Length of the outline around a corner, by which of its four pixels are inside (bits: 8 4 / 2 1)."""


def _contour(mask: Mask, margin: int) -> _Elements:
    """Corners between pixels around which the mask is neither all inside nor all outside."""
    padded = np.pad(mask, 1).view(np.uint8)
    codes = padded[:-1, :-1] << 3
    codes |= padded[:-1, 1:] << 2
    codes |= padded[1:, :-1] << 1
    codes |= padded[1:, 1:]
    codes[codes == 15] = 0
    roomy = np.pad(codes, margin).ravel()
    flat = np.flatnonzero(roomy)
    return _Elements(flat, _LENGTHS[roomy[flat]], (codes.shape[0] + 2 * margin, codes.shape[1] + 2 * margin))


def _length_near(source: _Elements, target: _Elements, tolerance_px: float) -> float:
    """The length of `source` that lies within the tolerance of `target`."""
    rows, columns = _disk(tolerance_px)
    if rows.size * target.flat.size > MOST_STAMPS:
        return float(source.lengths[_distances(source, target) <= tolerance_px].sum())
    reached = np.zeros(target.canvas[0] * target.canvas[1], dtype=bool)
    offsets = rows * target.canvas[1] + columns
    reached[(target.flat[:, None] + offsets).ravel()] = True
    return float(source.lengths[reached[source.flat]].sum())


@lru_cache(maxsize=32)
def _disk(radius_px: float) -> tuple[Flat, Flat]:
    """Row and column steps to all grid points within the radius."""
    reach = math.floor(radius_px)
    rows, columns = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    near = rows**2 + columns**2 <= radius_px**2
    return rows[near], columns[near]


class Nsd(CaseMean):
    """The mean over images of the normalised surface distance; `outline` says which of the two."""

    takes = ("masks",)
    score = staticmethod(nsd)

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
        """That of every image."""
        score = partial(self.score, tolerance_px=self.tolerance_px, outline=self.outline, empty=self.empty)
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
