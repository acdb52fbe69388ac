"""A frame depends on the scene and the time alone; nothing is drawn without the extra that draws."""

import sys

import numpy as np
import pytest

pytest.importorskip("numba")

import surgvalid
from surgvalid.errors import ExtraNeeded
from surgvalid.simulation import CENTERS, Renderer, draw_scene, renderer, true_procedure


@pytest.mark.parametrize(("seed", "center"), list(enumerate(CENTERS)))
def test_frames_are_the_same_in_every_order(seed, center):
    """At times when artefacts come and go, and while things are held and bagged."""
    scene = draw_scene(seed, 0, center=center, minutes=(3, 4), width_px=128, height_px=72)
    draw = np.random.default_rng(seed)
    spans = [(episode.start_s, min(episode.end_s, scene.duration_s)) for episode in scene.episodes]
    times = np.unique([draw.uniform(*span) for span in spans])[:12]
    forward = list(Renderer(scene).frames(times))
    renderer.world_of.cache_clear()
    backward = Renderer(scene)
    for at in reversed(range(len(times))):
        assert (backward.frame(float(times[at])).colour == forward[at]).all(), f"{times[at]:.2f} s, last ones first"
    for at in draw.choice(len(times), 2, replace=False).tolist():
        renderer.world_of.cache_clear()
        assert (Renderer(scene).frame(float(times[at])).colour == forward[at]).all(), f"{times[at]:.2f} s, alone"


def test_what_moves_is_blurred_and_what_is_seen_is_not_told_by_it():
    scene = draw_scene(3, 0, minutes=(2, 2), width_px=128, height_px=72)
    fastest = int(scene.camera.speed(np.arange(10.0, 110.0)).argmax()) + 10.0
    one = Renderer(scene)
    sharp = one.painter.frame(one.world.at(fastest), number=round(1000 * fastest)).colour.astype(float)
    blurred = one.frame(fastest).colour.astype(float)
    assert np.abs(np.diff(blurred, axis=1)).mean() < 0.95 * np.abs(np.diff(sharp, axis=1)).mean()


def test_without_numba_simulation_says_which_extra_to_install(monkeypatch):
    scene = draw_scene(3, 0, minutes=(1, 1))
    renderer.world_of.cache_clear()
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(renderer, "find_spec", lambda _: None)
    for asked in (
        lambda: surgvalid.simulate(1),
        lambda: true_procedure(scene),
        lambda: scene.conditions(np.zeros(1)),
        lambda: Renderer(scene),
    ):
        with pytest.raises(ExtraNeeded, match=r"simulated procedures needs numba; install surgvalid\[fast\]"):
            asked()
