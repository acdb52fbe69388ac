"""CholecT45: 45 of the Cholec80 videos with action triplets once a second, as rows of zeros and ones.

`triplet/VIDxx.txt` and its components hold a frame id (0-based, 1 fps) and one 0/1 per class, separated by
commas; `dict/` names the classes and `dict/maps.txt` maps triplets to components.
"""

from __future__ import annotations

import polars as pl

from surgeval.datasets._cholect import SIZES, cross_validation, kit_split, videos_of
from surgeval.datasets._comparison import Comparison, numbered
from surgeval.datasets._data_set import DataSet, Task
from surgeval.datasets._folder import Folder, whole_number
from surgeval.datasets._layouts import VideoTables, number_of_video

KIND = "data set"
_NULL_KEY = "-1"
_MAP_COLUMNS = ("IVT", "I", "V", "T", "IV", "IT")


def _vectors(task: str) -> VideoTables:
    """A line per second: its number and a 0 or 1 per class."""
    return VideoTables(
        files=f"{task}/*.txt",
        name=r"(VID\d{2,3})\.txt",
        values={f"{task}_{index}": range(2) for index in range(SIZES[task])},
        video=number_of_video("VID{:02}", videos_of(outside_cholec80=True)),
    )


def class_names(folder: Folder, task: str) -> dict[int, str]:
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


def component_map(folder: Folder) -> pl.DataFrame | None:
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


def _dictionaries(folder: Folder, _: object) -> None:
    if not folder.files("dict/*", needed=False):
        folder.absent("dict", "no names of the classes; references are read by number without them")
        return
    for task in SIZES:
        class_names(folder, task)
    component_map(folder)


def _task(name: str, **published: int) -> Task:
    summary = f"presence of each {name}, once a second"

    def instances(table: pl.DataFrame) -> dict[str, int]:
        values = table.select(pl.col(rf"^{name}_\d+$"))
        return {"instances": int(values.sum_horizontal().sum()) if values.width else 0}

    kind = "triplets" if name == "triplet" else "classification"
    return Task(
        summary=summary,
        read=_vectors(name).read,
        clock="frames at 1 fps",
        rate_hz=1.0,
        published=published,
        count=instances,
        compared=Comparison(kind=kind, members=numbered(name, SIZES[name])),
    )


DATA_SET = DataSet(
    name="cholect45",
    title="CholecT45",
    citation="Nwoye et al., Rendezvous, Medical Image Analysis 2022",
    source="form at https://github.com/CAMMA-public/cholect45",
    checked_against="the maintainers' readme and loader",
    licence="CC BY-NC-SA 4.0",
    tasks={
        "triplet": _task("triplet", cases=90_489, videos=45, instances=127_385),
        "instrument": _task("instrument", cases=90_489, videos=45),
        "verb": _task("verb", cases=90_489, videos=45),
        "target": _task("target", cases=90_489, videos=45),
    },
    schemes=cross_validation(outside_cholec80=False) | {"surgbenchkit": kit_split()},
    unofficial=("surgbenchkit",),
    further_checks=_dictionaries,
    notes=(
        f"Videos keep their Cholec80 numbers: {', '.join(str(n) for n in videos_of(outside_cholec80=False))}.",
        "Some copies call the image folder rgb instead of data; images are not read here.",
        "dict/instrument.txt also holds the key -1, which is left out.",
        "Blacked-out frames are outside the body.",
        "SurgBenchKit skips VID12, so its numbers rest on 44 videos; its split is its own, not the data set's.",
    ),
)
