"""The camera looks where things happen, never leaves the situs for long, and is black outside."""

from functools import cache

import numpy as np
import pytest

from surgvalid.simulation import PROCEDURE_TYPES, draw_scene
from surgvalid.simulation.camera import Camera
from surgvalid.simulation.timelines import Path


@cache
def scene(number: int = 0, kind: str = "Cholecystectomy"):
    return draw_scene(13, number, procedure=kind, minutes=(20, 30))


@pytest.mark.parametrize("kind", PROCEDURE_TYPES)
def test_the_middle_of_the_view_stays_within_the_situs(kind):
    one = scene(1, kind)
    view = one.camera.at(np.arange(0, one.duration_s, 0.5))
    assert (np.abs(view[:, :2]) < (2.0, 1.2)).all(axis=1).mean() > 0.97
    assert (view[:, 2] > 0.9).all()


def test_the_camera_looks_at_what_is_handled_nine_times_of_ten():
    near = []
    for number in range(6):
        one = scene(number)
        for life in one.lives:
            for stretch in life.actions:
                at = np.array([min(stretch.end_s, life.gone_s - 3)])
                if not life.born_s <= at[0] or one.camera.is_masked(at)[0]:
                    continue
                place, view = life.path.at(at)[0], one.camera.at(at)[0]
                near.append(np.hypot(*(place[:2] - view[:2])) < 0.06)
    assert len(near) > 40
    assert 0.65 < np.mean(near) <= 1, "others are handled at the same time, and one of ten is not looked at"


def test_the_hand_is_never_quite_still_and_moves_are_fast():
    one = scene()
    speed = one.camera.speed(np.arange(1, one.duration_s - 1, dtype=float))
    assert speed.min() > 0
    assert np.median(speed) < 0.1
    assert np.quantile(speed, 0.995) > 0.5


def test_masked_stretches_are_whole_seconds_apart_and_within_the_video():
    for number in range(8):
        one = scene(number)
        last = 0
        for start, end in one.camera.masked:
            assert last < start < end <= one.duration_s - 1
            last = end
        times = np.arange(one.duration_s, dtype=float)
        assert one.camera.is_masked(times).sum() == sum(end - start for start, end in one.camera.masked)


def test_speed_is_what_the_path_says_in_view_heights_per_second():
    path = Path.through([(0.0, (0.0, 0.0, 2.0)), (10.0, (5.0, 0.0, 2.0))])
    level = Path.through([(0.0, (0.0,))])
    steady = Camera(path, np.zeros(4), (), level)
    quiet = Camera(Path.through([(0.0, (0.0, 0.0, 2.0))]), np.zeros(4), (), level)
    times = np.array([5.0])
    assert steady.speed(times)[0] == pytest.approx(1.0, abs=0.1)
    assert quiet.speed(times)[0] < 0.1
