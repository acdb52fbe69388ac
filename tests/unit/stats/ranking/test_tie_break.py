import numpy as np
import pytest

from ranking_tables import from_bucket_scores
from surgvalid.stats.comparing.paired_tests import PairedScores
from surgvalid.stats.ranking import rank
from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard
from surgvalid.stats.ranking._focus.standing import Draws, break_ties, win_rates


def board_of(*buckets: np.ndarray) -> FocusLeaderboard:
    """One question per video; `buckets[b][video, model]`."""
    made = tuple(
        Bucket("aggregation", bool(b), PairedScores(scores.astype(float), np.arange(len(scores))),
               np.arange(len(scores)))
        for b, scores in enumerate(buckets)
    )  # fmt: skip
    return FocusLeaderboard("technical", [f"m{i}" for i in range(buckets[0].shape[1])], made, len(buckets[0]))


def draws_of(board: FocusLeaderboard, replicates: int = 4000) -> Draws:
    return Draws(board, np.arange(len(board.models)), replicates=replicates, seed=1)


def test_win_rates_are_the_probabilities_of_being_best_with_split_credit() -> None:
    board = board_of(np.array([[1, 0], [0, 1]]))
    rate, _ = win_rates(np.arange(2), np.ones(1), draws_of(board), replicates=4000)
    assert rate == pytest.approx([0.5, 0.5], abs=0.02)
    board = board_of(np.array([[1, 0], [0, 0]]))
    rate, error = win_rates(np.arange(2), np.ones(1), draws_of(board), replicates=4000)
    assert rate == pytest.approx([0.75 + 0.125, 0.125], abs=0.02)
    assert error[0, 1] == pytest.approx(2 * np.sqrt(0.25 * 0.75) / 2 / np.sqrt(4000), rel=0.05)


def test_win_rates_are_averaged_over_buckets_by_weight() -> None:
    first, second = np.array([[1, 0], [1, 0]]), np.array([[0, 1], [0, 1]])
    rate, _ = win_rates(np.arange(2), np.array([3.0, 1.0]), draws_of(board_of(first, second)), replicates=4000)
    assert rate.tolist() == [0.75, 0.25]


def test_only_tied_models_are_compared_with_each_other() -> None:
    scores = np.array([[1, 1, 0, 1]] * 5 + [[0, 1, 1, 1]] * 4)
    rate, _ = win_rates(np.array([0, 2]), np.ones(1), draws_of(board_of(scores)), replicates=4000)
    assert rate.sum() == pytest.approx(1.0)
    assert rate[0] > rate[1] > 0


def test_a_group_that_reaches_beyond_place_three_is_ordered_as_a_whole() -> None:
    scores = np.tile([1, 1, 1, 1], (30, 1))
    scores[:4, 0], scores[:8, 1], scores[:12, 2] = 0, 0, 0
    place = np.array([3, 3, 3, 3])
    (tie,) = break_ties(place, np.ones(1), draws_of(board_of(scores)))
    assert tie.place.tolist() == [4, 5, 6, 3]
    assert break_ties(place + 1, np.ones(1), draws_of(board_of(scores))) == []


def test_identical_models_stay_tied_at_once() -> None:
    (tie,) = break_ties(np.array([1, 1]), np.ones(1), draws_of(board_of(np.ones((6, 2))), 500))
    assert (tie.place.tolist(), tie.unresolved, tie.replicates) == ([1, 1], True, 500)


def test_undecided_win_rates_get_more_replicates_then_macro_accuracy() -> None:
    even = np.array([[1, 0], [0, 1]] * 4)
    (tie,) = break_ties(np.array([1, 1]), np.ones(1), draws_of(board_of(even), 100))
    assert tie.replicates in (100, 400, 1600)
    (still,) = break_ties(np.array([1, 1]), np.ones(1), draws_of(board_of(even), 100), grow=False)
    assert still.replicates == 100


def test_the_same_seed_gives_the_same_win_rates_and_more_replicates_begin_alike() -> None:
    board = board_of(np.random.default_rng(0).integers(0, 2, (20, 3)))
    first = next(draws_of(board, 50).totals(0, 50))
    longer = np.concatenate(list(draws_of(board, 50).totals(0, 200)))
    assert (longer[:50] == first).all()
    assert len(longer) == 200


def test_the_tie_break_shows_in_the_places() -> None:
    weaker, stronger = [[1, 0, 1]] * 3 + [[0, 1, 1]] * 5, [[1, 0, 1]] * 2 + [[0, 1, 1]] * 6
    result = rank(from_bucket_scores([weaker, stronger], ["A", "B", "C"]), board="technical", replicates=500)
    rows = {row["model"]: row for row in result.places.iter_rows(named=True)}
    assert [rows[m]["copeland"] for m in "ABC"] == [0, 0, 0]
    assert [rows[m]["place"] for m in "CBA"] == [1, 2, 3]
    assert rows["C"]["win_rate"] > rows["B"]["win_rate"] > rows["A"]["win_rate"]
    assert sum(rows[m]["win_rate"] for m in "ABC") == pytest.approx(1.0)
