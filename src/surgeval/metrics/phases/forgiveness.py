"""Which wrong frames near a phase transition are forgiven: application-dependent and relaxed rules.

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

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from surgeval.errors import Misuse
from surgeval.metrics.phases.videos import CodedVideo, Indices, segments

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
