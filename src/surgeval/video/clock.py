"""The burned-in clock: hh:mm:ss of the source second, in the small bitmap font."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surgeval.video.lettering import letter_mask

_CLOCK_SIGNS = "0123456789:"
_WHITE, _BLACK = 235, 16
"""Luma of white and black in video range."""


def clock_text(time_s: float) -> str:
    """The floored second as hh:mm:ss.

    Example:
        >>> clock_text(3725.9)
        '01:02:05'
    """
    second = int(np.floor(time_s + 1e-6))
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def burn_clock(luma: NDArray[np.uint8], chroma: tuple[NDArray[np.uint8], ...], time_s: float) -> None:
    """Draw the clock into the top left corner of a picture in 4:2:0, in place.

    Args:
        luma: The brightness plane.
        chroma: The two colour planes at half the size.
        time_s: A time of the source video.
    """
    scale = max(1, luma.shape[0] // 135)
    mask = letter_mask(clock_text(time_s), scale)[: luma.shape[0] - scale, : luma.shape[1] - scale]
    top, left = scale, scale
    rows, columns = slice(top, top + mask.shape[0]), slice(left, left + mask.shape[1])
    luma[rows, columns] = np.where(mask, _WHITE, _BLACK)
    for plane in chroma:
        plane[top // 2 : (rows.stop + 1) // 2, left // 2 : (columns.stop + 1) // 2] = 128


def read_clock(luma: NDArray[np.uint8]) -> str | None:
    """The text of the clock in a picture's brightness plane, or None when none can be read.

    Every dot is the mean of its pixels, so the reading survives strong compression.
    """
    scale = max(1, luma.shape[0] // 135)
    height, width = 9 * scale, (6 * 8 + 1) * scale
    box = luma[scale : scale + height, scale : scale + width].astype(float)
    if box.shape != (height, width):
        return None
    dots = box.reshape(9, scale, 49, scale).mean(axis=(1, 3)) > (_WHITE + _BLACK) / 2
    letters = {letter_mask(letter)[1:8, 1:6].tobytes(): letter for letter in _CLOCK_SIGNS}
    shown = [letters.get(dots[1:8, 6 * place + 1 : 6 * place + 6].tobytes()) for place in range(8)]
    return "".join(letter for letter in shown if letter) if all(shown) else None
