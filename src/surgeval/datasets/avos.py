"""AVOS: open surgery videos with actions as intervals of frames.

Ids of videos contain dashes, so the frame number of an image is what follows the last dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from surgeval.datasets._data_set import DataSet, Schemes, Task
from surgeval.datasets._folder import Folder, whole_number

KIND = "data set"
SKIPPED = ("none", "abstain")
_TABLE = "open_surgery_temporal_annotations_Jan16.csv"
_PARTS = ("train", "test")


def video_and_frame(name: str) -> tuple[str, int] | None:
    """The id of the video and the frame number in the name of an image, or None where it is no such name.

    Example:
        >>> video_and_frame("a-b-_c-120.jpg")
        ('a-b-_c', 120)
    """
    video, dash, frame = Path(name).stem.rpartition("-")
    number = whole_number(frame)
    return (video, number) if dash and video and number is not None else None


def _actions(folder: Folder) -> pl.DataFrame:
    columns = {"video_id": pl.String, "start_frame": pl.Int64, "end_frame": pl.Int64, "label": pl.String}
    table = folder.table(folder.root / _TABLE, columns)
    if table is None:
        return pl.DataFrame(schema={"case": pl.String, "video": pl.String, "frame": pl.Int64})
    reversed_rows = (table["end_frame"] < table["start_frame"]).arg_true()
    for row in reversed_rows.head(20):
        folder.problem("reversed-interval", _TABLE, f"line {row + 2} ends before it starts")
    known = table.with_row_index("row").filter(~pl.col("label").str.to_lowercase().is_in(SKIPPED))
    return known.select(
        pl.format("{}/action{}", "video_id", "row").alias("case"),
        pl.col("video_id").alias("video"),
        pl.lit(None, dtype=pl.Int64).alias("frame"),
        "start_frame",
        "end_frame",
        "label",
    )


def _schemes(folder: Folder) -> Schemes:
    return {
        "files": {part: [line.strip() for line in folder.lines(folder.root / f"{part}.csv")[1:]] for part in _PARTS}
    }


def _compare(folder: Folder, tables: Mapping[str, pl.DataFrame]) -> None:
    split = {video for videos in _schemes(folder)["files"].values() for video in videos}
    for video in sorted(set(tables["action"]["video"]) - split)[:20]:
        folder.warn("split-differs", _TABLE, f"video {video} is in neither train.csv nor test.csv")
    for path in folder.files("images/*.jpg", needed=False):
        if video_and_frame(path.name) is None:
            folder.warn("unexpected-file", path, "the name is not like VIDEO-FRAME.jpg")


DATA_SET = DataSet(
    name="avos",
    title="AVOS (annotated videos of open surgery)",
    citation="Goodman et al., Analyzing surgical technique in diverse open surgical videos, JAMA Surgery 2024",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={
        "action": Task(
            summary="actions as intervals of frames, without 'none' and 'abstain'",
            read=_actions,
            clock="frames of the video (rate not confirmed)",
        ),
    },
    read_schemes=_schemes,
    further_checks=_compare,
    notes=(
        "Ids of videos contain dashes; a loader that joins the parts without them loses such videos.",
        "The frame rate is not confirmed, so intervals have no seconds; nor is whether end_frame is included.",
    ),
)
