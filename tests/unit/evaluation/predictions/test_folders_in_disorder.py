"""Folders of predictions as they come off other systems: hidden files, byte order marks, Windows line ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surgvalid
from data_set_files import put, put_png
from surgvalid.evaluation.predictions.boxes import read_boxes
from surgvalid.evaluation.predictions.labels import read_labels
from surgvalid.evaluation.predictions.mask_files import read_label_maps

MARK = "\ufeff"
JUNK = b"\x00\x05\x16\x07\x00\x02\x00\x00Mac OS X"


def disordered(folder: Path) -> None:
    for path in [one for one in folder.rglob("*") if one.is_file()]:
        for place in (path.parent, folder / "__MACOSX"):
            place.mkdir(exist_ok=True)
            (place / f"._{path.name}").write_bytes(JUNK)
            (place / ".DS_Store").write_bytes(JUNK)
        if path.suffix in (".txt", ".json"):
            text = path.read_text(encoding="utf-8").replace("\n", "\r\n")
            path.write_bytes((MARK + text).encode())


def references() -> dict[str, Any]:
    images = [{"id": n, "file_name": f"v{n}_1.jpg", "video": f"v{n}", "width": 100, "height": 100} for n in (1, 2)]
    notes = [{"id": n, "image_id": n, "category_id": 1, "bbox": [10, 10, 20, 20], "area": 400} for n in (1, 2)]
    return {"images": images, "annotations": notes, "categories": [{"id": 1, "name": "hook"}]}


def yolo(folder: Path) -> None:
    for n in (1, 2):
        put(folder / f"v{n}_1.txt", "0 0.2 0.2 0.2 0.2 0.75\n")


def torchvision(folder: Path) -> None:
    for n in (1, 2):
        one = {"boxes": [[10, 10, 30, 30]], "labels": [1], "scores": [0.75]}
        put(folder / f"v{n}_1.json", json.dumps({f"v{n}_1": one}))


def voc(folder: Path) -> None:
    for n in (1, 2):
        corners = "<xmin>10</xmin><ymin>10</ymin><xmax>30</xmax><ymax>30</ymax>"
        thing = f"<object><name>hook</name><score>0.75</score><bndbox>{corners}</bndbox></object>"
        put(folder / f"v{n}_1.xml", f"<annotation><filename>v{n}_1.jpg</filename>{thing}</annotation>")


@pytest.mark.parametrize("write", [yolo, torchvision, voc])
def test_boxes_of_a_folder_in_disorder_are_the_same(write: Any, tmp_path: Path) -> None:
    write(tmp_path)
    options = {} if write is voc else {"class_numbers": "from-0" if write is yolo else "ids"}
    orderly = read_boxes(tmp_path, references(), **options).results
    assert [one["image_id"] for one in orderly] == [1, 2]
    disordered(tmp_path)
    assert read_boxes(tmp_path, references(), **options).results == orderly


def test_a_results_file_with_a_mark_at_its_beginning_is_read(tmp_path: Path) -> None:
    results = [{"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20], "score": 0.5}]
    (tmp_path / "results.json").write_text(MARK + json.dumps(results), encoding="utf-8")
    assert len(read_boxes(tmp_path / "results.json", references()).results) == 1


@pytest.mark.parametrize("kind", ["png", "npy"])
def test_masks_of_a_folder_in_disorder_are_the_same(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "video01"
    if kind == "png":
        put_png(folder / "1.png", [bytes([0, 1]), bytes([1, 1])])
    else:
        folder.mkdir()
        np.save(folder / "1.npy", np.array([[0, 1], [1, 1]]))
    disordered(tmp_path)
    assert list(read_label_maps(tmp_path, "predictions")) == ["video01/1"]


def test_labels_and_tracks_of_a_folder_in_disorder_are_the_same(tmp_path: Path) -> None:
    for n in (1, 2, 3):
        put(tmp_path / "labels" / f"video0{n}.txt", "Frame\tPhase\n0\tclip\n25\tcut\n")
        put(tmp_path / "tracks" / f"video0{n}.txt", "1,1,10,10,20,20,1,-1,-1,-1\n2,1,10,10,20,20,1,-1,-1,-1\n")
    orderly = read_labels(tmp_path / "labels", []).frame
    disordered(tmp_path / "labels")
    assert read_labels(tmp_path / "labels", []).frame.equals(orderly)
    disordered(tmp_path / "tracks")
    result = surgvalid.evaluate("tracking", tmp_path / "tracks", tmp_path / "tracks")
    assert result.value("hota") == 1.0


def test_names_of_classes_with_a_mark_at_their_beginning_are_read(tmp_path: Path) -> None:
    yolo(tmp_path)
    put(tmp_path / "classes.txt", f"{MARK}hook\n")
    assert [one["category_id"] for one in read_boxes(tmp_path, references()).results] == [1, 1]


def test_tracks_of_videos_in_another_spelling_are_found(tmp_path: Path) -> None:
    for n in (1, 2, 3):
        lines = "1,1,10,10,20,20,1,-1,-1,-1\n2,1,10,10,20,20,1,-1,-1,-1\n"
        put(tmp_path / "ours" / f"VID0{n}.txt", lines)
        put(tmp_path / "theirs" / f"vid{n}.txt", lines)
    assert surgvalid.evaluate("tracking", tmp_path / "theirs", tmp_path / "ours").value("hota") == 1.0
