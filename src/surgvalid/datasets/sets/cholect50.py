"""CholecT50: 50 cholecystectomies with action triplets and phases once a second, one JSON file per video.

An annotation is a vector of 15: triplet, tool id, score, tool box, verb, target id, score, target box, phase.
-1 is null. A frame may hold nothing but -1 and still a phase, so a frame without triplet is a case too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.datasets._data_set import NO_CASES, References
from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.datasets._layouts import HEAD

SIZES = {"triplet": 100, "instrument": 6, "verb": 10, "target": 15}
VECTOR_LENGTH = 15
_PLACES = {"triplet": 0, "instrument": 1, "verb": 7, "target": 8, "phase": 14}
_TOOL_BOX = slice(3, 7)
_PHASES, _TRIPLETS = 7, SIZES["triplet"]


def triplets(folder: DataFolder) -> pl.DataFrame:
    """One row per instance of a triplet; frames without one are a row with null triplet."""
    schema = HEAD | dict.fromkeys(_PLACES, pl.Int64) | dict.fromkeys(("x", "y", "width", "height"), pl.Float64)
    return pl.DataFrame([_row(*vector) for vector in _vectors(folder)], schema=schema, orient="row")


def _row(video: str, frame: int, vector: list[float]) -> tuple[object, ...]:
    parts = [None if vector[place] < 0 else int(vector[place]) for place in _PLACES.values()]
    box = [None if min(vector[_TOOL_BOX]) < 0 else float(number) for number in vector[_TOOL_BOX]]
    return (f"{video}/{frame}", video, frame, *parts, *box)


def presence_per_frame(references: References) -> References:
    """Whether each of the 100 triplets is there, one row per frame, as CholecT45 has it; instances are joined."""
    columns = [pl.col("triplet").eq(place).any().cast(pl.Int64).alias(f"triplet_{place}") for place in range(_TRIPLETS)]
    rows = references.table.with_columns(pl.col("triplet").fill_null(-1))
    return replace(references, table=rows.group_by("case", "video", "frame", maintain_order=True).agg(columns))


def phases(folder: DataFolder) -> pl.DataFrame:
    """The phase of every frame; its instances must agree."""
    table = triplets(folder)
    if table.is_empty():
        return NO_CASES
    phases = table.group_by("case", "video", "frame", maintain_order=True).agg(
        pl.col("phase").first(), pl.col("phase").n_unique().alias("different")
    )
    for case in phases.filter(pl.col("different") > 1)["case"].head(20):
        folder.problem("malformed", "labels", f"frame {case} holds two phases")
    return phases.drop("different").drop_nulls("phase")


def _vectors(folder: DataFolder) -> Iterator[tuple[str, int, list[float]]]:
    for name, path in folder.named("labels/*.json", r"(VID\d{2,3})\.json"):
        video = name.upper()
        content = folder.json_object(path)
        if content is None:
            continue
        if content.get("fps") not in (None, 1):
            message = f"fps is {content['fps']!r}, expected 1: frame keys would be other moments"
            folder.problem("frame-rate", path, message)
        frames = content.get("annotations")
        if not isinstance(frames, dict):
            folder.problem("malformed", path, "lacks the object 'annotations'")
            continue
        for frame, vectors in frames.items():
            yield from _frame_vectors(folder, path, video, frame, vectors)


def _frame_vectors(
    folder: DataFolder, path: Path, video: str, frame: str, vectors: Any
) -> Iterator[tuple[str, int, list[float]]]:
    number = whole_number(frame)
    if number is None or not isinstance(vectors, list):
        folder.problem("malformed", path, f"frame {frame[:20]!r}: expected a number and a list")
        return
    for vector in vectors:
        if problem := _problem(vector):
            folder.problem("malformed", path, f"frame {frame}: {problem}")
        else:
            yield video, number, vector


def _problem(vector: Any) -> str:
    if not isinstance(vector, list) or len(vector) != VECTOR_LENGTH:
        return f"expected {VECTOR_LENGTH} numbers, got {str(vector)[:60]}"
    if not all(isinstance(number, int | float) and abs(number) < 1e9 for number in vector):
        return f"not only numbers in {str(vector)[:60]}"
    for name, size in (SIZES | {"phase": _PHASES}).items():
        label = vector[_PLACES[name]]
        if not -1 <= label < size or label != int(label):
            return f"{name} {label} is not a whole number from -1 to {size - 1}"
    return ""


def instances(table: pl.DataFrame) -> dict[str, int]:
    """How many triplets are there; a frame without one is a row without a triplet."""
    return {"instances": table["triplet"].drop_nulls().len() if "triplet" in table.columns else 0}
