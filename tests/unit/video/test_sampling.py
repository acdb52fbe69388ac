from __future__ import annotations

import io
from contextlib import suppress
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyframes import keyframe_times_s
from surgvalid.errors import FileUnreadable, Misuse, UnknownName
from surgvalid.video import converted
from surgvalid.video.probe import probe, time_index
from surgvalid.video.sampling import sample
from timecode_videos import jittered_milliseconds, read_stamp, stamped_video

av = pytest.importorskip("av")


def expected(milliseconds: list[int], time_s: float) -> int:
    """The last frame that begins at or before the time, or within half a millisecond, to which files round."""
    return max(ms for ms in milliseconds if ms <= time_s * 1000 + 0.5)


def stamps(source, times, **options) -> list[int]:
    return [read_stamp(shot.rgb()) for shot in sample(source, times, **options)]


JITTERED = jittered_milliseconds(160)
STEADY = list(range(0, 6000, 40))

KINDS = {
    "steady mp4 with B-frames": ("a.mp4", STEADY, {}),
    "variable rate mp4": ("b.mp4", JITTERED, {}),
    "variable rate mkv": ("c.mkv", JITTERED, {}),
    "start offset in mp4": ("d.mp4", STEADY, {"offset_ms": 1400}),
    "start offset in mkv": ("e.mkv", JITTERED, {"offset_ms": 2300}),
    "open groups of pictures": ("f.mp4", STEADY, {"extra": {"x264-params": "open-gop=1"}, "b_frames": 3}),
    "keyframes far apart": ("g.mp4", STEADY, {"keyframe_frames": 1000}),
    "every frame a keyframe": ("h.mp4", STEADY, {"keyframe_frames": 1, "b_frames": 0}),
    "transport stream": ("i.ts", STEADY, {"tick": Fraction(1, 90000)}),
    "mpeg-4 in avi": ("j.avi", STEADY, {"codec": "mpeg4", "b_frames": 0, "tick": Fraction(1, 25)}),
}


@pytest.fixture(scope="module", params=KINDS, ids=lambda name: name.replace(" ", "-"))
def stamped(request, tmp_path_factory):
    name, milliseconds, options = KINDS[request.param]
    return stamped_video(tmp_path_factory.mktemp("video") / name, milliseconds, **options), milliseconds


@pytest.mark.parametrize("how", ["auto", "in-order", "seek"])
def test_every_time_shows_the_frame_on_screen_at_that_time(stamped, how):
    path, milliseconds = stamped
    times = np.arange(0, milliseconds[-1] / 1000, 0.237)
    assert stamps(path, times, how=how) == [expected(milliseconds, time) for time in times]


def test_sampling_every_frame_by_its_own_time_gives_every_frame(stamped):
    path, milliseconds = stamped
    index = time_index(path)
    np.testing.assert_allclose(index.times_s * 1000, milliseconds, atol=0.51)
    assert stamps(path, index.times_s, how="in-order") == milliseconds


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_choice_of_times_gives_the_right_frames(data, jittered):
    # Just after a millisecond, never just before the next: files round when frames begin, to a tick or a millisecond.
    moments = st.tuples(st.integers(0, JITTERED[-1] - 1), st.floats(0, 0.4)).map(lambda pair: sum(pair) / 1000)
    times = sorted(data.draw(st.lists(moments, min_size=1, max_size=12)))
    how = data.draw(st.sampled_from(["in-order", "seek"]))
    assert stamps(jittered, times, how=how) == [expected(JITTERED, time) for time in times]


@pytest.fixture(scope="module")
def jittered(tmp_path_factory):
    return stamped_video(tmp_path_factory.mktemp("jittered") / "v.mp4", JITTERED, b_frames=3)


def test_frames_stored_after_a_keyframe_but_shown_before_it_are_decoded_whole(tmp_path):
    options = {"extra": {"x264-params": "open-gop=1"}, "b_frames": 3}
    path = stamped_video(tmp_path / "open.mp4", STEADY, **options)
    index = time_index(path)
    latest_key = np.maximum.accumulate(np.where(index.keys, index.stored, -1))
    leading = index.stored[index.stored < latest_key].tolist()
    assert leading
    for tick in leading[:6]:
        time_s = float((tick - index.shown[0]) * index.tick_s)
        assert stamps(path, [time_s], how="in-order") == [expected(STEADY, time_s)]


def test_the_time_of_showing_is_never_after_the_time_asked_for(jittered):
    for shot in sample(jittered, [0.5, 1.5, 7.0]):
        assert shot.shown_s <= shot.time_s
        assert round(shot.shown_s * 1000) == read_stamp(shot.rgb())


def test_repeated_times_give_the_same_frame_twice(jittered):
    first, second = sample(jittered, [1.0, 1.0])
    assert first.shown_s == second.shown_s


def test_long_gaps_are_jumped_over(tmp_path, monkeypatch):
    monkeypatch.setattr("surgvalid.video.sampling._JUMP_PACKETS", 30)
    path = stamped_video(tmp_path / "long.mp4", range(0, 20_000, 40), size=(96, 48), keyframe_frames=25, b_frames=3)
    times = [0.0, 1.0, 10.0, 10.5, 15.01, 19.96]
    assert stamps(path, times, how="in-order") == [0, 1000, 10_000, 10_480, 15_000, 19_960]


def test_an_open_stream_is_read_like_a_file(jittered):
    stream = io.BytesIO(jittered.read_bytes())
    assert stamps(stream, [0.3, 2.0]) == stamps(jittered, [0.3, 2.0])


def test_no_times_give_no_frames(jittered):
    assert list(sample(jittered, [])) == []


@pytest.mark.parametrize("how", ["in-order", "seek"])
def test_the_end_still_shows_the_last_frame_and_later_times_are_refused(tmp_path, how):
    path = stamped_video(tmp_path / "v.mp4", STEADY)
    assert stamps(path, [6.0], how=how) == [STEADY[-1]]
    with pytest.raises(Misuse, match="outside the video"):
        list(sample(path, [6.2], how=how))


def test_all_times_outside_the_video_are_counted(jittered):
    with pytest.raises(Misuse, match=r"2 of 3 times lie outside the video.*first: 900 s"):
        list(sample(jittered, [0, 900, 901], how="in-order"))


@pytest.mark.parametrize("times", [[2.0, 1.0], [float("nan")], [0.0, float("inf")]])
def test_times_that_fall_or_are_no_numbers_are_refused(jittered, times):
    with pytest.raises(Misuse, match="finite and rising"):
        sample(jittered, times)


def test_an_unknown_way_names_the_nearest(jittered):
    with pytest.raises(UnknownName, match="did you mean 'seek'"):
        sample(jittered, [0.0], how="sek")


def test_probe_states_what_the_headers_say(tmp_path):
    path = stamped_video(tmp_path / "v.mp4", STEADY, offset_ms=1400, audio=True)
    facts = probe(path)
    assert (facts.codec, facts.width_px, facts.height_px, facts.audio) == ("h264", 192, 112, True)
    assert facts.fps == pytest.approx(25, rel=0.01)
    assert facts.duration_s == pytest.approx(6.0, abs=0.05)
    assert facts.start_s == pytest.approx(1.4)


def test_the_index_tells_where_keyframes_are(tmp_path):
    steady = time_index(stamped_video(tmp_path / "v.mp4", STEADY, keyframe_frames=25))
    np.testing.assert_allclose(keyframe_times_s(steady), np.arange(6))
    assert steady.duration_s == pytest.approx(6.0)


HOSTILE = {
    "empty": b"",
    "text": b"not a video at all\n" * 50,
    "zeros": bytes(5000),
    "mp4 magic only": b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom",
    "matroska magic only": b"\x1a\x45\xdf\xa3" + b"\xff" * 400,
    "zip": b"PK\x03\x04" + b"\x00" * 300,
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("reader", [probe, time_index, lambda path: list(sample(path, [0.0]))])
def test_files_that_are_no_video_are_refused_by_name(tmp_path, kind, reader):
    path = tmp_path / "odd.mp4"
    path.write_bytes(HOSTILE[kind])
    with pytest.raises(FileUnreadable, match=r"odd\.mp4"):
        reader(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileUnreadable, match="no such file"):
        probe(tmp_path / "gone.mp4")


def test_sound_without_a_picture_is_refused(tmp_path):
    import av

    path = tmp_path / "sound.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("aac", rate=8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.rate, frame.pts = 8000, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(FileUnreadable, match="no image"):
        probe(path)


def test_a_raw_stream_without_timestamps_is_refused(tmp_path):
    path = stamped_video(tmp_path / "v.h264", STEADY[:30])
    with pytest.raises(FileUnreadable):
        time_index(path)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(0, 20_000), flips=st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), max_size=8))
def test_damaged_files_give_frames_or_a_clear_error_and_nothing_else(tmp_path_factory, jittered, cut, flips):
    data = bytearray(jittered.read_bytes())
    for at, value in flips:
        data[at % len(data)] = value
    path = tmp_path_factory.mktemp("damaged") / "damaged.mp4"
    path.write_bytes(data[: max(len(data) - cut, 1)])
    for how in ("in-order", "seek"):
        with suppress(FileUnreadable, Misuse):
            for shot in sample(path, [0.0, 1.0, 3.0], how=how):
                assert shot.rgb().ndim == 3


def test_tables_that_are_kept_between_frames_change_no_pixel():
    shapes = [(48, 64), (30, 40), (48, 64), (20, 96)]
    pictures = [
        np.random.default_rng(at).integers(0, 256, (*shape, 4), dtype=np.uint8) for at, shape in enumerate(shapes)
    ]
    for picture, kind in product(pictures, ("yuv420p", "rgb24")):
        frame = av.VideoFrame.from_ndarray(picture, format="rgba")
        fresh = frame.reformat(width=32, height=24, format=kind).to_ndarray()
        assert np.array_equal(converted(frame, kind, width_px=32, height_px=24).to_ndarray(), fresh)
        assert converted(frame, kind).width == picture.shape[1]
