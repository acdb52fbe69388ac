import numpy as np
import pytest

from surgvalid.stats.intervals.video_jackknife import mean_interval
from surgvalid.stats.planning.closed_forms import (
    difference_chance,
    expected_width,
    fewest_videos,
    total_for,
    videos_for_difference,
    width_chance,
    width_error,
)


@pytest.mark.parametrize(
    ("videos", "difference", "power"),
    [(34, 0.5, 0.807776685515), (10, 1.2, 0.920333356475), (60, 0.3, 0.627741983314), (8, 2.0, 0.997601675199)],
)
def test_the_power_of_a_difference_is_that_of_the_paired_t_test_in_r(videos: int, difference: float, power: float):
    """R 4: power.t.test(n, delta, sd = 1, type = "paired")."""
    assert float(difference_chance(difference, 1.0, videos)) == pytest.approx(power, abs=1e-7)  # SciPy 1.14: 1e-8 off


@pytest.mark.parametrize(
    ("difference", "power", "alpha", "videos"),
    [(0.5, 0.8, 0.05, 33.367204088), (0.1, 0.9, 0.05, 1052.66491239), (1.0, 0.8, 0.01, 15.0807201471)],
)
def test_the_number_of_videos_is_that_of_the_paired_t_test_in_r(
    difference: float, power: float, alpha: float, videos: float
):
    assert videos_for_difference(difference, 1.0, power=power, alpha=alpha) == int(np.ceil(videos))


def test_below_the_videos_that_the_exact_test_needs_there_is_no_chance():
    assert float(difference_chance(50.0, 1.0, 5)) == 0.0
    assert float(difference_chance(50.0, 1.0, 6)) == 1.0
    assert videos_for_difference(50.0, 1.0) == 6
    assert float(difference_chance(50.0, 1.0, 8, tests=10)) == 0.0
    assert float(difference_chance(50.0, 1.0, 9, tests=10)) == 1.0


def test_no_difference_and_no_variance_are_told_apart():
    assert videos_for_difference(0.0, 1.0) is None
    assert videos_for_difference(0.1, 0.0) == 6


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (-np.inf, np.inf)])
@pytest.mark.parametrize("value", [0.02, 0.5, 0.93])
def test_the_error_of_a_width_and_the_width_of_an_error_are_inverse(low: float, high: float, value: float):
    for width in (0.01, 0.1, 0.6):
        error = width_error(width, value, 12.0, level=0.9, low=low, high=high)
        assert float(expected_width(error, value, 12.0, level=0.9, low=low, high=high)) == pytest.approx(width)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-np.inf, np.inf)])
def test_the_width_is_that_of_the_interval(low: float, high: float):
    totals = np.random.default_rng(3).uniform(0.5, 1.0, (9, 1))
    seen = mean_interval(totals, np.ones(9), level=0.95, low=low, high=high)
    width = expected_width(seen.sd, seen.value, seen.df, level=0.95, low=low, high=high)
    assert float(width[0]) == pytest.approx(float(seen.high[0] - seen.low[0]))


def test_an_interval_that_may_be_as_wide_as_the_scale_is_always_narrow_enough():
    assert float(width_chance(1.0, 0.5, 1.0, 3, low=0.0, high=1.0)) == 1.0


def test_the_search_finds_the_first_number_that_is_enough():
    assert fewest_videos(lambda videos: videos / 1000, 0.8) == 800
    assert fewest_videos(lambda videos: 0.5, 0.8) is None
    assert fewest_videos(lambda videos: 1.0, 0.8, least=6) == 6


def test_enough_videos_hold_a_subgroup():
    """R 4: pbinom(9, 23, .5) = 0.2024, so 23 videos hold ten with 79.8 % only."""
    assert total_for(10, 0.5, 0.8) == 24
    assert total_for(10, 0.0, 0.8) is None


def test_more_comparisons_and_unequal_videos_take_more_videos():
    plain = float(difference_chance(0.5, 1.0, 34))
    assert float(difference_chance(0.5, 1.0, 34, tests=10)) < plain
    assert float(difference_chance(0.5, 1.0, 34, freedom=0.4)) < plain
