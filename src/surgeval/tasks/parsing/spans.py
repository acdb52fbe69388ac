"""A stretch of time: start and end under keys, or two times in the text, mapped to seconds of the clip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surgeval.tasks.parsing.json_objects import last_list, last_object
from surgeval.tasks.parsing.reading import Read, Reading, failed
from surgeval.tasks.parsing.values import clocks_in, seconds_of

_STARTS = ("start_time", "start", "begin", "start_s", "from", "begins", "start_frame")
_ENDS = ("end_time", "end", "stop", "end_s", "to", "ends", "end_frame")
_PAIR = 2


def read_span(
    text: str, *, duration_s: float | None, frames_s: tuple[float, ...] = (), lenient: bool = False
) -> Reading:
    """Start and end in seconds, cut to the clip; an end before the start is no answer unless lenient."""
    held = last_object(text)
    if held is not None:
        start, end, exact = *_of_object(held.value, frames_s), held.strict
    else:
        start, end, exact = *_of_text(text, frames_s), False
    if start is None or end is None:
        return failed("start or end is no time" if held is not None else "no two times in the answer")
    notes = []
    if end < start:
        if not lenient:
            return failed(f"ends at {end:g} s, before its start at {start:g} s")
        start, end, exact = end, start, False
        notes.append("start and end were exchanged")
    if duration_s is not None and end > duration_s:
        notes.append(f"cut to the {duration_s:g} s of the clip")
        start, end = min(start, duration_s), duration_s
    return Reading(Read.OK if exact else Read.REPAIRED, (start, end), notes=tuple(notes))


def _of_object(value: Mapping[Any, Any], frames_s: tuple[float, ...]) -> tuple[float | None, float | None]:
    by_key = {str(key).casefold().replace(".", "_").replace(" ", "_"): one for key, one in value.items()}
    if len(by_key) == 1 and isinstance(only := next(iter(by_key.values())), dict):
        return _of_object(only, frames_s)
    times = [next((by_key[name] for name in names if name in by_key), None) for names in (_STARTS, _ENDS)]
    start, end = (seconds_of(one, frames_s=frames_s) for one in times)
    return start, end


def _of_text(text: str, frames_s: tuple[float, ...]) -> tuple[float | None, float | None]:
    clocks = clocks_in(text)
    if len(clocks) == _PAIR:
        return clocks[0], clocks[1]
    listed = last_list(text)
    if not clocks and listed is not None and len(listed.value) == _PAIR:
        start, end = (seconds_of(one, frames_s=frames_s) for one in listed.value)
        return start, end
    return None, None
