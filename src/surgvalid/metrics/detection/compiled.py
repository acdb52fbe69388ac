"""The compiled twins of matching and accumulation: the same results, in plain loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from numba import njit

if TYPE_CHECKING:
    from surgvalid.metrics.detection.matching import Curve, Field
    from surgvalid.metrics.metric import Floats


def fates_numba(field: Field) -> npt.NDArray[np.int8]:
    """What each detection took, `[row, detection]`: 0 nothing, 1 a reference that counts, 2 one that does not."""
    pairs = field.pairs
    heads = np.flatnonzero(np.concatenate(([True], pairs.detection[1:] != pairs.detection[:-1])))
    heads = np.append(heads[: len(pairs.detection)], len(pairs.detection))
    fate = np.zeros((len(field.thresholds), len(field.rank)), dtype=np.int8)
    arrays = (pairs.detection, pairs.reference, pairs.overlap, heads, field.thresholds, field.uncounted, field.crowd)
    _take(*arrays, fate)
    return fate


@njit(cache=True, nogil=True)
def _take(detection, reference, overlap, heads, thresholds, uncounted, crowd, fate):  # type: ignore[no-untyped-def]
    """Fill `fate`; pairs of one detection lie between two heads."""  # pragma: no cover - compiled
    for row in range(len(thresholds)):
        free = np.ones(uncounted.shape[1], dtype=np.bool_)
        for run in range(len(heads) - 1):
            best, spare = thresholds[row], thresholds[row]
            winner, substitute = -1, -1
            for pair in range(heads[run], heads[run + 1]):
                one = reference[pair]
                if uncounted[row, one]:
                    if overlap[pair] >= spare and (free[one] or crowd[one]):
                        spare, substitute = overlap[pair], one
                elif free[one] and overlap[pair] >= best:
                    best, winner = overlap[pair], one
            if winner < 0:
                winner = substitute
            if winner >= 0:
                fate[row, detection[heads[run]]] = 2 if uncounted[row, winner] else 1
                free[winner] = False


def areas_numba(curve: Curve, weights: Floats, references: Floats, slack: Floats, levels: Floats) -> Floats:
    """Interpolated average precision and final recall under each weighting, `[2, weighting]`."""
    by_unit = np.ascontiguousarray(weights.T)
    areas = np.zeros((2, len(weights)))
    _areas(curve.unit, curve.hit, curve.ends, by_unit, references, slack, levels, areas)
    return areas


@njit(cache=True, nogil=True)
def _areas(unit, hit, ends, weights, references, slack, levels, areas):  # type: ignore[no-untyped-def]
    """Fill `areas`, some weightings at a time: their sums lie side by side, and what is kept of each step in the cache.

    Only steps with a hit are kept: precision falls from one to the next, so none between can be the largest.
    """  # pragma: no cover - compiled
    total, width, top = weights.shape[1], 32, len(levels) - 1
    kept, steps, start = np.zeros(len(ends), dtype=np.bool_), 0, 0
    for step in range(len(ends)):
        for at in range(start, ends[step]):
            kept[step] |= hit[at]
        start, steps = ends[step], steps + kept[step]
    if steps == 0:
        return
    for first in range(0, total, width):
        size = min(width, total - first)
        seen, right = np.zeros(size), np.zeros(size)
        precision, hits = np.zeros((steps, size)), np.zeros((steps, size))
        at, step = 0, 0
        for end in range(len(ends)):
            while at < ends[end]:
                line = weights[unit[at], first : first + size]
                for k in range(size):
                    seen[k] += line[k]
                if hit[at]:
                    for k in range(size):
                        right[k] += line[k]
                at += 1
            if not kept[end]:
                continue
            for k in range(size):
                precision[step, k] = right[k] / seen[k] if seen[k] > 0 else 0.0
                hits[step, k] = right[k]
            step += 1
        needed = _needed(references[first : first + size], slack[first : first + size], levels)
        level = np.full(size, top)
        best, area = np.zeros(size), np.zeros(size)
        for step in range(steps - 1, -1, -1):
            for k in range(size):
                while level[k] >= 0 and hits[step, k] < needed[k, level[k]]:
                    area[k] += best[k]
                    level[k] -= 1
                best[k] = max(best[k], precision[step, k])
        for k in range(size):
            if references[first + k] > 0:
                areas[0, first + k] = (area[k] + best[k] * (level[k] + 1)) / (top + 1)
                areas[1, first + k] = hits[steps - 1, k] / references[first + k]


@njit(cache=True, nogil=True)
def _needed(references, slack, levels):  # type: ignore[no-untyped-def]
    """The least weight of hits whose recall, divided as floats are, reaches each level."""  # pragma: no cover
    needed = np.full((len(references), len(levels)), np.inf)
    for k in range(len(references)):
        whole = references[k]
        if whole > 0:
            for level in range(len(levels)):
                least = max((levels[level] - slack[k]) * whole, 0.0)
                while least / whole + slack[k] < levels[level]:
                    least = np.nextafter(least, np.inf)
                while least > 0 and np.nextafter(least, 0.0) / whole + slack[k] >= levels[level]:
                    least = np.nextafter(least, 0.0)
                needed[k, level] = least
    return needed
