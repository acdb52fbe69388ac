"""Labels of frames a while too late, or under other names: told from sequences of every video.

The statistic of a lag is the agreement of the frames that both readings have. A model may truly be late, since it sees
no future: a mean delay is a note, and only one that is the same in five videos or more is doubted to be the model's. Of
fewer videos every stretch of one label is a piece of evidence, and what is seen stays a note.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surgvalid.evaluation.alignment.boxes import too_few
from surgvalid.evaluation.alignment.evidence import (
    FEWEST_BLOCKS,
    FEWEST_VIDEOS,
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


class LabelSequence(NamedTuple):
    """The labels of one video at a steady rate."""

    reference: Indices
    prediction: Indices
    rate: float
    """Labels per second."""


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
    if not speaking:
        return too_few(units)
    lag = max(speaking, key=lambda one: speaking[one].mean)
    change = np.nan_to_num(both[:, 1] - both[:, 0], nan=-1.0)
    best = np.where(change.max(axis=0) > 0, np.array(lags)[change.argmax(axis=0)], 0.0)
    steady = not few and np.subtract(*np.percentile(best, [75, 25])) <= abs(lag) / 2 and abs(lag) >= LEAST_S
    return _finding(lag, speaking[lag], units.what, steady=bool(steady))


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
