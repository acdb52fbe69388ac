"""Inputs that nobody writes on purpose and every pipeline produces once, against the trusted scorers.

Boxes without area, far outside the image or there many times; classes of crowds alone; equal, negative, zero and
denormal scores; ids of fifteen digits; masks that are empty, full or one pixel; constant and one-case label lists;
tracks whose boxes coincide.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from pycocotools import mask as coco_mask
from sklearn import metrics as sk

from metric_examples.detection import evaluated
from metric_examples.tracking import sequence_of
from reference.test_detection_against_peers import peer_summary
from reference.test_tracking_against_peers import trackeval_values
from surgvalid.metrics.classification.averages import BalancedAccuracy, ClassAverage
from surgvalid.metrics.classification.cases import LabelCases, ScoreCases
from surgvalid.metrics.classification.ranking import AreaUnderROC, MeanAveragePrecision
from surgvalid.metrics.detection.average_precision import CocoAP, coco_summary
from surgvalid.metrics.detection.cases import coco_cases
from surgvalid.metrics.metric import value_of
from tracking_tables import tracking_table

EXACT = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}
STRANGE_SCORES = (0.5, 0.5, 0.0, -0.0, -1.0, 1.0, 1e-320, float(np.float32(0.1)), 0.1)


def strange_box(rng: np.random.Generator) -> list[float]:
    x, y, width, height = (float(n) for n in (*rng.integers(-20, 80, 2), *rng.integers(0, 60, 2)))
    kinds = [
        [x, y, 0.0, height],
        [x, y, 0.0, 0.0],
        [1e6 * x, 1e6 * y, width, height],
        [x, y, 40 * width, 40 * height],
        [float(np.float32(n + rng.random())) for n in (x, y, width, height)],
        [x, y, width, height],
    ]
    return kinds[rng.integers(len(kinds))]


def strange_set(seed: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    rng = np.random.default_rng(seed)
    base = 10 ** int(rng.integers(0, 15))
    images = [{"id": base + n} for n in range(rng.integers(1, 6))]
    categories = [{"id": 3 * base + n} for n in range(rng.integers(1, 4))]

    def place() -> dict[str, Any]:
        chosen = (int(rng.integers(len(images))), int(rng.integers(len(categories))))
        return {"image_id": images[chosen[0]]["id"], "category_id": categories[chosen[1]]["id"]}

    crowds = float(rng.choice([0.0, 0.3, 1.0]))
    annotations = [
        {**place(), "id": n, "bbox": strange_box(rng), "iscrowd": int(rng.random() < crowds)}
        | {"area": float(rng.choice([0.0, 1024.0, 9216.0, 1e10, 1e11, 50.0]))}
        for n in range(1, rng.integers(2, 13))
    ]
    results: list[dict[str, Any]] = []
    for _ in range(rng.integers(1, 25)):
        near = annotations[rng.integers(len(annotations))]
        found = {key: near[key] for key in ("image_id", "category_id", "bbox")}
        one = found if rng.random() < 0.6 else {**place(), "bbox": strange_box(rng)}
        copies = int(rng.choice([1, 1, 2, 120]))
        results += [{**one, "score": float(rng.choice([*STRANGE_SCORES, rng.random()]))}] * copies
    return {"info": {}, "images": images, "categories": categories, "annotations": annotations}, results


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("seed", range(25))
def test_strange_boxes_score_as_in_pycocotools(seed: int, engine: Any) -> None:
    dataset, results = strange_set(seed)
    ours = coco_summary(coco_cases(dataset, results).cases, engine=engine)
    theirs = peer_summary("pycocotools", dataset, results)
    assert list(ours.values()) == pytest.approx(theirs, **EXACT)


@pytest.mark.parametrize("seed", range(15))
def test_strange_masks_score_as_in_pycocotools(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width = (int(side) for side in rng.integers(1, 30, 2))
    shares = (0.0, 0.02, 0.5, 1.0)
    masks = [
        coco_mask.encode(np.asfortranarray(rng.random((height, width)) < shares[n % 4], dtype=np.uint8))
        for n in range(12)
    ]
    at = [{"image_id": int(rng.integers(2)), "category_id": 1, "segmentation": mask} for mask in masks]
    truth = [{**one, "id": n, "area": 50.0, "bbox": [0, 0, 1, 1], "iscrowd": n % 3 == 0} for n, one in enumerate(at, 1)]
    results = [{**at[rng.integers(12)], "score": float(rng.choice([0.5, 0.7, rng.random()]))} for _ in range(20)]
    images = [{"id": n, "height": height, "width": width} for n in range(2)]
    dataset = {"info": {}, "images": images, "categories": [{"id": 1}], "annotations": truth}
    table = evaluated(dataset, results, "segm").eval["precision"][:, :, :, 0, 2]
    assert value_of(CocoAP(kind="mask"), coco_cases(dataset, results, kind="mask").cases) == pytest.approx(
        table.mean(), **EXACT
    )


@pytest.mark.parametrize("seed", range(40))
def test_strange_labels_and_scores_count_as_in_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, classes = int(rng.integers(1, 40)), int(rng.integers(1, 5))
    truth, guess = rng.integers(0, classes, count), rng.integers(0, classes, count)
    if seed % 3 == 0:
        truth[:] = truth[0]
    if seed % 4 == 0:
        guess[:] = guess[0]
    cases = LabelCases(truth, guess, classes)
    policies = {"declared": range(classes), "supported": np.unique(truth), "union": np.union1d(truth, guess)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for policy, labels in policies.items():
            for average in ("macro", "weighted", "micro"):
                options = {"labels": list(labels), "average": average, "zero_division": 0}
                for measure, theirs in (("f1", sk.f1_score), ("jaccard", sk.jaccard_score)):
                    ours = value_of(ClassAverage(measure, average, policy), cases)  # type: ignore[arg-type]
                    assert ours == pytest.approx(theirs(truth, guess, **options), abs=1e-12)
        assert value_of(BalancedAccuracy(), cases) == pytest.approx(sk.balanced_accuracy_score(truth, guess))
        scores = rng.choice([*STRANGE_SCORES, 1e308, -1e308], (count, classes))
        member = rng.random((count, classes)) < rng.choice([0.0, 0.1, 0.5, 1.0], classes)
        ranked = ScoreCases(member, scores)
        known = [c for c in range(classes) if member[:, c].any()]
        both = [c for c in known if not member[:, c].all()]
        ap = [sk.average_precision_score(member[:, c], scores[:, c]) for c in known]
        area = [sk.roc_auc_score(member[:, c], scores[:, c]) for c in both]
    assert value_of(MeanAveragePrecision(), ranked) == pytest.approx(np.mean(ap) if ap else np.nan, **EXACT)
    assert value_of(AreaUnderROC(), ranked) == pytest.approx(np.mean(area) if area else np.nan, **EXACT)


@pytest.mark.parametrize("seed", range(20))
def test_coinciding_boxes_track_as_in_trackeval(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def boxes(many: int, step: int) -> dict[int, tuple[float, ...]]:
        chosen = rng.permutation(5)[: rng.integers(0, many)].tolist()
        sizes = ((1.0, 1.0), (2.0, 1.0), (10.0, 1e-9))  # an IoU of exactly 0.5 among them
        return {step * i: (*map(float, rng.integers(-1, 2, 2)), *sizes[rng.integers(3)]) for i in chosen}

    units = []
    for _ in range(rng.integers(1, 4)):
        frames = [({0: (0.0, 0.0, 1.0, 1.0)}, boxes(5, 1))]
        for _ in range(rng.integers(0, 7)):
            ours, theirs = boxes(5, 10**9), boxes(5, 1)
            same = list(ours.values())
            theirs = {i: same[rng.integers(len(same))] if same and rng.random() < 0.6 else b for i, b in theirs.items()}
            frames.append((ours, theirs))
        units.append(frames)
    theirs = trackeval_values(units)
    ours = tracking_table([sequence_of(unit) for unit in units]).row(-1, named=True)
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs, abs=1e-9)
