"""Boxes as frameworks write them: read from real files, and asked about where two readings fit."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

import surgvalid
from data_set_files import BUILDERS
from shared_data import shared
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.predictions.boxes import read_boxes

BOXES = [[100.0, 50.0, 200.0, 150.0], [400.0, 120.0, 120.0, 180.0]]
"""Left, top, width and height of the grasper and the hook in the fixtures."""


def real(place: str) -> Path:
    return shared("data", "real_formats", "predictions", place)


def references(first: int = 1, names: tuple[str, ...] = ("video01_000026.jpg", "000051.jpg")) -> dict[str, Any]:
    images = [
        {"id": number, "file_name": name, "video": f"v{number}", "width": 854, "height": 480, "frame": number}
        for number, name in zip((26, 51), names, strict=True)
    ]
    categories = [{"id": first, "name": "grasper"}, {"id": first + 1, "name": "hook"}]
    annotations = [
        {"id": place + 1, "image_id": 26, "category_id": first + place, "bbox": box, "area": box[2] * box[3]}
        for place, box in enumerate(BOXES)
    ]
    return {"images": images, "categories": categories, "annotations": annotations}


def boxes_of(read: Any) -> list[tuple[Any, Any, list[int]]]:
    return [(one["image_id"], one["category_id"], [round(n) for n in one["bbox"]]) for one in read.results]


EXPECTED = [(26, 1, [100, 50, 200, 150]), (26, 2, [400, 120, 120, 180])]


@pytest.mark.parametrize(
    ("place", "options", "form"),
    [
        ("ultralytics/labels", {"class_numbers": "from-0"}, "YOLO text files (shares of the image; confidence)"),
        (
            "ultralytics/labels_track",
            {"prediction_labels": ["grasper", "hook"]},
            "YOLO text files (shares of the image; track)",
        ),
        ("ultralytics/labels_track_conf", {"class_numbers": "from-0"}, "confidence and track"),
        ("ultralytics/labels_noconf", {"class_numbers": "from-0"}, "no confidence"),
        ("torchvision/predictions.json", {"class_numbers": "ids"}, "torchvision"),
        ("torchvision/predictions_list.json", {}, "torchvision"),
        ("detectron2/coco_instances_results.json", {}, ""),
        ("huggingface/detections-00000-of-00001.parquet", {"class_numbers": "from-0", "box_format": "xywh"}, "a table"),
        ("supervision/detections.csv", {"columns": {"image": "frame_index"}}, "a table of boxes (columns x_min"),
        ("supervision/detections.json", {"columns": {"image": "frame_index"}}, "a table of boxes (columns x_min"),
    ],
)
def test_real_files_of_frameworks_give_the_same_boxes(place: str, options: dict[str, Any], form: str) -> None:
    path = real(place)
    source = json.loads(path.read_text()) if place.startswith("detectron2") else path
    if place.endswith("detections.json"):
        source = pl.DataFrame(json.loads(path.read_text()))
    read = read_boxes(source, references(names=("video01_000026.jpg", "video01_000051.jpg")), **options)
    assert boxes_of(read) == EXPECTED
    assert form in read.form


def test_files_of_one_image_take_its_name_from_their_own(tmp_path: Path) -> None:
    for place, name in (
        ("mmdetection/preds_000026.json", "preds_video01_000026.json"),
        ("ultralytics/results.json", "video01_000026.json"),
        ("torchvision/video01_000026.npz", "video01_000026.npz"),
    ):
        folder = tmp_path / place.split("/")[0]
        folder.mkdir()
        (folder / name).write_bytes(real(place).read_bytes())
        options = {"class_numbers": "ids"} if name.endswith("npz") else {}
        assert boxes_of(read_boxes(folder, references(), **options)) == EXPECTED


def test_text_ids_are_mapped_by_file_name() -> None:
    dataset = references(names=("video01_000026.jpg", "000026.jpg"))
    read = read_boxes(json.loads(real("ultralytics/predictions.json").read_text()), dataset)
    assert boxes_of(read) == [(26, 1, [100, 50, 200, 150]), (51, 2, [400, 120, 120, 180])]
    assert "ultralytics" in read.form


def test_numbers_of_classes_that_can_be_two_things_are_asked_about() -> None:
    results = [{"image_id": "video01_000026", "category_id": 1, "bbox": BOXES[0], "score": 0.5}]
    with pytest.raises(Misuse, match=r"class numbers 1 can be ids or from-1 .*say --format classes=ids or from-1"):
        read_boxes(results, references(first=0))
    assert read_boxes(results, references(first=0), class_numbers="from-1").results[0]["category_id"] == 0
    assert read_boxes(results, references(first=0), class_numbers="ids").results[0]["category_id"] == 1
    both = [*results, {**results[0], "category_id": 2}]
    assert [one["category_id"] for one in read_boxes(both, references(first=0)).results] == [0, 1]  # 2 is no id


def test_yolo_numbers_are_the_names_of_a_file_beside_them(tmp_path: Path) -> None:
    labels = tmp_path / "labels"
    labels.mkdir()
    (labels / "video01_000026.txt").write_text("1 0.234192 0.260417 0.234192 0.3125 0.9\n")
    with pytest.raises(Misuse, match=r"class numbers 1 can be from-0 or ids"):
        read_boxes(labels, references())
    (tmp_path / "data.yaml").write_text("path: x\nnames:\n  0: hook\n  1: grasper\n")
    read = read_boxes(labels, references())
    assert boxes_of(read) == EXPECTED[:1]
    assert "classes by the names hook, grasper, counted from 0" in read.form
    (tmp_path / "data.yaml").write_text("names: ['hook', 'grasper']\nnc: 2\n")
    assert boxes_of(read_boxes(labels, references())) == EXPECTED[:1]


def test_a_sixth_column_of_ones_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "video01_000026.txt").write_text("0 0.234192 0.260417 0.234192 0.3125 1\n")
    with pytest.raises(Misuse, match=r"reads as confidence and as track; say --columns score=6"):
        read_boxes(tmp_path, references(), class_numbers="from-0")
    as_track = read_boxes(tmp_path, references(), class_numbers="from-0", columns={"track": "6"})
    assert "score" not in as_track.results[0]
    as_score = read_boxes(tmp_path, references(), class_numbers="from-0", columns={"score": "6"})
    assert as_score.results[0]["score"] == 1.0


CORNERS = [[x, y, x + w, y + h] for x, y, w, h in BOXES]
CENTRES = [[x + w / 2, y + h / 2, w, h] for x, y, w, h in BOXES]


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        (("x1", "y1", "x2", "y2"), CORNERS),
        (("xmin", "ymin", "xmax", "ymax"), CORNERS),
        (("left", "top", "width", "height"), BOXES),
        (("cx", "cy", "w", "h"), CENTRES),
        (("x_center", "y_center", "width", "height"), CENTRES),
    ],
)
@pytest.mark.parametrize("shares", [False, True])
def test_columns_of_a_table_say_what_the_numbers_are(
    names: tuple[str, ...], numbers: list[list[float]], shares: bool, tmp_path: Path
) -> None:
    scale = [854, 480, 854, 480] if shares else [1] * 4
    rows = [
        {"file_name": "video01_000026.jpg", "class_name": label, "conf": 0.9}
        | {name: value / size for name, value, size in zip(names, box, scale, strict=True)}
        for label, box in zip(("grasper", "hook"), numbers, strict=True)
    ]
    for path in (tmp_path / "boxes.csv", tmp_path / "boxes.parquet"):
        frame = pl.DataFrame(rows)
        frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
        assert boxes_of(read_boxes(path, references())) == EXPECTED


def test_x_y_width_height_is_asked_about_unless_one_reading_leaves_the_image() -> None:
    middle = {"file_name": ["video01_000026.jpg"], "label": ["grasper"]}
    middle |= {"x": [400], "y": [200], "width": [100], "height": [80]}
    with pytest.raises(Misuse, match="boxes can be xywh or cxcywh; say which with --format boxes="):
        read_boxes(pl.DataFrame(middle), references())
    assert boxes_of(read_boxes(pl.DataFrame(middle), references(), box_format="cxcywh")) == [
        (26, 1, [350, 160, 100, 80])
    ]
    edge = pl.DataFrame({**middle, "x": [10]})  # a centre 10 px from the edge cannot be 100 px wide
    read = read_boxes(edge, references())
    assert boxes_of(read) == [(26, 1, [10, 200, 100, 80])]
    assert "boxes as xywh" in read.form


def test_names_of_classes_are_compared_without_case_and_blanks_and_strange_ones_are_named() -> None:
    row = {"image": ["video01_000026"], "label": ["Grasper "], "bbox": [[1, 2, 3, 4]]}
    assert read_boxes(pl.DataFrame(row), references(), box_format="xywh").results[0]["category_id"] == 1
    with pytest.raises(InputInvalid, match=r"classes scalpel are none of the references \(grasper, hook\)"):
        read_boxes(pl.DataFrame({**row, "label": ["scalpel"]}), references(), box_format="xywh")


def test_boxes_of_other_images_are_refused_with_what_images_are_called() -> None:
    row = {"image": ["another.jpg"], "label": ["hook"], "x1": [1], "y1": [2], "x2": [3], "y2": [4]}
    with pytest.raises(InputInvalid, match=r"images .*: 1 of 1 .*'another.jpg'.* call theirs 'video01_000026.jpg'"):
        read_boxes(pl.DataFrame(row), references())


def test_a_name_that_two_images_share_names_neither() -> None:
    dataset = references(names=("a/000026.jpg", "b/000026.jpg"))
    row = {"image": ["000026.jpg"], "label": ["hook"], "x1": [1], "y1": [2], "x2": [3], "y2": [4]}
    with pytest.raises(InputInvalid, match="images that the references do not have"):
        read_boxes(pl.DataFrame(row), dataset)
    assert read_boxes(pl.DataFrame({**row, "image": ["b/000026.jpg"]}), dataset).results[0]["image_id"] == 51


def test_voc_and_labelme_are_read_with_confidences(tmp_path: Path) -> None:
    voc, labelme = tmp_path / "voc", tmp_path / "labelme"
    voc.mkdir(), labelme.mkdir()
    box = "<bndbox><xmin>100</xmin><ymin>50</ymin><xmax>300</xmax><ymax>200</ymax></bndbox>"
    text = f"<annotation><filename>video01_000026.jpg</filename><object><name>grasper</name>{box}"
    (voc / "any.xml").write_text(f"{text}<score>0.7</score></object></annotation>")
    shape = {"label": "grasper", "points": [[100, 50], [300, 200]], "shape_type": "rectangle", "score": 0.7}
    (labelme / "video01_000026.json").write_text(json.dumps({"shapes": [shape], "imagePath": "x\\video01_000026.jpg"}))
    for folder in (voc, labelme):
        read = read_boxes(folder, references())
        assert boxes_of(read) == EXPECTED[:1]
        assert read.results[0]["score"] == 0.7


def test_every_tool_for_images_writes_predictions_and_references_alike(tmp_path: Path) -> None:
    shape = {"name": "rect", "x": 100, "y": 50, "width": 200, "height": 150}
    region = {"shape_attributes": shape, "region_attributes": {"label": "grasper", "score": "0.7"}}
    (tmp_path / "via.json").write_text(json.dumps({"a": {"filename": "video01_000026.jpg", "regions": [region]}}))
    drawn = '<polygon label="grasper" points="100,50;300,50;300,200;100,200"><attribute name="score">0.7</attribute>'
    image = f'<image id="0" name="video01_000026.jpg" width="854" height="480">{drawn}</polygon></image>'
    (tmp_path / "cvat.xml").write_text(f"<annotations>{image}</annotations>")
    points = "".join(f"<pt><x>{x}</x><y>{y}</y></pt>" for x, y in ((100, 50), (300, 200)))
    thing = f"<object><name>grasper</name><polygon>{points}</polygon></object><imagesize><nrows>9</nrows></imagesize>"
    (tmp_path / "labelme.xml").write_text(f"<annotation><filename>video01_000026.jpg</filename>{thing}</annotation>")
    for name in ("via.json", "cvat.xml", "labelme.xml"):
        read = read_boxes(tmp_path / name, references())
        assert boxes_of(read) == EXPECTED[:1], name
        assert read.results[0].get("score") == (None if name == "labelme.xml" else 0.7)
    point = {**region, "shape_attributes": {"name": "point", "cx": 1, "cy": 2}}
    (tmp_path / "via.json").write_text(json.dumps({"a": {"filename": "video01_000026.jpg", "regions": [point]}}))
    with pytest.raises(InputInvalid, match="1 points, lines or masks"):
        read_boxes(tmp_path / "via.json", references())


def test_grand_challenge_boxes_hold_their_frame_in_the_name(tmp_path: Path) -> None:
    corners = [[100, 50, 0.5], [300, 50, 0.5], [300, 200, 0.5], [100, 200, 0.5]]
    boxes = [{"name": "slice_nr_26_grasper", "corners": corners, "probability": 0.4}]
    path = tmp_path / "found.json"
    path.write_text(json.dumps({"type": "Multiple 2D bounding boxes", "boxes": boxes, "version": {}}))
    assert boxes_of(read_boxes(path, references())) == EXPECTED[:1]


def test_pickles_key_points_and_unknown_forms_are_refused(tmp_path: Path) -> None:
    (tmp_path / "instances_predictions.pth").write_bytes(b"")
    with pytest.raises(FileUnreadable, match="a pickle can run anything"):
        read_boxes(tmp_path / "instances_predictions.pth", references())
    points = [{"image_id": 26, "category_id": 1, "keypoints": [1, 2, 2], "score": 0.5}]
    (tmp_path / "points.json").write_text(json.dumps(points))
    with pytest.raises(FileUnreadable, match="key points, which are no boxes"):
        read_boxes(tmp_path / "points.json", references())
    (tmp_path / "odd.json").write_text('{"a": 1}')
    with pytest.raises(FileUnreadable, match="no form of boxes that is known"):
        read_boxes(tmp_path / "odd.json", references())


@pytest.mark.parametrize(
    "content", ['[{"image_id": [], "boxes": 3, "labels": null}]', '{"x": {"boxes": [1], "labels": "a"}}']
)
def test_what_cannot_be_boxes_is_an_error_of_ours(content: str, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(content)
    with pytest.raises(InputInvalid):
        read_boxes(tmp_path / "odd.json", references())


def test_the_result_says_what_was_read_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "references.json").write_text(json.dumps(references()))
    command = ["evaluate", "detection", "--predictions", str(real("ultralytics/labels"))]
    command += ["--references", str(tmp_path / "references.json"), "--format", "classes=from-0"]
    done = CliRunner().invoke(build_app(), command)
    assert done.exit_code == 0, done.output
    assert "Predictions were read as YOLO text files" in " ".join(done.output.split())


def test_outlines_as_shares_are_compared_as_masks() -> None:
    dataset = references()
    for one, (x, y, w, h) in zip(dataset["annotations"], BOXES, strict=True):
        one["segmentation"] = [[x, y, x, y + h - 1, x + w - 1, y + h - 1, x + w - 1, y]]
    result = surgvalid.evaluate(
        "detection", real("ultralytics/labels_seg_conf"), dataset, overlap="mask", class_numbers="from-0"
    )
    assert result.value("coco_ap50") == 1.0


def test_references_that_cvat_marks_as_crowd_are_to_be_found() -> None:
    dataset = references()
    for one in dataset["annotations"]:
        one |= {"iscrowd": 1, "attributes": {"occluded": False}}
    guess = [{"image_id": 26, "category_id": 1, "bbox": BOXES[0], "score": 0.9}]
    result = surgvalid.evaluate("detection", guess, dataset, metrics=["detection_f1"])
    assert result.value("detection_f1") == pytest.approx(2 / 3)  # one of two is found
    assert any("2 masks of the references that CVAT marks as crowd" in note for note in result.notes)


def test_numbers_never_meet_numbers_that_the_data_set_does_not_have(tmp_path: Path) -> None:
    root = tmp_path / "avos"
    BUILDERS["avos"](root)
    options = {"data_set": "avos", "task": "tools", "metrics": ["detection_f1"]}
    guess = [{"image_id": 1, "category_id": 2, "bbox": [60, 70, 30, 90], "score": 0.9}]
    with pytest.raises(InputInvalid, match=r"1 of 1 .first: '1'.; references call theirs 'a-b-_c-30\.jpg'"):
        surgvalid.evaluate("detection", guess, root, **options)
    named = [{**guess[0], "file_name": "a-b-_c-30.jpg"}]
    with pytest.raises(
        Misuse, match=r"names and no numbers \(bovie, needledriver, forceps\); name yours .*--prediction-lab"
    ):
        surgvalid.evaluate("detection", named, root, **options)
    labels = ["background", "bovie", "needledriver", "forceps"]
    result = surgvalid.evaluate("detection", named, root, prediction_labels=labels, class_numbers="from-0", **options)
    assert result.value("detection_f1") == 1.0


VOC = """<annotation><filename>{}.jpg</filename><size><width>400</width><height>300</height></size>
<object><name>{}</name><bndbox><xmin>100</xmin><ymin>50</ymin><xmax>300</xmax><ymax>200</ymax></bndbox></object>
</annotation>"""


def test_ids_that_nobody_wrote_join_nothing(tmp_path: Path) -> None:
    for place, name in enumerate(("hook", "grasper", "hook")):
        (tmp_path / f"v{place}_a.xml").write_text(VOC.format(f"v{place}_a", name))
    guess = [{"image_id": 1, "category_id": 1, "bbox": [100, 50, 200, 150], "score": 0.9}]
    with pytest.raises(InputInvalid, match=r"images that .*: 1 of 1 \(first: '1'\); references call theirs 'v0_a.jpg'"):
        surgvalid.evaluate("detection", guess, tmp_path, video_pattern="^v[0-9]")
    named = [{**guess[0], "file_name": "v1_a.jpg"}]
    with pytest.raises(Misuse, match=r"names and no numbers \(hook, grasper\)"):
        surgvalid.evaluate("detection", named, tmp_path, video_pattern="^v[0-9]")
    words = [{**named[0], "category_id": "Grasper"}]
    with pytest.raises(Misuse, match=r"the predictions name their classes; --prediction-labels names numbers"):
        surgvalid.evaluate("detection", words, tmp_path, video_pattern="^v[0-9]", prediction_labels=["a", "b"])
    found = surgvalid.evaluate("detection", words, tmp_path, video_pattern="^v[0-9]", metrics=["detection_f1"])
    assert found.value("detection_f1") == 0.5  # one of three found


def test_ids_that_count_from_0_are_refused_with_the_order_that_mends_them() -> None:
    dataset = references()
    for number, one in enumerate([*dataset["images"], *dataset["annotations"]], start=1):
        one |= {"id": number} if "file_name" in one else {"image_id": 1}
    guess = [{"image_id": n, "category_id": 1, "bbox": [100, 50, 200, 150], "score": 0.9} for n in (0, 1)]
    with pytest.raises(InputInvalid, match="count otherwise by one: --format join=next"):
        read_boxes(guess, dataset)
    found = read_boxes(guess, dataset, join="next")
    assert [one["image_id"] for one in found.results] == [1, 2]


def test_names_that_can_count_from_0_and_from_1_are_asked_about() -> None:
    lists = {"video01_000026": {"boxes": [[100, 50, 300, 200]], "labels": [1], "scores": [0.9]}}
    options = {"prediction_labels": ["grasper", "hook"]}
    with pytest.raises(Misuse, match=r"fit the names grasper, hook from 0 and from 1; say --format classes="):
        read_boxes(lists, references(), **options)
    found = read_boxes(lists, references(), class_numbers="from-1", **options)
    assert found.results[0]["category_id"] == 1
    two = {"video01_000026": {"boxes": [[100, 50, 300, 200]], "labels": [2], "scores": [0.9]}}
    assert read_boxes(two, references(), **options).results[0]["category_id"] == 2  # only from 1 fits


@pytest.mark.parametrize("order", list(permutations(["grasper", "hook", "clipper"])), ids=", ".join)
def test_a_number_is_the_place_in_the_list_in_any_order(order: tuple[str, ...]) -> None:
    data = references()
    data["categories"] = [{"id": at, "name": name} for at, name in enumerate(["grasper", "hook", "clipper"], start=1)]
    data["annotations"] = []
    lists = {"video01_000026": {"boxes": [BOXES[0]] * 3, "labels": [0, 1, 2], "scores": [0.9, 0.8, 0.7]}}
    found = read_boxes(lists, data, prediction_labels=list(order))
    names = {one["id"]: one["name"] for one in data["categories"]}
    assert [names[one["category_id"]] for one in found.results] == list(order)


def test_a_frame_number_alone_names_an_image_of_a_single_video_only() -> None:
    dataset = references()
    for place, one in enumerate(dataset["images"]):
        one |= {"id": f"image {place}", "video": "v"}
    row = {"image": [26], "label": ["hook"], "x1": [1], "y1": [2], "x2": [3], "y2": [4]}
    assert read_boxes(pl.DataFrame(row), dataset).results[0]["image_id"] == "image 0"
    dataset["images"][1]["video"] = "w"
    with pytest.raises(InputInvalid, match="images that the references do not have"):
        read_boxes(pl.DataFrame(row), dataset)
    both = {**row, "video": ["v"], "frame": [26]}
    del both["image"]
    assert read_boxes(pl.DataFrame(both), dataset).results[0]["image_id"] == "image 0"


def test_predictions_with_images_of_their_own_are_mapped_by_name(tmp_path: Path) -> None:
    content = {
        "images": [{"id": 51, "file_name": "video01_000026.jpg"}],  # another image has this id in the references
        "categories": [{"id": 2, "name": "grasper"}],
        "annotations": [{"id": 1, "image_id": 51, "category_id": 2, "bbox": BOXES[0], "score": 0.9}],
    }
    path = tmp_path / "predicted.json"
    path.write_text(json.dumps(content))
    read = read_boxes(path, references())
    assert boxes_of(read) == EXPECTED[:1]
    assert "a COCO data set with images and categories of its own" in read.form


def of_two_videos(*names: str) -> dict[str, Any]:
    images = [
        {"id": place, "file_name": name, "video": f"video0{place}", "frame": 26, "width": 100, "height": 100}
        for place, name in enumerate(names, start=1)
    ]
    notes = [{"id": one["id"], "image_id": one["id"], "category_id": 1, "bbox": [10, 10, 20, 20]} for one in images]
    return {"images": images, "annotations": notes, "categories": [{"id": 1, "name": "hook"}]}


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (("video01/000026.jpg", "video02/000026.jpg"), ("video01/000026", "video02/000026")),
        (("images/video01/000026.jpg", "images/video02/000026.jpg"), ("video01/000026", "video02/000026")),
        (("video01/000026.jpg", "video02/000026.jpg"), ("labels/video01/000026", "labels/video02/000026")),
        (("test/a_1.jpg", "test/a_2.jpg"), ("labels/a_1", "labels/a_2")),
        (("video01_000026.jpg", "video02_000026.jpg"), ("video01/000026", "video02/000026")),
    ],
)
def test_folders_in_a_folder_tell_images_of_one_name_apart(
    names: tuple[str, ...], places: tuple[str, ...], tmp_path: Path
) -> None:
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{place}.txt").write_text("0 0.2 0.2 0.2 0.2 0.5\n")
    read = read_boxes(tmp_path, of_two_videos(*names), class_numbers="from-0")
    assert [one["image_id"] for one in read.results] == [1, 2]


def test_an_image_of_another_numbered_folder_is_another_image(tmp_path: Path) -> None:
    (tmp_path / "video02").mkdir()
    (tmp_path / "video02" / "000026.txt").write_text("0 0.2 0.2 0.2 0.2 0.5\n")
    with pytest.raises(InputInvalid, match="first: 'video02/000026'"):
        read_boxes(tmp_path, of_two_videos("video01/000026.jpg"), class_numbers="from-0")
    results = [{"image_id": 7, "file_name": "video02/000026.jpg", "category_id": 1, "bbox": BOXES[0], "score": 0.5}]
    with pytest.raises(InputInvalid, match="images that the references do not have"):
        read_boxes(results, of_two_videos("video01/000026.jpg"), class_numbers="ids")


def test_names_of_classes_in_coco_results_are_names() -> None:
    results = [{"image_id": 26, "category_id": name, "bbox": BOXES[0], "score": 0.5} for name in ("Hook", "grasper")]
    assert [one["category_id"] for one in read_boxes(results, references()).results] == [2, 1]


@pytest.mark.parametrize("form", ["file", "list"])
def test_class_numbers_that_the_references_do_not_have_name_the_option(form: str, tmp_path: Path) -> None:
    results = [{"image_id": 26, "category_id": number, "bbox": BOXES[0], "score": 0.5} for number in (0, 1)]
    (tmp_path / "found.json").write_text(json.dumps(results))
    given = results if form == "list" else tmp_path / "found.json"
    with pytest.raises(InputInvalid, match=r"say --format classes=from-0 where .* counted .* from 0"):
        surgvalid.evaluate("detection", given, references())
    result = surgvalid.evaluate("detection", given, references(), class_numbers="from-0")
    assert result.value("coco_ap50") > 0
    other = [{**one, "category_id": one["category_id"] + 90} for one in results]
    with pytest.raises(InputInvalid) as told:
        surgvalid.evaluate("detection", other, references())
    assert "--format classes" not in str(told.value)


def test_a_table_with_semicolons_and_decimal_commas_is_read(tmp_path: Path) -> None:
    rows = "image;x1;y1;x2;y2;label;score\nvideo01_000026.jpg;1,5;2,0;3,5;4,0;hook;0,5\n"
    (tmp_path / "boxes.csv").write_text(rows)
    (one,) = read_boxes(tmp_path / "boxes.csv", references()).results
    assert (one["bbox"], one["score"]) == ([1.5, 2.0, 2.0, 2.0], 0.5)
