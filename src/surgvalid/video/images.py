"""Still images: a small PNG writer that needs nothing, and JPEG through PyAV."""

from __future__ import annotations

import struct
import zlib
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from surgvalid.errors import Misuse
from surgvalid.video._pyav import converted, pyav

if TYPE_CHECKING:
    from av import VideoFrame

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png_bytes(rgb: NDArray[np.uint8], *, level: int = 6) -> bytes:
    """The image (height x width x 3) as a PNG file.

    Each row is stored as the difference from its left neighbour, which compresses images well.

    Raises:
        Misuse: Not an array of bytes with three channels.
    """
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or not rgb.size:
        raise Misuse(f"an image needs shape (height, width, 3) of bytes, got {rgb.shape} of {rgb.dtype}")
    height, width, _ = rgb.shape
    rows = np.empty((height, 1 + 3 * width), dtype=np.uint8)
    rows[:, 0] = 1
    rows[:, 1:4] = rgb[:, 0]
    rows[:, 4:] = (rgb[:, 1:] - rgb[:, :-1]).reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), level)), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def outline_png(labels: NDArray[Any], colour: tuple[int, int, int], *, thickness_px: int = 2) -> bytes:
    """The edges of all labels but 0 in one colour, as a PNG file that is transparent elsewhere.

    Raises:
        Misuse: Not an array of two dimensions.
    """
    if labels.ndim != 2 or not labels.size:
        raise Misuse(f"a label map needs shape (height, width), got {labels.shape}")
    edge = np.zeros(labels.shape, dtype=bool)
    for axis in (0, 1):
        for step in range(1, thickness_px + 1):
            for sign in (-step, step):
                edge |= labels != np.roll(labels, sign, axis)
    edge[0], edge[-1], edge[:, 0], edge[:, -1] = True, True, True, True
    rows = np.zeros((labels.shape[0], 1 + labels.shape[1]), dtype=np.uint8)
    rows[:, 1:] = edge & (labels != 0)
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", labels.shape[1], labels.shape[0], 8, 3, 0, 0, 0)),
        (b"PLTE", bytes(3) + bytes(colour)),
        (b"tRNS", b"\x00\xff"),
        (b"IDAT", zlib.compress(rows.tobytes(), 6)),
        (b"IEND", b""),
    )
    return _SIGNATURE + b"".join(_chunk(kind, data) for kind, data in parts)


def write_png(rgb: NDArray[np.uint8], path: str | Path) -> None:
    """Write the image as a PNG file."""
    Path(path).write_bytes(png_bytes(rgb))


def jpeg_bytes(frame: VideoFrame, *, width_px: int, height_px: int, quality: int = 2) -> bytes:
    """The frame as a JPEG file; `quality` 1 is best, 31 worst."""
    av = pyav()
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width_px, height_px, "yuvj420p"
    encoder.time_base = Fraction(1)
    encoder.options = {"qmin": str(quality), "qmax": str(quality)}
    picture = converted(frame, "yuvj420p", width_px=width_px, height_px=height_px)
    return b"".join(bytes(packet) for packet in [*encoder.encode(picture), *encoder.encode(None)])


def image_size(path: Path) -> tuple[int, int] | None:
    """Width and height of a PNG or JPEG file, from its header; None for another file.

    Example:
        >>> image_size(Path("/no/such/file")) is None
        True
    """
    try:
        with open(path, "rb") as handle:
            head = handle.read(26)
            if head[:8] == b"\x89PNG\r\n\x1a\n":
                return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
            return _jpeg_size(head + handle.read(1 << 20)) if head[:2] == b"\xff\xd8" else None
    except OSError:
        return None


_SIZES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if marker in _SIZES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        at += 2 + length
    return None


def jpeg_of(rgb: NDArray[np.uint8], *, quality: int = 2) -> bytes:
    """The image (height x width x 3) as a JPEG file."""
    height, width, _ = rgb.shape
    frame = pyav().VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24")
    return jpeg_bytes(frame, width_px=width, height_px=height, quality=quality)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
