"""M2CAI16: phases of 41 cholecystectomies (workflow) and tools of 15 (tool), in the files of Cholec80's makers."""

from __future__ import annotations

import re

from surgvalid.datasets._layouts import VideoTables

FPS = 25
PHASES = (
    *("TrocarPlacement", "Preparation", "CalotTriangleDissection", "ClippingCutting", "GallbladderDissection"),
    *("GallbladderPackaging", "CleaningCoagulation", "GallbladderRetraction"),
)
TOOLS = ("Grasper", "Bipolar", "Hook", "Scissors", "Clipper", "Irrigator", "SpecimenBag")
_LAST = {"workflow_video": 27, "test_workflow_video": 14, "tool_video": 15}


def _named(text: str) -> str | None:
    stem, number = text.lower().rsplit("_", 1)
    return f"{stem}_{int(number):02}" if 1 <= int(number) <= _LAST[stem] else None


def _strata(video: str) -> dict[str, object]:
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


read_phases = _tables(
    "**/*workflow_video_*[0-9].txt", r"((?:test_)?workflow_video_\d+)\.txt", {"Phase": PHASES}, 1
).read
read_tools = _tables("**/tool_video_*[0-9].txt", r"(tool_video_\d+)\.txt", dict.fromkeys(TOOLS, range(2)), FPS).read
