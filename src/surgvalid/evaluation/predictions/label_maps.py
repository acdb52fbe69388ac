"""One label map from a PNG or NIfTI file, and which number a colour of it stands for.

PNG. Grey and palette images of 1 to 16 bits give the stored numbers (palette: the index, never the colour). Colour
images are label maps when their channels are equal, as in Endoscapes, or where a table says which number a colour
stands for; others are refused, because a colour is no class number. Pillow unpacks and unfilters; it scales grey
values of 2 and 4 bits to 0-255 and cuts channels of 16 bits to 8, so the first are scaled back and the second refused.

NIfTI. A header of 348 bytes and an array in column order, read without any library. A file does not say whether its
first axis runs along the rows or along the columns of the image: SimpleITK writes x first, an array saved through
nibabel as it is in memory rows first. The shape of the reference decides; a square image leaves both readings open
and is asked about. Format: NIfTI-1.1, nifti1.h.

Colours, from the files that tools write beside their masks:
    labelmap.txt (CVAT, Datumaro)   name:r,g,b:parts:actions      the index in the list is the number, from 0
    labels.json (EndoVis 2018)      [{"name", "color", "classid"}]
    table (CSV)                     name,r,g,b or number,r,g,b
"""

from __future__ import annotations

import gzip
import io
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.predictions.plain_files import read_json
from surgvalid.schema.documents import read_text

Colours = Mapping[tuple[int, int, int], int]
"""Red, green and blue of a class -> its number."""
LARGEST_PIXELS = 89_478_485
"""Larger images are refused before anything is unpacked; Pillow warns of a decompression bomb from here on."""
_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY = 0
_MOST = 255
_KINDS = {2: "u1", 4: "i2", 8: "i4", 256: "i1", 512: "u2", 768: "u4", 16: "f4", 64: "f8"}
_NIFTI_HEADER = 348


# --- PNG -----------------------------------------------------------------------------------------


def read_label_map(path: Path, colours: Colours | None = None) -> np.ndarray:
    """The numbers in a PNG file, `[row, column]`.

    Raises:
        FileUnreadable: No PNG file, damaged, or in colours that no table explains.
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
    depth, kind = _checked_header(data)
    try:
        with Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            numbers: np.ndarray = np.asarray(image).astype(np.uint16 if depth == 16 else np.uint8)
    except (OSError, SyntaxError, EOFError, struct.error, zlib.error) as error:
        raise ValueError(f"the file is damaged ({error})") from None
    if kind == _GREY and 1 < depth < 8:
        numbers = numbers // (_MOST // (2**depth - 1))
    if numbers.ndim == 2:
        return numbers
    if numbers.shape[2] < 3:  # grey with transparency
        return numbers[..., 0]
    red, green, blue = np.moveaxis(numbers[..., :3], 2, 0)
    if colours:
        return _by_table((red.astype(np.int64) << 16) | (green.astype(np.int64) << 8) | blue, colours)
    if not (np.array_equal(red, green) and np.array_equal(red, blue)):
        raise ValueError(
            "the image has colours; store class numbers as grey values or a palette, or say what the colours stand for "
            "with --colours"
        )
    return np.asarray(red)


def _checked_header(data: bytes) -> tuple[int, int]:
    """Bits of a channel and the kind of colour, of an image that may be unpacked."""
    if not data.startswith(_SIGNATURE):
        raise ValueError("the file does not begin as a PNG file does")
    if data[12:16] != b"IHDR" or len(data) < 33:
        raise ValueError("the file has no header")
    width, height, depth, kind = struct.unpack_from(">IIBB", data, 16)
    if not 0 < width * height <= LARGEST_PIXELS:
        raise ValueError(f"{width} by {height} pixels")
    if depth == 16 and kind != _GREY:
        raise ValueError("colours of 16 bits; store class numbers as grey values of 16 bits or colours of 8")
    return depth, kind


def _by_table(codes: np.ndarray, colours: Colours) -> np.ndarray:
    """The number of every pixel's colour, which is looked up once for each stretch of equal pixels."""
    flat = codes.ravel()
    starts = np.flatnonzero(np.concatenate(([True], flat[1:] != flat[:-1])))
    seen, places = np.unique(flat[starts], return_inverse=True)
    known = {(red << 16) | (green << 8) | blue: number for (red, green, blue), number in colours.items()}
    if strange := [code for code in seen.tolist() if code not in known]:
        shown = ", ".join(str((code >> 16, code >> 8 & _MOST, code & _MOST)) for code in strange[:3])
        raise ValueError(f"{len(strange)} colours are not in the table (first: {shown})")
    numbers = np.array([known[code] for code in seen.tolist()], np.int32)
    return np.repeat(numbers[places], np.diff(starts, append=flat.size)).reshape(codes.shape)


# --- colours -------------------------------------------------------------------------------------


def read_colours(path: Path) -> Colours:
    """The number of every colour in a file.

    Raises:
        FileUnreadable: Missing, of no known form, or with a colour twice.
    """
    entries = _of_records(read_json(path)) if path.suffix.lower() == ".json" else _of_lines(read_text(path))
    colours: dict[tuple[int, int, int], int] = {}
    problems = []
    for number, colour in entries:
        key = _colour(colour)
        if key is None or number is None:
            problems.append(f"no colour of three numbers from 0 to {_MOST}: {str(colour)[:40]!r}")
        elif colours.setdefault(key, number) != number:
            problems.append(f"the colour {key} stands for {colours[key]} and for {number}")
    if problems or not colours:
        raise FileUnreadable(str(path), problems or ["no colours; expected name:r,g,b:: lines, or a JSON list"])
    return colours


def _of_records(content: Any) -> list[tuple[int | None, Any]]:
    records = content if isinstance(content, list) else []
    return [
        (int(one["classid"]) if isinstance(one.get("classid"), int) else place, one.get("color"))
        for place, one in enumerate(records)
        if isinstance(one, Mapping)
    ]


def _of_lines(text: str) -> list[tuple[int | None, Any]]:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if all(":" in line for line in lines):
        return [(place, line.split(":")[1].split(",")) for place, line in enumerate(lines)]
    cells = [line.split(",") for line in lines]
    body = cells[1:] if cells and not cells[0][-1].strip().isdecimal() else cells
    return [(int(row[0]) if row[0].strip().isdecimal() else place, row[1:]) for place, row in enumerate(body)]


def _colour(value: Any) -> tuple[int, int, int] | None:
    try:
        red, green, blue = (int(channel) for channel in value)
    except (TypeError, ValueError):
        return None
    return (red, green, blue) if all(0 <= channel <= _MOST for channel in (red, green, blue)) else None


# --- NIfTI ---------------------------------------------------------------------------------------


def is_nifti(path: Path) -> bool:
    """Whether the name is that of a NIfTI file."""
    return path.name.lower().endswith((".nii", ".nii.gz"))


def read_nifti(path: Path) -> np.ndarray:
    """The whole numbers of a two-dimensional file, in the order of its axes.

    Raises:
        FileUnreadable: No such file, of more than two axes, or of numbers that are no labels.
    """
    try:
        data = _bytes(path)
        order = "<" if struct.unpack("<i", data[:4])[0] == _NIFTI_HEADER else ">"
        if struct.unpack(f"{order}i", data[:4])[0] != _NIFTI_HEADER:
            raise ValueError("the header is not 348 bytes long")
        shape = [n for n in struct.unpack(f"{order}8h", data[40:56])[1:] if n > 1]
        kind, offset = struct.unpack(f"{order}h", data[70:72])[0], int(struct.unpack(f"{order}f", data[108:112])[0])
        slope, shift = struct.unpack(f"{order}2f", data[112:120])
        if len(shape) != 2 or kind not in _KINDS or np.prod(shape, dtype=np.int64) > LARGEST_PIXELS:
            raise ValueError(f"axes {shape} of kind {kind}; expected two axes of whole numbers")
        values = np.frombuffer(data, np.dtype(f"{order}{_KINDS[kind]}"), int(np.prod(shape)), offset)
    except (OSError, EOFError, ValueError, struct.error, zlib.error) as error:
        raise FileUnreadable(str(path), [f"no label map in NIfTI form: {error}"]) from None
    if slope not in (0.0, 1.0) or (slope and shift):
        raise FileUnreadable(str(path), [f"numbers are scaled ({slope:g} x + {shift:g}), which labels never are"])
    if values.dtype.kind == "f" and not (values == np.round(values)).all():
        raise FileUnreadable(str(path), ["numbers that are not whole, which labels are"])
    return values.astype(np.int64).reshape(shape, order="F")


def _bytes(path: Path) -> bytes:
    data = path.read_bytes()
    if not data.startswith(b"\x1f\x8b"):
        return data
    with gzip.open(path) as handle:
        return handle.read(8 * LARGEST_PIXELS + _NIFTI_HEADER + 1024)
