"""Tiny videos whose every frame states, in black and white blocks, the millisecond at which it begins."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np

BITS = 24
BLOCK = 8
WIDTH, HEIGHT = BITS * BLOCK, 112


def stamped_picture(millisecond: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """A moving grey pattern with the time code across the middle."""
    rows, columns = np.mgrid[0:height, 0:width]
    pattern = (rows * 3 + columns * 2 + millisecond // 40) % 160 + 40
    picture = np.repeat(pattern[:, :, None], 3, axis=2).astype(np.uint8)
    for bit in range(BITS):
        left, right = bit * width // BITS, (bit + 1) * width // BITS
        picture[height // 2 : height // 2 + height // 4, left:right] = 255 if millisecond >> bit & 1 else 0
    return picture


def read_stamp(rgb: np.ndarray) -> int:
    """The millisecond stated in an image of any size."""
    height, width = rgb.shape[:2]
    band = rgb[int(height * 0.57) : int(height * 0.68)].mean(axis=(0, 2))
    middles = [int((bit + 0.5) * width / BITS) for bit in range(BITS)]
    return sum(1 << bit for bit, at in enumerate(middles) if band[max(at - 1, 0) : at + 2].mean() > 128)


def stamped_video(
    path: Path,
    milliseconds: Iterable[int],
    *,
    offset_ms: int = 0,
    codec: str = "libx264",
    tick: Fraction = Fraction(1, 1000),
    keyframe_frames: int = 12,
    b_frames: int = 2,
    size: tuple[int, int] = (WIDTH, HEIGHT),
    audio: bool = False,
    extra: dict[str, str] | None = None,
) -> Path:
    """A video with frames at exactly those milliseconds (plus an offset that the container carries)."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.codec_context.time_base = tick
        stream.codec_context.thread_count = 1
        options = {"g": str(keyframe_frames), "bf": str(b_frames)}
        if codec == "libx264":
            options |= {"preset": "veryfast", "crf": "20", "sc_threshold": "0", "keyint_min": str(keyframe_frames)}
        stream.options = options | (extra or {})
        sound = container.add_stream("aac", rate=8000) if audio else None
        for millisecond in milliseconds:
            frame = av.VideoFrame.from_ndarray(stamped_picture(millisecond, *size), format="rgb24")
            frame.pts = round(Fraction(millisecond + offset_ms, 1000) / tick)
            frame.time_base = tick
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if sound is not None:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            silence.rate, silence.pts = 8000, 0
            container.mux(sound.encode(silence))
            container.mux(sound.encode(None))
    return path


def jittered_milliseconds(count: int, seed: int = 3) -> list[int]:
    """Rising times from 0 with gaps between 15 and 400 ms, as a variable frame rate has."""
    gaps = np.random.default_rng(seed).choice([15, 33, 40, 41, 80, 120, 400], size=count - 1)
    return [0, *np.cumsum(gaps).tolist()]
