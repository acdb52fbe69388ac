"""One simulated procedure, drawn from a seed: everything in it as functions of time.

Places are kept in a plane, whose unit is the height of the view at magnification 1, so nothing here depends on the size
of the image; `render.world` makes bodies in space of them, and what can be seen is read from its images.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surgvalid.errors import Misuse
from surgvalid.simulation.artefacts import CHARACTERISTICS, LENS_FOG, draw_episodes, draw_fog
from surgvalid.simulation.camera import FULL_ROLL, Camera, draw_camera
from surgvalid.simulation.centers import Center, center_named
from surgvalid.simulation.instruments import SLOTS, Instruments, draw_instruments
from surgvalid.simulation.lives import Life, LifeWriter
from surgvalid.simulation.procedure_types import (
    ProcedureType,
    TimedPhase,
    draw_duration_s,
    draw_phases,
    procedure_type,
)
from surgvalid.simulation.renderer import world_of
from surgvalid.simulation.timelines import Draws, Episode, Floats, Times, strongest
from surgvalid.stats.draws import stream

FULL_BLUR_SPEED = 2.5
"""Camera speed (view heights per second) at which motion has strength 1."""


@dataclass(frozen=True, eq=False)
class Scene:
    """Everything that happens in one procedure."""

    video: str
    seed: int
    kind: ProcedureType
    center: Center
    duration_s: int
    width_px: int
    height_px: int
    phases: tuple[TimedPhase, ...]
    lives: tuple[Life, ...]
    episodes: tuple[Episode, ...]
    camera: Camera
    instruments: Instruments

    @cached_property
    def episodes_by_kind(self) -> dict[str, tuple[Episode, ...]]:
        """The artefacts, by characteristic."""
        kinds = {episode.kind for episode in self.episodes}
        return {kind: tuple(e for e in self.episodes if e.kind == kind) for kind in sorted(kinds)}

    def conditions(self, times_s: Floats) -> dict[str, Floats]:
        """The strength of each of the seventeen image characteristics at each of the times, of lens fog and of roll.

        Raises:
            ExtraNeeded: numba is not installed; where tips are in the image is known from the scene in space.
        """
        kinds = (*CHARACTERISTICS, LENS_FOG)
        levels = {kind: strongest(self.episodes_by_kind.get(kind, ()), times_s) for kind in kinds}
        levels["image_roll"] = np.abs(self.camera.roll_at(times_s)) / FULL_ROLL
        hands = [world_of(self).hands_in_view(float(time_s)) for time_s in times_s]
        shown = np.array([one.shown for one in hands]).reshape(-1, SLOTS)
        held = shown.any(axis=1)
        levels["background_motion"] = np.clip(self.camera.speed(times_s) / FULL_BLUR_SPEED, 0, 1)
        levels["instrument_smoke"] = levels["background_smoke"] * held
        levels["instrument_motion"] = np.clip((self._tip_speeds(times_s) * shown).max(axis=1) / FULL_BLUR_SPEED, 0, 1)
        levels["instrument_instrument"] = np.array([float(one.crossing) for one in hands])
        masked = self.camera.is_masked(times_s)
        for kind in levels:
            there = held & ~masked if kind.startswith("instrument_") else ~masked
            levels[kind] = levels[kind] * there
        return levels

    def _tip_speeds(self, times_s: Times) -> Floats:
        """How fast each hand's tip moves, in view heights per second, by time and hand."""
        step, zoom = 0.1, self.camera.at(times_s)[:, 2]
        ends = [[self.instruments.tip_at(slot, times_s + d) for d in (-step, step)] for slot in range(SLOTS)]
        return np.stack([np.hypot(*(after - before).T) * zoom / (2 * step) for before, after in ends], axis=1)


SHORTEST_S, LONGEST_S = 60, 3 * 3600
_USUAL_S = 600.0
"""In procedures shorter than this, every action takes less time, so that all of them still fit."""


def draw_scene(
    seed: int,
    number: int,
    *,
    procedure: str = "Cholecystectomy",
    center: str = "Center A",
    minutes: tuple[float, float] | None = None,
    width_px: int = 480,
    height_px: int = 270,
) -> Scene:
    """One simulated procedure; the same arguments always give the same one.

    Args:
        seed: Seed of the whole set.
        number: Its number within the set; every number is independent of every other.
        procedure: A name in `PROCEDURE_TYPES`.
        center: A name in `CENTERS`.
        minutes: Shortest and longest duration; what is usual for the type when None.
        width_px: Width of the image; boxes are in its pixels.
        height_px: Height of the image.

    Raises:
        UnknownName: No such procedure type or centre.
        Misuse: Durations or sizes out of range.
    """
    kind, home = procedure_type(procedure), center_named(center)
    if not (64 <= width_px <= 4096 and 48 <= height_px <= 4096) or width_px % 2 or height_px % 2:
        raise Misuse(f"images must be even and between 64 x 48 and 4096 x 4096 pixels, got {width_px} x {height_px}")

    def draws(purpose: str) -> Draws:
        return stream(seed, "simulation", str(number), purpose)

    duration_s = _duration_s(kind, minutes, draws("duration"))
    pace = min(1.0, duration_s / _USUAL_S)
    phases = draw_phases(kind, duration_s, draws("phases"))
    lives = LifeWriter(kind, phases, duration_s, draws("objects"), pace).lives()
    episodes = draw_episodes(phases, duration_s, home, draws("artefacts"), pace)
    camera = draw_camera(kind, phases, lives, episodes, duration_s, draws("camera"), pace)
    aspect, streams = width_px / height_px, map(draws, ("instruments", "touches"))
    instruments = draw_instruments(phases, lives, camera, duration_s, aspect, *streams)
    episodes += draw_fog(camera.masked, duration_s, draws("fog"), pace)
    return Scene(
        f"sim{seed}_{number:04d}",
        seed,
        kind,
        home,
        duration_s,
        width_px,
        height_px,
        phases,
        lives,
        episodes,
        camera,
        instruments,
    )


def _duration_s(kind: ProcedureType, minutes: tuple[float, float] | None, rng: Draws) -> int:
    if minutes is None:
        return draw_duration_s(kind, rng)
    least, most = minutes
    if not SHORTEST_S <= least * 60 <= most * 60 <= LONGEST_S:
        raise Misuse(
            f"durations must rise and lie between {SHORTEST_S / 60:g} and {LONGEST_S / 60:g} minutes, "
            f"got {least:g} to {most:g}"
        )
    return round(rng.uniform(least, most) * 60)
