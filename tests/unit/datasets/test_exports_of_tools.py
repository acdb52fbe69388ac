"""Exports that come in a folder, a table or an archive: each is read equal to the scene that was exported."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from data_set_files import put_png
from procedures import random_procedure
from shared_data import shared
from still_images import FORMATS, MORE_FORMATS, coco, scene, voc
from surgvalid.datasets import About, read_annotations, recognised_tool
from surgvalid.errors import FileUnreadable, ProcedureInvalid
from surgvalid.schema.procedures.procedure_files import write_procedure

ALL = {**FORMATS, **MORE_FORMATS}


def drawn(path: Path) -> dict[str, tuple[int, int, list[tuple[str, ...]]]]:
    """By image, what came in: its size, and its boxes as text, in order."""
    return {
        Path(one.video).name: (
            one.width_px,
            one.height_px,
            sorted((t.class_name, *(f"{side:.3f}" for side in t.boxes[0])) for t in one.tracks),
        )
        for one in read_annotations(path).procedures
    }


@pytest.mark.parametrize("packed", [False, True], ids=["unpacked", "archive"])
@pytest.mark.parametrize("tool", ALL)
def test_every_export_is_read_equal_to_the_scene(tool: str, packed: bool, tmp_path: Path) -> None:
    source = ALL[tool](scene(20), tmp_path / "in")
    if packed:
        if tool == "label_studio_csv":
            (tmp_path / "in" / "export.json").unlink()
        source = Path(shutil.make_archive(str(tmp_path / "export"), "zip", tmp_path / "in"))
    assert recognised_tool(source) == tool.removesuffix("_csv")
    expected = {
        name: (width, height, sorted((label, *(f"{side:.3f}" for side in sides)) for label, *sides in boxes))
        for name, (width, height, boxes) in scene(20).items()
        if boxes
    }
    assert {name: one for name, one in drawn(source).items() if one[2]} == expected


def test_an_archive_of_two_tools_names_them_and_a_bomb_is_refused(tmp_path: Path) -> None:
    coco(scene(3), tmp_path / "one")
    voc(scene(3), tmp_path / "two")
    with ZipFile(tmp_path / "both.zip", "w") as archive:
        archive.write(tmp_path / "one" / "instances.json", "a.json")
        archive.write(next((tmp_path / "two").rglob("*.xml")), "b/c/b.xml")
    with pytest.raises(FileUnreadable, match=r"files of coco, voc"):
        read_annotations(tmp_path / "both.zip")
    with ZipFile(tmp_path / "bomb.zip", "w", ZIP_DEFLATED) as archive:
        archive.writestr("a.json", bytes(1 << 26))
    with pytest.raises(FileUnreadable, match="would unpack to 67,108,864 bytes"):
        read_annotations(tmp_path / "bomb.zip")
    with ZipFile(tmp_path / "out.zip", "w") as archive:
        archive.writestr("../a.json", "{}")
    with pytest.raises(FileUnreadable, match="points outside"):
        read_annotations(tmp_path / "out.zip")


def test_mot_without_a_description_has_the_size_of_its_images(tmp_path: Path) -> None:
    (tmp_path / "seq" / "gt").mkdir(parents=True)
    (tmp_path / "seq" / "gt" / "gt.txt").write_text("1,4,10,20,30,40,1,1,1.0\n")
    put_png(tmp_path / "seq" / "img1" / "000001.png", [bytes(320)] * 180)
    [procedure] = read_annotations(tmp_path / "seq").procedures
    assert (procedure.width_px, procedure.height_px) == (320, 180)
    assert "width_px" not in procedure.assumed


def test_real_exports_that_were_refused_with_wrong_words() -> None:
    real = shared("data", "real_formats")
    assert recognised_tool(real / "label_studio/api_1.23.2/ls_export_CSV.csv") == "label_studio"
    [procedure] = read_annotations(real / "mot/datumaro_mots/train").procedures
    seen = {track.instance: track.seconds.tolist() for track in procedure.tracks}
    assert seen == {"c 2": [1], "d 1": [1], "d 2": [2], "d 3": [1]}


def test_mots_as_text_is_named_with_the_export_to_choose(tmp_path: Path) -> None:
    (tmp_path / "0001.txt").write_text("1 2001 2 375 1242 WSV:2d;1O10000O10000O1O100O1O10\n")
    with pytest.raises(FileUnreadable, match="MOTS: masks of instances as text, which are not read; export as MOT"):
        read_annotations(tmp_path / "0001.txt")


def coco_of_film(place: Path, **of_second: dict) -> Path:
    """Two frames with an annotation of the same id on each."""
    images = [{"id": n, "file_name": f"f_{n:03}.png", "width": 64, "height": 48} for n in (1, 2)]
    row = {"id": 7, "category_id": 1, "bbox": [1, 2, 3, 4], "iscrowd": 0}
    rows = [{**row, "image_id": 1}, {**row, "image_id": 2, **of_second.get("row", {})}]
    kinds = [{"id": 1, "name": "Clip"}, {"id": 2, "name": "Sponge"}]
    place.write_text(json.dumps({"images": images, "categories": kinds, "annotations": rows}))
    return place


def test_ids_that_return_with_one_category_are_tracks_and_said_to_be(tmp_path: Path) -> None:
    [procedure], findings = read_annotations(coco_of_film(tmp_path / "a.json"), about=About(fps=1))
    assert [(track.instance, track.seconds.tolist()) for track in procedure.tracks] == [("Clip 7", [1, 2])]
    assert not procedure.proposed
    [said] = [finding for finding in findings if finding.code == "ids-as-tracks"]
    assert "2 annotations have ids that return in other images" in said.message
    for row in ({"category_id": 2}, {"image_id": 1}):
        with pytest.raises(ProcedureInvalid, match="2 of 'annotations' have the id 7"):
            read_annotations(coco_of_film(tmp_path / "b.json", row=row), about=About(fps=1))


def test_an_annotation_told_twice_of_one_still_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProcedureInvalid, match="2 annotations of image 1 have the id 7"):
        read_annotations(coco_of_film(tmp_path / "a.json", row={"image_id": 1}), about=About(stills=True))


def test_a_folder_of_procedures_is_no_export_whatever_lies_below_it(tmp_path: Path) -> None:
    write_procedure(random_procedure(1), tmp_path / "one.json")
    (tmp_path / "labels").mkdir()
    coco_of_film(tmp_path / "labels" / "a.json")
    assert recognised_tool(tmp_path) is None
    assert recognised_tool(tmp_path / "labels") == "coco"
