"""COCO dictionaries: what is harmless here is accepted, what cannot be meant is listed."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest
from hypothesis import given

from strategies import json_rows, json_values
from surgvalid.errors import InputInvalid, Misuse, SurgvalidError
from surgvalid.metrics import open_metric
from surgvalid.metrics.detection.average_precision import CocoAP, coco_summary
from surgvalid.metrics.detection.cases import coco_cases
from surgvalid.metrics.metric import value_of

Record = dict[str, Any]


def dataset(**more: Any) -> Record:
    boxes = [[0, 0, 10, 10], [20, 20, 10, 10]]
    found: Record = {
        "images": [{"id": 0}, {"id": 1}],
        "categories": [{"id": 0}, {"id": 7}],
        "annotations": [{"id": n, "image_id": n, "category_id": 0, "bbox": box} for n, box in enumerate(boxes)],
    }
    return {**found, **more}


def detected(**more: Any) -> Record:
    return {"image_id": 0, "category_id": 0, "bbox": [0, 0, 10, 10], "score": 0.9, **more}


def test_an_empty_list_of_results_is_a_model_that_found_nothing() -> None:
    summary = coco_summary(coco_cases(dataset(), []).cases)
    assert summary["ap"] == summary["ar100"] == 0.0
    assert math.isnan(summary["ap_large"])


def test_ids_of_0_and_missing_areas_are_fine() -> None:
    results = [detected(), detected(image_id=1, bbox=[20, 20, 10, 10])]
    assert coco_summary(coco_cases(dataset(), results).cases)["ap_small"] == 1.0


def test_repeated_annotation_ids_do_not_matter() -> None:
    same = dataset()
    for one in same["annotations"]:
        one["id"] = 5
    assert value_of(CocoAP(), coco_cases(same, [detected()]).cases) == pytest.approx(51 / 101)


def test_no_images_and_no_references_have_no_value_and_no_crash() -> None:
    nothing = {"images": [], "categories": [], "annotations": []}
    assert all(math.isnan(value) for value in coco_summary(coco_cases(nothing, []).cases).values())
    assert math.isnan(value_of(CocoAP(), coco_cases(dataset(annotations=[]), [detected()]).cases))


def test_false_alarms_on_a_class_without_reference_are_seen_beside_average_precision() -> None:
    results = [detected(), *(detected(category_id=7, score=0.99) for _ in range(6))]
    cases = coco_cases(dataset(), results).cases
    assert value_of(CocoAP(), cases) == value_of(CocoAP(), coco_cases(dataset(), [detected()]).cases)
    assert value_of(open_metric("absent_class_false_alarms_per_image"), cases) == 3.0


def test_results_without_confidence_need_a_declared_rule() -> None:
    bare = [{k: v for k, v in detected(image_id=n).items() if k != "score"} for n in (0, 1)]
    cases = coco_cases(dataset(), bare).cases
    with pytest.raises(Misuse, match="confidence='none'"):
        value_of(CocoAP(), cases)
    metric = CocoAP(confidence="none")
    assert value_of(metric, cases) == pytest.approx(0.5 * 51 / 101)
    assert value_of(metric, coco_cases(dataset(), bare[::-1]).cases) == value_of(metric, cases)
    assert metric.facts.conventions["equal scores"] == "one step"
    assert value_of(open_metric("detection_f1"), cases) == 0.5
    with pytest.raises(Misuse, match="least_score"):
        value_of(open_metric("detection_f1", least_score=0.5), cases)


def test_every_problem_is_listed() -> None:
    broken = dataset(categories="none")
    results = [
        detected(image_id=9),
        detected(bbox=[1, 2, 3]),
        detected(score=None),
        detected(score=math.nan),
    ]
    with pytest.raises(InputInvalid) as caught:
        coco_cases(broken, results)
    text = str(caught.value)
    for part in (
        "data set has no list 'categories'",
        "annotations: 2 records with an unknown category_id",
        "results: 1 records with an unknown image_id (first: record 0, 9)",
        "results: 1 records without a bbox of four numbers (first: record 1)",
        "results: 1 of 4 records without score (first: record 2)",
        "results: 1 scores are not finite (first: record 3)",
    ):
        assert part in text


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("bbox", [0, 0, -1, 2], "negative width or height"),
        ("bbox", [0, 0, math.inf, 2], "not finite"),
        ("bbox", "text", "without a bbox of four numbers"),
        ("score", "high", "no numbers"),
        ("category_id", [1], "unknown category_id"),
    ],
)
def test_a_value_that_cannot_be_meant_is_named(field: str, value: Any, said: str) -> None:
    with pytest.raises(InputInvalid, match=said):
        coco_cases(dataset(), [detected(**{field: value})])


def test_repeated_image_ids_are_refused() -> None:
    with pytest.raises(InputInvalid, match="1 ids are repeated"):
        coco_cases(dataset(images=[{"id": 0}, {"id": 1}, {"id": 1}]), [])


def test_polygons_in_images_of_unknown_size_are_refused() -> None:
    polygons = dataset()
    for one in polygons["annotations"]:
        one["segmentation"] = [[0, 0, 5, 0, 5, 5]]
    with pytest.raises(InputInvalid, match="polygons need the width and height"):
        coco_cases(polygons, [], kind="mask")


def test_image_ids_may_be_text_or_mixed() -> None:
    mixed = dataset(images=[{"id": "b"}, {"id": 0}, {"id": 1}])
    assert coco_cases(mixed, [detected(image_id="b")]).images == (0, 1, "b")


@given(json_rows, json_values)
def test_hostile_results_never_crash(rows: list[Record], value: Any) -> None:
    for results in (rows, [detected(bbox=value)], [detected(score=value)], [detected(image_id=value)]):
        with contextlib.suppress(SurgvalidError):
            value_of(CocoAP(engine="numpy"), coco_cases(dataset(), results).cases)


@given(json_values)
def test_hostile_data_sets_never_crash(value: Any) -> None:
    for broken in (value, dataset(images=value), dataset(annotations=[value]), dataset(categories=[{"id": value}])):
        for results in ([], value):
            with contextlib.suppress(SurgvalidError):
                coco_cases(broken, results, kind="mask")
