"""From what the ledger says to an answer in the wanted format, with its proof; of events, the one that is meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surgvalid.questions.template import VERBS, Proof, QuestionScene, Slots, TemplateAnswer, clock
from surgvalid.schema.procedures.foreign_objects import NONE
from surgvalid.schema.procedures.ledger import Entry
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Detail, Event, EventKind, Span

PROOF_INSTANCES, PROOF_SECONDS = 50, 20
"""A proof names at most so many; more would not be looked up by anybody."""


def proof(entries: Iterable[Entry] = (), seconds: Iterable[int | None] = (), events: Iterable[Event] = ()) -> Proof:
    """A proof from entries, seconds and events; doubles and Nones are dropped."""
    listed = tuple(events)
    names = dict.fromkeys([entry.instance for entry in entries] + [event.instance for event in listed])
    times = dict.fromkeys(second for second in seconds if second is not None)
    return Proof(tuple(names)[:PROOF_INSTANCES], tuple(times)[:PROOF_SECONDS], listed)


def yes_no(truth: bool, why: Proof, *, doubt: str | None = None) -> TemplateAnswer:
    """Yes or no."""
    return TemplateAnswer("yes" if truth else "no", why, doubt)


def number(count: int, why: Proof, *, doubt: str | None = None) -> TemplateAnswer:
    """A count."""
    return TemplateAnswer(str(count), why, doubt)


def classes(names: Iterable[str], why: Proof, *, doubt: str | None = None) -> TemplateAnswer:
    """Class names in alphabetical order, or none."""
    return TemplateAnswer(", ".join(sorted(set(names))) or NONE, why, doubt)


def time(second: int, why: Proof, *, doubt: str | None = None) -> TemplateAnswer:
    """A second of the source video, or a duration."""
    return TemplateAnswer(clock(second), why, doubt)


def share(count: int, whole: int, why: Proof) -> TemplateAnswer:
    """A share in whole percent, halves rounded up."""
    return TemplateAnswer(f"{(200 * count + whole) // (2 * whole)}%", why)


def masked_ambiguity(scene: QuestionScene, gaps: Sequence[Span]) -> str | None:
    """The ambiguity that an absence is none: part of it is masked, so nobody can see it."""
    masked = scene.ledger.masked
    hidden = any(len(masked.within_span(gap)) for gap in gaps)
    return "a masked stretch hides whether it was in view" if hidden else None


def border_ambiguity(scene: QuestionScene, second: int, *, border_s: int) -> str | None:
    """The ambiguity about a first or last sighting at a border of the window: it may be none,
    and nobody has to look.
    """
    near = abs(second - border_s) <= scene.tolerance_s
    return "it is in view at the border of the window" if near else None


def intent_ambiguity(entries: Iterable[Entry], second: int) -> str | None:
    """The ambiguity about objects that are left in the body on purpose, but not yet declared so at that second."""
    declared = [event.second for entry in entries if (event := entry.event(EventKind.LEFT_IN_SITU))]
    return "it is left in the body on purpose later" if any(at > second for at in declared) else None


def insertion_ambiguity(scene: QuestionScene, class_name: str) -> str | None:
    """The ambiguity about insertions of a class of which some came without an annotated one."""
    untold = [e for e in scene.ledger.introduced(class_name, scene.second) if not e.event(EventKind.INSERTED)]
    return "some came without an annotated insertion" if untold else None


def places(box_center: tuple[float, float], width_px: int, height_px: int) -> tuple[str, str | None]:
    """The quadrant of a point and, close to a middle line, the ambiguity about it."""
    x, y = box_center[0] / width_px - 0.5, box_center[1] / height_px - 0.5
    near = min(abs(x), abs(y)) < 0.05
    name = f"{'upper' if y < 0 else 'lower'} {'left' if x < 0 else 'right'}"
    return name, "it lies on a middle line of the image" if near else None


NEARBY_S = 3
"""Two events so close together cannot be told apart by the time a question quotes."""


def the_event(scene: QuestionScene, slots: Slots) -> Event | None:
    """The event a question means: of its kind, its class (if it names one) and its second.

    Where several fit, the first in the order of the annotations; `nearby` tells of the others.
    """
    if not scene.window.start_s <= slots["event_s"] <= scene.window.end_s:
        return None
    second = Window(slots["event_s"], slots["event_s"])
    events = scene.ledger.events(second, kinds=[EventKind(slots["event"])], class_name=slots.get("object"))
    return events[0] if events else None


def nearby(scene: QuestionScene, slots: Slots, *, any_kind: bool = False) -> list[Event]:
    """Every event that somebody might mean who is off by a few seconds, the meant one included."""
    around = Window(slots["event_s"] - NEARBY_S, slots["event_s"] + NEARBY_S)
    kinds = list(VERBS) if any_kind else [EventKind(slots["event"])]
    return scene.ledger.events(around, kinds=kinds, class_name=slots.get("object"))


def detail_of(scene: QuestionScene, slots: Slots, detail: Detail) -> TemplateAnswer | None:
    """A detail of the event that the question means; ambiguous if an event nearby tells another."""
    event = the_event(scene, slots)
    value = event.details.get(detail) if event else None
    if event is None or value is None:
        return None
    others = {other.details.get(detail) for other in nearby(scene, slots)}
    doubt = "another event close by tells something else" if others != {value} else None
    return TemplateAnswer(value, proof(events=[event]), doubt)
