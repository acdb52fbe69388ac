"""Intervals, comparisons, macro averages and rank sets from few videos are right as often as they say.

Every repetition goes through what the verbs call (`docs.validate_small_samples`).
"""

import pytest
from docs.validate_small_samples import difference_coverage, macro_coverage, rank_coverage, value_coverage

pytestmark = pytest.mark.slow
REPETITIONS = 2_000


@pytest.mark.parametrize("videos", [3, 5, 10, 20])
@pytest.mark.parametrize("kind", ["acc", "high", "cont"])
@pytest.mark.parametrize(("unequal", "estimand"), [(True, "rows"), (False, "rows"), (True, "videos")])
def test_intervals_of_one_value_keep_their_level(kind: str, videos: int, unequal: bool, estimand: str) -> None:
    # Three videos cover up to 99.3 %, so close to the upper bar that 2,000 repetitions would decide by luck.
    number = 3 * REPETITIONS if videos == 3 else REPETITIONS
    covered = value_coverage(kind, videos, unequal=unequal, estimand=estimand, repetitions=number)
    assert 0.92 <= covered <= 0.995


@pytest.mark.parametrize("videos", [3, 5, 10, 20])
def test_long_videos_that_differ_cost_a_pooled_value_some_level_and_a_mean_over_videos_none(videos: int) -> None:
    assert 0.90 <= value_coverage("long", videos, unequal=True, repetitions=2 * REPETITIONS) <= 0.98
    assert 0.94 <= value_coverage("long", videos, unequal=True, estimand="videos", repetitions=REPETITIONS) <= 0.98


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("videos", [6, 10, 20, 40])
@pytest.mark.parametrize("kind", ["acc", "cont"])
def test_differences_of_equal_models_contain_zero_as_their_p_value_says(kind: str, videos: int, unequal: bool) -> None:
    found = difference_coverage(kind, videos, unequal=unequal, repetitions=REPETITIONS)
    assert 0.94 <= found.contains <= 0.995
    assert found.agrees == 1.0


@pytest.mark.parametrize("measure", ["f1", "recall"])
@pytest.mark.parametrize("videos", [10, 20, 40])
def test_macro_averages_keep_their_level(measure: str, videos: int) -> None:
    found = macro_coverage(measure, videos, repetitions=REPETITIONS)
    assert 0.925 <= found.repeated <= 0.985
    assert found.ranged >= 0.95


@pytest.mark.parametrize("models", [8, 20])
@pytest.mark.parametrize("videos", [6, 10, 20, 40])
def test_rank_sets_of_equal_models_are_all_right(models: int, videos: int) -> None:
    assert rank_coverage(models, videos, repetitions=REPETITIONS // 2) >= 0.93
