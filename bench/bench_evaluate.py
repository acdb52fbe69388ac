"""`surgvalid evaluate` from files to tables, each in a process of its own, so that time and memory are its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from bench.detection_data import detection_set
from bench.harness import Row
from surgvalid.video.images import write_png

VIDEOS, FRAMES = 100, 10_000
MOST_MB = 1_000
_CODE = """
import sys, time
from bench.harness import peak_memory_mb
from surgvalid.cli import build_app
build_app()(["evaluate", *sys.argv[1:]], standalone_mode=False)
print(time.process_time(), peak_memory_mb(), file=sys.stderr)
"""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        return [work(Path(folder)) for work in (_phases, _triplets, _detection, _many_boxes, _segmentation)]


def _phases(folder: Path) -> Row:
    rng, names = np.random.default_rng(3), np.array([f"phase {place}" for place in range(7)])
    at = {"video": np.repeat([f"v{n:03}" for n in range(VIDEOS)], FRAMES), "frame": np.tile(np.arange(FRAMES), VIDEOS)}
    truth = np.concatenate([np.repeat(np.arange(7), rng.multinomial(FRAMES, np.ones(7) / 7)) for _ in range(VIDEOS)])
    guess = np.where(rng.random(truth.size) < 0.05, rng.integers(0, 7, truth.size), np.roll(truth, 5))
    pl.DataFrame({**at, "reference": names[truth]}).write_csv(folder / "references.csv")
    pl.DataFrame({**at, "prediction": names[guess]}).write_csv(folder / "predictions.csv")
    sides: list[str | Path] = ["--predictions", folder / "predictions.csv", "--references", folder / "references.csv"]
    work = f"evaluate phases: {VIDEOS * FRAMES:,} frames of {VIDEOS} videos, two CSV files, 12 metrics, 1,000 resamples"
    return _row(work, "phases", *sides, "--classes", ",".join(names), "--out", folder / "phases")


def _triplets(folder: Path) -> Row:
    rng = np.random.default_rng(1)
    reference = rng.random((18_000, 100)) < 0.02
    np.savez(
        folder / "scores.npz",
        video=np.repeat([f"VID{n:02}" for n in range(9)], 2_000),
        frame=np.tile(np.arange(2_000), 9),
        reference=reference.astype(np.int8),
        scores=rng.random(reference.shape) + 0.3 * reference,
    )
    work = "evaluate triplets: 18,000 frames of 9 videos, 7 metrics and 100 classes, 1,000 resamples"
    return _row(work, "triplets", "--predictions", folder / "scores.npz", "--out", folder / "triplets")


def _detection(folder: Path) -> Row:
    work = "evaluate detection: 5,000 images of 50 videos, 80,000 boxes, 5 metrics and all classes, 1,000 resamples"
    return _boxes(work, folder, 5_000, 50, 20_000, 80_000)


def _many_boxes(folder: Path) -> Row:
    work = "evaluate detection: 50,000 images of 200 videos, 1,000,000 boxes, 5 metrics and all classes"
    row = _boxes(work, folder, 50_000, 200, 250_000, 1_000_000)
    return replace(row, peer="the goal itself: 10 s of CPU", peer_s=10.0, goal=1.0)


def _boxes(work: str, folder: Path, *sizes: int) -> Row:
    dataset, results = detection_set(*sizes)
    (folder / "dataset.json").write_text(json.dumps(dataset))
    (folder / "results.json").write_text(json.dumps(results))
    sides: list[str | Path] = ["--predictions", folder / "results.json", "--references", folder / "dataset.json"]
    return _row(work, "detection", *sides, "--out", folder / f"detection-{sizes[0]}")


def _segmentation(folder: Path) -> Row:
    """Wobbly disks of five classes, as 8-bit PNG files with three equal channels."""
    rng, (y, x) = np.random.default_rng(5), np.ogrid[:480, :854]
    for number in range(100):
        name = f"v{number % 10}/{number}.png"
        discs = [(*rng.uniform((50, 50), (430, 800)), rng.uniform(30, 120)) for _ in range(5)]
        for side in ("references", "masks"):
            labels = np.zeros((480, 854), np.uint8)
            for label, (row, column, radius) in enumerate(discs, start=1):
                shift = rng.normal(0, 4, 3)
                labels[np.hypot(y - row - shift[0], x - column - shift[1]) < radius + shift[2]] = label
            path = folder / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_png(np.repeat(labels[..., None], 3, axis=2), path)
    metrics = [part for name in ("miou_pooled", "miou_per_image", "mi_dsc") for part in ("--metric", name)]
    sides: list[str | Path] = ["--predictions", folder / "masks", "--references", folder / "references"]
    work = "evaluate segmentation: 100 PNG label maps of 854x480 a side, 3 metrics and 5 classes, 1,000 resamples"
    return _row(work, "segmentation", *sides, "--classes", "1,2,3,4,5", *metrics, "--out", folder / "segmentation")


def _row(work: str, *arguments: str | Path) -> Row:
    command = [sys.executable, "-c", _CODE, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory = (float(part) for part in done.stderr.strip().splitlines()[-1].split())
    kept = "kept" if memory < MOST_MB else "NOT KEPT"
    return Row(work, seconds, "-", None, note=f"peak memory {memory:,.0f} MB (promised: below {MOST_MB:,}; {kept})")
