"""An image depends on the scene and its time alone, whatever was painted before it."""

import numpy as np
import pytest

from surgvalid.simulation import CENTERS, Renderer, draw_scene

FRAMES = 60


@pytest.mark.parametrize(("seed", "center"), list(enumerate(CENTERS)))
def test_frames_are_the_same_in_every_order(seed, center):
    """At times when artefacts come and go: their sprites are painted in steps and kept."""
    scene = draw_scene(seed, 0, center=center, minutes=(10, 12), width_px=160, height_px=90)
    draw = np.random.default_rng(seed)
    spans = [(episode.start_s, episode.end_s) for episode in scene.episodes]
    times = np.unique([draw.uniform(*span) for span in spans for _ in range(-(-FRAMES // len(spans)))])
    forward = [picture.copy() for picture in Renderer(scene).frames(times)]
    assert len(forward) >= FRAMES
    backward = Renderer(scene)
    for at in reversed(range(len(times))):
        assert (backward.frame(float(times[at])) == forward[at][..., :3]).all(), f"{times[at]:.2f} s, last ones first"
    for at in draw.choice(len(times), 4, replace=False).tolist():
        assert (Renderer(scene).frame(float(times[at])) == forward[at][..., :3]).all(), f"{times[at]:.2f} s, alone"
