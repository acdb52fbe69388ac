"""HeiChole: 24 public cholecystectomies with phases, instruments, actions and skill for every frame.

Seven videos have 50 frames per second and the others 25, so one step in frames is not one rate: use
`sampled(references, rate_hz=1)`, which thins each video by its own frame rate and refuses a step in frames.
"""

from __future__ import annotations

import re
from functools import partial

import polars as pl

from surgeval.datasets._comparison import Comparison, names, numbered
from surgeval.datasets._data_set import DataSet, Task, stacked
from surgeval.datasets._folder import Folder, either_case

KIND = "data set"
FAST_VIDEOS = (16, 17, 18, 19, 20, 23, 24)
"""Videos with 50 frames per second."""
PUBLIC_VIDEOS = 24
ACTIONS = ("grasp", "hold", "cut", "clip")
SKILLS = ("depth", "bimanual", "efficiency", "tissue", "difficulty")
_INSTRUMENT_SLOTS, _PHASES = 21, 7
_KIT_SPLIT = {"val": (6, 19, 10, 8, 20), "test": (4, 1, 22, 16, 13)}
_NAME = r"Hei-Chole(\d+)_Annotation_{}\.csv"


def frames_per_second(video: int) -> int:
    """The frame rate of a public video.

    Example:
        >>> frames_per_second(16), frames_per_second(15)
        (50, 25)
    """
    return 50 if video in FAST_VIDEOS else 25


def _per_frame(folder: Folder, kind: str, columns: tuple[str, ...], largest: int) -> pl.DataFrame:
    tables = []
    types: dict[str, type[pl.DataType]] = {"frame": pl.Int64, **dict.fromkeys(columns, pl.Int64)}
    pattern = either_case(f"annotations/{kind}/*_annotation_{kind}.csv")
    for number, path in sorted(folder.named(pattern, _NAME.format(kind)), key=lambda found: int(found[0])):
        table = folder.table(path, types, header=False)
        if table is None:
            continue
        if not 1 <= int(number) <= PUBLIC_VIDEOS:
            folder.problem("unknown-video", path, f"video {number} is not among the public 1 to {PUBLIC_VIDEOS}")
            continue
        for name in columns:
            if not table[name].is_between(0, largest).all():
                folder.problem("unknown-label", path, f"column {name!r} holds a value outside 0 to {largest}")
        video = f"Hei-Chole{int(number)}"
        fps = pl.lit(frames_per_second(int(number)), dtype=pl.Int64).alias("fps")
        case = pl.format("{}/{}", pl.lit(video), "frame").alias("case")
        tables.append(table.select(case, pl.lit(video).alias("video"), "frame", fps, *columns))
    return stacked(tables)


def _skill(folder: Folder) -> pl.DataFrame:
    """One row per file of a video: three raters or parts of the video, which the files do not say."""
    tables = []
    for path in folder.files(either_case("annotations/skill/*_annotation_skill*.csv")):
        match = re.fullmatch(r"Hei-Chole(\d+)_Annotation_Skill(.*)\.csv", path.name, re.IGNORECASE)
        table = folder.table(path, dict.fromkeys(SKILLS, pl.Int64), header=False)
        if match is None or table is None:
            continue
        if not 1 <= int(match[1]) <= PUBLIC_VIDEOS:
            folder.problem("unknown-video", path, f"video {match[1]} is not among the public 1 to {PUBLIC_VIDEOS}")
        if table.height != 1:
            folder.problem("malformed", path, f"expected one row, got {table.height}")
        video = f"Hei-Chole{int(match[1])}"
        names = pl.lit(f"{video}/skill{match[2]}").alias("case"), pl.lit(video).alias("video")
        tables.append(table.select(*names, pl.lit(None, dtype=pl.Int64).alias("frame"), *SKILLS))
    return stacked(tables)


_INSTRUMENTS = tuple(f"instrument_{slot}" for slot in range(_INSTRUMENT_SLOTS))
_CLOCK = "frames of the video (25 or 50 fps)"


_ORDERED_PHASES = tuple(str(phase) for phase in range(_PHASES))


def _task(summary: str, kind: str, columns: tuple[str, ...], largest: int, compared: Comparison) -> Task:
    read = partial(_per_frame, kind=kind, columns=columns, largest=largest)
    return Task(summary=summary, read=read, clock=_CLOCK, published={"videos": PUBLIC_VIDEOS}, compared=compared)


DATA_SET = DataSet(
    name="heichole",
    title="HeiChole",
    citation="Wagner et al., HeiChole benchmark, Medical Image Analysis 2023",
    licence=None,
    licence_note="terms of the Synapse project",
    tasks={
        "phase": _task(
            "surgical phase of every frame, ids 0 to 6",
            "Phase",
            ("phase",),
            _PHASES - 1,
            Comparison(kind="phases", label="phase", options={"classes": _ORDERED_PHASES}),
        ),
        "instrument": _task(
            "presence of instruments, 21 slots",
            "Instrument",
            _INSTRUMENTS,
            1,
            Comparison(kind="classification", members=numbered("instrument", _INSTRUMENT_SLOTS)),
        ),
        "action": _task(
            "presence of four actions",
            "Action",
            ACTIONS,
            1,
            Comparison(kind="classification", members=names(ACTIONS)),
        ),
        "skill": Task(
            summary="five skill items, three files per video",
            read=_skill,
            clock="whole video",
            published={"rows": 3 * PUBLIC_VIDEOS, "videos": PUBLIC_VIDEOS},
        ),
    },
    schemes={"surgbenchkit": {part: [f"Hei-Chole{n}" for n in numbers] for part, numbers in _KIT_SPLIT.items()}},
    unofficial=("surgbenchkit",),
    disagreements=(
        "24 of the 33 videos are public; SurgBenchKit's split of them (test 4, 1, 22, 16, 13) is its own",
        "every 25th frame is 1 Hz on 17 videos and 2 Hz on 7 (16-20, 23, 24)",
    ),
    notes=(
        "No official split of the public videos is known here; 'surgbenchkit' is that kit's own.",
        "Phase ids are in Cholec80 order with packaging 4, cleaning 5, retraction 6.",
        "Cleaning is absent from videos 10, 15, 21 and 22.",
        "Slots 0-6 of the instruments are used, 7-19 are zero and 20 is an undefined shaft; names not confirmed.",
        "The files _Instrument_Detailed (31 slots) and _Action_Detailed (12 columns) are not read.",
        "White frames are outside the body. Frame rates come from one audit.",
        "What distinguishes the three skill files of a video is not confirmed; their endings are kept in `case`.",
    ),
)
