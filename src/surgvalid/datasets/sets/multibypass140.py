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

from surgvalid.datasets._data_set import References
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD
from surgvalid.errors import Misuse

CENTERS = {"bern": "BBP", "strasbourg": "SBP"}
_MOST_LABELS = 1000
OVERLAYS = {12: "out_of_body", 13: "severe_index"}
_SCHEMA = HEAD | {
    "center": pl.String,
    "start_ms": pl.Int64,
    "end_ms": pl.Int64,
    "label_id": pl.Int64,
    "label": pl.String,
}


def _segments(folder: DataFolder, kind: str, overlays: bool | None) -> pl.DataFrame:
    """Intervals of one kind; `overlays` picks phases (False), what lies over them (True) or everything (None)."""
    rows = []
    places = {center: f"labels/{center}/labels_by70/*.json" for center in CENTERS}
    for center in folder.parts(places, "labels/CENTRE/labels_by70/*.json"):
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


def _entries(folder: DataFolder, path: Path, kind: str) -> Iterator[Mapping[str, Any]]:
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


def _check_tiling(folder: DataFolder, path: Path, phases: list[Mapping[str, Any]]) -> None:
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


phases = partial(_segments, kind="phases", overlays=False)
overlays = partial(_segments, kind="phases", overlays=True)
steps = partial(_segments, kind="steps", overlays=None)
