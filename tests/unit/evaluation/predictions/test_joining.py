"""Detections are joined to the images they are of, however files call them and in whatever order; or a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from surgvalid.errors import InputInvalid, Misuse, SurgvalidError
from surgvalid.evaluation.predictions.boxes import PredictionsRead, read_boxes
from surgvalid.evaluation.predictions.joining import Images, moment_in
from surgvalid.metrics.detection.cases import coco_cases

NAMINGS = ("video{v:02d}_{f:06d}.jpg", "VID{v:02d}/{f:06d}.png", "{n:06d}.jpg", "frame_{n}.png", "img{n:04d}.jpg")
CALLED = ("id", "file name", "stem", "path", "both", "number", "video and frame", "text id")


def naming_of(seed: int) -> str:
    return str(np.random.default_rng(seed).choice(NAMINGS))


def study(seed: int) -> tuple[dict[str, Any], list[int], dict[int, dict[str, Any]]]:
    """References whose images have random names, ids and order; one distinct box in each."""
    rng = np.random.default_rng(seed)
    naming = str(rng.choice(NAMINGS))
    step = int(rng.choice([1, 25]))
    moments = [(v, f * step) for v in range(1, int(rng.integers(6, 9))) for f in range(int(rng.integers(8, 15)))]
    first = int(rng.integers(0, 3))
    ids = np.arange(len(moments)) + int(rng.integers(0, 3))
    if rng.random() < 0.5:
        rng.shuffle(ids)
    records: dict[int, dict[str, Any]] = {}
    for n, (v, f) in enumerate(moments):
        name = naming.format(v=v, f=f, n=n + first)
        records[int(ids[n])] = {
            "id": int(ids[n]),
            "file_name": name,
            "video": f"video{v:02d}",
            "width": 800,
            "height": 600,
        }
    order = list(records)
    rng.shuffle(order)
    boxes = {image: [*rng.uniform(0, 500, 2).tolist(), *rng.uniform(40, 90, 2).tolist()] for image in order}
    dataset = {
        "images": [records[image] for image in order],
        "categories": [{"id": 1, "name": "hook"}],
        "annotations": [
            {"id": n + 1, "image_id": image, "category_id": 1, "bbox": boxes[image]} for n, image in enumerate(order)
        ],
    }
    return dataset, order, {image: {**records[image], "bbox": boxes[image]} for image in order}


def images_of(read: PredictionsRead) -> list[Any]:
    assert isinstance(read.results, list)
    return [one["image_id"] for one in read.results]


def called(how: str, one: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    name = one["file_name"]
    stem = name.rsplit(".", 1)[0]
    moment = moment_in(name)
    assert moment is not None
    keys: dict[str, dict[str, Any]] = {
        "id": {"image_id": one["id"]},
        "text id": {"image_id": str(one["id"])},
        "file name": {"image_id": name},
        "stem": {"image_id": stem},
        "path": {"image_id": f"/data/test/{name}"},
        "both": {"image_id": int(rng.integers(0, 500)), "file_name": name},
        "number": {"image_id": moment[1]},
        "video and frame": {"video": moment[0] or one["video"], "frame": moment[1]},
    }
    return keys[how]


@pytest.mark.parametrize("start", range(0, 500, 50))
def test_500_namings_and_orders_are_joined_rightly_or_asked_about(start: int) -> None:
    asked = 0
    for seed in range(start, start + 50):
        dataset, order, truth = study(seed)
        rng = np.random.default_rng(seed + 10_000)
        how = str(rng.choice(CALLED))
        if how == "number" and "{n" not in naming_of(seed):
            how = "id"  # a number that every video has names nothing
        chosen = [image for image in order if rng.random() < 0.9]
        rng.shuffle(chosen)
        results: Any = [
            {**called(how, truth[image], rng), "category_id": 1, "bbox": truth[image]["bbox"], "score": 0.5}
            for image in chosen
        ]
        try:
            read = read_boxes(results, dataset)
            coco_cases(dataset, read.results)
        except SurgvalidError:
            asked += 1
            assert how in ("number", "text id", "video and frame"), f"{how} needs no question ({seed})"
            continue
        assert images_of(read) == chosen, f"seed {seed}, {how}: {read.form}"
        assert f"{len(chosen)} of {len(order)} images by" in read.form
    assert asked <= 15


def test_a_name_beats_an_id_that_contradicts_it_and_that_is_said() -> None:
    dataset, order, truth = study(1)
    shifted = [*order[1:], order[0]]
    results = [
        {"image_id": other, "file_name": truth[image]["file_name"], "category_id": 1, "bbox": truth[image]["bbox"]}
        for image, other in zip(order, shifted, strict=True)
    ]
    read = read_boxes(results, dataset)
    assert images_of(read) == order
    assert f"images by file name (ids would name another image for {len(order)} of {len(order)})" in read.form


def test_a_name_in_a_later_record_counts_too() -> None:
    dataset, order, truth = study(1)
    results: list[dict[str, Any]] = [{"image_id": i, "category_id": 1, "bbox": truth[i]["bbox"]} for i in order]
    results[-1]["file_name"] = "another.jpg"
    with pytest.raises(InputInvalid, match="images that the references do not have"):
        read_boxes(results, dataset)


def test_records_without_a_file_name_are_told_by_ids_where_the_others_show_that_these_are_right() -> None:
    dataset, order, truth = study(1)
    shifted = dict(zip(order, [*order[1:], order[0]], strict=True))

    def half(ids: dict[int, int]) -> list[dict[str, Any]]:
        rows = [{"image_id": ids[i], "category_id": 1, "bbox": truth[i]["bbox"], "score": 0.5} for i in order]
        return [
            {**row, "file_name": truth[i]["file_name"]} if place % 2 else row
            for place, (row, i) in enumerate(zip(rows, order, strict=True))
        ]

    read = read_boxes(half({i: i for i in order}), dataset)
    assert images_of(read) == order
    without = len(order) - len(order) // 2
    assert f"by file name ({without} of {len(order)} by id, as ids agree with the names of the others)" in read.form
    with pytest.raises(InputInvalid, match=rf"{without} of {len(order)} have no file name, and ids of the others nam"):
        read_boxes(half(shifted), dataset)
    unsaid = [row if "file_name" in row else {**row, "image_id": None} for row in half({i: i for i in order})]
    with pytest.raises(InputInvalid, match="box 1 names no image"):
        read_boxes(unsaid, dataset)
    mixed = [{**row, "image_id": row.pop("file_name", row["image_id"])} for row in half({i: i for i in order})]
    with pytest.raises(InputInvalid, match="nothing shows that the others' ids are those of the references"):
        read_boxes(mixed, dataset)


def test_a_name_beats_an_id_in_a_table_too() -> None:
    dataset, order, truth = study(1)
    shifted = [*order[1:], order[0]]
    rows: list[dict[str, Any]] = []
    for image, other in zip(order, shifted, strict=True):
        x, y, width, height = truth[image]["bbox"]
        row = {"image_id": other, "file_name": truth[image]["file_name"], "label": "hook"}
        rows.append({**row, "left": x, "top": y, "width": width, "height": height})
    read = read_boxes(pl.DataFrame(rows), dataset)
    assert images_of(read) == order
    assert f"images by file name (ids would name another image for {len(order)} of {len(order)})" in read.form
    rows[3]["image_id"] = rows[3]["file_name"] = None
    with pytest.raises(InputInvalid, match="box 4 names no image"):
        read_boxes(pl.DataFrame(rows), dataset)


def numbered() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Images 000001.jpg on with ids from 0, and results by the number in the name, boxes that do not move."""
    images = [{"id": n, "file_name": f"{n + 1:06d}.jpg", "video": f"v{n // 10}"} for n in range(60)]
    box = [10.0, 10.0, 50.0, 50.0]
    dataset = {"images": images, "categories": [{"id": 1, "name": "hook"}]}
    dataset["annotations"] = [{"id": n + 1, "image_id": n, "category_id": 1, "bbox": box} for n in range(60)]
    return dataset, [{"image_id": n, "category_id": 1, "bbox": box, "score": 0.5} for n in range(1, 60)]


def test_where_boxes_lie_decides_between_ids_and_numbers_and_else_it_is_asked() -> None:
    dataset, results = numbered()
    assert images_of(read_boxes(results, dataset)) == list(range(1, 60)), "COCO says ids"
    rng = np.random.default_rng(0)
    for one in dataset["annotations"]:
        one["bbox"] = [*rng.uniform(0, 400, 2).tolist(), 60.0, 60.0]
    moved = [{**one, "bbox": dataset["annotations"][one["image_id"] - 1]["bbox"]} for one in results]
    read = read_boxes(moved, dataset)
    assert images_of(read) == list(range(59))
    assert "by the number in the file name (mean overlap" in read.form
    few = {**dataset, "images": dataset["images"][:20], "annotations": dataset["annotations"][:20]}
    with pytest.raises(Misuse, match="say --format join="):
        read_boxes(moved[:19], few)
    assert images_of(read_boxes(moved[:19], few, join="number"))[0] == 0


def test_images_in_another_order_are_joined_when_that_is_said() -> None:
    dataset, order, truth = study(3)
    names = sorted(truth[image]["file_name"] for image in order)
    by_name = {truth[image]["file_name"]: image for image in order}
    results = [{"image_id": order[place], "category_id": 1, "bbox": [1, 1, 5, 5]} for place in range(len(order))]
    read = read_boxes(results, dataset, join="text-order")
    assert images_of(read) == [by_name[name] for name in names]
    assert Images(dataset).meant("next", [order[0]]) == {order[0]: order[1]}


def test_one_odd_box_among_many_is_named_and_is_no_other_format() -> None:
    dataset, order, truth = study(2)
    rows = [
        {"image": truth[i]["file_name"], "label": "hook", "x1": 10.0, "y1": 10.0, "x2": 50.0, "y2": 60.0} for i in order
    ]
    rows[7] |= {"x1": 90.0}
    with pytest.raises(InputInvalid, match=r"box 8 has no area or leaves its image.*boxes=xyxy takes"):
        read_boxes(rows, dataset)


def test_the_name_of_a_file_is_no_id_where_images_have_names(tmp_path: Path) -> None:
    dataset, *_ = study(3)
    for place, image in enumerate(dataset["images"]):
        image["id"], image["file_name"] = place + 20, f"v{place // 12}/{place % 12 + 20}.png"
    dataset["annotations"] = []
    for frame in range(20, 32):  # of which video nothing says
        (tmp_path / f"{frame}.txt").write_text("0 0.5 0.5 0.1 0.1 0.9\n")
    with pytest.raises(InputInvalid, match="images that the references do not have"):
        read_boxes(tmp_path, dataset)
    assert read_boxes(tmp_path, dataset, join="id").form.startswith("YOLO")
