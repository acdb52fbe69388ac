"""Looking again only at templates that changed cuts what looking at everything in every round cuts."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from surgvalid.questions.balancing import Selection, balance
from surgvalid.questions.blind_guesses import hits_of, limit_for
from surgvalid.questions.catalogue import template_named
from surgvalid.questions.drafts import Draft
from surgvalid.questions.near_duplicates import near_duplicates
from surgvalid.questions.template import SEGMENT, Proof, clock
from surgvalid.schema.procedures.spans import Window

TYPES = {video: "even" if at % 2 == 0 else "odd" for at, video in enumerate("abcdef")}
LIMITS = [(0.5, 0.02, 0.25), (0.3, 0.0, 0.1), (0.5, 0.2, 1.0), (0.8, 0.05, 0.05)]


def random_drafts(seed: int, size: int = 400) -> list[Draft]:
    """Drafts of four templates whose answers, wordings and times lie close together."""
    draw, drafts = np.random.default_rng(seed), {}
    for _ in range(size):
        name = str(draw.choice(["class-visible", "most-at-once", "first-visible", "share-visible"]))
        start, length = int(draw.integers(0, 90)), int(draw.integers(20, 40))
        answer = {
            "class-visible": "yes" if draw.random() < 0.7 else "no",
            "most-at-once": str(min(int(draw.geometric(0.4)), 6)),
            "first-visible": clock(start + int(draw.integers(0, 12))),
            "share-visible": f"{int(draw.integers(0, 101))}%",
        }[name]
        slots = {"object": str(draw.choice(["Clip", "Mesh", "Needle", "Sponge"], p=[0.5, 0.3, 0.1, 0.1]))}
        video, window = str(draw.choice(list(TYPES))), Window(start, start + length)
        draft = Draft(template_named(name), SEGMENT, video, window, slots, "?", answer, Proof(), {}, None)
        drafts[draft.case] = draft
    return list(drafts.values())


def drafted(name: str, answer: str, start: int, *, thing: str = "Clip") -> Draft:
    window = Window(start, start + 60)
    return Draft(template_named(name), SEGMENT, "a", window, {"object": thing}, "?", answer, Proof(), {}, None)


def without_surplus(group: list[Draft], share: float) -> list[Draft]:
    """The most frequent answer, of equally frequent ones the first, cut to the share and put first."""
    counted = Counter(draft.answer_group for draft in group)
    top = max(counted, key=lambda answer: counted[answer])
    others = [draft for draft in group if draft.answer_group != top]
    return [d for d in group if d.answer_group == top][: max(1, int(len(others) * share / (1 - share)))] + others


def is_double(draft: Draft, others: Sequence[Draft]) -> bool:
    alike = (draft.video, draft.stem, draft.answer)
    return any(
        alike == (other.video, other.stem, other.answer)
        and abs(draft.window.start_s - other.window.start_s) <= 10
        and abs(draft.window.end_s - other.window.end_s) <= 10
        for other in others
    )


def doubles_among(drafts: list[Draft]) -> list[Draft]:
    unlike: list[Draft] = []
    doubles = []
    for draft in sorted(drafts, key=lambda draft: (draft.window, draft.case)):
        (doubles if is_double(draft, unlike) else unlike).append(draft)
    return [draft for draft in drafts if draft in doubles]


def guessed(group: list[Draft]) -> Sequence[bool]:
    return max(hits_of(group, [], TYPES).values(), key=sum, default=[False] * len(group))


def held_down(groups: list[list[Draft]]) -> list[list[Draft]]:
    """The groups, without as many of what is guessed as makes it at most 30 % of all: the same part of every group."""
    hits = [guessed(group) for group in groups]
    size, right = sum(map(len, groups)), sum(map(sum, hits))
    if right <= 0.3 * size:
        return groups
    surplus = left = right - int(0.3 / 0.7 * (size - right))
    groups = list(groups)
    for at in sorted(range(len(groups)), key=lambda at: -sum(hits[at]) / len(groups[at])):
        known = [draft for draft, hit in zip(groups[at], hits[at], strict=True) if hit]
        drop = min(math.ceil(surplus * len(known) / right), left, len(groups[at]) - 1)
        gone = known[len(known) - drop :]
        groups[at], left = [draft for draft in groups[at] if draft not in gone], left - drop
    return groups


def all_rounds(drafts: list[Draft], share: float, duplicate_share: float, blind_share: float) -> list[list[str]]:
    """What every round leaves, each of which looks at every template, wording and pair of questions."""
    left = [[draft.case for draft in drafts]]
    while len(left) < 2 or len(left[-1]) != len(left[-2]):
        kept = []
        for name in dict.fromkeys(draft.template.name for draft in drafts):
            group = [draft for draft in drafts if draft.template.name == name]
            stems = dict.fromkeys(draft.stem for draft in group)
            group = [d for stem in stems for d in without_surplus([d for d in group if d.stem == stem], share)]
            if len({draft.answer_group for draft in group}) == 1:
                continue
            group = without_surplus(group, share)
            while group:
                limit = limit_for(group, blind_share)
                hits = guessed(group)
                if sum(hits) <= limit * len(group):
                    break
                right = [draft for draft, hit in zip(group, hits, strict=True) if hit]
                spared = right[: int(limit / (1 - limit) * (len(group) - len(right)))]
                group = [draft for draft in group if draft not in right or draft in spared]
            kept += [group] if group else []
        drafts = [draft for group in held_down(kept) for draft in group]
        while len(doubles := doubles_among(drafts)) > int(duplicate_share * len(drafts)):
            spared = doubles[: int(duplicate_share * len(drafts))]
            drafts = [draft for draft in drafts if draft not in doubles or draft in spared]
        left.append([draft.case for draft in drafts])
    return left


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_not_looked_at_again_would_not_have_changed(seed, limits):
    share, duplicate_share, blind_share = limits
    drafts = random_drafts(seed)
    rounds = all_rounds(drafts, share, duplicate_share, blind_share)
    result = Selection(list(drafts))
    balance(
        result,
        most_common_share=share,
        duplicate_share=duplicate_share,
        blind=lambda some: hits_of(some, [], TYPES),
        blind_share=blind_share,
    )
    assert [draft.case for draft in result.drafts] == rounds[-1]
    assert 0 < len(rounds[-1]) < len(rounds[0])
    cut = result.cut_for_balance.total() + result.guessable.total() + result.skipped_duplicates
    assert cut <= len(drafts) - len(result.drafts)
    assert result.near_duplicates == near_duplicates(result.drafts) == len(doubles_among(result.drafts))


def test_a_template_that_had_settled_is_cut_again_when_it_loses_near_duplicates():
    """Other templates shrink in the second round, and with them the number of near-duplicates that may stay."""

    yes = [drafted("class-visible", "yes", start) for place in range(5) for start in (1000 * place, 1000 * place + 4)]
    no = [drafted("class-visible", "no", 1000 * place + 500) for place in range(10)]
    others = [drafted("most-at-once", "1", 0, thing=f"thing {number}") for number in range(9)]
    others += [drafted("most-at-once", answer, 100 * place) for answer in "12" for place in range(3)]
    drafts = [*others, *yes, *no]
    _, first, second, *_ = all_rounds(drafts, 0.5, 1.0, 1.0)
    assert len(second) < len(first)
    duplicate_share = len(doubles_among(drafts)) / len(first)
    result = Selection(list(drafts))
    balance(result, most_common_share=0.5, duplicate_share=duplicate_share)
    assert [draft.case for draft in result.drafts] == all_rounds(drafts, 0.5, duplicate_share, 1.0)[-1]
    left = Counter(draft.answer for draft in result.drafts if draft.template.name == "class-visible")
    assert left["yes"] == left["no"] < 10


def test_these_drafts_take_several_rounds():
    assert max(len(all_rounds(random_drafts(seed), *limits)) for seed in range(2) for limits in LIMITS) >= 5
