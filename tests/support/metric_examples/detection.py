"""Detection: random videos of a few images with boxes and masks; pycocotools as the oracle."""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from metric_examples.example import Example
from surgvalid.metrics.detection.average_precision import CLINICAL_IOUS, COCO_IOUS
from surgvalid.metrics.detection.cases import coco_cases

CLASSES, SIDE = 3, 40
Image = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""Annotations and results of one image, without ids."""


def shape(rng: np.random.Generator) -> dict[str, Any]:
    """A box that is also a mask, on whole pixels."""
    x, y = (int(start) for start in rng.integers(0, SIDE - 12, 2))
    return filled(x, y, int(rng.integers(2, 12)), int(rng.integers(2, 12)))


def filled(x: int, y: int, width: int, height: int) -> dict[str, Any]:
    pixels = np.zeros((SIDE, SIDE), dtype=np.uint8, order="F")
    pixels[y : y + height, x : x + width] = 1
    return {"bbox": [x, y, width, height], "segmentation": coco_mask.encode(pixels)}


def moved(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    x, y, width, height = record["bbox"]
    dx, dy = rng.integers(-2, 3, 2)
    return filled(int(max(x + dx, 0)), int(max(y + dy, 0)), width, height)


def image(rng: np.random.Generator) -> Image:
    """A few references, some of them crowds; detections near them, elsewhere, or none."""
    some = rng.permutation(CLASSES)[: rng.integers(1, CLASSES + 1)]
    annotations = [
        {**shape(rng), "category_id": int(rng.choice(some)), "iscrowd": int(rng.random() < 0.15)}
        for _ in range(rng.integers(0, 5))
    ]
    results = [{**moved(one, rng), "category_id": one["category_id"]} for one in annotations if rng.random() < 0.8] + [
        {**shape(rng), "category_id": int(rng.integers(0, CLASSES))} for _ in range(rng.integers(0, 3))
    ]
    for one in annotations:
        one["area"] = float(one["bbox"][2] * one["bbox"][3])
    for one in results:
        one["score"] = float(rng.random())
    return annotations, results


def video(rng: np.random.Generator) -> list[Image]:
    return [image(rng) for _ in range(rng.integers(1, 4))]


def perfect_video(rng: np.random.Generator) -> list[Image]:
    annotations = [{**shape(rng), "category_id": c, "iscrowd": 0, "area": 50.0} for c in range(CLASSES)]
    return [(annotations, [{**one, "score": float(rng.random())} for one in annotations])]


def spoilt_video(rng: np.random.Generator) -> list[Image]:
    ((annotations, results),) = perfect_video(rng)
    return [(annotations, [{**one, "score": math.nan} for one in results])]


def stray_video(rng: np.random.Generator) -> list[Image]:
    """References of one class, detections of it and of another, and an image without any reference."""
    ((annotations, results),) = perfect_video(rng)
    return [(annotations[:1], results[:2]), ([], results[1:2])]


def records(videos: list[list[Image]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A COCO data set with ids from 1, as pycocotools needs them, and its results."""
    dataset: dict[str, Any] = {"info": {}, "categories": [{"id": c} for c in range(CLASSES)]}
    images, annotations, results = [], [], []
    for place, one in enumerate(videos):
        for refs, dets in one:
            number = len(images)
            images.append({"id": number, "video": place, "height": SIDE, "width": SIDE})
            annotations += [{**ref, "image_id": number} for ref in refs]
            results += [{**det, "image_id": number} for det in dets]
    annotations = [{**one, "id": place} for place, one in enumerate(annotations, start=1)]
    return {**dataset, "images": images, "annotations": annotations}, results


def cases(kind: str = "box") -> Callable[[list[list[Image]]], Any]:
    def build(videos: list[list[Image]]) -> Any:
        dataset, results = records(videos)
        return coco_cases(dataset, results, kind=kind, unit=lambda one: one["video"]).cases

    return build


def evaluated(dataset: dict[str, Any], results: list[dict[str, Any]], kind: str = "bbox", **settings: Any) -> COCOeval:
    """pycocotools' evaluation, silently; results must not be empty."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = dataset
        truth.createIndex()
        found = COCOeval(truth, truth.loadRes([dict(one) for one in results]), kind)
        for name, setting in settings.items():
            setattr(found.params, name, setting)
        found.evaluate()
        found.accumulate()
    return found


def by_pycocotools(ious: tuple[float, ...], *, kind: str = "bbox", field: str = "precision", weighted: bool = False):  # type: ignore[no-untyped-def]
    def value(videos: list[list[Image]]) -> float:
        dataset, results = records(videos)
        counting = [a["category_id"] for a in dataset["annotations"] if not a["iscrowd"]]
        if not counting:
            return math.nan
        if not results:
            return 0.0
        table = evaluated(dataset, results, kind, iouThrs=np.asarray(ious)).eval[field]
        table = table[:, :, :, 0, 2] if field == "precision" else table[:, None, :, 0, 2]
        present = [c for c in range(CLASSES) if c in counting]
        values = [table[:, :, c].mean() for c in present]
        return float(np.average(values, weights=[counting.count(c) for c in present] if weighted else None))

    return value


def counted(videos: list[list[Image]]) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Hits, false alarms and references per class at IoU 0.5, from pycocotools' own image records."""
    dataset, results = records(videos)
    hits, alarms, references = (np.zeros(CLASSES) for _ in range(3))
    for one in dataset["annotations"]:
        references[one["category_id"]] += not one["iscrowd"]
    if results:
        settings = {"iouThrs": np.array([0.5]), "maxDets": [100], "areaRng": [[0, 1e10]], "areaRngLbl": ["all"]}
        for record in evaluated(dataset, results, **settings).evalImgs:
            if record is not None:
                kept, matched = ~record["dtIgnore"][0], record["dtMatches"][0] > 0
                hits[record["category_id"]] += (kept & matched).sum()
                alarms[record["category_id"]] += (kept & ~matched).sum()
    return hits, alarms, references, len(dataset["images"])


def f1(average: str) -> Callable[[list[list[Image]]], float]:
    def value(videos: list[list[Image]]) -> float:
        hits, alarms, references, _ = counted(videos)
        if average == "micro":
            whole = hits.sum() + alarms.sum() + references.sum()
            return float(2 * hits.sum() / whole) if whole else math.nan
        kept = references > 0
        return float((2 * hits / np.maximum(hits + alarms + references, 1))[kept].mean()) if kept.any() else math.nan

    return value


def alarms_per_image(absent: bool) -> Callable[[list[list[Image]]], float]:
    def value(videos: list[list[Image]]) -> float:
        _, alarms, references, images = counted(videos)
        return float(alarms[(references == 0) | (not absent)].sum() / images)

    return value


def of_video(value: Callable[[list[list[Image]]], float], kind: str = "box", **more: Any) -> Example:
    return Example(
        video, perfect_video, cases(kind), value, "pycocotools", spoilt=spoilt_video, absent=stray_video, **more
    )


EXAMPLES: dict[str, Example] = {
    "coco_ap": of_video(by_pycocotools(COCO_IOUS)),
    "coco_ap50": of_video(by_pycocotools((0.5,))),
    "clinical_ap": of_video(by_pycocotools(CLINICAL_IOUS)),
    "weighted_coco_ap": of_video(by_pycocotools(COCO_IOUS, weighted=True)),
    "coco_mask_ap": of_video(by_pycocotools(COCO_IOUS, kind="segm"), "mask"),
    "coco_ar": of_video(by_pycocotools(COCO_IOUS, field="recall")),
    "detection_f1": of_video(f1("micro")),
    "macro_detection_f1": of_video(f1("macro")),
    "false_alarms_per_image": of_video(alarms_per_image(absent=False)),
    "absent_class_false_alarms_per_image": of_video(alarms_per_image(absent=True)),
}
