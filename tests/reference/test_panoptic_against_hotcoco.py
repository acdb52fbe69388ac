"""Panoptic quality of objects of several classes against hotcoco, which follows panopticapi."""

from __future__ import annotations

import numpy as np
import pytest

from surgvalid.metrics.segmentation.masks import MaskCases
from surgvalid.metrics.segmentation.panoptic import PanopticQuality

hotcoco = pytest.importorskip("hotcoco")
SIDE, CLASSES, BACKGROUND = 40, (1, 2, 3, 9), 9000


def random_objects(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rectangles of three classes, coded `1000 * class + number`; some moved, some renamed, some on one side only."""
    sides = np.zeros((2, SIDE, SIDE), dtype=np.uint16)
    for number in range(1, int(rng.integers(2, 7))):
        label, (y, x), (h, w) = int(rng.integers(1, 4)), rng.integers(0, 30, 2), rng.integers(4, 14, 2)
        if rng.random() < 0.85:
            sides[0, y : y + h, x : x + w] = 1000 * label + number
        if rng.random() < 0.85:
            dy, dx = np.clip(np.array([y, x]) + rng.integers(-2, 3, 2), 0, SIDE - 4)
            other = label if rng.random() < 0.8 else int(rng.integers(1, 4))
            sides[1, dy : dy + h, dx : dx + w] = 1000 * other + number
    return sides[0], sides[1]


def as_coco(maps: list[np.ndarray], *, scored: bool) -> dict | list:
    annotations = []
    for image, labels in enumerate(maps, start=1):
        for label in sorted(set(np.unique(labels).tolist()) - {0}):
            mask = np.asfortranarray((labels == label).astype(np.uint8))
            rle = hotcoco.mask.encode(mask)
            counts = rle["counts"].decode() if isinstance(rle["counts"], bytes) else rle["counts"]
            one = {"image_id": image, "category_id": label // 1000, "segmentation": {**rle, "counts": counts}}
            more = {"score": 1.0} if scored else {"id": len(annotations) + 1, "iscrowd": 0, "area": int(mask.sum())}
            annotations.append({**one, **more, "bbox": [0, 0, 1, 1]})
    if scored:
        return annotations
    return {
        "images": [{"id": n, "width": SIDE, "height": SIDE} for n in range(1, len(maps) + 1)],
        "categories": [{"id": c, "name": str(c), "isthing": 1} for c in CLASSES],
        "annotations": annotations,
    }


@pytest.mark.parametrize("unlabelled", ["background", "ignored"])
@pytest.mark.parametrize("seed", range(10))
def test_the_factors_of_every_class_equal_hotcoco(seed: int, unlabelled: str) -> None:
    """To hotcoco, as to panopticapi, pixels of no segment are to be ignored; background is a segment there."""
    rng = np.random.default_rng(seed)
    pairs = [random_objects(rng) for _ in range(int(rng.integers(1, 9)))]
    ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
    sides = [[np.where(one == 0, BACKGROUND, one) for one in side] for side in (ours, theirs)]
    shown = sides if unlabelled == "background" else [ours, theirs]
    truth = hotcoco.COCO(as_coco(shown[0], scored=False))
    peer = hotcoco.panoptic.PanopticEval(truth, truth.load_res(as_coco(shown[1], scored=True)))
    peer.run()
    labels = sorted({int(label) for one in (*ours, *theirs) for label in np.unique(one)} - {0})
    ignore = None if unlabelled == "background" else BACKGROUND
    cases = MaskCases(ours if ignore is None else sides[0], theirs)
    for measure in ("pq", "sq", "rq"):
        metric = PanopticQuality(classes=labels, instances=True, measure=measure, ignore=ignore)
        assert metric.coded
        values = metric.class_values(metric.prepare(cases), np.ones((1, len(cases.reference))))[0]
        theirs_of = [peer.results()["per_class"][label] for label in metric.classes]
        wanted = [one[measure] if one["tp"] or (measure != "sq" and one["pq"] >= 0) else np.nan for one in theirs_of]
        assert values == pytest.approx(wanted, abs=1e-12, nan_ok=True)
