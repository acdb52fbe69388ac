"""Labels of frames a while too late, or under other names: told from sequences of every video.

The statistic of a lag is the agreement of the frames that both readings have. A model may truly be late, since it sees
no future: a mean delay is a note, and only one that is the same in all videos is doubted to be the model's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surgvalid.evaluation.alignment.evidence import Gain, gain_of_means
from surgvalid.evaluation.sanity.sanity_finding import SanityFinding
from surgvalid.metrics.metric import Indices
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
    both = np.array([[_agreements(one, lag) for lag in lags] for one in videos]).reshape(len(videos), len(lags), 2)
    gains = {lag: gain_of_means(both[:, place, 0], both[:, place, 1]) for place, lag in enumerate(lags)}
    speaking = {lag: gain for lag, gain in gains.items() if gain.speaks(GAIN, T_LEAST)}
    if not speaking:
        return None
    lag = max(speaking, key=lambda one: speaking[one].mean)
    change = np.nan_to_num(both[..., 1] - both[..., 0], nan=-1.0)
    best = np.where(change.max(axis=1) > 0, np.array(lags)[change.argmax(axis=1)], 0.0)
    steady = np.subtract(*np.percentile(best, [75, 25])) <= abs(lag) / 2 and abs(lag) >= LEAST_S
    return _finding(lag, speaking[lag], steady=bool(steady))


def _agreements(one: LabelSequence, lag_s: float) -> tuple[float, float]:
    """The agreement of the frames that have a prediction at either moment: as read, and so many seconds later."""
    shift = round(lag_s * one.rate)
    length = len(one.reference) - abs(shift)
    if length <= 0:
        return np.nan, np.nan
    start = max(-shift, 0)
    reference = one.reference[start : start + length]
    sides = one.prediction[start : start + length], one.prediction[start + shift : start + shift + length]
    return float((sides[0] == reference).mean()), float((sides[1] == reference).mean())


def _finding(lag: float, gain: Gain, *, steady: bool) -> SanityFinding:
    how = f"{abs(lag):g} s {'late' if lag > 0 else 'early'}"
    evidence = (
        f"The predictions are on average {how} in {gain.better} of {gain.units} videos: agreement {gain.as_read:.3f}, "
        f"and {gain.other:.3f} without the delay."
    )
    if not steady:
        return SanityFinding("predictions-shifted", Severity.NOTE, evidence, "A model that sees no future may be late.")
    hint = f"It is the same in all videos: a shifted clock? It is undone with --format lag_s={-lag:g}."
    return SanityFinding("predictions-shifted", Severity.WARNING, evidence, hint)
