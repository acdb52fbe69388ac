"""PSI-AVA: eight robot-assisted radical prostatectomies with phases, steps, instruments and actions.

`train_coco_anns*.json` and `val_coco_anns*.json` are COCO files whose annotations also hold a phase, a step and
actions. The same surgeries are in GraSP.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from surgeval.datasets._coco_boxes import read_boxes, read_moments
from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task, listed
from surgeval.datasets._folder import Folder
from surgeval.datasets.grasp import FOLDS

KIND = "data set"
_PARTS = ("train", "val")


def _files(folder: Folder) -> dict[Path, str]:
    files = {split: folder.files(f"**/{split}_coco_anns*.json", needed=False)[:1] for split in _PARTS}
    if not any(files.values()) and folder.root.is_dir():
        folder.problem("missing", "**/{train,val}_coco_anns*.json", "no such file")
    for split, paths in files.items():
        if any(files.values()) and not paths:
            folder.absent(f"**/{split}_coco_anns*.json", f"{split} is not here; what is here is read")
    return {path: split for split, paths in files.items() for path in paths}


def _moments(folder: Folder, key: str) -> pl.DataFrame:
    return read_moments(folder, _files(folder), key)


def _boxes(folder: Folder) -> pl.DataFrame:
    return read_boxes(folder, _files(folder))


_CLOCK = "key frames at 1 fps"


def _labels(key: str, size: int) -> Task:
    return Task(
        summary=f"surgical {key} of annotated key frames, ids 0 to {size - 1}",
        read=partial(_moments, key=key),
        clock=_CLOCK,
        compared=Comparison(kind="classification", label=key, options={"classes": tuple(map(str, range(size)))}),
    )


DATA_SET = DataSet(
    name="psi_ava",
    title="PSI-AVA",
    citation="Valderrama et al., Towards holistic surgical scene understanding, MICCAI 2022",
    source="https://github.com/BCV-Uniandes/TAPIR",
    checked_against="real annotation files",
    licence=None,
    licence_note="the repository is MIT; the licence of the data is not stated there",
    tasks={
        "phase": _labels("phase", 11),
        "step": _labels("step", 21),
        "instruments": Task(
            summary="boxes of seven instruments with their actions",
            read=_boxes,
            clock=_CLOCK,
            one_row_per_case=False,
            compared=Comparison(kind="detection", boxes="category"),
        ),
    },
    schemes={
        "fold 1": listed("CASE{:03}", {"train": FOLDS["fold2"], "val": FOLDS["fold1"]}),
        "fold 2": listed("CASE{:03}", {"train": FOLDS["fold1"], "val": FOLDS["fold2"]}),
    },
    notes=(
        "Which of the two folds a file called train or val holds follows from its cases; the parts are kept as named.",
        "The eight surgeries are those of GraSP's training part: never test on one what was trained on the other.",
        "The CSV files hold the same boxes as shares of the image (x1, y1, x2, y2) and are not needed.",
    ),
)
