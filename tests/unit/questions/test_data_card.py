"""The trivial baselines on the card are what a counting reader gets."""

from collections import Counter

import numpy as np
import pytest

from surgvalid.questions.catalogue import template_named
from surgvalid.questions.data_card import Placed, data_card
from surgvalid.questions.drafts import Draft, DraftTally
from surgvalid.questions.splits import Splits
from surgvalid.questions.template import SEGMENT, Proof
from surgvalid.schema.procedures.spans import Window


def placed(video: str, obj: str, answer: str, *, name: str = "class-visible") -> Placed:
    draft = Draft(template_named(name), SEGMENT, video, Window(0, 60), {"object": obj}, "?", answer, Proof(), {}, None)
    return Placed(draft, "test", False)


def card_of(*items: Placed):
    return data_card(items, (), Splits({}, {}), {}, DraftTally(), {"tracks": ["segment"], "test_share": 0.3})


def test_the_template_floor_is_the_share_of_the_most_frequent_answer():
    card = card_of(*(placed(v, "Clip", a) for v, a in (("a", "yes"), ("b", "yes"), ("c", "yes"), ("d", "no"))))
    assert card.floors["test, most frequent answer per template, in hindsight"] == 0.75
    assert card.templates["constant_floor"].to_list() == [0.75]
    assert card.templates["top_answer"].to_list() == ["yes"]


@pytest.mark.parametrize(
    ("items", "floor"),
    [
        ([("a", "Clip", "yes"), ("a", "Clip", "yes")], 0.0),
        ([("a", "Clip", "yes"), ("b", "Clip", "yes")], 1.0),
        ([("a", "Clip", "yes"), ("b", "Clip", "no")], 0.0),
        ([("a", "Clip", "yes"), ("b", "Mesh", "yes")], 0.0),
        ([("a", "Clip", "yes"), ("b", "Clip", "yes"), ("c", "Clip", "yes"), ("d", "Clip", "no")], 0.75),
    ],
)
def test_the_wording_floor_knows_other_videos_only(items, floor):
    card = card_of(*(placed(*item) for item in items))
    assert card.floors["test, most frequent answer per wording in other videos"] == pytest.approx(floor)


@pytest.mark.parametrize(
    ("answers", "floor"),
    [
        (["00:00:00", "00:00:30"], 0.5),
        (["00:00:01", "00:00:00"], 1.0),
        (["00:01:00", "00:00:59", "00:00:30", "00:00:00"], 0.5),
        (["00:00:00, 00:00:20", "00:00:20"], 0.0),
    ],
)
def test_the_border_floor_is_what_the_start_or_end_of_the_clip_gets_right(answers, floor):
    card = card_of(*(placed("a", "Clip", answer, name="appearances") for answer in answers))
    assert card.floors["test, times only: a border of the window"] == pytest.approx(floor)


def test_without_times_there_is_no_border_floor():
    card = card_of(placed("a", "Clip", "yes"), placed("b", "Clip", "no"))
    assert not any("border" in name for name in card.floors)


def test_classes_that_are_named_are_counted_even_if_never_seen():
    card = card_of(placed("a", "Mesh", "no"), placed("a", "Clip", "yes"), placed("b", "Mesh", "no"))
    assert dict(card.classes.select("class", "questions_naming_it").iter_rows()) == {"Clip": 1, "Mesh": 2}


def test_the_wording_floor_is_what_counting_all_other_videos_gives():
    draw = np.random.default_rng(3)
    for _ in range(40):
        items = [
            placed(
                str(draw.choice(list("abcd"))), str(draw.choice(["Clip", "Mesh"])), str(draw.choice(["1", "2", "3"]))
            )
            for _ in range(int(draw.integers(1, 12)))
        ]
        hits = 0
        for item in items:
            others = Counter(
                other.draft.answer
                for other in items
                if other.draft.stem == item.draft.stem and other.draft.video != item.draft.video
            )
            hits += bool(others) and max(sorted(others), key=lambda answer: others[answer]) == item.draft.answer
        assert card_of(*items).floors["test, most frequent answer per wording in other videos"] == hits / len(items)
