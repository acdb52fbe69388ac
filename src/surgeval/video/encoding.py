"""Writing H.264 files frame by frame, in the specification of the challenge's clips or any other.

The official clips (participants' reports agree): H.264, exactly 5 fps, at most 576 px high, a keyframe
every 5 s, no audio. B-frames are left out, so the n-th stored frame is the n-th shown one in every reader.

The same frames give the same file. For that x264 has one thread and no macroblock tree: with AVX-512 (x264 165) the
tree gave the last blocks of some frames another quality from run to run, in 24 of 186 short films, and in none of 192
without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surgeval.errors import Misuse
from surgeval.video._pyav import pyav

if TYPE_CHECKING:
    from av import VideoFrame


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
