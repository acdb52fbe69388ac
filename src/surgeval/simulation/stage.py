"""Drawing whole procedures from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from surgeval.errors import Misuse
from surgeval.simulation.artefacts import draw_episodes
from surgeval.simulation.camera import SLANT, draw_camera
from surgeval.simulation.catalogue import PROCEDURE_TYPES, procedure_type
from surgeval.simulation.centers import CENTERS, center_named
from surgeval.simulation.fog import draw_fog
from surgeval.simulation.instruments import draw_instruments
from surgeval.simulation.lives import LifeWriter
from surgeval.simulation.looks import DEPTH, FOG, ROLL, SOFT, looks_named
from surgeval.simulation.phases import draw_duration_s, draw_phases
from surgeval.simulation.procedure_types import ProcedureType
from surgeval.simulation.roll import draw_roll
from surgeval.simulation.scene import Scene
from surgeval.simulation.touches import draw_touches
from surgeval.stats.draws import stream

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
    looks: Sequence[str] = (),
) -> Scene:
    """One simulated procedure; the same arguments always give the same one.

    Args:
        seed: Seed of the whole set.
        number: Its number within the set; every number is independent of every other.
        procedure: A name in `PROCEDURE_TYPES`.
        center: A name in `CENTERS`.
        minutes: Shortest and longest duration; what is usual for the type when None.
        width_px: Width of the picture; boxes are in its pixels.
        height_px: Height of the picture.
        looks: Names in `LOOKS`, or `all`; the plain look when empty.

    Raises:
        UnknownName: No such procedure type, centre or look.
        Misuse: Durations or sizes out of range.
    """
    kind, home, looks = procedure_type(procedure), center_named(center), looks_named(looks)
    if not (64 <= width_px <= 4096 and 48 <= height_px <= 4096) or width_px % 2 or height_px % 2:
        raise Misuse(f"pictures must be even and between 64 x 48 and 4096 x 4096 pixels, got {width_px} x {height_px}")
    if seed < 0:
        raise Misuse(f"a seed must not be negative, got {seed}")

    def draws(purpose: str) -> np.random.Generator:
        return stream(seed, "simulation", str(number), purpose)

    duration_s = _duration_s(kind, minutes, draws("duration"))
    pace = min(1.0, duration_s / _USUAL_S)
    phases = draw_phases(kind, duration_s, draws("phases"))
    lives = LifeWriter(kind, phases, duration_s, draws("objects"), pace).lives()
    episodes = draw_episodes(phases, duration_s, home, draws("artefacts"), pace)
    camera = draw_camera(kind, phases, lives, episodes, duration_s, draws("camera"), pace)
    instruments = draw_instruments(phases, lives, camera, duration_s, width_px / height_px, draws("instruments"))
    if FOG in looks:
        episodes += draw_fog(camera.masked, duration_s, draws("fog"), pace)
    if ROLL in looks:
        camera = replace(camera, roll=draw_roll(duration_s, draws("roll"), pace))
    if DEPTH in looks:
        camera = replace(camera, slant=SLANT)
    return Scene(
        video=f"sim{seed}_{number:04d}",
        seed=seed,
        kind=kind,
        center=home,
        duration_s=duration_s,
        width_px=width_px,
        height_px=height_px,
        phases=phases,
        lives=lives,
        episodes=episodes,
        camera=camera,
        instruments=instruments,
        touches=draw_touches(instruments, lives, draws("touches")) if SOFT in looks else None,
        looks=looks,
    )


def draw_scenes(
    count: int,
    seed: int,
    *,
    first: int = 0,
    procedures: Sequence[str] | None = None,
    centers: Sequence[str] | None = None,
    minutes: tuple[float, float] | None = None,
    width_px: int = 480,
    height_px: int = 270,
    looks: Sequence[str] = (),
) -> Iterator[Scene]:
    """A set of simulated procedures, one at a time; type and centre of each are drawn from the lists.

    Half of the procedures are of the first type when none are chosen (cholecystectomies, as in the public data).
    """
    if count < 1:
        raise Misuse(f"at least one procedure must be simulated, got {count}")
    if seed < 0:
        raise Misuse(f"a seed must not be negative, got {seed}")
    kinds, homes = list(procedures or PROCEDURE_TYPES), list(centers or CENTERS)
    shares = np.full(len(kinds), 1.0)
    shares[0] = 1.0 if procedures else max(len(kinds) - 1, 1)
    for number in range(first, count):
        rng = stream(seed, "simulation", str(number), "kind")
        yield draw_scene(
            seed,
            number,
            procedure=kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))],
            center=homes[int(rng.integers(len(homes)))],
            minutes=minutes,
            width_px=width_px,
            height_px=height_px,
            looks=looks,
        )


def _duration_s(kind: ProcedureType, minutes: tuple[float, float] | None, rng: np.random.Generator) -> int:
    if minutes is None:
        return draw_duration_s(kind, rng)
    least, most = minutes
    if not SHORTEST_S <= least * 60 <= most * 60 <= LONGEST_S:
        raise Misuse(
            f"durations must rise and lie between {SHORTEST_S / 60:g} and {LONGEST_S / 60:g} minutes, "
            f"got {least:g} to {most:g}"
        )
    return round(float(rng.uniform(least, most)) * 60)
