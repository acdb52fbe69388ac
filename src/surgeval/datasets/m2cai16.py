"""M2CAI16: phases of 41 cholecystectomies (workflow) and tools of 15 (tool), in the files of Cholec80's makers."""

from __future__ import annotations

import re
from pathlib import Path

from surgeval.datasets._comparison import Comparison, names
from surgeval.datasets._data_set import DataSet, Task, ranges
from surgeval.datasets._layouts import VideoTables
from surgeval.datasets.cholec80 import FPS, TOOLS
from surgeval.datasets.cholec80 import PHASES as CHOLEC80_PHASES

KIND = "data set"
PHASES = ("TrocarPlacement", *CHOLEC80_PHASES)
_LAST = {"workflow_video": 27, "test_workflow_video": 14, "tool_video": 15}


def _named(text: str) -> str | None:
    stem, number = text.lower().rsplit("_", 1)
    return f"{stem}_{int(number):02}" if 1 <= int(number) <= _LAST[stem] else None


def _strata(video: str, _: Path) -> dict[str, object]:
    tool = re.fullmatch(r"tool_video_(\d+)", video)
    test = int(tool[1]) > 10 if tool else video.startswith("test_")
    return {"split": "test" if test else "train", "fps": FPS}


def _tables(files: str, name: str, values: dict[str, tuple[str, ...] | range], step: int) -> VideoTables:
    return VideoTables(
        files=files,
        name=name,
        values=values,
        renamed={"Phase": "phase"},
        frame="Frame",
        separator="\t",
        header=True,
        video=_named,
        step=step,
        strata=_strata,
    )


_WORKFLOW = _tables("**/*workflow_video_*[0-9].txt", r"((?:test_)?workflow_video_\d+)\.txt", {"Phase": PHASES}, 1)
_TOOL = _tables("**/tool_video_*[0-9].txt", r"(tool_video_\d+)\.txt", dict.fromkeys(TOOLS, range(2)), FPS)

DATA_SET = DataSet(
    name="m2cai16",
    title="M2CAI16 (workflow and tool)",
    citation="Stauder et al., The TUM LapChole dataset, arXiv 1610.09278, 2016; Twinanda et al., EndoNet, 2017",
    source="form at http://camma.u-strasbg.fr/m2cai2016",
    checked_against="the maintainers' loader and a reader",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={
        "phase": Task(
            summary="surgical phase of every frame, eight phases",
            read=_WORKFLOW.read,
            clock="frames at 25 fps",
            rate_hz=25.0,
            published={"videos": 41},
            compared=Comparison(kind="phases", label="phase", options={"classes": PHASES}),
        ),
        "tool": Task(
            summary="presence of seven tools, once a second",
            read=_TOOL.read,
            clock="frames at 25 fps",
            rate_hz=1.0,
            published={"videos": 15},
            compared=Comparison(kind="classification", members=names(TOOLS)),
        ),
    },
    schemes={
        "workflow": {
            **ranges("workflow_video_{:02}", train=(1, 27)),
            **ranges("test_workflow_video_{:02}", test=(1, 14)),
        },
        "tool": ranges("tool_video_{:02}", train=(1, 10), test=(11, 15)),
    },
    notes=(
        "Videos 1-10 of the tool set are 67-76 of Cholec80, 11-15 are 61, 62, 64, 65 and 66.",
        "Phases are TrocarPlacement and then Cholec80's seven in Cholec80's order.",
        "Files that end in _pred.txt are predictions in the same form and are not references.",
    ),
)
