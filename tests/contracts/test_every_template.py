"""Every question template: its answers agree with a plain reading of every second, and follow their format."""

import ast
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from brute_force_answers import ANSWERS
from brute_force_ledger import PlainReading
from procedures import random_procedure
from repository import REPOSITORY
from small_truth import small_truth
from surgvalid.questions.catalogue import TEMPLATES, template_named
from surgvalid.questions.template import (
    FRAME,
    PROCEDURE,
    SEGMENT,
    VERBS,
    QuestionScene,
    QuestionTemplate,
    QuestionTrack,
    _shown_slots,
)
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import CRITERION, Procedure, SceneFact, SceneRelation, Track, Visibility
from surgvalid.schema.questions.formats import FORMATS, build_format
from surgvalid.schema.questions.taxonomy import Capability

PROCEDURES, SIMULATED, WINDOWS = 200, 40, 3
LEAST_ANSWERS = 12
"""A template that the random procedures cannot make sense of this often is not tested by them."""


ORGANS, HANDS = ("omentum", "liver", "cystic duct"), ("grasper_hand0", "hook_hand1", "grasper_hand2")


def related(procedure: Procedure, seed: int) -> Procedure:
    """The procedure with what stands how to what, at two of three seconds."""
    draw, facts = np.random.default_rng([seed, 33]), []
    for second in np.flatnonzero(draw.random(procedure.duration_s) < 0.7).tolist():
        objects = [track.instance for track in procedure.tracks]
        hands = [name for name in HANDS if draw.random() < 0.5]
        alone = [(name, str(draw.choice(["visible", "doubtful"])), "") for name in ORGANS]
        alone += [(name, "visible", "") for name in hands]
        pairs = [(name, str(draw.choice(["touches", "may touch"])), str(draw.choice(ORGANS))) for name in hands]
        for name in objects:
            pairs.append((name, "lies on", str(draw.choice([*ORGANS, *(other for other in objects if other != name)]))))
            ways = [name, str(draw.choice([*ORGANS, *hands]))]
            pairs.append((ways.pop(int(draw.integers(2))), "is in front of", ways[0]))
        kept = [pair for pair in [*alone, *pairs] if draw.random() < 0.8]
        facts += [SceneFact(second, one, SceneRelation(kind), other) for one, kind, other in kept]
    return replace(procedure, relations=tuple(facts))


CRITERIA = ("two structures are seen", "the triangle is cleared")


def rated(procedure: Procedure, seed: int) -> Procedure:
    """The procedure with what raters said of two criteria, at every second on which they agree."""
    draw, tracks = np.random.default_rng(seed), []
    for name in CRITERIA:
        seconds = np.flatnonzero(draw.random(procedure.duration_s) < 0.7)
        codes = draw.choice([Visibility.VISIBLE, Visibility.OUTSIDE], len(seconds))
        tracks.append(Track(name, CRITERION, seconds, np.zeros((len(seconds), 4)), codes))
    return replace(procedure, instruments=tuple(tracks))


@cache
def world(seed: int) -> tuple[Ledger, PlainReading]:
    procedure = related(rated(random_procedure(seed), seed), seed)
    return Ledger(procedure), PlainReading(procedure)


@cache
def simulated_world(number: int) -> tuple[Ledger, PlainReading]:
    procedure = rated(small_truth(2026, number, (2, 4)), number)
    return Ledger(procedure), PlainReading(procedure)


def scenes(template: QuestionTemplate, seed: int, worlds=world):
    """A few scenes per track of the template; windows are drawn here, not by the code under test."""
    draw = np.random.default_rng([seed, *template.name.encode()])
    ledger, plain = worlds(seed)
    last = ledger.procedure.duration_s - 1
    for track in template.tracks * WINDOWS:
        first, second = sorted(int(s) for s in draw.integers(0, last + 1, 2))
        if draw.random() < 0.2:  # all is over only at the very end
            second = last
        window = {FRAME: (second, second), SEGMENT: (first, second), PROCEDURE: (0, second)}[track]
        yield QuestionScene(ledger, Window(*window), track), plain, draw


@pytest.mark.parametrize(
    ("worlds", "count"), [(world, PROCEDURES), (simulated_world, SIMULATED)], ids=["random", "simulated"]
)
@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_the_answer_is_what_a_plain_reading_of_every_second_says(template, worlds, count):
    answers = []
    for seed in range(count):
        for scene, plain, draw in scenes(template, seed, worlds):
            for slots in template.propose(scene, draw):
                expected = ANSWERS[template.name](plain, *scene.window, dict(slots))
                answer = template.answer(scene, slots)
                assert (answer.text if answer else None) == expected, (seed, scene.window, slots)
                answers += [] if expected is None else [expected]
    assert len(answers) >= LEAST_ANSWERS * count / PROCEDURES
    assert len(set(answers)) > 1, "a template with one possible answer asks nothing"


@pytest.mark.long
def test_ten_thousand_answers_on_what_is_placed_for_a_purpose_are_those_of_the_plain_reading():
    template, compared, seed = template_named("class-for"), Counter[str](), 0
    while compared.total() < 10_000:
        procedure = random_procedure(10_000 + seed) if seed % 20 else small_truth(34, seed, (2, 4))
        ledger, plain, draw = Ledger(procedure), PlainReading(procedure), np.random.default_rng([34, seed])
        for track in template.tracks * 60:
            first, second = sorted(int(s) for s in draw.integers(0, procedure.duration_s, 2))
            scene = QuestionScene(ledger, Window(0 if track is PROCEDURE else first, second), track)
            for slots in template.propose(scene, draw):
                expected, answer = (
                    ANSWERS[template.name](plain, *scene.window, dict(slots)),
                    template.answer(scene, slots),
                )
                assert (answer.text if answer else None) == expected, (seed, scene.window, slots)
                compared[expected or ""] += 1
        seed += 1
    assert compared["None"] < 0.7 * compared.total()
    assert len(compared) > 8


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_the_reference_follows_its_own_format_and_rests_on_a_proof(template):
    for seed in range(0, PROCEDURES, 2):
        for scene, _, draw in scenes(template, seed):
            for slots in template.propose(scene, draw):
                if answer := template.answer(scene, slots):
                    assert build_format(template.format).reads(answer.text)
                    assert template.format != "multiple_choice" or answer.text in slots["options"]
                    names = {entry.instance for entry in scene.ledger.entries}
                    assert names.issuperset(answer.proof.instances)
                    assert all(event in scene.ledger.procedure.events for event in answer.proof.events)


STATED = {
    "binary": "yes or no",
    "number": "a number",
    "percentage": "xx%",
    "time": "hh:mm:ss",
    "fo_class": "class name",
    "multiple_choice": "Select one",
    "open_ended": "a few words",
}


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_every_phrasing_fills_its_blanks_and_states_the_format(template):
    texts = set()
    for seed in range(60):
        for scene, _, draw in scenes(template, seed):
            for slots in template.propose(scene, draw):
                texts |= {template.text(scene, slots, n) for n in range(len(template.phrasings))}
    assert len(set(template.phrasings)) >= 5, "four that are asked in training, and one that is held out"
    assert texts
    for text in texts:
        assert STATED[template.format] in text.split("? ")[-1].split(". ")[-1] or STATED[template.format] in text
        assert not re.search(r"[{}]|  |\bNone\b", text), text
        assert text[0].isupper()


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_a_proof_names_nothing_that_comes_after_the_window(template):
    for seed in range(0, PROCEDURES, 4):
        for scene, _, draw in scenes(template, seed):
            for slots in template.propose(scene, draw):
                if answer := template.answer(scene, slots):
                    assert max(answer.proof.seconds, default=0) <= scene.second, slots
                    assert max((event.second for event in answer.proof.events), default=0) <= scene.second, slots


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_no_question_says_its_own_answer(template):
    """An answer may be among the choices or classes that a question names, but then never alone."""
    for seed in range(0, PROCEDURES, 4):
        for scene, _, draw in scenes(template, seed):
            for slots in template.propose(scene, draw):
                answer = template.answer(scene, slots)
                if answer is None or template.format in ("binary", "number"):
                    continue
                said = re.sub(r"Answer with .*", "", template.text(scene, slots, 0)).lower()
                offered = slots.get("options", (slots.get("object"), slots.get("other")))
                several = len({str(choice).lower() for choice in offered if choice} - {answer.text.lower()}) > 0
                if template.format == "time" and slots.get("at_s") is not None:
                    continue
                assert several or not re.search(rf"\b{re.escape(answer.text.lower())}\b", said), said


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.name)
def test_all_phrasings_tell_the_same_and_the_wording_no_more(template):
    """Trivial baselines go by the wording: it must hold what the text tells, times apart, and nothing that one has to
    see.
    """
    shown = {frozenset(_shown_slots(phrasing)) for phrasing in template.phrasings}
    assert len(shown) == 1
    for seed in range(60):
        for scene, _, draw in scenes(template, seed):
            for slots in template.propose(scene, draw):
                text = template.text(scene, slots, 0).lower()
                for told in template.wording(slots)[1:]:
                    key, value = told.split("=", 1)
                    spelled = {"event": VERBS[value] if key == "event" else ""}.get(key, value)
                    if key not in ("options", "nth"):
                        assert str(spelled).lower() in text, (told, text)


def test_a_least_duration_has_room_in_its_window():
    """Ten seconds out of view within twelve: the answer would be 0 whatever the video shows."""
    for template in TEMPLATES:
        for seed in range(0, PROCEDURES, 4):
            for scene, _, draw in scenes(template, seed):
                for slots in template.propose(scene, draw):
                    assert 4 * slots.get("gap_s", 0) <= scene.window.frames


def test_every_capability_and_every_track_has_templates():
    leaves = {capability for capability in Capability if not capability.is_group}
    assert {template.capability for template in TEMPLATES} == leaves
    for track in QuestionTrack:
        assert sum(track in template.tracks for template in TEMPLATES) >= 15
    assert {template.format for template in TEMPLATES} == set(FORMATS) - {"matching"}
    assert any(template.clinical for template in TEMPLATES)


def test_every_template_has_a_name_of_its_own_and_an_oracle():
    names = [template.name for template in TEMPLATES]
    assert len(set(names)) == len(names)
    assert set(ANSWERS) == set(names)
    assert template_named("together").name == "together"


ALLOWED = {
    "surgvalid.questions.knowledge",
    "surgvalid.schema.procedures.tracks",
    "surgvalid.schema.procedures.foreign_objects",
}
"""Data, not derivations: what the oracles may use of the code they judge."""


@pytest.mark.parametrize("name", ["brute_force_answers", "brute_force_ledger"])
def test_the_oracles_share_no_derivation_with_the_ledger(name):
    tree = ast.parse((REPOSITORY / "tests" / "support" / f"{name}.py").read_text(encoding="utf-8"))
    used = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    used |= {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert {module for module in used if module.startswith("surgvalid")} <= ALLOWED


@pytest.mark.parametrize(
    ("name", "asks"),
    [("in_view", "visible-classes"), ("events", "event-count"), ("retrieved", "retrieved-count"),
     ("absences", "absence-count"), ("inside", "still-inside"), ("outstanding", "retained-if-closed")],
)  # fmt: skip
def test_an_error_in_the_ledger_would_be_noticed(name, asks, monkeypatch):
    """The ledger is broken on purpose; the template must then disagree with its oracle."""
    honest = getattr(Ledger, name)
    monkeypatch.setattr(Ledger, name, lambda self, *args, **more: honest(self, *args, **more)[:-1])

    def disagrees(template: QuestionTemplate) -> bool:
        for seed in range(25):
            procedure = random_procedure(seed)
            lie = Ledger(procedure), PlainReading(procedure)
            for scene, plain, draw in scenes(template, seed, lambda _, lie=lie: lie):
                for slots in template.propose(scene, draw):
                    answer = template.answer(scene, slots)
                    if (answer.text if answer else None) != ANSWERS[template.name](plain, *scene.window, dict(slots)):
                        return True
        return False

    assert disagrees(template_named(asks))


def test_every_template_lives_in_the_file_of_its_capability_group():
    for template in TEMPLATES:
        home = "workflow" if template.of_data_sets else template.capability.group.value
        home = "relations" if template.needs.relations else home
        assert template.answer.__module__.endswith(home), template.name
