"""Boxes under any naming and order of images give the right number or a question, never another number in silence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import surgvalid
from surgvalid.errors import SurgvalidError

CLASSES, TRIALS, METRIC = ["grasper", "hook", "clipper"], 500, "coco_ap50"

FORMS = 9


def scene(rng: np.random.Generator) -> tuple[list[tuple[int, int]], dict[int, list], dict[int, list]]:
    """Images as (video, frame), with boxes that move; predictions shake and miss some."""
    images, ours, theirs = [], {}, {}
    for video in range(int(rng.integers(5, 7))):
        at, step = rng.uniform(50, 300, 2), rng.uniform(-14, 14, 2)
        for frame in range(int(rng.integers(10, 14))):
            at = np.clip(at + step + rng.normal(0, 3, 2), 0, 380)
            label = int(rng.integers(3)) + 1
            ours[len(images)] = [(label, [*at.tolist(), 90.0, 70.0])]
            shaken = (at + rng.normal(0, 6, 2)).tolist()
            theirs[len(images)] = [(label, [*shaken, 90.0, 70.0], rng.uniform(0.01, 1))] if rng.random() < 0.9 else []
            images.append((video, frame))
    return images, ours, theirs


def named(rng: np.random.Generator, video: int, frame: int, style: int, first: int) -> str:
    number = frame + first
    return [
        f"video{video + 1:02}_{number:06}.jpg", f"VID{video + 1:02}/{number:06}.png", f"v{video}/{number}.png",
        f"video{video}_{number}.jpg", f"case_{video}-frame{number}.png",
    ][style]  # fmt: skip


def trial(seed: int) -> tuple[float, float | str]:
    """The right number of a scene, and what predictions give under a naming, numbering and order at random."""
    rng = np.random.default_rng(seed)
    images, ours, theirs = scene(rng)
    style, first = int(rng.integers(5)), int(rng.integers(2))
    names = [named(rng, *one, style, first) for one in images]
    ids = [rng.permutation(len(images)), np.arange(len(images)), 1 + np.arange(len(images))][int(rng.integers(3))]
    listed = rng.permutation(len(images)) if rng.random() < 0.5 else np.arange(len(images))
    records = [
        {"id": int(ids[n]), "file_name": names[n], "video": f"v{images[n][0]}", "width": 480, "height": 480}
        for n in listed.tolist()
    ]
    annotations = [
        {"id": n + 1, "image_id": int(ids[n]), "category_id": label, "bbox": box, "area": 6300.0, "iscrowd": 0}
        for n, boxes in ours.items()
        for label, box in boxes
    ]
    categories = [{"id": place + 1, "name": name} for place, name in enumerate(CLASSES)]
    dataset = {"images": records, "annotations": annotations, "categories": categories}
    flat = [(n, *one) for n, boxes in theirs.items() for one in boxes]

    def results(called: list[dict[str, Any]]) -> list[dict[str, Any]]:
        order = rng.permutation(len(flat)).tolist()
        return [
            {**called[flat[k][0]], "category_id": flat[k][1], "bbox": flat[k][2], "score": flat[k][3]} for k in order
        ]

    right = surgvalid.evaluate("detection", results([{"image_id": int(one)} for one in ids]), dataset, metrics=[METRIC])
    other = rng.permutation(ids) if rng.random() < 0.5 else np.argsort(names)
    base = [name.rpartition("/")[2] for name in names]
    forms = [
        [{"image_id": name} for name in names],
        [{"image_id": name.rpartition(".")[0]} for name in names],
        [{"image_id": int(o), "file_name": name} for o, name in zip(other, names, strict=True)],
        [{"image_id": int(o), "file_name": name} for o, name in zip(other, base, strict=True)],
        [{"image_id": name} for name in base],
        [{"image_id": int(one)} for one in other],
        [{"image_id": n} for n in range(len(images))],
        [{"image_id": n + 1} for n in range(len(images))],
        [{"image_id": frame + first} for _, frame in images],  # of which video nothing says
    ]
    try:
        read = surgvalid.evaluate("detection", results(forms[seed % FORMS]), dataset, metrics=[METRIC])
    except SurgvalidError as error:
        return right.value(METRIC), str(error)
    words = " late in ", " early in ", "Do several images share a name"
    warned = [text for text in map(str, read.findings) if any(word in text for word in words)]
    return right.value(METRIC), "; ".join(warned) or read.value(METRIC)


@pytest.mark.parametrize("first", range(0, TRIALS, 50))
def test_no_naming_or_order_of_images_is_silently_wrong(first: int) -> None:
    outcomes = {seed: trial(seed) for seed in range(first, first + 50)}
    numbers = {seed: (right, read) for seed, (right, read) in outcomes.items() if isinstance(read, float)}
    wrong = {seed: one for seed, one in numbers.items() if abs(one[0] - one[1]) > 1e-9}
    assert wrong == {}
    assert len(numbers) >= 15, "most are read without a question"
