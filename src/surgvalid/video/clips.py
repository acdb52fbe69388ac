"""Clips as the challenge's containers receive them, cut from source videos frame by frame and written as H.264.

Frame n of a clip is the frame on screen at `start_s + n / 5` of the source, from the start of the window to
its end, both shown; a window of length zero is one frame. The clock shows the floored second of the
source, in a small bitmap font of our own. Nothing is held in memory but the frame at hand.

The official clips (participants' reports agree): H.264, exactly 5 fps, at most 576 px high, a keyframe
every 5 s, no audio. B-frames are left out, so the n-th stored frame is the n-th shown one in every reader.

The same frames give the same file. For that x264 has one thread and no macroblock tree: with AVX-512 (x264 165) the
tree gave the last blocks of some frames another quality from run to run, in 24 of 186 short video files, and in none of
192 without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import floor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import Misuse
from surgvalid.video._pyav import VideoSource, converted, name_of, pyav
from surgvalid.video.probe import probe
from surgvalid.video.sampling import sample

if TYPE_CHECKING:
    from av import VideoFrame

GLYPHS = {
    "0": "01110 10001 10011 10101 11001 10001 01110", "1": "00100 01100 00100 00100 00100 00100 01110",
    "2": "01110 10001 00001 00110 01000 10000 11111", "3": "01110 10001 00001 00110 00001 10001 01110",
    "4": "00010 00110 01010 10010 11111 00010 00010", "5": "11111 10000 11110 00001 00001 10001 01110",
    "6": "01110 10000 10000 11110 10001 10001 01110", "7": "11111 00001 00010 00100 00100 01000 01000",
    "8": "01110 10001 10001 01110 10001 10001 01110", "9": "01110 10001 10001 01111 00001 00001 01110",
    "A": "01110 10001 10001 11111 10001 10001 10001", "B": "11110 10001 10001 11110 10001 10001 11110",
    "C": "01111 10000 10000 10000 10000 10000 01111", "D": "11110 10001 10001 10001 10001 10001 11110",
    "E": "11111 10000 10000 11110 10000 10000 11111", "F": "11111 10000 10000 11110 10000 10000 10000",
    "G": "01111 10000 10000 10011 10001 10001 01111", "H": "10001 10001 10001 11111 10001 10001 10001",
    "I": "01110 00100 00100 00100 00100 00100 01110", "J": "00111 00010 00010 00010 00010 10010 01100",
    "K": "10001 10010 10100 11000 10100 10010 10001", "L": "10000 10000 10000 10000 10000 10000 11111",
    "M": "10001 11011 10101 10101 10001 10001 10001", "N": "10001 11001 10101 10011 10001 10001 10001",
    "O": "01110 10001 10001 10001 10001 10001 01110", "P": "11110 10001 10001 11110 10000 10000 10000",
    "Q": "01110 10001 10001 10001 10101 10010 01101", "R": "11110 10001 10001 11110 10100 10010 10001",
    "S": "01111 10000 10000 01110 00001 00001 11110", "T": "11111 00100 00100 00100 00100 00100 00100",
    "U": "10001 10001 10001 10001 10001 10001 01110", "V": "10001 10001 10001 10001 01010 01010 00100",
    "W": "10001 10001 10001 10101 10101 11011 10001", "X": "10001 01010 00100 00100 00100 01010 10001",
    "Y": "10001 01010 00100 00100 00100 00100 00100", "Z": "11111 00001 00010 00100 01000 10000 11111",
    ":": "00000 00100 00100 00000 00100 00100 00000", "-": "00000 00000 00000 01110 00000 00000 00000",
    ".": "00000 00000 00000 00000 00000 00110 00110", "'": "00100 00100 00000 00000 00000 00000 00000",
    " ": "00000 00000 00000 00000 00000 00000 00000",
}  # fmt: skip


@lru_cache(maxsize=256)
def letter_mask(text: str, scale: int = 1) -> NDArray[np.bool_]:
    """Where the text is written within its box: glyphs one dot apart, with one dot around.

    Letters become capitals; signs that the font lacks become spaces.
    """
    dots = np.zeros((9, 6 * len(text) + 1), dtype=bool)
    for place, letter in enumerate(text.upper()):
        rows = [[dot == "1" for dot in row] for row in GLYPHS.get(letter, GLYPHS[" "]).split()]
        dots[1:8, 6 * place + 1 : 6 * place + 6] = rows
    return np.kron(dots, np.ones((scale, scale), dtype=bool))


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
    """Draw the clock into the top left corner of an image in 4:2:0, in place.

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


@dataclass(frozen=True, slots=True)
class ClipSpec:
    """How a clip is encoded."""

    fps: int = 5
    max_height_px: int = 576
    keyframe_s: int = 5
    crf: int = 23
    """Constant quality of x264: 18 is hardly distinguishable, 28 is small."""
    preset: str = "veryfast"
    threads: int = 1
    """Encoder threads. The same frames give the same file only for a fixed number."""

    def size_for(self, width_px: int, height_px: int, pixel_aspect: Fraction = Fraction(1)) -> tuple[int, int]:
        """Width and height of the clip: square pixels, even, never enlarged.

        Example:
            >>> ClipSpec().size_for(1920, 1080), ClipSpec().size_for(480, 270)
            ((1024, 576), (480, 270))
        """
        shrink = min(Fraction(1), Fraction(self.max_height_px, height_px))
        return _even(width_px * pixel_aspect * shrink), _even(height_px * shrink)


OFFICIAL_CLIP = ClipSpec()
"""The clips of the challenge."""


class ClipWriter:
    """Takes frames of one size and writes them at a constant rate."""

    def __init__(self, container: Any, stream: Any, spec: ClipSpec) -> None:
        self._container, self._stream, self._tick = container, stream, Fraction(1, spec.fps)
        self.frames = 0

    def write(self, frame: VideoFrame) -> None:
        """Add a frame; its own timestamp is replaced by its position."""
        frame.pts, frame.time_base = self.frames, self._tick
        frame.pict_type = 0  # let the encoder decide, whatever the source frame was
        for packet in self._stream.encode(frame):
            self._container.mux(packet)
        self.frames += 1

    def finish(self) -> None:
        """Write what the encoder still holds."""
        for packet in self._stream.encode(None):
            self._container.mux(packet)


@contextmanager
def clip_writer(
    path: str | Path, width_px: int, height_px: int, spec: ClipSpec = OFFICIAL_CLIP
) -> Iterator[ClipWriter]:
    """A writer for an MP4 file. The file appears under its name only once it is complete.

    Raises:
        Misuse: A size that H.264 in 4:2:0 cannot hold.
    """
    if width_px < 16 or height_px < 16 or width_px % 2 or height_px % 2:
        raise Misuse(f"a clip must be at least 16 x 16 and even in width and height, got {width_px} x {height_px}")
    path = Path(path)
    draft = path.with_name(f".{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    container = pyav().open(str(draft), mode="w", format="mp4")
    try:
        stream = container.add_stream("libx264", rate=spec.fps)
        stream.width, stream.height, stream.pix_fmt = width_px, height_px, "yuv420p"
        stream.codec_context.thread_count = spec.threads
        stream.codec_context.time_base = Fraction(1, spec.fps)
        stream.options = _options(spec)
        writer = ClipWriter(container, stream, spec)
        yield writer
        writer.finish()
        container.close()
        draft.replace(path)
    finally:
        container.close()
        draft.unlink(missing_ok=True)


def _options(spec: ClipSpec) -> dict[str, str]:
    every = str(spec.fps * spec.keyframe_s)
    fixed = {"g": every, "keyint_min": every, "sc_threshold": "0", "bf": "0", "mbtree": "0"}
    return {"preset": spec.preset, "crf": str(spec.crf), **fixed}


def _even(length: Fraction | int) -> int:
    return max(2, 2 * round(Fraction(length) / 2))


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
    """Views of the brightness plane and the two colour planes of a 4:2:0 image."""
    flat, luma, chroma = pixels.reshape(-1), width * height, width * height // 4
    shape = (height // 2, width // 2)
    first, second = flat[luma : luma + chroma].reshape(shape), flat[luma + chroma : luma + 2 * chroma].reshape(shape)
    return flat[:luma].reshape(height, width), (first, second)
