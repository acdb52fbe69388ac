"""Frames near times: key frames within the slack, exact ones elsewhere, in order, whatever the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noise_films import noise_film
from surgvalid.video import nearest, sample
from surgvalid.video.key_frames import key_times


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 s at 5 frames a second, a key frame every 5 s, every frame other noise."""
    return noise_film(tmp_path_factory.mktemp("film") / "film.mp4", 200)


def test_the_key_frames_of_a_clip_are_listed(film: Path) -> None:
    np.testing.assert_allclose(key_times(film), np.arange(0, 40, 5.0), atol=1e-6)


def test_key_frames_are_the_frames_that_exact_reading_gives(film: Path) -> None:
    wanted = [1.0, 8.0, 13.0, 16.0, 39.0]
    near = list(nearest(film, wanted, 5.0))
    assert [round(shot.shown_s, 6) for shot in near] == [0.0, 10.0, 15.0, 35.0], "one of them twice, shown once"
    for shot, exact in zip(near, sample(film, [0.0, 10.0, 15.0, 35.0]), strict=True):
        assert shot.shown_s == pytest.approx(exact.shown_s)
        np.testing.assert_array_equal(shot.rgb(), exact.rgb())


def test_where_no_key_frame_is_near_the_frames_themselves_are_read(film: Path) -> None:
    shots = list(nearest(film, [0.1, 2.5, 4.9, 7.5], 0.5))
    assert [round(shot.shown_s, 2) for shot in shots] == [0.0, 2.4, 4.8, 7.4]
    for shot, exact in zip(shots, sample(film, [0.0, 2.4, 4.8, 7.4]), strict=True):
        np.testing.assert_array_equal(shot.rgb(), exact.rgb())


def test_without_slack_frames_are_exact(film: Path) -> None:
    shots = nearest(film, [0.3, 6.1], 0.0)
    assert [(shot.time_s, round(shot.shown_s, 2)) for shot in shots] == [(0.3, 0.2), (6.1, 6.0)]


def test_a_file_without_a_list_of_key_frames_is_read_exactly(film: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("surgvalid.video.key_frames.key_times", lambda _: np.empty(0))
    assert [round(shot.shown_s, 2) for shot in nearest(film, [1.1, 8.0], 5.0)] == [1.0, 8.0]
