"""YOLO: a text file per image, as a folder with its class names (darknet, CVAT's YOLO 1.1, Ultralytics, labelImg).

A row is class, then centre and size as shares of the image; five numbers are a box, six a box with a track, more an
outline. Names of the classes are in `obj.names`, `classes.txt` or `data.yaml`. The size of images is read from the
files where they lie beside, else `About(width_px, height_px)` tells it. An image without a file was not annotated; an
empty file shows nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from surgvalid.datasets.tools._about import About, head_of, number, whole
from surgvalid.datasets.tools._draft import Rectangle
from surgvalid.datasets.tools._pictures import DrawnShape, ImagesBeside, Noticed, ShapedImage, box_around
from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_text

TITLE = "YOLO folder (labels and class names)"
NAMES = ("obj.names", "classes.txt", "labels.txt", "data.yaml", "data.yml", "dataset.yaml")
_ENTRY = re.compile(r"^\s*(?:-|(\d+)\s*:)\s*['\"]?(.*?)['\"]?\s*$")
LISTS = ("train.txt", "val.txt", "valid.txt", "test.txt", "trainval.txt", "labelmap.txt", "readme.txt", "obj.data")
"""What exports put beside their labels."""
_BOX, _TRACKED, _TRIED = 5, 6, 20
_ROW = re.compile(r"\s*\d+(\.0*)?(\s+[-\d.eE+]+)+\s*$")


def recognises(path: Path, _head: str) -> bool:
    """Whether the folder, or the file of class names in it, is one of this tool."""
    folder = path if path.is_dir() else path.parent
    if not (path.is_dir() or path.name in NAMES) or class_names(folder) is None:
        return False
    lines = [line for one in _labels(folder)[:_TRIED] for line in head_of(one).split("\n", 1)[:1]]
    return bool(lines) and all(_ROW.match(line) or not line.strip() for line in lines)


def pictures(path: Path, about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images whose labels a folder holds.

    Raises:
        FileUnreadable: No class names, or no labels.
    """
    home = path if path.is_dir() else path.parent
    names, labels = class_names(home), _labels(home)
    if names is None or not labels:
        raise FileUnreadable(str(path), [f"not YOLO: needs label files and one of {', '.join(NAMES)} in the folder"])
    beside = ImagesBeside(home)
    return (_picture(one, home, names, about, beside, *noticed) for one in labels)


def class_names(folder: Path) -> list[str] | None:
    """Names of the classes in the order of their numbers, from a file in the folder; None where there is none."""
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        return None
    lines = read_text(path).splitlines()
    if path.suffix in (".names", ".txt"):
        return [line.strip() for line in lines if line.strip()]
    return _names_of_yaml(lines)


def _labels(folder: Path) -> list[Path]:
    """The label files: those in the folder itself, or in the folders that exports put them in."""
    return sorted(one for one in folder.rglob("*.txt") if one.name.lower() not in (*NAMES, *LISTS))


def _names_of_yaml(lines: list[str]) -> list[str]:
    """The list below or after `names:`, which is all of the file that is needed here."""
    at = next((place for place, line in enumerate(lines) if line.startswith("names:")), None)
    if at is None:
        return []
    rest = lines[at].removeprefix("names:").strip()
    if rest:
        return [one.strip().strip("'\"") for one in rest.strip("[]").split(",") if one.strip()]
    listed: dict[int, str] = {}
    for line in lines[at + 1 :]:
        if (entry := _ENTRY.match(line)) is None:
            break
        listed[int(entry[1]) if entry[1] else len(listed)] = entry[2]
    return [listed.get(place, "") for place in range(max(listed, default=-1) + 1)]


def _picture(
    path: Path,
    home: Path,
    names: list[str],
    about: About,
    beside: ImagesBeside,
    counts: Counter[str],
    problems: list[str],
) -> ShapedImage:
    where = path.relative_to(home).as_posix()
    stated = (about.width_px, about.height_px)
    width, height = stated if None not in stated else beside.size_of(where.removesuffix(path.suffix))
    lines = [line for line in read_text(path).splitlines() if line.strip()]
    if lines and (width is None or height is None):
        problems.append(f"{where}: shares of an image whose size is not known; give --size or put the image beside it")
        lines = []
    size = width or 1, height or 1
    shapes = [
        one for one in (_shape(line, n, where, names, size, counts, problems) for n, line in enumerate(lines, 1)) if one
    ]
    return ShapedImage(where if path.parent != home else path.name, shapes, width, height)


def _shape(
    line: str, row: int, where: str, names: list[str], size: tuple[int, int], counts: Counter[str], problems: list[str]
) -> DrawnShape | None:
    values = [number(cell) for cell in line.split()]
    numbers = [value for value in values if value is not None]
    kind = whole(numbers[0]) if numbers else None
    if len(numbers) < len(values) or kind is None or len(numbers) < _BOX:
        problems.append(f"{where}, row {row}: expected a class and at least four numbers, got {line[:60]!r}")
        return None
    if not 0 <= kind < len(names):
        problems.append(f"{where}, row {row}: class {kind} has no name; {len(names)} classes are named")
        return None
    identity, box = "", _box(numbers[1:_BOX], size)
    if len(numbers) == _TRACKED:
        track = whole(numbers[-1])
        if track is None:
            problems.append(f"{where}, row {row}: a confidence of {numbers[-1]:g}; that is a prediction, no annotation")
            return None
        identity = f"{names[kind]} {track}"
    elif len(numbers) > _TRACKED:
        counts["outline"] += 1
        box = _hull(numbers[1:], size)
    return DrawnShape(names[kind], box, identity)


def _box(shares: list[float], size: tuple[int, int]) -> Rectangle:
    x, y, width, height = (share * size[place % 2] for place, share in enumerate(shares))
    return x - width / 2, y - height / 2, width, height


def _hull(shares: list[float], size: tuple[int, int]) -> Rectangle:
    pairs: Iterator[tuple[float, float]] = zip(shares[::2], shares[1::2], strict=False)
    return box_around([(x * size[0], y * size[1]) for x, y in pairs]) or (0.0, 0.0, 0.0, 0.0)
