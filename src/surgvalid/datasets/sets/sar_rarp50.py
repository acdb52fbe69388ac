"""SAR-RARP50: robotic prostatectomy sutures with actions at 10 Hz and masks at 1 Hz.

Both are named by frames of the video at 60 fps: one action row per 6 frames, one mask per 10 action rows. The folder of
one part alone, which holds the videos, is read too.
"""

from __future__ import annotations

from dataclasses import replace
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


def _one_part(folder: DataFolder) -> bool:
    """Whether the folder is that of one part."""
    return bool(folder.files("video_*", needed=False))


def _videos(folder: DataFolder) -> str:
    return "video_*" if _one_part(folder) else "*/video_*"


def actions(folder: DataFolder) -> pl.DataFrame:
    """The action of every sixth frame."""
    tables = []
    for path in folder.files(f"{_videos(folder)}/action_discrete.txt"):
        split, video = _split(path.parent.parent.resolve().name), path.parent.name.lower()
        if split is None and not _one_part(folder):
            folder.warn("unexpected-file", path, f"in none of the folders {', '.join(PARTS)}; not read")
            continue
        table = folder.table(path, {"frame": pl.Int64, "action": pl.Int64}, header=False)
        if table is None:
            continue
        if not table["action"].is_between(0, len(ACTIONS) - 1).all():
            folder.problem("unknown-label", path, f"an action is not within 0 and {len(ACTIONS) - 1}")
        _check_step(folder, path, table["frame"], FRAMES_PER_ACTION)
        case = pl.format("{}/{}", pl.lit(video), "frame").alias("case")
        about = pl.lit(split, dtype=pl.String).alias("split"), pl.lit(FPS, dtype=pl.Int64).alias("fps")
        tables.append(table.select(case, pl.lit(video).alias("video"), "frame", *about, "action"))
    return pl.concat(tables) if tables else pl.DataFrame(schema=HEAD)


_PART_MASKS = MaskFiles(
    files="video_*/segmentation/*.png",
    place=r"(?P<video>video_\d+)/segmentation/(?P<frame>\d{1,12})\.png",
    spelled=str.lower,
)
_MASKS = replace(
    _PART_MASKS, files=f"*/{_PART_MASKS.files}", place=f"(?P<split>[^/]+)/{_PART_MASKS.place}", strata=("split",)
)


def masks(folder: DataFolder) -> pl.DataFrame:
    """One row per mask of a known part."""
    if _one_part(folder):
        split = pl.lit(_split(folder.root.resolve().name), dtype=pl.String).alias("split")
        table = _PART_MASKS.read(folder).with_columns(split)
    else:
        table = _MASKS.read(folder)
        for name in sorted(set(table["split"]) - set(PARTS)):
            folder.warn("unexpected-file", name, f"masks in none of the folders {', '.join(PARTS)}; not read")
        table = table.with_columns(pl.col("split").replace_strict(PARTS, default=None)).drop_nulls("split")
    for video, rows in table.group_by("video", maintain_order=True):
        _check_step(folder, f"{video[0]}/segmentation", rows["frame"], FRAMES_PER_MASK)
    return table


def _check_step(folder: DataFolder, place: Path | str, frames: pl.Series, step: int) -> None:
    wrong = (frames % step != 0).sum()
    if wrong:
        folder.warn("frame-step", place, f"{wrong} of {frames.len()} frames are no multiple of {step}")


def schemes(folder: DataFolder) -> Schemes:
    """The parts that the folders are."""
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for path in folder.files(_videos(folder), needed=False):
        if path.is_dir() and (split := _split(path.parent.resolve().name)):
            parts[split].append(path.name.lower())
    return {"folders": parts}
