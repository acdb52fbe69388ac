"""Intervals contain the truth as often as they say, on simulated nested data."""

import pytest
from docs.validate_intervals import METHODS, SKEWED, SKEWED_COUNTS, Scenario, coverage, skewed_coverage

pytestmark = pytest.mark.slow
SHORT, LONG, SOME = Scenario(200, 10, 0.8), Scenario(100, 40, 0.8), Scenario(40, 20, 0.8)
INDEPENDENT = Scenario(40, 20, 0.0)


@pytest.mark.parametrize("scenario", [SHORT, LONG, SOME], ids=str)
def test_cluster_intervals_keep_their_level(scenario: Scenario) -> None:
    assert 0.93 <= coverage(scenario, METHODS["cluster"], repetitions=1500) <= 0.97


@pytest.mark.parametrize("scenario", [LONG, SOME], ids=str)
@pytest.mark.parametrize("method", ["two-stage", "two-stage, videos"])
def test_two_stage_intervals_keep_their_level_when_videos_are_long(scenario: Scenario, method: str) -> None:
    assert 0.93 <= coverage(scenario, METHODS[method], repetitions=1500) <= 0.975


@pytest.mark.parametrize("scenario", [SHORT, INDEPENDENT], ids=str)
def test_two_stage_intervals_cover_too_often_when_noise_within_videos_dominates(scenario: Scenario) -> None:
    assert coverage(scenario, METHODS["two-stage"], repetitions=1500) > 0.965


def test_naive_intervals_fail_when_videos_differ_and_hold_when_they_do_not() -> None:
    assert coverage(SOME, METHODS["naive"], repetitions=1500) < 0.8
    assert 0.93 <= coverage(INDEPENDENT, METHODS["naive"], repetitions=1500) <= 0.97


@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize("videos", SKEWED_COUNTS)
@pytest.mark.parametrize("kind", SKEWED)
def test_means_of_metrics_without_an_upper_bound_keep_nearly_their_level(kind: str, videos: int, unequal: bool) -> None:
    assert 0.91 <= skewed_coverage(kind, videos, unequal=unequal, repetitions=4000) <= 0.98
