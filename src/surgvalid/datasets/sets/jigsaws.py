"""JIGSAWS: robotic bench trials of three tasks with gestures and skill ratings.

Transcriptions name frames at 30 Hz, 1-based and inclusive. Not every trial has one, and ends may be unlabelled. A trial
is named after its task, its surgeon (a letter from B to I) and its number; trials of one surgeon are not independent,
so the surgeon is what intervals leave out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import polars as pl

from surgvalid.datasets._data_set import References
from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.datasets._layouts import HEAD

TASKS = ("Suturing", "Knot_Tying", "Needle_Passing")
KINEMATICS_COLUMNS, RATE_HZ = 76, 30.0
LEVELS = {"N": "novice", "I": "intermediate", "E": "expert"}
ITEMS = (
    "respect for tissue",
    "suture/needle handling",
    "time and motion",
    "flow of operation",
    "overall performance",
    "quality of final product",
)
GESTURES = {
    "Suturing": (1, 2, 3, 4, 5, 6, 8, 9, 10, 11),
    "Knot_Tying": (1, 11, 12, 13, 14, 15),
    "Needle_Passing": (1, 2, 3, 4, 5, 6, 8, 11),
}
"""The gestures that each task has."""
_RATINGS = range(1, 6)
_NAME = re.compile(r"(Suturing|Knot_Tying|Needle_Passing)_([B-I])(\d{3})", re.IGNORECASE)
_GESTURE = re.compile(r"(\d{1,9})\s+(\d{1,9})\s+(G\d{1,2})\s*")
_HEAD = HEAD | {"surgery": pl.String, "surgeon": pl.String}


def surgeon_of(trial: str) -> str | None:
    """The letter of the surgeon in the name of a trial, or None where it is no such name.

    Example:
        >>> surgeon_of("Suturing_B001"), surgeon_of("Suturing_1")
        ('B', None)
    """
    match = _NAME.fullmatch(trial)
    return match[2].upper() if match else None


def _trial(name: str) -> str:
    """A trial as the release spells it: its task, then the rest in capital letters."""
    task = _task(name)
    return task + name[len(task) :].upper()


def _task(name: str) -> str:
    return next((task for task in TASKS if name.lower().startswith(task.lower())), name)


def gestures(folder: DataFolder) -> pl.DataFrame:
    """One row per gesture: an interval of frames, both ends included."""
    rows = []
    for path in _task_files(folder, "transcriptions/*.txt"):
        trial, surgeon, last, lines = _trial(path.stem), surgeon_of(path.stem), 0, folder.lines(path)
        task = _task(path.parent.parent.name)
        if surgeon is None:
            folder.warn("unexpected-file", path, "not named TASK_SNNN with a surgeon S from B to I; not read")
            continue
        if not lines:
            folder.problem("malformed", path, "empty file")
        for number, line in enumerate(lines, start=1):
            match = _GESTURE.fullmatch(line)
            if match is None or int(match[1]) < 1 or int(match[2]) < int(match[1]):
                folder.problem("malformed", path, f"line {number}: expected start end Gk, got {line[:40]!r}")
                continue
            if int(match[3][1:]) not in GESTURES.get(task, ()):
                folder.warn("unknown-label", path, f"line {number}: {match[3]} is no gesture of {task}")
            if int(match[1]) <= last:
                folder.problem("overlap", path, f"line {number} starts at {match[1]} before the end at {last}")
            last = int(match[2])
            case = f"{trial}/gesture{number}"
            rows.append((case, trial, None, task, surgeon, int(match[1]), last, match[3]))
    schema = _HEAD | {"start_frame": pl.Int64, "end_frame": pl.Int64, "gesture": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _task_files(folder: DataFolder, pattern: str) -> list[Path]:
    """The files of every task that is here; the tasks are separate downloads."""
    here = folder.parts({task: f"{task}/{pattern}" for task in TASKS}, f"TASK/{pattern}")
    return [path for files in here.values() for path in files]


def gestures_per_frame(references: References) -> References:
    """The gesture of every labelled frame; frames before, between and after gestures have no row."""
    frames = pl.int_ranges("start_frame", pl.col("end_frame") + 1).alias("frame")
    rows = references.table.with_columns(frames).explode("frame")
    case = pl.format("{}/{}", "video", "frame").alias("case")
    kept = rows.select(case, "video", "frame", "surgery", "surgeon", "gesture")
    return replace(references, table=kept, rate_hz=RATE_HZ)


def skill(folder: DataFolder) -> pl.DataFrame:
    """One row per trial: level of the surgeon, total and the six items."""
    rows = []
    for path in _task_files(folder, "meta_file_*.txt"):
        for number, line in enumerate(folder.lines(path), start=1):
            cells = [cell.strip() for cell in line.split("\t") if cell.strip()]
            numbers = [n for cell in cells[2:] if (n := whole_number(cell)) is not None]
            good = len(cells) == 3 + len(ITEMS) and cells[1] in LEVELS and len(numbers) == 1 + len(ITEMS)
            surgeon = surgeon_of(cells[0]) if good else None
            if surgeon is None:
                message = f"line {number}: expected name, N, I or E, the total and six items, got {line[:60]!r}"
                folder.problem("malformed", path, message)
                continue
            total, *items = numbers
            if total != sum(items):
                folder.warn("total-differs", path, f"line {number}: total {total}, items add up to {sum(items)}")
            trial = _trial(cells[0])
            rows.append((trial, trial, None, _task(path.parent.name), surgeon, cells[1], total, *items))
    schema = _HEAD | {"skill": pl.String, "total": pl.Int64} | dict.fromkeys(ITEMS, pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def ratings(folder: DataFolder) -> pl.DataFrame:
    """One row per trial and item, rated 1 to 5."""
    wide = skill(folder)
    long = wide.unpivot(list(ITEMS), index=["video", "surgery", "surgeon"], variable_name="item", value_name="rating")
    for video, item in long.filter(~pl.col("rating").is_in(list(_RATINGS))).select("video", "item").iter_rows():
        folder.problem("malformed", f"meta_file of {video}", f"{item} is not rated 1 to 5")
    case, frame = pl.format("{}/{}", "video", "item").alias("case"), pl.lit(None, dtype=pl.Int64).alias("frame")
    return long.select(case, "video", frame, "surgery", "surgeon", "item", "rating")


def compare(folder: DataFolder, tables: Mapping[str, pl.DataFrame]) -> None:
    """Say which trials have no transcription, and check the kinematics."""
    if {"gesture", "skill"} <= set(tables):
        bare = set(tables["skill"]["video"]) - set(tables["gesture"]["video"])
        if bare:
            folder.note("one-sided", "transcriptions", f"{len(bare)} rated trials have none (first: {min(bare)})")
    for path in folder.files("*/kinematics/AllGestures/*.txt", needed=False):
        line = next(iter(folder.lines(path)), "")
        if len(line.split()) != KINEMATICS_COLUMNS:
            folder.problem("malformed", path, f"expected {KINEMATICS_COLUMNS} columns, got {len(line.split())}")
