"""MOTS as PNG: a folder `instances` with an image of object numbers for each frame, and `labels.txt`.

A pixel is 1000 times its class (from 1, a line of labels.txt) plus its track; 0 is background, and what has no class
is to be ignored. Kept is the box around the pixels of each track.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from surgvalid.datasets.tools._about import About
from surgvalid.datasets.tools._pictures import DrawnShape, Noticed, ShapedImage
from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_text

TITLE = "MOTS as PNG (a folder with 'instances')"
_MOST = 1000
"""Numbers of one class."""


def recognises(path: Path, _head: str) -> bool:
    """Whether the folder is one of this tool."""
    return path.is_dir() and (path / "instances" / "labels.txt").is_file() and bool(_files(path))


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The frames of a folder.

    Raises:
        FileUnreadable: A file is no PNG of numbers.
    """
    names = [line.strip() for line in read_text(path / "instances" / "labels.txt").splitlines() if line.strip()]
    return (_picture(one, names, noticed) for one in _files(path))


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "instances").glob("*.png"))


def _picture(path: Path, names: list[str], noticed: Noticed) -> ShapedImage:
    try:
        with Image.open(path) as image:
            numbers = np.asarray(image)
    except (OSError, UnidentifiedImageError, Image.DecompressionBombError) as error:
        raise FileUnreadable(str(path), [f"not a PNG of object numbers: {error}"]) from None
    if numbers.ndim != 2:
        raise FileUnreadable(str(path), ["not a PNG of object numbers: it has colours"])
    shapes = []
    for value in np.unique(numbers).tolist():
        kind, track = divmod(value, _MOST)
        if 0 < kind <= len(names):
            noticed.counts["outline"] += 1
            rows, columns = np.nonzero(numbers == value)
            left, top = int(columns.min()), int(rows.min())
            box = (left, top, int(columns.max()) + 1 - left, int(rows.max()) + 1 - top)
            shapes.append(DrawnShape(names[kind - 1], box, f"{names[kind - 1]} {track}"))
        else:
            noticed.counts["ignored"] += value > 0
    return ShapedImage(path.name, shapes, numbers.shape[1], numbers.shape[0])
