"""Input-blind predictors: fitted in training, counted in the card, and held to their limit."""

from collections import Counter

import numpy as np
import pytest

from procedures import random_procedure
from surgvalid.questions.balancing import select
from surgvalid.questions.blind_guesses import WHOLE_LIMIT, fitted, hits_of, is_right, leaks_of, limit_for
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.drafts import Draft
from surgvalid.questions.make import make_questions
from surgvalid.questions.near_duplicates import near_duplicates
from surgvalid.questions.template import PROCEDURE, SEGMENT, Proof, clock
from surgvalid.schema.procedures.spans import Window

TYPES = {f"v{number}": "Cholecystectomy" for number in range(40)}


def draft(template: str, number: int, answer: str, *, window=(0, 300), track=SEGMENT, **slots) -> Draft:
    return Draft(
        template_named(template), track, f"v{number % 40}", Window(*window), slots, "", answer, Proof(), {}, None
    )


def retrieved(count: int, share: float, seed: int = 0) -> list[Draft]:
    """Questions on retrievals of which a share lies four seconds after the quoted time."""
    draw = np.random.default_rng(seed)
    drafts = []
    for number in range(count):
        quoted = int(draw.integers(10, 100))
        answer = quoted + 4 if draw.random() < share else quoted + int(draw.integers(20, 190))
        drafts.append(draft("retrieved-at", number, clock(answer), object="Sponge", at_s=quoted))
    return drafts


def test_a_fixed_distance_from_the_quoted_time_is_learnt():
    guess = fitted(retrieved(200, 0.6), TYPES)["quoted + c"]
    unseen = retrieved(200, 0.6, seed=1)
    assert 0.5 < sum(is_right(d, guess(d)) for d in unseen) / len(unseen) < 0.75


def test_a_share_of_the_window_is_learnt():
    drafts = [draft("longest-absence", n, clock(100 + n), window=(0, 99 + n), object="Clip") for n in range(30)]
    guess = fitted(drafts, TYPES)["share of window"]
    assert all(is_right(d, guess(d)) for d in drafts)


def test_class_and_type_of_procedure_are_learnt():
    drafts = [draft("class-visible", n, "yes" if n % 2 else "no", object=("Clip", "Mesh")[n % 2]) for n in range(20)]
    guesses = fitted(drafts, TYPES)
    assert sum(is_right(d, guesses["class, type"](d)) for d in drafts) == 20
    assert sum(is_right(d, guesses["constant"](d)) for d in drafts) == 10


def test_a_model_of_wording_and_options_sees_what_gives_an_answer_away():
    """Two values are right by turns, always offered beside the same others: only the options tell which."""
    offered = (("white", "green"), ("red", "green"))
    drafts = [
        draft("attribute-of", n, offered[n % 2][0], object="Sponge", attribute="colour", options=offered[n % 2])
        for n in range(60)
    ]
    hits = hits_of(drafts, [], TYPES)
    assert sum(hits["text and options"]) == 60
    assert sum(hits["constant"]) <= 60
    chosen = select(
        drafts, 60, np.random.default_rng(1), most_common_share=0.9, duplicate_share=0.9,
        blind=lambda group: hits_of(group, [], TYPES),
    )  # fmt: skip
    assert not chosen.drafts


@pytest.mark.parametrize(("count", "limit"), [(2, 0.7), (3, 0.55), (4, 0.45), (6, 0.45)])
def test_the_limit_follows_from_what_there_is_to_choose_from(count, limit):
    options = tuple("abcdef"[:count])
    drafts = [draft("what-happens", n, options[n % count], object="Clip", options=options) for n in range(12)]
    assert limit_for(drafts, 0.25) == pytest.approx(limit)


def test_selection_holds_every_predictor_to_its_limit():
    drafts = retrieved(300, 0.6)
    limit = limit_for(drafts, 0.25)
    assert limit == 0.25
    chosen = select(
        drafts, 300, np.random.default_rng(1), most_common_share=0.5, duplicate_share=0.5,
        blind=lambda group: hits_of(group, [], TYPES), blind_share=0.25,
    )  # fmt: skip
    for hits in hits_of(chosen.drafts, [], TYPES).values():
        assert sum(hits) <= limit * len(hits)
    assert chosen.guessable["retrieved-at"] > 50
    assert len(chosen.drafts) > 60


def test_the_leak_table_counts_what_training_teaches_about_the_test_split():
    leaks = leaks_of("test", retrieved(100, 0.6, seed=2), retrieved(100, 0.6), TYPES, lambda _: 0.25)
    by_name = {leak.predictor: leak for leak in leaks}
    assert by_name["quoted + c"].accuracy > 0.5
    assert by_name["quoted + c"].questions == 100
    assert set(by_name) == {"constant", "class, type", "start + c", "end - c", "quoted + c", "share of window"}


@pytest.mark.parametrize("seed", range(6))
def test_near_duplicates_are_counted_alike_in_every_order(seed):
    draw = np.random.default_rng(seed)
    drafts = [draft("class-visible", 0, "yes", window=(int(s), int(s)), track=PROCEDURE, object="Clip")
              for s in draw.integers(0, 120, 40)]  # fmt: skip
    counts = {near_duplicates([drafts[at] for at in draw.permutation(len(drafts))]) for _ in range(8)}
    assert len(counts) == 1


def test_a_selection_never_breaks_its_own_limit_of_near_duplicates():
    for seed in range(6):
        draw = np.random.default_rng(seed)
        drafts = [
            draft("class-visible", int(v), "yes" if s % 3 else "no", window=(int(s), int(s)), object="Clip")
            for v, s in zip(draw.integers(0, 4, 600), draw.integers(0, 300, 600), strict=True)
        ]
        for share in (0.0, 0.02, 0.2):
            chosen = select(drafts, 400, draw, most_common_share=0.5, duplicate_share=share)
            shuffled = [chosen.drafts[at] for at in draw.permutation(len(chosen.drafts))]
            assert near_duplicates(shuffled) == chosen.near_duplicates <= share * len(shuffled)


def test_the_card_tells_what_is_right_without_looking():
    made = make_questions([random_procedure(seed) for seed in range(30)], tracks=["segment"], per_video=60)
    leaks = made.card.leaks
    assert {"constant", "class, type", "quoted + c", "share of window"} <= set(leaks["predictor"])
    counted = Counter(q.draft.template.name for q in made.questions if q.split == "test")
    for row in leaks.iter_rows(named=True):
        low, high = (0, 1) if row["low"] is None else (row["low"], row["high"])
        assert 0 <= low <= row["accuracy"] <= high <= 1
        assert 0 < row["limit"] < 1
        assert row["split"] != "test" or row["questions"] == counted[row["template"]]
    assert any("best of each template" in name for name in made.card.floors)


def test_what_is_printed_is_what_was_cut_to_however_few_questions_there_are():
    """On the test split no template is above its limit, nor all of them together above theirs."""
    for seed in range(3):
        procedures = [random_procedure(100 * seed + number) for number in range(12)]
        made = make_questions(procedures, per_video=30, seed=seed)
        tested = made.card.leaks.filter(split="test")
        assert (tested["accuracy"] <= tested["limit"]).all()
        assert all(share <= WHOLE_LIMIT for name, share in made.card.floors.items() if name.startswith("test"))
        assert not any("above" in defect for defect in made.card.defects)
