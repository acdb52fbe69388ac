"""CholecT45: 45 of the Cholec80 videos with action triplets once a second, as rows of zeros and ones.

`triplet/VIDxx.txt` and its components hold a frame id (0-based, 1 fps) and one 0/1 per class, separated by
commas; `dict/` names the classes and `dict/maps.txt` maps triplets to components.
"""

from __future__ import annotations

import polars as pl

from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.datasets.sets.cholect50 import SIZES

_NULL_KEY = "-1"
_MAP_COLUMNS = ("IVT", "I", "V", "T", "IV", "IT")


def class_names(folder: DataFolder, task: str) -> dict[int, str]:
    """The names of the classes of a task; the null key -1 is left out."""
    names = {}
    path = folder.at(f"dict/{task}.txt")
    for number, line in enumerate(folder.lines(path), start=1):
        key, colon, name = line.partition(":")
        identity = whole_number(key.strip())
        if colon and key.strip() == _NULL_KEY:
            continue
        if not colon or identity is None:
            folder.problem("malformed", path, f"line {number}: expected id:name, got {line[:40]!r}")
        else:
            names[identity] = name.strip()
    if names and sorted(names) != list(range(SIZES[task])):
        folder.problem(
            "malformed", path, f"expected ids 0 to {SIZES[task] - 1}, got {len(names)} ids up to {max(names)}"
        )
    return names


def component_map(folder: DataFolder) -> pl.DataFrame | None:
    """The map from triplets to instrument, verb, target and their pairs, from `dict/maps.txt`."""
    path = folder.at("dict/maps.txt")
    lines = folder.lines(path)
    if not lines:
        return None
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        cells = [whole_number(cell.strip()) for cell in line.split(",")]
        if len(cells) != len(_MAP_COLUMNS) or None in cells:
            folder.problem("malformed", path, f"line {number}: expected six numbers, got {line[:60]!r}")
        else:
            rows.append(cells)
    return pl.DataFrame(rows, schema=dict.fromkeys(_MAP_COLUMNS, pl.Int64), orient="row")


def dictionaries(folder: DataFolder, _: object) -> None:
    """Check the names of the classes, where they are here."""
    if not folder.files("dict/*", needed=False):
        folder.absent("dict", "no names of the classes; references are read by number without them")
        return
    for task in SIZES:
        class_names(folder, task)
    component_map(folder)


def instances(table: pl.DataFrame) -> dict[str, int]:
    """How many classes are there, over all seconds."""
    values = table.select(pl.col(r"^[a-z]+_\d+$"))
    return {"instances": int(values.sum_horizontal().sum()) if values.width else 0}
