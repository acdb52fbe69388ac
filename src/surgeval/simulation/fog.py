"""Fog on the lens: a cold scope comes into a warm, moist body, fogs at once and clears slowly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surgeval.simulation.timelines import Episode

LENS_FOG = "image_lens_fog"
"""The characteristic, as a column of the image conditions."""
_AFTER_INSERTION = 0.75
"""How often the lens fogs when the scope comes into the body."""
_PER_MINUTE = 0.03
"""How often it fogs in between: rinsed, or too near to warm steam."""
_RISE, _FALL = 12.0, 1.3
"""It is thickest after a twelfth of its time, and clears over nearly all the rest."""


def draw_fog(
    masked: Sequence[tuple[int, int]], duration_s: int, rng: np.random.Generator, pace: float
) -> tuple[Episode, ...]:
    """The fogs of one procedure, in order of time.

    Args:
        masked: When the scope is outside the body; it comes in at the start and at the end of each.
        duration_s: Length of the procedure.
        rng: The stream to draw from.
        pace: Below 1 in very short procedures; shortens every fog.
    """
    inserted = [moment for moment in (0, *(end_s for _, end_s in masked)) if rng.random() < _AFTER_INSERTION]
    between = rng.uniform(0, duration_s, int(rng.poisson(_PER_MINUTE * duration_s / 60)))
    episodes = []
    for moment in sorted([*map(float, inserted), *between.tolist()]):
        length_s = float(rng.gamma(3.0, 6.0)) * pace + 3
        strength = float(rng.beta(2.5, 1.5)) * 0.9 + 0.1
        episodes.append(Episode(LENS_FOG, moment - length_s / _RISE, moment + length_s, strength, _RISE, _FALL))
    return tuple(episodes)
