from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from clock_reading import read_clock
from keyframes import keyframe_times_s
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.video import ClipSpec, build_clip, clip_times_s, clip_writer, probe, sample, time_index
from surgvalid.video.clips import burn_clock, clock_text
from timecode_videos import jittered_milliseconds, read_stamp, stamped_video

pytest.importorskip("av")

JITTERED = jittered_milliseconds(200, seed=8)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("v") / "source.mp4"
    return stamped_video(path, JITTERED, offset_ms=700, audio=True, size=(384, 216))


@pytest.fixture(scope="module")
def clip(source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    facts = build_clip(source, start_s=3, end_s=15, plain=folder / "plain.mp4", overlayed=folder / "clock.mp4")
    assert facts.frames == 61
    return folder


def test_a_clip_keeps_the_official_specification(clip):
    for name in ("plain.mp4", "clock.mp4"):
        facts, index = probe(clip / name), time_index(clip / name)
        assert (facts.codec, facts.audio, facts.fps, facts.height_px) == ("h264", False, 5.0, 216)
        np.testing.assert_allclose(index.times_s, np.arange(61) / 5, atol=1e-4)
        np.testing.assert_allclose(keyframe_times_s(index), [0, 5, 10], atol=1e-4)


def test_every_frame_of_a_clip_is_the_source_frame_of_its_time(clip):
    times = clip_times_s(3, 15)
    expected = [max(ms for ms in JITTERED if ms <= time * 1000 + 0.5) for time in times]
    assert [read_stamp(shot.rgb()) for shot in sample(clip / "plain.mp4", times - 3)] == expected


def test_the_clock_shows_the_floored_source_second_in_every_frame(clip):
    times = clip_times_s(3, 15)
    for time, shot in zip(times, sample(clip / "clock.mp4", times - 3), strict=True):
        assert read_clock(shot.frame.to_ndarray(format="gray")) == f"00:00:{int(time + 1e-9):02d}"
    [first] = sample(clip / "plain.mp4", [0.0])
    assert read_clock(first.frame.to_ndarray(format="gray")) is None


def test_a_window_of_no_length_is_one_frame(source, tmp_path):
    assert build_clip(source, start_s=2, end_s=2, plain=tmp_path / "c.mp4").frames == 1
    assert len(time_index(tmp_path / "c.mp4").shown) == 1


def test_high_videos_shrink_and_low_ones_stay(tmp_path):
    tall = stamped_video(tmp_path / "tall.mp4", range(0, 400, 40), size=(960, 720))
    build_clip(tall, start_s=0, end_s=0.2, plain=tmp_path / "c.mp4")
    facts = probe(tmp_path / "c.mp4")
    assert (facts.width_px, facts.height_px) == (768, 576)


def test_pixels_that_are_not_square_become_square():
    assert ClipSpec().size_for(720, 576, Fraction(16, 15)) == (768, 576)


def test_equal_inputs_give_equal_files(source, tmp_path):
    for name in ("a.mp4", "b.mp4"):
        build_clip(source, start_s=1, end_s=3, overlayed=tmp_path / name)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_nothing_is_left_behind_when_the_source_ends_too_early(source, tmp_path):
    with pytest.raises(Misuse, match="outside the video"):
        build_clip(source, start_s=0, end_s=900, plain=tmp_path / "c.mp4")
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(source.read_bytes()[:3000])
    with pytest.raises(FileUnreadable):
        build_clip(broken, start_s=0, end_s=1, plain=tmp_path / "c.mp4")
    assert [path.name for path in tmp_path.iterdir()] == ["broken.mp4"]


@pytest.mark.parametrize(("start_s", "end_s"), [(-1, 3), (5, 4), (0, float("inf"))])
def test_windows_that_mean_nothing_are_refused(start_s, end_s):
    with pytest.raises(Misuse, match="a window must"):
        clip_times_s(start_s, end_s)


def test_a_clip_without_a_place_is_refused(source):
    with pytest.raises(Misuse, match="name a file"):
        build_clip(source, start_s=0, end_s=1)


def test_sizes_that_h264_cannot_hold_are_refused(tmp_path):
    with pytest.raises(Misuse, match="even"), clip_writer(tmp_path / "c.mp4", 33, 20):
        pass


@pytest.mark.parametrize("time_s", [0, 59.99, 60, 3599.2, 36_001, 359_999])
@pytest.mark.parametrize("height", [48, 216, 576])
def test_the_clock_can_be_read_back(time_s, height):
    luma = np.full((height, height * 16 // 9), 90, np.uint8)
    chroma = tuple(np.full((height // 2, height * 8 // 9), 60, np.uint8) for _ in range(2))
    burn_clock(luma, chroma, time_s)
    assert read_clock(luma) == clock_text(time_s)


def test_a_picture_without_room_for_a_clock_shows_none():
    assert read_clock(np.zeros((8, 20), np.uint8)) is None
