"""Forty-eight short procedures give a hundred questions each, without breaking the limits they were chosen under."""

import pytest

from surgvalid.questions.make import make_questions
from surgvalid.questions.near_duplicates import near_duplicates
from surgvalid.simulation import simulate

pytestmark = pytest.mark.slow


def test_a_hundred_images_per_short_procedure_do_not_break_their_own_limit():
    procedures = simulate(48, seed=7, minutes=(4, 6), width_px=320, height_px=180).procedures()
    made = make_questions(procedures, tracks=["frame"], per_video=100)
    assert len(made.questions) > 48 * 40
    assert near_duplicates(question.draft for question in made.questions) <= 0.02 * len(made.questions)
    assert made.card.leaks.height > 40
    assert made.card.leaks.filter(made.card.leaks["accuracy"] > made.card.leaks["limit"]).is_empty()
