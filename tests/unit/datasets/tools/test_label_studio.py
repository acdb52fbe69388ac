"""Label Studio video: percent, frames from 1, lifespans, annotators."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from annotation_files import LABEL_STUDIO
from procedures import tiny_procedure
from shared_data import shared
from surgvalid.datasets import About
from surgvalid.datasets.tools.label_studio import read, write
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.procedures.tracks import Phase, Procedure, track_from_points


def saved(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def document() -> Any:
    return deepcopy(LABEL_STUDIO)


def test_rectangles_live_while_they_are_enabled(tmp_path: Path, document: Any) -> None:
    procedures, findings = read(saved(tmp_path, document))
    (procedure,) = procedures
    (clip,) = procedure.tracks
    assert (procedure.video, procedure.duration_s, procedure.facts["annotator"]) == ("case12", 10, "4")
    assert clip.seconds.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert clip.boxes[:3].tolist() == [[20, 10, 10, 10], [30, 10, 10, 10], [40, 10, 10, 10]]
    assert clip.boxes[3].tolist() == [90, 50, 10, 10]  # a quarter turn about the top left corner
    assert procedure.phases == (Phase("dissection", 1, 4),)
    assert {"rotation", "interpolated", "not-kept", "cancelled", "predictions"} <= {f.code for f in findings}


def test_every_annotator_is_kept(tmp_path: Path, document: Any) -> None:
    again = {**deepcopy(document[0]["annotations"][0]), "id": 13, "completed_by": {"id": 6, "email": "b@x"}}
    document[0]["annotations"].append(again)
    procedures = read(saved(tmp_path, document)).procedures
    assert [p.video for p in procedures] == ["case12 by 4", "case12 by b@x"]


def test_a_frame_zero_means_counting_from_zero(tmp_path: Path, document: Any) -> None:
    for entry in document[0]["annotations"][0]["result"][0]["value"]["sequence"]:
        entry["frame"] -= 1
    procedures, findings = read(saved(tmp_path, document))
    assert procedures[0].tracks[0].seconds.tolist() == [0, 1, 2, 4, 5, 6, 7, 8, 9]
    assert "frames-from-0" in {f.code for f in findings}


def test_every_problem_is_listed(tmp_path: Path, document: Any) -> None:
    results = document[0]["annotations"][0]["result"]
    results[0]["value"]["sequence"][0]["x"] = "left"
    results[0]["value"]["sequence"][1]["frame"] = -4
    results[0]["value"]["sequence"][2]["width"] = -4
    results[1]["value"]["ranges"][0]["end"] = None
    results.append({**deepcopy(results[0]), "value": {"labels": [], "framesCount": 3, "duration": 9}})
    with pytest.raises(ProcedureInvalid) as refused:
        read(saved(tmp_path, document))
    text = "\n".join(refused.value.problems)
    for part in ("entry 1:", "entry 2:", "no positive size", "timeline 'dissection'", "2 rectangles have the id 'r1'",
                 "one label expected", "disagree on framesCount"):  # fmt: skip
        assert part in text, part


def test_percent_needs_a_frame_size(tmp_path: Path, document: Any) -> None:
    del document[0]["annotations"][0]["result"][0]["original_width"]
    with pytest.raises(ProcedureInvalid, match="give --size or the video file"):
        read(saved(tmp_path, document))
    assert read(saved(tmp_path, document), About(width_px=200)).procedures[0].width_px == 200


def test_only_occlusion_is_lost_and_it_is_said(tmp_path: Path) -> None:
    lost = {f.code for f in write(tiny_procedure(), tmp_path / "a.json")}
    assert lost == {"lost-visibility", "lost-outside"}


def test_a_phase_moved_in_the_tool_wins(tmp_path: Path) -> None:
    write(tiny_procedure(), tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    timeline = next(r for r in document[0]["annotations"][0]["result"] if r["id"] == "phase 1")
    timeline["value"]["ranges"] = [{"start": 1, "end": 8}]
    assert read(saved(tmp_path, document)).procedures[0].phases[0] == Phase("preparation", 0, 8)


@pytest.mark.parametrize(("content", "message"), [({}, "list of tasks"), ([3], "list of tasks")])
def test_other_json_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(FileUnreadable, match=message):
        read(saved(tmp_path, content))


def test_tasks_without_annotations_are_told(tmp_path: Path) -> None:
    with pytest.raises(ProcedureInvalid, match="no task has an annotation"):
        read(saved(tmp_path, [{"id": 1, "data": {}, "annotations": []}]))


def test_the_smaller_export_is_read_as_the_full_one() -> None:
    folder = shared("data", "real_formats", "label_studio", "api_1.23.2")
    about = About(width_px=640, height_px=480)
    full, small = (read(folder / f"ls_export_{kind}.json", about).procedures[0] for kind in ("JSON", "JSON_MIN"))
    assert [track.class_name for track in small.tracks] == [track.class_name for track in full.tracks]
    for ours, theirs in zip(small.tracks, full.tracks, strict=True):
        assert ours.seconds.tolist() == theirs.seconds.tolist()
        assert ours.boxes.tolist() == theirs.boxes.tolist()
    assert small.phases == full.phases
    assert small.duration_s == full.duration_s
    assert small.facts == full.facts


def test_an_export_without_names_makes_no_object_of_an_instrument_and_confirms_nothing(tmp_path: Path) -> None:
    box = (1, 2, 30, 20)
    tracks = track_from_points("s1", "Sponge", [(2, box), (3, box)]), track_from_points("g1", "Grasper", [(2, box)])
    procedure = Procedure("v", "T", "A", 9, 64, 48, tracks[:1], instruments=tracks[1:], proposed=("s1",))
    write(procedure, tmp_path / "a.json")
    [task] = json.loads((tmp_path / "a.json").read_text())
    values = [row["value"] for row in task["annotations"][0]["result"]]
    back = read(saved(tmp_path, [{**task["data"], "id": 1, "box": values, "annotator": 2}])).procedures[0]
    assert [(track.class_name, len(track)) for track in back.tracks] == [("Sponge", 2)]
    assert [track.class_name for track in back.instruments] == ["Grasper"]
    assert back.proposed == tuple(track.instance for track in back.tracks)
