"""VIA, LabelMe, Pascal VOC, YOLO, Datumaro and images of Label Studio, and what becomes of images that no video has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from data_set_files import put_png
from shared_data import shared
from surgvalid.datasets import About, read_annotations
from surgvalid.errors import InputInvalid, Misuse, ProcedureInvalid, UnknownName
from surgvalid.schema.procedures.tracks import Procedure


def the_one(path: Path, **about: Any) -> Procedure:
    [procedure] = read_annotations(path, about=About(**about)).procedures
    return procedure


def boxes(procedure: Procedure) -> dict[str, tuple[str, int, list[float]]]:
    return {t.instance: (t.class_name, int(t.seconds[0]), t.boxes[0].tolist()) for t in procedure.tracks}


def via(name: str, *regions: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    listed = [{"shape_attributes": shape, "region_attributes": told} for shape, told in regions]
    return {f"{name}99": {"filename": name, "size": 99, "regions": listed, "file_attributes": {}}}


def test_via_tells_boxes_circles_polygons_and_tracks(tmp_path: Path) -> None:
    circle = {"name": "circle", "cx": 50, "cy": 40, "r": 10}
    polygon = {"name": "polygon", "all_points_x": [1, 9, 5], "all_points_y": [2, 2, 12]}
    path = tmp_path / "case 3.json"
    rect = {"name": "rect", "x": 1, "y": 2, "width": 30, "height": 20}
    sponge = {"class": "Sponge", "track": 7, "soaked": "yes"}
    path.write_text(
        json.dumps(via("f_007.png", (rect, sponge), (circle, {"label": "Clip"}), (polygon, {"kind": "Drain"})))
    )
    procedure = the_one(path, width_px=640, height_px=360)
    assert boxes(procedure) == {
        "Sponge 7": ("Sponge", 7, [1, 2, 30, 20]),
        "Clip 7.2": ("Clip", 7, [40, 30, 20, 20]),
        "Drain 7.3": ("Drain", 7, [1, 2, 8, 10]),
    }
    assert procedure.video == "case 3"
    assert procedure.proposed == ("Clip 7.2", "Drain 7.3")
    assert dict(procedure.tracks[0].attributes) == {"soaked": "yes"}


def test_via_reads_the_size_of_images_that_lie_beside(tmp_path: Path) -> None:
    put_png(tmp_path / "f_002.png", [bytes(64)] * 48)
    path = tmp_path / "via.json"
    path.write_text(
        json.dumps(via("f_002.png", ({"name": "rect", "x": 1, "y": 2, "width": 3, "height": 4}, {"label": "Clip"})))
    )
    procedure = the_one(path)
    assert (procedure.width_px, procedure.height_px, procedure.assumed) == (64, 48, ("fps",))


def labelme(folder: Path, frame: int, *shapes: dict[str, Any]) -> None:
    document = {"version": "5", "flags": {}, "shapes": shapes, "imagePath": f"{frame:05d}.jpg", "imageData": None}
    (folder / f"{frame:05d}.json").write_text(json.dumps({**document, "imageHeight": 48, "imageWidth": 64}))


def test_a_folder_of_labelme_is_one_video_and_groups_are_objects(tmp_path: Path) -> None:
    folder = tmp_path / "VID03"
    folder.mkdir()
    for frame in (25, 50):
        left = {"label": "Clip", "points": [[1, 1], [4, 5]], "group_id": 2, "shape_type": "rectangle"}
        right = {"label": "Clip", "points": [[6, 1], [8, 3], [7, 9]], "group_id": 2, "shape_type": "polygon"}
        labelme(folder, frame, left, right, {"label": "x", "points": [[1, 1]], "shape_type": "point"})
    annotations = read_annotations(folder, about=About(fps=25))
    [procedure] = annotations.procedures
    assert (procedure.video, procedure.duration_s, procedure.proposed) == ("VID03", 3, ())
    assert procedure.tracks[0].seconds.tolist() == [1, 2]
    assert procedure.tracks[0].boxes[0].tolist() == [1, 1, 7, 8]
    assert {"shape-as-box", "not-kept"} <= {finding.code for finding in annotations.findings}


VOC = """<annotation><filename>{name}</filename><size><width>64</width><height>48</height><depth>3</depth></size>
<object><name>Clip</name><difficult>0</difficult><bndbox><xmin>3</xmin><ymin>4</ymin><xmax>13</xmax><ymax>9</ymax>
</bndbox></object></annotation>"""


def test_pascal_voc_is_read_by_file_and_by_folder(tmp_path: Path) -> None:
    home = tmp_path / "case 9" / "Annotations"
    home.mkdir(parents=True)
    for frame in (0, 1):
        (home / f"{frame:04d}.xml").write_text(VOC.format(name=f"{frame:04d}.jpg"))
    procedure = the_one(home.parent)
    assert (procedure.video, len(procedure.tracks), procedure.duration_s) == ("case 9", 2, 2)
    assert boxes(the_one(home / "0001.xml")) == {"Clip 1.1": ("Clip", 1, [3, 4, 10, 5])}


def yolo(folder: Path, *rows: str) -> Path:
    folder.mkdir()
    (folder / "data.yaml").write_text("train: x\nnames:\n  0: Clip\n  1: 'Specimen Bag'\nnc: 2\n")
    (folder / "labels").mkdir()
    for frame, row in enumerate(rows):
        (folder / "labels" / f"{frame:03d}.txt").write_text(row)
    return folder


def test_yolo_tells_shares_of_the_size_that_is_given(tmp_path: Path) -> None:
    folder = yolo(tmp_path / "v", "1 0.5 0.5 0.25 0.5 4\n", "", "0 0.1 0.1 0.2 0.1 0.2 0.3\n")
    procedure = the_one(folder, width_px=200, height_px=100)
    assert boxes(procedure) == {
        "Specimen Bag 4": ("Specimen Bag", 0, [75, 25, 50, 50]),
        "Clip 2.1": ("Clip", 2, [20, 10, 20, 20]),
    }
    with pytest.raises(ProcedureInvalid, match="give --size"):
        the_one(folder)


def test_a_confidence_makes_a_prediction_of_yolo_labels(tmp_path: Path) -> None:
    with pytest.raises(ProcedureInvalid, match="that is a prediction"):
        the_one(yolo(tmp_path / "v", "1 0.5 0.5 0.25 0.5 0.91"), width_px=200, height_px=100)


def test_datumaro_tells_boxes_with_their_tracks(tmp_path: Path) -> None:
    rows = [
        {"id": 0, "type": "bbox", "label_id": 0, "bbox": [1, 2, 3, 4], "attributes": {"track_id": 5, "occluded": True}},
        {"id": 1, "type": "label", "label_id": 0},
    ]
    item = {"id": "frame_000004", "annotations": rows, "image": {"path": "x.png", "size": [48, 64]}}
    path = tmp_path / "train.json"
    path.write_text(json.dumps({"infos": {}, "categories": {"label": {"labels": [{"name": "Clip"}]}}, "items": [item]}))
    procedure = the_one(path)
    assert boxes(procedure) == {"Clip 5": ("Clip", 4, [1, 2, 3, 4])}
    assert (procedure.width_px, procedure.height_px, procedure.tracks[0].visibility.tolist()) == (64, 48, [1])


def studio(name: str, **value: Any) -> dict[str, Any]:
    result = {"type": "rectanglelabels", "value": {**value, "rectanglelabels": ["Clip"]}}
    sized = {**result, "original_width": 200, "original_height": 100}
    return {
        "id": 1,
        "data": {"image": f"/data/upload/1/{name}"},
        "annotations": [{"completed_by": 3, "result": [sized]}],
    }


def test_shapes_on_images_of_label_studio_come_in(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([studio("f_0003.png", x=10, y=10, width=5, height=10, rotation=0)]))
    assert boxes(the_one(path)) == {"Clip 3.1": ("Clip", 3, [20, 10, 10, 10])}


def test_images_without_a_number_are_stills_and_refused_where_a_rate_says_that_they_are_frames(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    tasks = [studio(name, x=10, y=10, width=5, height=10) for name in ("birds.png", "trees.png")]
    path.write_text(json.dumps(tasks))
    with pytest.raises(ProcedureInvalid, match=r"2 images have no frame number .* --stills"):
        read_annotations(path, about=About(fps=25))
    assert "stills" in {finding.code for finding in read_annotations(path).findings}
    stills = read_annotations(path, about=About(stills=True)).procedures
    assert [one.video for one in read_annotations(path).procedures] == ["birds", "trees"]
    assert [(one.video, one.duration_s, one.proposed) for one in stills] == [("birds", 1, ()), ("trees", 1, ())]


@pytest.mark.parametrize(
    ("names", "message"),
    [(("a_1.png", "b_2.png"), "begin in different ways"), (("a_1.png", "a_01.png"), "2 images are frame 1")],
)
def test_numbers_that_do_not_count_the_frames_of_one_video_are_refused(
    tmp_path: Path, names: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([studio(name, x=10, y=10, width=5, height=10) for name in names]))
    with pytest.raises(ProcedureInvalid, match=message):
        read_annotations(path, about=About(fps=1))


def test_what_the_caller_declares_is_declared(tmp_path: Path) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps([studio("f_3.png", x=10, y=10, width=5, height=10)]))
    declared = the_one(path, annotated=("class:Sponge", "retrieved", "seconds:0-4", "by:anna")).declared
    assert declared is not None
    assert declared.classes == ("Sponge", "Clip")
    assert (declared.events, declared.spans, declared.confirmed_by) == (("retrieved",), ((0, 4),), ("anna",))
    assert the_one(path, annotated=["all"]).annotated.classes is None
    assert the_one(path).declared is None
    with pytest.raises(UnknownName, match="did you mean 'classes'"):
        About(annotated=["clases"])
    with pytest.raises(Misuse, match="is no stretch"):
        About(annotated=["seconds:9-3"])


ELSEWHERE = ("predictions", "surgical", "masks")
"""Read by `evaluate` and as data sets; here they must only not be mistaken for what they are not."""
SIZE = {"label_studio/api_1.23.2": (640, 480), "yolo": (640, 480)}
COME_IN = {
    "coco": 22, "cvat": 12, "datumaro_json": 7, "label_studio": 19, "labelme_json": 4, "labelme_xml": 10, "mot": 13,
    "other": 2, "via": 3, "voc": 19, "yolo": 12,
}  # fmt: skip
"""Files and folders that come in, as frames of a video or as stills."""


def outcome(path: Path, about: About) -> str:
    """'' where the file comes in, else the reason why it does not."""
    try:
        read_annotations(path, about=about)
    except InputInvalid as refused:
        return "; ".join(refused.problems) or "no reason"
    return ""


def test_every_real_export_comes_in_or_is_refused_with_a_reason() -> None:
    real = shared("data", "real_formats")
    came: dict[str, int] = {}
    for path in sorted(real.rglob("*")):
        place = path.relative_to(real).as_posix()
        width_px, height_px = next((SIZE[start] for start in SIZE if place.startswith(start)), (None, None))
        both = [About(stills=stills, width_px=width_px, height_px=height_px) for stills in (False, True)]
        reasons = {about.stills: outcome(path, about) for about in both}
        assert "no reason" not in reasons.values(), place
        tool = place.split("/", 1)[0]
        if tool not in ELSEWHERE:
            came[tool] = came.get(tool, 0) + ("" in reasons.values())
            assert not reasons[True] or reasons[True] != reasons[False] or "--stills" not in reasons[False], place
    assert {tool: count for tool, count in came.items() if count} == COME_IN
