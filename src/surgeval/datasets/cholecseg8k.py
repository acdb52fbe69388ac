"""CholecSeg8k: 8,080 frames of 17 Cholec80 videos with masks of 13 classes.

Each frame has an image and three masks; classes are read from the grey codes of the watershed mask.
"""

from __future__ import annotations

import re
from pathlib import Path

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task
from surgeval.datasets._layouts import MaskFiles

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
VIDEOS = (1, 9, 12, 17, 18, 20, 24, 25, 26, 27, 28, 35, 37, 43, 48, 52, 55)
_MASK = "_watershed_mask"


def _image(mask: Path) -> Path:
    return mask.with_name(re.sub(_MASK, "", mask.name, flags=re.IGNORECASE))


_FILES = MaskFiles(
    files=f"video*/video*_*/frame_*_endo{_MASK}.png",
    place=rf"(?P<video>video\d\d)/(?P<clip>video\d\d_\d+)/frame_(?P<frame>\d{{1,9}})_endo{_MASK}\.png",
    case="{clip}/{frame}",
    image=_image,
    spelled=str.lower,
)

DATA_SET = DataSet(
    name="cholecseg8k",
    title="CholecSeg8k",
    citation="Hong et al., CholecSeg8k, arXiv 2012.12453, 2020",
    source="https://www.kaggle.com/datasets/newslab/cholecseg8k",
    checked_against="a reader and an audit",
    licence="CC BY-NC-SA 4.0",
    licence_note="as stated in the paper",
    tasks={
        "masks": Task(
            summary="files of semantic masks (grey codes)",
            read=_FILES.read,
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
        "Videos are those of Cholec80 with the numbers " + ", ".join(map(str, VIDEOS)) + ".",
        "Some mask files are RGBA; 255 is a white frame to ignore.",
        "Whether K counts frames of the video or of the clip is not confirmed, so cases are named by clip and K.",
        "Only the watershed masks are needed; images and the two other masks may be absent.",
        "Class names are shortened descriptions of the published codes.",
    ),
)
