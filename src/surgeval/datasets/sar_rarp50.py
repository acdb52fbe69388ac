"""SAR-RARP50: robotic prostatectomy sutures with actions at 10 Hz and masks at 1 Hz.

Both are named by frames of the video: one action row per 6 frames, one mask per 10 action rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Schemes, Task
from surgeval.datasets._folder import Folder, whole_number

KIND = "data set"
PARTS = {"train1": "train", "train2": "train", "test": "test"}
ACTIONS, MASK_CLASSES = 8, 9
FRAMES_PER_ACTION, FRAMES_PER_MASK = 6, 60
_CLOCK = "frames of the video (6 per action row)"
_SCHEMA: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64, "split": pl.String}


def _videos(folder: Folder) -> Iterator[tuple[str, str, Path]]:
    found = [path for part in PARTS for path in folder.files(f"{part}/video_*", needed=False) if path.is_dir()]
    if not found and folder.root.is_dir():
        folder.problem("missing", "{train1,train2,test}/video_NN", "no folder of a video")
    for path in found:
        yield PARTS[path.parent.name], path.name, path


def _actions(folder: Folder) -> pl.DataFrame:
    tables = []
    for part, video, path in _videos(folder):
        file = path / "action_discrete.txt"
        table = folder.table(file, {"frame": pl.Int64, "action": pl.Int64}, header=False)
        if table is None:
            continue
        if not table["action"].is_between(0, ACTIONS - 1).all():
            folder.problem("unknown-label", file, f"an action is not within 0 and {ACTIONS - 1}")
        _check_step(folder, file, table["frame"], FRAMES_PER_ACTION)
        case = pl.format("{}/{}", pl.lit(video), "frame").alias("case")
        names = pl.lit(video).alias("video"), "frame", pl.lit(part).alias("split")
        tables.append(table.select(case, *names, "action"))
    return pl.concat(tables) if tables else pl.DataFrame(schema=_SCHEMA)


def _masks(folder: Folder) -> pl.DataFrame:
    rows = []
    for part, video, path in _videos(folder):
        files = sorted(path.glob("segmentation/*.png"))
        if not files:
            folder.problem("missing", path / "segmentation", "no masks")
        for file in files:
            if whole_number(file.stem) is None:
                folder.warn("unexpected-file", file, "the name is not a frame number; not read")
            elif folder.png(file) is not None:
                place = file.relative_to(folder.root).as_posix()
                rows.append((f"{video}/{int(file.stem)}", video, int(file.stem), part, place))
        frames = pl.Series([int(file.stem) for file in files if whole_number(file.stem) is not None], dtype=pl.Int64)
        _check_step(folder, path / "segmentation", frames, FRAMES_PER_MASK)
    return pl.DataFrame(rows, schema=_SCHEMA | {"mask_file": pl.String}, orient="row")


def _check_step(folder: Folder, place: Path, frames: pl.Series, step: int) -> None:
    wrong = (frames % step != 0).sum()
    if wrong:
        folder.warn("frame-step", place, f"{wrong} of {frames.len()} frames are no multiple of {step}")


def _schemes(folder: Folder) -> Schemes:
    parts: dict[str, list[str]] = {"train": [], "test": []}
    for part, video, _ in _videos(folder):
        parts[part].append(video)
    return {"folders": parts}


DATA_SET = DataSet(
    name="sar_rarp50",
    title="SAR-RARP50",
    citation="Psychogyios et al., SAR-RARP50, arXiv 2401.00496, 2024",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={
        "action": Task(
            summary="one of eight actions, 10 Hz",
            read=_actions,
            clock=_CLOCK,
            rate_hz=10.0,
            compared=Comparison(
                kind="phases",
                label="action",
                fps=10.0 * FRAMES_PER_ACTION,
                options={"classes": tuple(map(str, range(ACTIONS)))},
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
                options={"classes": tuple(range(1, MASK_CLASSES + 1)), "empty": "sar-rarp50"},
            ),
        ),
    },
    read_schemes=_schemes,
    notes=(
        "The official scorer: mIoU and mNSD (tolerance 1 px, both empty = 1, missing prediction = 0), accuracy, F1@10.",
        "Frames in multiples of 6 and 60 follow from the sampling of the official scorer; a deviation is a warning.",
        "That action ids run from 0 to 7 is not confirmed beyond their number.",
        "The number of videos is not compared: it is not stated in the sources read.",
    ),
)
