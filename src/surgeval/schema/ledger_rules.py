"""The defining rules of the FOCUS benchmark, each with its text beside the code that applies it.

Source: the challenge document of ORena SAVE FOCUS (definition of a foreign object, annotation stages)
and its foreign-object definitions, in our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from surgeval.schema.foreign_objects import FOREIGN_OBJECTS, ForeignObject
from surgeval.schema.tracks import Event, EventKind


class Rule(NamedTuple):
    """One defining rule."""

    name: str
    text: str


FOREIGN_OBJECT = Rule(
    "foreign-object",
    "A foreign object is a thing that is wholly brought into the body cavity and has to be retrieved or accounted"
    " for. Instruments, which are held from outside, are none. Tissue cut free and stones that fell count too.",
)
FROM_WHEN = Rule(
    "from-when",
    "An object counts from its insertion; where nobody saw that, from the first second that shows it or tells of it.",
)
CLIP_ONCE_PLACED = Rule(
    "clip-once-placed",
    "A clip counts once it is placed. As long as it sits in its applier it is part of an instrument.",
)
BAG_IS_RETRIEVED = Rule(
    "bag-is-retrieved",
    "A specimen or a stone inside a specimen bag counts as retrieved. When the bag leaves the body, so does all in it.",
)
MAY_STAY = Rule(
    "may-stay",
    "Clips, meshes and hemostatic agents are meant to stay. They never have to be retrieved, nor does an object that"
    " was left in the body by declared intent, such as a drain.",
)
VIEW = Rule(
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
