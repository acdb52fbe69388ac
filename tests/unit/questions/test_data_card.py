"""The trivial baselines on the card are what a counting reader gets."""

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
    assert card.templates["constant_floor"].to_list() == [0.75]
    assert card.templates["top_answer"].to_list() == ["yes"]


def test_classes_that_are_named_are_counted_even_if_never_seen():
    card = card_of(placed("a", "Mesh", "no"), placed("a", "Clip", "yes"), placed("b", "Mesh", "no"))
    assert dict(card.classes.select("class", "questions_naming_it").iter_rows()) == {"Clip": 1, "Mesh": 2}
