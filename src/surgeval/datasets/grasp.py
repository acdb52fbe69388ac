"""GraSP: 13 robot-assisted radical prostatectomies with phases and steps, instruments and their actions.

`annotations/grasp_{long,short}-term_{fold1,fold2,train,test}.json` are COCO files; long-term ones hold a phase and a
step of every key frame, short-term ones boxes, masks and actions. `train` is both folds together.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl

from surgeval.datasets._coco_boxes import read_boxes, read_moments
from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task, listed
from surgeval.datasets._folder import Folder

KIND = "data set"
FOLDS = {"fold1": (1, 4, 14, 15), "fold2": (2, 3, 7, 21)}
TEST = (41, 47, 50, 51, 53)
_VIDEO = "CASE{:03}"
_WHOLE = {"train": "train", "test": "test"}
_PARTS = {"fold1": "train", "fold2": "train", "test": "test"}


def _files(folder: Folder, term: str) -> dict[Path, str]:
    """The files of one term: `train` and `test`, or the folds where `train` is not here."""
    places = {name: f"**/grasp_{term}-term_{name}.json" for name in (*_WHOLE, *_PARTS)}
    files = {name: paths[0] for name, place in places.items() if (paths := folder.files(place, needed=False))}
    chosen = _WHOLE if "train" in files else _PARTS
    if not files and folder.root.is_dir():
        folder.problem("missing", f"**/grasp_{term}-term_*.json", "no such file")
    for name in chosen:
        if files and name not in files:
            folder.absent(places[name], f"{name} is not here; what is here is read")
    return {files[name]: split for name, split in chosen.items() if name in files}


def _moments(folder: Folder, key: str) -> pl.DataFrame:
    return read_moments(folder, _files(folder, "long"), key)


def _boxes(folder: Folder) -> pl.DataFrame:
    return read_boxes(folder, _files(folder, "short"))


def _per_part(table: pl.DataFrame) -> dict[str, int]:
    if "split" not in table.columns:
        return {}
    cases = table.unique("case")
    return {f"cases in {split}": cases.filter(pl.col("split") == split).height for split in _WHOLE}


_CLOCK = "key frames as the files number them (1 or 30 fps)"


def _labels(key: str, size: int) -> Task:
    return Task(
        summary=f"surgical {key} of every key frame, ids 0 to {size - 1}",
        read=partial(_moments, key=key),
        clock=_CLOCK,
        published={"videos": 13, "cases in train": 73_619, "cases in test": 42_897},
        count=_per_part,
        compared=Comparison(kind="classification", label=key, options={"classes": tuple(map(str, range(size)))}),
    )


DATA_SET = DataSet(
    name="grasp",
    title="GraSP",
    citation="Ayobi et al., Pixel-wise recognition for holistic surgical scene understanding, 2024",
    source="https://github.com/BCV-Uniandes/GraSP",
    checked_against="the maintainers' readme, three readers; real files of PSI-AVA",
    licence=None,
    licence_note="the repository is MIT; the licence of the data is not stated there",
    tasks={
        "phase": _labels("phase", 11),
        "step": _labels("step", 21),
        "instruments": Task(
            summary="boxes and masks of seven instruments with their actions",
            read=_boxes,
            clock=_CLOCK,
            one_row_per_case=False,
            published={"videos": 13, "cases in train": 2_324, "cases in test": 1_125},
            count=_per_part,
            compared=Comparison(kind="detection", boxes="category"),
        ),
    },
    schemes={
        "official": listed(_VIDEO, {"train": sorted(n for fold in FOLDS.values() for n in fold), "test": TEST}),
        "fold 1": listed(_VIDEO, {"train": FOLDS["fold2"], "val": FOLDS["fold1"]}),
        "fold 2": listed(_VIDEO, {"train": FOLDS["fold1"], "val": FOLDS["fold2"]}),
    },
    notes=(
        "Long-term labels were corrected in December 2024: state the version of the files with every number.",
        "The folds are the two that PSI-AVA has; GraSP adds five test cases. Training with one fold is validated on "
        "the other.",
        "Frames are numbered with five digits at 1 fps or nine at 30 fps; predictions keep the numbers of the files.",
        "PNG files in annotations/segmentations are not read: what their values mean is not confirmed; masks come from "
        "the JSON files (evaluate detection with --overlap mask).",
        "Counts come from an audit of a downloaded copy.",
    ),
)
