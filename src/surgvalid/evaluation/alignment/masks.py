"""Label maps a few images too late, or with classes under other numbers: told from small copies of runs of frames.

A copy keeps every so many pixels, so that a few hundred maps cost little; the statistic of a lag is the DSC of the
foreground of every image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surgvalid.evaluation.alignment.boxes import (
    DRAWS,
    FEWEST,
    LAGS,
    best_lag,
    frames_in_order,
    late_alone,
    late_finding,
    left_out,
    natural_keys,
    no_nearer,
    silent_videos,
    strange_videos,
    too_few,
)
from surgvalid.evaluation.alignment.classes import class_checks
from surgvalid.evaluation.alignment.evidence import runs, units_of_frames
from surgvalid.evaluation.sanity.labels import mask_checks
from surgvalid.evaluation.sanity.sanity_finding import Looked
from surgvalid.metrics.metric import Floats, Indices
from surgvalid.schema.findings import Severity

FRAMES = 200
SIDE_PX = 160
"""Copies are about so large."""


def mask_alignment(
    ours: Mapping[str, Any], theirs: Mapping[str, Any], videos: Sequence[str], classes: Sequence[int]
) -> Looked:
    """Every check of label maps that have the same names on both sides.

    Args:
        ours: The references.
        theirs: The predictions.
        videos: Of every name in order.
        classes: Their numbers; none where labels are of objects.
    """
    names = sorted(ours)
    video, place, listed = frames_in_order(videos, list(natural_keys(names)))
    chosen = np.flatnonzero(runs(video, place, FRAMES))
    chosen = chosen[np.lexsort((place[chosen], video[chosen]))]
    pairs = [tuple(_small(np.asarray(side[names[at]])) for side in (ours, theirs)) for at in chosen.tolist()]
    kept = [at for at, (one, other) in enumerate(pairs) if one.shape == other.shape]
    pairs, chosen = [pairs[at] for at in kept], chosen[kept]
    looked = dict(mask_checks([(one, other) for one, other in pairs]))
    looked |= dict.fromkeys(("images-exchanged", "predictions-shifted", "labels-renamed", "classes-merged"))
    if looked["masks-elsewhere"] or looked["constant-predictions"] or not pairs:
        return looked
    at = video[chosen], place[chosen]
    looked |= _exchanged(pairs, *at, listed)
    if len(classes) > 1:
        table = np.stack([_table(one, other, sorted(classes)) for one, other in pairs])
        summed = np.zeros((len(listed), *table.shape[1:]))
        np.add.at(summed, at[0], table)
        looked |= class_checks(summed, [str(number) for number in sorted(classes)])
    return looked


def masks_lacking(videos: Sequence[str], images: Sequence[str], counts: Floats, silent: Sequence[str]) -> Looked:
    """Whether whole videos, or images by a rule, have no predicted foreground; `counts` are those of `class_counts`."""
    video, place, names = frames_in_order(videos, list(natural_keys(images)))
    predicted, labelled = masks_held(counts)
    return {
        "videos-without-predictions": silent_videos(video, labelled, predicted, names, silent),
        "images-without-predictions": left_out(video, place, labelled, predicted),
    }


def masks_held(counts: Floats) -> tuple[np.ndarray, np.ndarray]:
    """Which images have any predicted foreground, and which any in the reference."""
    held = counts[..., 1:].sum(axis=1) > 0
    return held[:, 0], held[:, 1]


def _small(labels: np.ndarray) -> np.ndarray:
    step = max(1, max(labels.shape) // SIDE_PX)
    return labels[::step, ::step]


def _exchanged(pairs: Sequence[tuple[np.ndarray, ...]], video: Indices, place: Indices, names: Sequence[str]) -> Looked:
    """Whether predicted foregrounds lie on those of the references some images away, or on any as well as their own."""
    if len({one.shape for one, _ in pairs}) > 1:
        return {}
    sides = [np.stack([pair[side] != 0 for pair in pairs]).reshape(len(pairs), -1) for side in (0, 1)]
    held = sides[0].any(axis=1)
    row = {(v, p): at for at, (v, p) in enumerate(zip(video.tolist(), place.tolist(), strict=True))}
    units = units_of_frames(video, place - _first(video, place))
    as_read = _dsc(sides[0], sides[1])
    some: Looked = {}
    if held.sum() >= FEWEST:
        drawn = np.random.default_rng(0).integers(0, len(pairs), (DRAWS, len(pairs)))
        ours, theirs = (np.mean([_dsc(sides[0], side[other]) for other in drawn], axis=0) for side in sides)
        reached = float(sides[1][held].any(axis=1).mean())
        image = np.where(held, np.arange(len(pairs)), -1)
        videos = len(np.unique(video))
        at = np.where(held, video, -1)
        some = {"masks-elsewhere": strange_videos(as_read, theirs, at, names, "masks-elsewhere", "DSC")}
        strange = no_nearer((theirs, as_read), image, units, videos, reached, float(ours[held].mean()), "DSC")
        if strange:
            return {"images-exchanged": strange._replace(severity=Severity.WARNING)}
    tried = {}
    for lag in LAGS:
        other = np.array([row.get((v, p + lag), -1) for v, p in zip(video.tolist(), place.tolist(), strict=True)])
        kept = held & (other >= 0)
        if kept.any():
            tried[lag] = np.where(kept, _dsc(sides[0], sides[1][other]), 0.0), kept
    lag, gain = best_lag(as_read, tried, units, units.code, 0.02, 4)
    if not lag:
        single = late_alone(as_read, tried, (video, place), names, "image", "DSC")
        return {**some, "predictions-shifted": single or too_few(units)}
    return {**some, "predictions-shifted": late_finding(lag, gain, units, "image", "DSC")}


def _first(video: Indices, place: Indices) -> Indices:
    least = np.full(int(video.max()) + 1, np.iinfo(np.intp).max)
    np.minimum.at(least, video, place)
    return least[video]


def _dsc(first: np.ndarray, second: np.ndarray) -> Floats:
    shared = np.logical_and(first, second).sum(axis=1)
    total = first.sum(axis=1) + second.sum(axis=1)
    return np.asarray(np.divide(2.0 * shared, total, out=np.zeros(len(first)), where=total > 0))


def _table(one: np.ndarray, other: np.ndarray, classes: Sequence[int]) -> Floats:
    numbers = np.array(classes)
    inside = np.isin(one, numbers) & np.isin(other, numbers)
    table = np.zeros((numbers.size, numbers.size))
    np.add.at(table, (np.searchsorted(numbers, one[inside]), np.searchsorted(numbers, other[inside])), 1)
    return table
