"""From a scene to images, fast enough for hours: tissue is looked up, objects are laid on as cached sprites.

Nothing is random here that the scene does not decide, so a frame depends on the scene and the time alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from math import atan2, exp, hypot, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation.artefact_painters import ArtefactPainter
from surgvalid.simulation.bending import GRIP_STEPS, bend_tissue, bent_stamp, fold_tones, gripped, rolled
from surgvalid.simulation.camera import WORLD_HALF
from surgvalid.simulation.centers import BLUR
from surgvalid.simulation.instrument_painters import TIP_LENGTH, Shaft, paint_tip, shaft_profile, tip_opacity
from surgvalid.simulation.instruments import NO_TOOL, SLOTS, SOFT_CLASSES, THICKNESS, TOOLS, Tugs, grip_at
from surgvalid.simulation.lives import Life
from surgvalid.simulation.object_painters import PAINTERS, paint_tissue
from surgvalid.simulation.paint import (
    Sprite,
    Stamp,
    accented,
    lay,
    moulded,
    noise,
    outline_of,
    soiled,
    sprite_of,
    stamped,
    turned_canvas,
)
from surgvalid.simulation.scene import Scene, View
from surgvalid.simulation.timelines import within_any

Frame = NDArray[np.uint8]
_SPRITE_BYTES = 48 << 20
_ANGLE_STEP = np.pi / 45
_ZOOM_STEP = log(1.05)
_BRANDED = frozenset({"Sponge", "Specimen Bag", "External Drain"})
"""Classes whose blue parts have the colour of what the hospital buys."""
SHUTTER_S = 0.03
"""How long the shutter is open, with the look `blur`."""
_SHARP_PX = 2.0
"""What moves less meanwhile is not blurred."""
_CHUNK = 128
"""Frames whose geometry is worked out at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Pose:
    """How one object is painted at each of the times of its span."""

    start: int
    """Which of the view's times is the first of the span."""
    middle_px: NDArray[np.float64]
    """Rows x, y."""
    turn: NDArray[np.int64]
    """Its angle in the situs, and how large it is, in the steps in which sprites are painted."""
    size: NDArray[np.int64]
    changes: NDArray[np.int64]
    """How many changes of its look lie behind it."""
    shown: NDArray[np.bool_]
    """Whether it is painted at all: near the image, not wholly under tissue, the camera in the body."""
    partly: NDArray[np.bool_]
    """Whether tissue covers a part of it."""
    roll: NDArray[np.int64]
    """The camera's roll, in the same steps as its angle."""
    grip: NDArray[np.int64]
    """How firmly it is gripped, in the steps in which that is painted; 0 where it does not bend."""
    bent: NDArray[np.bool_]
    """Whether instruments beside it may bend it."""
    tugs: Tugs | None
    """What instruments do at the view's times."""

    def __len__(self) -> int:
        return len(self.shown)

    def painted(self, at: int) -> bool:
        """Whether it is painted at one of the view's times."""
        return self.start <= at < self.start + len(self.shown) and bool(self.shown[at - self.start])


class _Stage(NamedTuple):
    """A number of times, and how every object is painted at them."""

    view: View
    poses: list[tuple[Life, Pose]]


class Renderer:
    """Draws one scene. It holds the tissue, a bounded number of sprites and one frame."""

    def __init__(self, scene: Scene, *, colours: bool = True) -> None:
        """Make ready to draw.

        Args:
            scene: What to draw.
            colours: Without them nothing can be painted, but the outlines of all things are quickly had.
        """
        self.scene, self.colours = scene, colours
        self.height, self.width = scene.height_px, scene.width_px
        self.scale = float(scene.height_px)
        self.sprites = _SpriteStore(_SPRITE_BYTES)
        self.artefacts = ArtefactPainter(scene, colours=colours)
        self.fold_tones = fold_tones(scene.center)
        self.lives = sorted(scene.lives, key=lambda life: -life.size[0] * life.size[1])

    @cached_property
    def tissue(self) -> NDArray[np.uint32]:
        """The situs behind everything."""
        return paint_tissue(self.scene, self.scale)

    def frames(self, times_s: Sequence[float] | NDArray[np.float64]) -> Iterator[Frame]:
        """One image of height x width x 4 (red, green, blue, unused) per time; times must rise.

        The array is used again for the next image: copy what you keep.
        """
        times = np.asarray(times_s, dtype=np.float64)
        for start in range(0, len(times), _CHUNK):
            block = times[start : start + _CHUNK]
            stage, levels = self._stage(block), self.scene.conditions(block)
            ends = [self._stage(block + end_s) for end_s in (-SHUTTER_S / 2, SHUTTER_S / 2) if BLUR in self.scene.looks]
            moves = (
                _moves(*(end.view for end in ends)) * self.scale >= _SHARP_PX if ends else np.zeros(len(block), bool)
            )
            for at in range(len(block)):
                now = {kind: float(level[at]) for kind, level in levels.items()}
                yield self._frame(at, stage, ends if moves[at] else (), now)

    def frame(self, time_s: float) -> Frame:
        """The image at one time, height x width x 3, to keep."""
        [picture] = self.frames([time_s])
        return picture[..., :3].copy()

    def _stage(self, times: NDArray[np.float64]) -> _Stage:
        view = self.scene.look(times)
        return _Stage(view, [(life, pose) for life in self.lives if len(pose := self.pose(view, life))])

    def _frame(self, at: int, stage: _Stage, ends: Sequence[_Stage], levels: dict[str, float]) -> Frame:
        """One image; `ends` are the scene when the shutter opens and closes, where something moves between."""
        if stage.view.masked[at]:
            return np.zeros((self.height, self.width, 4), dtype=np.uint8)
        frame = self._things(stage, at, levels)
        if ends:
            frame = _exposed(frame, *(self._things(end, at, levels) for end in ends))
        return self.artefacts.over(frame, stage.view, at, levels)

    def _things(self, stage: _Stage, at: int, levels: dict[str, float]) -> Frame:
        """Tissue, objects and instruments, without what lies between them and the viewer."""
        view = stage.view
        frame = self._tissue(view, at, 0.0 if BLUR in self.scene.looks else levels["background_motion"])
        self.artefacts.under(frame, view, at, levels)
        if view.tugs is not None:
            bend_tissue(frame, view.tugs, at, self.scale, self.fold_tones)
        for life, pose in stage.poses:
            if pose.painted(at):
                for stamp in self.object_stamps(life, pose, at):
                    stamp.lay(frame)
        for slot in range(SLOTS):
            for layer in self.instrument_layers(view, slot, at, levels):
                layer.lay(frame)
        return frame

    # --- layers --------------------------------------------------------------------------------

    def _tissue(self, view: View, at: int, motion: float) -> Frame:
        x, y, zoom = view.camera[at]
        look_up = partial(self._looked_up_aslant, float(view.roll[at])) if self.scene.camera.aslant else self._looked_up
        frame = look_up(x, y, zoom)
        blur = motion * 0.10 * self.height
        if blur < 1.5:
            return frame
        step = blur / self.scale / zoom
        return _exposed(frame, *(look_up(x + k * step, y, zoom) for k in (-0.5, 0.5)))

    def _looked_up(self, x: float, y: float, zoom: float) -> Frame:
        columns = (
            x + (np.arange(self.width) + 0.5 - self.width / 2) / (self.scale * zoom) + WORLD_HALF[0]
        ) * self.scale
        rows = (y + (np.arange(self.height) + 0.5 - self.height / 2) / (self.scale * zoom) + WORLD_HALF[1]) * self.scale
        across = np.clip(columns.astype(np.intp), 0, self.tissue.shape[1] - 1)
        down = np.clip(rows.astype(np.intp), 0, self.tissue.shape[0] - 1)
        packed = self.tissue.take(down, axis=0).take(across, axis=1)
        return packed.view(np.uint8).reshape(self.height, self.width, 4)

    def _looked_up_aslant(self, roll: float, x: float, y: float, zoom: float) -> Frame:
        """The situs through a camera that is turned, or does not look straight down."""
        right, below = np.arange(self.width) + 0.5 - self.width / 2, np.arange(self.height) + 0.5 - self.height / 2
        cos, sin, pixels = np.cos(roll), np.sin(roll), self.scale * zoom
        if slant := self.scene.camera.slant:
            across = (right * cos / zoom).astype(np.float32)[None, :] + (below * sin / zoom).astype(np.float32)[:, None]
            down = (below * cos / zoom).astype(np.float32)[:, None] - (right * sin / zoom).astype(np.float32)[None, :]
            farther = down * np.float32(slant * zoom / self.scale)
            farther += 1
            np.reciprocal(farther, out=farther)
            columns, rows = np.multiply(across, farther, out=across), np.multiply(down, farther, out=down)
            columns += np.float32((x + WORLD_HALF[0]) * self.scale)
            rows += np.float32((y + WORLD_HALF[1]) * self.scale)
        else:
            columns = ((x + right * cos / pixels + WORLD_HALF[0]) * self.scale)[None, :] + (below * sin / zoom)[:, None]
            rows = ((y + below * cos / pixels + WORLD_HALF[1]) * self.scale)[:, None] - (right * sin / zoom)[None, :]
        height, width = self.tissue.shape
        place = _mirrored(rows, height)
        place *= width
        place += _mirrored(columns, width)
        packed: NDArray[np.uint32] = self.tissue.take(place)
        return packed.view(np.uint8).reshape(self.height, self.width, 4)

    def pose(self, view: View, life: Life) -> Pose:
        """How an object is painted at each of the times of its span."""
        span = view.span_of(life)
        times, place = view.times_s[span], view.place(life)
        grip, bent = np.zeros(len(times), dtype=np.int64), np.zeros(len(times), dtype=bool)
        if view.tugs is not None:
            held = grip_at(life, times)
            if life.class_name in SOFT_CLASSES:
                grip = np.rint(held * GRIP_STEPS).astype(np.int64)
                bent = view.tugs.meet(place[:, :2], 0.75 * max(life.size) * place[:, 3], span) & (grip == 0)
            else:
                place[:, :2] += view.tugs.moved(place[:, :2], span) * (held == 0)[:, None]
        reach = max(life.size) * place[:, 3]
        near = (np.abs(place[:, 0] - self.scene.aspect / 2) < self.scene.aspect / 2 + reach) & (
            np.abs(place[:, 1] - 0.5) < 0.5 + reach
        )
        return Pose(
            span.start,
            place[:, :2] * self.scale,
            np.rint((place[:, 2] - view.roll[span]) / _ANGLE_STEP).astype(np.int64),
            np.rint(np.log(place[:, 3]) / _ZOOM_STEP).astype(np.int64),
            np.searchsorted([change.second for change in life.changes], times, side="right"),
            near & ~view.masked[span] & ~within_any(life.hidden, times),
            within_any(life.covered, times),
            np.rint(view.roll[span] / _ANGLE_STEP).astype(np.int64),
            grip,
            bent,
            view.tugs,
        )

    def object_stamps(self, life: Life, pose: Pose, at: int) -> Iterator[Stamp]:
        """The object at one time and, where tissue lies over a part of it, that tissue."""
        here = at - pose.start
        x, y = pose.middle_px[here].tolist()
        stamp = stamped(self.object_sprite(life, pose, here), x, y)
        if pose.bent[here] and pose.tugs is not None:
            stamp = bent_stamp(stamp, pose.tugs, at, self.scale)
        yield stamp
        if pose.partly[here]:
            size = int(pose.size[here])
            key = ("flap", life.instance, size)
            flap = self.sprites.get(key, lambda: self._paint_flap(life, size))
            yield stamped(self._rolled(flap, key, int(pose.roll[here])), x, y)

    def object_sprite(self, life: Life, pose: Pose, here: int) -> Sprite:
        """The object as it looks at one time of its span, `here` counted from the first."""
        changes = int(pose.changes[here])
        look = life.changes[changes - 1].value if changes else life.look
        turn, size = int(pose.turn[here]), int(pose.size[here])
        key = (life.instance, look, turn, size)
        sprite = self.sprites.get(key, lambda: self._paint_object(life, look, turn * _ANGLE_STEP, size))
        if grip := int(pose.grip[here]):
            loose, half_px = sprite, max(life.size) / 2 * self.scale * exp(size * _ZOOM_STEP)
            sprite = self.sprites.get((*key, grip), lambda: gripped(loose, grip, half_px))
        return self._rolled(sprite, (*key, grip), int(pose.roll[here]))

    def _rolled(self, sprite: Sprite, key: tuple[Hashable, ...], roll: int) -> Sprite:
        """The sprite of that key as a camera sees it that is turned: stains on it turn with it."""
        return self.sprites.get((*key, "roll", roll), lambda: rolled(sprite, roll * _ANGLE_STEP)) if roll else sprite

    def _paint_object(self, life: Life, look: str, angle: float, size: int) -> Sprite:
        pixels = self.scale * float(np.exp(size * _ZOOM_STEP))
        a, b = life.size[0] * pixels / 2, life.size[1] * pixels / 2
        canvas = turned_canvas(1.3 * a, 1.3 * b, angle)
        paint = PAINTERS[life.class_name](canvas.x, canvas.y, a, b, look, life.seed)
        if not self.colours:
            return outline_of(paint.alpha, canvas.pivot)
        if life.class_name in _BRANDED:
            paint = accented(paint, self.scene.center.accent)
        paint = moulded(soiled(paint, life.seed, 0.25 * max(a, 4.0)), depth_px=max(0.12 * min(a, b), 0.8))
        return sprite_of(paint, canvas.pivot, self.scene.center)

    def _paint_flap(self, life: Life, size: int) -> Sprite:
        """Tissue that lies over about a third of an object."""
        pixels = self.scale * float(np.exp(size * _ZOOM_STEP))
        reach = max(life.size) * pixels * 0.5
        canvas = turned_canvas(reach, reach, 0.0)
        return self.artefacts.flap(canvas, reach, life.seed)

    def instrument_layers(self, view: View, slot: int, at: int, levels: dict[str, float]) -> Iterator[Shaft | Stamp]:
        """The shaft, the working end and what sticks to it."""
        if view.tools[slot, at] == NO_TOOL:
            return
        tool, zoom = TOOLS[view.tools[slot, at]], float(view.camera[at, 2])
        tip, gate = (view.tips[slot, at] * self.scale).tolist(), (view.gates[slot, at] * self.scale).tolist()
        away = gate[0] - tip[0], gate[1] - tip[1]
        length = hypot(*away)
        if length < 2:
            return
        size = round(log(zoom) / _ZOOM_STEP)
        thick = THICKNESS[slot] * self.scale * exp(size * _ZOOM_STEP)
        bright = 1 + 1.3 * levels["instrument_too_bright"] - 0.8 * levels["instrument_too_dark"]
        tone, blood = round(bright * 4), round(levels["instrument_blood"] * 4)
        profile = self.sprites.profile((tool, tone), lambda: shaft_profile(tool, self.scene.center, tone / 4))
        share = min(TIP_LENGTH * thick * 0.92, length) / length
        yield Shaft(profile, (tip[0] + share * away[0], tip[1] + share * away[1]), (gate[0], gate[1]), thick)
        turn = round(atan2(away[1], away[0]) / _ANGLE_STEP)
        if self.colours:
            key = ("tip", tool, turn, size, slot, tone, blood)
            angle = turn * _ANGLE_STEP
            sprite = self.sprites.get(key, lambda: self._paint_tip(tool, angle, thick, tone / 4, blood / 4))
        else:
            sprite = _tip_outline(tool, turn, thick)
        yield stamped(sprite, tip[0], tip[1])
        yield from self.artefacts.on_instrument((tip[0], tip[1]), thick, levels)

    def _paint_tip(self, tool: str, angle: float, thick: float, bright: float, blood: float) -> Sprite:
        canvas = turned_canvas(TIP_LENGTH * thick, 1.2 * thick, angle)
        paint = paint_tip(canvas.x, canvas.y, thick, tool)
        rgb = np.clip(paint.rgb * bright, 0, 1)
        if blood:
            stain = np.clip(noise(rgb.shape[:2], 5, 0.25 * thick) + 1.6 * blood - 0.4, 0, 1) * (0.4 + 0.6 * blood)
            lay(rgb, (0.45, 0.03, 0.04), np.asarray(stain, dtype=np.float32))
        return sprite_of(paint._replace(rgb=rgb), canvas.pivot, self.scene.center)


def _exposed(frame: Frame, before: Frame, after: Frame) -> Frame:
    """What a sensor sees that looks at one image half of the time, and a quarter each at two others."""
    mixed = frame.astype(np.uint16)
    mixed += before
    mixed += after
    mixed += frame
    mixed >>= 2
    return mixed.astype(np.uint8)


def _moves(before: View, after: View) -> NDArray[np.float64]:
    """How far anything moves in the image between two views, by time, in view heights; 0 near a black image.

    Objects move with the camera or with the tip that carries them.
    """
    shown = (before.tools != NO_TOOL) & (after.tools != NO_TOOL)
    tips = np.hypot(*np.moveaxis(after.tips - before.tips, -1, 0)) * shown
    still = before.to_screen(after.camera[:, :2]) - (before.scene.aspect / 2, 0.5)
    camera = np.hypot(*still.T) + np.abs(after.camera[:, 2] - before.camera[:, 2]) + np.abs(after.roll - before.roll)
    moves: NDArray[np.float64] = np.maximum(camera, tips.max(axis=0)) * ~(before.masked | after.masked)
    return moves


def _mirrored(places: NDArray[np.floating], size: int) -> NDArray[np.int32]:
    """Which pixel of a side of the situs lies at each place; beyond its ends it comes again the other way round.

    An image shows a quadrangle of the situs, so the outermost places are those of its corners.
    """
    corners, pixels = places[[0, 0, -1, -1], [0, -1, 0, -1]], places.astype(np.int32)
    if corners.min() >= 0 and corners.max() < size:
        return pixels
    pixels = np.abs(pixels)
    return np.clip(np.minimum(pixels, 2 * size - 2 - pixels), 0, size - 1)


@lru_cache(maxsize=4096)
def _tip_outline(tool: str, turn: int, thick: float) -> Sprite:
    """The outline of a tool's working end, the same in every scene."""
    canvas = turned_canvas(TIP_LENGTH * thick, 1.2 * thick, turn * _ANGLE_STEP)
    return outline_of(tip_opacity(canvas.x, canvas.y, thick, tool), canvas.pivot)


class _SpriteStore:
    """Sprites by what they show; the least used go when there are too many."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit, self.held = limit_bytes, 0
        self.sprites: OrderedDict[Hashable, Sprite] = OrderedDict()
        self.profiles: dict[Hashable, NDArray[np.uint8]] = {}

    def get(self, key: Hashable, paint: Callable[[], Sprite]) -> Sprite:
        """The sprite of that key, painted when it is not there."""
        if (sprite := self.sprites.get(key)) is not None:
            self.sprites.move_to_end(key)
            return sprite
        sprite = self.sprites[key] = paint()
        self.held += sprite.bytes_held
        while self.held > self.limit and len(self.sprites) > 1:
            self.held -= self.sprites.popitem(last=False)[1].bytes_held
        return sprite

    def profile(self, key: Hashable, paint: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """The shaft's colours of that key."""
        if key not in self.profiles:
            self.profiles[key] = paint()
        return self.profiles[key]
