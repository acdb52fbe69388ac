"""Matching and curves: the two engines agree, and the finer rules hold on cases made by hand."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metric_examples.detection import cases as cases_of
from metric_examples.detection import video
from surgvalid.errors import ExtraNeeded, InputInvalid, Misuse, UnknownName
from surgvalid.metrics.detection.average_precision import CocoAP, CocoAR, coco_summary
from surgvalid.metrics.detection.cases import DetectionCases, Objects
from surgvalid.metrics.detection.counts import DetectionF1, FalseAlarmsPerImage
from surgvalid.metrics.detection.matching import COCO_SIZES, match
from surgvalid.metrics.metric import value_of


def objects(boxes: list[list[float]], **more: Any) -> Objects:
    zeros = np.zeros(len(boxes), dtype=int)
    return Objects(zeros, zeros, np.array(boxes, dtype=float).reshape(-1, 4), **more)


def one_image(reference: Objects, prediction: Objects) -> DetectionCases:
    return DetectionCases(1, reference, prediction, 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 4), st.integers(1, 3))
def test_both_engines_match_and_accumulate_alike(seed: int, count: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    cases = cases_of()([video(rng) for _ in range(count)])
    sizes = (*COCO_SIZES.values(), (0.0, 40.0))
    found = [match(cases, ious=(0.1, 0.5, 1.0), sizes=sizes, max_detections=most, engine=e) for e in ("numpy", "numba")]  # type: ignore[arg-type]
    assert (found[0].matched == found[1].matched).all()
    assert (found[0].ignored == found[1].ignored).all()
    for weights in (rng.integers(0, 3, (5, count)), rng.dirichlet(np.ones(count), 5) if count else np.zeros((5, 0))):
        values = [CocoAP(engine=e, ious=(0.1, 0.5)) for e in ("numpy", "numba")]  # type: ignore[arg-type]
        one, two = (metric.combine(metric.prepare(cases), weights) for metric in values)
        assert one == pytest.approx(two, abs=1e-12, nan_ok=True)


def test_fractions_of_weight_that_add_up_reach_full_recall() -> None:
    boxes = [[20.0 * k, 0, 10, 10] for k in range(7)]
    cases = DetectionCases(
        7,
        Objects(np.arange(7), np.zeros(7, int), np.array(boxes)),
        Objects(np.arange(7), np.zeros(7, int), np.array(boxes), np.linspace(0.1, 0.9, 7)),
        1,
    )
    for engine in ("numpy", "numba"):
        metric = CocoAP(engine=engine)  # type: ignore[arg-type]
        weights = np.random.default_rng(0).dirichlet(np.ones(7), 50)
        assert metric.combine(metric.prepare(cases), weights) == pytest.approx(np.ones(50), abs=1e-12)


def test_the_better_scored_detection_takes_the_reference() -> None:
    cases = one_image(objects([[0, 0, 10, 10]]), objects([[0, 0, 10, 10], [0, 0, 10, 9]], score=np.array([0.2, 0.8])))
    found = match(cases, ious=(0.5,))
    assert found.score.tolist() == [0.8, 0.2]
    assert found.matched[0, 0].tolist() == [True, False]


def test_a_crowd_is_taken_any_number_of_times_and_costs_nothing() -> None:
    crowd = objects([[0, 0, 100, 100]], crowd=np.array([True]))
    prediction = objects([[0, 0, 10, 10], [50, 50, 10, 10]], score=np.array([0.9, 0.8]))
    found = match(one_image(crowd, prediction), ious=(0.5,))
    assert found.matched.all()
    assert found.ignored.all()


def test_a_counting_reference_is_preferred_to_a_crowd_that_overlaps_more() -> None:
    reference = objects([[0, 0, 10, 10], [0, 0, 12, 12]], crowd=np.array([False, True]))
    found = match(one_image(reference, objects([[0, 0, 10, 12]], score=np.array([0.9]))), ious=(0.5,))
    assert found.matched.all()
    assert not found.ignored.any()


def test_an_unmatched_detection_outside_the_size_range_is_ignored() -> None:
    prediction = objects([[0, 0, 200, 200]], score=np.array([0.9]))
    found = match(one_image(objects([]), prediction), ious=(0.5,), sizes=(COCO_SIZES["small"], COCO_SIZES["all"]))
    assert found.ignored[:, 0, 0].tolist() == [True, False]


def test_the_given_area_decides_the_size_range_and_a_missing_one_is_worked_out() -> None:
    boxes, score = [[0.0, 0, 10, 10]], np.array([0.9])
    for area, counts in ((None, True), (np.array([np.nan]), True), (np.array([5000.0]), False)):
        found = match(one_image(objects(boxes, area=area), objects(boxes, score=score)), ious=(0.5,), sizes=((0, 400),))
        assert found.reference_counts[0, 0] == counts


def test_the_limit_keeps_the_best_detections_of_each_class_in_each_image() -> None:
    prediction = objects([[0, 0, 5, 5]] * 3, score=np.array([0.1, 0.9, 0.5]))
    assert match(one_image(objects([]), prediction), ious=(0.5,), max_detections=2).score.tolist() == [0.9, 0.5]


def test_pooled_ties_do_not_depend_on_the_order_of_the_list() -> None:
    reference = objects([[0, 0, 10, 10]])
    boxes = [[0.0, 0, 10, 10], [50.0, 50, 10, 10]]
    ways = [one_image(reference, objects(listed, score=np.ones(2))) for listed in (boxes, boxes[::-1])]
    listed, pooled = ([value_of(CocoAP(ties=ties), one) for one in ways] for ties in ("listed", "pooled"))  # type: ignore[arg-type]
    assert listed == [1.0, 0.5]
    assert pooled == [0.5, 0.5]


def test_a_score_limit_drops_detections_before_they_count() -> None:
    prediction = objects([[0, 0, 10, 10], [50, 50, 10, 10]], score=np.array([0.9, 0.2]))
    cases = one_image(objects([[0, 0, 10, 10]]), prediction)
    assert value_of(DetectionF1(), cases) == pytest.approx(2 / 3)
    assert value_of(DetectionF1(least_score=0.5), cases) == 1.0
    assert value_of(FalseAlarmsPerImage(classes="all"), cases) == 1.0


def test_recall_does_not_mind_false_alarms() -> None:
    prediction = objects([[50, 50, 10, 10], [0, 0, 10, 10]], score=np.array([0.9, 0.2]))
    cases = one_image(objects([[0, 0, 10, 10]]), prediction)
    assert value_of(CocoAR(), cases) == 1.0
    assert value_of(CocoAP(), cases) == 0.5
    assert value_of(CocoAR(max_detections=1), cases) == 0.0


def test_a_grid_without_50_has_no_ap50() -> None:
    cases = one_image(objects([[0, 0, 10, 10]]), objects([[0, 0, 10, 10]], score=np.array([0.9])))
    summary = coco_summary(cases, ious=(0.1, 0.3))
    assert summary["ap"] == 1.0
    assert np.isnan(summary["ap50"])


def test_objects_that_cannot_be_are_all_listed() -> None:
    wrong = Objects(np.array([3]), np.array([-1]), np.array([[0, 0, -1, np.nan]]), score=np.array([np.inf, 1.0]))
    with pytest.raises(InputInvalid) as caught:
        DetectionCases(1, objects([]), wrong, 0, unit=["a", "b"])
    text = str(caught.value)
    for part in ("at least one class", "1 images but 2 units", "image: 1 indices outside", "class: 1 indices outside"):
        assert part in text
    for part in ("boxes: 1 numbers are NaN", "scores: 1 numbers are NaN", "1 objects but 2 scores", "negative width"):
        assert part in text


@pytest.mark.parametrize(
    "wrong",
    [{"ious": "fine"}, {"kind": "oval"}, {"size": "huge"}, {"average": "micro"}, {"confidence": "1"}, {"ties": "best"}],
)
def test_unknown_options_are_named(wrong: dict[str, str]) -> None:
    with pytest.raises(UnknownName):
        CocoAP(**wrong)  # type: ignore[arg-type]


def test_options_that_mean_nothing_are_refused() -> None:
    for wrong in ({"ious": ()}, {"ious": (0.0,)}, {"ious": (1.5,)}, {"max_detections": 0}):
        with pytest.raises(Misuse):
            CocoAP(**wrong)  # type: ignore[arg-type]
    with pytest.raises(Misuse):
        DetectionF1(iou=0.0)
    with pytest.raises(UnknownName):
        DetectionF1(average="weighted")  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        FalseAlarmsPerImage(classes="some")  # type: ignore[arg-type]


def test_masks_are_needed_where_masks_are_compared() -> None:
    cases = one_image(objects([[0, 0, 10, 10]]), objects([[0, 0, 10, 10]], score=np.array([0.9])))
    with pytest.raises(Misuse, match="needs a mask"):
        value_of(CocoAP(kind="mask"), cases)


def test_the_compiled_engine_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    cases = one_image(objects([[0, 0, 10, 10]]), objects([[0, 0, 10, 10]], score=np.array([0.9])))
    assert value_of(CocoAP(), cases) == 1.0
    with pytest.raises(ExtraNeeded):
        value_of(CocoAP(engine="numba"), cases)
