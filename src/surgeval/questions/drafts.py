"""Drafts: questions that could be asked about one procedure, clear ones only, before any selection."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from surgeval.questions.doubts import doubt_about
from surgeval.questions.scenes import draw_scene
from surgeval.questions.template import Draw, Proof, QuestionTrack, Scene, Slots, Template
from surgeval.schema.intervals import Window
from surgeval.schema.ledger import Ledger
from surgeval.schema.tracks import Visibility

TRIES = 3
"""Scenes drawn per draft that is wanted."""
_OUTSIDE, _OCCLUDED = int(Visibility.OUTSIDE), int(Visibility.OCCLUDED)


@dataclass(frozen=True)
class Draft:
    """A question that could be asked, with its answer."""

    template: Template
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

    @cached_property
    def stem(self) -> tuple[str, ...]:
        """The question without its times: what a system knows that reads the text and never looks."""
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
class Tally:
    """What was tried and why it was not kept, by template."""

    clear: Counter[str] = field(default_factory=Counter)
    doubtful: Counter[tuple[str, str]] = field(default_factory=Counter)
    withheld: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By track, template and reason, in how many procedures it could not be asked."""


def drafts_of(
    ledger: Ledger, track: QuestionTrack, templates: Sequence[Template], wanted: int, draw: Draw, tally: Tally
) -> Iterator[Draft]:
    """Clear drafts for one procedure and track: about `wanted`, spread over the templates."""
    lacking = {template.name: template.needs.missing_from(ledger.procedure) for template in templates}
    tally.withheld.update((track.value, name, why) for name, why in lacking.items() if why)
    templates = [template for template in templates if lacking[template.name] is None]
    each = math.ceil(wanted / max(len(templates), 1))
    for template in templates:
        drawn = 0
        for _ in range(each * TRIES):
            if drawn == each:
                break
            if draft := _draft(ledger, track, template, draw, tally):
                drawn += 1
                yield draft


def _draft(ledger: Ledger, track: QuestionTrack, template: Template, draw: Draw, tally: Tally) -> Draft | None:
    scene = draw_scene(ledger, track, draw)
    if scene is None:
        return None
    for slots in template.propose(scene, draw):
        answer = template.answer(scene, slots)
        if answer is None:
            continue
        if reason := doubt_about(template, scene, slots, answer):
            tally.doubtful[template.name, reason] += 1
            continue
        tally.clear[template.name] += 1
        text = template.text(scene, slots, int(draw.integers(0, len(template.phrasings))))
        procedure = ledger.procedure
        return Draft(
            template, track, procedure.video, scene.window, slots, text, answer.text, answer.proof,
            _facts(scene, answer.proof), procedure.phase_at(scene.second),
        )  # fmt: skip
    return None


def _facts(scene: Scene, proof: Proof) -> dict[str, float]:
    seen = scene.ledger.seen_in(scene.window)
    return {
        "window_s": scene.window.length_s,
        "instances": len(seen),
        "classes": len({entry.class_name for entry in seen}),
        "hidden_share": round(_hidden_share(scene, proof), 3),
    }


def _hidden_share(scene: Scene, proof: Proof) -> float:
    """Of the points that show the objects of the proof, the share that is partly hidden."""
    shown = hidden = 0
    for instance in proof.instances:
        track = scene.ledger.entry(instance).track
        low, high = track.seconds.searchsorted((scene.window.start_s, scene.window.end_s + 1)).tolist()
        codes = track.visibility[low:high]
        shown += codes.size - int(np.count_nonzero(codes == _OUTSIDE))
        hidden += int(np.count_nonzero(codes == _OCCLUDED))
    return hidden / shown if shown else 0.0
