"""HeiCo / ROBUST-MIS: three kinds of surgery with instrument instances, and phases of every frame.

Two layouts are in use. HeiCo: `{surgery type}/{procedure}/Instrument segmentations/{frame}/` and
`{surgery type}/{procedure}/{Type}_{procedure}_Phase.csv`. ROBUST-MIS: `{split}/{surgery type}/{patient}/{frame}/`.
Procedures are numbered anew for every type of surgery, so a video is named by both.
"""

from __future__ import annotations

import re

import polars as pl

from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD, MaskFiles

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
        image=(_MASK, _IMAGE),
        bit_depth=8,
        strata=strata,
        spelled=str.title,
    )


_HEICO = _masks(rf"{_TYPE}/instrument segmentations/{_END}", ("surgery_type",))
_ROBUST_MIS = _masks(rf"(?P<split>[^/]+)/{_TYPE}/{_END}", ("split", "surgery_type"))


def instances(folder: DataFolder) -> pl.DataFrame:
    """One row per mask, in whichever of the two layouts the folder has."""
    masks = folder.files(f"*/*/*/*/{_MASK}")
    heico, masked = any("instrument segmentations" in str(path).lower() for path in masks), {p.parent for p in masks}
    for image in folder.files(f"*/*/*/*/{_IMAGE}", needed=False):
        if image.parent not in masked:
            folder.problem("missing", image.with_name(_MASK), "no such file")
    return (_HEICO if heico else _ROBUST_MIS).read(folder)


def phases(folder: DataFolder) -> pl.DataFrame:
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
