"""Detection against pycocotools, faster-coco-eval and hotcoco on larger, crowded, tied and adversarial data."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import hotcoco
import numpy as np
import pytest
from bench.detection_data import detection_set
from faster_coco_eval import COCO as FasterCOCO
from faster_coco_eval import COCOeval_faster
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from compat_gaps import compat_gap
from metric_examples.detection import evaluated, perfect_video, records, video
from surgvalid.metrics.detection.average_precision import CLINICAL_IOUS, COCO_IOUS, CocoAP, coco_summary
from surgvalid.metrics.detection.cases import coco_cases
from surgvalid.metrics.metric import value_of

EXACT = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}
Records = tuple[dict[str, Any], list[dict[str, Any]]]


def crowded(seed: int, *, rounded: bool) -> Records:
    """A set with crowds, areas that contradict the boxes, and optionally many equal scores."""
    rng = np.random.default_rng(seed)
    dataset, results = detection_set(60, 6, 400, 900, seed=seed)
    for one in dataset["annotations"]:
        one["iscrowd"] = int(rng.random() < 0.1)
        one["area"] *= float(rng.choice([0.5, 1.0, 2.0]))
    if rounded:
        results = [{**one, "score": round(one["score"], 1)} for one in results]
    return dataset, results


def summary_of(evaluation: Any) -> list[float]:
    with contextlib.redirect_stdout(io.StringIO()):
        evaluation.summarize()
    return [np.nan if value == -1 else float(value) for value in list(evaluation.stats)[:12]]


def peer_summary(peer: str, dataset: dict[str, Any], results: list[dict[str, Any]]) -> list[float]:
    with contextlib.redirect_stdout(io.StringIO()):
        if peer == "pycocotools":
            truth = COCO()
            truth.dataset = dataset
            truth.createIndex()
            evaluation = COCOeval(truth, truth.loadRes([dict(one) for one in results]), "bbox")
        elif peer == "faster-coco-eval":
            truth = FasterCOCO(dataset)
            evaluation = COCOeval_faster(truth, truth.loadRes([dict(one) for one in results]), "bbox")
        else:
            truth = hotcoco.COCO(dataset)
            evaluation = hotcoco.COCOeval(truth, truth.load_res(results), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
    return summary_of(evaluation)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_all_twelve_numbers_are_those_of_pycocotools_even_with_equal_scores(
    seed: int, rounded: bool, engine: Any
) -> None:
    dataset, results = crowded(seed, rounded=rounded)
    ours = coco_summary(coco_cases(dataset, results).cases, engine=engine)
    assert list(ours.values()) == pytest.approx(peer_summary("pycocotools", dataset, results), **EXACT)


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_of_annotation_0_is_reproduced_on_request(seed: int) -> None:
    dataset, results = crowded(seed, rounded=seed == 1)
    found = []
    for first in (0, 100, 200, 300):
        for number, one in enumerate(dataset["annotations"]):
            one["id"] = (number - first) % len(dataset["annotations"])
        cases = coco_cases(dataset, results).cases
        theirs = peer_summary("pycocotools", dataset, results)
        for place, size in ((0, "all"), (3, "small"), (5, "large")):
            values = [value_of(CocoAP(size=size, engine=e, compat="pycocotools"), cases) for e in ("numpy", "numba")]
            assert values == pytest.approx([theirs[place]] * 2, **EXACT)
        found.append(compat_gap(CocoAP(compat="pycocotools"), cases).difference[0])
    assert min(found) < 0, "some annotation 0 must be found by a detection"
    assert max(found) <= 0


@pytest.mark.parametrize("peer", ["faster-coco-eval", "hotcoco"])
def test_all_twelve_numbers_are_those_of_other_peers(peer: str) -> None:
    dataset, results = crowded(4, rounded=False)
    ours = coco_summary(coco_cases(dataset, results).cases)
    assert list(ours.values()) == pytest.approx(peer_summary(peer, dataset, results), rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("ious", [COCO_IOUS, CLINICAL_IOUS, (0.5,), (0.3, 1.0)])
def test_any_grid_of_thresholds_can_be_asked_for(ious: tuple[float, ...]) -> None:
    dataset, results = crowded(5, rounded=False)
    metric = CocoAP(ious=ious)
    statistics = metric.prepare(coco_cases(dataset, results).cases)
    table = evaluated(dataset, results, iouThrs=np.asarray(ious)).eval["precision"][:, :, :, 0, 2]
    assert metric.combine(statistics, np.ones(len(statistics))) == pytest.approx(table.mean(), **EXACT)
    assert metric.class_values(statistics, np.ones(len(statistics)))[0] == pytest.approx(
        table.mean(axis=(0, 1)), **EXACT
    )


@pytest.mark.parametrize("most", [1, 2, 100])
@pytest.mark.parametrize("size", ["small", "medium", "large"])
def test_sizes_and_numbers_of_detections_are_those_of_pycocotools(size: str, most: int) -> None:
    dataset, results = crowded(6, rounded=False)
    place = ["all", "small", "medium", "large"].index(size)
    table = evaluated(dataset, results, maxDets=[1, 2, 100]).eval["precision"][:, :, :, place, [1, 2, 100].index(most)]
    metric = CocoAP(size=size, max_detections=most)
    statistics = metric.prepare(coco_cases(dataset, results).cases)
    assert metric.combine(statistics, np.ones(len(statistics))) == pytest.approx(table[table > -1].mean(), **EXACT)


@pytest.mark.parametrize("kind", ["box", "mask"])
def test_a_bootstrap_over_videos_is_pycocotools_on_every_written_out_resample(kind: str) -> None:
    rng = np.random.default_rng(8)
    videos = [video(rng) for _ in range(7)]
    dataset, results = records(videos)
    metric = CocoAP(kind=kind)  # type: ignore[arg-type]
    statistics = metric.prepare(coco_cases(dataset, results, kind=kind, unit=lambda one: one["video"]).cases)  # type: ignore[arg-type]
    counts = rng.multinomial(7, np.full(7, 1 / 7), size=12)
    ours = metric.combine(statistics, counts)
    for value, drawn in zip(ours, counts, strict=True):
        resample = records([one for one, count in zip(videos, drawn, strict=True) for _ in range(count)])
        table = evaluated(*resample, {"box": "bbox", "mask": "segm"}[kind]).eval["precision"][:, :, :, 0, 2]
        assert value == pytest.approx(table[table > -1].mean(), **EXACT)


def test_annotation_ids_from_0_do_not_change_the_value_here() -> None:
    dataset, results = records([perfect_video(np.random.default_rng(9))])
    shifted = {**dataset, "annotations": [{**one, "id": one["id"] - 1} for one in dataset["annotations"]]}
    assert peer_summary("pycocotools", dataset, results)[0] == pytest.approx(1.0)
    assert peer_summary("pycocotools", shifted, results)[0] < 0.7, "the known defect is gone"
    assert coco_summary(coco_cases(shifted, results).cases)["ap"] == 1.0
