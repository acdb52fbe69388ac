"""Which windows of a procedure questions are asked about.

Windows are drawn where something can be asked: near what is seen and done, with every class having the
same chance, and some of them anywhere, so that empty views are asked about too. A masked frame never is, nor
is a stretch that nobody annotated.
"""

from __future__ import annotations

import math

from surgeval.questions.template import FRAME, LONGEST_SEGMENT_S, SEGMENT, Draw, QuestionTrack, Scene
from surgeval.schema.intervals import Window
from surgeval.schema.ledger import Ledger

SHORTEST_SEGMENT_S = 10
_ANYWHERE = 0.15
"""Share of the windows that are drawn without looking at what they show."""


def draw_scene(ledger: Ledger, track: QuestionTrack, draw: Draw) -> Scene | None:
    """A scene for a track, or None when no fitting window was found."""
    if track is FRAME:
        second = _second_to_ask_about(ledger, draw)
        window = Window(second, second)
        if ledger.masked.has(second):
            return None
    else:
        window = _segment(ledger, draw) if track is SEGMENT else _prefix(ledger, draw)
    return Scene(ledger, window, track) if _was_looked_at(ledger, window) else None


def _was_looked_at(ledger: Ledger, window: Window) -> bool:
    """Whether the window lies within one stretch that was annotated."""
    declared = ledger.procedure.declared
    spans = None if declared is None else declared.spans
    return spans is None or any(start_s <= window.start_s and window.end_s < end_s for start_s, end_s in spans)


def _second_to_ask_about(ledger: Ledger, draw: Draw) -> int:
    names = ledger.class_names
    if names and draw.random() > _ANYWHERE:
        views = ledger.class_views(names[int(draw.integers(0, len(names)))])
        if views.total_s:
            return views.nth(int(draw.integers(0, views.total_s)))
    return int(draw.integers(0, ledger.procedure.duration_s))


def _event_second(ledger: Ledger, draw: Draw) -> int | None:
    events = ledger.procedure.events
    return events[int(draw.integers(0, len(events)))].second if events else None


def _segment(ledger: Ledger, draw: Draw) -> Window:
    """Up to five minutes around an event or a sighting; lengths are log-uniform."""
    last = ledger.procedure.duration_s - 1
    shortest, longest = math.log(SHORTEST_SEGMENT_S), math.log(LONGEST_SEGMENT_S)
    length = min(round(math.exp(shortest + (longest - shortest) * draw.random())), LONGEST_SEGMENT_S, last)
    anchor = _event_second(ledger, draw) if draw.random() < 0.5 else None
    if anchor is None:
        anchor = _second_to_ask_about(ledger, draw)
    start = min(max(anchor - int(draw.integers(0, length + 1)), 0), last - length)
    return Window(start, start + length)


def _prefix(ledger: Ledger, draw: Draw) -> Window:
    """Everything up to a second: the end, a while after an event, or any."""
    last = ledger.procedure.duration_s - 1
    choice, event_s = draw.random(), _event_second(ledger, draw)
    if choice < 0.2:
        return Window(0, last)
    if choice < 0.6 and event_s is not None:
        return Window(0, min(event_s + int(draw.integers(6, 120)), last))
    return Window(0, int(draw.integers(min(30, last), last + 1)))
