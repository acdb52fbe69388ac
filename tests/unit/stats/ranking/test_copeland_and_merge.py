import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surgvalid.stats.ranking import MERGES
from surgvalid.stats.ranking._focus.merge import bucket_rank, copeland, preferred
from surgvalid.stats.ranking._focus.tables import compact_letters

RELATIONS = hnp.arrays(bool, st.tuples(st.integers(1, 5), st.just(5), st.just(5)))


def one_sided(raw: np.ndarray) -> np.ndarray:
    """A relation in which nobody beats himself and no two beat each other."""
    upper = np.triu(raw, k=1)
    lower = np.swapaxes(np.triu(np.swapaxes(raw, -1, -2), k=1), -1, -2)
    return upper | (lower & ~np.swapaxes(upper, -1, -2))


def beats_of(*pairs: tuple[int, int], models: int = 4) -> np.ndarray:
    beats = np.zeros((models, models), dtype=bool)
    for winner, loser in pairs:
        beats[winner, loser] = True
    return beats


def test_the_worked_example_of_copeland() -> None:
    ahead = np.stack([beats_of((0, 1), (0, 2)), beats_of((1, 2)), beats_of((2, 0))])
    merged = copeland(ahead)
    assert merged.counts[0].tolist() == [0, 1, 1, 0]
    assert merged.score.tolist() == [1, 0, -1, 0]
    assert merged.place.tolist() == [1, 2, 4, 2]
    assert (merged.dominated.tolist(), merged.dominated_by.tolist()) == ([1, 1, 0, 0], [0, 1, 1, 0])
    assert merged.condorcet_winner is None


def test_a_model_that_dominates_all_others_is_the_condorcet_winner() -> None:
    merged = copeland(beats_of((2, 0), (2, 1), (2, 3))[None])
    assert merged.condorcet_winner == 2
    assert merged.cycles == []


def test_models_that_dominate_each_other_in_a_circle_are_reported() -> None:
    merged = copeland(beats_of((0, 1), (1, 2), (2, 0))[None])
    assert merged.cycles == [[0, 1, 2]]
    assert merged.place.tolist() == [1, 1, 1, 1]


def test_bucket_weights_decide_who_dominates() -> None:
    ahead = np.stack([beats_of((0, 1)), beats_of((1, 0))])
    assert copeland(ahead).score.tolist() == [0, 0, 0, 0]
    assert copeland(ahead, np.array([2.0, 1.0])).score.tolist() == [1, -1, 0, 0]


@given(RELATIONS, st.integers(0, 4), st.integers(0, 4), st.integers(0, 4))
def test_one_more_win_never_hurts_the_winner_or_helps_the_loser(raw: np.ndarray, b: int, i: int, j: int) -> None:
    ahead = one_sided(raw)
    b %= len(ahead)
    before = copeland(ahead).score
    ahead[b, i, j], ahead[b, j, i] = i != j, False
    after = copeland(ahead).score
    assert after[i] >= before[i] or i == j
    assert after[j] <= before[j] or i == j


@given(RELATIONS)
def test_a_copy_of_every_bucket_changes_nothing(raw: np.ndarray) -> None:
    ahead = one_sided(raw)
    assert copeland(np.concatenate([ahead, ahead])).score.tolist() == copeland(ahead).score.tolist()


@given(RELATIONS, st.integers(0, 4))
def test_a_copy_of_a_bucket_never_hurts_a_model_that_nobody_beats_in_it(raw: np.ndarray, b: int) -> None:
    ahead = one_sided(raw)
    b %= len(ahead)
    before, after = copeland(ahead).score, copeland(np.concatenate([ahead, ahead[b : b + 1]])).score
    unbeaten = ~ahead[b].any(axis=0)
    assert (after[unbeaten] >= before[unbeaten]).all()


@given(RELATIONS, st.permutations(range(5)))
def test_the_order_of_models_changes_nothing(raw: np.ndarray, order: list[int]) -> None:
    ahead = one_sided(raw)
    turned = ahead[:, order][:, :, order]
    assert copeland(turned).score.tolist() == copeland(ahead).score[order].tolist()


@given(RELATIONS)
def test_scores_sum_to_zero_and_equal_scores_share_a_place(raw: np.ndarray) -> None:
    merged = copeland(one_sided(raw))
    assert merged.score.sum() == 0
    assert len(np.unique(merged.place)) == len(np.unique(merged.score))


ACCURACY = np.array([0.9, 0.8, 0.7, 0.6])
CHAIN = beats_of((0, 2), (0, 3), (1, 3))
"""Neighbours are never significantly different, everyone else is."""


@pytest.mark.parametrize(
    ("merge", "ranks"),
    [
        ("wins", [1, 2, 3, 3]),
        ("leader", [1, 1, 3, 3]),
        ("closure", [1, 1, 1, 1]),
        ("losses", [1, 1, 3, 4]),
        ("net", [1, 2, 3, 4]),
        ("accuracy", [1, 2, 3, 4]),
    ],
)
def test_every_merge_rule_on_a_chain_of_close_models(merge: str, ranks: list[int]) -> None:
    number = bucket_rank(CHAIN, ACCURACY, merge)
    assert [1 + int((number < n).sum()) for n in number] == ranks


def test_the_pairwise_rule_keeps_exactly_the_significant_pairs() -> None:
    assert (preferred(CHAIN, ACCURACY, "pairwise") == CHAIN).all()


@pytest.mark.parametrize("merge", sorted(MERGES))
def test_merge_rules_work_on_stacks_of_buckets(merge: str) -> None:
    rng = np.random.default_rng(0)
    beats = one_sided(rng.random((3, 6, 5, 5)) < 0.4)
    accuracy = rng.integers(0, 6, (3, 6, 5)) / 6
    stacked = preferred(beats, accuracy, merge)
    for a in range(3):
        for b in range(6):
            assert (stacked[a, b] == preferred(beats[a, b], accuracy[a, b], merge)).all()


@pytest.mark.parametrize("merge", sorted(MERGES))
def test_a_model_that_beats_everyone_is_ahead_of_everyone(merge: str) -> None:
    ahead = preferred(beats_of((1, 0), (1, 2), (1, 3)), np.array([0.5, 0.9, 0.5, 0.4]), merge)
    assert ahead[1].tolist() == [True, False, True, True]


@given(hnp.arrays(bool, (6, 6)), st.permutations(range(6)))
def test_models_share_a_letter_exactly_when_not_significantly_different(raw: np.ndarray, order: list[int]) -> None:
    different = np.triu(raw, k=1)
    different |= different.T
    letters = compact_letters(different, np.array(order))
    assert all(letters)
    for i in range(6):
        for j in range(6):
            assert bool(set(letters[i]) & set(letters[j])) == (i == j or not different[i, j])
    assert "a" in letters[order[0]]


def test_more_than_fifty_two_groups_still_have_distinct_marks() -> None:
    letters = compact_letters(~np.eye(60, dtype=bool), np.arange(60))
    assert len(set(letters)) == 60
