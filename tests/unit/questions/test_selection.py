"""What is chosen is balanced, varied and free of questions with one possible answer."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.questions.balancing import select
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.drafts import Draft
from surgvalid.questions.near_duplicates import near_duplicates
from surgvalid.questions.template import SEGMENT, Proof
from surgvalid.schema.procedures.spans import Window


def draft(answer: str, *, at: int = 0, video: str = "v", name: str = "class-visible", obj: str = "Clip") -> Draft:
    window = Window(at, at + 60)
    return Draft(template_named(name), SEGMENT, video, window, {"object": obj}, "?", answer, Proof(), {}, None)


def chosen(drafts, wanted=1000, *, share=0.5, duplicates=0.0):
    return select(drafts, wanted, np.random.default_rng(0), most_common_share=share, duplicate_share=duplicates)


def test_yes_is_as_frequent_as_no():
    drafts = [draft("yes", at=100 * i) for i in range(50)] + [draft("no", at=100 * i + 50) for i in range(7)]
    result = chosen(drafts)
    assert Counter(d.answer for d in result.drafts) == {"yes": 7, "no": 7}
    assert result.cut_for_balance["class-visible"] == 43


def test_a_template_with_one_answer_is_dropped_and_named():
    result = chosen([draft("yes", at=100 * i) for i in range(9)])
    assert result.drafts == []
    assert result.single_answer == {"class-visible": "yes"}


def test_a_wording_with_one_answer_is_asked_once():
    """`Is a clip visible?` is always answered with yes and `Is a mesh visible?` with no: together they are balanced."""
    drafts = [draft("yes", at=100 * i, obj="Clip") for i in range(20)]
    drafts += [draft("no", at=100 * i, obj="Mesh") for i in range(20)]
    result = chosen(drafts)
    assert sorted((d.slots["object"], d.answer) for d in result.drafts) == [("Clip", "yes"), ("Mesh", "no")]
    assert result.cut_for_balance["class-visible"] == 38


def test_rare_answers_come_first():
    drafts = [draft("1", at=100 * i, name="most-at-once") for i in range(200)]
    drafts += [draft(str(n), at=100 * n + 50, name="most-at-once") for n in range(2, 9)]
    result = chosen(drafts, wanted=10)
    assert {d.answer for d in result.drafts} == {str(n) for n in range(1, 9)}


def test_templates_take_turns():
    drafts = [draft("yes" if i % 2 else "no", at=100 * i) for i in range(80)]
    drafts += [draft(str(i % 3), at=100 * i, name="most-at-once") for i in range(40)]
    counted = Counter(d.template.name for d in chosen(drafts, wanted=20).drafts)
    assert counted == {"class-visible": 10, "most-at-once": 10}


def test_a_template_asks_for_two_answers_even_when_little_is_wanted():
    drafts = [draft("yes" if i % 2 else "no", at=100 * i) for i in range(20)]
    drafts += [draft(str(i % 3), at=100 * i, name="most-at-once") for i in range(20)]
    assert len(chosen(drafts, wanted=2).drafts) == 2


def test_videos_take_turns():
    drafts = [draft("yes" if i % 2 else "no", at=100 * i, video=v) for i in range(40) for v in "ab"]
    counted = Counter(d.video for d in chosen(drafts, wanted=8).drafts)
    assert counted == {"a": 4, "b": 4}


@pytest.mark.parametrize(("duplicates", "most"), [(0.0, 0), (0.5, 10)])
def test_near_duplicates_are_at_most_the_declared_share(duplicates, most):
    starts = {"yes": 0, "no": 500}
    drafts = [draft(a, at=1000 * i + start + step) for i in range(5) for a, start in starts.items() for step in (0, 4)]
    result = chosen(drafts, duplicates=duplicates)
    assert result.near_duplicates == near_duplicates(result.drafts) == most
    assert len(result.drafts) == 10 + most


def test_the_same_question_is_never_asked_twice():
    result = chosen([draft("yes"), draft("yes"), draft("no", at=500)], duplicates=0.9)
    assert len(result.drafts) == 2


_DRAFTS = st.lists(
    st.builds(
        draft,
        st.sampled_from(["0", "1", "2", "5"]),
        at=st.integers(0, 2000),
        video=st.sampled_from("abc"),
        name=st.sampled_from(["most-at-once", "instances-seen"]),
        obj=st.sampled_from(["Clip", "Mesh"]),
    ),
    max_size=80,
)


@given(_DRAFTS, st.sampled_from([0.3, 0.5, 0.8]), st.sampled_from([0.0, 0.1]))
def test_promises_hold_whatever_the_drafts(drafts, share, duplicates):
    result = chosen(drafts, share=share, duplicates=duplicates)
    assert near_duplicates(result.drafts) <= duplicates * len(result.drafts)
    for name in {d.template.name for d in result.drafts}:
        answers = Counter(d.answer for d in result.drafts if d.template.name == name)
        assert len(answers) > 1
        assert max(answers.values()) <= max(1, share * sum(answers.values()))
    for stem in {d.stem for d in result.drafts}:
        answers = Counter(d.answer for d in result.drafts if d.stem == stem)
        assert max(answers.values()) <= max(1, share * sum(answers.values()))
