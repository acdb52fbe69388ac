"""Cholec80: 80 cholecystectomies with a phase for every frame and tools once a second.

Both files name frames at 25 fps, but phases are given for each of them and tools for every 25th: the two
meet on the frame number, never on the row number.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surgeval.datasets._comparison import Comparison, names
from surgeval.datasets._data_set import DataSet, Task, ranges
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import VideoTables, number_of_video

KIND = "data set"
FPS = 25
PHASES = (
    "Preparation",
    "CalotTriangleDissection",
    "ClippingCutting",
    "GallbladderDissection",
    "GallbladderPackaging",
    "CleaningCoagulation",
    "GallbladderRetraction",
)
TOOLS = ("Grasper", "Bipolar", "Hook", "Scissors", "Clipper", "Irrigator", "SpecimenBag")
_VIDEO = "video{:02}"


def frame_tables(files: str, name: str, values: Mapping[str, tuple[str, ...] | range], step: int) -> VideoTables:
    """The files of Cholec80 and M2CAI16: tab-separated, below a header, frames at 25 fps from 0."""
    return VideoTables(
        files=files,
        name=name,
        values=values,
        renamed={"Phase": "phase"},
        frame="Frame",
        separator="\t",
        header=True,
        video=number_of_video(_VIDEO, range(1, 81)),
        first=0,
        step=step,
        strata=lambda *_: {"fps": FPS},
    )


_PHASE_FILES = frame_tables("phase_annotations/*.txt", r"(video\d+)-phase\.txt", {"Phase": PHASES}, 1)
_TOOL_FILES = frame_tables("tool_annotations/*.txt", r"(video\d+)-tool\.txt", dict.fromkeys(TOOLS, range(2)), FPS)


def _compare(folder: Folder, tables: Mapping[str, pl.DataFrame]) -> None:
    if len(tables) < 2:
        return
    phases, tools = set(tables["phase"]["video"].unique()), set(tables["tool"]["video"].unique())
    for video in sorted(phases ^ tools):
        folder.warn("one-sided", video, f"has {'phases' if video in phases else 'tools'} only")


_CLOCK = "frames at 25 fps"

DATA_SET = DataSet(
    name="cholec80",
    title="Cholec80",
    citation="Twinanda et al., EndoNet, IEEE Transactions on Medical Imaging 2017",
    source="form at http://camma.u-strasbg.fr/datasets",
    checked_against="several readers, the TensorFlow release, row counts of an audit",
    licence=None,
    licence_note="access by form; the repository says CC BY-NC-SA, the licence of the data is not confirmed",
    tasks={
        "phase": Task(
            summary="surgical phase of every frame",
            read=_PHASE_FILES.read,
            clock=_CLOCK,
            rate_hz=25.0,
            published={"rows": 4_612_532, "videos": 80},
            compared=Comparison(kind="phases", label="phase", options={"classes": PHASES}),
        ),
        "tool": Task(
            summary="presence of seven tools, once a second",
            read=_TOOL_FILES.read,
            clock=_CLOCK,
            rate_hz=1.0,
            published={"rows": 184_498, "videos": 80},
            compared=Comparison(kind="classification", members=names(TOOLS)),
        ),
    },
    schemes={
        "endonet 40/40": ranges(_VIDEO, train=(1, 40), test=(41, 80)),
        "32/8/40": ranges(_VIDEO, train=(1, 32), val=(33, 40), test=(41, 80)),
        "camma 40/8/32": ranges(_VIDEO, train=(1, 40), val=(41, 48), test=(49, 80)),
    },
    further_checks=_compare,
    disagreements=(
        "three splits are in use (40/40, 32/8/40, 40/8/32): a number without its split cannot be compared",
        "the TensorFlow release lists GallbladderRetraction 5th and GallbladderPackaging 7th; names decide, not ids",
    ),
    notes=(
        "40/40 and 32/8/40 as in several independent readers; 40/8/32 as in CAMMA-public/SurgLatentGraph.",
        "Preparation is absent from 9 videos and CleaningCoagulation from 6.",
        "Extracted image files often start at 1 while frame ids start at 0.",
        "Row counts come from an audit of a downloaded copy.",
    ),
)
