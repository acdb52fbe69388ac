"""A detection data set of COCO size with videos, made from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

CLASSES, SIDE = 6, 800.0
Records = tuple[dict[str, Any], list[dict[str, Any]]]


def detection_set(images: int, videos: int, references: int, detections: int, *, seed: int = 0) -> Records:
    """A COCO data set and results: two thirds of the detections near a reference, the rest anywhere."""
    rng = np.random.default_rng(seed)
    boxes, image = _boxes(rng, references), rng.integers(0, images, references)
    category = rng.integers(0, CLASSES, references)
    near = rng.integers(0, references, 2 * detections // 3)
    shaken = boxes[near] + rng.normal(0, 0.12, (len(near), 4)) * boxes[near][:, [2, 3, 2, 3]]
    shaken[:, 2:] = np.maximum(shaken[:, 2:], 2.0)
    far = detections - len(near)
    found_boxes = np.concatenate([shaken, _boxes(rng, far)])
    found_image = np.concatenate([image[near], rng.integers(0, images, far)])
    found_category = np.concatenate([category[near], rng.integers(0, CLASSES, far)])
    score = np.concatenate([rng.beta(3, 2, len(near)), rng.beta(2, 3, far)])
    order = rng.permutation(detections)
    dataset = {
        "info": {},
        "images": [{"id": i, "width": SIDE, "height": SIDE, "video": i * videos // images} for i in range(images)],
        "categories": [{"id": c, "name": str(c)} for c in range(CLASSES)],
        "annotations": _records(boxes, image, category),
    }
    results = [
        {"image_id": i, "category_id": c, "bbox": box, "score": s}
        for i, c, box, s in zip(
            found_image[order].tolist(),
            found_category[order].tolist(),
            found_boxes[order].tolist(),
            score[order].tolist(),
            strict=True,
        )
    ]
    return dataset, results


def _boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    sides = np.exp(rng.uniform(np.log(12), np.log(250), (count, 2)))
    return np.concatenate([rng.uniform(0, SIDE - 250, (count, 2)), sides], axis=1)


def _records(boxes: np.ndarray, image: np.ndarray, category: np.ndarray) -> list[dict[str, Any]]:
    columns = zip(boxes.tolist(), image.tolist(), category.tolist(), strict=True)
    return [
        {"id": number, "image_id": i, "category_id": c, "bbox": box, "area": box[2] * box[3], "iscrowd": 0}
        for number, (box, i, c) in enumerate(columns, start=1)
    ]
