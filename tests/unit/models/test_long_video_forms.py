"""Forms of answers: whatever is walked letter by letter can be read by the format of the question."""

from __future__ import annotations

import random

import pytest

from surgvalid.models._long_video.forms import AnswerForm, form_of, number, quoted_times, some_of, times
from surgvalid.models._long_video.words import Words
from surgvalid.models._long_video.writing import Line
from surgvalid.questions.template import ENDINGS
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import build_format

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
    for text in texts:
        reader.parse(text)
    assert len(set(texts)) > 1


def test_times_lie_in_their_stretch_and_reach_all_of_it() -> None:
    form = times(3598, 3602)
    every = ["00:59:58", "00:59:59", "01:00:00", "01:00:01", "01:00:02"]
    assert all(form.may_end(form.after(form.start, text)) for text in every)
    for text in ("00:59:57", "01:00:03", "00:00:00", "00:59:60", "09:00:00"):
        assert not form.after(form.start, text)
    chance = random.Random(1)
    assert {walked(form, chance) for _ in range(200)} == set(every)


def test_a_stretch_of_one_second_has_one_time() -> None:
    assert times(75, 75.9).finished(times(75, 75.9).start) == "00:01:15"


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


def test_a_free_answer_of_long_tokens_ends_within_300_letters() -> None:
    line = Line(
        AnswerForm(is_free=True), Words(["seventy letters, as a token of some model might stand for, are many.. "]), [1]
    )
    taken = [line.take(0) for _ in range(5) if not line.is_done]
    assert len(taken) == 5
    text, is_cut = line.whole()
    assert (len(text), is_cut) == (300, False)


def test_tokens_are_admitted_by_all_of_their_letters() -> None:
    words = Words(["", "y", "yes", "ye", "no", "n", "not", " yes", "s", "es", "\n", "\ufffd"])
    _, form = form_of("Is it? Answer with yes or no.", 0, 1, ())
    assert sorted(words.allowed(form, form.start)) == [1, 2, 3, 4, 5]
    assert sorted(words.allowed(form, form.after(form.start, "y"))) == [9]
    assert not words.allowed(form, form.after(form.start, "yes"))


def test_quoted_times_are_seconds() -> None:
    assert quoted_times("Between 00:01:05 and 01:00:00, at 00:99:00?") == [65, 3600]
