import numpy as np
import pytest

from surgvalid.schema.findings import Finding
from surgvalid.stats.intervals.few_videos import (
    correction_unreachable,
    few_videos,
    long_videos_differ,
    percentile_too_narrow,
    single_video_classes,
    skewed_differences,
    thin_quantile,
)


def said(finding: Finding | None) -> str:
    assert finding is not None
    return finding.message


def test_below_three_videos_there_is_no_interval_and_below_six_no_significance() -> None:
    assert said(few_videos(1, 0.0)) == "1 video: no interval; the spread between videos cannot be judged."
    assert said(few_videos(4, 2.26)) == (
        "4 videos: intervals rest on 2.3 degrees of freedom, and by the exact sign-flip test no difference "
        "can be shown (smallest p-value 0.125)."
    )
    assert few_videos(6, 5.0) is None


def test_nothing_is_said_of_degrees_of_freedom_where_there_are_none() -> None:
    told = few_videos(3, float("nan"))
    assert told is not None
    assert told.message == "3 videos: by the exact sign-flip test no difference can be shown (smallest p-value 0.250)."


def test_percentile_intervals_are_judged_by_the_effective_number_of_videos() -> None:
    assert said(percentile_too_narrow(200, 59.7)) == (
        "200 videos, worth 60 equal ones: bootstrap intervals are too narrow; use method='auto'."
    )
    assert percentile_too_narrow(120, 100.0) is None


def test_long_videos_that_score_differently_are_seen_by_rank() -> None:
    sizes = np.arange(1.0, 13)
    assert "higher" in said(long_videos_differ(sizes, sizes**3))
    assert "lower" in said(long_videos_differ(sizes, -sizes))
    assert long_videos_differ(sizes, np.cos(np.arange(12) * 2.0)) is None
    assert long_videos_differ(np.full(12, 5.0), sizes) is None
    gone = np.append(sizes, np.nan)
    assert long_videos_differ(np.append(sizes, 50.0), gone) == long_videos_differ(sizes, sizes)


def test_a_few_videos_that_carry_a_difference_are_seen_from_eight_to_thirty_nine() -> None:
    carried = np.array([0.0] * 9 + [1.0])
    assert skewed_differences(carried) is not None
    assert skewed_differences(np.linspace(-1, 1, 10)) is None
    assert skewed_differences(carried[-7:]) is None
    assert skewed_differences(np.tile(carried, 4)) is None
    assert skewed_differences(np.full(10, 0.5)) is None


def test_a_quantile_at_the_edge_of_the_data_is_warned_of_or_refused() -> None:
    assert thin_quantile(4.0, 80) is None
    assert "2.5 videos' worth" in said(thin_quantile(2.5, 50))
    assert "no interval" in said(thin_quantile(1.9, 38))
    assert "no interval" in said(thin_quantile(2.5, 5))


def test_single_video_classes_are_named() -> None:
    assert single_video_classes([], 7, refused=False) is None
    widened = said(single_video_classes(["clip", "needle"], 12, refused=False))
    assert widened.startswith("2 of 12 classes occur in one video only (clip, needle): they may be anything")
    assert "no interval over all classes" in said(single_video_classes(["clip"], 3, refused=True))


@pytest.mark.parametrize(("pairs", "need"), [(1, 6), (10, 9), (45, 11), (190, 13), (780, 15)])
def test_a_correction_that_cannot_be_passed_names_the_videos_needed(pairs: int, need: int) -> None:
    assert correction_unreachable(need, pairs) is None
    assert said(correction_unreachable(need - 1, pairs)).endswith(f"; {need} are needed.")
