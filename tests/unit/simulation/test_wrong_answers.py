"""Wrong answers are wrong in the ways of the field: off by one, one class too many, another option."""

from collections import Counter

import numpy as np
import pytest

from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import FORMATS, build_format
from surgvalid.schema.questions.questions import Reference, Request
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.simulation.models import _DRAWERS, wrong_answer

LEAF = Capability.OBJECT_IDENTIFICATION


def wrong(format_name: str, answer: str, question: str = "?", rounds: int = 200, **parameters: object) -> Counter[str]:
    reference = Reference("q", LEAF, format_name, answer, parameters)
    form = build_format(format_name, parameters)
    rng = np.random.default_rng(0)
    request = Request("q", "v", 0, 3600, "", question)
    return Counter(wrong_answer(reference, request, form, rng) for _ in range(rounds))


def test_every_format_has_a_way_to_be_wrong():
    assert set(_DRAWERS) | {"open_ended"} == set(FORMATS)


def test_counts_are_mostly_off_by_one_and_never_negative():
    found = wrong("number", "4")
    assert set(map(int, found)) <= {1, 2, 3, 5, 6, 7}
    assert found["3"] + found["5"] > 0.5 * found.total()
    assert min(map(int, wrong("number", "0"))) > 0


def test_classes_are_one_too_many_one_too_few_or_one_taken_for_another():
    sizes = Counter(len(text.split(", ")) for text in wrong("fo_class", "Clip, Sponge").elements())
    assert set(sizes) == {1, 2, 3}
    assert all(name in CLASS_NAMES for name in wrong("fo_class", "None"))
    assert "None" in wrong("fo_class", "Clip")


def test_times_are_as_many_as_wanted_and_within_the_window():
    for text in wrong("time", "00:10:00, 00:20:00", threshold_seconds=5.0):
        stamps = text.split(", ")
        assert len(stamps) == 2
        assert all("00:00:00" <= stamp <= "01:00:00" for stamp in stamps)


@pytest.mark.parametrize(
    ("question", "answer", "others"),
    [
        ("Where? Select one: liver; pelvis; port.", "pelvis", {"liver", "port"}),
        ("Where? Select: liver, pelvis or port", "port", {"liver", "pelvis"}),
        ("Where? A) liver B) pelvis C) port", "B", {"A", "C"}),
    ],
)
def test_choices_are_other_options_of_the_question(question, answer, others):
    assert set(wrong("multiple_choice", answer, question)) == others


def test_matching_gets_one_pair_wrong():
    question = "Where? Answer in the form 'Clip: ...; Mesh: ...' with one of left, right, top for each."
    pattern = "Clip: (left|right|top); Mesh: (left|right|top)"
    found = set(wrong("matching", "Clip: left; Mesh: right", question, pattern=pattern))
    assert found == {
        "Clip: right; Mesh: right",
        "Clip: top; Mesh: right",
        "Clip: left; Mesh: left",
        "Clip: left; Mesh: top",
    }
    assert set(wrong("matching", "Clip: left; Mesh: right", "No choices.", pattern=pattern)) == {""}


def test_where_nothing_wrong_can_be_said_the_answer_is_empty():
    assert set(wrong("percentage", "40%", threshold_pp=1000.0)) == {""}
