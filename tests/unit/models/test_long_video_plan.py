"""Plans: they fit the tokens and the seconds, give up frames before size, and refuse only a context without room."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.models._long_video.plan import ReadingPace, Shown, sizes
from surgvalid.models._long_video.plan import planned as planned_for

HOURS_3 = 3 * 3600.0


def each(height_px: int, width_px: int) -> int:
    """Tokens of a frame, two of which share theirs."""
    return max(1, height_px // 28 * (width_px // 28) // 2)


def planned(duration_s: float, height_px: int, width_px: int, **limits: Any) -> Shown:
    return planned_for(duration_s, height_px, width_px, each, **limits)


def test_without_limits_a_video_is_shown_with_two_frames_a_second_at_the_largest_size() -> None:
    shown = planned(60, 540, 960)
    assert (shown.frames, shown.height_px, shown.width_px, shown.is_reduced) == (121, 252, 448, False)


@given(
    duration_s=st.floats(0, 4 * 3600),
    tokens=st.integers(200, 200_000),
    seconds=st.floats(-5, 40),
    height=st.integers(84, 1080),
    width=st.integers(84, 1920),
)
def test_a_plan_never_overflows(duration_s: float, tokens: int, seconds: float, height: int, width: int) -> None:
    try:
        shown = planned(duration_s, height, width, tokens=tokens, seconds=seconds, most_frames=768)
    except ValueError:
        least = sizes(height, width)[-1]
        assert each(*least) > tokens
        return
    one = each(shown.height_px, shown.width_px)
    assert shown.frames * one <= tokens
    assert 1 <= shown.at_once <= shown.frames
    assert shown.frames == 1 or ReadingPace().seconds(shown.frames, one) <= seconds
    assert shown.height_px % 28 == shown.width_px % 28 == 0


def test_frames_are_given_up_before_size_and_size_before_the_last_frames() -> None:
    seconds = [30.0, 6.0, 3.0, 1.5, 0.6, 0.0]
    plans = [planned(HOURS_3, 540, 960, seconds=s, most_frames=768) for s in seconds]
    assert [p.frames for p in plans[:2]] == sorted((p.frames for p in plans[:2]), reverse=True)
    assert plans[0].height_px == 252
    heights = [p.height_px for p in plans]
    assert heights == sorted(heights, reverse=True)
    assert plans[-1].frames == 1
    assert all(p.is_reduced for p in plans[1:])


def test_all_frames_at_a_smaller_size_are_a_reduction_too() -> None:
    whole, small = planned(10, 540, 960), planned(10, 540, 960, tokens=730)
    assert (small.frames, small.height_px) == (whole.frames, 168)
    assert (whole.is_reduced, small.is_reduced) == (False, True)


def test_more_time_never_shows_fewer_pixels() -> None:
    pixels = [
        (p := planned(HOURS_3, 540, 960, seconds=s / 4, most_frames=768)).frames * p.height_px * p.width_px
        for s in range(1, 80)
    ]
    assert all(more >= 0.45 * less for less, more in pairwise(pixels))
    assert pixels[-1] == max(pixels)


def test_a_context_without_room_for_a_frame_is_refused_with_the_numbers() -> None:
    with pytest.raises(ValueError, match="5 tokens are left for frames, and one of 140 x 84 px takes 7"):
        planned(60, 540, 960, tokens=5)


def test_a_small_video_is_never_enlarged() -> None:
    assert sizes(120, 160) == [(84, 112)]
    assert sizes(30, 30) == [(28, 28)]


def test_the_pace_tells_starts_tokens_and_pairs_apart() -> None:
    pace, before = ReadingPace(), 0
    for frames in (1, 2, 4, 8, 64, 192):
        tokens = frames * 144
        taken = 0.06 + tokens * 4.5e-5 + tokens * (before + tokens / 2) * 4e-9
        pace.learnt(tokens, before, taken)
        before += tokens
    assert pace.per_chunk == pytest.approx(0.06, rel=0.05)
    assert pace.per_token == pytest.approx(4.5e-5, rel=0.05)
    assert pace.per_pair == pytest.approx(4e-9, rel=0.05)


def test_the_first_frame_of_a_slow_machine_is_believed() -> None:
    pace = ReadingPace()
    pace.learnt(144, 0, 2.0)
    assert pace.seconds(10, 144) > 20.0
    assert pace.answer(0) > 2.0, "a question is read like a frame, as far as anybody knows"
    for _ in range(3):
        pace.read(64, 6.4)
    assert pace.per_frame == pytest.approx(0.1)
