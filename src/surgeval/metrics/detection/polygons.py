"""Polygons as masks, pixel by pixel as COCO's own tools draw them.

A polygon is a list `[x0, y0, x1, y1, ...]` in pixels, where pixel (column c, row r) covers [c, c + 1) by [r, r + 1).
Which pixels a slanted edge takes is a convention, and AP at high thresholds depends on it. COCO's is followed: corners
are rounded to fifths of a pixel, every edge is walked in such steps, and where it crosses the centre line of a column
the mask is switched there, rounded down the column. Filling is even-odd within one polygon; the polygons of one object
are joined.

Source: the behaviour of pycocotools 2.0 (`frPyObjects`, `merge`), to which masks are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse
from surgeval.metrics.detection.masks import LARGEST_SIDE_PX, Mask, mask_of_coco

STEPS_PER_PIXEL = 5


def mask_of_polygons(polygons: Sequence[Any], *, height: int, width: int) -> Mask:
    """The mask of one object that is drawn as one or several polygons.

    Args:
        polygons: Lists of `x, y` pairs, each of at least three corners.
        height: Of the image, in pixels.
        width: Of the image, in pixels.

    Raises:
        Misuse: No polygons, or something that is none.

    Example:
        >>> mask_of_polygons([[1, 1, 3, 1, 3, 3, 1, 3]], height=4, width=4).area
        4
    """
    if not polygons:
        raise Misuse("expected at least one polygon, got an empty list")
    edges = [_switches(_corners(polygon), height, width) for polygon in polygons]
    return Mask(height, width, joined_runs(edges))


def mask_of_segmentation(given: Any, *, height: int | None = None, width: int | None = None) -> Mask:
    """The mask of what COCO calls a segmentation: runs, packed or not, or polygons.

    Args:
        given: `{"size": ..., "counts": ...}`, or a list of polygons.
        height: Of the image, which polygons do not say.
        width: Of the image.

    Raises:
        Misuse: Neither of them, or polygons in an image of unknown size.

    Example:
        >>> mask_of_segmentation([[0, 0, 2, 0, 2, 1, 0, 1]], height=2, width=2).edges.tolist()
        [0, 1, 2, 3]
    """
    if not isinstance(given, list | tuple):
        return mask_of_coco(given)
    if not (_is_side(height) and _is_side(width)):
        raise Misuse("polygons need the width and height of the image, which it does not state")
    return mask_of_polygons(given, height=height, width=width)  # type: ignore[arg-type]


def _is_side(side: Any) -> bool:
    return isinstance(side, int) and not isinstance(side, bool) and 0 < side <= LARGEST_SIDE_PX


def joined_runs(edges: Sequence[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """The edges of the runs that lie in any of some masks of one size.

    Example:
        >>> joined_runs([np.array([0, 3]), np.array([2, 5]), np.array([7, 9])]).tolist()
        [0, 5, 7, 9]
    """
    if len(edges) == 1:
        return edges[0]
    starts = np.concatenate([one[0::2] for one in edges])
    ends = np.concatenate([one[1::2] for one in edges])
    places, where = np.unique(np.concatenate([starts, ends]), return_inverse=True)
    change = np.zeros(len(places), dtype=np.int64)
    np.add.at(change, where, np.repeat([1, -1], [len(starts), len(ends)]))
    covered = np.concatenate(([False], np.cumsum(change) > 0))
    return np.asarray(places[np.diff(covered.astype(np.int8)) != 0], dtype=np.int64)


def _corners(polygon: Any) -> npt.NDArray[np.int64]:
    """Corners in fifths of a pixel, `[corner, (x, y)]`."""
    try:
        numbers = np.asarray(polygon, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise Misuse("a polygon is a list of numbers x0, y0, x1, y1, ...") from None
    if numbers.ndim != 1 or numbers.size % 2 or numbers.size < 6:
        raise Misuse(f"a polygon has x and y of at least three corners, got {numbers.size} numbers")
    if not (np.abs(numbers) <= LARGEST_SIDE_PX).all():
        raise Misuse(f"a polygon has corners that are not finite or farther out than {LARGEST_SIDE_PX:,} pixels")
    return np.trunc(STEPS_PER_PIXEL * numbers + 0.5).astype(np.int64).reshape(-1, 2)


def _switches(corners: npt.NDArray[np.int64], height: int, width: int) -> npt.NDArray[np.int64]:
    """Positions, column by column, at which the mask changes between set and not set."""
    closed = np.concatenate([corners, corners[:1]])
    walked = np.concatenate([_walk(start, end) for start, end in pairwise(closed)])
    before, after = walked[:-1], walked[1:]
    crossing = before[:, 0] != after[:, 0]
    before, after = before[crossing], after[crossing]
    column = (np.minimum(before[:, 0], after[:, 0]) + 0.5) / STEPS_PER_PIXEL - 0.5
    row = (np.minimum(before[:, 1], after[:, 1]) + 0.5) / STEPS_PER_PIXEL - 0.5
    centred = (np.floor(column) == column) & (column >= 0) & (column <= width - 1)
    rows = np.ceil(np.clip(row[centred], 0, height)).astype(np.int64)
    places, seen = np.unique(column[centred].astype(np.int64) * height + rows, return_counts=True)
    odd = places[(seen % 2 == 1) & (places < height * width)]
    return np.append(odd, height * width) if odd.size % 2 else odd


def _walk(start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Every step from one corner to the next, one along the longer direction; the other is rounded.

    An edge is stepped along from its smaller end, whichever way round the polygon goes, so that two objects that
    share an edge share its pixels.
    """
    along = 0 if abs(end[0] - start[0]) >= abs(end[1] - start[1]) else 1
    first, last = (end, start) if start[along] > end[along] else (start, end)
    length = int(last[along] - first[along])
    steps = np.arange(length + 1)
    slope = (last[1 - along] - first[1 - along]) / length if length else 0.0
    points = np.empty((length + 1, 2), dtype=np.int64)
    points[:, along] = first[along] + steps
    points[:, 1 - along] = np.trunc(first[1 - along] + slope * steps + 0.5)
    return points if first is start else points[::-1]
