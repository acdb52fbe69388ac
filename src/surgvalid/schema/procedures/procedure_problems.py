"""What is wrong with an annotated procedure, every problem at once.

Two kinds are kept apart. *Problems* break the shape of the data (a box of negative size, a second
outside the video, an unknown instance). *Contradictions* are well-formed but cannot both be true (seen
after it was retrieved, inserted twice). Annotators who err write contradictions, so a procedure with
some can be read, reviewed and corrected; no question is made from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from surgvalid.errors import ProcedureInvalid, nearest
from surgvalid.schema.procedures.foreign_objects import INSTRUMENT
from surgvalid.schema.procedures.tracks import UNTOLD, Detail, Event, EventKind, Procedure, Span, Track, Visibility

_OF_THE_VIEW = (EventKind.FIRST_SEEN, EventKind.LEFT_VIEW, EventKind.REAPPEARED)
MEASURES = ("duration_s", "width_px", "height_px")
"""What may be assumed where nobody told it."""
RATE = "fps"
"""May be assumed as well: the rate of frame numbers, on which every time of the procedure rests."""
_ASSUMABLE = (*MEASURES, RATE, *UNTOLD)
_ONCE = (
    EventKind.INSERTED,
    EventKind.FIRST_SEEN,
    EventKind.BAGGED,
    EventKind.RETRIEVED,
    EventKind.LEFT_IN_SITU,
)


def procedure_problems(procedure: Procedure, *, class_names: Sequence[str] | None = None) -> list[str]:
    """Everything that breaks the shape of the data; empty when it is sound.

    Args:
        procedure: What was annotated.
        class_names: Legal foreign-object classes; None accepts any.
    """
    return [
        *_header_problems(procedure),
        *_identity_problems(procedure),
        *(problem for track in procedure.tracks for problem in _track_problems(track, procedure, class_names)),
        *(problem for track in procedure.instruments for problem in _track_problems(track, procedure, None)),
        *_event_problems(procedure),
        *_span_problems("phase", ((p.name, Span(p.start_s, p.end_s)) for p in procedure.phases), procedure.duration_s),
        *_span_problems("masked stretch", (("", span) for span in procedure.masked), procedure.duration_s),
        *_declaration_problems(procedure),
    ]


def check_procedure(procedure: Procedure) -> Procedure:
    """The procedure itself.

    Raises:
        ProcedureInvalid: It has problems; all are listed.
    """
    if problems := procedure_problems(procedure):
        raise ProcedureInvalid(f"procedure {procedure.video!r}", problems)
    return procedure


def contradictions(procedure: Procedure) -> list[str]:
    """Everything in a sound procedure that cannot be true at once."""
    events: dict[str, list[Event]] = {track.instance: [] for track in procedure.tracks}
    for event in procedure.events:
        events.get(event.instance, []).append(event)
    problems = [*_bag_problems(procedure)]
    for track in procedure.tracks:
        problems += [f"{track.instance}: {text}" for text in _story_problems(track, events[track.instance])]
    return problems


# --- shape ---------------------------------------------------------------------------------------


def _header_problems(procedure: Procedure) -> Iterator[str]:
    for name in ("video", "procedure_type", "center"):
        if not str(getattr(procedure, name)).strip():
            yield f"{name} is empty"
    for name in ("duration_s", "width_px", "height_px"):
        value = getattr(procedure, name)
        if value < 1:
            yield f"{name} must be at least 1, got {value}"


def _identity_problems(procedure: Procedure) -> Iterator[str]:
    counted = Counter(track.instance for track in (*procedure.tracks, *procedure.instruments))
    for instance, count in counted.items():
        if not instance.strip():
            yield "a track has no instance id"
        elif count > 1:
            yield f"instance {instance!r} appears {count} times; every object needs an id of its own"


def _track_problems(track: Track, procedure: Procedure, class_names: Sequence[str] | None) -> Iterator[str]:
    where = f"track {track.instance!r}"
    if not track.class_name.strip():
        yield f"{where} has no class"
    elif class_names is not None and track.class_name not in class_names:
        near = nearest(track.class_name, class_names)
        yield f"{where}: {track.class_name!r} is no known class; " + (
            f"did you mean {near!r}?"
            if near
            else f"say --annotated {INSTRUMENT}{track.class_name!r} of an instrument, --definitions of own classes"
        )
    if len(track):
        yield from _point_problems(track, procedure, where)
    for change in track.changes:
        if not 0 <= change.second < procedure.duration_s:
            yield f"{where}: attribute {change.name!r} changes at second {change.second}, outside the video"
    if [c.second for c in track.changes] != sorted(c.second for c in track.changes):
        yield f"{where}: attribute changes are not in order of time"


def _point_problems(track: Track, procedure: Procedure, where: str) -> Iterator[str]:
    steps = np.diff(track.seconds)
    if (bad := np.flatnonzero(steps <= 0)).size:
        kind = "twice" if steps[bad[0]] == 0 else "out of order"
        yield f"{where}: second {track.seconds[bad[0] + 1]} comes {kind} ({bad.size} such places)"
    out = (track.seconds < 0) | (track.seconds >= procedure.duration_s)
    if out.any():
        first = track.seconds[out.argmax()]
        yield f"{where}: {out.sum()} points outside the {procedure.duration_s} s of the video (first: second {first})"
    if (track.visibility > max(Visibility)).any():
        yield f"{where}: unknown visibility code {track.visibility[(track.visibility > max(Visibility)).argmax()]}"
    if (both := track.doubtful & track.in_view).any():
        yield f"{where}: {both.sum()} points are in view and doubtful (first: second {track.seconds[both.argmax()]})"
    seen = track.boxes[track.in_view | track.doubtful]
    if not np.isfinite(seen).all():
        yield f"{where}: {(~np.isfinite(seen)).any(axis=1).sum()} boxes are not finite numbers"
    elif (flat := (seen[:, 2:] <= 0).any(axis=1)).any():
        yield f"{where}: {flat.sum()} boxes have no positive size (first: {seen[flat.argmax()].tolist()})"
    elif (gone := _outside_frame(seen, procedure)).any():
        yield f"{where}: {gone.sum()} boxes lie wholly outside the frame (first: {seen[gone.argmax()].tolist()})"


def _outside_frame(boxes: np.ndarray, procedure: Procedure) -> np.ndarray:
    x, y, width, height = boxes.T
    outside: np.ndarray = (x >= procedure.width_px) | (y >= procedure.height_px) | (x + width <= 0) | (y + height <= 0)
    return outside


def _event_problems(procedure: Procedure) -> Iterator[str]:
    known = {track.instance for track in procedure.tracks}
    for event in procedure.events:
        if event.instance not in known:
            near = nearest(event.instance, known)
            yield f"event {event.kind.value} at second {event.second} names the unknown instance {event.instance!r}" + (
                f"; did you mean {near!r}?" if near else ""
            )
        if not 0 <= event.second < procedure.duration_s:
            yield f"event {event.kind.value} of {event.instance!r} at second {event.second} is outside the video"


def _span_problems(what: str, spans: Iterable[tuple[str, Span]], duration_s: int) -> Iterator[str]:
    last_end, last_name = 0, ""
    for name, span in sorted(spans, key=lambda pair: pair[1]):
        title = f"{what} {name!r}" if name else what
        if span.end_s <= span.start_s:
            yield f"{title} ends at {span.end_s} s, not after its start at {span.start_s} s"
        if span.start_s < 0 or span.end_s > duration_s:
            yield f"{title} ({span.start_s}-{span.end_s} s) reaches outside the {duration_s} s of the video"
        if span.start_s < last_end:
            yield f"{title} starts at {span.start_s} s before {last_name or 'the one before it'} ends at {last_end} s"
        last_end, last_name = max(last_end, span.end_s), name


def rate_problems(procedure: Procedure) -> list[str]:
    """Why no time of a procedure can be believed; empty when they can."""
    if RATE not in procedure.assumed:
        return []
    return [
        "nobody told the rate of its frame numbers, so every time in it would be a guess; give --fps (1 where the "
        "numbers are seconds) or the video file (--video)"
    ]


def _declaration_problems(procedure: Procedure) -> Iterator[str]:
    known = {track.instance for track in procedure.tracks}
    for instance in procedure.proposed:
        if instance not in known:
            yield f"the proposed instance {instance!r} has no track"
    for name in procedure.assumed:
        if name not in _ASSUMABLE:
            yield f"{name!r} cannot be assumed; known: {', '.join(_ASSUMABLE)}"
    if (declared := procedure.declared) is None:
        return
    if declared.spans is not None:
        spans = (("", Span(*span)) for span in declared.spans)
        yield from _span_problems("annotated stretch", spans, procedure.duration_s)
    beyond = {e.kind.value for e in procedure.events if e.kind not in _OF_THE_VIEW} - set(declared.events)
    if beyond:
        yield f"events {', '.join(sorted(beyond))} are given, but not declared as annotated"
    names = {track.class_name for track in procedure.tracks}
    if declared.classes is not None and (more := names - set(declared.classes)):
        yield f"objects of {', '.join(sorted(more))} are given, but not declared as annotated"
    if procedure.phases and not declared.phases:
        yield "phases are given, but not declared as annotated"


# --- story ---------------------------------------------------------------------------------------


def _story_problems(track: Track, events: list[Event]) -> Iterator[str]:
    first = {kind: min((e.second for e in events if e.kind is kind), default=None) for kind in EventKind}
    for kind in _ONCE:
        if (count := sum(event.kind is kind for event in events)) > 1:
            yield f"{count} events {kind.value}, at most one can be"
    seen = track.seconds[track.in_view]
    inserted, retrieved = first[EventKind.INSERTED], first[EventKind.RETRIEVED]
    if inserted is not None:
        if seen.size and seen[0] < inserted:
            yield f"seen at second {seen[0]}, before it was inserted at {inserted}"
        if early := [event for event in events if event.second < inserted]:
            yield f"{early[0].kind.value} at second {early[0].second}, before it was inserted at {inserted}"
    if retrieved is not None:
        if seen.size and seen[-1] > retrieved:
            yield f"seen at second {seen[-1]}, though it was retrieved at {retrieved}"
        if late := [event for event in events if event.second > retrieved]:
            yield f"{late[0].kind.value} at second {late[0].second}, though it was retrieved at {retrieved}"
        if first[EventKind.LEFT_IN_SITU] is not None:
            yield "both retrieved and left in situ"
    yield from _view_problems(seen, events)


def _bag_problems(procedure: Procedure) -> Iterator[str]:
    classes = {track.instance: track.class_name for track in procedure.tracks}
    for event in procedure.events:
        bag = event.details.get(Detail.BAG)
        if event.kind is EventKind.BAGGED and bag is not None and classes.get(bag) != "Specimen Bag":
            what = "unknown" if bag not in classes else f"a {classes[bag]}"
            yield f"{event.instance}: put at second {event.second} into the bag {bag!r}, which is {what}"


def _view_problems(seen: np.ndarray, events: list[Event]) -> Iterator[str]:
    """Events about the view must agree with the track, which is the truth about it."""
    shown = set(seen.tolist())
    for event in events:
        if event.kind is EventKind.LEFT_VIEW and event.second in shown:
            yield f"event left_view at second {event.second}, but the track still shows it then"
        if event.kind is EventKind.REAPPEARED and event.second not in shown:
            yield f"event reappeared at second {event.second}, but the track does not show it then"
    first_seen = next((event.second for event in events if event.kind is EventKind.FIRST_SEEN), None)
    if first_seen is not None and (not seen.size or int(seen[0]) != first_seen):
        shows = f"first shows it at {seen[0]}" if seen.size else "never shows it"
        yield f"event first_seen at second {first_seen}, but the track {shows}"
