"""Intervals, comparisons, macro averages and rank sets from few videos are right as often as they say."""

import pytest
from docs.validate_small_samples import difference_coverage, macro_coverage, rank_coverage, value_coverage

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("videos", [3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["acc", "high", "cont"])
def test_intervals_of_one_value_keep_their_level(kind: str, videos: int) -> None:
    for unequal, estimand in ((True, "rows"), (False, "rows"), (True, "videos")):
        assert 0.92 <= value_coverage(kind, videos, unequal=unequal, estimand=estimand) <= 0.995


@pytest.mark.parametrize("videos", [3, 5, 10, 20])
def test_long_videos_that_differ_cost_a_pooled_value_level_and_a_mean_over_videos_none(videos: int) -> None:
    assert 0.89 <= value_coverage("long", videos, unequal=True, repetitions=20_000) <= 0.98
    assert 0.94 <= value_coverage("long", videos, unequal=True, estimand="videos") <= 0.98


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("videos", [6, 10, 20, 40])
@pytest.mark.parametrize("kind", ["acc", "cont"])
def test_differences_of_equal_models_contain_zero(kind: str, videos: int, unequal: bool) -> None:
    assert 0.94 <= difference_coverage(kind, videos, unequal=unequal) <= 0.995


@pytest.mark.parametrize("measure", ["f1", "recall"])
@pytest.mark.parametrize("videos", [10, 20, 40])
def test_macro_averages_keep_their_level(measure: str, videos: int) -> None:
    found = macro_coverage(videos, measure)
    assert 0.925 <= found.repeated <= 0.985
    assert found.ranged >= 0.95


@pytest.mark.parametrize("models", [8, 20])
@pytest.mark.parametrize("videos", [6, 10, 20, 40])
def test_rank_sets_of_equal_models_are_all_right(models: int, videos: int) -> None:
    assert rank_coverage(models, videos) >= 0.93
