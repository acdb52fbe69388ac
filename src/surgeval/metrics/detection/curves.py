"""Precision over recall of one class at one threshold, under any weights.

Definition (COCO evaluation): walk the detections by falling score; after each, precision is the share of hits
among those seen that count, recall the share of references found. The interpolated precision at a recall
level is the largest precision at that recall or beyond, 0 where it is never reached; average precision is its
mean at 101 levels, 0 to 1. Recall compares with the level exactly as floats do, because the published numbers
come from that comparison.

Why weights are exact. Precision can only rise at a hit, and copies of a hit only raise it, copies of a false
alarm only lower it; so the curve of a resample is known from the weight seen and hit at the steps that end in a
hit, and of hits in a row only the last matters.

Equal scores: as `listed` each detection comes by itself, in order of image and place in the list, which is what
the COCO evaluation does; `pooled` takes equal scores as one step, which needs no order.
"""

from __future__ import annotations

import importlib.util
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.errors import ExtraNeeded
from surgeval.metrics.detection.matching import Engine, Matches
from surgeval.metrics.metric import Floats, Indices, blocks, incidence, ratio

Ties = Literal["listed", "pooled"]

RECALL_LEVELS: Floats = np.linspace(0.0, 1.0, 101)
SLACK = 1e-12
"""By how much a recall may miss a level when weights are fractions, whose sums round."""


class Curve(NamedTuple):
    """The detections that matter, in order, cut into steps that hold a hit."""

    unit: Indices
    hit: npt.NDArray[np.bool_]
    ends: Indices
    """Where each step ends."""


class Areas(NamedTuple):
    """One number per weighting; NaN where the class has no reference."""

    precision: Floats
    recall: Floats


def curve_of(matches: Matches, units: Indices, chosen: slice, row: tuple[int, int], *, ties: Ties = "listed") -> Curve:
    """The curve of some detections (of one class, in order) at one (size range, threshold).

    Args:
        matches: From `match`.
        units: The unit of each image.
        chosen: Where the detections of the class lie in `matches`.
        row: Size range and threshold, as indices.
        ties: How equal scores are taken.
    """
    counts = ~matches.ignored[row][chosen]
    hit = matches.matched[row][chosen][counts]
    places = np.flatnonzero(hit)
    if ties == "listed" or not len(places):
        ends = places[np.diff(places, append=len(hit) + 1) > 1] + 1
    else:
        score = matches.score[chosen][counts]
        ends = np.unique(np.searchsorted(-score, -score[places], side="right"))
    stop = ends[-1] if len(ends) else 0
    unit = units[matches.image[chosen]][counts][:stop]
    return Curve(np.ascontiguousarray(unit), np.ascontiguousarray(hit[:stop]), ends)


def areas(curve: Curve, weights: Floats, references: Floats, slack: Floats, *, engine: Engine = "auto") -> Areas:
    """Average precision and recall of a curve under each weighting.

    Args:
        curve: From `curve_of`.
        weights: `[weighting, unit]`.
        references: The weight of the references under each weighting.
        slack: By how much recall may miss a level, per weighting: 0 where sums of the weights are exact.
        engine: `numba`, `numpy` or whichever is there.
    """
    if engine == "numpy" or (engine == "auto" and importlib.util.find_spec("numba") is None):
        both = _areas_numpy(curve, weights, references, slack)
    else:
        if importlib.util.find_spec("numba") is None:
            raise ExtraNeeded("the compiled accumulation", "numba", "fast")
        from surgeval.metrics.detection.compiled import areas_numba

        both = areas_numba(curve, weights, references, slack, RECALL_LEVELS)
    return Areas(*np.where(references > 0, both, np.nan))


def _areas_numpy(curve: Curve, weights: Floats, references: Floats, slack: Floats) -> Floats:
    steps, units = len(curve.ends), weights.shape[1]
    both = np.zeros((2, len(weights)))
    if not steps:
        return both
    step = np.searchsorted(curve.ends, np.arange(len(curve.unit)), side="right")
    seen = incidence(step, curve.unit, (steps, units))
    hits = incidence(step[curve.hit], curve.unit[curve.hit], (steps, units))
    for block in blocks(weights, 4 * steps):
        by_unit = np.ascontiguousarray(weights[block].T)
        right = np.cumsum(np.asarray(hits @ by_unit), axis=0).T
        precision = ratio(right, np.cumsum(np.asarray(seen @ by_unit), axis=0).T, empty=0.0)
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        recall = ratio(right, references[block, None], empty=0.0)
        best = np.concatenate([best, np.zeros((len(best), 1))], axis=1)
        for place, (line, reached) in enumerate(zip(best, recall + slack[block, None], strict=True)):
            both[0, block.start + place] = line[np.searchsorted(reached, RECALL_LEVELS, side="left")].mean()
        both[1, block] = recall[:, -1]
    return both
