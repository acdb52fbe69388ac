"""Cholec80-CVS: intervals of Cholec80 videos with a score of 0, 1 or 2 per criterion, in one workbook.

The sheet stores the cystic plate before the hepatocystic triangle, Endoscapes after it: columns are read by
name and criteria are returned by name, never by place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from surgeval.datasets._cvs import CRITERIA
from surgeval.datasets._data_set import DataSet, Schemes, Task
from surgeval.datasets._folder import Folder
from surgeval.errors import FileUnreadable
from surgeval.schema.workbooks import read_rows_of_workbook

KIND = "data set"
_TIMES = ("initial_minute", "initial_second", "final_minute", "final_second")
_COLUMNS = ("video", *_TIMES, *CRITERIA, "total", "critical_view")
_ACHIEVED_FROM = 5
_LARGEST_SCORE = 2


def _intervals(folder: Folder) -> pl.DataFrame:
    """One row per interval: scores, start and end in seconds; reversed intervals are kept out and reported."""
    rows = []
    for path in folder.files("*.xlsx"):
        for line, cells in _lines(folder, path):
            if problem := _problem(cells):
                folder.problem("malformed", path, f"line {line}: {problem}")
                continue
            start = cells["initial_minute"] * 60 + cells["initial_second"]
            end = cells["final_minute"] * 60 + cells["final_second"]
            if end < start:
                folder.warn(
                    "reversed-interval", path, f"line {line}: ends at {end} s before its start at {start} s; left out"
                )
                continue
            video, scores = f"video{cells['video']:02}", [cells[name] for name in CRITERIA]
            achieved = sum(scores) >= _ACHIEVED_FROM
            rows.append((f"{video}/line{line}", video, None, float(start), float(end), *scores, achieved))
    schema: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64}
    schema |= {"start_s": pl.Float64, "end_s": pl.Float64} | dict.fromkeys(CRITERIA, pl.Int64)
    return pl.DataFrame(rows, schema=schema | {"critical_view": pl.Boolean}, orient="row")


def _lines(folder: Folder, path: Path) -> Iterator[tuple[int, dict[str, int]]]:
    """Each line of the sheet with its whole numbers by column; a cell that is none is -1."""
    try:
        rows = read_rows_of_workbook(path)
    except FileUnreadable as error:
        folder.problem("unreadable", path, "; ".join(error.problems))
        return
    header = [re.sub(r"\s+", "_", name.strip().lower()) for name in rows[0]] if rows else []
    if lacking := [name for name in _COLUMNS if name not in header]:
        folder.problem("malformed", path, f"lacks the columns {', '.join(lacking)}; criteria are read by name only")
        return
    for line, row in enumerate(rows[1:], start=2):
        if any(row):
            yield line, {name: _whole(row[at]) if at < len(row) else -1 for at, name in enumerate(header)}


def _whole(text: str) -> int:
    match = re.fullmatch(r"(?:[a-z]*)0*(\d{1,9})(?:\.0*)?", text.strip().lower())
    return int(match[1]) if match else -1


def _problem(cells: dict[str, int]) -> str:
    for name in ("video", *_TIMES):
        if cells[name] < 0:
            return f"{name} is no whole number"
    for name in CRITERIA:
        if not 0 <= cells[name] <= _LARGEST_SCORE:
            return f"{name} is not 0, 1 or 2"
    total = sum(cells[name] for name in CRITERIA)
    if cells["total"] != total:
        return f"total is {cells['total']}, but the criteria add up to {total}"
    if cells["critical_view"] != int(total >= _ACHIEVED_FROM):
        return f"critical_view is {cells['critical_view']} at a total of {total}"
    return ""


def _schemes(folder: Folder) -> Schemes:
    """The test videos of each fold of `data/folds.json`, where it is a list or an object of lists."""
    path = folder.root / "data" / "folds.json"
    content = folder.json(path) if path.is_file() else None
    if content is None:
        return {}
    folds = list(content.values()) if isinstance(content, dict) else content
    if not isinstance(folds, list) or not all(isinstance(fold, list) for fold in folds):
        folder.problem("malformed", path, "expected lists of videos")
        return {}
    numbers = [[_whole(str(video)) for video in fold] for fold in folds]
    return {
        f"fold {index}": {"held out": [f"video{n:02}" for n in fold]} for index, fold in enumerate(numbers, start=1)
    }


DATA_SET = DataSet(
    name="cholec80_cvs",
    title="Cholec80-CVS",
    citation="Ríos et al., Cholec80-CVS, Scientific Data 2023",
    licence=None,
    licence_note="code MIT; the licence of the data on figshare is not confirmed",
    tasks={
        "cvs": Task(
            summary="scores 0 to 2 per criterion on intervals, and whether the view is achieved (total of 5 or more)",
            read=_intervals,
            clock="seconds of the video",
        ),
    },
    read_schemes=_schemes,
    split_sizes={"fixed": {"train": 50, "val": 15, "test": 15}, "folds": {"folds": 16, "videos per fold": 5}},
    disagreements=(
        "3 rows end before they start and 63 run past the first frame of ClippingCutting, where the official code cuts",
        "the official code draws 5 frames per second at random without a seed, so its frame set cannot be repeated",
        "the fixed 50/15/15 split is unrelated to the splits of Cholec80",
    ),
    notes=(
        "The sheet stores the cystic plate before the hepatocystic triangle; Endoscapes the other way round.",
        "The official code keeps the last 15 % before the cut and binarises min(1, score); neither is done here.",
        "Rows past the cut can only be found with the phases of Cholec80; they are not looked for here.",
        "The structure of data/folds.json and which part of a fold it lists are not confirmed; the videos of the fixed "
        "split are not known here.",
        "Counts of rows come from a secondary source. Spaces in column names are read as underscores.",
    ),
)
