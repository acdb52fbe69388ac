"""What is under review in a folder: questions with their proofs, or proposed instances, with the frames that show them.

A folder of `data questions` has its questions under review; one of `surgvalid data annotate run instances`, the
instances that were proposed. Video files and annotations are looked for in the folder itself and where the caller says.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.errors import FileUnreadable
from surgvalid.questions.template import clock
from surgvalid.report.cases.frames import by_tails
from surgvalid.schema.documents import read_json
from surgvalid.schema.procedures.procedure_files import procedure_paths, read_procedure
from surgvalid.schema.procedures.tracks import Procedure, Track
from surgvalid.schema.questions.formats import choices_of
from surgvalid.schema.rows import read_rows

FILMS = (".mp4", ".mov", ".mkv", ".avi", ".webm")
STILLS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
MOST_MOMENTS = 8
"""Frames that are shown as proof of one item."""
_AROUND_S = 2
"""Seconds of video file before and after a single frame."""


@dataclass(frozen=True)
class Item:
    """One thing that people look at."""

    name: str
    """As the history calls it."""
    video: str
    question: str
    answer: str
    format: str
    window: tuple[int, int]
    moments: tuple[int, ...]
    """Seconds whose frames show it."""
    instances: frozenset[str]
    """The objects that it is about."""
    note: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the format of the answer."""
    options: tuple[str, ...] = ()
    """What there is to choose from."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What people may filter by: template, track, split, capability."""
    patient: str = ""
    procedure_type: str = ""


@dataclass(frozen=True)
class ReviewMaterial:
    """Everything that the page can show."""

    items: tuple[Item, ...]
    video_files: dict[str, Path]
    """Also the image of a video that is a still image."""
    procedures: dict[str, Path]

    def boxes(self, item: Item, second: int) -> list[dict[str, Any]]:
        """The boxes in view at a second, as shares of the frame; `shown` tells those that the item is about."""
        if item.video not in self.procedures:
            return []
        procedure = _procedure(self.procedures[item.video])
        size = np.array([procedure.width_px, procedure.height_px] * 2, dtype=float)
        placed = []
        for track in procedure.tracks:
            at = int(np.searchsorted(track.seconds, second))
            if at < len(track) and track.seconds[at] == second and track.in_view[at]:
                sides = [round(float(side), 4) for side in track.boxes[at] / size]
                named = {"class": track.class_name, "instance": track.instance}
                placed.append({**named, "shown": track.instance in item.instances, "box": sides})
        return placed

    def duration_s(self, item: Item) -> int:
        """The length of its video; without annotations, up to where it is asked about."""
        known = self.procedures.get(item.video)
        return _procedure(known).duration_s if known else item.window[1] + 1


@lru_cache(maxsize=8)
def _procedure(path: Path) -> Procedure:
    return read_procedure(path)


def material_in(folder: Path, *, annotations: Sequence[Path] = (), video_files: Sequence[Path] = ()) -> ReviewMaterial:
    """What the folder puts under review.

    Args:
        folder: As `surgvalid data questions` or `surgvalid data annotate run instances` wrote it.
        annotations: Procedure files, or folders of them, beside those in the folder.
        video_files: Video files, images of still images, or folders of them, beside those in the folder.

    Raises:
        FileUnreadable: Nothing in it can be reviewed.
    """
    proofs = sorted(folder.glob("*/*/proofs.jsonl"))
    homes = [*annotations, *(folder / name for name in ("annotations", "procedures") if (folder / name).is_dir())]
    paths = [path for home in homes for path in procedure_paths(home)]
    known = {_video_of(path): path for path in paths}
    if proofs:
        items: Iterable[Item] = (item for path in proofs for item in _questions(path))
    elif (folder / "history.csv").is_file() and known:
        items = (item for path in known.values() for item in _instances(read_procedure(path)))
    else:
        what = "neither questions with proofs (surgvalid data questions) nor instances (data annotate run instances)"
        raise FileUnreadable(str(folder), [f"holds {what}"])
    listed = tuple(items)
    files = list(_video_files(folder, video_files))
    pictures = by_tails(path for path in files if path.suffix.lower() in STILLS)
    films = {path.stem: path for path in files if path.suffix.lower() in FILMS}
    stills = {item.video: pictures[item.video] for item in listed if item.video in pictures}
    return ReviewMaterial(listed, {**stills, **films}, known)


def _video_of(path: Path) -> str:
    document = read_json(path)
    return str(document.get("video")) if isinstance(document, dict) else path.stem


def _questions(path: Path) -> Iterator[Item]:
    requests = {row["qID"]: row for row in _rows(path.with_name("requests.json"))}
    references = {row["qID"]: row for row in _rows(path.with_name("references.json"))}
    split, track = path.parts[-3:-1]
    for number, row in enumerate(read_rows(path), start=1):
        try:
            if row["qID"] not in requests.keys() & references.keys():
                continue
            request, reference, proof = requests[row["qID"]], references[row["qID"]], row["proof"]
            window = int(request["start_time"]), int(request["end_time"])
            seconds = sorted({*proof["seconds"], *(event[0] for event in proof["events"])})
            yield Item(
                request["qID"],
                str(request["videoID"]),
                str(request["question"]),
                str(reference["answer"]),
                str(reference["format"]),
                window,
                _some(seconds or sorted({*window})),
                frozenset(proof["instances"]),
                "; ".join(f"{instance} {kind} at {clock(second)}" for second, kind, instance in proof["events"]),
                reference.get("format_kwargs") or {},
                choices_of(str(reference["format"]), row.get("slots")),
                {"template": str(row.get("template", "")), "track": track, "split": split}
                | {"capability": str(reference.get("primary", ""))},
                str(reference.get("patient") or request["videoID"]),
                str(request.get("procedure_type") or ""),
            )
        except (KeyError, TypeError, ValueError):
            raise FileUnreadable(
                str(path), [f"row {number} is no proof of a question in the files beside it"]
            ) from None


def _rows(path: Path) -> list[dict[str, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise FileUnreadable(str(path), ["expected a list of rows"])
    return rows


def _instances(procedure: Procedure) -> Iterator[Item]:
    for instance in procedure.proposed:
        track = procedure.track(instance)
        seen = track.seconds[track.in_view].tolist()
        if seen:
            question = f"Do all boxes of {instance!r} show one and the same {track.class_name}, and no other object?"
            name = f"{procedure.video}/{instance}"
            yield Item(
                name,
                procedure.video,
                question,
                "yes",
                "binary",
                (seen[0], seen[-1]),
                _some(_ends_of_stretches(track)),
                frozenset([instance]),
                f"{len(seen)} boxes",
                procedure_type=procedure.procedure_type,
            )


def _ends_of_stretches(track: Track) -> list[int]:
    """The first and last second of every stretch in view: where one object may be mistaken for another."""
    seen = track.seconds[track.in_view]
    breaks = np.flatnonzero(np.diff(seen) > 1)
    return sorted({int(seen[0]), int(seen[-1]), *seen[breaks].tolist(), *seen[breaks + 1].tolist()})


def _some(seconds: list[int]) -> tuple[int, ...]:
    """At most so many of the seconds, spread evenly, with the first and the last."""
    places = np.linspace(0, len(seconds) - 1, min(len(seconds), MOST_MOMENTS)).round().astype(int)
    return tuple(seconds[place] for place in places.tolist())


def _video_files(folder: Path, more: Sequence[Path]) -> Iterator[Path]:
    for home in (folder, *more):
        if home.is_file():
            yield home
        for below, _, names in os.walk(home, followlinks=False):
            yield from (Path(below, name) for name in sorted(names) if Path(name).suffix.lower() in (*FILMS, *STILLS))


def stretch_of(item: Item) -> tuple[int, int]:
    """From when to when the video file is played for an item."""
    start, end = item.window
    return (max(0, start - _AROUND_S), end + _AROUND_S) if start == end else (start, end)
