"""Painting small pictures from distances: every shape is a signed distance in pixels, negative inside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from surgeval.simulation.centers import Center

Field = NDArray[np.floating[Any]]
"""One number per pixel."""
Colour = tuple[float, float, float]
"""Red, green, blue from 0 to 1."""


class Paint(NamedTuple):
    """A painted picture."""

    rgb: Field
    """Height x width x 3, from 0 to 1."""
    alpha: Field
    """Height x width, from 0 to 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Sprite:
    """A painted picture made ready to be laid over a frame."""

    premultiplied: NDArray[np.uint16]
    """Colour times opacity times 256, four channels."""
    transparency: NDArray[np.uint16]
    """256 where the frame shows through, 0 where it is covered; four equal channels are spread on use."""
    pivot: tuple[float, float]
    """The column and row that is laid on the wanted place."""

    @property
    def bytes_held(self) -> int:
        """Memory it takes."""
        return self.premultiplied.nbytes + self.transparency.nbytes


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
    """A picture of one colour."""
    return np.broadcast_to(np.asarray(colour, dtype=np.float32), (*shape, 3)).copy()


def lay(under: Field, colour: Colour | Field, opacity: Field) -> None:
    """Lay a colour over a picture, in place."""
    under += (np.asarray(colour, dtype=np.float32) - under) * opacity[..., None]


def graded(rgb: Field, center: Center) -> Field:
    """The colours as that centre's camera shows them."""
    grey = rgb.mean(axis=-1, keepdims=True)
    shown = (grey + (rgb - grey) * center.saturation) * np.asarray(center.tint, dtype=np.float32) * center.gain
    return np.asarray(np.clip(shown, 0, 1), dtype=np.float32)


def sprite_of(paint: Paint, pivot: tuple[float, float], center: Center) -> Sprite:
    """The painted picture, graded and made ready."""
    alpha = np.clip(paint.alpha, 0, 1)
    colours = np.zeros((*alpha.shape, 4), dtype=np.uint16)
    colours[..., :3] = graded(paint.rgb, center) * alpha[..., None] * 255 * 256
    through = np.round((1 - alpha) * 256).astype(np.uint16)
    return Sprite(colours, through, pivot)


def lay_sprite(frame: NDArray[np.uint8], sprite: Sprite, x_px: float, y_px: float) -> None:
    """Lay a sprite over a frame of four channels with its pivot on a place, in place; edges are cut off."""
    left, top = round(x_px - sprite.pivot[0]), round(y_px - sprite.pivot[1])
    height, width = sprite.transparency.shape
    x0, y0, x1, y1 = max(left, 0), max(top, 0), min(left + width, frame.shape[1]), min(top + height, frame.shape[0])
    if x0 >= x1 or y0 >= y1:
        return
    window = (slice(y0 - top, y1 - top), slice(x0 - left, x1 - left))
    patch = frame[y0:y1, x0:x1]
    mixed = patch * sprite.transparency[window][..., None]
    mixed += sprite.premultiplied[window]
    mixed >>= 8
    patch[...] = mixed
