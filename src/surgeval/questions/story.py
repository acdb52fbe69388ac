"""Answers from annotated events: the one event a question means, and what is told of it."""

from __future__ import annotations

from surgeval.questions.answers import proof
from surgeval.questions.template import VERBS, Answer, Scene, Slots
from surgeval.schema.intervals import Window
from surgeval.schema.tracks import Detail, Event, EventKind

NEARBY_S = 3
"""Two events so close together cannot be told apart by the time a question quotes."""


def the_event(scene: Scene, slots: Slots) -> Event | None:
    """The event a question means: of its kind, its class (if it names one) and its second.

    Where several fit, the first in the order of the annotations; `nearby` tells of the others.
    """
    if not scene.window.start_s <= slots["event_s"] <= scene.window.end_s:
        return None
    second = Window(slots["event_s"], slots["event_s"])
    events = scene.ledger.events(second, kinds=[EventKind(slots["event"])], class_name=slots.get("object"))
    return events[0] if events else None


def nearby(scene: Scene, slots: Slots, *, any_kind: bool = False) -> list[Event]:
    """Every event that somebody might mean who is off by a few seconds, the meant one included."""
    around = Window(slots["event_s"] - NEARBY_S, slots["event_s"] + NEARBY_S)
    kinds = list(VERBS) if any_kind else [EventKind(slots["event"])]
    return scene.ledger.events(around, kinds=kinds, class_name=slots.get("object"))


def detail_of(scene: Scene, slots: Slots, detail: Detail) -> Answer | None:
    """A detail of the event that the question means; in doubt if an event nearby tells another."""
    event = the_event(scene, slots)
    value = event.details.get(detail) if event else None
    if event is None or value is None:
        return None
    others = {other.details.get(detail) for other in nearby(scene, slots)}
    doubt = "another event close by tells something else" if others != {value} else None
    return Answer(value, proof(events=[event]), doubt)
