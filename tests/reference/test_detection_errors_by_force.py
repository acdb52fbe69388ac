"""The breakdown of detection errors against a plain reading of TIDE (Bolya et al., ECCV 2020), object by object."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from surgvalid.metrics.detection.average_precision import CocoAP
from surgvalid.metrics.detection.cases import DetectionCases, Objects
from surgvalid.metrics.detection.counts import ERRORS, detection_errors, judged_detections
from surgvalid.metrics.metric import value_of


def iou(one: Any, two: Any) -> float:
    width = min(one[0] + one[2], two[0] + two[2]) - max(one[0], two[0])
    height = min(one[1] + one[3], two[1] + two[3]) - max(one[1], two[1])
    shared = max(width, 0) * max(height, 0)
    return float(shared / (one[2] * one[3] + two[2] * two[3] - shared))


def ap(rows: list[tuple[float, int, bool]], positives: dict[int, int]) -> float:
    values = []
    for label, count in positives.items():
        if not count:
            continue
        mine = sorted((row for row in rows if row[1] == label), key=lambda row: -row[0])
        points, found = [], 0
        for seen, row in enumerate(mine, 1):
            found += row[2]
            points.append((found / count, found / seen))
        levels = [max((p for r, p in points if r >= level), default=0.0) for level in np.linspace(0, 1, 101)]
        values.append(sum(levels) / 101)
    return sum(values) / len(values) if values else math.nan


def by_force(references: list[dict[str, Any]], detections: list[dict[str, Any]]) -> dict[str, tuple[int, float]]:
    """Count and mended AP of every error."""
    detections = sorted(detections, key=lambda one: -one["score"])
    for one in detections:
        free = [r for r in references if r["image"] == one["image"] and r["label"] == one["label"] and "by" not in r]
        best = max(free, key=lambda r: iou(one["box"], r["box"]), default=None)
        if best is not None and iou(one["box"], best["box"]) >= 0.5:
            best["by"] = one
            one["hit"] = True
    usable: set[int] = set()
    for one in (one for one in detections if "hit" not in one):
        here = [(iou(one["box"], r["box"]), r) for r in references if r["image"] == one["image"]]
        same = max(((v, r) for v, r in here if r["label"] == one["label"]), key=lambda p: p[0], default=(0.0, None))
        other = max(((v, r) for v, r in here if r["label"] != one["label"]), key=lambda p: p[0], default=(0.0, None))
        if 0.1 <= same[0] < 0.5:
            one["error"], one["target"] = "place", same[1]
        elif other[0] >= 0.5:
            one["error"], one["target"] = "class", other[1]
        elif same[0] >= 0.5:
            one["error"] = "duplicate"
        elif max(same[0], other[0]) <= 0.1:
            one["error"] = "background"
        else:
            one["error"] = "both"
        if "target" in one:
            usable.add(id(one["target"]))
    missed = [r for r in references if "by" not in r and id(r) not in usable]
    labels = {r["label"] for r in references}
    positives = {label: sum(r["label"] == label for r in references) for label in labels}
    made = {"": (0, ap([(one["score"], one["label"], "hit" in one) for one in detections], positives))}
    for error in ERRORS:
        if error == "missed":
            fewer = {label: count - sum(r["label"] == label for r in missed) for label, count in positives.items()}
            rows = [(one["score"], one["label"], "hit" in one) for one in detections]
            made[error] = len(missed), ap(rows, fewer)
            continue
        rows, served = [], set()
        for one in detections:
            if one.get("error") != error:
                rows.append((one["score"], one["label"], "hit" in one))
            elif "target" in one and "by" not in one["target"] and id(one["target"]) not in served:
                served.add(id(one["target"]))
                rows.append((one["score"], one["target"]["label"], True))
        made[error] = sum(one.get("error") == error for one in detections), ap(rows, positives)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_counts_and_gains_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    images, classes = 6, 3

    def drawn(box: list[float], label: int | None = None, image: int | None = None) -> dict[str, Any]:
        place, kind = int(rng.integers(images)), int(rng.integers(classes))
        return {
            "image": place if image is None else image,
            "label": kind if label is None else label,
            "box": box,
            "score": float(rng.random()),
        }

    count = int(rng.integers(0, 30))
    references = [drawn([*rng.uniform(0, 60, 2), *rng.uniform(15, 40, 2)]) for _ in range(count)]
    detections = [drawn([*rng.uniform(0, 90, 2), 8.0, 8.0]) for _ in range(5)]
    for one in references * 2:
        if rng.random() < 0.7:
            across, down = rng.normal(0, rng.choice([1, 12]), 2)
            box = [one["box"][0] + across, one["box"][1] + down, *one["box"][2:]]
            detections.append(drawn(box, one["label"] if rng.random() < 0.7 else None, one["image"]))

    def objects(rows: list[dict[str, Any]], scored: bool) -> Objects:
        image, label = (np.array([one[key] for one in rows], dtype=np.intp) for key in ("image", "label"))
        score = np.array([one["score"] for one in rows]) if scored else None
        return Objects(image, label, box=np.array([one["box"] for one in rows]).reshape(-1, 4), score=score)

    cases = DetectionCases(images, objects(references, False), objects(detections, True), classes)
    ours = {one.error: one for one in detection_errors(cases, judged_detections(cases))}
    if not references:
        assert ours == {}
        return
    expected = by_force(references, detections)
    plain = expected.pop("")[1]
    assert plain == pytest.approx(value_of(CocoAP(ious="50"), cases), nan_ok=True)
    assert {name: one.objects for name, one in ours.items()} == {name: count for name, (count, _) in expected.items()}
    for name, (_, value) in expected.items():
        assert ours[name].ap50 == pytest.approx(value, abs=1e-9, nan_ok=True), name
        assert ours[name].gain == pytest.approx(value - plain, abs=1e-9, nan_ok=True), name
