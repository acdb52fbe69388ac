"""How instruments are painted: a round shaft that runs out of the image, and a working end per tool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation.centers import Center
from surgvalid.simulation.paint import Colour, Field, Paint, Rect, cover, flat, graded, lay, segment

TIP_LENGTH = 3.4
"""Length of the working end in shaft thicknesses."""
_STEEL: Colour = (0.80, 0.82, 0.86)
_SHAFTS: Mapping[str, Colour] = {
    "grasper": (0.16, 0.16, 0.18),
    "hook": (0.14, 0.14, 0.16),
    "scissors": (0.16, 0.16, 0.18),
    "clip applier": (0.66, 0.68, 0.72),
    "needle driver": (0.60, 0.62, 0.66),
    "suction": (0.74, 0.76, 0.80),
    "stapler": (0.30, 0.32, 0.38),
}
_PROFILE = 48


def shaft_profile(tool: str, center: Center, brightness: float) -> NDArray[np.uint8]:
    """Colours across a shaft from one side to the other, as rows of red, green, blue, 0."""
    across = np.linspace(-1, 1, _PROFILE, dtype=np.float32)
    shade = 0.45 + 0.75 * np.clip(1 - (across + 0.25) ** 2, 0, 1)
    shine = 0.5 * np.exp(-(((across + 0.35) / 0.14) ** 2))
    tone = np.clip(np.asarray(_SHAFTS[tool], dtype=np.float32) * center.shafts, 0, 0.9)
    rgb = tone[None] * shade[:, None] + shine[:, None] * 0.55
    colours = np.zeros((_PROFILE, 4), dtype=np.uint8)
    colours[:, :3] = graded(np.clip(rgb * brightness, 0, 1), center) * 255
    return colours


class Shaft(NamedTuple):
    """A shaft from one point to another, in pixels."""

    profile: NDArray[np.uint8]
    """Its colours from one side to the other."""
    start: tuple[float, float]
    end: tuple[float, float]
    thickness: float

    def lay(self, frame: NDArray[np.uint8]) -> None:
        """Paint it into a frame of four channels, in place."""
        rect = self.rect.within(Rect(0, 0, frame.shape[1], frame.shape[0]))
        if rect.empty:
            return
        across, inside = self._across(rect)
        index = ((across[inside] / (self.thickness / 2) + 1) * (_PROFILE / 2)).astype(np.intp)
        packed = frame.view(np.uint32)[..., 0][rect.slices()]
        packed[inside] = self.profile.view(np.uint32)[:, 0][np.minimum(index, _PROFILE - 1)]

    def hide(self, hidden: NDArray[np.bool_], rect: Rect) -> None:
        """Mark what it hides of a rectangle, in place."""
        common = self.rect.within(rect)
        if not common.empty:
            hidden[common.slices(rect.left, rect.top)] |= self._across(common)[1]

    @property
    def rect(self) -> Rect:
        """The rectangle it lies in; empty when it has no length."""
        if hypot(self.end[0] - self.start[0], self.end[1] - self.start[1]) < 1:
            return Rect(0, 0, 0, 0)
        half = self.thickness / 2
        low = [min(self.start[axis], self.end[axis]) - half for axis in (0, 1)]
        high = [max(self.start[axis], self.end[axis]) + half + 1 for axis in (0, 1)]
        return Rect(max(int(low[0]), 0), max(int(low[1]), 0), int(high[0]), int(high[1]))

    def _across(self, rect: Rect) -> tuple[Field, NDArray[np.bool_]]:
        """For each pixel, its distance from the middle line, and whether it belongs to the shaft."""
        dx, dy = self.end[0] - self.start[0], self.end[1] - self.start[1]
        length = hypot(dx, dy)
        dx, dy = dx / length, dy / length
        columns = np.arange(rect.left, rect.right, dtype=np.float32)[None, :] - self.start[0]
        rows = np.arange(rect.top, rect.bottom, dtype=np.float32)[:, None] - self.start[1]
        across = rows * dx - columns * dy
        return across, (np.abs(across) < self.thickness / 2) & (columns * dx + rows * dy > 0)


def paint_tip(x: Field, y: Field, thickness: float, tool: str) -> Paint:
    """The working end of a tool: x runs from its very tip (0) towards the shaft."""
    shape, tone = _TIPS[tool](x, y, thickness)
    rgb = flat(x.shape, tone)
    rgb *= (0.75 + 0.35 * np.clip(1 - ((y + 0.15 * thickness) / (0.5 * thickness)) ** 2, 0, 1))[..., None]
    lay(rgb, (0.05, 0.05, 0.06), 0.8 * cover(np.abs(shape) - 0.7))
    return Paint(np.clip(rgb, 0, 1), cover(shape))


def tip_opacity(x: Field, y: Field, thickness: float, tool: str) -> Field:
    """The opacity of what `paint_tip` paints."""
    return cover(_TIPS[tool](x, y, thickness)[0])


def _jaws(x: Field, y: Field, t: float, *, opening: float, width: float, back: float) -> Field:
    """Two jaws that open towards the tip and meet at a joint."""
    joint = back * t
    upper = segment(x, y, (0.05 * t, -opening * t), (joint, -0.12 * t), width * t)
    lower = segment(x, y, (0.05 * t, opening * t), (joint, 0.12 * t), width * t)
    neck = segment(x, y, (joint, 0.0), (TIP_LENGTH * t, 0.0), 0.85 * t)
    return np.minimum(np.minimum(upper, lower), neck)


def _grasper(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    return _jaws(x, y, t, opening=0.42, width=0.26, back=1.9), _STEEL


def _scissors(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    return _jaws(x, y, t, opening=0.75, width=0.2, back=1.7), (0.90, 0.91, 0.94)


def _clip_applier(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    jaws = _jaws(x, y, t, opening=0.5, width=0.34, back=1.5)
    return jaws, (0.90, 0.76, 0.34)


def _needle_driver(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    return _jaws(x, y, t, opening=0.16, width=0.36, back=1.3), (0.84, 0.74, 0.46)


def _hook(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    rod = segment(x, y, (0.35 * t, 0.0), (1.6 * t, 0.0), 0.2 * t)
    bend = segment(x, y, (0.35 * t, 0.0), (0.3 * t, 0.62 * t), 0.2 * t)
    neck = segment(x, y, (1.7 * t, 0.0), (TIP_LENGTH * t, 0.0), 0.95 * t)
    return np.minimum(np.minimum(rod, bend), neck), (0.72, 0.72, 0.74)


def _suction(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    tube = segment(x, y, (0.35 * t, 0.0), (TIP_LENGTH * t, 0.0), 0.75 * t)
    holes = np.hypot((x - 0.3 * t) % (0.75 * t) - 0.37 * t, y) - 0.14 * t
    return np.where(x < 2.6 * t, np.maximum(tube, -holes), tube).astype(np.float32), (0.84, 0.86, 0.90)


def _stapler(x: Field, y: Field, t: float) -> tuple[Field, Colour]:
    upper = segment(x, y, (0.3 * t, -0.42 * t), (TIP_LENGTH * t, -0.3 * t), 0.42 * t)
    lower = segment(x, y, (0.3 * t, 0.42 * t), (TIP_LENGTH * t, 0.3 * t), 0.5 * t)
    return np.minimum(upper, lower), (0.45, 0.60, 0.86)


_TIPS: Mapping[str, Callable[[Field, Field, float], tuple[Field, Colour]]] = {
    "grasper": _grasper,
    "hook": _hook,
    "scissors": _scissors,
    "clip applier": _clip_applier,
    "needle driver": _needle_driver,
    "suction": _suction,
    "stapler": _stapler,
}
