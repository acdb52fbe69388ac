"""KITTI: a folder with a text file per image, fifteen columns a row, of which the label and the box are read.

A row is type, truncated, occluded (0 to 3), alpha, left, top, right, bottom in pixels, then seven numbers on the place
in space; a sixteenth column is a score. The format tells neither identity nor the size of images, which is read from
the images beside. `DontCare` marks what was not annotated and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from surgvalid.datasets.tools._about import About, head_of
from surgvalid.datasets.tools._pictures import DrawnShape, ImagesBeside, Noticed, ShapedImage
from surgvalid.schema.documents import read_text

TITLE = "KITTI (a folder of label files)"
_ROW = re.compile(r"\s*([A-Za-z][^,]*?)((?:\s+-?\d+(?:\.\d+)?){14,15})\s*$")
"""The label, which may have blanks in it, and the numbers."""
_FOLDERS = ("label_2", "label", "labels")


def recognises(path: Path, _head: str) -> bool:
    """Whether the folder is one of this tool."""
    files = _files(path) if path.is_dir() else []
    return any(_ROW.match(head_of(one).split("\n", 1)[0].strip()) for one in files[:20])


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images whose labels a folder holds."""
    beside = ImagesBeside(path)
    return (_picture(one, beside, noticed) for one in _files(path))


def _files(folder: Path) -> list[Path]:
    homes = [folder, *(folder / name for name in _FOLDERS), *(folder / "training" / name for name in _FOLDERS)]
    return next((files for home in homes if (files := sorted(home.glob("*.txt")))), [])


def _picture(path: Path, beside: ImagesBeside, noticed: Noticed) -> ShapedImage:
    shapes = []
    for row, line in enumerate(read_text(path).splitlines(), start=1):
        parts = _ROW.match(line)
        if not line.strip() or line.startswith("DontCare"):
            continue
        if parts is None:
            noticed.problems.append(f"{path.name}, row {row}: expected a label and 14 numbers, got {line[:60]!r}")
            continue
        _, occluded, _, left, top, right, bottom, *rest = map(float, parts[2].split())
        score = rest[7] if len(rest) > 7 else None
        box = (left, top, right - left, bottom - top)
        shapes.append(DrawnShape(parts[1].replace("_", " "), box, occluded=occluded in (1, 2), score=score))
    return ShapedImage(f"{path.stem}.png", shapes, *beside.size_of(path.stem))
