"""Detection: hand-checked boxes, pycocotools, and bad input."""

import contextlib
import copy
import io
import re

import numpy as np
import polars as pl
import pytest
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import surgvalid
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics.detection import matching


def small() -> tuple[dict, list]:
    images = [{"id": n, "file_name": f"{n // 2}_{n}.jpg", "video": f"v{n // 2}", "smoke": n % 2} for n in range(4)]
    categories = [{"id": 1, "name": "tool"}, {"id": 2, "name": "clip"}]
    annotations = [{"id": n, "image_id": n, "category_id": 1, "bbox": [0, 0, 10, 10], "area": 100} for n in range(4)]
    results = [{"image_id": n, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.9} for n in range(2)]
    return {"images": images, "categories": categories, "annotations": annotations}, results


def random_set(seed: int = 4) -> tuple[dict, list]:
    rng = np.random.default_rng(seed)
    dataset, _ = small()
    dataset["images"] = [{"id": n, "video": f"v{n // 5}", "width": 100, "height": 100} for n in range(1, 21)]
    boxes = rng.uniform(5, 60, (60, 4)).round(1).tolist()
    dataset["annotations"] = [
        {
            "id": n + 1,
            "image_id": 1 + n % 20,
            "category_id": 1 + n % 2,
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": 0,
        }
        for n, box in enumerate(boxes)
    ]
    results = [
        {
            "image_id": one["image_id"],
            "category_id": one["category_id"],
            "bbox": (np.array(one["bbox"]) + rng.normal(0, 3, 4)).clip(1).round(2).tolist(),
            "score": float(rng.random()),
        }
        for one in dataset["annotations"]
        for _ in range(2)
    ]
    return dataset, results


def test_detections_are_paired_once_for_all_metrics_classes_and_the_summary(monkeypatch):
    seen: list[object] = []
    paired = matching._paired
    monkeypatch.setattr(matching, "_paired", lambda cases, *how: seen.append(cases) or paired(cases, *how))
    dataset, results = random_set()
    surgvalid.evaluate("detection", results, dataset)
    assert len(seen) == len({id(one) for one in seen}) == 3, "those of the model, and of two trivial predictors"


def pycoco(dataset: dict, results: list, kind: str = "bbox") -> np.ndarray:
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = copy.deepcopy(dataset)
        truth.createIndex()
        run = COCOeval(truth, truth.loadRes(copy.deepcopy(results)), kind)
        run.evaluate()
        run.accumulate()
        run.summarize()
    return run.stats


def test_half_of_the_boxes_found_is_half_the_average_precision() -> None:
    dataset, results = small()
    result = surgvalid.evaluate("detection", results, dataset, replicates=50)
    assert result.value("coco_ap50") == pytest.approx(51 / 101)
    assert result.value("coco_ar") == 0.5
    ar = result.per_video.filter(pl.col("metric") == "coco_ar")
    assert ar.select("video", "value").rows() == [("v0", 1.0), ("v1", 0.0)]
    assert result.per_class.filter(pl.col("class") == "clip")["value"].to_list() == [None, None]
    assert any("left out of the mean: clip" in note for note in result.notes)


def test_all_twelve_numbers_equal_pycocotools() -> None:
    dataset, results = random_set()
    result = surgvalid.evaluate("detection", results, dataset, replicates=20)
    theirs = pycoco(dataset, results)
    found = result.tables["coco_summary"]["value"].to_list()
    assert [-1 if one is None else one for one in found] == pytest.approx(theirs.tolist(), abs=1e-12)
    assert result.value("coco_ap") == pytest.approx(theirs[0], abs=1e-12)
    assert result.value("coco_ap50") == pytest.approx(theirs[1], abs=1e-12)


def test_strata_equal_running_on_their_images_alone() -> None:
    dataset, results = random_set()
    for record in dataset["images"]:
        record["center"] = "a" if record["id"] <= 10 else "b"
    result = surgvalid.evaluate("detection", results, dataset, metrics=["coco_ap"], by=["center"], replicates=20)
    kept = {record["id"] for record in dataset["images"] if record["center"] == "b"}
    part = {**dataset, "images": [one for one in dataset["images"] if one["id"] in kept]}
    part["annotations"] = [one for one in dataset["annotations"] if one["image_id"] in kept]
    alone = pycoco(part, [one for one in results if one["image_id"] in kept])[0]
    row = result.per_stratum.filter(pl.col("stratum_value") == "b").row(0, named=True)
    assert row["value"] == pytest.approx(alone, abs=1e-12)
    assert (row["cases"], row["videos"]) == (10, 3)


def test_videos_come_from_a_key_or_a_pattern_or_are_asked_for() -> None:
    dataset, results = small()
    by_pattern = surgvalid.evaluate("detection", results, dataset, video_pattern="^([0-9]+)_", replicates=10)
    assert by_pattern.per_video["video"].unique().sort().to_list() == ["0", "1"]
    for image in dataset["images"]:
        image["patient"] = image.pop("video")
    assert surgvalid.evaluate("detection", results, dataset, video_column="patient", replicates=10).metrics.height
    with pytest.raises(InputInvalid, match="--unit"):
        surgvalid.evaluate("detection", results, dataset)
    with pytest.raises(InputInvalid, match="4 names do not fit"):
        surgvalid.evaluate("detection", results, dataset, video_pattern="^frame")
    with pytest.raises(Misuse, match="no regular expression"):
        surgvalid.evaluate("detection", results, dataset, video_pattern="(")


def test_what_pycocotools_loses_with_annotation_0_is_said() -> None:
    dataset, results = random_set()
    for number, one in enumerate(dataset["annotations"]):
        one["id"] = number
    results[0] = {**results[0], "bbox": dataset["annotations"][0]["bbox"], "score": 1.0}
    result = surgvalid.evaluate("detection", results, dataset, metrics=["coco_ap"], replicates=20)
    theirs = pycoco(dataset, results)[0]
    row = result.tables["compat"].row(0, named=True)
    assert row["metric"] == "coco_ap_pycocotools"
    assert row["value"] == pytest.approx(theirs, abs=1e-12)
    assert row["corrected_value"] == result.value("coco_ap") > theirs
    for one in dataset["annotations"]:
        one["id"] += 1
    renumbered = surgvalid.evaluate("detection", results, dataset, metrics=["coco_ap"], replicates=20)
    assert "compat" not in renumbered.tables
    assert renumbered.value("coco_ap") == pytest.approx(pycoco(dataset, results)[0], abs=1e-12)


def test_empty_results_are_a_model_that_found_nothing() -> None:
    dataset, _ = small()
    result = surgvalid.evaluate("detection", [], dataset, replicates=10)
    assert result.value("coco_ap") == 0.0
    assert any("detected nothing" in note for note in result.notes)


def test_results_without_scores_say_how_they_were_ranked() -> None:
    dataset, results = small()
    for one in results:
        del one["score"]
    result = surgvalid.evaluate("detection", results, dataset, metrics=["coco_ap50"], replicates=10)
    assert "one step" in result.conventions["coco_ap50"]["conventions"]["confidence"]


def test_every_wrong_record_is_listed() -> None:
    dataset, results = small()
    results[0]["image_id"] = 99
    results[1]["category_id"] = "tool"
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("detection", results, dataset)
    assert len(caught.value.problems) == 2


def test_swapped_files_and_unknown_keys_are_refused() -> None:
    dataset, results = small()
    with pytest.raises(InputInvalid, match="swapped"):
        surgvalid.evaluate("detection", dataset, results)
    with pytest.raises(InputInvalid, match="list of results"):
        surgvalid.evaluate("detection", {"results": []}, dataset)
    with pytest.raises(Misuse, match="--references"):
        surgvalid.evaluate("detection", results)
    with pytest.raises(UnknownName, match="key of image records"):
        surgvalid.evaluate("detection", results, dataset, by=["blood"])
    with pytest.raises(UnknownName, match="kind of overlap"):
        surgvalid.evaluate("detection", results, dataset, overlap="circle")


def test_masks_are_compared_by_their_pixels() -> None:
    dataset, results = small()
    for one in dataset["annotations"]:
        one["segmentation"] = {"size": [2, 5], "counts": [0, 4, 6]}
    for one, counts in zip(results, ([0, 4, 6], [6, 4]), strict=True):
        one["segmentation"] = {"size": [2, 5], "counts": counts}
    result = surgvalid.evaluate(
        "detection", results, dataset, overlap="mask", metrics=["coco_ar"], by=["smoke"], replicates=9
    )
    assert result.value("coco_ar") == 0.25
    assert result.per_stratum["value"].to_list() == [0.5, 0.0]
    dataset["annotations"][0]["segmentation"] = [[0, 0, 1, 1, 2, 2]]
    with pytest.raises(InputInvalid, match="polygons need the width and height"):
        surgvalid.evaluate("detection", results, dataset, overlap="mask")


def test_all_twelve_numbers_of_polygons_and_packed_runs_equal_pycocotools() -> None:
    dataset, results = random_set()
    rng = np.random.default_rng(6)
    for record in (*dataset["annotations"], *results):
        x, y, width, height = record["bbox"]
        corners = np.array([[x, y], [x + width, y], [x + width, y + height], [x, y + height]])
        record["segmentation"] = [(corners + rng.uniform(0, 9, corners.shape)).ravel().round(2).tolist()]
    for one in results[::2]:
        packed = coco_mask.merge(coco_mask.frPyObjects(one["segmentation"], 100, 100))
        one["segmentation"] = {"size": packed["size"], "counts": packed["counts"].decode()}
    theirs = [{**one, "segmentation": packed_runs(one["segmentation"])} for one in results]
    for one in theirs:
        del one["bbox"]
    result = surgvalid.evaluate("detection", results, dataset, overlap="mask", replicates=20)
    found = result.tables["coco_summary"]["value"].to_list()
    assert [-1 if one is None else one for one in found] == pytest.approx(
        pycoco(dataset, theirs, "segm").tolist(), abs=1e-12
    )


def packed_runs(given: list | dict) -> dict:
    return given if isinstance(given, dict) else coco_mask.merge(coco_mask.frPyObjects(given, 100, 100))


def test_a_class_of_crowds_alone_has_no_reference_that_can_be_found() -> None:
    dataset, results = small()
    dataset["annotations"].append({"id": 9, "image_id": 0, "category_id": 2, "bbox": [0, 0, 9, 9], "iscrowd": 1})
    result = surgvalid.evaluate("detection", results, dataset, replicates=10)
    assert any("left out of the mean: clip" in note for note in result.notes)
    counted = result.per_class.filter(pl.col("metric") == "ap").select("class", "references", "value").rows()
    assert counted[1] == ("clip", 0, None)


@pytest.mark.parametrize("crowd", ["0", 2, [1], float("nan")])
def test_a_crowd_is_said_with_0_or_1(crowd: object) -> None:
    dataset, results = small()
    dataset["annotations"][1]["iscrowd"] = crowd
    with pytest.raises(InputInvalid, match="1 records whose iscrowd is neither 0 nor 1"):
        surgvalid.evaluate("detection", results, dataset, replicates=10)
    for same in (None, False, 0.0):
        dataset["annotations"][1]["iscrowd"] = same
        assert surgvalid.evaluate("detection", results, dataset, replicates=10).value("coco_ar") == 0.5


def test_a_stratum_of_whole_videos_is_in_the_rows_of_videos_and_one_that_changes_is_not() -> None:
    dataset, results = small()
    dataset["images"] = [{**one, "center": "north" if one["id"] < 2 else "south"} for one in dataset["images"]]
    found = surgvalid.evaluate("detection", results, dataset, by=["center", "smoke"], replicates=20)
    rows = found.scores.frame.select("video", "center", "smoke").unique().sort("video").rows()
    assert rows == [("v0", "north", None), ("v1", "south", None)]
    assert any("Stratum 'smoke' changes within 2 of 2 videos" in note for note in found.notes)
    assert not any("Stratum 'center'" in note for note in found.notes)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("OR2_case{}_{:06}.jpg", "^(.+)_[0-9]+"),
        ("v{}-frame{}.jpg", "^(.+)[_-][a-z]*[0-9]+"),
        ("v{}/{}.png", "^(.+)/"),
        ("{}.{}.png", "^([A-Za-z]*[0-9]+)"),
    ],
)
def test_a_pattern_that_finds_the_videos_is_proposed(name: str, pattern: str) -> None:
    images = [{"id": 9 * v + n, "file_name": name.format(v, n)} for v in range(2) for n in range(9)]
    data = {"images": images, "categories": [{"id": 1, "name": "tool"}], "annotations": []}
    with pytest.raises(InputInvalid, match=re.escape(f"such as '{pattern}' (2 videos, the first")):
        surgvalid.evaluate("detection", [], data)
