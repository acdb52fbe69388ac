"""A procedure in the making: boxes come in as a file tells them, a checked procedure comes out.

Frame numbers become whole seconds: the frame of second s is the one nearest to s times fps. Boxes at other frames
have no place in annotations at 1 fps; they are counted and reported. Coordinates are rounded to a millionth of a
pixel, which undoes what percentages and corners do to the last digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surgvalid.datasets.tools._about import UNKNOWN, About, VideoFile
from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.procedures.foreign_objects import Declaration
from surgvalid.schema.procedures.procedure_problems import RATE, procedure_problems
from surgvalid.schema.procedures.tracks import AttributeChange, Event, Phase, Procedure, Span, Track, Visibility

LONGEST_S = 1 << 20
"""Twelve days; a later second is a mistake, not a video."""
DECIMALS = 6
_VIDEO_TOLERANCE_S = 2
"""Containers and annotation tools round differently."""
_RATE_TOLERANCE = 0.01
"""Rates that differ by less are the same, rounded: 29.97 and 30."""
ROLE, INSTRUMENT = "role", "instrument"
"""The attribute, and its value, that marks a track of an instrument in files without another place for it."""

Rectangle = tuple[float, float, float, float]


@dataclass
class TrackDraft:
    """One object while a file is read; seconds in any order."""

    instance: str
    class_name: str
    instrument: bool = False
    seconds: list[int] = field(default_factory=list)
    boxes: list[Rectangle] = field(default_factory=list)
    visibility: list[int] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    changes: list[AttributeChange] = field(default_factory=list)

    def see(self, second: int, box: Rectangle, visibility: int = Visibility.VISIBLE) -> None:
        """Add the object at one second."""
        self.seconds.append(second)
        self.boxes.append(box)
        self.visibility.append(int(visibility))

    def say(self, attributes_at: Sequence[tuple[int, Mapping[str, str]]]) -> None:
        """Take over attributes told second by second: the first tell what holds, later ones what changes."""
        now: dict[str, str] = {}
        for number, (second, values) in enumerate(sorted(attributes_at, key=lambda pair: pair[0])):
            for name, value in values.items():
                if number == 0:
                    self.attributes[name] = value
                elif now.get(name) != value:
                    self.changes.append(AttributeChange(second, name, value))
                now[name] = value


@dataclass
class VideoDraft:
    """One video while a file is read."""

    where: str
    about: About = field(default_factory=About)
    video: str = ""
    procedure_type: str = ""
    center: str = ""
    patient: str = ""
    duration_s: int | None = None
    width_px: int | None = None
    height_px: int | None = None
    fps: float = 1.0
    tracks: dict[str, TrackDraft] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    masked: list[Span] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    between: int = 0
    """Boxes at frames between two seconds."""
    assumed: list[str] = field(default_factory=list)
    """Measures that neither the file nor the caller told."""
    proposed: list[str] = field(default_factory=list)
    """Instances that nobody told apart from others: every box without an identity is one."""
    declared: Declaration | None = None
    """As the file says; what the caller says wins."""
    rate_told: bool = False

    def __post_init__(self) -> None:
        self.fps = self.about.fps or self.fps

    def set_fps(self, fps: float) -> None:
        """Take the rate from the file; a caller who gives another one is mistaken about this file."""
        if self.about.fps and abs(self.about.fps - fps) > _RATE_TOLERANCE * fps and not self.rate_told:
            self.problems.append(
                f"the file counts {fps:g} frames per second, --fps says {self.about.fps:g}; leave --fps out, and make "
                "questions from files of other rates by their video files (--video NAME=FILE) or as procedure files"
            )
        self.rate_told = True
        self.fps = self.about.fps or fps

    @property
    def video_file(self) -> VideoFile | None:
        """The video file of the video, where the caller gave one."""
        return self.about.video_file_of(self.about.video or self.video)

    def take_file_rate(self) -> None:
        """Count frames as the video file does, for files whose frame numbers are those of the video file and tell no
        rate.
        """
        if self.video_file is not None and self.video_file.fps:
            if self.about.fps and abs(self.about.fps - self.video_file.fps) > _RATE_TOLERANCE * self.video_file.fps:
                rates = f"the video file has {self.video_file.fps:g} frames per second, --fps says {self.about.fps:g}"
                self.note("other-rate", f"{rates}, which counts; right only where every so many frames were annotated")
            self.fps = self.about.fps or self.video_file.fps
            self.rate_told = True
        elif self.about.fps is None:
            message = (
                "no frame rate is told, so frame numbers are interpreted as seconds; give --fps or the "
                "video file (--video)"
            )
            self.note("no-frame-rate", message)
            self.assumed.append(RATE)

    def second_of(self, frame: int) -> int | None:
        """The second whose annotated frame this is, or None for frames between two seconds."""
        second = round(frame / self.fps)
        return second if round(second * self.fps) == frame else None

    def track(self, instance: str, class_name: str) -> TrackDraft:
        """The track of that instance, begun if new."""
        draft = self.tracks.get(instance)
        if draft is None:
            draft = self.tracks[instance] = TrackDraft(instance, class_name, self.about.is_instrument(class_name))
        elif draft.class_name != class_name:
            self.problems.append(
                f"instance {instance!r} is a {draft.class_name!r} in one place and a {class_name!r} in another"
            )
        return draft

    def note(self, code: str, message: str, severity: Severity = Severity.WARNING) -> None:
        """Keep a finding."""
        self.findings.append(Finding(code, severity, message, where=self.where))

    def procedure(self) -> Procedure | None:
        """The procedure, or None when there are problems; they are in `problems`, named with the video."""
        title = self.about.video or self.video
        tracks = {name: self._finished(track) for name, track in self.tracks.items()}
        if self.between:
            self.note("between-seconds", f"{self.between} boxes at frames between two seconds are not kept (1 fps)")
        known = [track for track in tracks.values() if track is not None]
        duration_s = self._duration_s(known)
        self._check_against_file()
        width_px = self.side("width_px") or self._reach(known, 0)
        height_px = self.side("height_px") or self._reach(known, 1)
        procedure = Procedure(
            title,
            self.about.procedure_type or self.procedure_type or self._unknown("procedure_type"),
            self.about.center or self.center or self._unknown("center"),
            duration_s,
            width_px,
            height_px,
            tuple(t for t in known if not self.tracks[t.instance].instrument),
            tuple(self.events),
            tuple(self.phases),
            tuple(t for t in known if self.tracks[t.instance].instrument),
            tuple(self.masked),
            self.about.patient_of(self.video) or self.patient,
            self.facts,
            proposed=tuple(dict.fromkeys(name for name in self.proposed if name in tracks)),
            assumed=tuple(self.assumed),
        )
        if (declared := self.about.declared or self.declared) is not None:
            procedure = replace(procedure, declared=declared.with_what_occurs(procedure.annotated))
        if procedure.duration_s > LONGEST_S:
            self.problems.append(f"a duration of {procedure.duration_s} s; no video lasts so long")
        if not self.problems:
            self.problems += procedure_problems(procedure)
        return None if self.problems else procedure

    def side(self, name: str) -> int | None:
        """`width_px` or `height_px` of the frames: as the caller says, as the file says, or as the video file is."""
        sides = (getattr(source, name) for source in (self.about, self, self.video_file) if source)
        return next((side for side in sides if side), None)

    def _check_against_file(self) -> None:
        """Boxes of another image would be drawn in wrong places,
        so the video file must be the one that was annotated.
        """
        video_file = self.video_file
        if video_file is None:
            return
        width_px, height_px = self.side("width_px"), self.side("height_px")
        if (width_px, height_px) != (video_file.width_px, video_file.height_px):
            sizes = f"{video_file.width_px} x {video_file.height_px}, the annotated frames are {width_px} x {height_px}"
            self.problems.append(f"the video file is {sizes}; give the video file that was annotated")
        if (
            self.duration_s
            and video_file.duration_s
            and abs(self.duration_s - video_file.duration_s) > _VIDEO_TOLERANCE_S
        ):
            message = f"the video file lasts {video_file.duration_s} s, the annotations are of {self.duration_s} s"
            self.note("other-duration", f"{message}; is it the video file, and the frame rate, of these annotations?")

    def _unknown(self, name: str) -> str:
        self.note(f"no-{name.replace('_', '-')}", f"{name} is not in the file; {UNKNOWN!r} until you give it")
        return UNKNOWN

    def _finished(self, track: TrackDraft) -> Track | None:
        problems = track_problems(track)
        if problems:
            self.problems += problems
            return None
        order = np.argsort(np.array(track.seconds, np.int64), kind="stable")
        boxes = np.round(np.array(track.boxes, np.float64).reshape(-1, 4), DECIMALS)[order]
        seconds = np.array(track.seconds, np.int64)[order]
        codes = np.array(track.visibility, np.uint8)[order]
        seen = codes != Visibility.OUTSIDE
        seconds, boxes, codes = seconds[seen], boxes[seen], codes[seen]
        keep = np.diff(seconds, prepend=np.int64(-1)) != 0
        if not keep.all():
            self.note("told-twice", f"track {track.instance!r}: {(~keep).sum()} boxes are told twice, alike")
        changes = tuple(sorted(track.changes, key=lambda change: change.second))
        return Track(
            track.instance, track.class_name, seconds[keep], boxes[keep], codes[keep], track.attributes, changes
        )

    def _duration_s(self, tracks: list[Track]) -> int:
        given = self.about.duration_s or self.duration_s or (self.video_file.duration_s if self.video_file else None)
        if given is not None:
            return given
        ends = [int(track.seconds[-1]) + 1 for track in tracks if len(track)]
        ends += [phase.end_s for phase in self.phases] + [span.end_s for span in self.masked]
        ends += [event.second + 1 for event in self.events]
        last = max(ends, default=1)
        self.assumed.append("duration_s")
        self.note("no-duration", f"the duration is not in the file; {last} s until the last annotation are assumed")
        return last

    def _reach(self, tracks: list[Track], axis: int) -> int:
        reach = max((float((t.boxes[:, axis] + t.boxes[:, axis + 2]).max()) for t in tracks if len(t)), default=1.0)
        name, size = ("width", "height")[axis], max(1, math.ceil(reach))
        self.assumed.append(f"{name}_px")
        self.note(
            f"no-{name}", f"the {name} of the frames is not in the file; {size} px, as far as boxes reach, assumed"
        )
        return size


def track_problems(track: TrackDraft) -> list[str]:
    """What cannot be true about the boxes of one track, every problem once."""
    if _evidently_sound(track):
        return []
    problems, seen = [], dict[int, tuple[Rectangle, int]]()
    for second, box, code in zip(track.seconds, track.boxes, track.visibility, strict=True):
        seconds_wrong = []
        if not 0 <= second <= LONGEST_S:
            seconds_wrong.append("no video has such a second")
        if not all(map(math.isfinite, box)):
            seconds_wrong.append(f"the box {list(box)} has members that are no finite numbers")
        elif code != Visibility.OUTSIDE and (box[2] <= 0 or box[3] <= 0):
            seconds_wrong.append(f"the box has no positive size ({box[2]:g} x {box[3]:g})")
        if code != Visibility.OUTSIDE and seen.setdefault(second, (box, code)) != (box, code):
            seconds_wrong.append(f"two different boxes ({list(seen[second][0])} and {list(box)})")
        problems += [f"track {track.instance!r} at second {second}: {text}" for text in seconds_wrong]
    return problems


def _evidently_sound(track: TrackDraft) -> bool:
    """Whether nothing can be wrong, seen at once; a million boxes need no second look one by one."""
    boxes = np.array(track.boxes, np.float64).reshape(-1, 4)
    sound = len(set(track.seconds)) == len(track.seconds) and np.isfinite(boxes).all() and (boxes[:, 2:] > 0).all()
    return bool(sound) and all(0 <= second <= LONGEST_S for second in track.seconds)


def finish(drafts: list[VideoDraft], where: str) -> tuple[list[Procedure], list[Finding]]:
    """The procedures of all drafts, and the findings.

    Raises:
        ProcedureInvalid: Any of them has problems; all problems of all are listed.
    """
    procedures = [draft.procedure() for draft in drafts]
    several = len(drafts) > 1
    problems = [(f"video {d.video!r}: " if several else "") + text for d in drafts for text in d.problems]
    names = [draft.video for draft in drafts]
    if several and "" in drafts[0].about.video_files:
        problems.append(f"one video file is given for {len(drafts)} videos; say of which it is with --video NAME=FILE")
    problems += [f"two videos are named {name!r}" for name in sorted({n for n in names if names.count(n) > 1})]
    if problems:
        raise ProcedureInvalid(where, problems)
    return [p for p in procedures if p is not None], [finding for draft in drafts for finding in draft.findings]
