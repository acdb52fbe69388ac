"""Detection of transitions: is each change of phase found, and how late.

Definition: a transition is a change from one label to another at a time. Reference and predicted transitions of
one kind are matched one to one within +-tolerance so that most are matched and, among those ways, the sum of
|delay| is least (delay = predicted minus reference time, positive is late). From the matches
    precision, recall, F1 of transitions, and mean and quantiles of the delay.

The one decision: `kind="pair"` asks for the same change (from and to), `"entry"` only for the phase that begins,
`"any"` for any change. A flickering prediction has many transitions and is punished by precision, which frame-wise
metrics cannot do.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import Floats, RatioOfSums, UnitStatistics, WeightedMetric
from surgvalid.metrics.phases.videos import PhaseVideo, segments
from surgvalid.metrics.times import QuantileMetric, quantile_statistics
from surgvalid.schema.metric_facts import MetricFacts

Kind = Literal["pair", "entry", "any"]
_KINDS = {"pair": "same phase left and entered", "entry": "same phase entered", "any": "any change"}


class Transition(NamedTuple):
    """A change of label."""

    time_s: float
    left: Hashable
    entered: Hashable


class TransitionMatch(NamedTuple):
    """Transitions of one video, matched."""

    matched: tuple[tuple[Transition, Transition], ...]
    """(reference, prediction) pairs in order of reference time."""
    missed: tuple[Transition, ...]
    invented: tuple[Transition, ...]

    @property
    def delays_s(self) -> Floats:
        """Predicted minus reference time of every match; positive is late."""
        return np.array([theirs.time_s - ours.time_s for ours, theirs in self.matched], dtype=np.float64)


def transitions(labels: npt.ArrayLike, *, fps: float = 1.0) -> list[Transition]:
    """The changes of a label sequence; a change between frames t-1 and t happens at t / fps.

    Example:
        >>> transitions([1, 1, 2], fps=2)
        [Transition(time_s=1.0, left=1, entered=2)]
    """
    runs = segments(labels)
    names = runs.labels.tolist()
    return [Transition(float(start) / fps, names[i], names[i + 1]) for i, start in enumerate(runs.starts[1:])]


def match_transitions(
    reference: npt.ArrayLike, prediction: npt.ArrayLike, *, tolerance_s: float, fps: float = 1.0, kind: Kind = "pair"
) -> TransitionMatch:
    """The transitions of two label sequences, matched within the tolerance (inclusive).

    Example:
        >>> found = match_transitions([1, 1, 1, 2, 2], [1, 1, 1, 1, 2], tolerance_s=2)
        >>> found.delays_s.tolist(), found.missed, found.invented
        ([1.0], (), ())
    """
    ours, theirs = transitions(reference, fps=fps), transitions(prediction, fps=fps)
    if not ours or not theirs:
        return TransitionMatch((), tuple(ours), tuple(theirs))
    delay = np.abs(np.subtract.outer([item.time_s for item in ours], [item.time_s for item in theirs]))
    same = np.array([[_same(left, right, kind) for right in theirs] for left in ours])
    near = same & (delay <= tolerance_s + 1e-9)
    far = (tolerance_s + 1) * (min(len(ours), len(theirs)) + 1)
    pairs = zip(*linear_sum_assignment(np.where(near, delay, far)), strict=True)
    kept = [(int(i), int(j)) for i, j in pairs if near[i, j]]
    missed = [item for i, item in enumerate(ours) if i not in {pair[0] for pair in kept}]
    invented = [item for j, item in enumerate(theirs) if j not in {pair[1] for pair in kept}]
    return TransitionMatch(tuple((ours[i], theirs[j]) for i, j in kept), tuple(missed), tuple(invented))


def _same(left: Transition, right: Transition, kind: Kind) -> bool:
    if kind == "any":
        return True
    return left.entered == right.entered and (kind == "entry" or left.left == right.left)


class _TransitionMetric(WeightedMetric):
    """Options and matching shared by detection and delay."""

    takes = ("label sequences",)

    def __init__(self, *, tolerance_s: float = 30.0, kind: Kind = "pair") -> None:
        if not (math.isfinite(tolerance_s) and tolerance_s >= 0):
            raise Misuse(f"tolerance_s must be a finite number of seconds, zero or more, got {tolerance_s!r}")
        if kind not in _KINDS:
            raise UnknownName("kind of transition", kind, _KINDS)
        self.tolerance_s, self.kind = tolerance_s, kind

    @property
    def conventions(self) -> dict[str, str]:
        """What the options say, in words."""
        return {
            "tolerance": f"{self.tolerance_s:g} s either way, inclusive",
            "same transition": _KINDS[self.kind],
            "matching": "one to one, most matches, then least total delay",
        }

    def matches(self, cases: Sequence[PhaseVideo]) -> list[TransitionMatch]:
        """The matched transitions of every video."""
        options = {"tolerance_s": self.tolerance_s, "kind": self.kind}
        matched = []
        for index, video in enumerate(cases):
            if len(video.reference) != len(video.prediction) or not (math.isfinite(video.fps) and video.fps > 0):
                raise Misuse(
                    f"video {video.name or index} needs as many predicted as reference labels and a frame rate"
                )
            sides = np.asarray(video.reference), np.asarray(video.prediction)
            matched.append(match_transitions(*sides, fps=video.fps, **options))  # type: ignore[arg-type]
        return matched


class TransitionDetection(_TransitionMetric, RatioOfSums):
    """Precision, recall or F1 of transitions over all videos; units are videos."""

    def __init__(self, *, measure: str = "f1", tolerance_s: float = 30.0, kind: Kind = "pair") -> None:
        super().__init__(tolerance_s=tolerance_s, kind=kind)
        if measure not in ("precision", "recall", "f1"):
            raise UnknownName("measure of transitions", measure, ("precision", "recall", "f1"))
        self.measure = measure

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, tolerance and what counts as the same transition."""
        estimand = "transitions of all videos"
        return self.declared(f"transition_{self.measure}", estimand=estimand, conventions=self.conventions)

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Matched transitions, and those they are a share of, of every video."""
        rows = [(len(m.matched), len(m.missed), len(m.invented)) for m in self.matches(cases)]
        hits, missed, invented = np.asarray(rows, dtype=np.float64).reshape(-1, 3).T
        whole = {
            "precision": hits + invented,
            "recall": hits + missed,
            "f1": hits + (missed + invented) / 2,
        }
        return np.stack([hits, whole[self.measure]], axis=1)


class TransitionDelay(_TransitionMetric, QuantileMetric):
    """A quantile of the absolute delay of matched transitions, in seconds; units are videos."""

    def __init__(self, *, quantile: float = 0.5, tolerance_s: float = 30.0, kind: Kind = "pair") -> None:
        _TransitionMetric.__init__(self, tolerance_s=tolerance_s, kind=kind)
        QuantileMetric.__init__(self, quantile=quantile)

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, tolerance and quantile."""
        name = f"transition_delay_p{self.quantile * 100:g}_s"
        conventions = self.conventions | {"unmatched": "not in the delay; see transition_recall"}
        estimand = f"{self.quantile:g} quantile of |delay| over matched transitions, no interpolation"
        return self.declared(name, 0.0, math.inf, "smaller", estimand, conventions, unit="s")

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """The absolute delays with the video of each."""
        delays = [np.abs(match.delays_s) for match in self.matches(cases)]
        unit = np.repeat(np.arange(len(delays)), [item.size for item in delays])
        return quantile_statistics(np.concatenate([np.zeros(0), *delays]), unit, len(delays))
