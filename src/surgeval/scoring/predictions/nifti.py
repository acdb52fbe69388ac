"""Label maps from NIfTI files, read without any library: a header of 348 bytes and an array in column order.

A file does not say whether its first axis runs along the rows or along the columns of the picture: SimpleITK writes x
first, an array saved through nibabel as it is in memory rows first. The shape of the reference decides; a square
picture leaves both readings open and is asked about. Format: NIfTI-1.1, nifti1.h.
"""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from surgeval.errors import FileUnreadable, Misuse
from surgeval.scoring.predictions.png import LARGEST_PIXELS

AXES = ("xy", "rows")
"""The first axis of the file runs along x, or along the rows of the picture."""
_KINDS = {2: "u1", 4: "i2", 8: "i4", 256: "i1", 512: "u2", 768: "u4", 16: "f4", 64: "f8"}
_HEADER = 348


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
        order = "<" if struct.unpack("<i", data[:4])[0] == _HEADER else ">"
        if struct.unpack(f"{order}i", data[:4])[0] != _HEADER:
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
        return handle.read(8 * LARGEST_PIXELS + _HEADER + 1024)


class NiftiFiles(Mapping[str, np.ndarray]):
    """NIfTI files by name, turned as the references are."""

    def __init__(self, paths: Mapping[str, Path], like: Mapping[str, np.ndarray] | None, axes: str | None) -> None:
        self._paths, self._like, self._axes = paths, like, axes

    def __getitem__(self, name: str) -> np.ndarray:
        array = read_nifti(self._paths[name])
        return array.T if self._along_x(name, array) else array

    def _along_x(self, name: str, array: np.ndarray) -> bool:
        if self._axes is not None:
            return self._axes == "xy"
        wanted = np.asarray(self._like[name]).shape if self._like is not None and name in self._like else None
        if array.shape[0] == array.shape[1] or wanted is None:
            raise Misuse(
                f"{self._paths[name].name}: {array.shape[0]} by {array.shape[1]} pixels do not say which axis runs "
                f"across; say --nifti-axes {' or '.join(AXES)}"
            )
        return wanted != array.shape

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)
