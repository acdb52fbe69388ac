"""CholecSeg8k: 8,080 frames of 17 Cholec80 videos with masks of 13 classes.

Each frame has an image and three masks; classes are read from the grey codes of the watershed mask.
"""

from __future__ import annotations

import re

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task
from surgeval.datasets._folder import Folder

KIND = "data set"
CODES = {
    50: "background",
    11: "abdominal wall",
    21: "liver",
    13: "gastrointestinal tract",
    12: "fat",
    31: "grasper",
    23: "connective tissue",
    24: "blood",
    25: "cystic duct",
    32: "L-hook",
    22: "gallbladder",
    33: "hepatic vein",
    5: "ligament",
}
"""Grey code of the watershed mask and its class."""
BACKGROUND, WHITE_FRAME = 50, 255
_MASKS = ("mask", "color_mask", "watershed_mask")
_FRAME = re.compile(r"frame_(\d{1,9})_endo\.png")


def _masks(folder: Folder) -> pl.DataFrame:
    rows = []
    for path in folder.files("video*/video*_*/frame_*_endo.png"):
        match, clip = _FRAME.fullmatch(path.name), path.parent.name
        video = path.parent.parent.name
        if match is None or not re.fullmatch(rf"{re.escape(video)}_\d+", clip):
            folder.warn("unexpected-file", path, "not laid out as videoNN/videoNN_SSSSS/frame_K_endo.png; not read")
            continue
        masks = [path.with_name(f"{path.stem}_{kind}.png") for kind in _MASKS]
        for mask in masks:
            if not mask.is_file():
                folder.problem("missing", mask, "no such file")
        if masks[-1].is_file():
            folder.png(masks[-1])
        places = [one.relative_to(folder.root).as_posix() for one in (path, masks[-1])]
        rows.append((f"{clip}/{match[1]}", video, int(match[1]), *places))
    schema = {"case": pl.String, "video": pl.String, "frame": pl.Int64, "image_file": pl.String, "mask_file": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


DATA_SET = DataSet(
    name="cholecseg8k",
    title="CholecSeg8k",
    citation="Hong et al., CholecSeg8k, arXiv 2012.12453, 2020",
    licence=None,
    licence_note="believed CC BY-NC-SA",
    tasks={
        "masks": Task(
            summary="files of semantic masks (grey codes)",
            read=_masks,
            clock="frames of the Cholec80 video or of its clip (not confirmed)",
            published={"cases": 8_080, "videos": 17},
            compared=Comparison(
                kind="segmentation",
                masks="mask_file",
                options={
                    "classes": tuple(sorted(code for code in CODES if code != BACKGROUND)),
                    "ignore": WHITE_FRAME,
                    "recoded": {BACKGROUND: 0},
                },
            ),
        ),
    },
    notes=(
        "There is no official split; a random split over frames leaks neighbours, so split by video.",
        "Some mask files are RGBA; 255 is a white frame to ignore.",
        "Whether K counts frames of the video or of the clip is not confirmed, so cases are named by clip and K.",
        "Class names are shortened descriptions of the published codes.",
    ),
)
