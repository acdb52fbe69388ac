"""Only sound images are passed on to a page, whatever lies in the folder."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.report.cases.sound_png import is_sound_png
from surgvalid.video.images import png_bytes

FRAME = png_bytes(np.arange(6 * 8 * 3, dtype=np.uint8).reshape(6, 8, 3))


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(width: int, height: int, raw: bytes, *, interlaced: int = 0) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, interlaced)
    return FRAME[:8] + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def test_a_plain_picture_is_sound() -> None:
    assert is_sound_png(FRAME)
    assert is_sound_png(png(2, 1, bytes(7)))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"GIF89a", FRAME[:-1], FRAME + b"x", FRAME[:40] + b"\0" + FRAME[41:],
        png(2, 1, bytes(6)), png(2, 1, bytes(8)), png(10_000, 1, bytes(30_001)), png(2, 1, b"\x09" + bytes(6)),
        png(4000, 4000, bytes(100_000)), png(2, 1, bytes(7), interlaced=1),
        FRAME[:8] + chunk(b"IEND", b""), FRAME[:33] + chunk(b"PLTE", b"abc") + FRAME[33:],
    ],
    ids=["empty", "gif", "cut", "longer", "flipped", "short", "long", "wide", "filter", "bomb", "interlaced", "none",
         "palette"],
)  # fmt: skip
def test_anything_else_is_left_out(data: bytes) -> None:
    assert not is_sound_png(data)


@given(st.integers(0, len(FRAME) - 1), st.integers(1, 255))
def test_one_changed_byte_is_noticed(place: int, change: int) -> None:
    broken = bytearray(FRAME)
    broken[place] ^= change
    assert not is_sound_png(bytes(broken))


@given(st.binary(max_size=300))
def test_no_bytes_whatever_raise_an_error(data: bytes) -> None:
    is_sound_png(FRAME[:8] + data)
