"""AutoLaparo: 21 hysterectomies with phases once a second, 300 clips with the motion of the laparoscope, masks.

The files count seconds from 1 (frames are cut as `frame // 25 + 1`), and so do the references here: a prediction keeps
the numbers of the data set's own label files.
"""

from __future__ import annotations

import re

import polars as pl

from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.datasets._layouts import HEAD, MaskFiles, VideoTables, number_of_video

PHASES = {
    1: "Preparation",
    2: "Dividing Ligament and Peritoneum",
    3: "Dividing Uterine Vessels and Ligament",
    4: "Transecting the Vagina",
    5: "Specimen Removal",
    6: "Suturing",
    7: "Washing",
}
MOTIONS = ("Static", "Up", "Down", "Left", "Right", "Zoom-in", "Zoom-out")
ROWS = (
    *(6388, 3620, 3000, 2938, 3220, 3908, 1645, 4692, 5736, 5064, 4720, 2916, 2597, 4739, 3653, 3612, 4678, 3546),
    *(3413, 4832, 4326),
)
"""Seconds of videos 1 to 21."""
_MOTION_FILE = "laparoscope_motion_label.txt"
_CLIPS = {"train": range(1, 171), "val": range(171, 228), "test": range(228, 301)}
_CLIP_PARTS = {clip: split for split, clips in _CLIPS.items() for clip in clips}

_PHASE_FILES = VideoTables(
    files="**/label_*.txt",
    name=r"label_(\d+)\.txt",
    values={"Phase": tuple(PHASES)},
    renamed={"Phase": "phase"},
    frame="Frame",
    separator="\t",
    header=True,
    video=number_of_video("{:02}", range(1, 22)),
    first=1,
    step=1,
)


def phases(folder: DataFolder) -> pl.DataFrame:
    """The phase of every second, by number and by name."""
    table = _PHASE_FILES.read(folder)
    if table.is_empty():
        return table
    for video, rows in table.group_by("video", maintain_order=True).len().iter_rows():
        if rows != ROWS[int(video) - 1]:
            folder.warn("rows-differ", video, f"{rows:,} seconds; published: {ROWS[int(video) - 1]:,}")
    return table.with_columns(pl.col("phase").replace_strict(PHASES, default=None).alias("label"))


def motions(folder: DataFolder) -> pl.DataFrame:
    """One row per clip: its motion, and the phase that it was cut from."""
    rows = []
    for path in folder.files(f"**/{_MOTION_FILE}"):
        lines = folder.lines(path)
        if len(lines) < 2:
            folder.problem("malformed", path, "no labels below the header")
        for line, text in enumerate(lines[1:], start=2):
            cells = [cell.strip() for cell in text.split("\t")]
            clip = re.fullmatch(r"(\d{1,9})(\.mp4)?", cells[0])
            numbers = [whole_number(cell) for cell in cells[1:3]]
            known = clip is not None and int(clip[1]) in _CLIP_PARTS and len(numbers) == 2
            if clip is None or not known or numbers[0] not in range(len(MOTIONS)) or numbers[1] not in PHASES:
                message = f"line {line}: expected clip 1 to 300, motion 0 to 6 and phase 1 to 7, got {text[:60]!r}"
                folder.problem("malformed", path, message)
                continue
            name = f"clip{int(clip[1])}"
            rows.append((name, name, None, _CLIP_PARTS[int(clip[1])], *numbers))
    schema = HEAD | {"split": pl.String, "motion": pl.Int64, "phase": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


_MASK_FILES = MaskFiles(
    files="**/masks/*.png",
    place=r"(?:.*/)?masks/(?P<clip>\d{3})(?P<frame>\d{3})\.png",
    video="clip{clip}",
    case="{clip}/{frame}",
    image=(r"masks/([^/]*)png$", r"imgs/\1jpg"),
)


def masks(folder: DataFolder) -> pl.DataFrame:
    """One row per mask; a clip is a video of its own."""
    table = _MASK_FILES.read(folder)
    number = pl.col("video").str.strip_prefix("clip").cast(pl.Int64)
    split = number.replace_strict(_CLIP_PARTS, default=None).alias("split")
    return table.with_columns(split, pl.format("clip{}", number).alias("video"))
