"""Image artefacts at known strengths: the characteristics that Table 1 of the failure-analysis paper lists, and fog.

Each characteristic is named `<what is covered>_<by what>`: five of the background, nine of an instrument,
three of the whole image. Strength is 0 (absent) to 1 (nothing can be seen); an annotator would tick the box
from about `TICKED_FROM` on. Fog is none of them: a cold scope comes into a warm, moist body, fogs at once and clears
slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surgvalid.schema.documents import read_toml
from surgvalid.simulation.centers import Center
from surgvalid.simulation.procedure_types import TimedPhase
from surgvalid.simulation.timelines import Draws, Episode

LENS_FOG = "image_lens_fog"
"""The characteristic, as a column of the image conditions."""
_AFTER_INSERTION = 0.75
"""How often the lens fogs when the scope comes into the body."""
_FOGS_PER_MINUTE = 0.03
"""How often it fogs in between: rinsed, or too near to warm steam."""
_RISE, _FALL = 12.0, 1.3
"""It is thickest after a twelfth of its time, and clears over nearly all the rest."""


def draw_fog(masked: Sequence[tuple[int, int]], duration_s: int, rng: Draws, pace: float) -> tuple[Episode, ...]:
    """The fogs of one procedure, in order of time.

    Args:
        masked: When the scope is outside the body; it comes in at the start and at the end of each.
        duration_s: Length of the procedure.
        rng: The stream to draw from.
        pace: Below 1 in very short procedures; shortens every fog.
    """
    inserted = [moment for moment in (0, *(end_s for _, end_s in masked)) if rng.random() < _AFTER_INSERTION]
    between = rng.uniform(0, duration_s, int(rng.poisson(_FOGS_PER_MINUTE * duration_s / 60)))
    episodes = []
    for moment in sorted([*map(float, inserted), *between.tolist()]):
        length_s = rng.gamma(3.0, 6.0) * pace + 3
        strength = rng.beta(2.5, 1.5) * 0.9 + 0.1
        episodes.append(Episode(LENS_FOG, moment - length_s / _RISE, moment + length_s, strength, _RISE, _FALL))
    return tuple(episodes)


_DATA = read_toml(Path(__file__).with_suffix(".toml"))
BACKGROUND, INSTRUMENT, IMAGE = (tuple(_DATA[covered]) for covered in ("background", "instrument", "image"))
CHARACTERISTICS = (*BACKGROUND, *INSTRUMENT, *IMAGE)
"""All seventeen."""

TICKED_FROM = 0.3


def draw_episodes(
    phases: tuple[TimedPhase, ...], duration_s: float, center: Center, rng: Draws, pace: float
) -> tuple[Episode, ...]:
    """The artefacts of one procedure, in order of time.

    Args:
        phases: They say how much smoke and blood to expect.
        duration_s: Length of the procedure.
        center: Its habits.
        rng: The stream to draw from.
        pace: Below 1 in very short procedures: episodes are shorter, and there are more of them.
    """
    episodes: list[Episode] = []
    for phase in phases:
        for kind, rate in (("smoke", phase.model.smoke), ("blood", phase.model.blood)):
            expected = rate * center.rates.get(kind, 1.0) * phase.length_s / 60
            episodes += _scattered(f"background_{kind}", expected, phase.start_s, phase.end_s, rng, pace)
    for kind, rate in _DATA["per_minute"].items():
        expected = rate * center.rates.get(kind, 1.0) * duration_s / 60
        episodes += _scattered(kind, expected, 0.0, duration_s, rng, pace)
    return tuple(sorted(episodes, key=lambda episode: (episode.start_s, episode.kind)))


def _scattered(kind: str, expected: float, start_s: float, end_s: float, rng: Draws, pace: float) -> list[Episode]:
    count = int(rng.poisson(expected / pace))  # shorter and more of them: as much of the time as in a long procedure
    starts = np.sort(rng.uniform(start_s, end_s, count))
    lengths = rng.gamma(3.0, _DATA["seconds"].get(kind, 25.0) / 3.0, count) * pace + 1.0
    strengths = rng.beta(2.0, 2.0, count) * 0.9 + 0.1
    return [
        Episode(kind, float(start), float(min(start + length, end_s)), float(strength))
        for start, length, strength in zip(starts, lengths, strengths, strict=True)
        if start < end_s - 0.5
    ]
