"""What a question says is what its answer rests on: purposes, the rule on bags, options that can be right."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from brute_force_ledger import PlainReading
from procedures import random_procedure
from surgvalid import make_questions
from surgvalid.questions.catalogue import TEMPLATES, template_named
from surgvalid.questions.knowledge import look_alike
from surgvalid.questions.template import BAG_RULE, PROCEDURE, SEGMENT, QuestionScene
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Event, EventKind, Procedure, track_from_points
from surgvalid.simulation import draw_scene, true_procedure

PURPOSE = {"purpose": "closing the cystic duct"}


def clipped(*events: Event) -> Ledger:
    clip = track_from_points("clip 1", "Clip", [(s, (9, 9, 9, 9)) for s in range(20, 300)])
    return Ledger(Procedure("v", "Cholecystectomy", "A", 400, 64, 48, (clip,), events))


def classes_for(ledger: Ledger, start: int, end: int) -> str:
    answer = template_named("class-for").answer(QuestionScene(ledger, Window(start, end), SEGMENT), PURPOSE)
    assert answer is not None
    return answer.text


def test_bookkeeping_is_no_use() -> None:
    ledger = clipped(
        Event(EventKind.PLACED, 20, "clip 1", PURPOSE), Event(EventKind.LEFT_IN_SITU, 350, "clip 1", PURPOSE)
    )
    assert classes_for(ledger, 0, 100) == "Clip"
    assert classes_for(ledger, 300, 399) == "None"


def placed_for(reading: PlainReading, start: int, end: int, purpose: str) -> str:
    """Written from the wording alone: of which classes is an object placed from start to end for that purpose?"""
    names = set()
    for second in range(start, end + 1):
        for event in reading.procedure.events:
            if event.second == second and event.kind == "placed" and event.details.get("purpose") == purpose:
                names.add(reading.class_of[event.instance])
    return ", ".join(sorted(names)) or "None"


@pytest.mark.parametrize(
    ("source", "worlds", "least"),
    [("random", 60, 200), ("simulated", 20, 40), pytest.param("random", 2_200, 10_000, marks=pytest.mark.long)],
)
def test_classes_for_a_purpose_are_those_that_are_placed_for_it(source: str, worlds: int, least: int) -> None:
    template, draw, asked = template_named("class-for"), np.random.default_rng(3), Counter[str]()
    for seed in range(worlds):
        simulated = source == "simulated"
        scene = draw_scene(5, seed, minutes=(2, 3), width_px=96, height_px=54)
        procedure = true_procedure(scene, instruments=False) if simulated else random_procedure(seed)
        ledger, reading = Ledger(procedure), PlainReading(procedure)
        for _ in range(12):
            start, end = sorted(draw.integers(0, procedure.duration_s, 2).tolist())
            scene = QuestionScene(ledger, Window(start, end), SEGMENT)
            for slots in template.propose(scene, draw):
                answer = template.answer(scene, slots)
                assert answer is not None
                expected = placed_for(reading, start, end, slots["purpose"])
                assert answer.text == expected, (procedure.video, start, end, slots)
                asked["None" if expected == "None" else "some"] += 1
    assert min(asked["None"], asked["some"]) >= 20
    assert asked.total() >= least


def test_the_wording_asks_for_what_is_placed() -> None:
    assert all(re.search(r"\bplace[ds]?\b|\bput\b", text) for text in template_named("class-for").phrasings)


def test_the_rule_on_bags_stands_where_retrieval_is_asked_and_nowhere_else() -> None:
    ledger, draw = Ledger(random_procedure(3, most_objects=10, longest_s=600)), np.random.default_rng(1)
    scene = QuestionScene(ledger, Window(0, ledger.procedure.duration_s - 1), PROCEDURE)
    words = re.compile(r"retriev|removed|out of it|search|left behind|retained|in the body", re.IGNORECASE)
    for template in TEMPLATES:
        if PROCEDURE in template.tracks:
            for slots in template.propose(scene, draw):
                for phrasing in range(len(template.phrasings)):
                    text = template.text(scene, slots, phrasing)
                    question = text.replace(BAG_RULE, "")
                    assert (BAG_RULE not in text) or words.search(question), text
    counted = template_named("event-count")
    asked = {"object": "Gallstone", "event": "grasped"}
    assert BAG_RULE not in counted.text(scene, asked, 0)
    assert BAG_RULE in counted.text(scene, {**asked, "event": "retrieved"}, 0)


def test_options_are_what_the_class_usually_has_and_their_order_tells_nothing() -> None:
    drawn = [draw_scene(11, number, minutes=(6, 7), width_px=96, height_px=54) for number in range(24)]
    procedures = [true_procedure(scene, instruments=False) for scene in drawn]
    made = make_questions(procedures, per_video=40, seed=2, test_share=0)
    had = {(t.class_name, value) for p in procedures for t in p.tracks for value in t.attributes.values()}
    had |= {(t.class_name, change.value) for p in procedures for t in p.tracks for change in t.changes}
    placed, offered, right = Counter[int](), Counter[str](), Counter[str]()
    for question in made.questions:
        draft = question.draft
        if draft.template.format != "multiple_choice":
            continue
        options = draft.slots["options"]
        placed[min(options.index(draft.answer), 2)] += 1
        if draft.template.name == "attribute-of":
            assert all((draft.slots["object"], option) in had for option in options), options
            assert not any(look_alike(one, other) for one, other in combinations(options, 2))
        if draft.template.name == "what-happens":
            offered.update(options)
            right[draft.answer] += 1
    assert placed[0] > placed.total() / 5
    assert placed[1] > placed.total() / 5
    assert len(offered) >= 3
    assert all(right[option] >= offered[option] / 12 for option in offered), (offered, right)
