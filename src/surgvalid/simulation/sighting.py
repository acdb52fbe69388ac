"""What can be seen of every object: read from the very layers that the renderer paints.

A pixel of an object is *seen* when nothing solid is painted over it (tissue, an instrument, another object, a
trocar's rim) and at least `LEAST_CLEAR` of it comes through smoke, dirt, reflections, a wrong exposure and the optics,
which pass nothing outside a round image. An object is in view when enough of its pixels are seen; its box is
theirs. It is partly hidden when something solid lies before a good part of it; smoke and darkness are not that.

Most objects lie alone and in clear light most of the time, and then all of their pixels are seen. Only the other
times are looked at pixel by pixel, which gives the same and takes longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.schema.procedures.tracks import Visibility
from surgvalid.simulation.artefact_painters import LARGEST_LINT, THICKEST_FOG, kept_contrast
from surgvalid.simulation.artefacts import LENS_FOG
from surgvalid.simulation.centers import CIRCLE_RADIUS
from surgvalid.simulation.instrument_painters import Shaft
from surgvalid.simulation.instruments import NO_TOOL, SLOTS, THICKNESS
from surgvalid.simulation.lives import Life
from surgvalid.simulation.paint import Rect, Stamp
from surgvalid.simulation.renderer import Pose, Renderer
from surgvalid.simulation.scene import Scene
from surgvalid.simulation.timelines import Times

LEAST_CLEAR = 0.25
"""Less of a pixel cannot be made out."""
LEAST_SHOWN, LEAST_PIXELS = 0.2, 6
"""An object is in view when this part of its pixels is seen, and not fewer than so many of them."""
PARTLY_HIDDEN = 0.2
"""An object is partly hidden when something solid lies before this part of what the optics would show of it."""
_SPOILING = ("background_reflections", "background_other_object", "image_lens_dirty")
"""Artefacts that may lie anywhere in the image."""
_STICKING = ("instrument_tissue", "instrument_reflections", "instrument_other_object")
"""Artefacts around the tip of an instrument."""
_NOWHERE = (0.0, 0.0, 0.0, 0.0)

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Sight:
    """One object at each of the times of its span."""

    boxes: Numbers
    """Rows x, y, width, height in pixels, around the pixels that are seen; zeros while it is not in view."""
    visibility: NDArray[np.uint8]
    """Codes of `Visibility`."""


@dataclass(frozen=True, slots=True, eq=False)
class Silhouette:
    """The pixels of one object that are seen at one time."""

    instance: str
    at: int
    """Which of the times."""
    rect: Rect
    seen: Flags
    """Which pixels of the rectangle."""

    @property
    def box(self) -> tuple[float, float, float, float]:
        """x, y, width and height around the pixels."""
        top, height = _extent(self.seen, axis=1)
        left, width = _extent(self.seen, axis=0)
        return float(self.rect.left + left), float(self.rect.top + top), float(width), float(height)


def _extent(pixels: Flags, axis: int) -> tuple[int, int]:
    """The first row (or column) with a pixel that is set, and how many there are up to the last, both included."""
    flags = np.logical_or.reduce(pixels, axis=axis)
    first = int(flags.argmax())
    return first, len(flags) - int(flags[::-1].argmax()) - first


def _corners(pixels: Flags) -> tuple[tuple[int, int], tuple[int, int]]:
    """The column and row of the first pixel that is set, and those after the last."""
    (top, height), (left, width) = _extent(pixels, axis=1), _extent(pixels, axis=0)
    return (left, top), (left + width, top + height)


Keep = Callable[[Silhouette], None]


def sights(scene: Scene, times_s: Times, *, keep: Keep | None = None, quick: bool = True) -> dict[str, Sight]:
    """What is seen of every object at each of the times of its span, in the order of the scene.

    Args:
        scene: The simulated procedure.
        times_s: The times, which must rise.
        keep: Called with the pixels of every object that is in view, object by object.
        quick: Whether to spare the pixels of objects that nothing can hide; the result is the same.
    """
    looker = _Looker(scene, times_s, keep, quick=quick)
    return looker.sights()


class _Looker:
    """Looks at all objects at a number of times."""

    def __init__(self, scene: Scene, times_s: Times, keep: Keep | None, *, quick: bool) -> None:
        self.scene, self.keep, self.quick = scene, keep, quick and keep is None
        self.renderer = Renderer(scene, colours=False)
        self.view = scene.look(times_s)
        self.levels = scene.conditions(self.view.times_s)
        self._listed = {kind: level.tolist() for kind, level in self.levels.items()}
        self.contrast = np.ones(len(self.view.times_s))
        for at in np.flatnonzero((self.levels["image_too_bright"] > 0) | (self.levels["image_too_dark"] > 0)).tolist():
            self.contrast[at] = kept_contrast(self.levels_at(at))
        self.frame = Rect(0, 0, scene.width_px, scene.height_px)
        self.poses = {life.instance: self.renderer.pose(self.view, life) for life in scene.lives}
        self.order = {life.instance: place for place, life in enumerate(self.renderer.lives)}
        self.shapes = {life.instance: self._shapes(life, self.poses[life.instance]) for life in self.renderer.lives}

    def sights(self) -> dict[str, Sight]:
        """Every object at the times of its span."""
        plain, doubtful = {}, defaultdict[int, list[tuple[Life, _Threats]]](list)
        for life in self.scene.lives:
            pose, shapes = self.poses[life.instance], self.shapes[life.instance]
            threats = self._threats(life, pose, shapes.rects) if self.quick else self._all_threats(life, pose)
            for here in np.flatnonzero(shapes.in_picture & threats.any).tolist():
                doubtful[pose.start + here].append((life, threats))
            plain[life.instance] = _unhindered(shapes)
        for at in sorted(doubtful):
            moment = _Moment(self, at)
            for life, threats in doubtful[at]:
                here, sight = at - self.poses[life.instance].start, plain[life.instance]
                sight.visibility[here], sight.boxes[here] = moment.seen(life, here, threats)
        return plain

    def levels_at(self, at: int) -> dict[str, float]:
        return {kind: level[at] for kind, level in self._listed.items()}

    def _shapes(self, life: Life, pose: Pose) -> _Shapes:
        """The rectangle and number of the object's own pixels, in the image or beside it."""
        rects, pixels = np.zeros((len(pose), 4), dtype=np.int64), np.zeros(len(pose), dtype=np.int64)
        shown = np.flatnonzero(pose.shown)
        if not shown.size:
            return _Shapes(rects, pixels, pose.shown)
        keys = np.column_stack([pose.turn, pose.size, pose.changes, pose.grip, pose.roll])[shown]
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        for number, example in enumerate(first.tolist()):
            sprite = self.renderer.object_sprite(life, pose, int(shown[example]))
            here = shown[which.reshape(-1) == number]
            corner = np.rint(pose.middle_px[here] - sprite.pivot).astype(np.int64)
            low, high = _corners(sprite.shape)
            rects[here] = np.column_stack([corner + low, corner + high])
            pixels[here] = np.count_nonzero(sprite.shape)
        for here in np.flatnonzero(pose.shown & pose.bent).tolist():
            stamp, *_ = self.renderer.object_stamps(life, pose, pose.start + here)
            corner, (low, high) = np.array([stamp.left, stamp.top]), _corners(stamp.sprite.shape)
            rects[here] = (*(corner + low), *(corner + high))
            pixels[here] = np.count_nonzero(stamp.sprite.shape)
        inside = (rects[:, :2] < self.frame[2:]).all(axis=1) & (rects[:, 2:] > 0).all(axis=1)
        return _Shapes(rects, pixels, pose.shown & inside)

    # --- what could keep a pixel from being seen -----------------------------------------------

    def _threats(self, life: Life, pose: Pose, rects: NDArray[np.int64]) -> _Threats:
        span = slice(pose.start, pose.start + len(pose))
        spoiled = np.any([self.levels[kind][span] > 0 for kind in _SPOILING], axis=0)
        tools = np.stack([self._meets_instrument(slot, rects, span) for slot in range(SLOTS)])
        upon = [(other, self._meets_object(pose, rects, other)) for other in self._later(life)]
        return _Threats(
            (rects[:, :2] < 0).any(axis=1) | (rects[:, 2:] > self.frame[2:]).any(axis=1) | pose.partly,
            spoiled | self._is_dark(rects, span),
            tools,
            [(other, meets) for other, meets in upon if meets.any()],
        )

    def _is_dark(self, rects: NDArray[np.int64], span: slice) -> Flags:
        """Whether optics, exposure and smoke together might hide the darkest corner."""
        middle = np.array([self.scene.width_px, self.scene.height_px]) / 2
        far = np.maximum(np.abs(rects[:, :2] - middle), np.abs(rects[:, 2:] - middle))
        radius = np.hypot(*far.T) / self.scene.height_px
        light = 1 - self.scene.center.vignette * np.clip(radius / 1.02, 0, 1) ** 2.2
        clear = light * self.contrast[span] * (1 - 0.92 * self.levels["background_smoke"][span])
        if LENS_FOG in self.levels:
            clear *= 1 - THICKEST_FOG * self.levels[LENS_FOG][span]
        dark = clear < 1.05 * LEAST_CLEAR
        return np.asarray(dark | (self.scene.center.circle & (radius > CIRCLE_RADIUS - 3 / self.scene.height_px)))

    def _meets_instrument(self, slot: int, rects: NDArray[np.int64], span: slice) -> Flags:
        """Whether the shaft, its working end or what sticks to that might lie over a part of the rectangle."""
        half = (rects[:, 2:] - rects[:, :2]) / 2 / self.scene.height_px
        away = (rects[:, :2] + rects[:, 2:]) / 2 / self.scene.height_px - self.view.tips[slot, span]
        shaft = self.view.gates[slot, span] - self.view.tips[slot, span]
        along = shaft / np.maximum(np.hypot(*shaft.T), 1e-9)[:, None]
        thick = 1.2 * THICKNESS[slot] * self.view.camera[span, 2]
        across = np.abs(along[:, 0] * away[:, 1] - along[:, 1] * away[:, 0])
        beside = across > thick + np.abs(along[:, 1]) * half[:, 0] + np.abs(along[:, 0]) * half[:, 1]
        past = (along * away).sum(axis=1) + (np.abs(along) * half).sum(axis=1) < -thick
        sticky = np.any([self.levels[kind][span] > 0 for kind in _STICKING], axis=0)
        close = np.hypot(*away.T) < np.hypot(*half.T) + np.maximum(2.5 * thick, 1.5 * LARGEST_LINT)
        return np.asarray((self.view.tools[slot, span] != NO_TOOL) & (~(beside | past) | (sticky & close)))

    def _all_threats(self, life: Life, pose: Pose) -> _Threats:
        """As if everything might lie over the object at all times."""
        always = np.ones(len(pose), dtype=bool)
        span = range(pose.start, pose.start + len(pose))
        later = [
            (other, np.array([self.poses[other.instance].painted(at) for at in span])) for other in self._later(life)
        ]
        return _Threats(always, always, np.ones((SLOTS, len(pose)), dtype=bool), later)

    def _meets_object(self, pose: Pose, rects: NDArray[np.int64], other: Life) -> Flags:
        """Whether an object that is painted later, or tissue upon it, might lie over a part of the rectangle."""
        meets = np.zeros(len(rects), dtype=bool)
        above, shapes = self.poses[other.instance], self.shapes[other.instance]
        low, high = max(pose.start, above.start), min(pose.start + len(pose), above.start + len(above))
        if low >= high:
            return meets
        here, there = slice(low - pose.start, high - pose.start), slice(low - above.start, high - above.start)
        margin = np.where(above.partly[there], max(other.size) * self.scene.height_px * 2, 0)[:, None]
        over = shapes.rects[there] + margin * np.array([-1, -1, 1, 1])
        crossed = (rects[here, :2] < over[:, 2:]).all(axis=1) & (over[:, :2] < rects[here, 2:]).all(axis=1)
        meets[here] = crossed & above.shown[there]
        return meets

    def _later(self, life: Life) -> list[Life]:
        """The objects that are painted after one: smaller ones lie on larger ones."""
        return self.renderer.lives[self.order[life.instance] + 1 :]


class _Moment:
    """One time, looked at pixel by pixel."""

    def __init__(self, looker: _Looker, at: int) -> None:
        self.looker, self.at, self.renderer = looker, at, looker.renderer
        self.levels = looker.levels_at(at)
        self.material = list(self.renderer.artefacts.material(self.levels))
        self._instruments: dict[int, list[Shaft | Stamp]] = {}

    @cached_property
    def veils(self) -> list[Stamp]:
        """Reflections and dirt."""
        return list(self.renderer.artefacts.veils(self.looker.view, self.at, self.levels))

    def seen(self, life: Life, here: int, threats: _Threats) -> tuple[int, Sequence[float]]:
        """An object's visibility and box."""
        looker, artefacts = self.looker, self.renderer.artefacts
        stamp, *flaps = self.renderer.object_stamps(life, looker.poses[life.instance], self.at)
        shapes = looker.shapes[life.instance]
        rect = Rect(*shapes.rects[here].tolist()).within(looker.frame)
        shape = stamp.sprite.shape[rect.slices(stamp.left, stamp.top)]
        hidden = self._hidden(flaps, here, rect, threats)
        passed, seen = shape, shape > hidden  # a pixel of the object, and not hidden
        if threats.dim[here]:
            seen &= artefacts.clear_in(rect, looker.view, self.at, self.levels, self.veils) >= LEAST_CLEAR
            passed = shape & (artefacts.light[rect.slices()] >= LEAST_CLEAR)
        whole = int(shapes.pixels[here])
        if np.count_nonzero(seen) < max(LEAST_PIXELS, LEAST_SHOWN * whole):
            return Visibility.OUTSIDE, _NOWHERE
        silhouette = Silhouette(life.instance, self.at, rect, seen)
        if looker.keep is not None:
            looker.keep(silhouette)
        partly = np.count_nonzero(passed & hidden) >= PARTLY_HIDDEN * np.count_nonzero(passed)
        return Visibility.OCCLUDED if partly else Visibility.VISIBLE, silhouette.box

    def _hidden(self, flaps: Sequence[Stamp], here: int, rect: Rect, threats: _Threats) -> Flags:
        """Which pixels of the rectangle something solid covers that is painted after the object."""
        hidden = np.zeros(rect.shape, dtype=bool)
        layers: list[Stamp | Shaft] = [*flaps, *self.material]
        for other, meets in threats.objects:
            if meets[here]:
                layers += self.renderer.object_stamps(other, self.looker.poses[other.instance], self.at)
        for slot in range(SLOTS):
            if threats.tools[slot, here]:
                layers += self._instrument(slot)
        for layer in layers:
            layer.hide(hidden, rect)
        return hidden

    def _instrument(self, slot: int) -> list[Shaft | Stamp]:
        if slot not in self._instruments:
            layers = self.renderer.instrument_layers(self.looker.view, slot, self.at, self.levels)
            self._instruments[slot] = list(layers)
        return self._instruments[slot]


class _Threats(NamedTuple):
    """What might keep a pixel of one object from being seen, at each of the times of its span."""

    cut: Flags
    """It reaches beyond the image, or under tissue."""
    dim: Flags
    """Smoke, dirt, reflections, exposure or the optics may hide it."""
    tools: Flags
    """By hand: its tool may lie over it."""
    objects: Sequence[tuple[Life, Flags]]
    """Objects that may lie upon it."""

    @property
    def any(self) -> Flags:
        """Whether there is any."""
        flags: Flags = np.any([self.cut, self.dim, *self.tools, *(meets for _, meets in self.objects)], axis=0)
        return flags


class _Shapes(NamedTuple):
    """The own pixels of one object at each of the times of its span, in the image or beside it."""

    rects: NDArray[np.int64]
    """Rows left, top, right, bottom; right and bottom do not belong to it."""
    pixels: NDArray[np.int64]
    """How many there are."""
    in_picture: Flags
    """Whether it is painted, and its rectangle meets the image."""


def _unhindered(shapes: _Shapes) -> Sight:
    """An object of which all pixels are seen whenever it is in the image."""
    shown = shapes.in_picture & (shapes.pixels >= LEAST_PIXELS)
    corners = shapes.rects.astype(np.float64)
    boxes = np.column_stack([corners[:, :2], corners[:, 2:] - corners[:, :2]]) * shown[:, None]
    return Sight(boxes, np.where(shown, Visibility.VISIBLE, Visibility.OUTSIDE).astype(np.uint8))
