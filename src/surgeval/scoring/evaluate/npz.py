"""Arrays from NPZ files, of which nothing is ever unpickled."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np

from surgeval.errors import FileUnreadable


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file; nothing in it is ever unpickled.

    Raises:
        FileUnreadable: Missing, no NPZ file, or holding pickled objects.
    """
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, TypeError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        reason = "it holds pickled objects, which are never opened" if "pickle" in str(error) else str(error)
        raise FileUnreadable(str(path), [f"no plain NPZ file: {reason}"]) from None
