"""Whether an image may be passed on as it is, after it was found to be a sound PNG.

An image from outside is never decoded into anything here. It is walked through once, with bounds: signature, size,
checksums, and whether its data unpacks to exactly what its header promises. What fails is left out.
"""

from __future__ import annotations

import struct
import zlib

LARGEST_SIDE_PX = 4096
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 4: 2, 6: 4}
"""Samples per pixel by colour type; palettes are not needed for frames."""


def is_sound_png(data: bytes) -> bool:
    """Whether the bytes are a whole, plain PNG of 8 bits: grey or colour, not interlaced, of bounded size."""
    chunks = _chunks(data)
    if not chunks or chunks[0][0] != b"IHDR" or chunks[-1] != (b"IEND", b"") or len(chunks[0][1]) != 13:
        return False
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    if not (0 < width <= LARGEST_SIDE_PX and 0 < height <= LARGEST_SIDE_PX and depth == 8 and rest == [0, 0, 0]):
        return False
    if colour not in _CHANNELS or any(name[:1].isupper() and name not in _KNOWN for name, _ in chunks):
        return False
    return _unpacks(b"".join(body for name, body in chunks if name == b"IDAT"), width * _CHANNELS[colour] + 1, height)


_KNOWN = (b"IHDR", b"IDAT", b"IEND")


def _chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Names and bodies of all chunks; none where a length, checksum or the end is wrong."""
    chunks, at = [], len(_SIGNATURE)
    if not data.startswith(_SIGNATURE):
        return []
    while at + 12 <= len(data):
        (length,) = struct.unpack_from(">I", data, at)
        name, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        end = at + 12 + length
        if end > len(data) or struct.unpack_from(">I", data, end - 4)[0] != zlib.crc32(name + body):
            return []
        chunks.append((name, body))
        at = end
    return chunks if at == len(data) else []


def _unpacks(packed: bytes, row_bytes: int, rows: int) -> bool:
    """Whether the data gives exactly the promised rows, each with a filter that exists."""
    engine = zlib.decompressobj()
    try:
        raw = engine.decompress(packed, row_bytes * rows + 1)
    except zlib.error:
        return False
    return len(raw) == row_bytes * rows and engine.eof and max(raw[::row_bytes]) <= 4
