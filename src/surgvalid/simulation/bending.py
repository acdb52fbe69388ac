"""How tissue and soft objects bend in the image: every pixel is fetched from where it was before the pull.

Images and outlines go the same way, pixel by pixel, so what is known of an object is what is painted of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import ceil, hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surgvalid.simulation.centers import Center
from surgvalid.simulation.instruments import Tugs, weight
from surgvalid.simulation.paint import Rect, Sprite, Stamp, graded

GRIP_STEPS = 4
"""Steps in which the bending of a gripped object is painted."""
_GATHERED, _LIFTED, _HANGING = 0.35, 0.22, 0.45
"""How much narrower a gripped object is; how far it is lifted at the jaws and hangs at its ends, in half lengths."""
_SHADE, _DENT, _PALER = 0.5, 0.4, 0.25
"""How much tissue darkens where it is pushed together, how much the lamp at the upper left shows of the hollow around
the tip, and how much less tissue pales where it is stretched."""

_LANES = np.uint32(0x00FF00FF)
"""Every other channel of a packed pixel."""

Places = NDArray[np.floating]
Packed = NDArray[np.uint32]


def bend_tissue(frame: NDArray[np.uint8], tugs: Tugs, at: int, scale: float, tones: tuple[int, int]) -> None:
    """Bend a frame of four channels at one time, in place.

    Args:
        frame: Nothing but tissue, and blood on it.
        tugs: What pulls.
        at: Which of their times.
        scale: The height of the frame in pixels.
        tones: `fold_tones` of its centre.
    """
    for slot, pull in enumerate(tugs.pulls[:, at] * scale):
        if hypot(*pull) < 0.5:
            continue
        x, y = np.rint(tugs.tips[slot, at] * scale).astype(int).tolist()
        bump = _bump(round(tugs.reach[at] * scale))
        size = bump.weight.shape[0] // 2
        disc = Rect(x - size, y - size, x + size + 1, y + size + 1)
        rect = disc.within(Rect(0, 0, frame.shape[1], frame.shape[0]))
        if rect.empty:
            continue
        inside = rect.slices(disc.left, disc.top)
        rows, columns = _sources(bump.weight[inside], rect, pull)
        np.clip(rows, 0, frame.shape[0] - 1, out=rows)
        np.clip(columns, 0, frame.shape[1] - 1, out=columns)
        packed = frame.view(np.uint32)[..., 0]
        bent = packed.take(rows * frame.shape[1] + columns)
        dent = _DENT * hypot(*pull)
        slope = bump.across[inside] * np.float32(_SHADE * pull[0] - 0.7 * dent)
        slope += bump.down[inside] * np.float32(_SHADE * pull[1] - dent)
        shades = [(256 * np.clip(share, 0, 0.5)).astype(np.uint32) for share in (-slope, _PALER * slope)]
        packed[rect.slices()] = _mixed(bent, shades, tones)


def _mixed(pixels: Packed, shares: Sequence[Packed], tones: Sequence[int]) -> Packed:
    """Packed pixels with so many 256ths of each tone in them; two channels are mixed at once."""
    left = 256 - sum(shares[1:], start=shares[0])
    mixed = []
    for shift in (0, 8):
        lanes = ((pixels >> np.uint32(shift)) & _LANES) * left
        for share, tone in zip(shares, tones, strict=True):
            lanes += share * (np.uint32(tone >> shift) & _LANES)
        mixed.append(((lanes >> np.uint32(8)) & _LANES) << np.uint32(shift))
    return mixed[0] | mixed[1]


def fold_tones(center: Center) -> tuple[int, int]:
    """The colours of tissue deep in a fold and of tissue that is stretched, as packed pixels."""
    rgb = graded(np.array([(0.27, 0.07, 0.06), (0.98, 0.78, 0.68)], dtype=np.float32), center) * 255
    dark, pale = (int(red) | int(green) << 8 | int(blue) << 16 for red, green, blue in rgb)
    return dark, pale


class _Bump(NamedTuple):
    weight: NDArray[np.float32]
    across: NDArray[np.float32]
    """How steep it is from left to right, and from above downwards."""
    down: NDArray[np.float32]


@lru_cache(maxsize=4)
def _bump(reach_px: int) -> _Bump:
    """A bump of that radius on its square of pixels."""
    steps = np.arange(-reach_px, reach_px + 1, dtype=np.float32) / max(reach_px, 1)
    x, y = steps[None, :], steps[:, None]
    bump = np.asarray(weight(x * x + y * y), dtype=np.float32)
    slope = np.asarray(-4 * np.sqrt(bump) / max(reach_px, 1), dtype=np.float32)
    return _Bump(bump, np.asarray(slope * x, np.float32), np.asarray(slope * y, np.float32))


def bent_stamp(stamp: Stamp, tugs: Tugs, at: int, scale: float) -> Stamp:
    """A soft object as the pulls of one time leave it."""
    pulls, tips, reach = tugs.pulls[:, at] * scale, tugs.tips[:, at] * scale, float(tugs.reach[at] * scale)
    margin = ceil(max(hypot(*pull) for pull in pulls))
    rect, active = _grown(stamp.rect, margin), [slot for slot, pull in enumerate(pulls) if pull.any()]
    low, high = np.floor(tips[active].min(axis=0) - reach), np.ceil(tips[active].max(axis=0) + reach)
    window = Rect(int(low[0]), int(low[1]), int(high[0]) + 1, int(high[1]) + 1).within(rect)
    if window.empty:
        return stamp
    columns = np.arange(window.left, window.right, dtype=np.float32)[None, :]
    rows = np.arange(window.top, window.bottom, dtype=np.float32)[:, None]
    across, down = np.zeros((2, *window.shape), dtype=np.float32)
    for (x, y), (right, below) in zip(tips[active], pulls[active], strict=True):
        near = weight(((columns - np.float32(x)) ** 2 + (rows - np.float32(y)) ** 2) / np.float32(reach**2))
        across += near * np.float32(right)
        down += near * np.float32(below)
    source = _grown(window, margin).within(rect)
    sprite = _with_margin(stamp.sprite, margin)
    piece = _fetched(_cut(sprite, source, rect), rows - source.top - down, columns - source.left - across)
    inside = window.slices(rect.left, rect.top)
    sprite.shape[inside] = piece.shape
    if sprite.transparency.size:
        sprite.transparency[inside], sprite.premultiplied[inside] = piece.transparency, piece.premultiplied
    return Stamp(sprite, rect.left, rect.top)


def _grown(rect: Rect, margin: int) -> Rect:
    return Rect(rect.left - margin, rect.top - margin, rect.right + margin, rect.bottom + margin)


def _with_margin(sprite: Sprite, margin: int) -> Sprite:
    """A copy with empty pixels around it."""
    frame = ((margin, margin), (margin, margin))
    shape, pivot = np.pad(sprite.shape, frame), (sprite.pivot[0] + margin, sprite.pivot[1] + margin)
    if not sprite.transparency.size:  # an outline, which has no colours
        return Sprite(sprite.premultiplied, sprite.transparency, pivot, shape)
    through = np.pad(sprite.transparency, frame, constant_values=256)
    return Sprite(np.pad(sprite.premultiplied, (*frame, (0, 0))), through, pivot, shape)


def _cut(sprite: Sprite, piece: Rect, whole: Rect) -> Sprite:
    """The piece of a sprite that fills a rectangle; its pivot is of no use."""
    inside = piece.slices(whole.left, whole.top)
    if not sprite.transparency.size:
        return Sprite(sprite.premultiplied, sprite.transparency, sprite.pivot, sprite.shape[inside])
    return Sprite(sprite.premultiplied[inside], sprite.transparency[inside], sprite.pivot, sprite.shape[inside])


def gripped(sprite: Sprite, step: int, half_px: float) -> Sprite:
    """A soft object in jaws that hold it by its middle: gathered, lifted there and hanging down beside them.

    Args:
        sprite: The object as it lies.
        step: How firm the grip is, from 0 to `GRIP_STEPS`.
        half_px: Half the length of the object.
    """
    firm = step / GRIP_STEPS
    margin = ceil(firm * _HANGING * half_px) + 1
    height, width = sprite.shape.shape
    across = np.arange(-margin, width + margin, dtype=np.float32)[None, :] - np.float32(sprite.pivot[0])
    down = np.arange(-margin, height + margin, dtype=np.float32)[:, None] - np.float32(sprite.pivot[1])
    aside = across / np.float32(half_px)
    fallen = firm * (_HANGING * np.minimum(aside * aside, 1) - _LIFTED * weight(4 * aside * aside)) * half_px
    columns, rows = np.broadcast_arrays(across * (1 + firm * _GATHERED), down - fallen)
    bent = _fetched(sprite, rows + np.float32(sprite.pivot[1]), columns + np.float32(sprite.pivot[0]))
    return replace(bent, pivot=(sprite.pivot[0] + margin, sprite.pivot[1] + margin))


def rolled(sprite: Sprite, angle: float) -> Sprite:
    """A sprite turned about its pivot, with all that is painted on it; positive angles turn it clockwise."""
    cos, sin, (x, y) = np.float32(np.cos(angle)), np.float32(np.sin(angle)), sprite.pivot
    height, width = sprite.shape.shape
    reach_x, reach_y = max(x, width - 1 - x), max(y, height - 1 - y)
    half_width = ceil(abs(reach_x * cos) + abs(reach_y * sin)) + 1
    half_height = ceil(abs(reach_x * sin) + abs(reach_y * cos)) + 1
    columns = np.arange(-half_width, half_width + 1, dtype=np.float32)[None, :]
    rows = np.arange(-half_height, half_height + 1, dtype=np.float32)[:, None]
    turned = _fetched(sprite, rows * cos - columns * sin + np.float32(y), columns * cos + rows * sin + np.float32(x))
    return replace(turned, pivot=(float(half_width), float(half_height)))


def _sources(bump: NDArray[np.float32], rect: Rect, pull: Places) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    rows = np.arange(rect.top, rect.bottom, dtype=np.float32)[:, None] - bump * np.float32(pull[1])
    columns = np.arange(rect.left, rect.right, dtype=np.float32)[None, :] - bump * np.float32(pull[0])
    return np.rint(rows).astype(np.intp), np.rint(columns).astype(np.intp)


def _fetched(sprite: Sprite, rows: Places, columns: Places) -> Sprite:
    """The sprite whose pixels come from those places of another; beside it there is nothing.

    Outlines are fetched pixel by pixel; colours are mixed of the four that are nearest.
    """
    height, width = sprite.shape.shape
    down, right = np.rint(rows).astype(np.intp), np.rint(columns).astype(np.intp)
    there = (down >= 0) & (down < height) & (right >= 0) & (right < width)
    shape = sprite.shape.reshape(-1)[np.where(there, down * width + right, 0)] & there
    if not sprite.transparency.size:  # an outline, which has no colours
        return Sprite(sprite.premultiplied, sprite.transparency, sprite.pivot, shape)
    opaque = np.concatenate([sprite.premultiplied, 256 - sprite.transparency[..., None]], axis=2).astype(np.float32)
    mixed = _between(np.pad(opaque, ((1, 2), (1, 2), (0, 0))), rows + 1, columns + 1)
    return Sprite(mixed[..., :4].astype(np.uint16), 256 - mixed[..., 4].astype(np.uint16), sprite.pivot, shape)


def _between(picture: NDArray[np.float32], rows: Places, columns: Places) -> NDArray[np.float32]:
    """The image at places between its pixels; its edges must be empty."""
    height, width, channels = picture.shape
    rows, columns = np.clip(rows, 0, height - 2), np.clip(columns, 0, width - 2)
    top, left = rows.astype(np.intp), columns.astype(np.intp)
    below, beside = (rows - top)[..., None], (columns - left)[..., None]
    flat, place = picture.reshape(-1, channels), top * width + left
    upper = flat[place] * (1 - beside) + flat[place + 1] * beside
    lower = flat[place + width] * (1 - beside) + flat[place + width + 1] * beside
    return np.asarray(upper * (1 - below) + lower * below, dtype=np.float32)
