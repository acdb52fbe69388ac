"""SAR-RARP50: robotic prostatectomy sutures with actions at 10 Hz and masks at 1 Hz.

Both are named by frames of the video at 60 fps: one action row per 6 frames, one mask per 10 action rows.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from surgvalid.datasets._data_set import Schemes
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD, MaskFiles

PARTS = {
    "train1": "train",
    "train2": "train",
    "train": "train",
    "training_set": "train",
    "rarp50_train": "train",
    "test": "test",
    "testing_set": "test",
    "rarp50_test": "test",
}
"""Folders that copies use, and the part of the split."""
ACTIONS = (
    "other",
    "picking up the needle",
    "positioning the needle tip",
    "pushing the needle through the tissue",
    "pulling the needle out of the tissue",
    "tying a knot",
    "cutting the suture",
    "returning/dropping the needle",
)
FPS, FRAMES_PER_ACTION, FRAMES_PER_MASK = 60, 6, 60


def _split(name: str) -> str | None:
    return PARTS.get(name.lower())


def actions(folder: DataFolder) -> pl.DataFrame:
    """The action of every sixth frame."""
    tables = []
    for path in folder.files("*/video_*/action_discrete.txt"):
        split, video = _split(path.parent.parent.name), path.parent.name.lower()
        if split is None:
            folder.warn("unexpected-file", path, f"in none of the folders {', '.join(PARTS)}; not read")
            continue
        table = folder.table(path, {"frame": pl.Int64, "action": pl.Int64}, header=False)
        if table is None:
            continue
        if not table["action"].is_between(0, len(ACTIONS) - 1).all():
            folder.problem("unknown-label", path, f"an action is not within 0 and {len(ACTIONS) - 1}")
        _check_step(folder, path, table["frame"], FRAMES_PER_ACTION)
        case = pl.format("{}/{}", pl.lit(video), "frame").alias("case")
        about = pl.lit(split).alias("split"), pl.lit(FPS, dtype=pl.Int64).alias("fps")
        tables.append(table.select(case, pl.lit(video).alias("video"), "frame", *about, "action"))
    return pl.concat(tables) if tables else pl.DataFrame(schema=HEAD)


_MASKS = MaskFiles(
    files="*/video_*/segmentation/*.png",
    place=r"(?P<split>[^/]+)/(?P<video>video_\d+)/segmentation/(?P<frame>\d{1,12})\.png",
    strata=("split",),
    spelled=str.lower,
)


def masks(folder: DataFolder) -> pl.DataFrame:
    """One row per mask of a known part."""
    table = _MASKS.read(folder)
    for video, rows in table.group_by("video", maintain_order=True):
        _check_step(folder, f"{video[0]}/segmentation", rows["frame"], FRAMES_PER_MASK)
    for name in sorted(set(table["split"]) - set(PARTS)):
        folder.warn("unexpected-file", name, f"masks in none of the folders {', '.join(PARTS)}; not read")
    known = pl.col("split").replace_strict(PARTS, default=None).alias("split")
    return table.with_columns(known).drop_nulls("split")


def _check_step(folder: DataFolder, place: Path | str, frames: pl.Series, step: int) -> None:
    wrong = (frames % step != 0).sum()
    if wrong:
        folder.warn("frame-step", place, f"{wrong} of {frames.len()} frames are no multiple of {step}")


def schemes(folder: DataFolder) -> Schemes:
    """The parts that the folders are."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for path in folder.files("*/video_*", needed=False):
        if path.is_dir() and (split := _split(path.parent.name)):
            parts[split].append(path.name.lower())
    return {"folders": parts}
