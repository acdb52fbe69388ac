"""Names of stored frames, which are their times.

A frame extractor that numbers its files by a running count, read by a loader that asks for frame numbers,
shows second 500 where second 20 was meant as soon as the stride is not 1. Here the file name *is* the
source time in milliseconds, whatever the stride.
"""

from __future__ import annotations

from typing import Literal

from surgvalid.errors import Misuse

ImageKind = Literal["png", "jpg"]


def frame_name(time_s: float, kind: ImageKind = "png") -> str:
    """The file name of the frame at a time.

    Raises:
        Misuse: The time has no whole milliseconds, or is negative.

    Example:
        >>> frame_name(20), frame_name(3600.2, "jpg")
        ('t000020000ms.png', 't003600200ms.jpg')
    """
    return f"t{_milliseconds(time_s):09d}ms.{kind}"


def _milliseconds(time_s: float) -> int:
    if not 0 <= time_s < 1e9 or abs(time_s * 1000 - round(time_s * 1000)) > 1e-3:
        raise Misuse(f"frames are stored by whole milliseconds from 0 on, got {time_s!r} s")
    return round(time_s * 1000)
