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

from surgeval.datasets._cholect import SIZES, cross_validation, fixed_splits, videos_of
from surgeval.datasets._comparison import Comparison, numbered
from surgeval.datasets._data_set import NO_CASES, DataSet, References, Task
from surgeval.datasets._folder import Folder, whole_number

KIND = "data set"
VECTOR_LENGTH = 15
_PLACES = {"triplet": 0, "instrument": 1, "verb": 7, "target": 8, "phase": 14}
_TOOL_BOX = slice(3, 7)
_PHASES, _TRIPLETS = 7, SIZES["triplet"]


def _triplets(folder: Folder) -> pl.DataFrame:
    """One row per instance of a triplet; frames without one are a row with null triplet."""
    schema: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64}
    schema |= dict.fromkeys(_PLACES, pl.Int64) | dict.fromkeys(("x", "y", "width", "height"), pl.Float64)
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


def _phases(folder: Folder) -> pl.DataFrame:
    table = _triplets(folder)
    if table.is_empty():
        return NO_CASES
    phases = table.group_by("case", "video", "frame", maintain_order=True).agg(
        pl.col("phase").first(), pl.col("phase").n_unique().alias("different")
    )
    for case in phases.filter(pl.col("different") > 1)["case"].head(20):
        folder.problem("malformed", "labels", f"frame {case} holds two phases")
    return phases.drop("different").drop_nulls("phase")


def _vectors(folder: Folder) -> Iterator[tuple[str, int, list[float]]]:
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
    folder: Folder, path: Path, video: str, frame: str, vectors: Any
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


DATA_SET = DataSet(
    name="cholect50",
    title="CholecT50",
    citation="Nwoye et al., Rendezvous, Medical Image Analysis 2022",
    source="form at https://github.com/CAMMA-public/cholect50",
    checked_against="two real label files of the challenge; the maintainers' loader",
    licence="CC BY-NC-SA 4.0",
    tasks={
        "triplet": Task(
            summary="action triplets, one row per instance",
            read=_triplets,
            clock="frames at 1 fps",
            rate_hz=1.0,
            one_row_per_case=False,
            published={"videos": 50},
            count=lambda table: {"instances": table["triplet"].drop_nulls().len() if "triplet" in table.columns else 0},
            compared=Comparison(kind="triplets", members=numbered("triplet", _TRIPLETS), arranged=presence_per_frame),
        ),
        "phase": Task(
            summary="surgical phase, once a second",
            read=_phases,
            clock="frames at 1 fps",
            rate_hz=1.0,
            published={"videos": 50},
            compared=Comparison(kind="phases", label="phase", options={"classes": tuple(map(str, range(_PHASES)))}),
        ),
    },
    schemes=cross_validation(outside_cholec80=True) | fixed_splits(),
    disagreements=("phase names differ from those of Cholec80 ('gallbladder-extraction', 'carlot-...'): compare ids",),
    notes=(
        f"Videos keep their Cholec80 numbers: {', '.join(str(n) for n in videos_of(outside_cholec80=True))}; "
        "92, 96, 103, 110 and 111 are outside Cholec80.",
        "Boxes are all -1 in release 2.0 (an audit); the validation set of the challenge has boxes of instruments.",
        "Triplets 94 to 99 are those with null verb and null target.",
        "Folds, Rendezvous split and 'challenge loader' are those of the data set's own dataloader_pth.py; the "
        "validation set that the challenge published with boxes has other videos ('challenge validation').",
        "In that set only some frames are annotated: a missing key is a frame that nobody looked at, not an empty one, "
        "and num_frames counts the annotated ones.",
        "Blacked-out frames are outside the body.",
    ),
)
