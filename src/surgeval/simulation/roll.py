"""How the camera is turned about its axis: held for a while, then turned within a second or two."""

from __future__ import annotations

from math import radians

import numpy as np

from surgeval.simulation.timelines import Path

FULL_ROLL = radians(25)
"""The camera is never turned farther from the horizon; the characteristic `image_roll` has strength 1 there."""
_USUAL_ROLL = radians(9)


def draw_roll(duration_s: float, rng: np.random.Generator, pace: float) -> Path:
    """The angle of the picture at every time, in radians; positive turns what is seen clockwise."""
    now_s, angle = 0.0, _angle(rng)
    keys = [(now_s, (angle,))]
    while now_s < duration_s:
        held_s, turning_s = float(rng.gamma(2.0, 18.0)) * pace + 3, float(rng.uniform(0.8, 2.0))
        keys.append((now_s + held_s, (angle,)))
        now_s, angle = now_s + held_s + turning_s, _angle(rng)
        keys.append((now_s, (angle,)))
    return Path.through(keys)


def _angle(rng: np.random.Generator) -> float:
    return float(np.clip(rng.normal(0, _USUAL_ROLL), -FULL_ROLL, FULL_ROLL))
