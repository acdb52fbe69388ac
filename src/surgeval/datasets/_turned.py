"""Boxes that are turned about their top left corner, as Label Studio has them."""

from __future__ import annotations

import math

from surgeval.datasets._draft import Rectangle


def turned(box: Rectangle, degrees: float) -> Rectangle:
    """The upright box around one that is turned clockwise about its top left corner.

    Example:
        >>> [round(side, 6) for side in turned((10.0, 10.0, 4.0, 2.0), 90)]
        [8.0, 10.0, 2.0, 4.0]
    """
    x, y, width, height = box
    if degrees % 360 == 0 or width <= 0 or height <= 0:
        return box  # a turned box would hide that its size is negative
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    xs = [0.0, width * cosine, -height * sine, width * cosine - height * sine]
    ys = [0.0, width * sine, height * cosine, width * sine + height * cosine]
    return x + min(xs), y + min(ys), max(xs) - min(xs), max(ys) - min(ys)
