"""Frame-wise phase metrics, strict or with forgiven frames, and which frames are forgiven.

Frame-wise phase metrics: accuracy, precision, recall, Jaccard and F1, strict or with forgiven frames.

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

Which wrong frames near a phase transition are forgiven: application-dependent and relaxed rules.

Annotators disagree on when a phase begins, so scorers forgive frames next to a reference transition:
    ad                the neighbouring phase may be predicted within a window on either side
                      (Dergachyova et al., IJCARS 11, 2016)
    relaxed_intended  within a window at the start of a reference segment some phases may still be predicted,
                      within one at its end some others may already be, by a table of allowed transitions
    relaxed_matlab    the same as the published M2CAI / Cholec80 script computes it
The published script tests the last frames of a segment, and then forgives the frames at the same places of
its *beginning*: an early transition keeps its errors, and unrelated frames may be forgiven instead. It also
finds allowed transitions by adding 1 or 2 to a label number, so another order of labels is another score;
here they are a table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics.metric import Floats, RatioOfSums, UnitStatistics, WeightedMetric, mean_known, ratio
from surgvalid.metrics.phases.videos import CodedVideo, Indices, PhaseVideo, coded_videos, segments
from surgvalid.schema.metric_facts import MetricFacts

Frames = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AllowedTransitions:
    """Which phases are forgiven where, by phase of the reference."""

    name: str
    late: Mapping[Hashable, Sequence[Hashable]]
    """At the start of a segment: the phases that may still be predicted."""
    early: Mapping[Hashable, Sequence[Hashable]]
    """At the end of a segment: the phases that may already be predicted."""

    def tables(self, phases: Sequence[Hashable]) -> tuple[Frames, Frames]:
        """`late[reference, predicted]` and `early[reference, predicted]` over the declared phases.

        Raises:
            Misuse: The table names a phase that is not declared.
        """
        place = {phase: index for index, phase in enumerate(phases)}
        tables = []
        for rules in (self.late, self.early):
            strange = [p for phase, others in rules.items() for p in (phase, *others) if p not in place]
            if strange:
                raise Misuse(f"allowed transitions {self.name!r} name {strange[0]!r}, which is not a declared phase")
            table = np.zeros((len(phases), len(phases)), dtype=bool)
            for phase, others in rules.items():
                table[place[phase], [place[other] for other in others]] = True
            tables.append(table)
        return tables[0], tables[1]


CHOLEC80_PHASES = (
    "Preparation",
    "CalotTriangleDissection",
    "ClippingCutting",
    "GallbladderDissection",
    "GallbladderPackaging",
    "CleaningCoagulation",
    "GallbladderRetraction",
)
"""In the order whose numbers the published script relies on."""

_PREPARE, _CALOT, _CLIP, _DISSECT, _PACK, _CLEAN, _RETRACT = CHOLEC80_PHASES
CHOLEC80_TRANSITIONS = AllowedTransitions(
    "cholec80",
    late={
        _CALOT: (_PREPARE,),
        _CLIP: (_CALOT,),
        _DISSECT: (_CLIP,),
        _PACK: (_DISSECT,),
        _CLEAN: (_PACK, _DISSECT),
        _RETRACT: (_CLEAN, _PACK),
    },
    early={
        _PREPARE: (_CALOT,),
        _CALOT: (_CLIP,),
        _CLIP: (_DISSECT,),
        _DISSECT: (_PACK, _CLEAN),
        _PACK: (_CLEAN, _RETRACT),
        _CLEAN: (_RETRACT,),
    },
)
"""The transitions that the published Cholec80 script forgives."""


class _Places(NamedTuple):
    """Where each frame lies in its reference segment."""

    segment: Indices
    from_start: Indices
    from_end: Indices
    length: Indices


def _places(video: CodedVideo) -> _Places:
    runs = segments(video.reference)
    length = runs.stops - runs.starts
    segment = np.repeat(np.arange(length.size), length)
    frame = np.arange(video.reference.size)
    return _Places(segment, frame - runs.starts[segment], runs.stops[segment] - 1 - frame, length[segment])


def window_frames(video: CodedVideo, window_s: float) -> int:
    """The window in frames, rounded to the nearest."""
    return round(window_s * video.fps)


def application_dependent(video: CodedVideo, *, window_s: float) -> Frames:
    """The wrong frames that are forgiven because the neighbouring phase is predicted near their transition."""
    place, window = _places(video), window_frames(video, window_s)
    labels = segments(video.reference).labels
    before = np.concatenate(([-1], labels[:-1]))[place.segment]
    after = np.concatenate((labels[1:], [-1]))[place.segment]
    late = (place.from_start < window) & (video.prediction == before)
    return np.asarray(late | ((place.from_end < window) & (video.prediction == after)))


def relaxed(video: CodedVideo, late: Frames, early: Frames, *, window_s: float) -> Frames:
    """The wrong frames that are forgiven by a table of allowed transitions, as intended."""
    place, window = _places(video), window_frames(video, window_s)
    at_start = (place.from_start < window) & late[video.reference, video.prediction]
    at_end = (place.from_end < window) & early[video.reference, video.prediction]
    return np.asarray(at_start | at_end)


def relaxed_as_in_matlab(video: CodedVideo, late: Frames, early: Frames, *, window_s: float) -> Frames:
    """The frames that the published script counts as right although they are wrong."""
    place, window = _places(video), window_frames(video, window_s)
    at_start = (place.from_start < window) & late[video.reference, video.prediction]
    tested = early[video.reference, video.prediction] & ~at_start
    tested &= video.reference != video.prediction
    opening = place.from_start < window
    shift = place.length - np.minimum(place.length, window)
    source = np.flatnonzero(opening) + shift[opening]
    forgiven = at_start.copy()
    forgiven[opening] |= tested[source]
    return np.asarray(forgiven & (video.reference != video.prediction))


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


class PhaseAccuracy(_PhaseMetric, RatioOfSums):
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
        return mean_known(self._measure(totals) if self.average == "frames" else ratio(totals[..., 0], totals[..., 1]))

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
