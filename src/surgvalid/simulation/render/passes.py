"""One frame: colour, and beside it the number of the thing at every pixel, depth, flow, and how much light arrives."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from surgvalid.simulation.centers import CIRCLE_RADIUS, Center
from surgvalid.simulation.render import optics, raster, shade
from surgvalid.simulation.render.raster import NOTHING, SIDE, Samples
from surgvalid.simulation.render.world import SceneMoment
from surgvalid.simulation.timelines import Flags, Floats, Ints

FOIL_OPACITY = 0.34
Places = NDArray[np.intp]
"""Pixels, counted in reading order."""
Geometry = tuple[NDArray[Any], ...]
"""Triangles, their rows of the table, and by point: place in the lens's axes, normal, rest, inverse depth, sample."""


class Frame(NamedTuple):
    """The passes of one frame."""

    colour: NDArray[np.uint8]
    labels: Ints
    """The thing that most samples of a pixel show, or -1."""
    foil: Ints
    """The thing that lets light through in front of it, or -1."""
    arrives: Floats
    """The share of the light that comes through smoke, fog, dirt and the lens."""
    depth: Floats
    """In centimetres; 0 where there is nothing."""
    flow: Floats
    """Columns and rows that what is at a pixel has moved since the moment before; zeros where none was given."""


class Buffers(NamedTuple):
    """What is where, before any light."""

    labels: Ints
    foil: Ints
    over: Samples | None
    """The samples of what lets light through."""


class Painter:
    """Draws moments of one size for one centre. It holds its buffers, which the next frame uses again."""

    def __init__(self, center: Center, width_px: int, height_px: int, seed: int = 0) -> None:
        self.center, self.width, self.height, self.seed = center, width_px, height_px, seed
        self.samples, self.over = Samples.empty(width_px, height_px), Samples.empty(width_px, height_px)
        self._bare = Samples.empty(width_px, height_px)
        self.cells = shade.noise_cells()
        self.mask, self.mix = _mask_of(center, width_px, height_px), _mix_of(center)
        size, rough = (height_px, width_px), (-(-height_px // 4), -(-width_px // 4))
        self.shadow, self.arrives = np.ones(size), np.zeros(size)
        self._rough, self._around = np.zeros(rough), np.zeros(rough)
        self._glow, self.glare = np.zeros((*rough, 3)), np.zeros((*rough, 3))
        self.drops = _drops(seed)
        self._lit: SceneMoment | None = None

    def frame(
        self, moment: SceneMoment, *, number: int = 0, before: SceneMoment | None = None, open_s: float = 0.0
    ) -> Frame:
        """Everything about one moment.

        Args:
            moment: What is painted.
            number: The frame's, for its grain.
            before: The moment that flow is told from.
            open_s: How long the shutter is open; what moves meanwhile is blurred, where a moment before is given.
        """
        size = self.height, self.width
        if moment.masked:
            nothing = np.full(size, NOTHING, np.int32)
            dark = np.zeros((*size, 3), np.uint8)
            dim = np.zeros(size)
            return Frame(dark, nothing, nothing, dim, dim, np.zeros((*size, 2)))
        buffers = self.buffers(moment)
        light, places = np.zeros((*size, 3)), np.flatnonzero(self.mask > 0)
        light.reshape(-1, 3)[places] = self.light_of(moment, buffers, places)
        flow = np.zeros((*size, 2)) if before is None else self._flow(moment, before)
        if before is not None and open_s > 0:
            optics.smeared(light.copy(), flow, open_s / max(moment.time_s - before.time_s, 1e-9), light)
        if self.center.lens_blur:
            light = _blurred(light, self.center.lens_blur * self.height)
        optics.glare_of(light, self._glow, self.glare)
        picture = np.empty((*size, 3), np.uint8)
        veil = self.mask - self.arrives
        exposure = self.exposure(moment)
        optics.recorded(
            light, self.glare, self.arrives, veil, self.mix, exposure, self.center.grain, self.seed, number, picture
        )
        depth = self.depth_of(buffers.labels, moment.owner)
        return Frame(picture, buffers.labels, buffers.foil, self.arrives.copy(), depth, flow)

    def depth_of(self, labels: Ints, owner: Ints) -> Floats:
        """How far away it is what each pixel shows, by the first of its samples there."""
        near = np.zeros(labels.shape)
        for at in ((1, 1), (1, 0), (0, 1), (0, 0)):
            every = tuple(slice(first, None, SIDE) for first in at)
            np.copyto(near, self.samples.near[every], where=owner[self.samples.front[every]] == labels)
        return np.where((near > 0) & (labels >= 0), 1 / np.maximum(near, 1e-9), 0.0)

    def exposure(self, moment: SceneMoment) -> float:
        """What the camera makes of the light: it follows the distance, and has episodes."""
        bright, dark = moment.levels.get("image_too_bright", 0.0), moment.levels.get("image_too_dark", 0.0)
        far = moment.lens.distance_cm
        meter = float(((far * far + 6) / 56) ** 0.8)
        return round(1.22 * self.center.gain * meter * (1 + 7 * bright * bright) * (1 - 0.93 * dark), 9)

    def buffers(self, moment: SceneMoment, window: tuple[int, int, int, int] | None = None) -> Buffers:
        """What is at every sample and pixel, and how much light arrives from there; in a window of pixels, or all."""
        self.seen = raster.seen_through(moment.lens, moment.points)
        self.samples.clear()
        _, places, inverse = self.seen
        within = tuple(SIDE * edge for edge in window or (0, 0, self.width, self.height))
        raster.fill(moment.corners, moment.owner, moment.closed, moment.movable, places, inverse, within, *self.samples)
        labels = labels_of(self.samples.front, moment.owner)
        levels = moment.levels
        smoke, fog, dirt = (
            levels.get(kind, 0.0) for kind in ("background_smoke", "image_lens_fog", "image_lens_dirty")
        )
        numbers = np.array([2.4 * smoke, round(0.11 * moment.time_s, 9), fog, dirt])
        optics.share_that_arrives(self.samples.near, numbers, self.drops, self.cells, self.mask, self.arrives)
        if not len(moment.foil.corners):
            return Buffers(labels, np.full_like(labels, NOTHING), None)
        over = self.over
        over.clear()
        self.seen_foil = raster.seen_through(moment.lens, moment.foil.points)
        _, places, inverse = self.seen_foil
        sides = np.zeros(len(moment.foil.corners), np.uint8)
        raster.fill(moment.foil.corners, moment.foil.parts, sides, len(moment.things), places, inverse, within, *over)
        behind = over.near <= self.samples.near
        over.front[behind], over.near[behind] = NOTHING, 0
        return Buffers(labels, labels_of(over.front, moment.foil.parts), over)

    def light_with_and_without(
        self, moment: SceneMoment, buffers: Buffers, places: Places, compared: Flags
    ) -> tuple[Floats, Floats, Floats]:
        """Light at pixels of foreign objects: as it is, without foils, and as it would be without the one at each.

        The last is only worked out for those that are compared.
        """
        plain = self._light(moment, self.samples.front, self.samples.near, places)
        front, near = self._bare.front, self._bare.near
        np.copyto(front, self.samples.front)
        np.copyto(near, self.samples.near)
        behind, far = self.samples.behind, self.samples.far
        raster.take_out(front, near, moment.owner, moment.movable, buffers.labels, behind, far)
        bare = self._light(moment, front, near, places[compared])
        light = self._through(plain, moment, buffers, places)
        return light, plain, self._through(bare, moment, buffers, places[compared])

    def light_of(self, moment: SceneMoment, buffers: Buffers, places: Places) -> Floats:
        """Light as it is, at pixels (in reading order)."""
        light = self._light(moment, self.samples.front, self.samples.near, places)
        return self._through(light, moment, buffers, places)

    def levels_of(self, light: Floats, exposure: float, places: Places) -> Floats:
        """What the sensor makes of light at pixels, 0 to 255, without glare and grain."""
        arrives = self.arrives.reshape(-1)[places]
        veil = (self.mask.reshape(-1)[places] - arrives)[:, None] * optics.VEIL
        mixed = np.maximum((light * arrives[:, None] + veil) @ self.mix.T * exposure, 0)
        return 255 * np.sqrt(np.minimum(mixed * (1 + 0.16 * mixed) / (1 + 0.72 * mixed), 1))

    def alone(self, moment: SceneMoment, number: int) -> Flags:
        """The pixels that a thing would have if nothing were before it."""
        layers = [(moment.corners, moment.owner, moment.closed, self.seen)]
        if len(moment.foil.corners):
            parts = moment.foil.parts
            layers.append((moment.foil.corners, parts, np.zeros(len(parts), np.uint8), self.seen_foil))
        held = np.zeros((self.height, self.width), dtype=bool)
        for corners, owner, closed, (_, places, inverse) in layers:
            mine = slice(*np.searchsorted(owner, (number, number + 1)))  # triangles are in the order of things
            ends = corners[mine].reshape(-1)
            if len(ends):
                pixels = places[ends] // (SIDE * raster.STEPS)
                left, top = np.clip(pixels.min(axis=0), 0, (self.width, self.height))
                width, height = np.clip(pixels.max(axis=0) + 1, 0, (self.width, self.height)) - (left, top)
                shifted = places[ends] - np.array((left, top)) * (SIDE * raster.STEPS)
                each, one = np.arange(len(ends), dtype=np.int32).reshape(-1, 3), Samples.empty(width, height)
                edges = 0, 0, SIDE * width, SIDE * height
                raster.fill(each, owner[mine], closed[mine], len(moment.things), shifted, inverse[ends], edges, *one)
                held[top : top + height, left : left + width] |= labels_of(one.front, owner[mine]) >= 0
        return held

    def _light(self, moment: SceneMoment, front: Ints, near: Floats, places: Places) -> Floats:
        local, at, inverse = self.seen
        if self._lit is not moment:
            self._normals, self._lit = np.empty_like(moment.points), moment
            raster.normals_of(moment.points, moment.corners, self._normals)
        geometry = moment.corners, moment.rows, local, self._normals, moment.rest, inverse, at
        shade.creases_of(near, self._rough, 3, self._around)
        shade.shade_of_surroundings(near, self._around, places, self.shadow)
        return self._shaded(front, near, geometry, moment, self.shadow, places)

    def _shaded(
        self, front: Ints, near: Floats, geometry: Geometry, moment: SceneMoment, shadow: Floats, places: Places
    ) -> Floats:
        light = np.empty((len(places), 3))
        optic = moment.lens.focal_px, self.width, self.height, moment.lens.axes
        shade.shade(front, near, geometry, optic, moment.table, self.cells, np.array(shade.LAMP), shadow, light, places)
        return light

    def _through(self, light: Floats, moment: SceneMoment, buffers: Buffers, places: Places) -> Floats:
        """The light with the foils before it, and their own."""
        if buffers.over is None:
            return light
        foil, (local, at, inverse) = moment.foil, self.seen_foil
        normals = np.empty_like(foil.points)
        raster.normals_of(foil.points, foil.corners, normals)
        rows = np.array([thing.row for thing in moment.things], np.int32)[foil.parts]
        geometry = foil.corners, rows, local, normals, foil.rest, inverse, at
        veiled, light = buffers.foil.reshape(-1)[places] >= 0, light.copy()
        over, shadow = buffers.over, np.ones(buffers.foil.shape)
        shine = self._shaded(over.front, over.near, geometry, moment, shadow, places[veiled])
        light[veiled] = (1 - FOIL_OPACITY) * light[veiled] + FOIL_OPACITY * shine
        return light

    def _flow(self, moment: SceneMoment, before: SceneMoment) -> Floats:
        """How far what is at every pixel has moved."""
        points = moment.points.copy()
        for thing, now in moment.starts.items():
            then = before.starts.get(thing)
            if then is not None and then.stop - then.start == now.stop - now.start:
                points[now] = before.points[then]
        _, places, inverse = self.seen
        flow = np.zeros((self.height, self.width, 2))
        lens = before.lens
        raster.flow_of(
            self.samples.front, moment.corners, places, inverse, points, lens.eye, lens.axes, lens.focal_px, flow
        )
        return flow


def labels_of(front: Ints, owner: Ints) -> Ints:
    """The thing that most samples of every pixel show; of equal counts the first sample's."""
    height, width = front.shape[0] // SIDE, front.shape[1] // SIDE
    labels = np.empty((height, width), np.int32)
    _vote(front, owner, labels)
    return labels


@njit(cache=True)
def _vote(front, owner, labels):  # type: ignore[no-untyped-def]
    things = np.empty(4, np.int64)
    for y in range(labels.shape[0]):
        for x in range(labels.shape[1]):
            for k in range(4):
                t = front[2 * y + k // 2, 2 * x + k % 2]
                things[k] = owner[t] if t >= 0 else -1
            a, b, c, d = things[0], things[1], things[2], things[3]
            labels[y, x] = b if a != b and a != c and a != d and b in (c, d) else c if c == d and a != b else a


def _mask_of(center: Center, width: int, height: int) -> Floats:
    """How much light the optics pass at every pixel: darker corners, and nothing outside a round image."""
    x, y = (np.arange(width) + 0.5 - width / 2) / height, (np.arange(height) + 0.5 - height / 2) / height
    square = x[None, :] ** 2 + y[:, None] ** 2
    light = 1 - center.vignette * np.minimum(square / 1.04, 1.0)
    if center.circle:
        edge = (CIRCLE_RADIUS**2 - square) * height / 3
        light = light * np.clip(edge, 0, 1)
    return np.asarray(np.round(light, 9))


def _mix_of(center: Center) -> Floats:
    """A centre's colours as one matrix: tint, saturation and the turn of all hues."""
    grey = np.array([0.299, 0.587, 0.114])
    full = np.eye(3) * center.saturation + (1 - center.saturation) * grey[None, :]
    turn = np.deg2rad(center.hue_deg)
    axis = np.ones(3) / np.sqrt(3)
    cross = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    rotation = np.cos(turn) * np.eye(3) + np.sin(turn) * cross + (1 - np.cos(turn)) * np.outer(axis, axis)
    return np.asarray(np.round(np.diag(np.array(center.tint) ** 2) @ rotation @ full, 9))


def _drops(seed: int) -> Floats:
    """Where dirt sits on the lens: rows x, y, radius, opacity."""
    rng = np.random.default_rng([seed, 5])
    count = 9
    ranges = (0.1, 1.7), (0.05, 0.95), (0.05, 0.2), (0.5, 1.0)
    return np.asarray([rng.uniform(*limits, count).round(9) for limits in ranges]).T.copy()


def _blurred(light: Floats, sigma_px: float) -> Floats:
    """Light spread by a soft lens: two boxes each way."""
    reach = max(int(sigma_px), 1)
    out = light
    for axis in (0, 1):
        for _ in range(2):
            out = np.mean([np.roll(out, k, axis) for k in range(-reach, reach + 1)], axis=0)
    return out
