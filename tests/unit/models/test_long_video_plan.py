"""Plans: they fit the tokens and the seconds, give up frames before size, and refuse only a context without room."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.models._long_video.plan import ReadingPace, planned, sizes

HOURS_3 = 3 * 3600.0


def test_without_limits_a_video_is_shown_with_two_frames_a_second_at_the_largest_size() -> None:
    shown = planned(60, 540, 960)
    assert (shown.frames, shown.height_px, shown.width_px, shown.is_reduced) == (121, 252, 448, False)


def test_768_frames_are_55296_tokens() -> None:
    shown = planned(HOURS_3, 540, 960, most_frames=768)
    assert (shown.frames, shown.tokens) == (768, 55296)


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
        assert least[0] // 28 * (least[1] // 28) > tokens
        return
    assert shown.tokens <= tokens
    assert shown.frames >= 1
    assert shown.frames <= 2 or ReadingPace().seconds(shown.frames, shown.tokens_per_slice) <= seconds
    assert shown.height_px % 28 == shown.width_px % 28 == 0


def test_frames_are_given_up_before_size_and_size_before_the_last_frames() -> None:
    seconds = [30.0, 6.0, 3.0, 1.5, 0.6, 0.0]
    plans = [planned(HOURS_3, 540, 960, seconds=s, most_frames=768) for s in seconds]
    assert [p.frames for p in plans[:2]] == sorted((p.frames for p in plans[:2]), reverse=True)
    assert plans[0].height_px == 252
    heights = [p.height_px for p in plans]
    assert heights == sorted(heights, reverse=True)
    assert plans[-1].frames == 2
    assert all(p.is_reduced for p in plans[1:])


def test_all_frames_at_a_smaller_size_are_a_reduction_too() -> None:
    whole, small = planned(10, 540, 960), planned(10, 540, 960, tokens=800)
    assert (small.frames, small.height_px) == (whole.frames, 168)
    assert (whole.is_reduced, small.is_reduced) == (False, True)


def test_more_time_never_shows_fewer_pixels() -> None:
    pixels = [
        (p := planned(HOURS_3, 540, 960, seconds=s / 4, most_frames=768)).frames * p.height_px * p.width_px
        for s in range(1, 80)
    ]
    assert all(more >= 0.45 * less for less, more in pairwise(pixels))
    assert pixels[-1] == max(pixels)


def test_a_context_without_room_for_two_frames_is_refused_with_the_numbers() -> None:
    with pytest.raises(ValueError, match="10 tokens are left for frames, and two of 140 x 84 px take 15"):
        planned(60, 540, 960, tokens=10)


def test_a_small_video_is_never_enlarged() -> None:
    assert sizes(120, 160) == [(84, 112)]
    assert sizes(30, 30) == [(28, 28)]


def test_the_pace_is_learnt_from_what_chunks_took() -> None:
    pace = ReadingPace()
    pace.learnt(frames=64, read_s=0.1, tokens=4608, before=0, work_s=7.0)
    for _ in range(20):
        pace.learnt(frames=64, read_s=6.4, tokens=4608, before=1000, work_s=2.0)
    assert pace.per_frame == pytest.approx(0.1, rel=0.01)
    before = pace.seconds(64, 144) / pace.safety
    assert before - 64 * pace.per_frame == pytest.approx(2.0, rel=0.3)


def test_a_chunk_of_two_small_frames_says_little_about_a_long_film() -> None:
    """Seconds as on an H200: a chunk takes 0.06 s to start, then 4.5e-5 s a token and what attention adds."""
    pace, before = ReadingPace(per_frame=0.0), 0
    for frames in (4, 16, 64, 192, 192, 192, 108):
        tokens = frames // 2 * 144
        taken = 0.06 + tokens * 4.5e-5 + tokens * (before + tokens / 2) * 4e-10
        pace.learnt(frames=frames, read_s=0.0, tokens=tokens, before=before, work_s=taken)
        before += tokens
    for _ in range(20):
        pace.learnt(frames=2, read_s=0.0, tokens=15, before=30, work_s=0.1)
    shown = planned(10800.0, 540, 960, seconds=7.0, pace=pace, most_frames=768)
    assert (shown.frames, shown.height_px, shown.is_reduced) == (768, 252, False)
    slower = [pace.seconds(768, 144)]
    for _ in range(3):
        pace.learnt(frames=192, read_s=0.0, tokens=13824, before=0, work_s=7.0)
        slower.append(pace.seconds(768, 144))
    assert min(slower[1:]) > 3 * slower[0], "one large chunk that is slow is believed"
