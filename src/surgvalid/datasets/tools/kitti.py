"""KITTI: a folder with a text file per image, fifteen columns a row, of which the label and the box are read.

A row is type, truncated, occluded (0 to 3), alpha, left, top, right, bottom in pixels, then seven numbers on the place
in space; a sixteenth column is a score. The format tells neither identity nor the size of images, which is read from
the images beside (`image_2` of `label_2`, or `images`). `DontCare` marks what was not annotated and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from surgvalid.datasets.tools._about import About, head_of, number
from surgvalid.datasets.tools._pictures import DrawnShape, Noticed, ShapedImage, image_size
from surgvalid.schema.documents import read_text

TITLE = "KITTI (a folder of label files)"
_ROW = re.compile(r"[A-Za-z][^\s,]*(\s+-?\d+(\.\d+)?){14,15}\s*$")
_FOLDERS = ("label_2", "label", "labels")
_IMAGES = ("image_2", "images", "image", ".")


def recognises(path: Path, _head: str) -> bool:
    """Whether the folder is one of this tool."""
    files = _files(path) if path.is_dir() else []
    return any(_ROW.match(head_of(one).split("\n", 1)[0].strip()) for one in files[:20])


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images whose labels a folder holds."""
    return (_picture(one, noticed) for one in _files(path))


def _files(folder: Path) -> list[Path]:
    homes = [folder, *(folder / name for name in _FOLDERS), *(folder / "training" / name for name in _FOLDERS)]
    return next((files for home in homes if (files := sorted(home.glob("*.txt")))), [])


def _picture(path: Path, noticed: Noticed) -> ShapedImage:
    shapes = []
    for row, line in enumerate(read_text(path).splitlines(), start=1):
        cells = line.split()
        sides = [side for cell in cells[4:8] if (side := number(cell)) is not None]
        if not cells or cells[0] == "DontCare":
            continue
        if len(cells) < 15 or len(sides) < 4:
            noticed.problems.append(f"{path.name}, row {row}: expected a label and 14 numbers, got {line[:60]!r}")
            continue
        left, top, right, bottom = sides
        score = cells[15] if len(cells) > 15 else None
        box = (left, top, right - left, bottom - top)
        shapes.append(DrawnShape(cells[0].replace("_", " "), box, occluded=cells[2] in ("1", "2"), score=score))
    places = (path.parent.parent / home / f"{path.stem}{end}" for home in _IMAGES for end in (".png", ".jpg"))
    size = next((size for place in places if (size := image_size(place))), (None, None))
    return ShapedImage(f"{path.stem}.png", shapes, *size)
