"""One study of every kind that is cut into shards, with every metric that the kind has, as `evaluate` takes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surgvalid.evaluation.segmentation import OF_CLASSES
from surgvalid.metrics import CLASSIFICATION, DETECTION, METRICS, SEGMENTATION, TIME, TRACKING, TRIPLETS
from surgvalid.metrics.phases.frames import CHOLEC80_PHASES

VIDEOS = [f"case {letter}" for letter in "abcdefg"]
Input = tuple[str, Any, Any, dict[str, Any]]
"""Kind, predictions, references and options."""


def rows(seed: int = 0, moments: int = 30) -> tuple[np.random.Generator, dict[str, Any]]:
    at = {"video": np.repeat(VIDEOS, moments), "frame": np.tile(np.arange(moments), len(VIDEOS))}
    return np.random.default_rng(seed), {**at, "center": np.repeat(["x", "y", "x", "y", "x", "y", "x"], moments)}


def one_label(_: Path) -> Input:
    rng, table = rows(1)
    names, count = np.array(["a", "b", "c"]), len(table["video"])
    truth = rng.integers(0, 3, count)
    scores = rng.dirichlet([1, 1, 1], count) + 0.3 * np.eye(3)[truth]
    table |= {"reference": names[truth]}
    table |= {f"score:{name}": scores[:, place] / scores.sum(axis=1) for place, name in enumerate(names)}
    return "classification", table, None, {"by": ["center"], "metrics": offered(CLASSIFICATION, "labels", "scores")}


def labels_from_the_data(_: Path) -> Input:
    """Classes that only some shards hold, and that nobody declares."""
    _, table = rows(2)
    table["reference"] = [f"only {video}" if frame % 9 == 0 else "usual" for video, frame in zip(
        table["video"], table["frame"], strict=True)]  # fmt: skip
    table["prediction"] = ["usual" if frame % 4 == 0 else label for frame, label in zip(
        table["frame"], table["reference"], strict=True)]  # fmt: skip
    return "classification", table, None, {}


def several_labels(_: Path) -> Input:
    rng, table = rows(3)
    count = len(table["video"])
    for name in "abc":
        table[f"reference:{name}"] = (rng.random(count) < 0.3) * 1
        table[f"prediction:{name}"] = (rng.random(count) < 0.3) * 1
    return "classification", table, None, {"metrics": offered(CLASSIFICATION, "sets")}


def sequences(_: Path) -> Input:
    rng, table = rows(4, 84)
    names = [str(phase) for phase in CHOLEC80_PHASES]
    truth = np.tile(np.repeat(names, 12), len(VIDEOS))
    guess = np.where(rng.random(truth.size) < 0.1, rng.permutation(truth), np.roll(truth, 3))
    metrics = [name for name in TIME if "label sequences" in METRICS[name].takes]
    options = {"classes": names, "fps": 1, "by": ["center"], "metrics": metrics}
    return "phases", {**table, "reference": truth, "prediction": guess}, None, options


def triplets(_: Path) -> Input:
    rng, table = rows(5, 10)
    count = len(table["video"])
    table |= {f"reference:{place}": (rng.random(count) < 0.05) * 1 for place in range(100)}
    table |= {f"score:{place}": rng.random(count).round(2) for place in range(100)}
    return "triplets", table, None, {"metrics": list(TRIPLETS), "by": ["center"]}


def boxes(_: Path, masks: bool = False) -> Input:
    rng = np.random.default_rng(6)
    images = [
        {"id": n, "video": VIDEOS[n % 7], "smoke": n % 2, "width": 60, "height": 50, "file_name": f"{n}.png"}
        for n in range(42)
    ]
    objects, results = [], []
    for n in range(90):
        x, y, w, h = (int(side) for side in (*rng.integers(0, 30, 2), *rng.integers(4, 20, 2)))
        one = {"image_id": int(rng.integers(42)), "category_id": int(rng.integers(1, 4)), "bbox": [x, y, w, h]}
        if masks:
            one["segmentation"] = [[x, y, x + w, y, x + w, y + h, x, y + h]]
        objects.append({**one, "id": n, "iscrowd": int(n % 30 == 7 and not masks), "area": w * h})
        moved = {**one, "bbox": [x + int(rng.integers(0, 3)), y, w, h]}
        results.append({**moved, "score": float(rng.integers(1, 6) / 5)})
    categories = [{"id": place, "name": name} for place, name in enumerate(("hook", "clip", "bag", "never"), 1)]
    dataset = {"images": images, "annotations": objects, "categories": categories}
    kind = "mask" if masks else "box"
    metrics = [name for name in DETECTION if METRICS[name].options.get("kind", kind) == kind]
    options = {"by": ["smoke"], "metrics": metrics, "overlap": kind}
    return "detection", results, dataset, options


def outlines(folder: Path) -> Input:
    return boxes(folder, masks=True)


def label_maps(_: Path) -> Input:
    rng = np.random.default_rng(7)
    sides = [{f"{video}/{n}": rng.integers(0, 4, (9, 8)) for video in VIDEOS for n in range(3)} for _ in range(2)]
    metrics = [name for name in SEGMENTATION if "masks" in METRICS[name].takes and name not in OF_CLASSES]
    return "segmentation", *sides, {"metrics": metrics, "tolerance_px": 1, "mm_per_px": 0.3}  # type: ignore[return-value]


def masks_of_one_class(folder: Path) -> Input:
    kind, ours, theirs, _ = label_maps(folder)
    sides = [{name: (labels > 1).astype(np.uint8) for name, labels in side.items()} for side in (ours, theirs)]
    return kind, *sides, {"metrics": list(OF_CLASSES), "tolerance_px": 1, "mm_per_px": 0.3}  # type: ignore[return-value]


def undeclared_label_maps(_: Path) -> Input:
    """Each video has a class of its own; one has none at all."""
    sides = [
        {f"{video}/{n}": np.eye(6, dtype=np.uint8) * place + np.eye(6, k=shift, dtype=np.uint8) * place
         for place, video in enumerate(VIDEOS) for n in range(2)}
        for shift in (1, 2)
    ]  # fmt: skip
    return "segmentation", *sides, {}  # type: ignore[return-value]


def tracks(folder: Path) -> Input:
    rng = np.random.default_rng(8)
    for side in ("ours", "theirs"):
        (folder / side).mkdir(parents=True)
        for video in VIDEOS:
            lines = [
                f"{f},{c + (side == 'theirs' and rng.random() < 0.1) * 5},{10 * c + rng.integers(0, 4)},5,20,20,1,{c},1"
                for f in range(1, 15) for c in (1, 2)
            ]  # fmt: skip
            (folder / side / f"{video}.txt").write_text("\n".join(lines))
    return "tracking", folder / "theirs", folder / "ours", {"use_classes": True, "metrics": list(TRACKING)}


def offered(family: Mapping[str, Any], *forms: str) -> list[str]:
    """The metrics of a family that take one of the forms, those that need an option left aside."""
    return [name for name in family if set(forms) & set(METRICS[name].takes)]


INPUTS = (
    one_label, labels_from_the_data, several_labels, sequences, triplets, boxes, outlines, label_maps,
    masks_of_one_class,
    undeclared_label_maps, tracks,
)  # fmt: skip
