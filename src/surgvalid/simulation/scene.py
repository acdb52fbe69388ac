"""One simulated procedure, drawn from a seed: everything in it as functions of time.

What can be seen of it is decided by `sighting`.

The plane of the situs is flat. A point of it is seen at `(x - camera x) * zoom + half the view`, after a slant and a
roll of the camera where there are any. The unit is the height of the view at magnification 1, so nothing here depends
on the size of the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import Misuse
from surgvalid.simulation.artefacts import CHARACTERISTICS, LENS_FOG, draw_episodes, draw_fog
from surgvalid.simulation.camera import FULL_ROLL, SLANT, Camera, draw_camera, draw_roll
from surgvalid.simulation.centers import (
    CENTERS,
    CIRCLE_RADIUS,
    DEPTH,
    FOG,
    ROLL,
    SOFT,
    Center,
    center_named,
    looks_named,
)
from surgvalid.simulation.instruments import (
    NO_TOOL,
    SLOTS,
    THICKNESS,
    Instruments,
    Touches,
    draw_instruments,
    draw_touches,
    entries,
    tugs_of,
)
from surgvalid.simulation.lives import Life, LifeWriter
from surgvalid.simulation.procedure_types import (
    PROCEDURE_TYPES,
    ProcedureType,
    TimedPhase,
    draw_duration_s,
    draw_phases,
    procedure_type,
)
from surgvalid.simulation.timelines import Episode, Times, strongest
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
    touches: Touches | None = None
    """None while nothing is soft."""
    looks: tuple[str, ...] = ()
    """What was asked for beyond the plain look."""

    @property
    def aspect(self) -> float:
        """Width of the image over its height."""
        return self.width_px / self.height_px

    @cached_property
    def episodes_by_kind(self) -> dict[str, tuple[Episode, ...]]:
        """The artefacts, by characteristic."""
        kinds = {episode.kind for episode in self.episodes}
        return {kind: tuple(e for e in self.episodes if e.kind == kind) for kind in sorted(kinds)}

    def look(self, times_s: Times) -> View:
        """What can be seen at each of the times, which must rise."""
        return View(self, np.asarray(times_s, dtype=np.float64))

    def conditions(self, times_s: Times) -> dict[str, NDArray[np.float64]]:
        """The strength of each of the seventeen image characteristics at each of the times, which must rise.

        With lens fog and camera roll there are `image_lens_fog` and `image_roll` too.
        """
        view = self.look(times_s)
        kinds = (*CHARACTERISTICS, LENS_FOG) if FOG in self.looks else CHARACTERISTICS
        levels = {kind: strongest(self.episodes_by_kind.get(kind, ()), view.times_s) for kind in kinds}
        if ROLL in self.looks:
            levels["image_roll"] = np.abs(view.roll) / FULL_ROLL
        held = view.any_tool
        levels["background_motion"] = np.clip(self.camera.speed(view.times_s) / FULL_BLUR_SPEED, 0, 1)
        levels["instrument_smoke"] = levels["background_smoke"] * held
        levels["instrument_motion"] = np.clip(view.tip_speed() / FULL_BLUR_SPEED, 0, 1)
        levels["instrument_instrument"] = view.crossing().astype(float)
        for kind in levels:
            if kind.startswith("instrument_"):
                levels[kind] = levels[kind] * held
            levels[kind] = np.where(view.masked, 0.0, levels[kind])
        return levels


class View:
    """The scene at a number of times."""

    def __init__(self, scene: Scene, times_s: Times) -> None:
        self.scene, self.times_s = scene, times_s
        self.camera = scene.camera.at(times_s)
        self.masked = scene.camera.is_masked(times_s)
        self.roll = scene.camera.roll_at(times_s)
        self.gates = self._gates()
        self.tools = np.stack([scene.instruments.tool_at(slot, times_s) for slot in range(SLOTS)])
        tips = [self.to_screen(scene.instruments.tip_at(slot, times_s)) for slot in range(SLOTS)]
        self.tips = np.stack(tips)
        self.tugs = None
        if scene.touches is not None:
            self.tugs = tugs_of(scene.touches, times_s, self.tools, self.tips, self.gates, self.camera[:, 2])

    def to_screen(self, points: NDArray[np.float64], span: slice = slice(None)) -> NDArray[np.float64]:
        """Points of the situs in view heights from the image's top left corner."""
        view = self.camera[span]
        moved: NDArray[np.float64] = self.aslant((points - view[:, :2]) * view[:, 2:], span)
        moved += (self.scene.aspect / 2, 0.5)
        return moved

    def aslant(self, from_middle: NDArray[np.float64], span: slice) -> NDArray[np.float64]:
        """Places around the middle of the view, as a camera sees them that is turned or looks aslant."""
        if self.scene.camera.slant:
            from_middle = from_middle * self._nearness(from_middle[:, 1:])
        return self._rolled(from_middle, span)

    def _nearness(self, down: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much larger than in the middle things are that lie so far below it, before the slant is seen."""
        nearness: NDArray[np.float64] = 1 / np.maximum(1 - self.scene.camera.slant * down, 0.2)
        return nearness

    def _rolled(self, from_middle: NDArray[np.float64], span: slice = slice(None)) -> NDArray[np.float64]:
        """Places around the middle of the image, turned with the camera."""
        if self.scene.camera.roll is None:
            return from_middle
        cos, sin, (x, y) = np.cos(self.roll[span]), np.sin(self.roll[span]), from_middle.T
        return np.column_stack([x * cos - y * sin, x * sin + y * cos])

    def _gates(self) -> NDArray[np.float64]:
        """Where each hand's shaft comes in, by hand and time; a roll takes it along and never into the image."""
        middle = np.array([self.scene.aspect / 2, 0.5])
        gates: NDArray[np.float64] = np.repeat(entries(self.scene.aspect)[:, None], len(self.times_s), axis=1)
        if self.scene.camera.roll is None:
            return gates
        outside = np.abs(gates - middle) / middle
        rolled = np.stack([self._rolled(gate - middle) for gate in gates])
        beyond = (np.abs(rolled) / middle).max(axis=-1)
        least = np.minimum(outside.max(axis=-1), 1.1)
        rolled *= np.maximum(least / beyond, 1)[..., None]
        rolled += middle
        return rolled

    # --- objects -------------------------------------------------------------------------------

    def span_of(self, life: Life) -> slice:
        """The times at which the object can be seen at all."""
        low, high = np.searchsorted(self.times_s, (life.born_s, life.gone_s))
        return slice(int(low), int(high))

    def place(self, life: Life) -> NDArray[np.float64]:
        """Rows x, y (view heights from the top left corner), angle, zoom at the times of `span_of(life)`."""
        span = self.span_of(life)
        pose, zoom = life.path.at(self.times_s[span]), self.camera[span, 2]
        if self.scene.camera.slant:
            zoom = zoom * self._nearness((pose[:, 1] - self.camera[span, 1]) * zoom)
        return np.column_stack([self.to_screen(pose[:, :2], span), pose[:, 2] + self.roll[span], zoom])

    # --- instruments ---------------------------------------------------------------------------

    @property
    def any_tool(self) -> NDArray[np.bool_]:
        """Whether any instrument is in a hand and its tip in the image."""
        shown: NDArray[np.bool_] = np.any([self.tip_shown(slot) for slot in range(SLOTS)], axis=0)
        return shown

    def tip_shown(self, slot: int) -> NDArray[np.bool_]:
        """Whether the tip of a hand's tool lies in the image."""
        tip = self.tips[slot]
        inside = (tip > 0).all(axis=1) & (tip[:, 0] < self.scene.aspect) & (tip[:, 1] < 1)
        if self.scene.center.circle:
            inside &= np.hypot(tip[:, 0] - self.scene.aspect / 2, tip[:, 1] - 0.5) < CIRCLE_RADIUS
        shown: NDArray[np.bool_] = inside & (self.tools[slot] != NO_TOOL) & ~self.masked
        return shown

    def instrument_boxes(self, slot: int) -> NDArray[np.float64]:
        """The box of the part of a hand's tool within the image, in pixels; only where the tip is shown."""
        tip, gate = self.tips[slot], self.gates[slot]
        limit = np.array([self.scene.aspect, 1.0])
        towards = gate - tip
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(towards > 0, (limit - tip) / towards, np.where(towards < 0, -tip / towards, np.inf))
        share = steps.min(axis=1)
        if self.scene.center.circle:
            share = np.minimum(share, self._way_to_circle(tip, towards))
        leave = tip + towards * np.clip(share, 0, 1)[:, None]
        thick = (THICKNESS[slot] * self.camera[:, 2] / 2)[:, None]
        low = np.clip(np.minimum(tip, leave) - thick, 0, limit)
        high = np.clip(np.maximum(tip, leave) + thick, 0, limit)
        return np.column_stack([low, high - low]) * self.scene.height_px

    def _way_to_circle(self, tip: NDArray[np.float64], towards: NDArray[np.float64]) -> NDArray[np.float64]:
        """Which part of the way a shaft goes until it leaves a round image."""
        from_middle = tip - (self.scene.aspect / 2, 0.5)
        a, b = (towards**2).sum(axis=1), (from_middle * towards).sum(axis=1)
        c = (from_middle**2).sum(axis=1) - CIRCLE_RADIUS**2
        way: NDArray[np.float64] = (-b + np.sqrt(np.maximum(b**2 - a * c, 0))) / np.maximum(a, 1e-12)
        return way

    def tip_speed(self) -> NDArray[np.float64]:
        """How fast the fastest tip in the image moves, in view heights per second."""
        step, fastest = 0.1, np.zeros(len(self.times_s))
        for slot in range(SLOTS):
            before, after = (self.scene.instruments.tip_at(slot, self.times_s + d) for d in (-step, step))
            speed = np.hypot(*(after - before).T) * self.camera[:, 2] / (2 * step)
            fastest = np.maximum(fastest, speed * self.tip_shown(slot))
        return fastest

    def crossing(self) -> NDArray[np.bool_]:
        """Whether one instrument's tip lies behind another's shaft."""
        crossed = np.zeros(len(self.times_s), dtype=bool)
        for slot in range(SLOTS):
            for other in range(slot + 1, SLOTS):
                near = _distance_to_segment(self.tips[slot], self.tips[other], self.gates[other])
                both = self.tip_shown(slot) & self.tip_shown(other)
                crossed |= both & (near < THICKNESS[other] * self.camera[:, 2])
        return crossed


def _distance_to_segment(
    points: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    along = end - start
    share = ((points - start) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
    nearest = start + np.clip(share, 0, 1)[:, None] * along
    distance: NDArray[np.float64] = np.hypot(*(points - nearest).T)
    return distance


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
        width_px: Width of the image; boxes are in its pixels.
        height_px: Height of the image.
        looks: Names in `LOOKS`, or `all`; the plain look when empty.

    Raises:
        UnknownName: No such procedure type, centre or look.
        Misuse: Durations or sizes out of range.
    """
    kind, home, looks = procedure_type(procedure), center_named(center), looks_named(looks)
    if not (64 <= width_px <= 4096 and 48 <= height_px <= 4096) or width_px % 2 or height_px % 2:
        raise Misuse(f"images must be even and between 64 x 48 and 4096 x 4096 pixels, got {width_px} x {height_px}")
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
