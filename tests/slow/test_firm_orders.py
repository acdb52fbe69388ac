"""What a ranking says of equal models, over many simulated challenges."""

import numpy as np
import pytest

from ranking_tables import focus_table, long_table, nested_scores
from surgvalid.stats.ranking import RankOptions, rank
from surgvalid.stats.ranking._focus.buckets import prepare
from surgvalid.stats.ranking._focus.firmness import possible_ranks

pytestmark = pytest.mark.slow
OPTIONS = RankOptions(board="technical")


@pytest.mark.parametrize("videos", [8, 16])
def test_boards_of_equal_models_leave_every_rank_possible_as_often_as_they_say(videos: int) -> None:
    right = 0
    for seed in range(300):
        table = focus_table(8, gap=0.0, videos=videos, per_video=12, seed=1000 + seed)
        sets = possible_ranks(prepare(table, OPTIONS).boards[0], np.arange(8), OPTIONS)
        right += bool((sets.low == 1).all() and (sets.high == 8).all())
    assert right / 300 >= 0.92


def test_means_of_equal_models_leave_every_rank_possible_as_often_as_they_say() -> None:
    right = 0
    for seed in range(300):
        values, video = nested_scores(12, 10, 6, seed=3000 + seed)
        ranks = rank(long_table(values, video), "mean-then-rank", replicates=0).ranks
        right += bool((ranks["rank_low"] == 1).all())
    assert right / 300 >= 0.92


def test_equal_models_are_first_equally_often_over_many_challenges() -> None:
    """In one challenge the shares sum to one; over many nobody is favoured by the tie-break inside."""
    first = np.zeros(5)
    for seed in range(12):
        table = focus_table(5, gap=0.0, videos=14, per_video=12, seed=5000 + seed)
        stability = rank(table, "focus", board="technical", replicates=200).stability.sort("model")
        share = stability["p_first"].to_numpy()
        assert share.sum() == pytest.approx(1.0, abs=1e-9)
        first += share / 12
    assert first == pytest.approx(np.full(5, 0.2), abs=0.2)
