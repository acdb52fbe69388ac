"""HeiCo / ROBUST-MIS: three kinds of surgery with instrument instances, and phases of every frame.

Two layouts are in use. HeiCo: `{surgery type}/{procedure}/Instrument segmentations/{frame}/` and
`{surgery type}/{procedure}/{Type}_{procedure}_Phase.csv`. ROBUST-MIS: `{split}/{surgery type}/{patient}/{frame}/`.
Procedures are numbered anew for every type of surgery, so a video is named by both.
"""

from __future__ import annotations

import re

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import HEAD, MaskFiles

KIND = "data set"
SURGERIES = ("Proctocolectomy", "Rectal Resection", "Sigmoid Resection")
PHASES = range(14)
FPS = 25
_MASK, _IMAGE = "instrument_instances.png", "raw.png"
_TYPE = r"(?P<surgery_type>[^/]+)/(?P<procedure>[^/]+)"
_END = rf"(?P<frame>\d{{1,12}})/{re.escape(_MASK)}"


def _masks(place: str, strata: tuple[str, ...]) -> MaskFiles:
    return MaskFiles(
        files=f"*/*/*/*/{_MASK}",
        place=place,
        video="{surgery_type}/{procedure}",
        image=lambda mask: mask.with_name(_IMAGE),
        bit_depth=8,
        strata=strata,
        spelled=str.title,
    )


_HEICO = _masks(rf"{_TYPE}/instrument segmentations/{_END}", ("surgery_type",))
_ROBUST_MIS = _masks(rf"(?P<split>[^/]+)/{_TYPE}/{_END}", ("split", "surgery_type"))


def _instances(folder: Folder) -> pl.DataFrame:
    """One row per mask, in whichever of the two layouts the folder has."""
    masks = folder.files(f"*/*/*/*/{_MASK}")
    heico, masked = any("instrument segmentations" in str(path).lower() for path in masks), {p.parent for p in masks}
    for image in folder.files(f"*/*/*/*/{_IMAGE}", needed=False):
        if image.parent not in masked:
            folder.problem("missing", image.with_name(_MASK), "no such file")
    return (_HEICO if heico else _ROBUST_MIS).read(folder)


def _phases(folder: Folder) -> pl.DataFrame:
    """The phase of every frame; the file is named after its type of surgery without the blank."""
    tables = []
    for path in folder.files("*/*/*_Phase.csv"):
        surgery, procedure = path.parent.parent.name.title(), path.parent.name
        if path.stem.lower() != f"{surgery.replace(' ', '')}_{procedure}_phase".lower():
            folder.warn("unexpected-file", path, "not named after the folders that it lies in; not read")
            continue
        table = folder.table(path, {"frame": pl.Int64, "phase": pl.Int64}, header=False)
        if table is None:
            continue
        if not table["phase"].is_between(PHASES[0], PHASES[-1]).all():
            folder.problem("unknown-label", path, f"a phase is not within {PHASES[0]} and {PHASES[-1]}")
        video = f"{surgery}/{procedure}"
        about = pl.lit(surgery).alias("surgery_type"), pl.lit(FPS, dtype=pl.Int64).alias("fps")
        case = pl.format("{}/{}", pl.lit(video), "frame").alias("case")
        tables.append(table.select(case, pl.lit(video).alias("video"), "frame", *about, "phase"))
    return pl.concat(tables) if tables else pl.DataFrame(schema=HEAD)


DATA_SET = DataSet(
    name="heico",
    title="HeiCo / ROBUST-MIS",
    citation="Maier-Hein et al., Heidelberg colorectal data set, Scientific Data 2021",
    source="https://www.synapse.org/heico",
    checked_against="the paper's figure 4 and a reader",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={
        "instances": Task(
            summary="files of instrument instance masks",
            read=_instances,
            clock="frames of the video",
            published={"cases": 10_040},
            compared=Comparison(kind="segmentation", masks="mask_file", options={"instances": True}),
        ),
        "phase": Task(
            summary="surgical phase of every frame, ids 0 to 13 (HeiCo layout)",
            read=_phases,
            clock="frames at 25 fps",
            rate_hz=25.0,
            published={"videos": 30},
            compared=Comparison(kind="phases", label="phase", options={"classes": tuple(map(str, PHASES))}),
        ),
    },
    split_sizes={"frames": {"train": 5_983, "test": 4_057}},
    notes=(
        "A video is a type of surgery and a procedure: procedure 1 of three types is three patients.",
        "Stage 3 of the test set is a surgery type that is not in training.",
        "In ROBUST-MIPS instance ids are 50, 100, 150, ...; it also corrects masks, so the two are not exchangeable.",
        "Names of phases 0 to 7 are published (preparation and orientation, lymph nodes and vessels, ...), those of "
        "8 to 13 were not found, so phases go by number. Blue frames are outside the body. Device files are not read.",
    ),
)
