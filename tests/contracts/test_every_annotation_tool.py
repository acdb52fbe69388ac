"""What holds for every annotation tool. A new one without a list of what it loses fails the first test."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surgvalid.datasets
from annotation_files import RICH_COCO, RICH_CVAT, RICH_LABEL_STUDIO, RICH_MOT, RICH_SEGMENTS
from annotation_writers import write_any
from how_many import many
from many_boxes import mot_boxes_that_are_read
from procedures import random_procedure, tiny_procedure
from surgvalid.datasets import IMAGE_TOOLS, TOOLS, About, read_annotations, recognised_tool
from surgvalid.errors import FileUnreadable, InputInvalid, ProcedureInvalid, UnknownName
from surgvalid.schema.procedures.procedure_problems import procedure_problems
from surgvalid.schema.procedures.tracks import Procedure, Track, Visibility, track_from_points

GAPS = {"lost-outside", "lost-declaration"}
BARE = {"lost-procedure-type", "lost-center", "lost-patient", "lost-events", "lost-phases", "lost-masked", "lost-facts"}
MAY_LOSE = {
    "cvat": GAPS | BARE,
    "coco": GAPS,
    "mot": GAPS
    | BARE
    | {"lost-names", "lost-role", "lost-attributes", "lost-changes", "lost-track", "lost-track-order"},
    "label_studio": GAPS | {"lost-visibility"},
    "segments": GAPS | {"lost-points"},
}
"""Codes of what a tool cannot hold of a sound procedure; everything else must come back."""


def place(tool: str, folder: Path) -> Path:
    return folder / str(import_module(f"surgvalid.datasets.tools.{tool}").FILE_NAME)


def without_outside(track: Track) -> Track:
    seen = track.in_view
    return track.at_points(seen)


def in_view_only(procedure: Procedure) -> Procedure:
    return replace(
        procedure,
        tracks=tuple(map(without_outside, procedure.tracks)),
        instruments=tuple(map(without_outside, procedure.instruments)),
    )


def check_read_or_refused(path: Path, tool: str) -> None:
    try:
        procedures = read_annotations(path, tool=tool).procedures
    except InputInvalid:
        return
    assert not any(map(procedure_problems, procedures))


def test_every_tool_is_listed_and_says_what_it_loses() -> None:
    files = [
        module.name for module in iter_modules(surgvalid.datasets.tools.__path__) if not module.name.startswith("_")
    ]
    offering = [name for name in files if hasattr(import_module(f"surgvalid.datasets.tools.{name}"), "recognises")]
    assert sorted(offering) == sorted((*TOOLS, *IMAGE_TOOLS))
    assert sorted(TOOLS) == sorted(MAY_LOSE)


@pytest.mark.parametrize("tool", [*TOOLS, *IMAGE_TOOLS])
def test_a_tool_says_what_it_is(tool: str) -> None:
    module = import_module(f"surgvalid.datasets.tools.{tool}")
    assert module.__doc__
    assert module.TITLE


@pytest.mark.parametrize("tool", TOOLS)
def test_round_trips_lose_nothing_but_what_is_said(tool: str, tmp_path: Path) -> None:
    for seed in range(12):
        procedure = replace(random_procedure(seed), facts={"device": 'a; b\n"c" <é>'}, patient=f"p{seed // 2}")
        path = tmp_path / str(seed) / place(tool, tmp_path).name
        path.parent.mkdir()
        lost = {finding.code for finding in write_any(procedure, path, tool=tool)}
        assert lost <= MAY_LOSE[tool]
        if lost <= GAPS:
            [again] = read_annotations(path).procedures
            assert replace(again, declared=procedure.declared) == in_view_only(procedure)


RICH = {
    "cvat": (
        RICH_CVAT,
        {
            "rotation": "1 rotated boxes", "mask-as-box": "1 masks", "shape-as-box": "1 shapes", "tags": "1 tags",
            "not-kept": "1 elements of a kind", "groups": "2 shapes", "z-order": "1 shapes", "image-names": "1 names",
            "no-identity": "1 shapes", "interpolated": "3 boxes",
        },
    ),
    "coco": (
        json.dumps(RICH_COCO),
        {
            "rotation": "1 rotated", "mask-as-box": "1 segmentations", "crowd": "1 crowd",
            "no-identity": "1 annotations", "between-seconds": "1 boxes", "image-names": "3 names",
            "not-kept": "1 annotations have 'keypoints'; 1 annotations have 'score'; 3 images have 'blur'",
        },
    ),
    "mot": (
        RICH_MOT,
        {
            "ignored": "1 rows", "hidden": "1 boxes", "partly-seen": "1 boxes", "confidence": "1 rows",
            "more-columns": "1 rows", "no-labels": "no labels.txt",
        },
    ),
    "label_studio": (
        json.dumps(RICH_LABEL_STUDIO),
        {
            "rotation": "1 rotated", "predictions": "1 predictions", "cancelled": "1 cancelled",
            "no-annotation": "1 tasks", "task-data": "'surgeon'", "between-seconds": "1 boxes",
            "not-kept": "1 results of type 'choices'; 1 results have 'meta'; 1 results have 'score'",
        },
    ),
    "segments": (
        RICH_SEGMENTS,
        {
            "unknown-tier": "1 segments of tier 'gaze'", "rounded": "1 times",
            "not-kept": "1 'ends of events'; 1 'labels of masked stretches'; 1 'rater'",
        },
    ),
}  # fmt: skip
"""A file with everything that the tool can say and a procedure cannot hold, and the finding that must name each."""


@pytest.mark.parametrize("tool", TOOLS)
def test_what_a_file_says_and_a_procedure_cannot_hold_is_named(tool: str, tmp_path: Path) -> None:
    content, expected = RICH[tool]
    path = tmp_path / {"mot": "gt.txt"}.get(tool, place(tool, tmp_path).name)
    path.write_text(content, encoding="utf-8")
    found: dict[str, list[str]] = {}
    for finding in read_annotations(path, tool=tool).findings:
        found.setdefault(finding.code, []).append(finding.message)
    for code, message in expected.items():
        for part in message.split("; "):
            assert any(part in told for told in found.get(code, [])), (code, part, found)


@pytest.mark.parametrize("tool", TOOLS)
def test_reading_what_we_wrote_loses_nothing_that_is_not_said_on_writing(tool: str, tmp_path: Path) -> None:
    """Findings on reading tell of what the procedure cannot hold: of our own files that is nothing."""
    write_any(tiny_procedure(), place(tool, tmp_path), tool=tool)
    told = {finding.code for finding in read_annotations(place(tool, tmp_path)).findings}
    assert told <= {"no-procedure-type", "no-center", "interpolated"}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_loss_is_said_if_and_only_if_something_differs(tool: str, tmp_path: Path) -> None:
    procedure = in_view_only(tiny_procedure())
    found = write_any(procedure, place(tool, tmp_path), tool=tool)
    back = read_annotations(place(tool, tmp_path)).procedures[0]
    assert (back == procedure) == (not found)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if "lost-points" not in MAY_LOSE[tool]])
def test_boxes_come_back_to_the_last_digit(tool: str, tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    boxes = np.round(draw.uniform(1, 300, (400, 4)), 6)
    procedure = Procedure("v", "T", "A", 400, 641, 359, (track_from_points("Clip 1", "Clip", list(enumerate(boxes))),))
    write_any(procedure, place(tool, tmp_path), tool=tool)
    back = read_annotations(place(tool, tmp_path)).procedures[0].tracks[0]
    assert np.array_equal(back.boxes, boxes)


def test_digits_beyond_a_millionth_of_a_pixel_are_reported(tmp_path: Path) -> None:
    track = track_from_points("c", "Clip", [(0, (1 / 3, 1, 5, 5))])
    found = write_any(Procedure("v", "T", "A", 3, 64, 64, (track,)), tmp_path / "a.json", tool="coco")
    assert [finding.code for finding in found] == ["lost-digits"]


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_is_found_by_how_the_file_begins(tool: str, tmp_path: Path) -> None:
    write_any(tiny_procedure(), place(tool, tmp_path), tool=tool)
    assert recognised_tool(place(tool, tmp_path)) == tool


@pytest.mark.parametrize("tool", TOOLS)
def test_what_the_caller_knows_wins(tool: str, tmp_path: Path) -> None:
    write_any(tiny_procedure(), place(tool, tmp_path), tool=tool)
    about = About(video="x", procedure_type="Y", center="Z", patient="P", duration_s=99)
    procedure = read_annotations(place(tool, tmp_path), about=about).procedures[0]
    told = (procedure.video, procedure.procedure_type, procedure.center, procedure.patient, procedure.duration_s)
    assert told == ("x", "Y", "Z", "P", 99)


@settings(max_examples=40)
@given(data=st.binary(max_size=200), tool=st.sampled_from((*TOOLS, *IMAGE_TOOLS)))
def test_no_bytes_bring_a_foreign_error(data: bytes, tool: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("bytes") / "a.txt"
    path.write_bytes(data)
    with pytest.raises(InputInvalid):
        read_annotations(path, tool=tool)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["images", "annotations", "categories", "videos", "id", "bbox", "image_id", "category_id", "result", "value",
         "type", "sequence", "labels", "data", "surgvalid", "attributes", "file_name", "video_id", "frame"]
    ), inner, max_size=5),
    max_leaves=25,
)  # fmt: skip


@settings(max_examples=many(150))
@given(document=JSON)
@pytest.mark.parametrize("tool", ["coco", "label_studio"])
def test_no_json_brings_a_foreign_error(tool: str, document: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / f"{tool}.json"
    for content in (document, [document], {"images": [document], "annotations": [document], "videos": [document]}):
        path.write_text(json.dumps(content))
        check_read_or_refused(path, tool)


@settings(max_examples=many(60))
@given(
    seed=st.integers(0, 5), at=st.floats(0, 1), change=st.sampled_from([b"", b"-", b"9", b"<", b'"', b"\xff", b"nan"])
)
@pytest.mark.parametrize("tool", ["cvat", "coco", "label_studio", "segments"])
def test_a_damaged_file_is_read_or_refused_in_our_words(
    tool: str, seed: int, at: float, change: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = place(tool, tmp_path_factory.getbasetemp())
    write_any(random_procedure(seed, most_objects=2, longest_s=30), path, tool=tool)
    content = path.read_bytes()
    cut = int(at * len(content))
    path.write_bytes(content[:cut] + change + content[cut + 1 :])
    check_read_or_refused(path, tool)


def test_many_rows_of_mot_lose_none(tmp_path: Path) -> None:
    assert mot_boxes_that_are_read(10_000, tmp_path) == 10_000


def test_unknown_tools_and_files_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04")
    with pytest.raises(FileUnreadable, match="an archive of another kind than ZIP, or a broken one; unpack it first"):
        read_annotations(tmp_path / "a.zip")
    (tmp_path / "a.bin").write_bytes(b"\x00\x01")
    with pytest.raises(FileUnreadable, match="no annotation tool recognises it"):
        read_annotations(tmp_path / "a.bin")
    with pytest.raises(FileUnreadable, match="No such file"):
        read_annotations(tmp_path / "b.xml")
    with pytest.raises(UnknownName, match="did you mean 'cvat'"):
        read_annotations(tmp_path / "a.zip", tool="cvta")


@pytest.mark.parametrize("tool", TOOLS)
def test_an_impossible_procedure_is_refused(tool: str, tmp_path: Path) -> None:
    track = track_from_points("c", "Clip", [(70, (1, 1, 5, 5), Visibility.VISIBLE)])
    with pytest.raises(ProcedureInvalid):
        write_any(Procedure("v", "T", "A", 60, 64, 64, (track,)), place(tool, tmp_path), tool=tool)
    assert not place(tool, tmp_path).exists()
