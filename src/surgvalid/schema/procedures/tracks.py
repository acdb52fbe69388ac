"""An annotated procedure: tracks of foreign objects at 1 fps, events, phases.

Time is counted in whole seconds of the source video. Annotated frames lie at the seconds
`0 .. duration_s - 1`; a span is half-open like a Python slice (`start_s` belongs to it, `end_s` does
not). Boxes are in pixels of the source frame, the origin is the top left corner.

What the visibility of a point means:
    visible   the object is seen
    occluded  it is seen in part, something lies before it; it still counts as in view
    outside   it is not in view at all and its box means nothing
A second without a point means the same as `outside`. A point that is outside may be *doubtful*: something of the object
shows, and nobody can be sure of it. Such points count as not in view, and no answer may rest on that.

These classes only hold data. `procedure_problems` says what is wrong with it, `procedure_files` reads
and writes it, `ledger` derives from it where every object is at any second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import ProcedureInvalid
from surgvalid.schema.procedures.foreign_objects import ALL, Declaration, declared


class Box(NamedTuple):
    """A rectangle in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        """The middle of the rectangle."""
        return self.x + self.width / 2, self.y + self.height / 2

    @property
    def area_px2(self) -> float:
        """The area in square pixels."""
        return self.width * self.height


class Visibility(IntEnum):
    """How a point of a track is seen; the number is how arrays store it."""

    VISIBLE = 0
    OCCLUDED = 1
    OUTSIDE = 2


class TrackPoint(NamedTuple):
    """One object at one second."""

    second: int
    box: Box
    visibility: Visibility = Visibility.VISIBLE


class AttributeChange(NamedTuple):
    """From `second` on, the attribute `name` has this value."""

    second: int
    name: str
    value: str


class Span(NamedTuple):
    """A stretch of time, `end_s` not included."""

    start_s: int
    end_s: int

    @property
    def length_s(self) -> int:
        """How many annotated seconds lie in it."""
        return self.end_s - self.start_s


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """One object through the whole procedure, stored in columns.

    A track without points is an object that was never in view (its events may still tell of it).

    Raises:
        ProcedureInvalid: The columns do not fit together.
    """

    instance: str
    """Identifier within the procedure; the same object keeps it however often it disappears."""
    class_name: str
    seconds: NDArray[np.int64]
    """Strictly rising."""
    boxes: NDArray[np.float64]
    """One row x, y, width, height per second."""
    visibility: NDArray[np.uint8]
    """Codes of `Visibility`."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """What holds from the start, such as `{"colour": "white"}`."""
    changes: tuple[AttributeChange, ...] = ()
    """What changes later, in order of time."""
    doubtful: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    """Per point, whether it is doubtful; none is where nothing is said."""
    dials: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """By name, a number per point that says how hard it is to see, such as `contrast`; told by who made the image."""

    def __post_init__(self) -> None:
        columns: dict[str, NDArray[Any]] = {
            "seconds": np.array(self.seconds, dtype=np.int64).reshape(-1),
            "boxes": _rectangles(self.boxes, self.instance),
            "visibility": np.array(self.visibility, dtype=np.uint8).reshape(-1),
            "doubtful": np.array(self.doubtful, dtype=bool).reshape(-1),
        }
        if not columns["doubtful"].size:
            columns["doubtful"] = np.zeros(len(columns["seconds"]), dtype=bool)
        dials = {name: np.array(numbers, dtype=np.float64) for name, numbers in self.dials.items()}
        object.__setattr__(self, "dials", dials)
        lengths = {name: len(column) for name, column in (columns | dials).items()}
        if len(set(lengths.values())) > 1:
            sizes = ", ".join(f"{count} {name}" for name, count in lengths.items())
            raise ProcedureInvalid(f"track {self.instance!r}", [f"columns of different length: {sizes}"])
        for name, column in columns.items():
            column.flags.writeable = False
            object.__setattr__(self, name, column)
        object.__setattr__(self, "changes", tuple(self.changes))

    def __len__(self) -> int:
        return len(self.seconds)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Track):
            return NotImplemented
        return (
            (self.instance, self.class_name) == (other.instance, other.class_name)
            and dict(self.attributes) == dict(other.attributes)
            and self.changes == other.changes
            and np.array_equal(self.seconds, other.seconds)
            and np.array_equal(self.boxes, other.boxes, equal_nan=True)
            and np.array_equal(self.visibility, other.visibility)
            and np.array_equal(self.doubtful, other.doubtful)
            and self.dials.keys() == other.dials.keys()
            and all(np.array_equal(numbers, other.dials[name]) for name, numbers in self.dials.items())
        )

    def __hash__(self) -> int:
        return hash((self.instance, self.class_name, len(self)))

    @property
    def in_view(self) -> NDArray[np.bool_]:
        """Per point, whether the object is seen, wholly or in part."""
        seen: NDArray[np.bool_] = self.visibility != Visibility.OUTSIDE
        return seen

    def at_points(self, kept: NDArray[np.bool_]) -> Track:
        """The track with some of its points only."""
        columns = ("seconds", "boxes", "visibility", "doubtful")
        dials = {name: numbers[kept] for name, numbers in self.dials.items()}
        return replace(self, dials=dials, **{name: getattr(self, name)[kept] for name in columns})

    def point_at(self, second: int) -> TrackPoint | None:
        """The point of that second, or None when the track has none."""
        at = int(np.searchsorted(self.seconds, second))
        if at == len(self.seconds) or self.seconds[at] != second:
            return None
        return TrackPoint(second, Box(*self.boxes[at].tolist()), Visibility(int(self.visibility[at])))

    def attribute_at(self, name: str, second: int) -> str | None:
        """The value of an attribute at that second, or None when nothing is known."""
        value = self.attributes.get(name)
        for change in self.changes:
            if change.name == name and change.second <= second:
                value = change.value
        return value


def _rectangles(boxes: object, instance: str) -> NDArray[np.float64]:
    table = np.array(boxes, dtype=np.float64)
    if table.size == 0:
        return np.empty((0, 4))
    if table.ndim != 2 or table.shape[1] != 4:
        shape = "x".join(map(str, table.shape))
        raise ProcedureInvalid(
            f"track {instance!r}", [f"boxes need four numbers each (x, y, width, height), got {shape}"]
        )
    return table


def track_from_points(
    instance: str,
    class_name: str,
    points: Iterable[TrackPoint | tuple[int, Sequence[float]] | tuple[int, Sequence[float], int]],
    *,
    attributes: Mapping[str, str] | None = None,
    changes: Iterable[AttributeChange] = (),
) -> Track:
    """The track that runs through `points`, in any order.

    Example:
        >>> track = track_from_points("sponge 1", "Sponge", [(4, (10, 10, 30, 20)), (3, (9, 10, 30, 20))])
        >>> track.seconds.tolist(), track.point_at(4).box.center
        ([3, 4], (25.0, 20.0))
    """
    ordered = sorted((TrackPoint(*point) for point in points), key=lambda point: point.second)
    return Track(
        instance,
        class_name,
        np.array([point.second for point in ordered], dtype=np.int64),
        np.array([tuple(point.box) for point in ordered], dtype=np.float64).reshape(-1, 4),
        np.array([int(point.visibility) for point in ordered], dtype=np.uint8),
        dict(attributes or {}),
        tuple(changes),
    )


class EventKind(StrEnum):
    """What can happen to a foreign object.

    The tracks are the truth about the view; `first_seen`, `left_view` and `reappeared` may be left out
    and must agree with the track where they are given.
    """

    INSERTED = "inserted"
    """It came into the body, in view or not."""
    FIRST_SEEN = "first_seen"
    """The first second in which its track shows it."""
    GRASPED = "grasped"
    PLACED = "placed"
    """It was put somewhere on purpose; for a clip: closed on its structure."""
    LEFT_VIEW = "left_view"
    """The first second in which it is no longer seen."""
    REAPPEARED = "reappeared"
    """The first second in which it is seen again."""
    BAGGED = "bagged"
    """It was put into a specimen bag."""
    RETRIEVED = "retrieved"
    """It left the body; it may still be seen in that second, never later."""
    LEFT_IN_SITU = "left_in_situ"
    """It was left in the body by intent."""


class Detail(StrEnum):
    """Keys of an event's details that questions are made from; any other key is kept and not used."""

    PLACE = "place"
    """Where in the body, such as `gallbladder fossa`."""
    STRUCTURE = "structure"
    """What it was put on or around, such as `cystic duct`."""
    INSTRUMENT = "instrument"
    PURPOSE = "purpose"
    """What it was used for, such as `compress a bleeding`."""
    BAG = "bag"
    """The instance of the specimen bag that received it."""
    TROCAR = "trocar"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to one object at one second."""

    kind: EventKind
    second: int
    instance: str
    details: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.kind, self.second, self.instance))


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the procedure; `end_s` does not belong to it."""

    name: str
    start_s: int
    end_s: int


class SceneRelation(StrEnum):
    """How things stand to each other at one second; the first two are of one organ or instrument alone."""

    VISIBLE = "visible"
    DOUBTFUL = "doubtful"
    """Something of it shows, and nobody can be sure of it."""
    ON = "lies on"
    CLOSES = "closes"
    IN = "is in"
    HELD = "is held by"
    BEFORE = "is in front of"
    TOUCHES = "touches"
    MAY_TOUCH = "may touch"


class SceneFact(NamedTuple):
    """One relation at one second, between things that are visible then: instances, instruments, and organs by name."""

    second: int
    subject: str
    relation: SceneRelation
    object: str = ""


UNTOLD = ("instances", "boxes", "visibility")
"""What labels of whole images leave open: how many objects of a class there are and which is which, where in the image
they lie, and whether something lies before them."""
THING, STAGE = "thing", "stage"
"""Facts of a procedure of a data set: what its tracks are called where they are no foreign objects, and its phases."""
CRITERION = "criterion"
"""The class of a track of `Procedure.instruments` that says in which images raters agree that a criterion is met."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """One recorded procedure with everything annotated in it."""

    video: str
    procedure_type: str
    center: str
    duration_s: int
    """Whole seconds; annotated frames lie at 0 .. duration_s - 1."""
    width_px: int
    height_px: int
    tracks: tuple[Track, ...] = ()
    """The foreign objects."""
    events: tuple[Event, ...] = ()
    """In order of time."""
    phases: tuple[Phase, ...] = ()
    instruments: tuple[Track, ...] = ()
    """Tracks of instruments, where they were annotated; they never count as foreign objects."""
    masked: tuple[Span, ...] = ()
    """Stretches whose frames are black or blurred for privacy; nothing can be asked of them."""
    patient: str = ""
    """The independent unit; the video itself where nothing else is known."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Anything else worth keeping, as text."""
    declared: Declaration | None = None
    """What was annotated; None where nobody said."""
    proposed: tuple[str, ...] = ()
    """Instances that a program proposed and nobody has confirmed."""
    assumed: tuple[str, ...] = ()
    """Which of `duration_s`, `width_px` and `height_px` nobody told, so that they are only a guess; `fps` where nobody
    told the rate of frame numbers, which were interpreted as seconds; and of `UNTOLD`."""
    relations: tuple[SceneFact, ...] = ()
    """All that hold at the seconds for which any is told."""

    def __post_init__(self) -> None:
        for name in ("tracks", "phases", "instruments", "masked", "proposed", "assumed"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        object.__setattr__(self, "events", tuple(sorted(self.events, key=lambda event: event.second)))
        object.__setattr__(self, "relations", tuple(sorted(self.relations, key=lambda fact: fact.second)))
        if not self.patient:
            object.__setattr__(self, "patient", self.video)

    def __hash__(self) -> int:
        return hash((self.video, self.duration_s))

    def track(self, instance: str) -> Track:
        """The track of an instance.

        Raises:
            KeyError: No such instance.
        """
        for track in self.tracks:
            if track.instance == instance:
                return track
        raise KeyError(instance)

    def phase_at(self, second: int) -> str | None:
        """The name of the phase at that second, or None."""
        for phase in self.phases:
            if phase.start_s <= second < phase.end_s:
                return phase.name
        return None

    @property
    def annotated(self) -> Declaration:
        """What was annotated: as declared, or no more than what occurs where nobody declared anything."""
        if self.declared is not None:
            return self.declared
        return Declaration(
            classes=tuple(dict.fromkeys(track.class_name for track in self.tracks)),
            events=tuple(dict.fromkeys(event.kind.value for event in self.events)),
            phases=bool(self.phases),
            attributes=any(track.attributes or track.changes for track in self.tracks),
        )


EVERYTHING = declared((ALL,), kinds=tuple(EventKind))
"""Whoever annotated looked for every class, event, phase and attribute in the whole video."""
