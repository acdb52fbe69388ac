"""Arrays from NPZ and NPY files, of which nothing is ever unpickled and nothing larger than stated is ever made."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from surgeval.errors import FileUnreadable

LARGEST_BYTES = 16_000_000_000
"""More than this in one file is no set of predictions."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file; nothing in it is ever unpickled.

    Raises:
        FileUnreadable: Missing, no NPZ file, holding pickled objects, or arrays that claim to be larger than they are.
    """
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        _check_sizes(path)
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (
        *(ValueError, TypeError, OSError, EOFError, KeyError, RuntimeError, MemoryError, SyntaxError),
        *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    ) as error:
        raise FileUnreadable(str(path), [f"no plain NPZ file: {error}"]) from None


def read_npy(path: Path) -> np.ndarray:
    """The array of an NPY file; one of Python objects is a pickle and stays shut.

    Raises:
        FileUnreadable: Missing, no plain array, or larger than any prediction.
    """
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ValueError(f"more than {LARGEST_BYTES / 1e9:.0f} GB")
        with path.open("rb") as handle:
            array: np.ndarray = npy.read_array(handle, allow_pickle=False)
        return array
    except (OSError, ValueError, EOFError, MemoryError, SyntaxError, tokenize.TokenError) as error:
        raise FileUnreadable(str(path), [f"no plain array ({error})"]) from None


def _check_sizes(path: Path) -> None:
    """Look at the heads only, before any array is made.

    Raises:
        ValueError: A member that is no plain array, or claims more than the file holds.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > LARGEST_BYTES:
            raise ValueError(f"more than {LARGEST_BYTES / 1e9:.0f} GB")
        for member in members:
            with archive.open(member) as handle:
                version = npy.read_magic(handle)
                if version not in _HEADERS:
                    raise ValueError(f"{member.filename}: unknown version of an array")
                shape, _, kind = _HEADERS[version](handle)
            if kind.hasobject:
                raise ValueError(f"{member.filename} holds pickled objects, which are never opened")
            if np.prod(shape, dtype=object) * kind.itemsize > member.file_size:
                raise ValueError(f"{member.filename} claims the shape {shape}, which the file does not hold")
