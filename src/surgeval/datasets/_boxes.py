"""Tables of boxes: the columns that every data set with boxes has, and what may stand in them."""

from __future__ import annotations

import polars as pl

SIZE: dict[str, type[pl.DataType]] = dict.fromkeys(("image_width_px", "image_height_px"), pl.Int64)
"""Size of the image, null where the files do not say it."""
BOX: dict[str, type[pl.DataType]] = dict.fromkeys(("x_px", "y_px", "width_px", "height_px"), pl.Float64)
"""Left, top, width and height; null in the row of an image without boxes."""
_LARGEST_PX = 1e6


def pixels(value: object) -> int | None:
    """The number of pixels of a side of an image, or None where it is none.

    Example:
        >>> pixels(854), pixels(0), pixels("854")
        (854, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST_PX else None


def box_problem(numbers: object) -> str:
    """What is wrong with a box of left, top, width and height; nothing where it can be used.

    Example:
        >>> box_problem([1, 2, 3, 0])
        'box without area: [1, 2, 3, 0]'
    """
    if not isinstance(numbers, list) or len(numbers) != 4:
        return f"bbox is not four numbers: {str(numbers)[:40]}"
    if not all(isinstance(n, int | float) and abs(n) < _LARGEST_PX for n in numbers):
        return f"bbox is not four numbers: {str(numbers)[:40]}"
    return "" if min(numbers[2:]) > 0 else f"box without area: {numbers}"
