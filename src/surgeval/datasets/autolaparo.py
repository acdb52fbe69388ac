"""AutoLaparo: 21 hysterectomies with phases once a second, and 300 clips with the motion of the laparoscope."""

from __future__ import annotations

import re

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task
from surgeval.datasets._folder import Folder, whole_number

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
_MOTION_FILE = "laparoscope_motion_label.txt"
_FIRST_TEST_CLIP = 228
_MOTIONS = 7
_SPLIT = {"train": range(1, 11), "val": range(11, 15), "test": range(15, 22)}


def _phases(folder: Folder) -> pl.DataFrame:
    """One row per second; a line holds the phase alone or after its number, below a header or not."""
    rows = []
    paths = [path for path in folder.files("**/*.txt") if re.search(r"\d+$", path.stem)]
    if not paths and folder.root.is_dir():
        folder.problem("missing", "**/*NN.txt", "no phase labels")
    for path in paths:
        number = int(re.findall(r"\d+", path.stem)[-1])
        if number not in range(1, 22):
            folder.problem("unknown-video", path, f"video {number} is not among 1 to 21")
            continue
        seconds = _numbered_lines(folder.lines(path))
        if not seconds:
            folder.problem("malformed", path, "no labels")
        for second, cells in enumerate(seconds):
            phase = whole_number(cells[-1])
            if phase is None or phase not in PHASES:
                folder.problem("unknown-label", path, f"second {second}: phase {cells[-1][:20]!r} is not 1 to 7")
                continue
            rows.append((f"{number:02}/{second}", f"{number:02}", second, phase, PHASES[phase]))
    schema = {"case": pl.String, "video": pl.String, "frame": pl.Int64, "phase": pl.Int64, "label": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _numbered_lines(lines: list[str]) -> list[list[str]]:
    cells = [line.split() for line in lines]
    header = bool(cells) and not any(cell.isdecimal() for cell in cells[0])
    return cells[header:]


def _motions(folder: Folder) -> pl.DataFrame:
    rows = []
    for path in folder.files(f"**/{_MOTION_FILE}"):
        for line, text in enumerate(folder.lines(path)[1:], start=2):
            cells = [cell.strip() for cell in text.split("\t")]
            clip = re.search(r"\d{1,9}$", cells[0].removesuffix(".mp4"))
            if clip is None or len(cells) < 3 or (motion := whole_number(cells[1])) is None or motion >= _MOTIONS:
                folder.problem(
                    "malformed", path, f"line {line}: expected clip, motion 0 to 6 and a third: {text[:60]!r}"
                )
                continue
            part = "test" if int(clip[0]) >= _FIRST_TEST_CLIP else "not test"
            rows.append((f"clip{int(clip[0])}", f"clip{int(clip[0])}", None, part, motion))
        if len(folder.lines(path)) < 2:
            folder.problem("malformed", path, "no labels below the header")
    schema = {"case": pl.String, "video": pl.String, "frame": pl.Int64, "split": pl.String, "motion": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


DATA_SET = DataSet(
    name="autolaparo",
    title="AutoLaparo",
    citation="Wang et al., AutoLaparo, MICCAI 2022",
    licence="CC BY-NC-SA 4.0",
    tasks={
        "phase": Task(
            summary="surgical phase, once a second",
            read=_phases,
            clock="seconds",
            rate_hz=1.0,
            published={"videos": 21},
            compared=Comparison(kind="phases", label="phase", options={"classes": tuple(map(str, PHASES))}),
        ),
        "motion": Task(
            summary="motion of the laparoscope per clip, 0 to 6",
            read=_motions,
            clock="whole clip",
            published={"cases": 300},
            compared=Comparison(
                kind="classification",
                label="motion",
                moment="case",
                caution="Each clip stands as a video of its own; intervals are too narrow where clips share a patient.",
                options={"classes": tuple(map(str, range(_MOTIONS)))},
            ),
        ),
    },
    schemes={"official": {part: [f"{n:02}" for n in numbers] for part, numbers in _SPLIT.items()}},
    notes=(
        "Names of the phase files are not confirmed: any .txt whose name ends in the number of a video is read.",
        "Whether they have a header and a frame column is not confirmed: both are accepted, the last cell counts.",
        "From which video a clip was cut is not known here, so each clip stands as its own video: intervals over clips "
        "are too narrow if clips share a patient.",
        "Test clips start at 228; how the others divide is not confirmed. The third column of the motions is not read.",
        "The 1,800 masks of task 3 are not read: their layout is not confirmed.",
        "Third-party loaders use invented phase names.",
    ),
)
