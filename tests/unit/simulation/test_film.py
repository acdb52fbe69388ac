from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from clock_reading import read_clock
from keyframes import keyframe_times_s
from surgvalid.errors import Misuse
from surgvalid.simulation import Renderer, draw_scene, write_clip
from surgvalid.simulation.simulate import clip_spec
from surgvalid.video import probe, sample, time_index
from surgvalid.video.clips import clock_text

pytest.importorskip("av")


@pytest.fixture(scope="module")
def scene():
    return draw_scene(6, 0, minutes=(1, 1), width_px=240, height_px=136)


@pytest.fixture(scope="module")
def film(scene, tmp_path_factory):
    folder = tmp_path_factory.mktemp("film")
    steps = []
    assert write_clip(scene, plain=folder / "p.mp4", overlayed=folder / "o.mp4", end_s=12, step=steps.append) == 60
    assert sum(steps) == 12
    return folder


def test_a_film_keeps_the_official_clip_specification(film):
    facts, index = probe(film / "p.mp4"), time_index(film / "p.mp4")
    assert (facts.codec, facts.fps, facts.audio, facts.size_px) == ("h264", 5.0, False, (240, 136))
    np.testing.assert_allclose(index.times_s, np.arange(60) / 5, atol=1e-4)
    np.testing.assert_allclose(keyframe_times_s(index), [0, 5, 10], atol=1e-4)


def test_every_second_of_a_film_shows_the_scene_at_that_second(film, scene):
    renderer = Renderer(scene)
    for shot in sample(film / "p.mp4", np.arange(12.0)):
        painted = renderer.frame(shot.time_s).colour
        assert np.abs(shot.rgb().astype(int) - painted).mean() < 10


def test_the_clock_shows_the_second(film):
    for shot in sample(film / "o.mp4", [0.0, 3.4, 11.8]):
        assert read_clock(shot.frame.to_ndarray(format="gray")) == clock_text(shot.time_s)


def test_the_same_scene_gives_the_same_files(tmp_path):
    """With and without a clock, also when the encoder gets memory that another video clip has left behind."""
    small = draw_scene(7, 0, minutes=(1, 1), width_px=160, height_px=90)
    written = set()
    for _ in range(3):
        write_clip(small, plain=tmp_path / "p.mp4", overlayed=tmp_path / "o.mp4", end_s=12)
        written.add(((tmp_path / "p.mp4").read_bytes(), (tmp_path / "o.mp4").read_bytes()))
    assert len(written) == 1


def test_the_encoder_uses_nothing_that_differs_between_runs(film):
    """Two video clips seldom differ where it does, so what the file says of its making is read."""
    for name in ("p.mp4", "o.mp4"):
        settings = (film / name).read_bytes().partition(b"x264 - core")[2].partition(b"\0")[0].split()
        assert {b"threads=1", b"mbtree=0"} <= set(settings)


@pytest.mark.long
def test_memory_does_not_grow_with_the_length_of_the_film(tmp_path):
    small = draw_scene(6, 1, minutes=(10, 10), width_px=96, height_px=54)
    write_clip(small, plain=tmp_path / "warm.mp4", end_s=5)  # tables are made once
    peaks = []
    for length_s in (10, 60):
        tracemalloc.start()
        write_clip(small, plain=tmp_path / "f.mp4", start_s=60, end_s=60 + length_s)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    frames_more = 5 * (60 - 10) * 96 * 54 * 3
    assert peaks[1] - peaks[0] < 0.1 * frames_more, "no frames are kept"


def test_other_rates_are_possible(scene, tmp_path):
    assert write_clip(scene, plain=tmp_path / "f.mp4", spec=clip_spec(25, 136), start_s=2, end_s=4) == 50
    assert probe(tmp_path / "f.mp4").fps == 25


def test_a_film_needs_a_place_and_a_rate(scene):
    with pytest.raises(Misuse, match="name a file"):
        write_clip(scene)
    with pytest.raises(Misuse, match="frame rate"):
        clip_spec(0, 270)


def test_heights_above_576_are_kept_when_asked_for():
    assert clip_spec(25, 720).size_for(1280, 720) == (1280, 720)
    assert replace(clip_spec(5, 270)).size_for(1280, 720) == (1024, 576)
