from __future__ import annotations

import pytest

from surgvalid.errors import FileUnreadable, Misuse, UnknownName, WouldOverwrite
from surgvalid.video import FrameStore, frame_name, iterate_frames, sample, store_frames
from timecode_videos import read_stamp, stamped_video

pytest.importorskip("av")


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return stamped_video(tmp_path_factory.mktemp("v") / "v.mp4", range(0, 12_000, 40), keyframe_frames=30)


def stamp_of(path) -> int:
    [shot] = sample(path, [0.0], how="in-order")
    return read_stamp(shot.rgb())


@pytest.mark.parametrize("every_s", [0.04, 0.2, 1.0, 5.0])
def test_every_second_is_found_whatever_the_stride(video, tmp_path, every_s):
    """Numbering by a running count shows another second as soon as the stride is not 1; names that are times cannot."""
    store = store_frames(video, tmp_path / "frames", every_s=every_s, times_s=None, kind="png")
    for second in (0, 5, 10):
        assert stamp_of(store.path_at(second)) == second * 1000
    assert all(stamp_of(path) == time_ms for time_ms, path in list(store.files.items())[:20])


def test_a_second_that_was_not_stored_is_an_error_and_never_a_neighbour(video, tmp_path):
    store = store_frames(video, tmp_path, every_s=5)
    assert store.times_s.tolist() == [0, 5, 10]
    with pytest.raises(Misuse, match=r"no frame was stored for 4 s; the nearest is 5 s"):
        store.path_at(4)


def test_chosen_times_are_stored_as_jpeg_and_shrunk(video, tmp_path):
    store = store_frames(video, tmp_path, times_s=[2.6, 0.2, 0.2], kind="jpg", max_height_px=56)
    assert [path.name for path in store.files.values()] == ["t000000200ms.jpg", "t000002600ms.jpg"]
    [shot] = sample(store.path_at(2.6), [0.0], how="in-order")
    assert (shot.frame.width, shot.frame.height) == (96, 56)
    assert read_stamp(shot.rgb()) == 2600


def test_a_window_gives_its_files_in_order_with_both_ends(video, tmp_path):
    store = store_frames(video, tmp_path, every_s=1)
    assert [path.name[1:10] for path in store.between(3, 5)] == ["000003000", "000004000", "000005000"]


def test_frames_can_be_passed_through_without_storing(video):
    assert [read_stamp(shot.rgb()) for shot in iterate_frames(video, every_s=4)] == [0, 4000, 8000]


def test_a_folder_with_frames_is_not_written_into_unless_forced(video, tmp_path):
    store_frames(video, tmp_path, every_s=5)
    with pytest.raises(WouldOverwrite):
        store_frames(video, tmp_path, every_s=5)
    assert len(store_frames(video, tmp_path, every_s=2.5, force=True).files) == 5


def test_one_time_in_two_files_is_refused(tmp_path):
    (tmp_path / "t000001000ms.png").touch()
    (tmp_path / "t000001000ms.jpg").touch()
    with pytest.raises(FileUnreadable, match="are the same time"):
        FrameStore.open(tmp_path)


def test_folders_without_frames_are_refused(tmp_path):
    (tmp_path / "frame_000001.png").touch()
    with pytest.raises(FileUnreadable, match="named by its time"):
        FrameStore.open(tmp_path)
    with pytest.raises(FileUnreadable, match="no such folder"):
        FrameStore.open(tmp_path / "gone")


@pytest.mark.parametrize("time_s", [-1.0, float("nan"), 1 / 3, 1e12])
def test_times_that_no_name_can_hold_are_refused(time_s):
    with pytest.raises(Misuse, match="whole milliseconds"):
        frame_name(time_s)


def test_odd_options_are_refused(video, tmp_path):
    with pytest.raises(UnknownName, match="kind of image"):
        store_frames(video, tmp_path, kind="gif")
    with pytest.raises(Misuse, match="stride"):
        store_frames(video, tmp_path, every_s=0)
