"""Label maps from PNG files, read without any imaging library.

Grey and palette pictures of 1 to 16 bits give the stored numbers (palette: the places in the palette, never colours).
Colour pictures are label maps when their channels are equal, as in Endoscapes, or where a table says which number a
colour stands for; others are refused, because a colour is no class number. Interlaced files are refused.
Format: PNG specification, third edition, W3C 2025.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surgeval.errors import FileUnreadable

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
LEFT, ABOVE, AVERAGE = 1, 2, 3
_CODE = np.array([1 << 16, 1 << 8, 1])
LARGEST_PIXELS = 100_000_000
"""Larger pictures are refused before anything is unpacked."""


class _Header(NamedTuple):
    width: int
    height: int
    depth: int
    colour: int

    @property
    def channels(self) -> int:
        return _CHANNELS[self.colour]

    @property
    def row_bytes(self) -> int:
        return (self.width * self.channels * self.depth + 7) // 8


Colours = Mapping[tuple[int, int, int], int]
"""Red, green and blue of a class -> its number."""


def read_label_map(path: Path, colours: Colours | None = None) -> np.ndarray:
    """The numbers in a PNG file, `[row, column]`.

    Raises:
        FileUnreadable: No PNG file, damaged, interlaced, or in colours that no table explains.
    """
    try:
        return label_map(path.read_bytes(), colours)
    except (ValueError, OSError, zlib.error, struct.error) as error:
        raise FileUnreadable(str(path), [f"no label map in PNG form: {error}"]) from None


def label_map(data: bytes, colours: Colours | None = None) -> np.ndarray:
    """The numbers in the bytes of a PNG file.

    Raises:
        ValueError: What cannot be read, and why.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("the file does not begin as a PNG file does")
    header, packed = _parts(data)
    wanted = header.height * (1 + header.row_bytes)
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(packed, wanted)
    if len(raw) != wanted:
        raise ValueError(f"{len(raw)} bytes of pixels instead of {wanted}; the file is cut off")
    step = max(1, header.channels * header.depth // 8)
    return _one_channel(_samples(_unfiltered(raw, header, step), header), header, colours)


def _parts(data: bytes) -> tuple[_Header, bytes]:
    place, header, packed = len(_SIGNATURE), None, []
    while place + 8 <= len(data):
        size, kind = struct.unpack(">I4s", data[place : place + 8])
        body = data[place + 8 : place + 8 + size]
        if len(body) != size:
            raise ValueError("the file is cut off")
        if kind == b"IHDR":
            header = _header(body)
        elif kind == b"IDAT":
            packed.append(body)
        elif kind == b"IEND":
            break
        place += 12 + size
    if header is None:
        raise ValueError("the file has no header")
    return header, b"".join(packed)


def _header(body: bytes) -> _Header:
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
    if depth not in _DEPTHS.get(colour, ()):
        raise ValueError(f"colour type {colour} with {depth} bits is no PNG picture")
    if not 0 < width * height <= LARGEST_PIXELS:
        raise ValueError(f"{width} by {height} pixels")
    if interlaced:
        raise ValueError("the file is interlaced; store it without")
    return _Header(width, height, depth, colour)


def _unfiltered(raw: bytes, header: _Header, step: int) -> np.ndarray:
    """Rows of bytes with each row's prediction from its neighbours added back."""
    lines = np.frombuffer(raw, np.uint8).reshape(header.height, 1 + header.row_bytes)
    kinds, pixels = lines[:, 0], lines[:, 1:].copy()
    if strange := sorted({int(kind) for kind in np.unique(kinds)} - set(range(5))):
        raise ValueError(f"filter {strange[0]} does not exist")
    left = np.flatnonzero(kinds == LEFT)
    for channel in range(step):
        pixels[left, channel::step] = np.cumsum(pixels[left, channel::step], axis=1, dtype=np.uint8)
    for place in np.flatnonzero(kinds >= ABOVE).tolist():
        above = pixels[place - 1] if place else np.zeros(header.row_bytes, np.uint8)
        if kinds[place] == ABOVE:
            pixels[place] += above
        else:
            pixels[place] = _sequential(int(kinds[place]), pixels[place], above, step)
    return pixels


def _sequential(kind: int, line: np.ndarray, above: np.ndarray, step: int) -> np.ndarray:
    """The average and Paeth filters, whose bytes depend on the byte before.

    Where the byte before equals the one above it and nothing is stored, Paeth gives the byte above, and so does the
    average where the row above does not change. Label maps consist of such stretches, so only the rest is walked.
    """
    padded = np.concatenate((np.zeros(step, np.uint8), above))
    starts = line != 0
    if kind == AVERAGE:
        starts = starts | (padded[step:] != padded[:-step])
    over, stored = padded.tolist(), line.tolist()
    reached = 0
    for start in np.flatnonzero(starts).tolist():
        place = max(start, reached)
        if place > start:
            continue
        row = over[place : place + step]  # the bytes before, one per channel; those above until something differs
        quiet = 0
        while place < len(stored) and quiet < step:
            left, up, corner = row[0], over[place + step], over[place]
            guess = (left + up) // 2 if kind == AVERAGE else _paeth(left, up, corner)
            value = (stored[place] + guess) & 255
            row = [*row[1:], value]
            padded[place + step] = value
            quiet = quiet + 1 if value == up else 0
            place += 1
        reached = place
    return padded[step:]


def _paeth(left: int, up: int, corner: int) -> int:
    far_left, far_up, far_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    if far_left <= far_up and far_left <= far_corner:
        return left
    return up if far_up <= far_corner else corner


def _samples(rows: np.ndarray, header: _Header) -> np.ndarray:
    """Numbers `[row, column, channel]`."""
    numbers: np.ndarray = rows
    if header.depth == 16:
        numbers = rows.view(">u2").astype(np.uint16)
    elif header.depth < 8:
        bits = np.unpackbits(rows, axis=1).reshape(header.height, -1, header.depth)
        numbers = (bits @ (1 << np.arange(header.depth)[::-1])).astype(np.uint8)[:, : header.width]
    return numbers.reshape(header.height, header.width, header.channels)


def _one_channel(samples: np.ndarray, header: _Header, colours: Colours | None) -> np.ndarray:
    shown = samples[..., :3] if header.colour in (2, 6) else samples[..., :1]
    if colours and shown.shape[-1] == 3:
        return _by_table(shown, colours)
    if not (shown == shown[..., :1]).all():
        raise ValueError(
            "the picture has colours; store class numbers as grey values or a palette, or say what the colours stand "
            "for with --colours"
        )
    return np.ascontiguousarray(shown[..., 0])


def _by_table(pixels: np.ndarray, colours: Colours) -> np.ndarray:
    """The number of every pixel's colour."""
    codes = pixels.astype(np.int64) @ _CODE
    seen, places = np.unique(codes, return_inverse=True)
    known = {int(np.array(colour) @ _CODE): number for colour, number in colours.items()}
    if strange := [code for code in seen.tolist() if code not in known]:
        shown = ", ".join(str((code >> 16, code >> 8 & 255, code & 255)) for code in strange[:3])
        raise ValueError(f"{len(strange)} colours are not in the table (first: {shown})")
    numbers = np.array([known[code] for code in seen.tolist()], np.int32)
    return numbers[places.reshape(codes.shape)]
