"""Drafts: questions that could be asked about one procedure, clear ones only, before any selection.

Windows are drawn where something can be asked: near what is seen and done, with every class having the
same chance, and some of them anywhere, so that empty views are asked about too. A masked frame never is, nor
is a stretch that nobody annotated.

Ambiguity: would somebody who annotates with a little less care answer differently? A question is kept only if its
answer survives every small change that careful people disagree on:
    a glimpse    appearances of one second are overlooked
    the border   the window starts or ends earlier or later, by the tolerance of its time answers
    the time     a quoted time at which something is seen is off by one second
    the length   a quoted least duration is off by one second
    the ambiguity    what shows too little to be sure of counts as seen: all of it, or one object alone
A time may move within its tolerance and a percentage within its own. Single frames are exact: there only
the glimpse and the ambiguity count. What a template itself finds doubtful (two boxes of almost equal size) comes first.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from surgvalid.questions.template import (
    FRAME,
    LONGEST_SEGMENT_S,
    PROCEDURE,
    SEGMENT,
    Draw,
    Proof,
    QuestionScene,
    QuestionTemplate,
    QuestionTrack,
    Slots,
    TemplateAnswer,
)
from surgvalid.questions.usual import Usual
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Visibility
from surgvalid.schema.questions.formats import AnswerFormat, Percentage, Time, build_format

_SEEN_AT = ("at_s", "then_s", "from_s", "to_s")


def ambiguity_of(template: QuestionTemplate, scene: QuestionScene, slots: Slots, answer: TemplateAnswer) -> str | None:
    """Why the answer is ambiguous, or None when it is not."""
    if answer.doubt is not None:
        return answer.doubt
    for reason, changed_scene, changed_slots in _changes(scene, slots):
        other = template.answer(changed_scene, changed_slots)
        if other is None or not _agree(template, scene, answer.text, other.text):
            return reason
    return None


def _changes(scene: QuestionScene, slots: Slots) -> Iterator[tuple[str, QuestionScene, Slots]]:
    yield (
        "it depends on a glimpse of one second",
        QuestionScene(scene.ledger.blinking, scene.window, scene.track),
        slots,
    )
    for ledger in scene.ledger.generous(scene.window):
        yield "it depends on what can hardly be made out", QuestionScene(ledger, scene.window, scene.track), slots
    if scene.track is FRAME:
        return
    for window in _near_windows(scene):
        yield "it changes near the border of the window", QuestionScene(scene.ledger, window, scene.track), slots
    for key in _SEEN_AT:
        if key in slots:
            for second in (slots[key] - 1, slots[key] + 1):
                if scene.window.start_s <= second <= scene.window.end_s:
                    yield "it changes within a second of the quoted time", scene, {**slots, key: second}
    if "gap_s" in slots:
        for gap_s in (slots["gap_s"] - 1, slots["gap_s"] + 1):
            yield "it changes with the quoted duration", scene, {**slots, "gap_s": gap_s}


def _near_windows(scene: QuestionScene) -> Iterator[Window]:
    start, end = scene.window
    step, last = int(scene.tolerance_s), scene.ledger.procedure.duration_s - 1
    for moved in (end - step, min(end + step, last)):
        if moved != end and moved > start:
            yield Window(start, moved)
    if scene.track is not PROCEDURE:
        for moved in (max(start - step, 0), start + step):
            if moved != start and moved < end:
                yield Window(moved, end)


def _agree(template: QuestionTemplate, scene: QuestionScene, one: str, other: str) -> bool:
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


SHORTEST_SEGMENT_S = 10
_ANYWHERE = 0.15
"""Share of the windows that are drawn without looking at what they show."""


def draw_scene(ledger: Ledger, track: QuestionTrack, draw: Draw) -> QuestionScene | None:
    """A scene for a track, or None when no fitting window was found."""
    if track is FRAME:
        second = _second_to_ask_about(ledger, draw)
        window = Window(second, second)
        if ledger.masked.has(second):
            return None
    else:
        window = _segment(ledger, draw) if track is SEGMENT else _prefix(ledger, draw)
    return QuestionScene(ledger, window, track) if _was_looked_at(ledger, window) else None


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


TRIES = 3
"""Scenes drawn per draft that is wanted."""
_OUTSIDE, _OCCLUDED = int(Visibility.OUTSIDE), int(Visibility.OCCLUDED)


@dataclass(frozen=True)
class Draft:
    """A question that could be asked, with its answer."""

    template: QuestionTemplate
    track: QuestionTrack
    video: str
    window: Window
    slots: Slots
    text: str
    answer: str
    proof: Proof
    facts: dict[str, float]
    """What makes it hard: length of the window, objects, classes, hidden share."""
    phase: str | None
    held_out: str = ""
    """The question in the phrasing that training never shows."""

    @cached_property
    def stem(self) -> tuple[str, ...]:
        """The question without its times: what an input-blind system knows, which reads the text alone."""
        return self.template.wording(self.slots)

    @cached_property
    def answer_group(self) -> str:
        """Answers that count as the same when answers are balanced: shares in steps of ten."""
        return str(int(self.answer.rstrip("%")) // 10) if self.template.format == "percentage" else self.answer

    @cached_property
    def case(self) -> str:
        """An identifier that follows from what is asked alone."""
        asked = [self.video, self.track.value, self.template.name, *self.window, dict(self.slots)]
        digest = hashlib.blake2b(json.dumps(asked, sort_keys=True).encode(), digest_size=8).hexdigest()
        return f"{self.track.value[0]}{digest}"


@dataclass(slots=True)
class DraftTally:
    """What was tried and why it was not kept, by template."""

    clear: Counter[str] = field(default_factory=Counter)
    doubtful: Counter[tuple[str, str]] = field(default_factory=Counter)
    withheld: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By track, template and reason, in how many procedures it could not be asked."""


def drafts_of(
    ledger: Ledger,
    track: QuestionTrack,
    templates: Sequence[QuestionTemplate],
    wanted: int,
    draw: Draw,
    tally: DraftTally,
    usual: Usual | None = None,
) -> Iterator[Draft]:
    """Clear drafts for one procedure and track: about `wanted`, spread over the templates, with usual options."""
    lacking = {template.name: template.needs.missing_from(ledger.procedure) for template in templates}
    tally.withheld.update((track.value, name, why) for name, why in lacking.items() if why)
    templates = [template for template in templates if lacking[template.name] is None]
    each = math.ceil(wanted / max(len(templates), 1))
    for template in templates:
        drawn = 0
        for _ in range(each * TRIES):
            if drawn == each:
                break
            if draft := _draft(ledger, track, template, draw, tally, usual):
                drawn += 1
                yield draft


def _draft(
    ledger: Ledger,
    track: QuestionTrack,
    template: QuestionTemplate,
    draw: Draw,
    tally: DraftTally,
    usual: Usual | None,
) -> Draft | None:
    scene = draw_scene(ledger, track, draw)
    if scene is None:
        return None
    scene = replace(scene, usual=usual)
    if template.needs.relations:
        second = ledger.procedure.relations[int(draw.integers(len(ledger.procedure.relations)))].second
        scene = replace(scene, window=Window(second, second))
    for proposed in template.propose(scene, draw):
        slots = in_hashed_order(template, scene, proposed)
        answer = template.answer(scene, slots)
        if answer is None:
            continue
        if reason := ambiguity_of(template, scene, slots, answer):
            tally.doubtful[template.name, reason] += 1
            continue
        tally.clear[template.name] += 1
        *texts, held_out = (template.text(scene, slots, number) for number in range(len(template.phrasings)))
        procedure = ledger.procedure
        return Draft(
            template,
            track,
            procedure.video,
            scene.window,
            slots,
            texts[int(draw.integers(0, len(texts)))],
            answer.text,
            answer.proof,
            _facts(scene, answer.proof),
            procedure.phase_at(scene.second),
            held_out,
        )
    return None


def in_hashed_order(template: QuestionTemplate, scene: QuestionScene, slots: Slots) -> Slots:
    """The slots with their options in an order that follows from what is asked and tells nothing."""
    if template.format != "multiple_choice":
        return slots
    rest = sorted((name, str(value)) for name, value in slots.items() if name != "options")
    asked = [scene.ledger.procedure.video, template.name, *scene.window, rest]

    def mixed(option: str) -> bytes:
        return hashlib.blake2b(json.dumps([*asked, option]).encode(), digest_size=8).digest()

    return {**slots, "options": tuple(sorted(slots["options"], key=mixed))}


def _facts(scene: QuestionScene, proof: Proof) -> dict[str, float]:
    seen = scene.ledger.seen_in(scene.window)
    return {
        "window_s": scene.window.length_s,
        "instances": len(seen),
        "classes": len({entry.class_name for entry in seen}),
        **_dials(scene, proof),
    }


_EASY_HIGH = frozenset(("seen_px", "shown", "contrast", "transmitted", "times_seen", "s_visible"))


def _dials(scene: QuestionScene, proof: Proof) -> dict[str, float]:
    """How hard it is to see what the answer rests on: of each object in its clearest second, then of the hardest one.

    Objects that are never in view in the window have none. `hidden_share` is that of all their seconds in view.
    """
    each: list[dict[str, float]] = []
    hidden: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
    for instance in proof.instances:
        track = scene.ledger.entry(instance).track
        low, high = track.seconds.searchsorted((scene.window.start_s, scene.window.end_s + 1)).tolist()
        here = np.flatnonzero(track.visibility[low:high] != _OUTSIDE) + low
        if not here.size:
            continue
        seconds = track.seconds[here]
        hidden.append(track.visibility[here] == _OCCLUDED)
        clearest = here[np.argmax(track.dials["seen_px"][here])] if "seen_px" in track.dials else 0
        clear = {name: float(numbers[clearest]) for name, numbers in track.dials.items()}
        clear |= {"s_since_seen": float(scene.second - seconds[-1]), "s_visible": float(seconds.size)}
        each.append(clear | {"times_seen": 1.0 + int(np.count_nonzero(np.diff(seconds) > 1))})
    dials = {
        name: (min if name in _EASY_HIGH else max)(one[name] for one in each if name in one)
        for name in dict.fromkeys(key for one in each for key in one)
    }
    return dials | {"hidden_share": round(float(np.concatenate(hidden).mean()), 3)} if each else {}
