"""How firm the order is: shares of first places, sets of ranks, and what a reader is told."""

import numpy as np
import polars as pl
import pytest

from ranking_tables import focus_table, from_bucket_scores, long_table, nested_scores
from surgeval.stats.ranking import rank
from surgeval.stats.ranking._focus.nested_ties import counts_of, place_shares


def by_board(frame: pl.DataFrame, column: str, key: str = "board") -> list[float]:
    return frame.group_by(key, maintain_order=True).agg(pl.col(column).sum())[column].to_list()


@pytest.mark.parametrize("models", [8, 21])
def test_somebody_is_first_once_in_every_resample(models: int) -> None:
    stability = rank(focus_table(models, gap=0.0), replicates=120).stability
    assert by_board(stability, "p_first") == pytest.approx([1.0] * 2, abs=1e-9)
    assert by_board(stability, "p_top3") == pytest.approx([3.0] * 2, abs=1e-9)
    assert stability["p_first"].max() < 0.9


def test_a_clear_winner_is_still_first_in_every_resample() -> None:
    clear = [[[1, 0, 0]] * 20 for _ in range(2)]
    stability = rank(from_bucket_scores(clear, ["A", "B", "C"]), replicates=50).stability
    assert dict(stability.select("model", "p_first").iter_rows()) == {"A": 1.0, "B": 0.0, "C": 0.0}


def test_replicates_repeat_the_tie_break_of_the_published_order() -> None:
    """Nothing is significant with five videos, so that only the tie-break orders the models."""
    stronger = [[1, 0], [1, 0], [1, 1], [0, 0], [1, 1]]
    result = rank(from_bucket_scores([stronger, stronger], ["A", "B"]), board="technical", replicates=400)
    assert result.places["place"].to_list() == [1, 2]
    first = dict(result.stability.select("model", "p_first").iter_rows())
    # A is behind in no resample, and level with B in the share of resamples without both deciding videos.
    level = (3 / 5) ** 5
    assert first["B"] == pytest.approx(level / 2, abs=0.03)
    assert first["A"] + first["B"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("rule", ["mean-then-rank", "rank-then-median", "test-then-rank"])
def test_ranks_shared_in_a_resample_share_the_first_rank(rule: str) -> None:
    values, video = nested_scores(10, 6, 5, seed=3, gap=0.0)
    stability = rank(long_table(values, video), rule, replicates=60).stability
    assert by_board(stability, "p_first", "task") == pytest.approx([1.0], abs=1e-9)
    assert by_board(stability, "p_top3", "task") == pytest.approx([3.0], abs=1e-9)


def test_shares_of_places_equal_those_of_every_order_of_the_tied() -> None:
    place = np.array([[1, 1, 1, 4], [2, 1, 2, 4], [1, 2, 3, 3]])
    for last in (1, 2, 3):
        expected = np.zeros(4)
        for row in place:
            for model in range(4):
                tied = int((row == row[model]).sum())
                expected[model] += sum(row[model] + k <= last for k in range(tied)) / tied / len(place)
        assert place_shares(place, last) == pytest.approx(expected)


def test_counts_are_those_of_the_lists() -> None:
    lists = np.random.default_rng(0).integers(0, 7, (20, 7))
    assert (counts_of(lists) == np.stack([np.bincount(one, minlength=7) for one in lists])).all()
