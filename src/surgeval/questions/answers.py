"""From what the ledger says to an answer in the wanted format, with its proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surgeval.questions.template import Answer, Proof, Scene, clock
from surgeval.schema.foreign_objects import NONE
from surgeval.schema.ledger import Entry
from surgeval.schema.tracks import Event, EventKind, Span

PROOF_INSTANCES, PROOF_SECONDS = 50, 20
"""A proof names at most so many; more would not be looked up by anybody."""


def proof(entries: Iterable[Entry] = (), seconds: Iterable[int | None] = (), events: Iterable[Event] = ()) -> Proof:
    """A proof from entries, seconds and events; doubles and Nones are dropped."""
    listed = tuple(events)
    names = dict.fromkeys([entry.instance for entry in entries] + [event.instance for event in listed])
    times = dict.fromkeys(second for second in seconds if second is not None)
    return Proof(tuple(names)[:PROOF_INSTANCES], tuple(times)[:PROOF_SECONDS], listed)


def yes_no(truth: bool, why: Proof, *, doubt: str | None = None) -> Answer:
    """Yes or no."""
    return Answer("yes" if truth else "no", why, doubt)


def number(count: int, why: Proof, *, doubt: str | None = None) -> Answer:
    """A count."""
    return Answer(str(count), why, doubt)


def classes(names: Iterable[str], why: Proof, *, doubt: str | None = None) -> Answer:
    """Class names in alphabetical order, or none."""
    return Answer(", ".join(sorted(set(names))) or NONE, why, doubt)


def time(second: int, why: Proof, *, doubt: str | None = None) -> Answer:
    """A second of the source video, or a duration."""
    return Answer(clock(second), why, doubt)


def share(count: int, whole: int, why: Proof) -> Answer:
    """A share in whole percent, halves rounded up."""
    return Answer(f"{(200 * count + whole) // (2 * whole)}%", why)


def masked_doubt(scene: Scene, gaps: Sequence[Span]) -> str | None:
    """The doubt that an absence is none: part of it is masked, so nobody can see it."""
    masked = scene.ledger.masked
    hidden = any(len(masked.within_span(gap)) for gap in gaps)
    return "a masked stretch hides whether it was in view" if hidden else None


def border_doubt(scene: Scene, second: int, *, border_s: int) -> str | None:
    """The doubt about a first or last sighting at a border of the window: it may be none, and nobody has to look."""
    near = abs(second - border_s) <= scene.tolerance_s
    return "it is in view at the border of the window" if near else None


def intent_doubt(entries: Iterable[Entry], second: int) -> str | None:
    """The doubt about objects that are left in the body on purpose, but not yet declared so at that second."""
    declared = [event.second for entry in entries if (event := entry.event(EventKind.LEFT_IN_SITU))]
    return "it is left in the body on purpose later" if any(at > second for at in declared) else None


def insertion_doubt(scene: Scene, class_name: str) -> str | None:
    """The doubt about insertions of a class of which some came without an annotated one."""
    untold = [e for e in scene.ledger.introduced(class_name, scene.second) if not e.event(EventKind.INSERTED)]
    return "some came without an annotated insertion" if untold else None


def places(box_center: tuple[float, float], width_px: int, height_px: int) -> tuple[str, str | None]:
    """The quadrant of a point and, close to a middle line, the doubt about it."""
    x, y = box_center[0] / width_px - 0.5, box_center[1] / height_px - 0.5
    near = min(abs(x), abs(y)) < 0.05
    name = f"{'upper' if y < 0 else 'lower'} {'left' if x < 0 else 'right'}"
    return name, "it lies on a middle line of the image" if near else None
