"""Painting small images from distances: every shape is a signed distance in pixels, negative inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from surgvalid.simulation.centers import Center

Field = NDArray[np.floating[Any]]
"""One number per pixel."""
Colour = tuple[float, float, float]
"""Red, green, blue from 0 to 1."""


SOLID = 0.4
"""A pixel that is at least so opaque belongs to the thing, and hides what lies behind it."""


_FOUR_TIMES = np.uint64(0x0001_0001_0001_0001)
"""Writes a number of two bytes four times side by side, which is quicker than to spread an array over a short axis."""


class Paint(NamedTuple):
    """A painted image."""

    rgb: Field
    """Height x width x 3, from 0 to 1."""
    alpha: Field
    """Height x width, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Sprite:
    """A painted image made ready to be laid over a frame."""

    premultiplied: NDArray[np.uint16]
    """Colour times opacity times 256, four channels."""
    transparency: NDArray[np.uint16]
    """256 where the frame shows through, 0 where it is covered; four equal channels are spread on use."""
    pivot: tuple[float, float]
    """The column and row that is laid on the wanted place."""
    shape: NDArray[np.bool_]
    """The pixels that belong to what is painted: at least `SOLID` opaque."""

    @property
    def bytes_held(self) -> int:
        """Memory it takes."""
        return self.premultiplied.nbytes + self.transparency.nbytes + self.shape.nbytes


class Stamp(NamedTuple):
    """A sprite on its place in an image."""

    sprite: Sprite
    left: int
    top: int

    def lay(self, frame: NDArray[np.uint8]) -> None:
        """Lay it over a frame of four channels, in place; edges are cut off."""
        common = self.rect.within(Rect(0, 0, frame.shape[1], frame.shape[0]))
        if common.empty:
            return
        inside = common.slices(self.left, self.top)
        patch = frame[common.slices()]
        through = self.sprite.transparency[inside].astype(np.uint64) * _FOUR_TIMES
        mixed = patch * through.view(np.uint16).reshape(patch.shape)
        mixed += self.sprite.premultiplied[inside]
        mixed >>= 8
        patch[...] = mixed

    @property
    def rect(self) -> Rect:
        """The rectangle it lies in."""
        height, width = self.sprite.shape.shape
        return Rect(self.left, self.top, self.left + width, self.top + height)

    def meets(self, rect: Rect) -> bool:
        """Whether it has a pixel in a rectangle; quickly said, because most have none."""
        left, top, right, bottom = rect
        if self.left >= right or self.top >= bottom:
            return False
        height, width = self.sprite.shape.shape
        meets: bool = left < min(self.left + width, right) and top < min(self.top + height, bottom)
        return meets

    def hide(self, hidden: NDArray[np.bool_], rect: Rect) -> None:
        """Mark what it hides of a rectangle, in place."""
        if self.meets(rect):
            common = self.rect.within(rect)
            hidden[common.slices(rect.left, rect.top)] |= self.sprite.shape[common.slices(self.left, self.top)]

    def dim(self, clear: NDArray[np.float32], rect: Rect) -> None:
        """Take away what it leaves of the light from a rectangle, in place."""
        if self.meets(rect):
            common = self.rect.within(rect)
            through = self.sprite.transparency[common.slices(self.left, self.top)]
            clear[common.slices(rect.left, rect.top)] *= through * np.float32(1 / 256)


class Rect(NamedTuple):
    """A rectangle of pixels; the right column and the bottom row do not belong to it."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def empty(self) -> bool:
        """Whether it holds no pixel."""
        return self.left >= self.right or self.top >= self.bottom

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.bottom - self.top, self.right - self.left

    def within(self, other: Rect) -> Rect:
        """What both have in common."""
        return Rect(
            max(self.left, other.left),
            max(self.top, other.top),
            min(self.right, other.right),
            min(self.bottom, other.bottom),
        )

    def slices(self, left: int = 0, top: int = 0) -> tuple[slice, slice]:
        """Rows and columns of an array whose first pixel lies at `left`, `top`."""
        return slice(self.top - top, self.bottom - top), slice(self.left - left, self.right - left)


class Canvas(NamedTuple):
    """The pixels around an object that is turned by some angle: coordinates along and across it."""

    x: Field
    y: Field
    pivot: tuple[float, float]


def turned_canvas(reach_x: float, reach_y: float, angle: float) -> Canvas:
    """Pixels that cover a rectangle of that half size in every turn, with coordinates along its sides."""
    cos, sin = np.cos(angle), np.sin(angle)
    half_width = int(np.ceil(abs(reach_x * cos) + abs(reach_y * sin))) + 2
    half_height = int(np.ceil(abs(reach_x * sin) + abs(reach_y * cos))) + 2
    rows = np.arange(-half_height, half_height + 1, dtype=np.float32)[:, None]
    columns = np.arange(-half_width, half_width + 1, dtype=np.float32)[None, :]
    along = (columns * cos + rows * sin).astype(np.float32)
    across = (rows * cos - columns * sin).astype(np.float32)
    return Canvas(along, across, (float(half_width), float(half_height)))


def cover(distance: Field) -> Field:
    """Opacity of a shape, with soft edges one pixel wide."""
    opacity: Field = np.clip(0.5 - distance, 0.0, 1.0)
    return opacity


def rounded(x: Field, y: Field, half_width: float, half_height: float, radius: float) -> Field:
    """Distance to a rectangle with round corners."""
    outside_x, outside_y = np.abs(x) - half_width + radius, np.abs(y) - half_height + radius
    corner = np.hypot(np.maximum(outside_x, 0), np.maximum(outside_y, 0))
    distance: Field = corner + np.minimum(np.maximum(outside_x, outside_y), 0) - radius
    return distance


def ellipse(x: Field, y: Field, half_width: float, half_height: float) -> Field:
    """Distance to an ellipse, exact at its edge."""
    scaled = np.hypot(x / half_width, y / half_height)
    slope = np.hypot(x / half_width**2, y / half_height**2)
    distance: Field = scaled * (scaled - 1) / np.maximum(slope, 1e-6)
    return distance


def segment(x: Field, y: Field, start: tuple[float, float], end: tuple[float, float], thickness: float) -> Field:
    """Distance to a thick line with round ends."""
    along = (end[0] - start[0], end[1] - start[1])
    length2 = max(along[0] ** 2 + along[1] ** 2, 1e-6)
    share = np.clip(((x - start[0]) * along[0] + (y - start[1]) * along[1]) / length2, 0, 1)
    distance: Field = np.hypot(x - start[0] - share * along[0], y - start[1] - share * along[1]) - thickness / 2
    return distance


def noise(shape: tuple[int, ...], seed: int, coarse_px: float) -> Field:
    """Smooth noise between about -1 and 1 whose lumps are `coarse_px` wide."""
    raw = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    soft = gaussian_filter(raw, coarse_px, mode="wrap")
    return np.asarray(np.clip(soft / max(float(soft.std()), 1e-6) / 2, -1, 1), dtype=np.float32)


def flat(shape: tuple[int, ...], colour: Colour) -> Field:
    """An image of one colour."""
    return np.broadcast_to(np.asarray(colour, dtype=np.float32), (*shape, 3)).copy()


def lay(under: Field, colour: Colour | Field, opacity: Field) -> None:
    """Lay a colour over an image, in place."""
    under += (np.asarray(colour, dtype=np.float32) - under) * opacity[..., None]


def graded(rgb: Field, center: Center) -> Field:
    """The colours as that centre's camera shows them."""
    grey = rgb.mean(axis=-1, keepdims=True)
    colour = rgb - grey
    if center.hue_deg:
        colour = colour @ _turned_hue(center.hue_deg).T
    shown = (grey + colour * center.saturation) * np.asarray(center.tint, dtype=np.float32) * center.gain
    return np.asarray(np.clip(shown, 0, 1), dtype=np.float32)


def _turned_hue(degrees: float) -> Field:
    """The matrix that turns colours about the axis of greys (Rodrigues' formula)."""
    angle, axis = np.deg2rad(degrees), np.sqrt(1 / 3)
    across = axis * np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    return np.asarray(np.eye(3) + np.sin(angle) * across + (1 - np.cos(angle)) * across @ across, dtype=np.float32)


def moulded(paint: Paint, *, depth_px: float) -> Paint:
    """The image as a soft, wet body that lies on something, lit from the upper left, with a contact shadow.

    The shadow is too thin to count as a part of the thing.
    """
    body = np.asarray(gaussian_filter(paint.alpha, depth_px), dtype=np.float32)
    fall = np.gradient(body)
    facing = np.clip(-(fall[0] + 0.7 * fall[1]) * -2.2 * depth_px, -0.6, 0.6)
    rgb = paint.rgb * (1 + 0.55 * facing)[..., None] + (0.35 * np.clip(facing - 0.3, 0, 1))[..., None]
    step = max(round(0.5 * depth_px), 1)
    shadow = _SHADOW * np.roll(body, (step, step), axis=(0, 1))
    alpha = paint.alpha + (1 - paint.alpha) * shadow
    share = paint.alpha / np.maximum(alpha, 1e-6)
    return Paint(np.asarray(np.clip(rgb, 0, 1) * share[..., None], dtype=np.float32), np.asarray(alpha, np.float32))


_SHADOW = 0.85 * SOLID


def soiled(paint: Paint, seed: int, coarse_px: float) -> Paint:
    """The image with some blood on it; which part, and how much, is the thing's own."""
    amount = (seed % 97) / 97
    stain = np.clip(noise(paint.alpha.shape, seed + 11, coarse_px) * 2.2 - 1.9 + 0.7 * amount, 0, 1)
    lay(paint.rgb, (0.45, 0.06, 0.05), np.asarray(0.7 * stain, dtype=np.float32))
    return paint


def accented(paint: Paint, colour: Colour) -> Paint:
    """The image with its blue parts in another colour, as bright as before."""
    blue = np.clip(3 * (paint.rgb[..., 2] - np.maximum(paint.rgb[..., 0], paint.rgb[..., 1]) - 0.15), 0, 1)
    bright = paint.rgb.max(axis=-1, keepdims=True)
    lay(paint.rgb, np.asarray(colour, dtype=np.float32) * bright, np.asarray(blue, dtype=np.float32))
    return paint


def sprite_of(paint: Paint, pivot: tuple[float, float], center: Center) -> Sprite:
    """The painted image, graded and made ready."""
    alpha = np.clip(paint.alpha, 0, 1)
    colours = np.zeros((*alpha.shape, 4), dtype=np.uint16)
    colours[..., :3] = graded(paint.rgb, center) * alpha[..., None] * 255 * 256
    through = np.round((1 - alpha) * 256).astype(np.uint16)
    return Sprite(colours, through, pivot, alpha >= SOLID)


def outline_of(alpha: Field, pivot: tuple[float, float]) -> Sprite:
    """A sprite without colours, which can hide things but not be laid."""
    return Sprite(_NO_COLOURS, _NO_COLOURS, pivot, alpha >= SOLID)


_NO_COLOURS = np.zeros((0, 0), dtype=np.uint16)


def stamped(sprite: Sprite, x_px: float, y_px: float) -> Stamp:
    """The sprite with its pivot on a place."""
    return Stamp(sprite, round(x_px - sprite.pivot[0]), round(y_px - sprite.pivot[1]))
