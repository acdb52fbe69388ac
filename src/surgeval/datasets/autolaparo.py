"""AutoLaparo: 21 hysterectomies with phases once a second, 300 clips with the motion of the laparoscope, masks.

The files count seconds from 1 (frames are cut as `frame // 25 + 1`), and so do the references here: a prediction keeps
the numbers of the data set's own label files.
"""

from __future__ import annotations

import re

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task, ranges
from surgeval.datasets._folder import Folder, whole_number
from surgeval.datasets._layouts import HEAD, MaskFiles, VideoTables, number_of_video

KIND = "data set"
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
MASK_CLASSES = {
    20: "grasping forceps, manipulator",
    40: "grasping forceps, shaft",
    60: "LigaSure, manipulator",
    80: "LigaSure, shaft",
    100: "dissecting and grasping forceps, manipulator",
    120: "dissecting and grasping forceps, shaft",
    140: "electric hook, manipulator",
    160: "electric hook, shaft",
    180: "uterus",
}
ROWS = (
    *(6388, 3620, 3000, 2938, 3220, 3908, 1645, 4692, 5736, 5064, 4720, 2916, 2597, 4739, 3653, 3612, 4678, 3546),
    *(3413, 4832, 4326),
)
"""Seconds of videos 1 to 21."""
_MOTION_FILE = "laparoscope_motion_label.txt"
_VIDEOS = ranges("{:02}", train=(1, 10), val=(11, 14), test=(15, 21))
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


def _phases(folder: Folder) -> pl.DataFrame:
    table = _PHASE_FILES.read(folder)
    if table.is_empty():
        return table
    for video, rows in table.group_by("video", maintain_order=True).len().iter_rows():
        if rows != ROWS[int(video) - 1]:
            folder.warn("rows-differ", video, f"{rows:,} seconds; published: {ROWS[int(video) - 1]:,}")
    return table.with_columns(pl.col("phase").replace_strict(PHASES, default=None).alias("label"))


def _motions(folder: Folder) -> pl.DataFrame:
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
    image=lambda mask: mask.parent.parent / "imgs" / f"{mask.stem}.jpg",
)


def _masks(folder: Folder) -> pl.DataFrame:
    table = _MASK_FILES.read(folder)
    number = pl.col("video").str.strip_prefix("clip").cast(pl.Int64)
    split = number.replace_strict(_CLIP_PARTS, default=None).alias("split")
    return table.with_columns(split, pl.format("clip{}", number).alias("video"))


def _per_part(table: pl.DataFrame) -> dict[str, int]:
    if "split" not in table.columns:
        return {}
    return {f"cases in {split}": table.filter(pl.col("split") == split).height for split in _CLIPS}


_CLIP_CAUTION = (
    "Each clip stands as a video of its own, since the files do not say from which video a clip was cut; intervals are "
    "too narrow where clips share a patient."
)

DATA_SET = DataSet(
    name="autolaparo",
    title="AutoLaparo",
    citation="Wang et al., AutoLaparo, MICCAI 2022",
    source="form at https://autolaparo.github.io",
    checked_against="label files after the data set's own scripts, counts of an audit",
    licence="CC BY-NC-SA 4.0",
    tasks={
        "phase": Task(
            summary="surgical phase, once a second, seconds from 1",
            read=_phases,
            clock="seconds from 1",
            rate_hz=1.0,
            published={"videos": 21, "rows": sum(ROWS)},
            compared=Comparison(
                kind="phases", label="phase", fps=1.0, first_frame=1, options={"classes": tuple(map(str, PHASES))}
            ),
        ),
        "motion": Task(
            summary="motion of the laparoscope per clip, 0 to 6, and the phase of the clip",
            read=_motions,
            clock="whole clip",
            published={"cases": 300, "cases in train": 170, "cases in val": 57, "cases in test": 73},
            count=_per_part,
            compared=Comparison(
                kind="classification",
                label="motion",
                moment="case",
                caution=_CLIP_CAUTION,
                options={"classes": tuple(map(str, range(len(MOTIONS))))},
            ),
        ),
        "masks": Task(
            summary="files of masks of four instruments in two parts each and the uterus (grey codes)",
            read=_masks,
            clock="frames of the clip, 1 to 125",
            published={"cases": 1_800, "cases in train": 1_020, "cases in val": 342, "cases in test": 438},
            count=_per_part,
            compared=Comparison(
                kind="segmentation",
                masks="mask_file",
                caution=_CLIP_CAUTION,
                options={"classes": tuple(MASK_CLASSES)},
            ),
        ),
    },
    schemes={
        "official": _VIDEOS,
        "official clips": {split: [f"clip{n}" for n in clips] for split, clips in _CLIPS.items()},
    },
    notes=(
        "Seconds count from 1, as in the label files; a prediction that counts from 0 is one second off.",
        "Splits: videos 1-10, 11-14, 15-21; clips of tasks 2 and 3 1-170, 171-227, 228-300 (the data set's own code).",
        "From which video a clip was cut is not stated in the files, so each clip stands as its own video: intervals "
        "over clips are too narrow if clips share a patient.",
        "The table of motions on the web page prints other totals per class; its rows do not add up.",
        "Third-party loaders use invented phase names. Codes of the masks come from an audit.",
    ),
)
