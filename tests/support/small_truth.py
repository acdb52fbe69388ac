"""True procedures for tests whose subject is not the picture: small images, no instruments, told once per process."""

from __future__ import annotations

from functools import cache

from surgvalid.schema.procedures.tracks import Procedure
from surgvalid.simulation import draw_scene, true_procedure


@cache
def small_truth(seed: int, number: int, minutes: tuple[float, float]) -> Procedure:
    """What can be seen in a simulated procedure of that seed, number and length."""
    return true_procedure(draw_scene(seed, number, minutes=minutes, width_px=160, height_px=90), instruments=False)
