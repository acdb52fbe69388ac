"""Label maps in PNG files against images packed by hand with every filter, colour type and depth."""

import contextlib
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.predictions.label_maps import label_map, read_label_map
from surgvalid.video.images import png_bytes


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def packed(lines: bytes, width: int, height: int, depth: int = 8, colour: int = 0, interlaced: int = 0) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    palette = ((b"PLTE", bytes(range(256)) * 3),) if colour == 3 else ()
    parts = ((b"IHDR", header), *palette, (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def filtered(pixels: np.ndarray, kinds: list[int], step: int = 1) -> bytes:
    """Rows of `step` bytes per pixel, each under its own filter, written from the definition."""
    whole = np.pad(pixels.astype(int), ((1, 0), (step, 0)))
    lines = b""
    for y, kind in enumerate(kinds, start=1):
        line = []
        for x in range(step, whole.shape[1]):
            a, b, c = whole[y, x - step], whole[y - 1, x], whole[y - 1, x - step]
            nearest = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            line.append((whole[y, x] - [0, a, b, (a + b) // 2, nearest][kind]) % 256)
        lines += bytes([kind, *line])
    return lines


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 4), min_size=1, max_size=6))
def test_every_filter_gives_the_pixels_back(seed: int, kinds: list[int]) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (len(kinds), 7))
    assert label_map(packed(filtered(pixels, kinds), 7, len(kinds))).tolist() == pixels.tolist()


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 4), min_size=2, max_size=12), st.booleans())
def test_label_maps_of_large_patches_come_back_in_one_channel_and_in_three(
    seed: int, kinds: list[int], grey: bool
) -> None:
    rng = np.random.default_rng(seed)
    pixels = np.full((len(kinds), 15), int(rng.integers(0, 3)))
    for _ in range(int(rng.integers(0, 5))):
        top, left = rng.integers(0, len(kinds)), rng.integers(0, 15)
        pixels[top : top + rng.integers(1, 6), left : left + rng.integers(1, 12)] = rng.integers(0, 256)
    step, colour = (1, 0) if grey else (3, 2)
    lines = filtered(np.repeat(pixels, step, axis=1), kinds, step)
    assert label_map(packed(lines, 15, len(kinds), colour=colour)).tolist() == pixels.tolist()


SHAPES = [(0, bits) for bits in (1, 2, 4, 8, 16)] + [(3, bits) for bits in (1, 2, 4, 8)]
SHAPES += [(colour, 8) for colour in (2, 4, 6)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def picture(rng: np.random.Generator, colour: int, depth: int, *, equal: bool) -> tuple[np.ndarray, bytes]:
    """Numbers `[row, column, channel]` of patches and noise, and their file; `equal` colour channels or not."""
    height, width, channels = int(rng.integers(1, 9)), int(rng.integers(1, 14)), CHANNELS[colour]
    numbers = rng.integers(0, 2**depth, (height, width, channels))
    numbers[rng.random((height, width)) < 0.7] = rng.integers(0, 2**depth, channels)
    if equal and channels > 2:
        numbers[..., 1:3] = numbers[..., :1]
    bits = (numbers.reshape(height, -1, 1) >> np.arange(depth)[::-1]) & 1
    rows = np.packbits(bits.reshape(height, -1).astype(np.uint8), axis=1)
    kinds = rng.integers(0, 5, height).tolist()
    lines = filtered(rows, kinds, max(1, channels * depth // 8))
    return numbers, packed(lines, width, height, depth, colour)


@pytest.mark.parametrize(("colour", "depth"), SHAPES)
def test_every_colour_type_and_depth_gives_the_stored_numbers(colour: int, depth: int) -> None:
    rng = np.random.default_rng(colour * 100 + depth)
    for _ in range(40):
        numbers, data = picture(rng, colour, depth, equal=True)
        read = label_map(data)
        assert read.dtype == (np.uint16 if depth == 16 else np.uint8)
        assert read.tolist() == numbers[..., 0].tolist()


@pytest.mark.parametrize(("colour", "depth"), [(2, 8), (6, 8)])
def test_colours_are_read_by_a_table_and_refused_without(colour: int, depth: int) -> None:
    rng = np.random.default_rng(colour * 100 + depth)
    for _ in range(40):
        numbers, data = picture(rng, colour, depth, equal=False)
        seen = [tuple(one) for one in numbers[..., :3].reshape(-1, 3).tolist()]
        table = {one: place + 1 for place, one in enumerate(sorted(set(seen)))}
        assert label_map(data, table).ravel().tolist() == [table[one] for one in seen]
        if any(len(set(one)) > 1 for one in seen):
            with pytest.raises(ValueError, match="the image has colours"):
                label_map(data)


@pytest.mark.parametrize("colour", [2, 4, 6])
def test_colours_of_sixteen_bits_are_refused_since_eight_of_them_would_be_lost(colour: int) -> None:
    _, data = picture(np.random.default_rng(0), colour, 16, equal=True)
    with pytest.raises(ValueError, match="colours of 16 bits"):
        label_map(data)


def test_an_interlaced_file_gives_its_pixels() -> None:
    assert label_map(packed(b"\x00\x05", 1, 1, interlaced=1)).tolist() == [[5]]


def test_an_image_of_more_pixels_than_any_mask_is_refused_by_its_header() -> None:
    with pytest.raises(ValueError, match="10000 by 9000 pixels"):
        label_map(packed(b"", 10_000, 9_000))


def test_a_flipped_bit_is_found_by_the_checksum_of_its_part() -> None:
    lines = filtered(np.random.default_rng(0).integers(0, 256, (40, 40)), [0] * 40)
    data = bytearray(packed(lines, 40, 40))
    data[900] ^= 1
    with pytest.raises(ValueError, match="the file is damaged"):
        label_map(bytes(data))


@pytest.mark.parametrize("size", [20, 400])
def test_rows_too_many_and_a_stream_without_its_end_give_the_picture(size: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (size, size))
    lines = b"".join(b"\0" + bytes(row) for row in pixels.tolist())
    packer = zlib.compressobj()
    unended = packer.compress(lines) + packer.flush(zlib.Z_SYNC_FLUSH)
    for body in (zlib.compress(lines + bytes(50)), unended):
        parts = ((b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)), (b"IDAT", body), (b"IEND", b""))
        data = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
        assert np.array_equal(label_map(data), pixels)


def test_few_bits_palettes_and_sixteen_bits_give_stored_numbers() -> None:
    assert label_map(packed(b"\x00\xa0", 3, 1, depth=1)).tolist() == [[1, 0, 1]]
    assert label_map(packed(b"\x00\x1b", 4, 1, depth=2, colour=3)).tolist() == [[0, 1, 2, 3]]
    assert label_map(packed(b"\x00\x12\x03", 3, 1, depth=4)).tolist() == [[1, 2, 0]]
    assert label_map(packed(b"\x00\x01\x00\x00\x07", 2, 1, depth=16)).tolist() == [[256, 7]]


def test_equal_channels_are_one_label_map_and_colours_are_refused() -> None:
    grey = np.repeat(np.arange(6, dtype=np.uint8).reshape(2, 3, 1), 3, axis=2)
    assert label_map(png_bytes(grey)).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="colours"):
        label_map(png_bytes(np.arange(18, dtype=np.uint8).reshape(2, 3, 3)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GIF89a",
        b"\x89PNG\r\n\x1a\n",
        packed(b"\x00\x01", 3, 1),
        packed(b"\x07\x01", 1, 1),
        packed(b"\x00\x01", 1, 1, depth=3),
        packed(b"\x00\x01", 2**31, 2**31),
        packed(b"\x00\x01", 1, 1)[:40],
        packed(b"\x00\x01", 1, 1).replace(b"IDAT\x78", b"IDAT\x00"),
    ],
)
def test_damaged_files_are_unreadable_and_never_crash(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "bad.png").write_bytes(data)
    with pytest.raises(FileUnreadable, match="label map"):
        read_label_map(tmp_path / "bad.png")


def test_a_header_of_another_length_is_named() -> None:
    with pytest.raises(ValueError, match="no header"):
        label_map(packed(b"\x00\x01", 1, 1)[:8] + chunk(b"IHDR", b"abc"))


@given(st.binary(max_size=80), st.integers(0, 60), st.booleans())
def test_flipped_bytes_are_a_map_or_a_deliberate_error(noise: bytes, place: int, sealed: bool) -> None:
    data = bytearray(packed(filtered(np.arange(12).reshape(3, 4), [1, 3, 4]), 4, 3))
    data[place : place + len(noise)] = noise
    if sealed:  # the checksums fit what was damaged
        data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
        data[-16:-12] = zlib.crc32(data[37:-16]).to_bytes(4, "big")
    with contextlib.suppress(ValueError):
        assert label_map(bytes(data)).ndim == 2
