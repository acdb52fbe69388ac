"""Annotation files of any size."""

from __future__ import annotations

from pathlib import Path

from annotation_writers import write_any
from surgvalid.datasets import read_annotations
from surgvalid.schema.procedures.procedure_files import read_procedure, write_procedure
from surgvalid.schema.procedures.tracks import Procedure, track_from_points

BOX_FORMATS = ("cvat", "coco", "label_studio", "procedure")
OBJECTS = 100


def boxes_that_come_back(form: str, count: int, folder: Path) -> int:
    """How many of so many boxes are read again after they were written in that format."""
    seconds = count // OBJECTS
    tracks = tuple(
        track_from_points(f"Clip {n}", "Clip", [(s, (n + 1.0, 1.0, 5.0, 5.0)) for s in range(seconds)])
        for n in range(OBJECTS)
    )
    procedure = Procedure("v", "p", "A", seconds, 640, 360, tracks)
    path = folder / ("a.xml" if form == "cvat" else "a.json")
    if form == "procedure":
        write_procedure(procedure, path)
        back = read_procedure(path)
    else:
        write_any(procedure, path, tool=form)
        back = read_annotations(path, tool=form).procedures[0]
    return sum(map(len, back.tracks))


def mot_boxes_that_are_read(count: int, folder: Path) -> int:
    """How many of so many rows of a MOT file become boxes."""
    rows = "".join(f"{i // 100 + 1},{i % 100},1,1,5,5,1,1,1\n" for i in range(count))
    (folder / "gt.txt").write_text(rows)
    (folder / "labels.txt").write_text("Clip\n")
    return sum(map(len, read_annotations(folder / "gt.txt").procedures[0].tracks))
