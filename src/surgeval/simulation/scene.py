"""One simulated procedure: everything in it as functions of time, and its truth at any frame rate.

The plane of the situs is flat. A point of it is seen at `(x - camera x) * zoom + half the view`. The unit is
the height of the view at magnification 1, so nothing here depends on the size of the picture.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from surgeval.schema.tracks import Visibility
from surgeval.simulation.artefacts import CHARACTERISTICS
from surgeval.simulation.camera import Camera
from surgeval.simulation.centers import Center
from surgeval.simulation.instruments import NO_TOOL, SLOTS, THICKNESS, Instruments, entries
from surgeval.simulation.lives import ROUND, Life
from surgeval.simulation.phases import TimedPhase
from surgeval.simulation.procedure_types import ProcedureType
from surgeval.simulation.timelines import Episode, Times, strongest, within_any

LEAST_SHOWN = 0.25
"""An object of which less than this part lies within the picture is not in view."""
HIDING_SMOKE = 0.6
"""From this strength on, smoke counts as lying before every object."""
PARTLY_COVERED, WHOLLY_COVERED = 0.3, 0.85
"""Parts of an object's box from which on an object upon it counts as covering it."""
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

    @property
    def aspect(self) -> float:
        """Width of the picture over its height."""
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
        """The strength of each of the seventeen image characteristics at each of the times, which must rise."""
        view = self.look(times_s)
        levels = {kind: strongest(self.episodes_by_kind.get(kind, ()), view.times_s) for kind in CHARACTERISTICS}
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


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One object at each of the times."""

    boxes: NDArray[np.float64]
    """Rows x, y, width, height in pixels, cut off at the picture's edge."""
    visibility: NDArray[np.uint8]
    """Codes of `Visibility`."""
    place: NDArray[np.float64]
    """Rows x, y (view heights from the top left corner), angle, zoom: where to paint it."""
    partly: NDArray[np.bool_]
    """Whether tissue covers a part of it."""


class View:
    """The scene at a number of times."""

    def __init__(self, scene: Scene, times_s: Times) -> None:
        self.scene, self.times_s = scene, times_s
        self.camera = scene.camera.at(times_s)
        self.masked = scene.camera.is_masked(times_s)
        self.smoke = strongest(scene.episodes_by_kind.get("background_smoke", ()), times_s)
        self.gates = entries(scene.aspect)
        self.tools = np.stack([scene.instruments.tool_at(slot, times_s) for slot in range(SLOTS)])
        tips = [self.to_screen(scene.instruments.tip_at(slot, times_s)) for slot in range(SLOTS)]
        self.tips = np.stack(tips)

    def to_screen(self, points: NDArray[np.float64], span: slice = slice(None)) -> NDArray[np.float64]:
        """Points of the situs in view heights from the picture's top left corner."""
        view = self.camera[span]
        moved: NDArray[np.float64] = (points - view[:, :2]) * view[:, 2:] + (self.scene.aspect / 2, 0.5)
        return moved

    # --- objects -------------------------------------------------------------------------------

    def span_of(self, life: Life) -> slice:
        """The times at which the object can be seen at all."""
        low, high = np.searchsorted(self.times_s, (life.born_s, life.gone_s))
        return slice(int(low), int(high))

    def sight(self, life: Life) -> Sight:
        """The object at the times of `span_of(life)`."""
        span = self.span_of(life)
        times = self.times_s[span]
        pose = life.path.at(times)
        middle, zoom = self.to_screen(pose[:, :2], span), self.camera[span, 2]
        half = _half_extent(life, pose[:, 2]) * zoom[:, None]
        boxes, shown = self._clipped(middle, half)
        code = np.full(len(times), Visibility.VISIBLE, dtype=np.uint8)
        touched, buried = self._behind_instruments(life, span, middle, half.min(axis=1), zoom)
        partly = within_any(life.covered, times)
        code[partly | touched | (self.smoke[span] > HIDING_SMOKE)] = Visibility.OCCLUDED
        gone = within_any(life.hidden, times) | self.masked[span] | buried | (shown < LEAST_SHOWN)
        code[gone] = Visibility.OUTSIDE
        place = np.column_stack([middle, pose[:, 2], zoom])
        return Sight(boxes * self.scene.height_px, code, place, partly)

    def sights(self) -> dict[str, Sight]:
        """Every object at the times of its span, with what other objects cover taken into account.

        Smaller objects lie on larger ones, which is also how they are painted.
        """
        sights = {life.instance: self.sight(life) for life in self.scene.lives}
        order = sorted(self.scene.lives, key=lambda life: -life.size[0] * life.size[1])
        for place, under in enumerate(order):
            for over in order[place + 1 :]:
                if _ever_near(under, over):
                    self._covered_by(under, over, sights)
        return sights

    def _covered_by(self, under: Life, over: Life, sights: dict[str, Sight]) -> None:
        spans = self.span_of(under), self.span_of(over)
        low, high = max(spans[0].start, spans[1].start), min(spans[0].stop, spans[1].stop)
        if low >= high:
            return
        below, above = sights[under.instance], sights[over.instance]
        first, second = (
            slice(low - spans[0].start, high - spans[0].start),
            slice(low - spans[1].start, high - spans[1].start),
        )
        share = _overlap(below.boxes[first], above.boxes[second])
        share[above.visibility[second] == Visibility.OUTSIDE] = 0
        code = below.visibility[first]
        code[(share > PARTLY_COVERED) & (code == Visibility.VISIBLE)] = Visibility.OCCLUDED
        code[share > WHOLLY_COVERED] = Visibility.OUTSIDE

    def _clipped(
        self, middle: NDArray[np.float64], half: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Boxes within the picture, and which part of each whole box that is."""
        limit = np.array([self.scene.aspect, 1.0])
        low, high = np.clip(middle - half, 0, limit), np.clip(middle + half, 0, limit)
        size = high - low
        return np.column_stack([low, size]), size.prod(axis=1) / (4 * half.prod(axis=1))

    def _behind_instruments(
        self, life: Life, span: slice, middle: NDArray[np.float64], radius: NDArray[np.float64], zoom: Times
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Whether a shaft lies over the object in part, and whether it covers it wholly."""
        touched, buried = np.zeros(len(middle), dtype=bool), np.zeros(len(middle), dtype=bool)
        times = self.times_s[span]
        for slot in range(SLOTS):
            holding = within_any([hold.stretch for hold in life.holds if hold.slot == slot], times)
            near = _distance_to_segment(middle, self.tips[slot, span], self.gates[slot])
            thick = THICKNESS[slot] * zoom / 2
            there = (self.tools[slot, span] != NO_TOOL) & ~holding
            touched |= there & (near < thick + 0.35 * radius)
            buried |= there & (near + 0.9 * radius < thick)
        return touched, buried

    # --- instruments ---------------------------------------------------------------------------

    @property
    def any_tool(self) -> NDArray[np.bool_]:
        """Whether any instrument is in a hand and its tip in the picture."""
        shown: NDArray[np.bool_] = np.any([self.tip_shown(slot) for slot in range(SLOTS)], axis=0)
        return shown

    def tip_shown(self, slot: int) -> NDArray[np.bool_]:
        """Whether the tip of a hand's tool lies in the picture."""
        tip = self.tips[slot]
        inside = (tip > 0).all(axis=1) & (tip[:, 0] < self.scene.aspect) & (tip[:, 1] < 1)
        shown: NDArray[np.bool_] = inside & (self.tools[slot] != NO_TOOL) & ~self.masked
        return shown

    def instrument_boxes(self, slot: int) -> NDArray[np.float64]:
        """The box of the part of a hand's tool within the picture, in pixels; only where the tip is shown."""
        tip, gate = self.tips[slot], self.gates[slot]
        limit = np.array([self.scene.aspect, 1.0])
        towards = gate - tip
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.where(towards > 0, (limit - tip) / towards, np.where(towards < 0, -tip / towards, np.inf))
        leave = tip + towards * np.clip(steps.min(axis=1), 0, 1)[:, None]
        thick = (THICKNESS[slot] * self.camera[:, 2] / 2)[:, None]
        low = np.clip(np.minimum(tip, leave) - thick, 0, limit)
        high = np.clip(np.maximum(tip, leave) + thick, 0, limit)
        return np.column_stack([low, high - low]) * self.scene.height_px

    def tip_speed(self) -> NDArray[np.float64]:
        """How fast the fastest tip in the picture moves, in view heights per second."""
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


def _ever_near(first: Life, second: Life) -> bool:
    """Whether two objects can ever touch, judged from the places between which they move."""
    reach = (max(first.size) + max(second.size)) / 2
    low, high = first.path.values[:, :2].min(axis=0) - reach, first.path.values[:, :2].max(axis=0) + reach
    other_low, other_high = second.path.values[:, :2].min(axis=0), second.path.values[:, :2].max(axis=0)
    return bool((other_high >= low).all() and (other_low <= high).all())


def _overlap(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Which part of each box the other one covers."""
    low = np.maximum(boxes[:, :2], others[:, :2])
    high = np.minimum(boxes[:, :2] + boxes[:, 2:], others[:, :2] + others[:, 2:])
    common = np.maximum(high - low, 0).prod(axis=1)
    share: NDArray[np.float64] = common / np.maximum(boxes[:, 2:].prod(axis=1), 1e-9)
    return share


def _half_extent(life: Life, angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half width and half height of the upright box around the turned object."""
    cos, sin = np.abs(np.cos(angle)), np.abs(np.sin(angle))
    half_width, half_height = life.size[0] / 2, life.size[1] / 2
    if life.class_name in ROUND:
        return np.column_stack(
            [np.hypot(half_width * cos, half_height * sin), np.hypot(half_width * sin, half_height * cos)]
        )
    return np.column_stack([half_width * cos + half_height * sin, half_width * sin + half_height * cos])


def _distance_to_segment(
    points: NDArray[np.float64], start: NDArray[np.float64], end: NDArray[np.float64]
) -> NDArray[np.float64]:
    along = end - start
    share = ((points - start) * along).sum(axis=1) / np.maximum((along**2).sum(axis=1), 1e-12)
    nearest = start + np.clip(share, 0, 1)[:, None] * along
    distance: NDArray[np.float64] = np.hypot(*(points - nearest).T)
    return distance
