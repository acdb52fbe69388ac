"""Videos that are stored turned are seen upright; files that were cut off are told by what their header promised."""

import numpy as np
import pytest

from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.video.clips import build_clip
from surgvalid.video.probe import probe
from surgvalid.video.sampling import sample

av = pytest.importorskip("av")
CORNERS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}


def picture() -> np.ndarray:
    """Sixty-four wide and forty-eight high: red, green above, blue, white below."""
    shown = np.zeros((48, 64, 3), np.uint8)
    shown[:24, :32], shown[:24, 32:], shown[24:, :32], shown[24:, 32:] = CORNERS.values()
    return shown


def recorded(path, *, turned: int = 0, seconds: int = 4, options: dict[str, str] | None = None):
    """A video of `picture` at 5 fps whose header says that it was held turned."""
    with av.open(str(path), "w", options=options or {}) as container:
        stream = container.add_stream("libx264", rate=5)
        stored = np.ascontiguousarray(np.rot90(picture(), -turned // 90))
        stream.height, stream.width, stream.pix_fmt = *stored.shape[:2], "yuv444p"
        stream.options = {"crf": "1", "g": "10"}
        if turned:
            stream.set_display_rotation(turned)
        for _ in range(5 * seconds):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(stored, format="rgb24")))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
@pytest.mark.parametrize("how", ["in-order", "seek"])
def test_a_turned_video_is_seen_upright(tmp_path, turned, how):
    path = recorded(tmp_path / "turned.mp4", turned=turned)
    facts = probe(path)
    assert (facts.size_px, facts.rotation_deg) == ((64, 48), turned)
    for shot in sample(path, [0.0, 1.1], how=how):
        seen = shot.rgb().astype(int)
        assert seen.shape == (48, 64, 3)
        assert np.abs(seen - picture())[4:-4, 4:-4].mean() < 20


def test_a_clip_of_a_turned_video_is_upright(tmp_path):
    path = recorded(tmp_path / "turned.mp4", turned=90)
    facts = build_clip(path, start_s=0, end_s=2, plain=tmp_path / "clip.mp4")
    assert (facts.width_px, facts.height_px) == (64, 48)
    assert probe(tmp_path / "clip.mp4").rotation_deg == 0
    [shot] = sample(tmp_path / "clip.mp4", [1.0])
    assert np.abs(shot.rgb().astype(int) - picture())[6:-6, 6:-6].mean() < 40


@pytest.mark.parametrize("how", ["in-order", "seek"])
def test_a_file_that_was_cut_off_is_told_by_what_its_header_promised(tmp_path, how):
    whole = recorded(tmp_path / "whole.mp4", seconds=40, options={"movflags": "faststart"}).read_bytes()
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole[: int(0.75 * len(whole))])
    assert probe(cut).duration_s == pytest.approx(40)
    assert len(list(sample(cut, [0.0, 1.0], how=how))) == 2
    with pytest.raises(FileUnreadable, match=r"header promises 40\.0 s, but its frames end after"):
        list(sample(cut, [39.0], how=how))
    with pytest.raises(Misuse, match="outside the video"):
        list(sample(cut, [50.0], how=how))
