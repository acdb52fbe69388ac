"""Cholec80: 80 cholecystectomies with a phase for every frame and tools once a second.

Both files name frames at 25 fps, but phases are given for each of them and tools for every 25th: the two
meet on the frame number, never on the row number.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from surgeval.datasets._comparison import Comparison, names
from surgeval.datasets._data_set import DataSet, Task, stacked
from surgeval.datasets._folder import Folder

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


def _cases(table: pl.DataFrame, video: str) -> pl.DataFrame:
    number = pl.col("Frame")
    return table.select(
        pl.format("{}/{}", pl.lit(video), number).alias("case"),
        pl.lit(video).alias("video"),
        number.alias("frame"),
        pl.lit(FPS, dtype=pl.Int64).alias("fps"),
        pl.exclude("Frame"),
    )


def _phases(folder: Folder) -> pl.DataFrame:
    tables = []
    for video, path in folder.named("phase_annotations/*.txt", r"(video\d\d)-phase\.txt"):
        table = folder.table(path, {"Frame": pl.Int64, "Phase": pl.String}, separator="\t")
        if table is None:
            continue
        for name in table.filter(~pl.col("Phase").is_in(PHASES))["Phase"].unique().sort():
            folder.problem("unknown-label", path, f"unknown phase {name!r}; known: {', '.join(PHASES)}")
        _check_steps(folder, path, table["Frame"], 1)
        tables.append(_cases(table, video).rename({"Phase": "phase"}))
    return stacked(tables)


def _tools(folder: Folder) -> pl.DataFrame:
    tables = []
    columns: dict[str, type[pl.DataType]] = {"Frame": pl.Int64, **dict.fromkeys(TOOLS, pl.Int64)}
    for video, path in folder.named("tool_annotations/*.txt", r"(video\d\d)-tool\.txt"):
        table = folder.table(path, columns, separator="\t")
        if table is None:
            continue
        for name in TOOLS:
            if not table[name].is_in([0, 1]).all():
                folder.problem("malformed", path, f"column {name!r} holds something else than 0 and 1")
        _check_steps(folder, path, table["Frame"], FPS)
        tables.append(_cases(table, video))
    return stacked(tables)


def _check_steps(folder: Folder, path: Path, frames: pl.Series, step: int) -> None:
    if frames.len() and frames[0] != 0:
        folder.problem(
            "frame-base", path, f"frames start at {frames[0]}, expected 0 (extracted images often start at 1)"
        )
    wrong = (frames.diff().drop_nulls() != step).sum()
    if wrong:
        folder.problem("frame-step", path, f"{wrong} of {frames.len() - 1} steps between frames are not {step}")


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
    licence=None,
    licence_note="access by form; the repository says CC BY-NC-SA, the licence of the data is not confirmed",
    tasks={
        "phase": Task(
            summary="surgical phase of every frame",
            read=_phases,
            clock=_CLOCK,
            rate_hz=25.0,
            published={"rows": 4_612_532, "videos": 80},
            compared=Comparison(kind="phases", label="phase", options={"classes": PHASES}),
        ),
        "tool": Task(
            summary="presence of seven tools, once a second",
            read=_tools,
            clock=_CLOCK,
            rate_hz=1.0,
            published={"rows": 184_498, "videos": 80},
            compared=Comparison(kind="classification", members=names(TOOLS)),
        ),
    },
    split_sizes={
        "endonet": {"train": 40, "test": 40},
        "32/8/40": {"train": 32, "val": 8, "test": 40},
    },
    schemes={
        "camma 40/8/32": {
            "train": [f"video{n:02}" for n in range(1, 41)],
            "val": [f"video{n:02}" for n in range(41, 49)],
            "test": [f"video{n:02}" for n in range(49, 81)],
        },
    },
    further_checks=_compare,
    disagreements=(
        "three splits are in use (40/40, 32/8/40, 40/8/32): a number without its split cannot be compared",
        "the TensorFlow release lists GallbladderRetraction 5th and GallbladderPackaging 7th; names decide, not ids",
    ),
    notes=(
        "The videos of the 40/8/32 split are those of several third-party loaders, not of an official file.",
        "Which videos form the 40/40 and 32/8/40 splits is not confirmed here, so only their sizes are given.",
        "Preparation is absent from 9 videos and CleaningCoagulation from 6.",
        "Extracted image files often start at 1 while frame ids start at 0.",
        "Row counts come from a secondary source.",
    ),
)
