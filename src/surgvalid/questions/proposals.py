"""What the blanks of a question could hold in a scene.

Proposals come in random order, so that the first that can be answered is a fair draw. Every class has
the same chance however many objects it has or how long it is seen, so that rare ones are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from surgvalid.questions.template import FRAME, Draw, QuestionScene, Slots
from surgvalid.schema.procedures.ledger import Entry
from surgvalid.schema.procedures.spans import Spans
from surgvalid.schema.procedures.tracks import Detail, Event, EventKind

T = TypeVar("T")
LEAST_APART_S = 5
"""Two quoted times lie at least so far apart."""
Propose = Callable[[QuestionScene, Draw], Iterable[Slots]]


def nothing(_scene: QuestionScene, _draw: Draw) -> Iterator[Slots]:
    """One proposal without blanks."""
    yield {}


def any_class(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A class that is seen, as often as one that is not."""
    seen = sorted({entry.class_name for entry in scene.ledger.seen_in(scene.window)})
    rest = [kind.name for kind in scene.ledger.objects if kind.name not in seen]
    first, second = (seen, rest) if draw.random() < 0.6 else (rest, seen)
    for name in [*_shuffled(first, draw)[:1], *_shuffled(second, draw)[:1]]:
        yield {"object": name}


def seen_class(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A class that is seen."""
    for name in _shuffled(sorted({entry.class_name for entry in scene.ledger.seen_in(scene.window)}), draw)[:2]:
        yield {"object": name}


def introduced_class(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A class that counts by the end of the window."""
    class_names = {entry.class_name for entry in scene.ledger.introduced(None, scene.second)}
    for name in _shuffled(sorted(class_names), draw)[:2]:
        yield {"object": name}


def two_classes(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """Two different classes that are seen."""
    names = _shuffled(sorted({entry.class_name for entry in scene.ledger.seen_in(scene.window)}), draw)
    if len(names) > 1:
        yield {"object": names[0], "other": names[1]}


def with_gap(propose: Propose, lengths_s: Sequence[int]) -> Propose:
    """The same proposals, each with a least duration that has room in the window, not just once."""

    def proposals(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
        fitting = [length_s for length_s in lengths_s if 4 * length_s <= scene.window.frames]
        for slots in propose(scene, draw) if fitting else ():
            yield {**slots, "gap_s": int(draw.choice(fitting))}

    return proposals


def with_told_event(propose: Propose, kinds: Sequence[EventKind]) -> Propose:
    """The same proposals, each with a kind of event that its class has at some time in the procedure."""

    def proposals(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
        for slots in propose(scene, draw):
            told_kinds = {event.kind for entry in scene.ledger.of_class(slots["object"]) for event in entry.events}
            if possible := [kind for kind in kinds if kind in told_kinds]:
                yield {**slots, "event": _one(possible, draw).value}

    return proposals


def inner_stretch(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A stretch inside the window."""
    length = scene.window.frames
    if length >= 8:
        low, high = sorted(draw.choice(length, size=2, replace=False).tolist())
        yield {"from_s": scene.window.start_s + low, "to_s": scene.window.start_s + high}


def object_in_view(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A second and a class that is then in view; in a frame, the frame's second."""
    for entry in _fair(scene.ledger.seen_in(scene.window), draw):
        second = scene.second if scene.track is FRAME else one_second(entry.views.within(scene.window), draw)
        yield {"object": entry.class_name, "at_s": second}


def object_in_view_twice(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """Two seconds, the later one at least five after the other, at which a class is in view."""
    for slots in object_in_view(scene, draw):
        views = scene.ledger.class_views(slots["object"]).within(scene.window)
        other = one_second(views, draw)
        first, then = sorted((int(slots["at_s"]), other))
        if then - first >= LEAST_APART_S:
            yield {**slots, "at_s": first, "then_s": then}


def second_in_view(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A second at which something is in view; none for an image, which has only one."""
    if scene.track is FRAME:
        yield {}
        return
    for slots in object_in_view(scene, draw):
        yield {"at_s": slots["at_s"]}


def one_seen_twice(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
    """A class and two seconds with one object of it in view each: look-alikes as often as the same one again."""
    names = _shuffled(sorted({entry.class_name for entry in scene.ledger.seen_in(scene.window)}), draw)
    for name in sorted(names, key=lambda name: len(scene.ledger.seen_in(scene.window, name)) < 2):
        seen = {e.instance: e.views.within(scene.window) for e in scene.ledger.seen_in(scene.window, name)}
        others = {key: Spans.union(views for other, views in seen.items() if other != key) for key in seen}
        alone = {key: lone for key, views in seen.items() if (lone := views.without(others[key])).total_s}
        keys = _shuffled(sorted(alone), draw)
        if not keys:
            continue
        pair = keys[:2] if len(keys) > 1 and draw.random() < 0.6 else [keys[0]] * 2
        first, then = sorted(one_second(alone[key], draw) for key in pair)
        if then - first >= LEAST_APART_S:
            yield {"object": name, "at_s": first, "then_s": then}


def told_event(*kinds: EventKind, detail: Detail | None = None, named: bool = True) -> Propose:
    """An annotated event of the window, with its class if `named`; with a detail if one is asked for."""

    def proposals(scene: QuestionScene, draw: Draw) -> Iterator[Slots]:
        events = [e for e in scene.ledger.events(scene.window, kinds=kinds) if detail is None or detail in e.details]
        for event in _fair_events(scene, events, draw)[:2]:
            slots: dict[str, object] = {"event": event.kind.value, "event_s": event.second}
            yield ({"object": scene.ledger.entry(event.instance).class_name} if named else {}) | slots

    return proposals


def _fair(entries: list[Entry], draw: Draw) -> list[Entry]:
    """Two entries at most: classes have equal chances, and so have the objects of a class."""
    names = _shuffled(sorted({entry.class_name for entry in entries}), draw)[:2]
    return [_one([entry for entry in entries if entry.class_name == name], draw) for name in names]


def _fair_events(scene: QuestionScene, events: list[Event], draw: Draw) -> list[Event]:
    by_kind: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        by_kind.setdefault((scene.ledger.entry(event.instance).class_name, event.kind.value), []).append(event)
    return [_one(by_kind[key], draw) for key in _shuffled(sorted(by_kind), draw)]


def one_second(views: Spans, draw: Draw) -> int:
    """A second of the set; every second has the same chance."""
    return views.nth(int(draw.integers(0, views.total_s)))


def _shuffled(items: Sequence[T], draw: Draw) -> list[T]:
    return [items[i] for i in draw.permutation(len(items))]


def _one(items: Sequence[T], draw: Draw) -> T:
    return items[int(draw.integers(0, len(items)))]
