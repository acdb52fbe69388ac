"""COCO with videos: identity, frames, and what cannot be true."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from annotation_files import COCO
from procedures import tiny_procedure
from surgvalid.datasets import About
from surgvalid.datasets.tools.coco import placed_images, read, write
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.procedures.tracks import AttributeChange, Visibility


def saved(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(document))
    return path


def test_boxes_of_one_track_id_are_one_object(tmp_path: Path) -> None:
    procedures, findings = read(saved(tmp_path, COCO))
    (track,) = procedures[0].tracks
    assert (procedures[0].video, procedures[0].duration_s) == ("case 12", 2)
    assert (track.instance, track.class_name, track.seconds.tolist()) == ("Sponge 9", "Sponge", [0, 1])
    assert track.visibility.tolist() == [Visibility.VISIBLE, Visibility.OCCLUDED]
    assert track.changes == (AttributeChange(1, "wet", "true"),)
    assert {f.code for f in findings} == {
        "crowd",
        "mask-as-box",
        "between-seconds",
        "image-names",
        "no-center",
        "no-procedure-type",
    }


def test_folders_tell_videos_apart_and_names_tell_frames(tmp_path: Path) -> None:
    images = [
        {"id": i, "file_name": f"{video}/frame_{second:04d}.png", "width": 64, "height": 48}
        for i, (video, second) in enumerate([("v1", 0), ("v1", 3), ("v2", 0)])
    ]
    boxes = [{"id": i, "image_id": i, "category_id": 1, "bbox": [1, 1, 5, 5]} for i in range(3)]
    document = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "Clip"}]}
    procedures, findings = read(saved(tmp_path, document), About(center="A", procedure_type="T", fps=1))
    assert [(p.video, p.duration_s, len(p.tracks)) for p in procedures] == [("v1", 4, 2), ("v2", 1, 1)]
    assert "3 annotations bear no track_id" in findings[0].message
    with pytest.raises(ProcedureInvalid, match="cannot all be named"):
        read(saved(tmp_path, document), About(video="x"))


def test_every_problem_is_listed(tmp_path: Path) -> None:
    document = deepcopy(COCO)
    images: Any = document["images"]
    images[1]["id"], images[2]["frame_index"] = 1, 0
    images.append({"id": 8, "video_id": 77, "file_name": "x.png"})
    document["annotations"] = [
        {"id": 1, "image_id": 99, "category_id": 5, "bbox": [1, 1, 5, 5]},
        {"id": 1, "image_id": 1, "category_id": 6, "bbox": [1, 1, 5]},
        {"id": 3, "image_id": 3, "category_id": 5, "bbox": [1, 1, -5, 5], "track_id": 1},
        {"id": [4], "image_id": {}, "category_id": [], "bbox": "wide"},
    ]
    with pytest.raises(ProcedureInvalid) as refused:
        read(saved(tmp_path, document))
    for part in (
        "2 of 'images' have the id 1",
        "unknown video 77",
        "no frame number",
        "no usable image 99",
        "category 6",
        "four numbers",
        "have no id",
        "2 of 'annotations' have the id 1",
    ):
        assert any(part in problem for problem in refused.value.problems), part
    del document["annotations"]
    images[1]["id"] = 2
    images.pop()
    with pytest.raises(ProcedureInvalid, match="2 images are frame 0 of video 'case 12'"):
        read(saved(tmp_path, document))


def test_a_negative_box_is_refused(tmp_path: Path) -> None:
    document: Any = deepcopy(COCO)
    document["annotations"][0]["bbox"] = [1, 2, -3, 4]
    with pytest.raises(ProcedureInvalid, match=r"'Sponge 9' at second 0: the box has no positive size \(-3 x 4\)"):
        read(saved(tmp_path, document))


@pytest.mark.parametrize("document", [[], 3, {"images": 3}, {"annotations": []}])
def test_other_json_is_refused(tmp_path: Path, document: Any) -> None:
    with pytest.raises(FileUnreadable, match="not COCO"):
        read(saved(tmp_path, document))


def test_corrections_in_the_file_win_over_what_was_carried_along(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write(tiny_procedure(), path)
    document = json.loads(path.read_text())
    stones = [row for row in document["annotations"] if row["attributes"]["instance"] == "stone 1"]
    document["annotations"] = [row for row in document["annotations"] if row not in stones]
    with pytest.raises(ProcedureInvalid, match="unknown instance 'stone 1'"):
        read(saved(tmp_path, document))
    del document["videos"][0]["surgvalid"]["events"]
    assert [t.instance for t in read(saved(tmp_path, document)).procedures[0].tracks] == ["sponge 1", "clip 1", "bag 1"]
    document["videos"][0]["surgvalid"] = {"surgvalid_procedure": 1}
    with pytest.raises(ProcedureInvalid, match="'surgvalid': 'video' must be text"):
        read(saved(tmp_path, document))


def test_images_are_placed_for_detectors_and_those_between_seconds_have_none(tmp_path: Path) -> None:
    images, categories = placed_images(saved(tmp_path, COCO))
    assert [(image["id"], image["video"], image["second"]) for image in images] == [
        (1, "case 12", 0), (2, "case 12", 1), (3, "case 12", None),
    ]  # fmt: skip
    assert categories == [{"id": 5, "name": "Sponge"}]
    named, _ = placed_images(saved(tmp_path, COCO), About(video="v", fps=5))
    assert [(image["video"], image["second"]) for image in named] == [("v", 0), ("v", 5), ("v", 6)]


def test_images_that_cannot_be_placed_are_all_named(tmp_path: Path) -> None:
    odd = {"images": [{"id": 1, "file_name": "a.png"}, {"id": 1, "file_name": "7.png"}, {"id": 2, "video_id": 9}]}
    with pytest.raises(ProcedureInvalid) as refused:
        placed_images(saved(tmp_path, odd))
    for part in ("2 of 'images' have the id 1", "no frame number", "unknown video 9"):
        assert any(part in problem for problem in refused.value.problems), part
    with pytest.raises(FileUnreadable, match="not COCO"):
        placed_images(saved(tmp_path, []))


def test_masks_that_cvat_marks_as_crowd_are_objects_and_true_crowds_are_not(tmp_path):
    image = {"id": 1, "file_name": "frame_000000.png", "width": 64, "height": 48}
    mask = {"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "iscrowd": 1}
    mask["segmentation"] = {"counts": [0, 12], "size": [48, 64]}
    drawn = {**mask, "attributes": {"occluded": False}}
    content = {"images": [image], "categories": [{"id": 1, "name": "clip"}]}
    for annotation, kept, code in ((drawn, 1, "crowd-as-object"), (mask, 0, "crowd")):
        path = tmp_path / "instances.json"
        path.write_text(json.dumps({**content, "annotations": [annotation]}))
        annotations = read(path, About(video="v", duration_s=1))
        assert sum(len(one.tracks) for one in annotations.procedures) == kept
        assert code in {finding.code for finding in annotations.findings}
