"""Frame-wise phase metrics: accuracy, precision, recall, Jaccard and F1, strict or with forgiven frames.

Definitions for phase p of one video, with TP the frames of p in reference or prediction that are right or
forgiven, P and R the frames predicted as p and labelled p:
    precision = TP / P    recall = TP / R    Jaccard = TP / |P or R|    F1 = their harmonic mean
    value = mean over phases of the mean over videos in which p occurs (`average="videos"`), or of sums over
    all videos (`average="frames"`)
A forgiven frame is a TP of the phase it is labelled as *and* of the one predicted, so precision and recall can
exceed 1. The rules deal with that differently (Funke et al., arXiv:2305.13961 name the variants):
    relaxed_intended  leaves it        relaxed_v1  cuts each value at 1        relaxed_matlab  cuts at 1, as its driver
    relaxed_v2        adds the frames forgiven to p but predicted otherwise to P, and those forgiven to p but
                      labelled otherwise to R. The published denominator could not be read; this one is consistent.
    ad                relabels forgiven frames as predicted, then counts as strict does

The one decision: a phase without a reference frame in a video is not scored there, whatever was predicted; a
phase that is never predicted has precision 0, except under relaxed_matlab, where the script skips it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

from surgeval.errors import Misuse, UnknownName
from surgeval.metrics.metric import Floats, UnitStatistics, WeightedMetric, ratio
from surgeval.metrics.phases.forgiveness import (
    CHOLEC80_PHASES,
    CHOLEC80_TRANSITIONS,
    AllowedTransitions,
    Frames,
    application_dependent,
    relaxed,
    relaxed_as_in_matlab,
)
from surgeval.metrics.phases.videos import CodedVideo, PhaseVideo, coded_videos
from surgeval.schema.metric_facts import MetricFacts

RULES = {
    "strict": "no frame is forgiven",
    "ad": "neighbouring phase within the window of a reference transition",
    "relaxed_matlab": "published script: early frames mis-forgiven, values cut at 1, unpredicted phases skipped",
    "relaxed_intended": "allowed transitions within the window; precision and recall can exceed 1",
    "relaxed_v1": "as intended, cut at 1",
    "relaxed_v2": "as intended, forgiven frames added to the denominator (v2-compatible, unverified)",
}
"""What each rule forgives."""

MEASURES = ("precision", "recall", "jaccard", "f1")
Average = Literal["videos", "frames"]


class _PhaseMetric(WeightedMetric):
    """Options shared by accuracy and the per-phase measures."""

    takes = ("label sequences",)
    for_preparing = ("allowed",)

    def __init__(
        self,
        *,
        phases: Sequence[Hashable] = CHOLEC80_PHASES,
        rule: str = "strict",
        allowed: AllowedTransitions = CHOLEC80_TRANSITIONS,
        window_s: float = 10.0,
        average: Average = "videos",
    ) -> None:
        if rule not in RULES:
            raise UnknownName("rule for phase metrics", rule, RULES)
        if average not in ("videos", "frames"):
            raise UnknownName("average", average, ("videos", "frames"))
        if not (np.isfinite(window_s) and window_s >= 0):
            raise Misuse(f"window_s must be a finite number of seconds, zero or more, got {window_s!r}")
        self.phases, self.rule, self.allowed = tuple(phases), rule, allowed
        self.window_s, self.average = window_s, average

    @property
    def conventions(self) -> dict[str, str]:
        """What the options say, in words."""
        listed = ", ".join(map(str, self.phases))
        record = {"phases": listed, "rule": f"{self.rule}: {RULES[self.rule]}", "average": f"over {self.average}"}
        if self.rule != "strict":
            record["window"] = f"{self.window_s:g} s on either side, at most the segment"
        if self.rule.startswith("relaxed"):
            record["allowed transitions"] = self.allowed.name
        return record

    @property
    def _options(self) -> dict[str, Any]:
        """Everything but the rule."""
        return {"phases": self.phases, "allowed": self.allowed, "window_s": self.window_s, "average": self.average}

    def _name(self, measure: str) -> str:
        return f"phase_{measure}" if self.rule == "strict" else f"phase_{measure}_{self.rule}"

    def forgiven(self, video: CodedVideo) -> Frames:
        """The wrong frames of a video that the rule counts as right."""
        if self.rule == "strict":
            return np.zeros(video.reference.size, dtype=bool)
        if self.rule == "ad":
            return application_dependent(video, window_s=self.window_s)
        late, early = self.allowed.tables(self.phases)
        chosen = relaxed_as_in_matlab if self.rule == "relaxed_matlab" else relaxed
        return chosen(video, late, early, window_s=self.window_s)


class PhaseAccuracy(_PhaseMetric):
    """The share of frames that are right or forgiven; units are videos."""

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, rule and window."""
        estimand = "mean over videos" if self.average == "videos" else "share of all frames"
        return self.declared(
            self._name("accuracy"), estimand=estimand, conventions=self.conventions, pooled=self.average == "frames"
        )

    @property
    def corrected(self) -> PhaseAccuracy | None:
        """The metric that a flawed rule should have been; None where nothing is to be corrected."""
        if self.rule != "relaxed_matlab":
            return None
        return PhaseAccuracy(rule="relaxed_intended", **self._options)

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Right frames and frames of every video, as a share where videos count alike."""
        rows = []
        for video in coded_videos(cases, self.phases):
            right = int(((video.reference == video.prediction) | self.forgiven(video)).sum())
            frames = video.reference.size
            rows.append((right, frames) if self.average == "frames" else (right / frames, 1))
        return np.asarray(rows, dtype=np.float64).reshape(-1, 2)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The accuracy under each weighting."""
        totals = weights @ statistics
        return ratio(totals[:, 0], totals[:, 1])


class PhaseMeasure(_PhaseMetric):
    """Precision, recall, Jaccard or F1 per phase, averaged over phases; units are videos."""

    def __init__(
        self,
        *,
        measure: str = "jaccard",
        phases: Sequence[Hashable] = CHOLEC80_PHASES,
        rule: str = "strict",
        allowed: AllowedTransitions = CHOLEC80_TRANSITIONS,
        window_s: float = 10.0,
        average: Average = "videos",
    ) -> None:
        if measure not in MEASURES:
            raise UnknownName("measure of phases", measure, MEASURES)
        super().__init__(phases=phases, rule=rule, allowed=allowed, window_s=window_s, average=average)
        self.measure = measure

    @property
    def facts(self) -> MetricFacts:
        """Range, direction, rule, window and how phases and videos are averaged."""
        open_ended = self.rule == "relaxed_intended" and self.measure != "jaccard"
        unpredicted = "not scored, or 1 if frames are forgiven" if self.rule == "relaxed_matlab" else "precision 0"
        conventions = self.conventions | {
            "phase absent from the reference": "not scored",
            "never predicted": unpredicted,
        }
        estimand = f"mean over phases of {'the mean over videos' if self.average == 'videos' else 'pooled frames'}"
        high = np.inf if open_ended else 1.0
        return self.declared(self._name(self.measure), 0.0, high, "larger", estimand, conventions)

    @property
    def corrected(self) -> PhaseMeasure | None:
        """The metric that a flawed rule should have been; None where nothing is to be corrected."""
        if self.rule != "relaxed_matlab":
            return None
        # The union holds every forgiven frame already, so Jaccard needs no other denominator.
        rule = "relaxed_intended" if self.measure == "jaccard" else "relaxed_v2"
        return PhaseMeasure(measure=self.measure, rule=rule, **self._options)

    def prepare(self, cases: Sequence[PhaseVideo]) -> UnitStatistics:
        """Per video and phase: the counts, or the value and whether it is scored."""
        videos = coded_videos(cases, self.phases)
        counts = np.array([self.counts(video) for video in videos]).reshape(-1, len(self.phases), 5)
        if self.average == "frames":
            return counts
        values = self._measure(counts)
        return np.stack([np.nan_to_num(values), ~np.isnan(values)], axis=-1)

    def values(self, statistics: UnitStatistics, weights: Floats) -> Floats:
        """The mean over phases under each weighting."""
        totals = np.tensordot(weights, statistics, axes=1)
        if self.average == "frames":
            per_phase = self._measure(totals)
        else:
            per_phase = ratio(totals[..., 0], totals[..., 1])
        scored = ~np.isnan(per_phase)
        return ratio(np.where(scored, per_phase, 0.0).sum(axis=1), scored.sum(axis=1))

    def counts(self, video: CodedVideo) -> Floats:
        """Per phase: true positives, both denominators, union, and frames of the reference, `[phase, 5]`."""
        forgiven = self.forgiven(video)
        reference, prediction = video.reference, video.prediction
        if self.rule == "ad":
            reference = np.where(forgiven, prediction, reference)
            forgiven = np.zeros_like(forgiven)
        tally = _tally(len(self.phases))
        wrong = reference != prediction
        predicted, labelled = tally(prediction), tally(reference)
        agreed = tally(reference[~wrong])
        lent, borrowed = tally(reference[wrong & forgiven]), tally(prediction[wrong & forgiven])
        union = predicted + labelled - agreed
        extra = (lent, borrowed) if self.rule == "relaxed_v2" else (0.0, 0.0)
        columns = [agreed + lent + borrowed, predicted + extra[0], labelled + extra[1], union, labelled]
        return np.stack(columns, axis=1)

    def _measure(self, counts: Floats) -> Floats:
        """The measure of counts `[..., 5]`; NaN where the phase does not occur in the reference."""
        right, predicted, labelled, union, occurring = np.moveaxis(counts, -1, 0)
        unpredicted = np.nan if self.rule == "relaxed_matlab" else 0.0
        precision = ratio(right, predicted, empty=unpredicted)
        if self.rule == "relaxed_matlab":
            precision = np.where((predicted == 0) & (right > 0), 1.0, precision)
        recall = ratio(right, labelled)
        values = {
            "precision": precision,
            "recall": recall,
            "jaccard": ratio(right, union),
            "f1": ratio(2 * precision * recall, precision + recall, empty=0.0),
        }[self.measure]
        if self.rule in ("relaxed_v1", "relaxed_matlab"):
            values = np.minimum(values, 1.0)
        return np.where(occurring > 0, values, np.nan)


def _tally(phases: int) -> Callable[[np.ndarray], Floats]:
    return lambda codes: np.bincount(codes, minlength=phases).astype(np.float64)
