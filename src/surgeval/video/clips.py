"""Clips as the challenge's containers receive them, cut from source videos frame by frame.

Frame n of a clip is the frame on screen at `start_s + n / 5` of the source, from the start of the window to
its end, both shown; a window of length zero is one frame. The clock shows the floored second of the
source. Nothing is held in memory but the frame at hand.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from surgeval.errors import Misuse
from surgeval.video._pyav import VideoSource, converted, name_of
from surgeval.video.clock import burn_clock
from surgeval.video.encoding import OFFICIAL_CLIP, ClipSpec, ClipWriter, clip_writer
from surgeval.video.probe import probe
from surgeval.video.sampling import sample

if TYPE_CHECKING:
    from av import VideoFrame


@dataclass(frozen=True, slots=True)
class ClipFacts:
    """What was written."""

    frames: int
    width_px: int
    height_px: int


def clip_times_s(start_s: float, end_s: float, fps: int = OFFICIAL_CLIP.fps) -> NDArray[np.float64]:
    """The source times that a clip shows.

    Raises:
        Misuse: A window that starts before the video or ends before it starts.

    Example:
        >>> clip_times_s(10, 11).tolist()
        [10.0, 10.2, 10.4, 10.6, 10.8, 11.0]
    """
    if not 0 <= start_s <= end_s or not np.isfinite(end_s):
        raise Misuse(f"a window must start at or after 0 and end at or after its start, got {start_s:g} to {end_s:g} s")
    count = floor((Fraction(end_s) - Fraction(start_s)) * fps + Fraction(1, 10**6)) + 1
    return np.minimum(start_s + np.arange(count) / fps, end_s)


def build_clip(
    source: VideoSource,
    *,
    start_s: float,
    end_s: float,
    plain: str | Path | None = None,
    overlayed: str | Path | None = None,
    spec: ClipSpec = OFFICIAL_CLIP,
) -> ClipFacts:
    """Write the window of a source video as a clip, without a clock, with one, or both in one pass.

    Args:
        source: The full video.
        start_s: First second of the window; it becomes frame 0.
        end_s: Last second of the window; it is shown too.
        plain: Where the clip without the clock goes.
        overlayed: Where the clip with the clock goes.
        spec: The encoding; the official one by default.

    Raises:
        FileUnreadable: The source cannot be read where it is needed.
        Misuse: Nothing to write, or a window outside the video.
    """
    if plain is None and overlayed is None:
        raise Misuse(f"{name_of(source)}: name a file for the plain clip, the overlayed clip or both")
    times = clip_times_s(start_s, end_s, spec.fps)
    facts = probe(source)
    width, height = spec.size_for(facts.width_px, facts.height_px, facts.pixel_aspect)
    with ExitStack() as files:
        writers: list[tuple[ClipWriter, bool]] = [
            (files.enter_context(clip_writer(path, width, height, spec)), clock)
            for path, clock in ((plain, False), (overlayed, True))
            if path is not None
        ]
        for shot in sample(source, times):
            for writer, clock in writers:
                writer.write(_picture(shot.frame, width, height, shot.time_s if clock else None))
    return ClipFacts(len(times), width, height)


def _picture(frame: VideoFrame, width: int, height: int, clock_s: float | None) -> VideoFrame:
    """A frame of the clip's size that nobody else holds, with the clock where one is wanted."""
    scaled = converted(frame, "yuv420p", width_px=width, height_px=height)
    pixels = cast(NDArray[np.uint8], scaled.to_ndarray())
    if clock_s is not None:
        burn_clock(*planes_of(pixels, width, height), clock_s)
    return type(frame).from_ndarray(pixels, format="yuv420p")


def planes_of(
    pixels: NDArray[np.uint8], width: int, height: int
) -> tuple[NDArray[np.uint8], tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
    """Views of the brightness plane and the two colour planes of a 4:2:0 picture."""
    flat, luma, chroma = pixels.reshape(-1), width * height, width * height // 4
    shape = (height // 2, width // 2)
    first, second = flat[luma : luma + chroma].reshape(shape), flat[luma + chroma : luma + 2 * chroma].reshape(shape)
    return flat[:luma].reshape(height, width), (first, second)
