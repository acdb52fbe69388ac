"""Ambiguity: would somebody who annotates with a little less care answer differently?

A question is kept only if its answer survives every small change that careful people disagree on:
    a glimpse    appearances of one second are overlooked
    the border   the window starts or ends earlier or later, by the tolerance of its time answers
    the time     a quoted time at which something is seen is off by one second
    the length   a quoted least duration is off by one second
A time may move within its tolerance and a percentage within its own. Single frames are exact: there only
the glimpse counts. What a template itself finds doubtful (two boxes of almost equal size) comes first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from surgeval.questions.template import FRAME, PROCEDURE, Answer, Scene, Slots, Template
from surgeval.schema.formats import AnswerFormat, Percentage, Time, build_format
from surgeval.schema.intervals import Window

_SEEN_AT = ("at_s", "then_s", "from_s", "to_s")


def doubt_about(template: Template, scene: Scene, slots: Slots, answer: Answer) -> str | None:
    """Why the answer is in doubt, or None when it is not."""
    if answer.doubt is not None:
        return answer.doubt
    for reason, changed_scene, changed_slots in _changes(scene, slots):
        other = template.answer(changed_scene, changed_slots)
        if other is None or not _agree(template, scene, answer.text, other.text):
            return reason
    return None


def _changes(scene: Scene, slots: Slots) -> Iterator[tuple[str, Scene, Slots]]:
    yield "it depends on a glimpse of one second", Scene(scene.ledger.blinking, scene.window, scene.track), slots
    if scene.track is FRAME:
        return
    for window in _near_windows(scene):
        yield "it changes near the border of the window", Scene(scene.ledger, window, scene.track), slots
    for key in _SEEN_AT:
        if key in slots:
            for second in (slots[key] - 1, slots[key] + 1):
                if scene.window.start_s <= second <= scene.window.end_s:
                    yield "it changes within a second of the quoted time", scene, {**slots, key: second}
    if "gap_s" in slots:
        for gap_s in (slots["gap_s"] - 1, slots["gap_s"] + 1):
            yield "it changes with the quoted duration", scene, {**slots, "gap_s": gap_s}


def _near_windows(scene: Scene) -> Iterator[Window]:
    start, end = scene.window
    step, last = int(scene.tolerance_s), scene.ledger.procedure.duration_s - 1
    for moved in (end - step, min(end + step, last)):
        if moved != end and moved > start:
            yield Window(start, moved)
    if scene.track is not PROCEDURE:
        for moved in (max(start - step, 0), start + step):
            if moved != start and moved < end:
                yield Window(moved, end)


def _agree(template: Template, scene: Scene, one: str, other: str) -> bool:
    if one == other:
        return True
    if template.format == Time.name:
        kind = _format(Time.name, "threshold_seconds", scene.tolerance_s)
    elif template.format == Percentage.name:
        kind = _format(Percentage.name, "threshold_pp", Percentage().threshold_pp)
    else:
        return False
    return kind.compare(kind.parse(one), kind.parse(other))


@lru_cache(maxsize=1024)
def _format(name: str, parameter: str, tolerance: float) -> AnswerFormat:
    return build_format(name, {parameter: tolerance})
