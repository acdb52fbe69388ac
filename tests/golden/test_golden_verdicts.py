"""First pages of reports as reviewed texts: 1, 2, 8 and 100 models, a Dice table, detections, and eight videos.

`SURGVALID_NEW_GOLDEN=1` writes them anew; they are read before they are committed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import surgvalid
from verdict_texts import answers_table, dice_table, verdict_text

GOLDEN = Path(__file__).parent / "report"


def answered(models: int) -> Callable[[Path], str]:
    return lambda folder: verdict_text(answers_table(folder / "scores.parquet", models=models))


def dice(folder: Path) -> str:
    return verdict_text(dice_table(folder / "dice.csv"))


def eight_videos(folder: Path) -> str:
    return verdict_text(dice_table(folder / "dice.csv", patients=8))


def detections(folder: Path) -> str:
    rng = np.random.default_rng(11)
    images = [{"id": n, "video": f"v{n // 5}", "width": 100, "height": 100} for n in range(1, 61)]
    boxes = rng.uniform(5, 50, (120, 4)).round(1)
    annotations = [
        {"id": n + 1, "image_id": 1 + n % 60, "category_id": 1, "bbox": box.tolist(), "area": float(box[2] * box[3]),
         "iscrowd": 0}
        for n, box in enumerate(boxes)
    ]  # fmt: skip
    reference = {"images": images, "categories": [{"id": 1, "name": "tool"}], "annotations": annotations}
    for model, noise_px in (("sharp", 1.0), ("blurred", 6.0)):
        moved = (boxes + rng.normal(0, noise_px, boxes.shape)).clip(1).round(2)
        results = [
            {"image_id": one["image_id"], "category_id": 1, "bbox": box.tolist(), "score": float(rng.random())}
            for one, box in zip(annotations, moved, strict=True)
        ]
        surgvalid.evaluate("detection", results, reference, model=model, replicates=50).to_dir(folder / model)
    return verdict_text(folder)


def unknown_direction(folder: Path) -> str:
    frame = pl.read_csv(dice_table(folder / "dice.csv", patients=8)).with_columns(metric=pl.lit("my own score"))
    frame.write_csv(folder / "own.csv")
    return verdict_text(folder / "own.csv")


CASES = {
    "one-model": answered(1), "two-models": answered(2), "eight-models": answered(8),
    "hundred-models": answered(100), "dice-table": dice, "eight-videos": eight_videos, "detections": detections,
    "unknown-direction": unknown_direction,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long
def test_the_first_page_says_what_was_reviewed(name: str, tmp_path: Path) -> None:
    text = CASES[name](tmp_path)
    golden = GOLDEN / f"verdict-{name}.txt"
    if os.environ.get("SURGVALID_NEW_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    assert "bucket" not in text.lower()
