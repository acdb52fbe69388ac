"""Label maps from PNG files, read without any imaging library.

Grey and palette pictures of 1 to 16 bits give the stored numbers (palette: the places in the palette, never colours).
Colour pictures are label maps when their channels are equal, as in Endoscapes, or where a table says which number a
colour stands for; others are refused, because a colour is no class number. Interlaced files are refused.

Filters treat every channel alike, so channels are equal exactly where their filtered bytes are: equal channels are
found out before any filter is undone, and one of them is read on. Transparency is never unfiltered. Each chunk's own
checksum says whether it is whole, and the second one, over all unpacked bytes, is not computed.
Format: PNG specification, third edition, W3C 2025.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from surgeval.errors import FileUnreadable

inflating: ModuleType = zlib
"""The library that unpacks."""
with suppress(ImportError):
    from zlib_ng import zlib_ng as inflating  # extra `fast`: the long runs of label maps in a small part of the time

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER_BYTES = 13
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
LEFT, ABOVE, AVERAGE, PAETH = 1, 2, 3, 4
_BITS, _COLOUR_CHANNELS = 16, 3
_MOST_PACKED, _ONE_PIECE = 1032, 1 << 26
"""How many bytes one can stand for, and how many may be unpacked unasked."""
WORTH_COMPILING = 20_000
"""Bytes to be walked one by one from which loading compiled loops pays within a few pictures."""
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
    def in_colours(self) -> bool:
        return self.channels >= _COLOUR_CHANNELS

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
    except (ValueError, OSError) as error:
        raise FileUnreadable(str(path), [f"no label map in PNG form: {error}"]) from None


def label_map(data: bytes, colours: Colours | None = None) -> np.ndarray:
    """The numbers in the bytes of a PNG file.

    Raises:
        ValueError: What cannot be read, and why.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("the file does not begin as a PNG file does")
    header, packed = _parts(data)
    lines = _unpacked(packed, header)
    kinds = lines[:, 0]
    if (strange := kinds[kinds > PAETH]).size:
        raise ValueError(f"filter {strange.min()} does not exist")
    kept = _COLOUR_CHANNELS if colours and header.in_colours else 1
    pixels = _kept(lines[:, 1:], header, kept)
    _unfilter(kinds, pixels, max(1, kept * header.depth // 8))
    numbers = _numbers(pixels, header).reshape(header.height, header.width, kept)
    return _by_table(numbers, colours) if colours and header.in_colours else numbers[..., 0]


def _parts(data: bytes) -> tuple[_Header, bytes]:
    place, header, packed = len(_SIGNATURE), None, []
    while place + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, place)
        body, check = data[place + 8 : place + 8 + size], data[place + 8 + size : place + 12 + size]
        if len(body) != size:
            raise ValueError("the file is cut off")
        if kind in (b"IHDR", b"IDAT") and zlib.crc32(body, zlib.crc32(kind)) != int.from_bytes(check, "big"):
            raise ValueError(f"the checksum of a part ({kind.decode()}) is wrong; the file is damaged")
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


def _unpacked(packed: bytes, header: _Header) -> np.ndarray:
    """The bytes of every row, the kind of its filter first."""
    wanted = header.height * (1 + header.row_bytes)
    if len(packed) < 2 or packed[0] & 15 != zlib.DEFLATED or int.from_bytes(packed[:2], "big") % 31 or packed[1] & 32:
        raise ValueError("the pixels are not packed as PNG files are")
    raw = _inflated(memoryview(packed)[2:], wanted)
    if len(raw) != wanted:
        raise ValueError(f"{len(raw)} bytes of pixels instead of {wanted}; the file is cut off")
    return np.frombuffer(raw, np.uint8).reshape(header.height, 1 + header.row_bytes)


def _inflated(packed: memoryview, wanted: int) -> bytes:
    """At most the wanted bytes, in one piece of memory where they cannot be many times more."""
    if len(packed) * _MOST_PACKED <= _ONE_PIECE:
        with suppress(inflating.error):  # a stream without its end may hold all pixels
            return bytes(inflating.decompress(packed, -zlib.MAX_WBITS, wanted)[:wanted])
    try:
        return bytes(inflating.decompressobj(-zlib.MAX_WBITS).decompress(packed, wanted))
    except inflating.error as error:
        raise ValueError(f"the pixels cannot be unpacked ({error})") from None


def _header(body: bytes) -> _Header:
    if len(body) != _HEADER_BYTES:
        raise ValueError(f"a header of {len(body)} bytes instead of {_HEADER_BYTES}")
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
    if depth not in _DEPTHS.get(colour, ()):
        raise ValueError(f"colour type {colour} with {depth} bits is no PNG picture")
    if not 0 < width * height <= LARGEST_PIXELS:
        raise ValueError(f"{width} by {height} pixels")
    if interlaced:
        raise ValueError("the file is interlaced; store it without")
    return _Header(width, height, depth, colour)


def _kept(filtered: np.ndarray, header: _Header, kept: int) -> np.ndarray:
    """The filtered bytes of the first channels; one channel of a colour picture stands for all three."""
    if header.channels == kept:
        return filtered.copy()
    by_channel = filtered.reshape(header.height, header.width, header.channels, header.depth // 8)
    chosen = by_channel[:, :, :kept].copy()
    if header.in_colours and kept == 1:
        for channel in range(1, _COLOUR_CHANNELS):
            if (by_channel[:, :, channel] != chosen[:, :, 0]).any():
                raise ValueError(
                    "the picture has colours; store class numbers as grey values or a palette, or say what the "
                    "colours stand for with --colours"
                )
    return chosen.reshape(header.height, -1)


def _unfilter(kinds: np.ndarray, pixels: np.ndarray, step: int) -> None:
    """Add back to each row its prediction from its neighbours; many bytes that must be walked are walked compiled."""
    walked = np.count_nonzero(pixels[kinds >= AVERAGE])
    if walked >= WORTH_COMPILING and find_spec("numba") is not None:
        from surgeval.scoring.predictions.png_compiled import unfilter_numba

        unfilter_numba(kinds, pixels, step)
    else:
        unfilter_numpy(kinds, pixels, step)


def unfilter_numpy(kinds: np.ndarray, pixels: np.ndarray, step: int) -> None:
    """Add back to each row its prediction from its neighbours, whole rows at a time as far as they allow it."""
    left = np.flatnonzero((kinds == LEFT) & pixels.any(axis=1))
    pixels[left] = _running_sums(pixels[left], step)
    for place in np.flatnonzero(kinds >= ABOVE).tolist():
        above = pixels[place - 1] if place else np.zeros(pixels.shape[1], np.uint8)
        if kinds[place] == ABOVE:
            pixels[place] += above
        else:
            pixels[place] = _sequential(int(kinds[place]), pixels[place], above, step)


def _running_sums(rows: np.ndarray, step: int) -> np.ndarray:
    """Sums of every `step`-th byte from the left, modulo 256; doubling reaches adds whole rows at a time."""
    reach = step
    while reach < rows.shape[1]:
        rows[:, reach:] += rows[:, :-reach]
        reach *= 2
    return rows


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


def _numbers(rows: np.ndarray, header: _Header) -> np.ndarray:
    """The numbers of every row."""
    if header.depth == 16:
        return rows.view(">u2").astype(np.uint16)
    if header.depth < 8:
        bits = np.unpackbits(rows, axis=1).reshape(header.height, -1, header.depth)
        return (bits @ (1 << np.arange(header.depth)[::-1])).astype(np.uint8)[:, : header.width]
    return rows


def _by_table(pixels: np.ndarray, colours: Colours) -> np.ndarray:
    """The number of every pixel's colour, which is looked up once for each stretch of equal pixels."""
    red, green, blue = np.moveaxis(pixels.reshape(-1, _COLOUR_CHANNELS), 1, 0).astype(np.int64)
    codes = (red << 2 * _BITS) | (green << _BITS) | blue
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    seen, places = np.unique(codes[starts], return_inverse=True)
    known = {(red << 2 * _BITS) | (green << _BITS) | blue: number for (red, green, blue), number in colours.items()}
    if strange := [code for code in seen.tolist() if code not in known]:
        most = (1 << _BITS) - 1
        shown = ", ".join(str((code >> 2 * _BITS, code >> _BITS & most, code & most)) for code in strange[:3])
        raise ValueError(f"{len(strange)} colours are not in the table (first: {shown})")
    numbers = np.array([known[code] for code in seen.tolist()], np.int32)
    return np.repeat(numbers[places], np.diff(starts, append=codes.size)).reshape(pixels.shape[:2])
