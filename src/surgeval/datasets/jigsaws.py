"""JIGSAWS: robotic bench trials of three tasks with gestures and skill ratings.

Transcriptions name frames at 30 Hz, 1-based and inclusive. Not every trial has one, and ends may be unlabelled.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, References, Task
from surgeval.datasets._folder import Folder, whole_number

KIND = "data set"
TASKS = ("Suturing", "Knot_Tying", "Needle_Passing")
KINEMATICS_COLUMNS, RATE_HZ = 76, 30.0
LEVELS = {"N": "novice", "I": "intermediate", "E": "expert"}
_ITEMS = tuple(f"item_{number}" for number in range(1, 7))
_GESTURE = re.compile(r"(\d{1,9})\s+(\d{1,9})\s+(G\d{1,2})\s*")
_HEAD: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64, "surgery": pl.String}


def _gestures(folder: Folder) -> pl.DataFrame:
    rows = []
    for task in TASKS:
        for path in folder.files(f"{task}/transcriptions/*.txt"):
            last, lines = 0, folder.lines(path)
            if not lines:
                folder.problem("malformed", path, "empty file")
            for number, line in enumerate(lines, start=1):
                match = _GESTURE.fullmatch(line)
                if match is None or int(match[1]) < 1 or int(match[2]) < int(match[1]):
                    folder.problem("malformed", path, f"line {number}: expected start end Gk, got {line[:40]!r}")
                    continue
                if int(match[1]) <= last:
                    folder.problem("overlap", path, f"line {number} starts at {match[1]} before the end at {last}")
                last = int(match[2])
                rows.append((f"{path.stem}/gesture{number}", path.stem, None, task, int(match[1]), last, match[3]))
    schema = _HEAD | {"start_frame": pl.Int64, "end_frame": pl.Int64, "gesture": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def gestures_per_frame(references: References) -> References:
    """The gesture of every labelled frame; frames before, between and after gestures have no row."""
    frames = pl.int_ranges("start_frame", pl.col("end_frame") + 1).alias("frame")
    rows = references.table.with_columns(frames).explode("frame")
    case = pl.format("{}/{}", "video", "frame").alias("case")
    return replace(references, table=rows.select(case, "video", "frame", "surgery", "gesture"), rate_hz=RATE_HZ)


def _skill(folder: Folder) -> pl.DataFrame:
    rows = []
    for task in TASKS:
        path = folder.root / task / f"meta_file_{task}.txt"
        for number, line in enumerate(folder.lines(path), start=1):
            cells = [cell.strip() for cell in line.split("\t") if cell.strip()]
            numbers = [n for cell in cells[2:] if (n := whole_number(cell)) is not None]
            if len(cells) != 3 + len(_ITEMS) or cells[1] not in LEVELS or len(numbers) != 1 + len(_ITEMS):
                message = f"line {number}: expected name, N, I or E, the total and six items, got {line[:60]!r}"
                folder.problem("malformed", path, message)
                continue
            total, *items = numbers
            if total != sum(items):
                folder.warn("total-differs", path, f"line {number}: total {total}, items add up to {sum(items)}")
            rows.append((cells[0], cells[0], None, task, cells[1], total, *items))
    schema = _HEAD | {"skill": pl.String, "total": pl.Int64} | dict.fromkeys(_ITEMS, pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


_CAUTION = (
    "Each trial stands as a video of its own; trials of one surgeon are not independent, so intervals are too narrow "
    "unless trials are joined by surgeon."
)


def _compare(folder: Folder, tables: Mapping[str, pl.DataFrame]) -> None:
    if {"gesture", "skill"} <= set(tables):
        bare = set(tables["skill"]["video"]) - set(tables["gesture"]["video"])
        if bare:
            folder.note("one-sided", "transcriptions", f"{len(bare)} rated trials have none (first: {min(bare)})")
    for path in folder.files("*/kinematics/AllGestures/*.txt", needed=False):
        line = next(iter(folder.lines(path)), "")
        if len(line.split()) != KINEMATICS_COLUMNS:
            folder.problem("malformed", path, f"expected {KINEMATICS_COLUMNS} columns, got {len(line.split())}")


DATA_SET = DataSet(
    name="jigsaws",
    title="JIGSAWS",
    citation="Gao et al., JIGSAWS, M2CAI workshop at MICCAI 2014",
    licence=None,
    licence_note="access by request form",
    tasks={
        "gesture": Task(
            summary="gestures as intervals of frames",
            read=_gestures,
            clock="frames at 30 Hz, from 1",
            compared=Comparison(
                kind="phases",
                label="gesture",
                fps=RATE_HZ,
                first_frame=1,
                caution=_CAUTION,
                arranged=gestures_per_frame,
            ),
        ),
        "skill": Task(
            summary="level of the surgeon, rating and six items per trial",
            read=_skill,
            clock="whole trial",
            compared=Comparison(
                kind="classification",
                label="skill",
                moment="case",
                caution=_CAUTION,
                options={"classes": tuple(LEVELS)},
            ),
        ),
    },
    further_checks=_compare,
    notes=(
        "The official leave-one-out lists are in a separate archive (Experimental_setup), which is not read.",
        "A trial stands as its own video: which surgeon made it is not stated in the sources read, so join surgeons "
        "before intervals are computed.",
        "That frames are 1-based and inclusive comes from a reader in MATLAB; that not every trial has a transcription "
        "and ends are unlabelled is not confirmed.",
        "Names of the six items are not stated in the sources read; whether the total is their sum is only compared.",
    ),
)
