"""The ledger: for every foreign object and every second, what has become of it and where it is.

It is the one derived truth: questions, reviews and simulated models all ask the ledger and never the
tracks. It is built once per procedure from the borders of what the tracks show and from the events,
under the rules below; afterwards every query is a binary search over those borders.

The rules are those of the FOCUS benchmark, each with its text beside the code that applies it. Source: the challenge
document of ORena SAVE FOCUS (definition of a foreign object, annotation stages) and its foreign-object definitions, in
our own words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from surgvalid.schema.procedures.foreign_objects import FOREIGN_OBJECTS, ForeignObject
from surgvalid.schema.procedures.spans import EMPTY, Peak, Seconds, Spans, Steps, Window
from surgvalid.schema.procedures.tracks import Box, Detail, Event, EventKind, Procedure, Span, Track, Visibility


class LedgerRule(NamedTuple):
    """One defining rule."""

    name: str
    text: str


FOREIGN_OBJECT = LedgerRule(
    "foreign-object",
    "A foreign object is a thing that is wholly brought into the body cavity and has to be retrieved or accounted"
    " for. Instruments, which are held from outside, are none. Tissue cut free and stones that fell count too.",
)
FROM_WHEN = LedgerRule(
    "from-when",
    "An object counts from its insertion; where nobody saw that, from the first second that shows it or tells of it.",
)
CLIP_ONCE_PLACED = LedgerRule(
    "clip-once-placed",
    "A clip counts once it is placed. As long as it sits in its applier it is part of an instrument.",
)
BAG_IS_RETRIEVED = LedgerRule(
    "bag-is-retrieved",
    "A specimen or a stone inside a specimen bag counts as retrieved. When the bag leaves the body, so does all in it.",
)
MAY_STAY = LedgerRule(
    "may-stay",
    "Clips, meshes and hemostatic agents are meant to stay. They never have to be retrieved, nor does an object that"
    " was left in the body by declared intent, such as a drain.",
)
VIEW = LedgerRule(
    "view",
    "An object is in view in the seconds that its track shows it, wholly or in part; a masked second shows nothing.",
)
RULES = (FOREIGN_OBJECT, FROM_WHEN, CLIP_ONCE_PLACED, BAG_IS_RETRIEVED, MAY_STAY, VIEW)

COUNT_ONCE_PLACED = frozenset({"Clip"})
"""Classes under `CLIP_ONCE_PLACED`."""
RETRIEVED_IN_BAG = frozenset({"Specimen", "Gallstone"})
"""Classes under `BAG_IS_RETRIEVED`."""


class State(StrEnum):
    """What has become of an object."""

    NOT_YET = "not_yet"
    """It does not count yet."""
    IN_BODY = "in_body"
    BAGGED = "bagged"
    """In a specimen bag, which is still in the body."""
    LEFT_IN_SITU = "left_in_situ"
    """In the body by declared intent."""
    RETRIEVED = "retrieved"
    """Out of the body."""


def counts_from(class_name: str, first_seen_s: int | None, events: Sequence[Event]) -> int | None:
    """The second from which an object counts, or None when nothing ever tells of it.

    Applies `FROM_WHEN` and `CLIP_ONCE_PLACED`. Events are in order of time.
    """
    if class_name in COUNT_ONCE_PLACED and (placed := first_of(EventKind.PLACED, events)) is not None:
        return placed.second
    if (inserted := first_of(EventKind.INSERTED, events)) is not None:
        return inserted.second
    seconds = [event.second for event in events[:1]] + ([] if first_seen_s is None else [first_seen_s])
    return min(seconds, default=None)


def counts_as_retrieved(class_name: str, state: State) -> bool:
    """Whether an object in that state counts as retrieved (`BAG_IS_RETRIEVED`)."""
    return state is State.RETRIEVED or (state is State.BAGGED and class_name in RETRIEVED_IN_BAG)


def must_be_retrieved(class_name: str, objects: Sequence[ForeignObject] = FOREIGN_OBJECTS) -> bool:
    """Whether objects of that class have to leave the body (`MAY_STAY`); unknown classes have to."""
    return not any(kind.may_stay for kind in objects if kind.name == class_name)


def first_of(kind: EventKind, events: Sequence[Event]) -> Event | None:
    """The first event of a kind, or None."""
    return next((event for event in events if event.kind is kind), None)


@dataclass(frozen=True, eq=False)
class Entry:
    """Everything the ledger knows of one object."""

    track: Track
    events: tuple[Event, ...]
    from_s: int | None
    """The second from which it counts; None when nothing ever tells of it."""
    turns: tuple[tuple[int, State], ...]
    """When it changed its state, in order of time."""
    views: Spans
    """When it is in view, from `from_s` on."""

    @property
    def instance(self) -> str:
        """The object's identifier."""
        return self.track.instance

    @property
    def class_name(self) -> str:
        """The object's class."""
        return self.track.class_name

    def state_at(self, second: int) -> State:
        """What has become of it by that second, the second itself included."""
        state = State.NOT_YET
        for turn_s, turned in self.turns:
            if turn_s > second:
                break
            state = turned
        return state

    def box_at(self, second: int) -> Box | None:
        """Its box while in view, else None."""
        if not self.views.has(second):
            return None
        point = self.track.point_at(second)
        return point.box if point else None

    def event(self, kind: EventKind) -> Event | None:
        """Its first event of a kind, or None."""
        return first_of(kind, self.events)

    @property
    def back_s(self) -> int | None:
        """From when on it counts as retrieved, or None."""
        return next((turn_s for turn_s, state in self.turns if counts_as_retrieved(self.class_name, state)), None)


class Whereabouts(NamedTuple):
    """Where an object is at one second, as far as can be known then."""

    state: State
    in_view: bool
    last_seen_s: int | None
    place: str | None
    """Where in the body it was last put."""


class Ledger:
    """The ledger of one procedure.

    Example:
        >>> from surgvalid.schema.procedures.tracks import track_from_points
        >>> sponge = track_from_points("s1", "Sponge", [(t, (0, 0, 9, 9)) for t in (3, 4, 7)])
        >>> events = (Event(EventKind.RETRIEVED, 9, "s1"),)
        >>> ledger = Ledger(Procedure("v", "Cholecystectomy", "A", 12, 64, 48, (sponge,), events))
        >>> ledger.state("s1", 8).value, ledger.state("s1", 9).value, ledger.views("s1")
        ('in_body', 'retrieved', (Span(start_s=3, end_s=5), Span(start_s=7, end_s=8)))
    """

    def __init__(
        self,
        procedure: Procedure,
        *,
        objects: Sequence[ForeignObject] = FOREIGN_OBJECTS,
        least_view_s: int = 1,
    ) -> None:
        """Build the ledger.

        Args:
            procedure: A sound procedure without contradictions.
            objects: The foreign-object classes; they say what may stay in the body.
            least_view_s: Appearances shorter than this are overlooked. With 2, the ledger is what
                somebody would write down who blinks at every one-second glimpse. What is told of an object at one
                second only, as in a still image, is all there is of it and no glimpse.
        """
        self.procedure, self.objects, self.least_view_s = procedure, tuple(objects), least_view_s
        self.masked = Spans.union(Spans(np.array([a]), np.array([b])) for a, b in procedure.masked)
        by_instance: dict[str, list[Event]] = {track.instance: [] for track in procedure.tracks}
        for event in procedure.events:
            by_instance[event.instance].append(event)
        bag_out_s = _bag_retrievals(procedure, by_instance)
        entries = [self._entry(track, by_instance[track.instance], bag_out_s) for track in procedure.tracks]
        self._entries = {entry.instance: entry for entry in entries}
        self._stays = {kind.name for kind in self.objects if kind.may_stay}

    def _entry(self, track: Track, events: list[Event], bag_out_s: Mapping[str, int]) -> Entry:
        views = Spans.of_seconds(track.seconds[track.in_view]).without(self.masked)
        first_seen = int(views.starts[0]) if len(views) else None
        from_s = counts_from(track.class_name, first_seen, events)
        if from_s is not None and first_seen is not None and first_seen < from_s:
            views = views.within(Window(from_s, self.procedure.duration_s))
        turns = _turns(from_s, events, bag_out_s)
        brief = views.total_s == 1 and {event.second for event in events} <= {first_seen}
        return Entry(track, tuple(events), from_s, turns, views.lasting(1 if brief else self.least_view_s))

    # --- objects -----------------------------------------------------------------------------

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every object, in the order of the tracks."""
        return tuple(self._entries.values())

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """The classes that occur, in alphabetical order."""
        return tuple(sorted({entry.class_name for entry in self.entries}))

    @cached_property
    def _by_class(self) -> dict[str | None, tuple[Entry, ...]]:
        groups: dict[str | None, tuple[Entry, ...]] = {None: self.entries}
        for entry in self.entries:
            groups[entry.class_name] = (*groups.get(entry.class_name, ()), entry)
        return groups

    def entry(self, instance: str) -> Entry:
        """Everything known of one object.

        Raises:
            KeyError: No such object.
        """
        return self._entries[instance]

    def of_class(self, class_name: str | None) -> tuple[Entry, ...]:
        """The objects of a class; of all classes for None."""
        return self._by_class.get(class_name, ())

    # --- state -------------------------------------------------------------------------------

    def state(self, instance: str, second: int) -> State:
        """What has become of an object by that second."""
        return self._entries[instance].state_at(second)

    def whereabouts(self, instance: str, second: int) -> Whereabouts:
        """Where an object is at that second, from what was shown and told until then."""
        entry = self._entries[instance]
        last = entry.views.last_in(Window(0, second))
        places = [e.details[Detail.PLACE] for e in entry.events if e.second <= second and Detail.PLACE in e.details]
        return Whereabouts(entry.state_at(second), entry.views.has(second), last, places[-1] if places else None)

    def counts(self, second: int) -> dict[str, Counter[State]]:
        """How many objects of each class are in each state at that second."""
        table: dict[str, Counter[State]] = {name: Counter() for name in self.class_names}
        for entry in self.entries:
            table[entry.class_name][entry.state_at(second)] += 1
        return table

    def introduced(self, class_name: str | None, second: int) -> list[Entry]:
        """The objects that count by that second, whatever became of them since."""
        return [e for e in self.of_class(class_name) if e.from_s is not None and e.from_s <= second]

    def retrieved(self, class_name: str | None, second: int) -> list[Entry]:
        """The objects that count as retrieved by that second."""
        entries = self.introduced(class_name, second)
        return [entry for entry in entries if counts_as_retrieved(entry.class_name, entry.state_at(second))]

    def returned_in(self, window: Window, class_name: str | None = None) -> list[Entry]:
        """The objects that come to count as retrieved within the window, in order of time."""
        entries = [e for e in self.of_class(class_name) if e.back_s is not None]
        back = [e for e in entries if window.start_s <= (e.back_s or 0) <= window.end_s]
        return sorted(back, key=lambda entry: entry.back_s or 0)

    def inside(self, class_name: str | None, second: int) -> list[Entry]:
        """The objects that count and do not count as retrieved: in the body, wanted or not."""
        entries = self.introduced(class_name, second)
        return [entry for entry in entries if not counts_as_retrieved(entry.class_name, entry.state_at(second))]

    def outstanding(self, class_name: str | None, second: int) -> list[Entry]:
        """The objects that still have to be retrieved at that second."""
        return [
            entry
            for entry in self.inside(class_name, second)
            if entry.class_name not in self._stays and entry.state_at(second) is not State.LEFT_IN_SITU
        ]

    def must_be_retrieved(self, class_name: str) -> bool:
        """Whether objects of that class have to leave the body."""
        return must_be_retrieved(class_name, self.objects)

    # --- view --------------------------------------------------------------------------------

    def views(self, instance: str) -> tuple[Span, ...]:
        """When an object is in view."""
        return tuple(self._entries[instance].views)

    def class_views(self, class_name: str | None) -> Spans:
        """When at least one object of a class is in view; of any class for None."""
        if class_name not in self._unions:
            self._unions[class_name] = Spans.union(entry.views for entry in self.of_class(class_name))
        return self._unions[class_name]

    @cached_property
    def _unions(self) -> dict[str | None, Spans]:
        return {}

    def in_view(self, second: int, class_name: str | None = None) -> list[Entry]:
        """The objects in view at that second, in the order of the tracks."""
        return self.seen_in(Window(second, second), class_name)

    def seen_in(self, window: Window, class_name: str | None = None) -> list[Entry]:
        """The objects in view at any second of the window, in the order of the tracks."""
        if class_name not in self._viewed:
            self._viewed[class_name] = _views_of(self.of_class(class_name))
        starts, ends, owners = self._viewed[class_name]
        seen = ((starts <= window.end_s) & (window.start_s < ends)).nonzero()[0].tolist()
        return list(dict.fromkeys([owners[at] for at in seen]))

    @cached_property
    def _viewed(self) -> dict[str | None, tuple[Seconds, Seconds, list[Entry]]]:
        return {}

    def visibility(self, instance: str, second: int) -> Visibility:
        """How an object is seen at that second."""
        entry = self._entries[instance]
        point = entry.track.point_at(second) if entry.views.has(second) else None
        return point.visibility if point else Visibility.OUTSIDE

    def most_in_view(self, window: Window, class_name: str | None = None) -> Peak:
        """The largest number of objects in view at once, and the first second that reaches it."""
        return self._steps(class_name).peak_in(window)

    def _steps(self, class_name: str | None) -> Steps:
        if class_name not in self._counted:
            self._counted[class_name] = Steps.of_spans(entry.views for entry in self.of_class(class_name))
        return self._counted[class_name]

    @cached_property
    def _counted(self) -> dict[str | None, Steps]:
        return {}

    def seconds_in_view(self, class_name: str | None, window: Window) -> int:
        """For how many seconds of the window at least one object of the class is in view."""
        return self.class_views(class_name).seconds_in(window)

    def absences(self, class_name: str, window: Window, *, least_s: int = 1) -> list[Span]:
        """Stretches of the window in which the class is out of view, seen both before and after."""
        return self.class_views(class_name).gaps_in(window, least_s=least_s)

    # --- events ------------------------------------------------------------------------------

    def events(
        self, window: Window, *, kinds: Sequence[EventKind] | None = None, class_name: str | None = None
    ) -> list[Event]:
        """The annotated events of the window, in order of time."""
        seconds = self._event_seconds
        low, high = seconds.searchsorted(window.start_s, "left"), seconds.searchsorted(window.end_s, "right")
        events = self.procedure.events[int(low) : int(high)]
        return [
            event
            for event in events
            if (kinds is None or event.kind in kinds)
            and (class_name is None or self._entries[event.instance].class_name == class_name)
        ]

    @cached_property
    def _event_seconds(self) -> Seconds:
        return np.array([event.second for event in self.procedure.events], dtype=np.int64)

    def generous(self, window: Window) -> tuple[Ledger, ...]:
        """The ledgers of those who take what is doubtful in the window for seen: all of it, or one object alone."""
        doubted = [
            entry.instance
            for entry in self.entries
            if entry.track.doubtful[
                slice(*entry.track.seconds.searchsorted((window.start_s, window.end_s + 1)).tolist())
            ].any()
        ]
        readings = [frozenset(doubted)] if doubted else []
        return tuple(map(self._trusting, dict.fromkeys([*readings, *(frozenset({one}) for one in doubted)])))

    def _trusting(self, instances: frozenset[str]) -> Ledger:
        """The ledger of somebody who takes every doubtful point of some objects for seen."""
        if instances not in self._trusted:
            tracks = [_trusted(t) if t.instance in instances else t for t in self.procedure.tracks]
            procedure = replace(self.procedure, tracks=tuple(tracks))
            self._trusted[instances] = Ledger(procedure, objects=self.objects, least_view_s=self.least_view_s)
        return self._trusted[instances]

    @cached_property
    def _trusted(self) -> dict[frozenset[str], Ledger]:
        return {}

    @cached_property
    def blinking(self) -> Ledger:
        """The ledger of somebody who overlooks every appearance of a single second."""
        return Ledger(self.procedure, objects=self.objects, least_view_s=2)


def _trusted(track: Track) -> Track:
    codes = np.where(track.doubtful, Visibility.VISIBLE, track.visibility)
    return replace(track, visibility=codes, doubtful=np.zeros(len(track), dtype=bool))


def _views_of(entries: Sequence[Entry]) -> tuple[Seconds, Seconds, list[Entry]]:
    """When each stretch in which an object is in view starts and ends, and whose it is, in the order of the tracks."""
    views = [EMPTY, *(entry.views for entry in entries)]
    owners = [entry for entry in entries for _ in range(len(entry.views))]
    return np.concatenate([spans.starts for spans in views]), np.concatenate([spans.ends for spans in views]), owners


_STATE_AFTER = {
    EventKind.BAGGED: State.BAGGED,
    EventKind.LEFT_IN_SITU: State.LEFT_IN_SITU,
    EventKind.RETRIEVED: State.RETRIEVED,
}


def _bag_retrievals(procedure: Procedure, by_instance: Mapping[str, list[Event]]) -> dict[str, int]:
    """When each object that was retrieved left the body, by instance: the bags among them matter."""
    first = {track.instance: first_of(EventKind.RETRIEVED, by_instance[track.instance]) for track in procedure.tracks}
    return {instance: event.second for instance, event in first.items() if event is not None}


def _turns(from_s: int | None, events: list[Event], bag_out_s: Mapping[str, int]) -> tuple[tuple[int, State], ...]:
    """When an object changes its state; nothing changes after it was retrieved."""
    if from_s is None:
        return ()
    turns = [(event.second, _STATE_AFTER[event.kind]) for event in events if event.kind in _STATE_AFTER]
    bagged = first_of(EventKind.BAGGED, events)
    if bagged is not None and (out := bag_out_s.get(bagged.details.get(Detail.BAG, ""))) is not None:
        turns.append((max(out, bagged.second), State.RETRIEVED))
    order = list(_STATE_AFTER.values())
    turns = sorted(((max(second, from_s), state) for second, state in turns), key=lambda t: (t[0], order.index(t[1])))
    gone = next((at for at, (_, state) in enumerate(turns) if state is State.RETRIEVED), len(turns))
    return ((from_s, State.IN_BODY), *turns[: gone + 1])
