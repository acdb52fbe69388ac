"""Forms of answers: whatever is walked letter by letter can be read by the format of the question."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from procedures import random_procedure
from surgvalid.models._long_video import forms
from surgvalid.models._long_video.forms import AnswerForm, form_of, number, quoted_times, some_of, times
from surgvalid.models._long_video.words import Words
from surgvalid.questions.catalogue import TEMPLATES
from surgvalid.questions.template import ENDINGS, FRAME, PROCEDURE, SEGMENT, QuestionScene
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.procedures.ledger import Ledger
from surgvalid.schema.procedures.spans import Window
from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.schema.questions.formats import build_format
from surgvalid.simulation import draw_scene, true_procedure

START_S, END_S = 3500.0, 7265.0
SELECT = "Where is the sponge? Select one: upper left; upper right; lower left."
MATCH = "Answer in the form 'Sponge: ...; Clip: ...' with one of first, second for each."
ENDED = [(name, f"What is asked? {ending}") for (name, _), ending in ENDINGS.items()]
QUESTIONS = [*ENDED, ("multiple_choice", SELECT), ("matching", MATCH)]


def walked(form: AnswerForm, chance: random.Random) -> str:
    """A text by chance, ended by chance where it may end and finished after 60 letters."""
    states, text = form.start, ""
    while len(text) < 60:
        letters = sorted(form.letters(states))
        if not letters or (form.may_end(states) and chance.random() < 0.2):
            break
        letter = chance.choice(letters)
        states, text = form.after(states, letter), text + letter
    return text + form.finished(states)


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=lambda value: value[-30:])
def test_no_walk_leaves_the_format(name: str, question: str) -> None:
    detected, form = form_of(question, START_S, END_S, CLASS_NAMES)
    assert detected == name
    if form.is_free:
        return
    parameters = {"pattern": "Sponge: (first|second); Clip: (first|second)"} if name == "matching" else {}
    reader, chance = build_format(name, parameters), random.Random(0)
    texts = [walked(form, chance) for _ in range(60)]
    (held,) = (form.schema or {})["properties"].values()
    assert all(text in held["enum"] if "enum" in held else re.search(held["pattern"], text) for text in texts)
    for text in texts:
        reader.parse(text)
    assert len(set(texts)) > 1


def test_times_lie_in_their_stretch_and_reach_all_of_it() -> None:
    form = times((3598, 3602))
    every = ["00:59:58", "00:59:59", "01:00:00", "01:00:01", "01:00:02"]
    assert all(form.may_end(form.after(form.start, text)) for text in every)
    for text in ("00:59:57", "01:00:03", "00:00:00", "00:59:60", "09:00:00"):
        assert not form.after(form.start, text)
    chance = random.Random(1)
    assert {walked(form, chance) for _ in range(200)} == set(every)


def test_a_stretch_of_one_second_has_one_time() -> None:
    assert times((75, 75.9)).finished(times((75, 75.9)).start) == "00:01:15"


def test_numbers_have_no_leading_zero() -> None:
    form = number()
    assert form.may_end(form.after(form.start, "0"))
    assert form.may_end(form.after(form.start, "120"))
    assert not form.after(form.start, "01")
    assert not form.after(form.start, "1200")


def test_none_stands_alone() -> None:
    form = some_of(["Clip", "Sponge"], 3, alone=["none"])
    assert form.may_end(form.after(form.start, "Clip, Sponge"))
    assert not form.after(form.start, "none,")
    assert not form.after(form.start, "Clip, none")


def test_options_may_hold_one_another() -> None:
    """`Specimen` and `Specimen Bag`: an answer may end after either."""
    _, form = form_of("Which? Answer with the class name.", 0, 1, CLASS_NAMES)
    assert form.may_end(form.after(form.start, "Specimen"))
    assert form.may_end(form.after(form.start, "Specimen Bag"))
    assert not form.may_end(form.after(form.start, "Specimen B"))


def test_an_unknown_wording_is_free_text_of_at_most_300_letters() -> None:
    name, form = form_of("Describe the scene.", 0, 1, CLASS_NAMES)
    assert (name, form.is_free) == ("open_ended", True)
    assert form.after(form.start, "x" * 300)
    assert not form.after(form.start, "x" * 301)
    assert not form.after(form.start, "two\nlines")


def test_tokens_are_admitted_by_all_of_their_letters() -> None:
    words = Words(["", "y", "yes", "ye", "no", "n", "not", " yes", "s", "es", "\n", "\ufffd"])
    _, form = form_of("Is it? Answer with yes or no.", 0, 1, ())
    assert sorted(words.allowed(form, form.start)) == [1, 2, 3, 4, 5]
    assert sorted(words.allowed(form, form.after(form.start, "y"))) == [9]
    assert not words.allowed(form, form.after(form.start, "yes"))


def test_quoted_times_are_seconds() -> None:
    assert quoted_times("Between 00:01:05 and 01:00:00, at 00:99:00?") == [65, 3600]


# --- every reference can be said -------------------------------------------------------------------------------------


def unsaid(procedure: Procedure, seed: int) -> tuple[int, list[str]]:
    """How many questions of every template in every wording were tried, and those whose reference no form admits."""
    ledger, draw, last = Ledger(procedure), np.random.default_rng(seed), procedure.duration_s - 1
    tried, wrong = 0, []
    for template in TEMPLATES:
        for track in template.tracks:
            end = int(draw.integers(0, last + 1))
            start = {FRAME: end, SEGMENT: max(0, end - int(draw.integers(10, 300))), PROCEDURE: 0}[track]
            scene = QuestionScene(ledger, Window(start, end), track)
            for slots in list(template.propose(scene, draw))[:3]:
                answer = template.answer(scene, slots)
                for phrasing in range(len(template.phrasings) if answer else 0):
                    text = template.text(scene, slots, phrasing)
                    name, form = form_of(text, start, end, CLASS_NAMES)
                    tried += 1
                    assert answer is not None
                    if name != template.format or not (form.admits(answer.text) or form.admits(answer.text.lower())):
                        wrong.append(f"{text} {answer.text} in {start} to {end}")
    return tried, wrong


def test_every_reference_of_every_template_can_be_said() -> None:
    counts, wrong = zip(*(unsaid(random_procedure(seed, longest_s=7200), seed) for seed in range(4)), strict=True)
    assert sum(counts) > 150
    assert [line for lines in wrong for line in lines] == []


def test_durations_taken_for_times_inside_the_window_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect as it was: every hh:mm:ss had to lie in the window, so a segment in the middle had no durations."""

    def inside(_: object, start_s: float, end_s: float, most: int = 1) -> AnswerForm:
        return times((start_s, end_s), most=most)

    monkeypatch.setattr(forms, "_clock_form", inside)
    assert [line for seed in range(2) for line in unsaid(random_procedure(seed, longest_s=7200), seed)[1]]


@pytest.mark.long
def test_every_reference_of_simulated_procedures_can_be_said() -> None:
    """One of them lasts an hour and more."""
    for seed in range(16):
        minutes = (61, 63) if seed == 0 else (3, 5)
        scene = draw_scene(7, seed, minutes=minutes, width_px=96, height_px=54)
        assert unsaid(true_procedure(scene, instruments=False), seed)[1] == []


@pytest.mark.parametrize(
    ("question", "said", "not_said"),
    [
        ("How long is it visible? Answer with a time (hh:mm:ss).", "00:00:07", "00:58:20"),
        ("When is it visible? Answer with a time (hh:mm:ss).", "00:58:21", "00:00:07"),
        ("How much time passes until it is seen? (hh:mm:ss)", "00:01:40", "00:58:20"),
    ],
)
def test_durations_are_no_longer_than_the_window_and_times_lie_in_it(question: str, said: str, not_said: str) -> None:
    _, form = form_of(question, 3500, 3800, CLASS_NAMES)
    assert form.admits(said)
    assert not form.admits(not_said)


def test_a_wording_that_says_neither_may_be_answered_with_both() -> None:
    _, form = form_of("Give the time it takes, as hh:mm:ss.", 3500, 3800, CLASS_NAMES)
    assert form.admits("00:00:07")
    assert form.admits("00:58:21")
