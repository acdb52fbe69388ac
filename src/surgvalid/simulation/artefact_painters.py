"""How artefacts are painted, each at the strength that the scene states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation.artefacts import LENS_FOG
from surgvalid.simulation.centers import CIRCLE_RADIUS
from surgvalid.simulation.paint import (
    Canvas,
    Field,
    Paint,
    Rect,
    Sprite,
    Stamp,
    cover,
    ellipse,
    flat,
    lay,
    noise,
    outline_of,
    sprite_of,
    stamped,
    turned_canvas,
)
from surgvalid.simulation.scene import Scene, View
from surgvalid.stats.draws import stream

Frame = NDArray[np.uint8]
Levels = dict[str, float]
_SEEN_FROM = 0.03
"""Weaker artefacts are not painted."""


LARGEST_LINT = 0.224
"""How far lint at an instrument reaches at most, in view heights."""
THICKEST_FOG = 0.92
"""How much of a pixel the thickest fog hides."""
_FOG_BLUR = 0.011
"""How far the thickest fog spreads every point of the image, in view heights."""
_DARK_TONE, _BRIGHT_TONE = 60, 230
"""Between these two the tones of tissue and objects lie."""
_TONES = np.arange(256)


def exposure_curve(levels: Levels) -> Field | None:
    """What each of the 256 tones becomes under a wrong exposure, not yet cut off; None under a right one."""
    exposure = 1 + 1.6 * levels["image_too_bright"] - 0.85 * levels["image_too_dark"]
    if abs(exposure - 1) <= _SEEN_FROM:
        return None
    return _TONES * exposure + 60 * levels["image_too_bright"]


def kept_contrast(levels: Levels) -> float:
    """Which part of the contrast between dark and bright tones a wrong exposure leaves, from 0 to 1."""
    curve = exposure_curve(levels)
    if curve is None:
        return 1.0
    dark, bright = np.clip(curve[[_DARK_TONE, _BRIGHT_TONE]], 0, 255)
    return float(np.clip((bright - dark) / (_BRIGHT_TONE - _DARK_TONE), 0, 1))


def _stepped(level: float) -> float:
    """The strength in the steps in which sprites are painted: a sprite must not depend on who asked for it first."""
    return 0.0 if level < _SEEN_FROM else max(round(level * 5), 1) / 5


def _spread(frame: Frame, reach_px: int) -> Frame:
    """The frame with every pixel mixed with those that lie `reach_px` and half of it away, across and down."""
    for step in {reach_px, (reach_px + 1) // 2}:
        for axis in (0, 1):
            padding = [(step, step) if axis == dimension else (0, 0) for dimension in range(3)]
            wide = np.pad(frame, padding, mode="edge").astype(np.uint16)
            size = frame.shape[axis]
            mixed = sum(np.take(wide, range(at, at + size), axis=axis) for at in (0, step, step, 2 * step))
            frame = (np.asarray(mixed) >> 2).astype(np.uint8)
    return frame


@lru_cache(maxsize=32)
def _kept_noise(shape: tuple[int, int], seed: int, coarse_px: float) -> NDArray[np.float32]:
    """The noise of artefacts, which the scenes of one simulation share. It must not be written to."""
    field = noise(shape, seed, coarse_px)
    field.flags.writeable = False
    return field


class ArtefactPainter:
    """Everything that spoils the image, for one scene."""

    def __init__(self, scene: Scene, *, colours: bool = True) -> None:
        self.scene, self.colours = scene, colours
        self.height, self.width, self.scale = scene.height_px, scene.width_px, float(scene.height_px)
        self.rng_name = f"{scene.seed}/{scene.video}"
        self.rng = stream(scene.seed, "artefact painter", scene.video)
        self.spots = self.rng.uniform(-0.5, 0.5, (24, 2)) * (scene.aspect, 1.0)
        self.sixteen = np.empty((self.height, self.width, 4), dtype=np.uint16)
        self._made: dict[str, Sprite] = {}

    def _noise(self, shape: tuple[int, int], coarse: float) -> NDArray[np.float32]:
        return _kept_noise(shape, self.scene.seed + len(self.rng_name), coarse * self.scale)

    @cached_property
    def clouds(self) -> NDArray[np.float32]:
        """How thick the smoke is, twice as wide as the image: it drifts."""
        thick = np.clip(0.72 + 0.5 * self._noise((self.height, 2 * self.width), 0.16), 0, 1)
        return np.asarray(thick, dtype=np.float32)

    @cached_property
    def mist(self) -> NDArray[np.float32]:
        """How thick fog is on the lens: even, a little thinner here and there, thickest towards the rim."""
        rows, columns = (np.linspace(-1, 1, size) for size in (self.height, self.width))
        rim = np.clip(rows[:, None] ** 2 + columns[None, :] ** 2, 0, 1)
        thick = np.clip(0.84 + 0.12 * rim + 0.16 * self._noise((self.height, self.width), 0.22), 0, 1)
        return np.asarray(thick, dtype=np.float32)

    # --- under the objects ---------------------------------------------------------------------

    def under(self, frame: Frame, view: View, at: int, levels: Levels) -> None:
        """What lies on the tissue: pools of blood."""
        level = levels["background_blood"]
        if level < _SEEN_FROM:
            return
        sprite = self._sprite(f"blood {round(level * 6)}", lambda: self._pool(round(level * 6) / 6))
        for place in self._follow(view, at, self.spots[: 2 + round(4 * level)]):
            stamped(sprite, *place).lay(frame)

    def _pool(self, level: float) -> Sprite:
        reach = (0.12 + 0.2 * level) * self.scale
        canvas = turned_canvas(1.3 * reach, 1.1 * reach, 0.0)
        shape = ellipse(canvas.x, canvas.y, reach, 0.7 * reach) + 0.3 * reach * self._noise(canvas.x.shape, 0.05)
        rgb = flat(canvas.x.shape, (0.50, 0.03, 0.03))
        lay(
            rgb,
            (0.85, 0.25, 0.22),
            0.5 * cover(ellipse(canvas.x + 0.3 * reach, canvas.y + 0.2 * reach, 0.2 * reach, 0.06 * reach)),
        )
        return sprite_of(Paint(rgb, (0.55 + 0.4 * level) * cover(shape / 3)), canvas.pivot, self.scene.center)

    def _follow(self, view: View, at: int, spots: NDArray[np.float64]) -> list[list[float]]:
        """Places that move with the tissue, in pixels; they come back on the other side."""
        *middle, zoom = view.camera[at].tolist()
        size = np.array([self.scene.aspect + 0.4, 1.4])
        places = ((spots - np.array(middle) * zoom + size / 2) % size) - 0.2
        if self.scene.camera.aslant:
            half = np.array([self.scene.aspect / 2, 0.5])
            places = view.aslant(places - half, slice(at, at + 1)) + half
        in_pixels: list[list[float]] = (places * self.scale).tolist()
        return in_pixels

    # --- on the instruments --------------------------------------------------------------------

    def on_instrument(self, tip: tuple[float, float], thick: float, levels: Levels) -> Iterator[Stamp]:
        """Tissue and other material at the working end, which hide what lies behind, and the tip's own shine."""
        if (level := _stepped(levels["instrument_tissue"])) > 0:
            reach = (0.5 + 1.3 * level) * thick
            flap = self._sprite(f"flap {reach}", lambda: self.flap(turned_canvas(reach, reach, 0.0), reach, 3))
            yield stamped(flap, tip[0] + 0.6 * thick, tip[1] + 0.4 * thick)
        if (level := _stepped(levels["instrument_reflections"])) > 0:
            shine = self._sprite(f"shine {level:.1f}", lambda: self._shine(0.10 * (0.3 + level), 0.9))
            yield stamped(shine, tip[0] + 0.3 * thick, tip[1])
        if (level := _stepped(levels["instrument_other_object"])) > 0:
            lint = self._sprite(f"lint {level:.1f}", lambda: self._lint(LARGEST_LINT * (0.4 + level) / 1.4))
            yield stamped(lint, tip[0], tip[1])

    def kinds_on_instrument(self, levels: Levels) -> list[str]:
        """Of what characteristic each of the stamps of `on_instrument` is, in their order."""
        kinds = ("instrument_tissue", "instrument_reflections", "instrument_other_object")
        return [kind for kind in kinds if _stepped(levels[kind]) > 0]

    def flap(self, canvas: Canvas, reach: float, seed: int) -> Sprite:
        """A fold of fatty tissue that covers the lower part of something of that size."""
        shape = ellipse(canvas.x, canvas.y - 0.55 * reach, 0.8 * reach, 0.55 * reach)
        shape = shape + 0.12 * reach * noise(canvas.x.shape, seed, max(0.2 * reach, 1.0))
        if not self.colours:
            return outline_of(cover(shape), canvas.pivot)
        rgb = flat(canvas.x.shape, (0.80, 0.45, 0.38))
        rgb *= (
            1
            - 0.35 * np.clip(canvas.y / reach, -0.3, 1)
            + 0.15 * noise(canvas.x.shape, seed + 1, max(0.1 * reach, 1.0))
        )[..., None]
        return sprite_of(Paint(np.clip(rgb, 0, 1), cover(shape)), canvas.pivot, self.scene.center)

    def _lint(self, reach: float) -> Sprite:
        canvas = turned_canvas(reach * self.scale, reach * self.scale, 0.0)
        threads = np.abs(self._noise(canvas.x.shape, 0.03)) * self.scale * 0.15 - 0.8
        inside = ellipse(canvas.x, canvas.y, 0.9 * reach * self.scale, 0.8 * reach * self.scale)
        return sprite_of(
            Paint(flat(canvas.x.shape, (0.92, 0.93, 0.90)), cover(np.maximum(threads, inside))),
            canvas.pivot,
            self.scene.center,
        )

    # --- over everything -----------------------------------------------------------------------

    def over(self, frame: Frame, view: View, at: int, levels: Levels) -> Frame:
        """Reflections, material, smoke, dirt on the lens, exposure, then the optics' own shading and grain."""
        for stamp in (*self.reflections(view, at, levels), *self.material(levels)):
            stamp.lay(frame)
        self._smoke(frame, float(view.times_s[at]), levels["background_smoke"])
        for stamp in self.dirt(levels):
            stamp.lay(frame)
        if (fog := levels.get(LENS_FOG, 0.0)) >= _SEEN_FROM:
            frame = self._fogged(frame, fog)
        curve = exposure_curve(levels)
        if curve is not None:
            frame = np.clip(curve, 0, 255).astype(np.uint8)[frame]
        return self._optics(frame, float(view.times_s[at]))

    def clear_in(self, rect: Rect, view: View, at: int, levels: Levels, veils: Iterable[Stamp]) -> NDArray[np.float32]:
        """For each pixel of a rectangle, how much of what lies there reaches the viewer, from 0 to 1.

        Smoke and the veils of that time lie before it, the optics and a wrong exposure take light or contrast away.
        """
        clear = self.light[rect.slices()] * np.float32(kept_contrast(levels))
        if (veil := self._veil(float(view.times_s[at]), levels["background_smoke"], rect)) is not None:
            clear *= 1 - veil
        if (fog := levels.get(LENS_FOG, 0.0)) >= _SEEN_FROM:
            clear *= 1 - self.mist[rect.slices()] * np.float32(THICKEST_FOG * fog)
        for stamp in veils:
            stamp.dim(clear, rect)
        return clear

    def veils(self, view: View, at: int, levels: Levels) -> Iterator[Stamp]:
        """What lies before everything without hiding it: reflections and dirt on the lens."""
        yield from self.reflections(view, at, levels)
        yield from self.dirt(levels)

    def reflections(self, view: View, at: int, levels: Levels) -> Iterator[Stamp]:
        """White spots of the lamp on wet tissue."""
        level = levels["background_reflections"]
        if level < _SEEN_FROM:
            return
        reaches = [round(0.015 + 0.012 * number * (0.5 + level), 3) for number in range(4)]
        shines = [self._sprite(f"spot {reach}", partial(self._shine, reach, 1.0)) for reach in reaches]
        for number, place in enumerate(self._follow(view, at, self.spots[: 3 + round(18 * level)] * 0.8)):
            yield stamped(shines[number % 4], *place)

    def _shine(self, reach: float, strength: float) -> Sprite:
        size = reach * self.scale
        canvas = turned_canvas(1.6 * size, 1.6 * size, 0.0)
        glow = np.exp(-((canvas.x / size) ** 2 + (canvas.y / (0.6 * size)) ** 2) * 2.2)
        alpha = np.clip(1.5 * glow, 0, 1) * strength
        return sprite_of(
            Paint(flat(canvas.x.shape, (1.0, 1.0, 1.0)), np.asarray(alpha, np.float32)), canvas.pivot, self.scene.center
        )

    def material(self, levels: Levels) -> Iterator[Stamp]:
        """Something that is no instrument at the edge: a trocar's rim, seen from within."""
        if (level := levels["background_other_object"]) >= _SEEN_FROM:
            rim = self._sprite(f"rim {round(level * 5)}", lambda: self._rim(round(level * 5) / 5))
            yield stamped(rim, 0.06 * self.scale, 0.1 * self.scale)

    def _rim(self, level: float) -> Sprite:
        reach = (0.25 + 0.4 * level) * self.scale
        canvas = turned_canvas(reach, reach, 0.0)
        ring = ellipse(canvas.x, canvas.y, 0.95 * reach, 0.95 * reach)
        rgb = flat(canvas.x.shape, (0.55, 0.62, 0.66))
        rgb *= (0.7 + 0.3 * np.cos(ring / reach * 40))[..., None]
        return sprite_of(
            Paint(np.clip(rgb, 0, 1), cover(np.maximum(ring, -ring - 0.35 * reach))), canvas.pivot, self.scene.center
        )

    def _smoke(self, frame: Frame, time_s: float, level: float) -> None:
        share = self._veil(time_s, level, Rect(0, 0, self.width, self.height))
        if share is not None:
            self._lay_veil(frame, share, 205)

    def _fogged(self, frame: Frame, level: float) -> Frame:
        """The frame through a fogged lens: veiled by drops that shine as bright as the image lets them, and soft."""
        if (reach_px := round(_FOG_BLUR * level * self.scale)) > 0:
            frame = _spread(frame, reach_px)
        glow = round(0.5 * float(frame[::8, ::8, :3].mean()) + 115)
        self._lay_veil(frame, self.mist * np.float32(THICKEST_FOG * level), glow)
        return frame

    def _lay_veil(self, frame: Frame, share: NDArray[np.float32], tone: int) -> None:
        """Mix a grey tone into every pixel of a frame, in place."""
        veil = (share * 256).astype(np.uint16)[..., None]
        np.multiply(frame, 256 - veil, out=self.sixteen, casting="unsafe")
        self.sixteen += veil * np.uint16(tone)
        self.sixteen >>= 8
        frame[...] = self.sixteen

    def _veil(self, time_s: float, level: float, rect: Rect) -> NDArray[np.float32] | None:
        """How much of each pixel of a rectangle is smoke, or None where there is none."""
        if level < _SEEN_FROM:
            return None
        shift = int(time_s * 0.12 * self.scale) % self.width
        rows, columns = rect.slices(-shift)
        return self.clouds[rows, columns] * np.float32(0.92 * level)

    def dirt(self, levels: Levels) -> Iterator[Stamp]:
        """Smears on the lens."""
        level = levels["image_lens_dirty"]
        if level < _SEEN_FROM:
            return
        smear = self._sprite(f"smear {round(level * 6)}", lambda: self._smear(round(level * 6) / 6))
        for x, y in ((0.32, 0.3), (0.68, 0.62), (0.75, 0.22))[: 1 + round(2 * level)]:
            yield stamped(smear, x * self.width, y * self.height)

    def _smear(self, level: float) -> Sprite:
        reach = (0.14 + 0.14 * level) * self.scale
        canvas = turned_canvas(1.3 * reach, 1.3 * reach, 0.0)
        soft = np.clip(1.2 - np.hypot(canvas.x, canvas.y) / reach + 0.5 * self._noise(canvas.x.shape, 0.06), 0, 1)
        alpha = np.asarray(soft * (0.35 + 0.55 * level), dtype=np.float32)
        return sprite_of(Paint(flat(canvas.x.shape, (0.62, 0.52, 0.44)), alpha), canvas.pivot, self.scene.center)

    # --- optics --------------------------------------------------------------------------------

    def _optics(self, frame: Frame, time_s: float) -> Frame:
        if (reach_px := round(self.scene.center.lens_blur * self.scale)) > 0:
            frame = _spread(frame, reach_px)
        np.multiply(frame, self.shade, out=self.sixteen, casting="unsafe")
        if self.grain is not None:
            step = round(time_s * 25)
            y, x = (step * 37) % 32, (step * 61) % 32
            self.sixteen += self.grain[y : y + self.height, x : x + self.width]
        np.right_shift(self.sixteen, 8, out=self.sixteen)
        return self.sixteen.astype(np.uint8)

    @cached_property
    def shade(self) -> NDArray[np.uint16]:
        """`light` as factors that whole numbers are multiplied with."""
        return np.repeat((self.light * 250).astype(np.uint16)[..., None], 4, axis=2)

    @cached_property
    def light(self) -> NDArray[np.float32]:
        """1 where the optics pass all light; less towards the corners, 0 outside a round image."""
        rows = (np.arange(self.height) + 0.5 - self.height / 2) / self.scale
        columns = (np.arange(self.width) + 0.5 - self.width / 2) / self.scale
        radius = np.hypot(rows[:, None], columns[None, :])
        light = 1 - self.scene.center.vignette * np.clip(radius / 1.02, 0, 1) ** 2.2
        if self.scene.center.circle:
            light *= np.clip((CIRCLE_RADIUS - radius) * self.scale / 3 + 0.5, 0, 1)
        return np.asarray(light, dtype=np.float32)

    @cached_property
    def grain(self) -> NDArray[np.uint16] | None:
        """Noise of the sensor, a little larger than the image: it is shifted from frame to frame."""
        if self.scene.center.grain < 1:
            return None
        raw = self.rng.normal(0, self.scene.center.grain * 40, (self.height + 32, self.width + 32, 1))
        return np.repeat(np.clip(np.abs(raw), 0, 1200).astype(np.uint16), 4, axis=2)

    def _sprite(self, key: str, paint: Callable[[], Sprite]) -> Sprite:
        if key not in self._made:
            if len(self._made) > 200:
                self._made.clear()
            self._made[key] = paint()
        return self._made[key]
