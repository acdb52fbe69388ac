"""Cholec80-CVS: intervals of Cholec80 videos with a score of 0, 1 or 2 per criterion, in one workbook.

The sheet stores the cystic plate before the hepatocystic triangle, Endoscapes after it: columns are read by
name and criteria are returned by name, never by place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from surgvalid.datasets._data_set import References, Schemes, listed, the_rest
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD
from surgvalid.datasets.sets.endoscapes2023 import CRITERIA
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.schema.tables.workbooks import read_rows_of_workbook

_TIMES = ("initial_minute", "initial_second", "final_minute", "final_second")
_COLUMNS = ("video", *_TIMES, *CRITERIA, "total", "critical_view")
FPS = 25
_VIDEO = "video{:02}"
_ACHIEVED_FROM = 5
_LARGEST_SCORE = 2


def intervals(folder: DataFolder) -> pl.DataFrame:
    """One row per interval: scores, start and end in seconds; reversed intervals are kept out and reported.

    `cut_s` is the last second before clipping begins, where the data set's index of it lies beside the workbook.
    """
    rows, cuts = [], last_frames(folder)
    for path in folder.files("**/*.xlsx"):
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
            cut = cuts[video] / FPS if video in cuts else None
            achieved = sum(scores) >= _ACHIEVED_FROM
            rows.append((f"{video}/line{line}", video, None, float(start), float(end), cut, *scores, achieved))
    schema = HEAD | dict.fromkeys(("start_s", "end_s", "cut_s"), pl.Float64) | dict.fromkeys(CRITERIA, pl.Int64)
    return pl.DataFrame(rows, schema=schema | {"critical_view": pl.Boolean}, orient="row")


def last_frames(folder: DataFolder) -> dict[str, int]:
    """The last frame before the first ClippingCutting of every video, from `results/videos_frames_index.csv`."""
    path = folder.file("results/videos_frames_index.csv") or folder.file("videos_frames_index.csv")
    table = folder.table(path, {"video_name": pl.String, "final_frame": pl.Int64}) if path else None
    return {} if table is None else dict(table.iter_rows())


def labels_before_the_cut(references: References) -> References:
    """Whether each criterion is met at every whole second of the last 15 % before clipping begins.

    The data set's own code draws five frames of every second at random and without a seed; every second has one label
    here. As there, intervals that score 0 in all criteria are left out and a score of 1 or 2 counts as met.

    Raises:
        Misuse: The index of cuts is not in the folder.
    """
    table = references.table
    if table["cut_s"].null_count():
        lacking = table.filter(pl.col("cut_s").is_null())["video"].unique().sort()
        raise Misuse(
            f"{references.data_set}: {lacking.len()} videos have no last frame before clipping (first: {lacking[0]}); "
            "put results/videos_frames_index.csv of the data set's repository into the folder"
        )
    frames = pl.int_ranges(pl.col("start_s").cast(pl.Int64), pl.col("end_s").cast(pl.Int64) + 1).alias("second")
    scored = table.filter(pl.sum_horizontal(CRITERIA) > 0).with_columns(frames).explode("second")
    from_s = (0.85 * pl.col("cut_s")).floor()
    kept = scored.filter((pl.col("second") >= from_s) & (pl.col("second") <= pl.col("cut_s")))
    met = [pl.col(name).max().clip(0, 1).alias(name) for name in CRITERIA]
    rows = kept.with_columns((pl.col("second") * FPS).alias("frame"), pl.lit(FPS).alias("fps"))
    merged = rows.group_by("video", "frame", "fps", maintain_order=True).agg(met)
    case = pl.format("{}/{}", "video", "frame").alias("case")
    return replace(references, table=merged.select(case, "video", "frame", "fps", *CRITERIA), clock="frames at 25 fps")


def _lines(folder: DataFolder, path: Path) -> Iterator[tuple[int, dict[str, int]]]:
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


def schemes(folder: DataFolder) -> Schemes:
    """The sixteen folds of `data/folds.json`: each list is a validation part, training is every other video."""
    path = folder.file("data/folds.json") or folder.file("folds.json")
    content = folder.json(path) if path else None
    if path is None or content is None:
        return {}
    folds = content.get("folds") if isinstance(content, dict) else content
    if not isinstance(folds, list) or not all(isinstance(fold, list) for fold in folds):
        folder.problem("malformed", path, "expected 'folds', a list of lists of videos")
        return {}
    numbers = [[_whole(str(video)) for video in fold] for fold in folds]
    if strange := [n for fold in numbers for n in fold if n not in range(1, 81)]:
        folder.problem("unknown-video", path, f"{len(strange)} entries are no videos of Cholec80")
        return {}
    return {f"fold {at}": listed(_VIDEO, the_rest(range(1, 81), val=fold)) for at, fold in enumerate(numbers, start=1)}
