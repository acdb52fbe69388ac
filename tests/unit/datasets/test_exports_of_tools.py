"""Exports that come in a folder, a table or an archive: each is read equal to the scene that was exported."""

from __future__ import annotations

import shutil
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from data_set_files import put_png
from shared_data import shared
from still_images import FORMATS, MORE_FORMATS, coco, scene, voc
from surgvalid.datasets import read_annotations, recognised_tool
from surgvalid.errors import FileUnreadable

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
    with pytest.raises(FileUnreadable, match="MOTS: masks of instances as PNG, which are not read; export as MOT"):
        read_annotations(real / "mot/datumaro_mots/train")
