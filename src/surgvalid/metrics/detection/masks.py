"""Masks as runs of pixels, how far two of them overlap, and polygons as masks.

Masks as runs of pixels, column by column, and how far two of them overlap.

A mask is the sorted edges of its runs in column-major order: pixel positions edges[0] to edges[1] - 1 are set,
then edges[2] to edges[3] - 1, and so on. COCO's run-length encoding holds the same runs as counts, plain or
packed into text (six bits per character, five of them data; from the fourth count on, the difference to the
count before the last).

Polygons as masks, pixel by pixel as COCO's own tools draw them.

A polygon is a list `[x0, y0, x1, y1, ...]` in pixels, where pixel (column c, row r) covers [c, c + 1) by [r, r + 1).
Which pixels a slanted edge takes is a convention, and AP at high thresholds depends on it. COCO's is followed: corners
are rounded to fifths of a pixel, every edge is walked in such steps, and where it crosses the centre line of a column
the mask is switched there, rounded down the column. Filling is even-odd within one polygon; the polygons of one object
are joined.

Source: the behaviour of pycocotools 2.0 (`frPyObjects`, `merge`), to which masks are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse

LARGEST_SIDE_PX = 100_000
"""No image is wider or higher."""


@dataclass(frozen=True, slots=True)
class Mask:
    """The set pixels of an image of a given size."""

    height: int
    width: int
    edges: npt.NDArray[np.int64]

    @property
    def area(self) -> int:
        """How many pixels are set."""
        return int((self.edges[1::2] - self.edges[0::2]).sum())


def mask_of_pixels(
    pixels: npt.ArrayLike, *, corner: tuple[int, int] = (0, 0), size: tuple[int, int] | None = None
) -> Mask:
    """The mask of a two-dimensional array whose non-zero entries are set.

    Args:
        pixels: The image, or a part of it.
        corner: Row and column of the image at which the array starts.
        size: Height and width of the image; those of the array when None.

    Example:
        >>> mask_of_pixels([[0, 1], [1, 1]]).edges.tolist()
        [1, 4]
        >>> mask_of_pixels([[1]], corner=(1, 1), size=(2, 3)).edges.tolist()
        [3, 4]
    """
    grid = np.asarray(pixels) != 0
    if grid.ndim != 2:
        raise Misuse(f"a mask has two dimensions, got shape {grid.shape}")
    height, width = grid.shape if size is None else size
    framed = np.zeros((grid.shape[0] + 2, grid.shape[1]), dtype=np.int8)
    framed[1:-1] = grid
    columns, rows = np.nonzero(np.diff(framed, axis=0).T)
    edges = (columns + corner[1]) * height + rows + corner[0]
    return Mask(height, width, _without_empty_runs(edges.astype(np.int64)))


def mask_of_coco(encoded: dict[str, Any]) -> Mask:
    """The mask of a COCO run-length encoding, `{"size": [height, width], "counts": text, bytes or list}`.

    Raises:
        Misuse: Not such an encoding, or runs that do not fill the image.

    Example:
        >>> mask_of_coco({"size": [2, 2], "counts": [1, 3]}).area
        3
    """
    if not isinstance(encoded, dict) or "size" not in encoded or "counts" not in encoded:
        raise Misuse("expected a run-length encoding with 'size' and 'counts', or a list of polygons")
    try:
        height, width = (int(side) for side in encoded["size"])
        counts = _counts(encoded["counts"])
    except (TypeError, ValueError, OverflowError) as error:
        raise Misuse(f"unreadable run-length encoding: {error}") from error
    if not (0 < height <= LARGEST_SIDE_PX and 0 < width <= LARGEST_SIDE_PX):
        raise Misuse(f"an image of {height} by {width} pixels; sides go from 1 to {LARGEST_SIDE_PX:,}")
    if (counts < 0).any() or counts.sum() != height * width:
        raise Misuse(f"runs of {int(counts.sum())} pixels do not fill an image of {height} by {width}")
    edges = np.cumsum(counts)
    edges = edges if len(edges) % 2 == 0 else edges[:-1]
    return Mask(height, width, _without_empty_runs(edges))


def coco_of_mask(mask: Mask) -> dict[str, Any]:
    """The mask as a COCO run-length encoding with packed counts.

    Example:
        >>> coco_of_mask(mask_of_pixels([[0, 1], [1, 1]]))
        {'size': [2, 2], 'counts': '13'}
    """
    ends = np.concatenate(([0], mask.edges, [mask.height * mask.width]))
    counts = np.diff(ends if len(mask.edges) == 0 or mask.edges[-1] != ends[-1] else ends[:-1])
    return {"size": [mask.height, mask.width], "counts": _packed(counts)}


def intersection(first: Mask, second: Mask) -> float:
    """How many pixels are set in both masks.

    Example:
        >>> intersection(mask_of_pixels([[1, 1, 0]]), mask_of_pixels([[0, 1, 1]]))
        1.0
    """
    if not len(first.edges) or not len(second.edges):
        return 0.0
    lengths = np.zeros(len(first.edges))
    lengths[1::2] = first.edges[1::2] - first.edges[0::2]
    upto = np.interp(second.edges, first.edges, np.cumsum(lengths))
    return float((upto[1::2] - upto[0::2]).sum())


def _counts(given: str | bytes | Sequence[int]) -> npt.NDArray[np.int64]:
    if isinstance(given, str):
        given = given.encode("ascii")
    if isinstance(given, bytes):
        return _unpacked(given)
    return np.asarray(given, dtype=np.int64).reshape(-1)


def _unpacked(text: bytes) -> npt.NDArray[np.int64]:
    """Counts from COCO's packed text."""
    letters = np.frombuffer(text, dtype=np.uint8).astype(np.int64) - 48
    if not len(letters):
        return np.zeros(0, dtype=np.int64)
    if (letters < 0).any() or (letters > 63).any() or letters[-1] & 32:
        raise ValueError("packed counts hold a character that cannot be there")
    last = np.flatnonzero(letters & 32 == 0)
    first = np.concatenate(([0], last[:-1] + 1))
    place = np.arange(len(letters)) - np.repeat(first, last - first + 1)
    if place.max() > 11:
        raise ValueError("a packed count is longer than any image")
    values = np.add.reduceat((letters & 31) << (5 * place), first)
    negative = letters[last] & 16 != 0
    values = np.where(negative, values - (np.int64(1) << (5 * (place[last] + 1))), values)
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])
    return np.asarray(values, dtype=np.int64)


def _packed(counts: npt.NDArray[np.int64]) -> str:
    """COCO's packed text of counts."""
    values = counts.copy()
    values[3:] -= counts[1:-2]
    places = np.arange(13)
    digits = (values[:, None] >> (5 * places)) & 31
    rest = values[:, None] >> (5 * (places + 1))
    more = np.where(digits & 16, rest != -1, rest != 0)
    length = more.argmin(axis=1) + 1
    letters = (digits | (more << 5)) + 48
    return bytes(letters[places < length[:, None]].astype(np.uint8)).decode("ascii")


def _without_empty_runs(edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Edges without runs of no pixels, neighbours joined."""
    values, seen = np.unique(edges, return_counts=True)
    return np.asarray(values[seen % 2 == 1], dtype=np.int64)


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
