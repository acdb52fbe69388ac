"""HeiChole: 24 public cholecystectomies with phases, instruments, actions and skill.

Seven videos have 50 frames per second and the others 25, so one step in frames is not one rate: use
`sampled(references, rate_hz=1)`, which thins each video by its own frame rate and refuses a step in frames.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import polars as pl

from surgeval.datasets._comparison import Comparison, names
from surgeval.datasets._data_set import DataSet, Task, listed
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import HEAD, VideoTables, number_of_video

KIND = "data set"
FAST_VIDEOS = (16, 17, 18, 19, 20, 23, 24)
"""Videos with 50 frames per second."""
PUBLIC_VIDEOS = 24
ACTIONS = ("grasp", "hold", "cut", "clip")
SKILLS = ("depth perception", "bimanual dexterity", "efficiency", "tissue handling", "difficulty")
RATINGS = range(1, 6)
SKILL_PARTS = {"": "whole video", "calot": "Calot", "dissection": "dissection"}
INSTRUMENTS = {
    0: "grasper",
    1: "clipper",
    2: "coagulation",
    3: "scissors",
    4: "suction-irrigation",
    5: "specimen bag",
    6: "stapler",
    20: "undefined shaft",
}
"""The slots that are used; 7 to 19 are zero."""
_INSTRUMENT_SLOTS, _PHASES = 21, 7
_KIT_SPLIT = {"val": (6, 19, 10, 8, 20), "test": (4, 1, 22, 16, 13)}
_VIDEO = "Hei-Chole{}"
_named = number_of_video(_VIDEO, range(1, PUBLIC_VIDEOS + 1))


def frames_per_second(video: int) -> int:
    """The frame rate of a public video.

    Example:
        >>> frames_per_second(16), frames_per_second(15)
        (50, 25)
    """
    return 50 if video in FAST_VIDEOS else 25


def _per_frame(kind: str, values: dict[str, Collection[int]]) -> VideoTables:
    return VideoTables(
        files=f"annotations/{kind}/*_annotation_{kind}.csv",
        name=rf"(Hei-Chole\d+)_Annotation_{kind}\.csv",
        values=values,
        video=_named,
        strata=lambda video, _: {"fps": frames_per_second(int(video.removeprefix("Hei-Chole")))},
    )


def _skill(folder: Folder) -> pl.DataFrame:
    """One row per video, part and item, rated 1 to 5."""
    rows: list[tuple[object, ...]] = []
    for path in folder.files("annotations/skill/*_skill.csv"):
        match = re.fullmatch(r"(Hei-Chole\d+)(?:_(Calot|Dissection))?_Skill\.csv", path.name, re.IGNORECASE)
        if match is None:
            folder.warn("unexpected-file", path, "not named Hei-CholeN[_Calot|_Dissection]_Skill.csv; not read")
            continue
        table = folder.table(path, dict.fromkeys(SKILLS, pl.Int64), header=False)
        video = _named(match[1])
        if video is None:
            folder.problem("unknown-video", path, f"{match[1]} is not among the public 1 to {PUBLIC_VIDEOS}")
        elif table is not None and (table.height != 1 or not all(rating in RATINGS for rating in table.row(0))):
            folder.problem("malformed", path, f"expected one row of five ratings from 1 to 5, got {table.height} rows")
        elif table is not None:
            section = SKILL_PARTS[(match[2] or "").lower()]
            rated = zip(SKILLS, table.row(0), strict=True)
            rows += [(f"{video}/{section}/{item}", video, None, section, item, rating) for item, rating in rated]
    schema = HEAD | {"part": pl.String, "item": pl.String, "rating": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


_CLOCK = "frames of the video (25 or 50 fps)"


def _task(summary: str, kind: str, values: dict[str, Collection[int]], compared: Comparison) -> Task:
    read = _per_frame(kind, values).read
    return Task(summary=summary, read=read, clock=_CLOCK, published={"videos": PUBLIC_VIDEOS}, compared=compared)


DATA_SET = DataSet(
    name="heichole",
    title="HeiChole",
    citation="Wagner et al., HeiChole benchmark, Medical Image Analysis 2023",
    source="https://www.synapse.org/heichole (registration)",
    checked_against="a kit and an audit",
    licence=None,
    licence_note="CC BY-NC by an audit; terms of the Synapse project",
    tasks={
        "phase": _task(
            "surgical phase of every frame, ids 0 to 6",
            "Phase",
            {"phase": range(_PHASES)},
            Comparison(kind="phases", label="phase", options={"classes": tuple(map(str, range(_PHASES)))}),
        ),
        "instrument": _task(
            "presence of instruments: seven categories and an undefined shaft",
            "Instrument",
            {f"instrument_{slot}": range(2) for slot in range(_INSTRUMENT_SLOTS)},
            Comparison(
                kind="classification", members={f"instrument_{slot}": name for slot, name in INSTRUMENTS.items()}
            ),
        ),
        "action": _task(
            "presence of four actions",
            "Action",
            {action: range(2) for action in ACTIONS},
            Comparison(kind="classification", members=names(ACTIONS)),
        ),
        "skill": Task(
            summary="five skill items, 1 to 5, of the whole video, its Calot part and its dissection part",
            read=_skill,
            clock="whole video",
            published={"rows": 3 * len(SKILLS) * PUBLIC_VIDEOS, "videos": PUBLIC_VIDEOS},
            compared=Comparison(
                kind="classification",
                label="rating",
                moment="case",
                metrics=("accuracy", "macro_f1", "expected_cost", "quadratic_kappa"),
                options={"classes": tuple(map(str, RATINGS))},
            ),
        ),
    },
    schemes={"surgbenchkit": listed(_VIDEO, _KIT_SPLIT)},
    unofficial=("surgbenchkit",),
    disagreements=(
        "24 of the 33 videos are public; SurgBenchKit's split of them (test 4, 1, 22, 16, 13) is its own",
        "every 25th frame is 1 Hz on 17 videos and 2 Hz on 7 (16-20, 23, 24)",
    ),
    notes=(
        "No official split of the public videos is known here; 'surgbenchkit' is that kit's own.",
        "Phase ids are in Cholec80 order with packaging 4, cleaning 5, retraction 6.",
        "Cleaning is absent from videos 10, 15, 21 and 22.",
        "Names of the instruments come from one kit and one audit; slots 7-19 are zero and are not compared.",
        "The files _Instrument_Detailed (31 slots) and _Action_Detailed (12 columns) are not read.",
        "White frames are outside the body. Frame rates come from one audit.",
        "Ratings: expected_cost is their mean absolute error, beside quadratic_kappa.",
        "Items of the skill files come from a kit and an audit; the official tool does not name them.",
    ),
)
