"""Every way in which an annotation file goes wrong, in every format: a clear error, or a finding with a name.

`TABLE` says what each format answers to each malformation. A format or malformation without its cell fails the
first test.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from many_boxes import BOX_FORMATS, boxes_that_come_back
from surgvalid.datasets import TOOLS, join_procedures, read_annotations
from surgvalid.errors import InputInvalid
from surgvalid.schema.procedures.procedure_files import procedure_to_dict, read_procedure
from surgvalid.schema.procedures.tracks import Procedure, track_from_points
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS

FORMATS = (*TOOLS, "procedure", "questions.json", "questions.parquet")
MALFORMATIONS = ("wrong encoding", "missing frames", "duplicate ids", "negative boxes", "overlapping jobs")
NO_PLACE = None
"""The format has no place for such a thing, so it cannot go wrong."""

Files = list[Path]
Made = Callable[[Path], Files]
Case = tuple[Made, str] | None
"""How to make the files, and what the error or finding about them says."""


# --- one box in every format -------------------------------------------------------------------------


def cvat(*tracks: str) -> str:
    size = "<original_size><width>640</width><height>360</height></original_size>"
    return f"<annotations><meta><task><name>v</name><size>10</size>{size}</task></meta>{''.join(tracks)}</annotations>"


def cvat_track(frame: int = 1, number: int = 0, left: float = 10, right: float = 40) -> str:
    named = '<attribute name="instance">c</attribute>'
    box = f'<box frame="{frame}" outside="0" occluded="0" xtl="{left}" ytl="20" xbr="{right}" ybr="60">{named}</box>'
    return f'<track id="{number}" label="Clip">{box}</track>'


def coco(*annotations: dict[str, Any]) -> str:
    images = [{"id": i, "video_id": 1, "frame_index": i, "width": 640, "height": 360} for i in range(10)]
    kinds = [{"id": 1, "name": "Clip"}]
    videos = [{"id": 1, "name": "v", "fps": 1}]
    return json.dumps({"videos": videos, "images": images, "categories": kinds, "annotations": annotations})


def coco_box(number: int = 1, image: int = 1, x: float = 10, width: float = 30) -> dict[str, Any]:
    return {"id": number, "image_id": image, "category_id": 1, "track_id": 4, "bbox": [x, 20, width, 40]}


def studio(*entries: dict[str, Any], name: str = "r") -> str:
    value = {"framesCount": 10, "duration": 10.0, "labels": ["Clip"]}
    results = [
        {"id": name, "type": "videorectangle", "original_width": 640, "original_height": 360,
         "value": {**value, "sequence": [entry]}}
        for entry in entries
    ]  # fmt: skip
    return json.dumps([{"id": 1, "data": {"video": "v.mp4"}, "annotations": [{"id": 1, "result": results}]}])


def studio_box(frame: int = 2, x: float = 10, width: float = 20) -> dict[str, Any]:
    return {"frame": frame, "enabled": False, "rotation": 0, "x": x, "y": 10, "width": width, "height": 10}


SEGMENTS = "tier,start_s,end_s,label,instance\nprocedure,,,video=v,\nprocedure,,,duration_s=10,\nobject,,,Clip,c\n"


def own(**changes: Any) -> dict[str, Any]:
    track = track_from_points("c", "Clip", [(1, (10, 20, 30, 40))])
    document = procedure_to_dict(Procedure("v", "p", "A", 10, 640, 360, (track,)))
    document["tracks"][0] |= changes
    return document


def question(**changes: Any) -> dict[str, Any]:
    values = ("q1", "v", "p", "How many?", "3", "number", "frame", "automatic", False, False, "00:00:01", "00:00:01",
              "3a", [])  # fmt: skip
    return dict(zip(DATA_SET_COLUMNS, values, strict=True)) | changes


def saved(name: str, *contents: str | bytes) -> Made:
    def make(folder: Path) -> Files:
        paths = [folder / f"{number}{name}" for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return paths

    return make


def mot(*tables: str, labels: bytes = b"Clip\n") -> Made:
    def make(folder: Path) -> Files:
        paths = [folder / str(number) for number in range(len(tables))]
        for path, table in zip(paths, tables, strict=True):
            (path / "gt").mkdir(parents=True)
            (path / "gt" / "gt.txt").write_text(table)
            (path / "gt" / "labels.txt").write_bytes(labels)
            sizes = "imWidth=640\nimHeight=360\n"
            (path / "seqinfo.ini").write_text(f"[Sequence]\nname=v\nframeRate=1\nseqLength=10\n{sizes}")
        return paths

    return make


def parquet(*rows: dict[str, Any]) -> Made:
    def make(folder: Path) -> Files:
        pl.DataFrame(list(rows), strict=False).write_parquet(folder / "q.parquet")
        return [folder / "q.parquet"]

    return make


def rows_of(*rows: dict[str, Any]) -> str:
    return json.dumps(rows)


def twice() -> str:
    document = own()
    return json.dumps({**document, "tracks": document["tracks"] * 2})


MOT_BOX = "2,4,10,20,30,40,1,1,1\n"

TABLE: dict[str, dict[str, Case]] = {
    "wrong encoding": {
        "cvat": (saved("a.xml", cvat(cvat_track()).replace("<name>v", "<name>é").encode("latin-1")), "not XML"),
        "coco": (saved("a.json", coco(coco_box()).encode("utf-16")), "not UTF-8"),
        "mot": (mot(MOT_BOX, labels="é\n".encode("latin-1")), "not UTF-8"),
        "label_studio": (saved("a.json", studio(studio_box()).encode("utf-16")), "not UTF-8"),
        "segments": (saved("a.csv", (SEGMENTS + "phase,0,5,é,\n").encode("latin-1")), "not UTF-8"),
        "procedure": (saved("a.json", json.dumps(own()).encode("utf-16")), "UTF-8"),
        "questions.json": (saved("a.json", rows_of(question()).encode("utf-16")), "UTF-8"),
        "questions.parquet": (saved("a.parquet", rows_of(question())), "arquet"),
    },
    "missing frames": {
        "cvat": (saved("a.xml", cvat(cvat_track(frame=99))), "outside the 10 s"),
        "coco": (saved("a.json", coco(coco_box(image=99))), "no usable image 99"),
        "mot": (mot(MOT_BOX + "99,4,1,1,5,5,1,1,1\n"), "outside the 10 s"),
        "label_studio": (saved("a.json", studio(studio_box(frame=99))), "outside the 10 s"),
        "segments": (saved("a.csv", SEGMENTS + "event,99,100,placed,c\n"), "outside the video"),
        "procedure": (saved("a.json", json.dumps(own(seconds=[[99, 1]]))), "outside the 10 s"),
        "questions.json": (saved("a.json", rows_of(question(timestamp_end=None))), "expected seconds or hh:mm:ss"),
        "questions.parquet": (parquet(question(timestamp_end=None)), "expected seconds or hh:mm:ss"),
    },
    "duplicate ids": {
        "cvat": (saved("a.xml", cvat(cvat_track(), cvat_track(frame=2))), "ids are unique"),
        "coco": (saved("a.json", coco(coco_box(), coco_box())), "2 of 'annotations' have the id 1"),
        "mot": (mot(MOT_BOX + "2,4,99,20,30,40,1,1,1\n"), "two different boxes"),
        "label_studio": (saved("a.json", studio(studio_box(), studio_box(frame=4))), "2 rectangles have the id 'r'"),
        "segments": (saved("a.csv", SEGMENTS + "object,,,Clip,c\n"), "is told twice"),
        "procedure": (saved("a.json", twice()), "appears 2 times"),
        "questions.json": (saved("a.json", rows_of(question(), question())), "appears twice"),
        "questions.parquet": (parquet(question(), question()), "appears twice"),
    },
    "negative boxes": {
        "cvat": (saved("a.xml", cvat(cvat_track(left=40, right=10))), "no positive size"),
        "coco": (saved("a.json", coco(coco_box(width=-30))), "no positive size"),
        "mot": (mot("2,4,10,20,-30,40,1,1,1\n"), "no positive size"),
        "label_studio": (saved("a.json", studio(studio_box(width=-20))), "no positive size"),
        "segments": NO_PLACE,
        "procedure": (saved("a.json", json.dumps(own(boxes=[10, 20, -30, 40]))), "no positive size"),
        "questions.json": (saved("a.json", rows_of(question(answer="-3"))), "breaks its own format"),
        "questions.parquet": (parquet(question(answer="-3")), "breaks its own format"),
    },
    "overlapping jobs": {
        "cvat": (saved("a.xml", cvat(cvat_track()), cvat(cvat_track(left=12))), "different boxes"),
        "coco": (saved("a.json", coco(coco_box()), coco(coco_box(x=12))), "different boxes"),
        "mot": (mot(MOT_BOX, MOT_BOX.replace("10", "12")), "different boxes"),
        "label_studio": (saved("a.json", studio(studio_box()), studio(studio_box(x=12))), "different boxes"),
        "segments": (
            saved("a.csv", SEGMENTS + "phase,0,5,a,\n", SEGMENTS.replace("Clip", "Mesh") + "phase,3,8,b,\n"),
            "in one file",
        ),
        "procedure": (
            saved("a.json", json.dumps(own()), json.dumps(own(boxes=[12, 20, 30, 40]))),
            "different boxes",
        ),
        "questions.json": (saved("a.json", rows_of(question()), rows_of(question(answer="4"))), "appears twice"),
        "questions.parquet": (parquet(question(), question(answer="4")), "appears twice"),
    },
}


def said_about(form: str, files: Files) -> str:
    """What reading the files says: the error, or else the findings."""
    try:
        if form.startswith("questions"):
            return " | ".join(map(str, load_questions(files, files).findings))
        if form == "procedure":
            procedures, findings = [read_procedure(path) for path in files], []
        else:
            read = [read_annotations(path, tool=form) for path in files]
            procedures = [procedure for one in read for procedure in one.procedures]
            findings = [finding for one in read for finding in one.findings]
        join_procedures(procedures)
        return " | ".join(map(str, findings))
    except InputInvalid as error:
        return str(error)


def test_every_format_answers_every_malformation():
    assert tuple(TABLE) == MALFORMATIONS
    assert all(set(row) == set(FORMATS) for row in TABLE.values())


CELLS = [
    pytest.param(form, *cell, id=f"{wrong}-{form}")
    for wrong, row in TABLE.items()
    for form, cell in row.items()
    if cell
]


@pytest.mark.parametrize(("form", "make", "words"), CELLS)
def test_what_is_wrong_is_said(form: str, make: Made, words: str, tmp_path: Path):
    assert words in said_about(form, make(tmp_path))


SOUND: dict[str, Made] = {
    "cvat": saved("a.xml", cvat(cvat_track())),
    "coco": saved("a.json", coco(coco_box())),
    "mot": mot(MOT_BOX),
    "label_studio": saved("a.json", studio(studio_box())),
    "segments": saved("a.csv", SEGMENTS),
    "procedure": saved("a.json", json.dumps(own())),
    "questions.json": saved("a.json", rows_of(question())),
    "questions.parquet": parquet(question()),
}


@pytest.mark.parametrize("form", FORMATS)
def test_the_sound_file_behind_each_malformed_one_has_none_of_these_words(form: str, tmp_path: Path):
    said = said_about(form, SOUND[form](tmp_path))
    assert not any(cell[1] in said for row in TABLE.values() if (cell := row[form]))


@pytest.mark.parametrize("form", BOX_FORMATS)
def test_many_boxes_lose_none(form: str, tmp_path: Path):
    assert boxes_that_come_back(form, 5_000, tmp_path) == 5_000
