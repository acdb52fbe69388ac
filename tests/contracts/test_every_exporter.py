"""What annotation tools on the package index write of one known scene is read equal to it, or the way out is named.

The exports were made by the tools themselves (`tests/tools/exporters.py`; their versions are in the archive) and are
kept in `tests/data/exports.tar.xz`. `make test-tools` installs the tools and lets them write the scene again, with
`EXPORTERS` naming the Python that has them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from repository import REPOSITORY
from still_images import film, put_images, scene
from surgvalid.datasets import join_procedures, read_annotations
from surgvalid.errors import InputInvalid
from surgvalid.schema.procedures.tracks import Procedure

STORED = REPOSITORY / "tests" / "data" / "exports.tar.xz"
PROGRAM = REPOSITORY / "tests" / "tools" / "exporters.py"
PYTHON = os.environ.get("EXPORTERS", "")
STILLS, FILM = scene(8), film()
with tarfile.open(STORED) as _stored:
    EXPORTS = sorted({name.split("/")[1] for name in _stored.getnames() if name.count("/") >= 2})
MASKS = "masks of classes tell no objects: export as COCO"
REFUSED = {
    "datumaro_arrow": "export them as Datumaro JSON", "datumaro_datumaro_binary": "export them as Datumaro JSON",
    "datumaro_ava": "AVA, actions in boxes; export as COCO", "datumaro_camvid": MASKS, "datumaro_cityscapes": MASKS,
    "datumaro_kitti_segmentation": MASKS, "datumaro_lfw": MASKS, "datumaro_mvtec_detection": MASKS,
    "datumaro_voc_segmentation": MASKS, "datumaro_wider_face": "WIDER FACE and others begin; export as COCO",
    "globox_cvat": "images bear no id, as those of CVAT do; export them as COCO",
    "labelimg_createml": "CreateML; export it as COCO or Pascal VOC",
    "supervision_createml": "CreateML; export it as COCO or Pascal VOC",
    "pylabel_coco": "annotations of image 1 have the id",
}  # fmt: skip
"""Why an export cannot be read; the COCO of pylabel repeats annotations, so that nobody knows how many there are."""
PIXEL_OFF = {"label_studio_voc", "supervision_voc", "pylabel_yolo"}
"""Tools that round, or count pixels from 1."""
WITHOUT_EMPTY = {
    "datumaro_kitti_detection", "datumaro_open_images", "datumaro_voc", "datumaro_voc_detection", "globox_openimage",
    "label_studio_voc",
}  # fmt: skip
"""Where images that show nothing are not in the annotations."""
WITHOUT_SIZES = {"label_studio_yolo", "label_studio_yolo_obb"}
"""Shares of images that are not in the export: they come in where the images lie beside, under their own names."""
WITHOUT_TRACKS = {"datumaro_cvat_film"}


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder for each export: as the installed tools write them, else those that are kept."""
    home = tmp_path_factory.mktemp("exports")
    if not PYTHON:
        with tarfile.open(STORED) as archive:
            archive.extractall(home, filter="data")
        return home / "exports"
    (home / "scene").mkdir()
    for images in (STILLS, FILM):
        put_images(images, home / "scene")
    (home / "scene" / "scene.json").write_text(json.dumps({"stills": STILLS, "film": FILM}))
    (home / "exports").mkdir()
    subprocess.run([PYTHON, str(PROGRAM), str(home / "scene"), str(home / "exports")], check=True, timeout=900)
    return home / "exports"


def export(name: str, exports: Path, place: Path, packed: bool) -> Path:
    """The export as a folder or ZIP, with the images of the scene where it does not hold them."""
    if not (exports / name).exists():
        pytest.skip(f"{name}: {json.loads((exports / 'refused.json').read_text())[name]}")
    shutil.copytree(exports / name, place / name)
    if name in WITHOUT_SIZES:
        put_images(STILLS, place / name / "images")
    return Path(shutil.make_archive(str(place / name), "zip", place / name)) if packed else place / name


def boxes_of(procedure: Procedure) -> list[tuple[str, list[float]]]:
    return sorted((track.class_name, track.boxes[0].tolist()) for track in procedure.tracks)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("name", [name for name in EXPORTS if name not in REFUSED and not name.endswith("_film")])
def test_stills_are_those_of_the_scene(name: str, packed: bool, exports: Path, tmp_path: Path) -> None:
    read = read_annotations(export(name, exports, tmp_path, packed)).procedures
    found = {Path(one.video).name: one for one in join_procedures(read)}
    expected = {image: one for image, one in STILLS.items() if one[2] or name not in WITHOUT_EMPTY}
    assert found.keys() == expected.keys()
    for image, (width, height, boxes) in expected.items():
        drawn = boxes_of(found[image])
        assert [label for label, _ in drawn] == sorted(label for label, *_ in boxes), image
        if boxes:
            assert (found[image].width_px, found[image].height_px) == (width, height)
        for (_, sides), (_, *wanted) in zip(drawn, sorted(boxes), strict=True):
            assert sides == pytest.approx(wanted, abs=1.001 if name in PIXEL_OFF else 0.01), image


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("name", [name for name in EXPORTS if name.endswith("_film")])
def test_a_film_has_the_objects_of_the_scene(name: str, packed: bool, exports: Path, tmp_path: Path) -> None:
    [procedure] = join_procedures(read_annotations(export(name, exports, tmp_path, packed)).procedures)
    first = min(int(track.seconds[0]) for track in procedure.tracks)
    found = [
        {(second - first, track.class_name, *(round(side, 3) for side in box))
         for second, box in zip(track.seconds.tolist(), track.boxes.tolist(), strict=True)}
        for track in procedure.tracks
    ]  # fmt: skip
    wanted: dict[int, set[tuple[object, ...]]] = {}
    for second, (_, _, boxes) in enumerate(FILM.values()):
        for label, x, y, w, h, track in boxes:
            wanted.setdefault(track, set()).add((second, label, x, y, w, h))
    if name in WITHOUT_TRACKS:
        assert set().union(*found) == set().union(*wanted.values())
        assert len(procedure.proposed) == len(procedure.tracks)
    else:
        assert sorted(map(sorted, found)) == sorted(map(sorted, wanted.values()))
        assert not procedure.proposed
    assert (procedure.width_px, procedure.height_px) == (640, 360)


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_names_the_export_to_choose(name: str, packed: bool, exports: Path, tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=REFUSED[name]) as refused:
        read_annotations(export(name, exports, tmp_path, packed))
    assert len(refused.value.problems) <= 2


def test_both_families_have_the_exports_that_are_promised() -> None:
    for family, count in (("datumaro", 14), ("label_studio", 12)):
        assert sum(name.startswith(family) for name in EXPORTS) >= count
