"""Labels of frames a while too late, or under other names: told from sequences of every video.

The statistic of a lag is the agreement of the frames that both readings have. A model may truly be late, since it sees
no future: a mean delay is a note, and only one that is the same in five videos or more is doubted to be the model's. Of
fewer videos every stretch of one label is a piece of evidence, and what is seen stays a note. A single video of five or
more is named where it is far later or earlier than the others, and at its changes of label alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surgvalid.evaluation.alignment.boxes import too_few
from surgvalid.evaluation.alignment.evidence import (
    FEWEST_BLOCKS,
    FEWEST_VIDEOS,
    NO_GAIN,
    EvidenceUnits,
    Gain,
    gain_of_means,
    unit_means,
)
from surgvalid.evaluation.sanity.sanity_finding import SanityFinding
from surgvalid.metrics.metric import Floats, Indices
from surgvalid.schema.findings import Severity

LONGEST_S, LEAST_S = 60, 3
GAIN, T_LEAST = 0.004, 4
ALONE_S, APART, FEWEST_CHANGES = 15.0, 2.5, 4
"""A video lags alone by so many seconds, so many times the spread of the lags of all, seen at so many changes."""
ALONE_GAIN, ALONE_T = 0.15, 3
"""Of every change so large a share of the lag must be mended by undoing it, on average, and so surely."""


class LabelSequence(NamedTuple):
    """The labels of one video at a steady rate."""

    reference: Indices
    prediction: Indices
    rate: float
    """Labels per second."""
    video: str = ""


def sequence_lag(videos: Sequence[LabelSequence]) -> SanityFinding | None:
    """Whether labels agree better a while earlier or later."""
    slowest = min((one.rate for one in videos), default=0.0)
    if slowest <= 0 or not np.isfinite(slowest):
        return None
    step = max(1.0, 1 / slowest)
    lags = [way * step * number for number in range(1, int(LONGEST_S // step) + 1) for way in (1, -1)]
    few = len(videos) < FEWEST_VIDEOS
    codes = [np.cumsum(np.append(0, np.diff(one.reference) != 0) * few) for one in videos]
    sides = [[_agreements(*pair, lag) for pair in zip(videos, codes, strict=True)] for lag in lags]
    both = np.array([np.concatenate(one, axis=1) for one in sides])  # [lag, side, unit]
    units = EvidenceUnits(np.zeros(0, np.intp), both.shape[2])
    if few:
        units = units._replace(what="stretches of one label", fewest=FEWEST_BLOCKS)
    gains = {lag: gain_of_means(pair[0], pair[1], units.fewest) for lag, pair in zip(lags, both, strict=True)}
    speaking = {lag: gain for lag, gain in gains.items() if gain.speaks(GAIN, T_LEAST)}
    change = np.nan_to_num(both[:, 1] - both[:, 0], nan=-1.0)
    best = np.where(change.max(axis=0) > 0, np.array(lags)[change.argmax(axis=0)], 0.0)
    spread = float(np.subtract(*np.percentile(best, [75, 25])))
    lag = max(speaking, key=lambda one: speaking[one].mean, default=0.0)
    steady = not few and spread <= abs(lag) / 2 and abs(lag) >= LEAST_S
    single = None if few or steady else _alone(videos, best, spread)
    if single or not speaking:
        return single or too_few(units)
    return _finding(lag, speaking[lag], units.what, steady=steady)


def _alone(videos: Sequence[LabelSequence], best: Floats, spread: float) -> SanityFinding | None:
    """The video that is far later or earlier than the others, by as much at nearly all of its changes of label."""
    apart = np.abs(best - np.median(best))
    for at in np.argsort(-apart):
        one, lag = videos[at], float(best[at])
        if min(apart[at], abs(lag)) < max(ALONE_S, APART * spread):
            return None
        gain = _at_changes(one, lag)
        if gain.speaks(ALONE_GAIN * abs(lag), ALONE_T):
            evidence = (
                f"The predictions of video {one.video!r} alone are {abs(lag):g} s {'late' if lag > 0 else 'early'}: at "
                f"{gain.better} of {gain.units} changes of label, where this mends {gain.mean:.0f} s on average; the "
                f"other videos fit best at {np.median(np.delete(best, at)):+g} s."
            )
            hint = f"Another clock, or another cut of the video? It is undone with --format lag_s={one.video}:{-lag:g}."
            return SanityFinding("predictions-shifted", Severity.WARNING, evidence, hint)
    return None


def _at_changes(one: LabelSequence, lag_s: float) -> Gain:
    """How many seconds around every change of the reference's label are right, as read and without the lag."""
    changes = np.flatnonzero(np.diff(one.reference)) + 1
    shift, count = round(lag_s * one.rate), len(one.reference)
    frames = np.arange(max(-shift, 0), min(count, count - shift))
    near = np.searchsorted((changes[1:] + changes[:-1]) / 2, frames)
    if changes.size < FEWEST_CHANGES:
        return NO_GAIN
    frames, near = (side[np.abs(frames - changes[near]) <= LONGEST_S * one.rate] for side in (frames, near))
    right = [one.prediction[frames + step] == one.reference[frames] for step in (0, shift)]
    sums = [np.bincount(near, side, minlength=changes.size) / one.rate for side in right]
    return gain_of_means(sums[0], sums[1], FEWEST_CHANGES)


def _agreements(one: LabelSequence, code: Indices, lag_s: float) -> tuple[Floats, Floats]:
    """The agreement of the frames of every unit that have a prediction at either moment: as read, and later."""
    shift, count = round(lag_s * one.rate), int(code.max(initial=0)) + 1
    start, length = max(-shift, 0), max(len(one.reference) - abs(shift), 0)
    reference, code = one.reference[start : start + length], code[start : start + length]
    sides = one.prediction[start : start + length], one.prediction[start + shift : start + shift + length]
    first, second = (unit_means(np.asarray(side == reference, np.float64), code, count) for side in sides)
    return first, second


def _finding(lag: float, gain: Gain, what: str, *, steady: bool) -> SanityFinding:
    how = f"{abs(lag):g} s {'late' if lag > 0 else 'early'}"
    evidence = (
        f"The predictions are on average {how} in {gain.better} of {gain.units} {what}: agreement {gain.as_read:.3f}, "
        f"and {gain.other:.3f} without the delay."
    )
    if not steady:
        return SanityFinding("predictions-shifted", Severity.NOTE, evidence, "A model that sees no future may be late.")
    hint = f"It is the same in all videos: a shifted clock? It is undone with --format lag_s={-lag:g}."
    return SanityFinding("predictions-shifted", Severity.WARNING, evidence, hint)
