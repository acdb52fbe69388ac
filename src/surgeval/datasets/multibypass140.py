"""MultiBypass140: 140 gastric bypasses of two centres with phases and steps as intervals in milliseconds.

Phases 0 to 11 tile a video without gap or overlap. Ids 12 (out of body) and 13 (severe index) lie over other
phases; they are a task of their own, so that no moment ever has two phases. The 1-fps labels and the folds
are published as pickles, which are not opened: labels are rebuilt from the intervals by `phases_at_seconds`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, References, Task
from surgeval.datasets._folder import Folder
from surgeval.errors import Misuse

KIND = "data set"
CENTERS = {"bern": "BBP", "strasbourg": "SBP"}
_MOST_LABELS = 1000
OVERLAYS = {12: "out_of_body", 13: "severe_index"}
_SCHEMA: dict[str, type[pl.DataType]] = {
    "case": pl.String,
    "video": pl.String,
    "frame": pl.Int64,
    "center": pl.String,
    "start_ms": pl.Int64,
    "end_ms": pl.Int64,
    "label_id": pl.Int64,
    "label": pl.String,
}


def _segments(folder: Folder, kind: str, overlays: bool | None) -> pl.DataFrame:
    """Intervals of one kind; `overlays` picks phases (False), what lies over them (True) or everything (None)."""
    rows = []
    places = {center: f"labels/{center}/labels_by70/*.json" for center in CENTERS}
    here = [center for center, place in places.items() if folder.files(place, needed=False)]
    if not here and folder.root.is_dir():
        folder.problem("missing", "labels/CENTRE/labels_by70/*.json", "no labels of either centre")
    for center in CENTERS:
        if here and center not in here:
            folder.absent(places[center], f"the videos of {center} are not here; what is here is read")
    for center in here:
        for name, path in folder.named(places[center], rf"({CENTERS[center]}\d+)\.mp4\.json"):
            video = name.upper()
            entries = list(_entries(folder, path, kind))
            kept = [e for e in entries if overlays is None or (e["label_id"] in OVERLAYS) is overlays]
            for number, e in enumerate(kept):
                case, times = f"{video}/{'overlay' if overlays else kind}{number}", (e["start"], e["end"])
                rows.append((case, video, None, center, *times, e["label_id"], str(e["label_name"])))
            if overlays is False:
                _check_tiling(folder, path, kept)
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _entries(folder: Folder, path: Path, kind: str) -> Iterator[Mapping[str, Any]]:
    content = folder.json_object(path)
    if content is None:
        return
    entries = content.get(kind)
    if not isinstance(entries, list):
        folder.problem("malformed", path, f"lacks the list {kind!r}")
        return
    for number, entry in enumerate(entries):
        whole = isinstance(entry, dict) and all(isinstance(entry.get(k), int) for k in ("start", "end", "label_id"))
        if not whole or "label_name" not in entry:
            folder.problem("malformed", path, f"{kind} {number}: expected start, end, label_id, label_name")
        elif not 0 <= entry["label_id"] < _MOST_LABELS:
            folder.problem("unknown-label", path, f"{kind} {number}: label_id {str(entry['label_id'])[:20]}")
        elif not 0 <= entry["start"] < entry["end"] < 1 << 40:
            folder.problem("malformed", path, f"{kind} {number}: from {entry['start']} ms to {entry['end']} ms")
        else:
            yield entry


def _check_tiling(folder: Folder, path: Path, phases: list[Mapping[str, Any]]) -> None:
    ordered = sorted(phases, key=lambda entry: int(entry["start"]))
    for before, after in pairwise(ordered):
        if after["start"] < before["end"]:
            folder.problem(
                "overlap", path, f"two phases at {after['start']} ms: {before['label_id']}, {after['label_id']}"
            )
        elif after["start"] > before["end"] + 1:
            folder.warn("gap", path, f"no phase from {before['end']} ms to {after['start']} ms")


def phases_at_seconds(references: References) -> References:
    """The phase at every whole second, from intervals that do not overlap.

    Raises:
        Misuse: The references are not the phases: overlays and steps may hold two labels at once.
    """
    if (references.data_set, references.task) != ("multibypass140", "phase"):
        raise Misuse(
            f"only 'phase' of multibypass140 has one label per moment, got {references.task!r} of "
            f"{references.data_set}; overlays lie over phases and cannot be sampled as one"
        )
    seconds = references.table.with_columns(
        pl.int_ranges((pl.col("start_ms") + 999) // 1000, (pl.col("end_ms") + 999) // 1000).alias("frame")
    )
    rows = (
        seconds.explode("frame")
        .drop_nulls("frame")
        .with_columns(pl.format("{}/{}", "video", "frame").alias("case"), pl.col("label_id").alias("phase"))
    )
    table = rows.select("case", "video", "frame", "center", "phase", "label")
    return replace(references, table=table, clock="seconds", rate_hz=1.0)


_PHASES = Comparison(
    kind="phases",
    label="phase",
    options={"classes": tuple(str(phase) for phase in range(min(OVERLAYS)))},
    arranged=phases_at_seconds,
)


def _task(summary: str, kind: str, overlays: bool | None, compared: Comparison | None = None, **published: int) -> Task:
    read = partial(_segments, kind=kind, overlays=overlays)
    return Task(summary=summary, read=read, clock="milliseconds", published=published, compared=compared)


DATA_SET = DataSet(
    name="multibypass140",
    title="MultiBypass140",
    citation="Lavanchy et al., Int. J. Computer Assisted Radiology and Surgery 2024",
    source="https://github.com/CAMMA-public/MultiBypass140",
    checked_against="real label files of both centres",
    licence="CC BY-NC-SA 4.0",
    tasks={
        "phase": _task("phases 0 to 11 as intervals that tile the video", "phases", False, _PHASES, videos=140),
        "overlay": _task("out of body (12) and severe index (13), over the phases", "phases", True, rows=689 + 334),
        "step": _task("46 steps as intervals", "steps", None, videos=140),
    },
    disagreements=(
        "files hold 14 phase ids, the paper counts 12: out_of_body (689 times) and severe_index (334) lie over phases",
    ),
    notes=(
        "Times are milliseconds, not frames.",
        "The five folds per centre are published as pickles, which are not opened, so their videos are not known here.",
        "Adverse events (5 types, severity 1 to 5, 0 = none) are only in the download and are not read.",
        "Frames of the download are numbered from 1 (img1.jpg); references here are whole seconds from 0.",
        "Whether an interval includes its last millisecond is not confirmed: [start, end) is used, and a gap of 1 ms "
        "is none.",
    ),
)
