"""AVOS: open surgery videos with actions as intervals of frames, and boxes of hands and tools.

Ids of videos contain dashes, so the frame number of an image is what follows the last dash. Intervals state frames and
seconds, and the frame rate of a video follows from the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import polars as pl

from surgvalid.datasets._coco_boxes import BOX, box_problem
from surgvalid.datasets._data_set import References, Schemes
from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.datasets._layouts import HEAD

SKIPPED = ("none", "abstain")
ACTIONS = ("cutting", "tying", "suturing", "background")
HAND, TOOLS = "hand", ("bovie", "needledriver", "forceps")
_ACTION_TABLE = "open_surgery_temporal_annotations_Jan16.csv"
_BOX_TABLE = "open_surgery_bboxes_Jan16.csv"
_PARTS = ("train", "val", "test")
_ROUGH_HZ = 0.5
"""Frame rates of the rows of a video that differ by more are not one rate."""


def video_and_frame(name: str) -> tuple[str, int] | None:
    """The id of the video and the frame number in the name of an image, or None where it is no such name.

    Example:
        >>> video_and_frame("a-b-_c-120.jpg")
        ('a-b-_c', 120)
    """
    video, dash, frame = Path(name).stem.rpartition("-")
    number = whole_number(frame)
    return (video, number) if dash and video and number is not None else None


def actions(folder: DataFolder) -> pl.DataFrame:
    """One row per interval with a known action."""
    columns: dict[str, type[pl.DataType]] = {"video_id": pl.String, "start_seconds": pl.Float64}
    columns |= {"end_seconds": pl.Float64, "start_frame": pl.Int64, "end_frame": pl.Int64, "label": pl.String}
    table = folder.table(folder.at(_ACTION_TABLE), columns)
    if table is None:
        return pl.DataFrame(schema=HEAD)
    for row in (table["end_frame"] < table["start_frame"]).arg_true().head(20):
        folder.problem("reversed-interval", _ACTION_TABLE, f"line {row + 2} ends before it starts")
    known = table.with_row_index("row").filter(~pl.col("label").str.to_lowercase().is_in(SKIPPED))
    for label in known.filter(~pl.col("label").is_in(ACTIONS))["label"].unique().sort():
        folder.problem("unknown-label", _ACTION_TABLE, f"unknown action {label!r}; known: {', '.join(ACTIONS)}")
    return known.join(_rates(folder, table), on="video_id", how="left", maintain_order="left").select(
        pl.format("{}/action{}", "video_id", "row").alias("case"),
        pl.col("video_id").alias("video"),
        pl.lit(None, dtype=pl.Int64).alias("frame"),
        "fps",
        "start_frame",
        "end_frame",
        "label",
    )


def _rates(folder: DataFolder, table: pl.DataFrame) -> pl.DataFrame:
    """The frame rate of every video: frames by seconds of its longest interval; null where its rows disagree."""
    length = pl.col("end_seconds") - pl.col("start_seconds")
    rows = table.with_columns(((pl.col("end_frame") - pl.col("start_frame")) / length).alias("rate"), length.alias("s"))
    timed = rows.filter(pl.col("rate").is_finite()).sort("s", descending=True)
    rates = timed.group_by("video_id", maintain_order=True).agg(
        pl.col("rate").first().alias("fps"), (pl.col("rate").max() - pl.col("rate").min()).alias("apart")
    )
    for video in rates.filter(pl.col("apart") > _ROUGH_HZ)["video_id"]:
        folder.warn("frame-rate", _ACTION_TABLE, f"frames and seconds of video {video} give different frame rates")
    return rates.select("video_id", pl.when(pl.col("apart") <= _ROUGH_HZ).then("fps").alias("fps"))


def actions_per_frame(references: References) -> References:
    """The action of every frame within an interval, whose end is not part of it; other frames have no row."""
    frames = pl.int_ranges("start_frame", "end_frame").alias("frame")
    rows = references.table.with_columns(frames).explode("frame").drop_nulls("frame")
    rows = rows.unique(["video", "frame"], keep="first", maintain_order=True)
    case = pl.format("{}/{}", "video", "frame").alias("case")
    return replace(references, table=rows.select(case, "video", "frame", "fps", "label"))


def _boxes(classes: tuple[str, ...], folder: DataFolder) -> pl.DataFrame:
    """One row per box of some classes; an image with boxes of other classes only is a row without one."""
    columns = {"image_name": pl.String, **dict.fromkeys(("x1", "y1", "x2", "y2"), pl.Float64), "class": pl.String}
    table = folder.table(folder.at(_BOX_TABLE), columns)
    rows: list[tuple[object, ...]] = []
    for line, (name, x1, y1, x2, y2, kind) in enumerate([] if table is None else table.iter_rows(), start=2):
        place, box = video_and_frame(name), [x1, y1, x2 - x1, y2 - y1]
        if place is None or kind not in (HAND, *TOOLS) or box_problem(box):
            message = (
                f"line {line}: expected VIDEO-FRAME.jpg, x1 < x2, y1 < y2 and a known class, got {name!r} {kind!r}"
            )
            folder.problem("malformed", _BOX_TABLE, message)
        else:
            video, frame = place
            annotation = (kind, *box) if kind in classes else (None,) * 5
            rows.append((f"{video}/{frame}", video, frame, Path(name).name, *annotation))
    boxes = pl.DataFrame(rows, schema=HEAD | {"image_file": pl.String, "category": pl.String} | BOX, orient="row")
    drawn = boxes.drop_nulls("category")
    bare = boxes.join(drawn, on="case", how="anti").unique("case", maintain_order=True)
    return pl.concat([drawn, bare])


hands, tools = partial(_boxes, (HAND,)), partial(_boxes, TOOLS)


def schemes(folder: DataFolder) -> Schemes:
    """The parts that the files list."""
    files = {split: path for split in _PARTS if (path := folder.file(f"{split}.csv"))}
    parts = {split: [line.split(",")[-1].strip() for line in folder.lines(path)[1:]] for split, path in files.items()}
    return {"files": parts} if parts else {}


def compare(folder: DataFolder, tables: Mapping[str, pl.DataFrame]) -> None:
    """Say which videos the split does not have, and which images are named otherwise."""
    split = {video for videos in schemes(folder).get("files", {}).values() for video in videos}
    if "action" in tables and split:
        for video in sorted(set(tables["action"]["video"]) - split)[:20]:
            folder.warn("split-differs", _ACTION_TABLE, f"video {video} is in none of the split files")
    for path in folder.files("images/*.jpg", needed=False):
        if video_and_frame(path.name) is None:
            folder.warn("unexpected-file", path, "the name is not like VIDEO-FRAME.jpg")
