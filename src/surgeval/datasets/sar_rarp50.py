"""SAR-RARP50: robotic prostatectomy sutures with actions at 10 Hz and masks at 1 Hz.

Both are named by frames of the video at 60 fps: one action row per 6 frames, one mask per 10 action rows.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Schemes, Task
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import HEAD, MaskFiles

KIND = "data set"
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
CLASSES = {
    1: "tool clasper",
    2: "tool wrist",
    3: "tool shaft",
    4: "suturing needle",
    5: "thread",
    6: "suction tool",
    7: "needle holder",
    8: "clamps",
    9: "catheter",
}
FPS, FRAMES_PER_ACTION, FRAMES_PER_MASK = 60, 6, 60
_CLOCK = "frames at 60 fps"


def _split(name: str) -> str | None:
    return PARTS.get(name.lower())


def _actions(folder: Folder) -> pl.DataFrame:
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


def _masks(folder: Folder) -> pl.DataFrame:
    table = _MASKS.read(folder)
    for video, rows in table.group_by("video", maintain_order=True):
        _check_step(folder, f"{video[0]}/segmentation", rows["frame"], FRAMES_PER_MASK)
    for name in sorted(set(table["split"]) - set(PARTS)):
        folder.warn("unexpected-file", name, f"masks in none of the folders {', '.join(PARTS)}; not read")
    known = pl.col("split").replace_strict(PARTS, default=None).alias("split")
    return table.with_columns(known).drop_nulls("split")


def _check_step(folder: Folder, place: Path | str, frames: pl.Series, step: int) -> None:
    wrong = (frames % step != 0).sum()
    if wrong:
        folder.warn("frame-step", place, f"{wrong} of {frames.len()} frames are no multiple of {step}")


def _schemes(folder: Folder) -> Schemes:
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for path in folder.files("*/video_*", needed=False):
        if path.is_dir() and (split := _split(path.parent.name)):
            parts[split].append(path.name.lower())
    return {"folders": parts}


DATA_SET = DataSet(
    name="sar_rarp50",
    title="SAR-RARP50",
    citation="Psychogyios et al., SAR-RARP50, arXiv 2401.00496, 2024",
    source="https://rdr.ucl.ac.uk (SAR-RARP50)",
    checked_against="the official evaluation code and a reader",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={
        "action": Task(
            summary="one of eight actions, 10 Hz",
            read=_actions,
            clock=_CLOCK,
            rate_hz=10.0,
            compared=Comparison(
                kind="phases", label="action", options={"classes": tuple(map(str, range(len(ACTIONS))))}
            ),
        ),
        "masks": Task(
            summary="files of masks of nine classes, 1 Hz",
            read=_masks,
            clock=_CLOCK,
            rate_hz=1.0,
            compared=Comparison(
                kind="segmentation",
                masks="mask_file",
                options={"classes": tuple(CLASSES), "empty": "sar-rarp50"},
            ),
        ),
    },
    read_schemes=_schemes,
    notes=(
        "The official scorer: mIoU and mNSD (tolerance 1 px, both empty = 1, missing prediction = 0), accuracy, F1@10.",
        "Frames in multiples of 6 and 60 follow from the sampling of the official scorer; a deviation is a warning.",
        "Actions: " + ", ".join(f"{n} {name}" for n, name in enumerate(ACTIONS)) + ".",
        "Masks: " + ", ".join(f"{n} {name}" for n, name in CLASSES.items()) + ".",
        "The number of videos is not compared: it is not stated in the sources read.",
    ),
)
