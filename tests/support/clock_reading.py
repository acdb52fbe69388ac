"""The clock of a clip, read back from its pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surgvalid.video.clips import _BLACK, _WHITE, letter_mask

_CLOCK_SIGNS = "0123456789:"


def read_clock(luma: NDArray[np.uint8]) -> str | None:
    """The text of the clock in an image's brightness plane, or None when none can be read.

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
