"""From the files that people have to the numbers: ours beside the tool that each family is evaluated with today.

Every row reads its files inside the measured time, on both sides. Ours are the readers and metrics that `surgvalid
evaluate` uses, without the intervals that the peers do not have; what the whole verb costs stands in `bench_evaluate`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from bench.detection_data import detection_set
from bench.harness import Row, cpu_seconds, peak_memory_mb
from surgvalid.evaluation.classification import read_labelled
from surgvalid.evaluation.detection import read_detections
from surgvalid.evaluation.mask_walk import masks_walked
from surgvalid.evaluation.predictions.mask_files import PngFiles, png_folder
from surgvalid.evaluation.tracking import material as tracks_of
from surgvalid.metrics import open_metric
from surgvalid.metrics.classification.averages import ClassAverage
from surgvalid.metrics.detection.average_precision import coco_summary
from surgvalid.metrics.metric import value_of
from surgvalid.metrics.segmentation.surfaces import nsd
from surgvalid.video.images import write_png

TOLERANCE_PX = 5.0
MANY_BOXES, MANY_MASKS = 1_000_000, 100_000
_READ_BOXES = """
import sys
from pathlib import Path
from bench.harness import cpu_seconds, peak_memory_mb
from surgvalid.metrics.detection.average_precision import coco_summary
from surgvalid.evaluation.detection import read_detections
few, files = ([Path(sys.argv[1]) / f"{some}{name}.json" for name in ("results", "dataset")] for some in ("", "many_"))
coco_summary(read_detections(*few).cases)  # loads what is compiled
before = peak_memory_mb()
spent = cpu_seconds(lambda: coco_summary(read_detections(*files).cases), repeat=1, warm_up=False)
print(spent, before, peak_memory_mb())
"""
"""In a process of its own, which has not held the records that the files were made of."""


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *_detection(folder), _labels(folder), _tracks(folder), *_masks(folder), _classes(folder),
            _many_boxes(folder), _many_masks(folder),
        ]  # fmt: skip


def _missing(module: str) -> bool:
    return importlib.util.find_spec(module) is None


def _row(
    work: str, ours: Callable[[], Any], peer: str, theirs: Callable[[], Any] | None, goal: float, note: str
) -> Row:
    spent = cpu_seconds(ours)
    other = None if theirs is None else cpu_seconds(theirs, repeat=2)
    return Row(work, spent, peer, other, goal, note if theirs is not None else "not installed")


def _detection(folder: Path) -> list[Row]:
    dataset, results = detection_set(5_000, 50, 20_000, 80_000)
    paths = folder / "dataset.json", folder / "results.json"
    for path, content in zip(paths, (dataset, results), strict=True):
        path.write_text(json.dumps(content))

    def ours() -> dict[str, float]:
        return coco_summary(read_detections(paths[1], paths[0]).cases)

    work = "from two JSON files to the twelve COCO numbers: 5,000 images, 80,000 boxes"
    slow = None if _missing("pycocotools") else lambda: _pycocotools(*paths)
    fast = None if _missing("hotcoco") else lambda: _hotcoco(*paths)
    return [
        _row(work, ours, "pycocotools", slow, 10, ""),
        _row(work, ours, "hotcoco", fast, 1 / 1.5, "goal: at most 1.5 times its time"),
    ]


def _pycocotools(dataset: Path, results: Path) -> None:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(dataset))
        made = COCOeval(truth, truth.loadRes(str(results)), "bbox")
        made.evaluate()
        made.accumulate()
        made.summarize()


def _hotcoco(dataset: Path, results: Path) -> None:
    import hotcoco

    with contextlib.redirect_stdout(io.StringIO()):
        truth = hotcoco.COCO(str(dataset))
        made = hotcoco.COCOeval(truth, truth.load_res(str(results)), "bbox")
        made.evaluate()
        made.accumulate()
        made.summarize()


def _labels(folder: Path) -> Row:
    rng, names = np.random.default_rng(3), np.array([f"phase {place}" for place in range(7)])
    videos, frames = 40, 5_000
    at = {"video": np.repeat(np.arange(videos), frames), "frame": np.tile(np.arange(frames), videos)}
    truth = rng.integers(0, 7, videos * frames)
    guess = np.where(rng.random(truth.size) < 0.1, rng.integers(0, 7, truth.size), truth)
    sides = folder / "references.csv", folder / "predictions.csv"
    pl.DataFrame({**at, "reference": names[truth]}).write_csv(sides[0])
    pl.DataFrame({**at, "prediction": names[guess]}).write_csv(sides[1])

    def ours() -> list[float]:
        labelled = read_labelled(sides[1], sides[0], classes=names.tolist())
        cases = labelled.cases(labelled.frame, scores=False)
        return [value_of(ClassAverage(measure), cases) for measure in ("precision", "recall", "f1", "jaccard")]

    def theirs() -> list[float]:
        import pandas
        from sklearn.metrics import jaccard_score, precision_recall_fscore_support

        both = pandas.read_csv(sides[0]).merge(pandas.read_csv(sides[1]), on=["video", "frame"])
        pair = both["reference"], both["prediction"]
        three = precision_recall_fscore_support(*pair, average="macro")[:3]
        return [*map(float, three), float(jaccard_score(*pair, average="macro"))]

    off = max(abs(a - b) for a, b in zip(ours(), theirs(), strict=True))
    work = f"from two CSV files to four macro averages: {truth.size:,} labels of {videos} videos"
    return _row(work, ours, "pandas and scikit-learn", theirs, 10, f"largest difference {off:.0e}")


def _tracks(folder: Path) -> Row:
    rng = np.random.default_rng(7)
    for side in ("ours", "theirs"):
        (folder / side).mkdir()
        for video in range(2):
            lines = []
            for track in range(4):
                path = np.cumsum(rng.normal(0, 2, (300, 2)), axis=0) + 120 * track
                for frame, (x, y) in enumerate(path + rng.normal(0, 3, path.shape), start=1):
                    if rng.random() < 0.9:
                        lines.append(f"{frame},{track + 1},{x:.1f},{y:.1f},60,50,1,1,1")
            (folder / side / f"{video}.txt").write_text("\n".join(lines))

    def ours() -> list[float]:
        made = tracks_of(folder / "theirs", folder / "ours", metrics=["mota", "idf1"])
        return [value_of(job.metric, job.cases) for job in made.jobs]

    def theirs() -> list[float]:
        setattr(np, "asfarray", np.asarray)  # noqa: B010  # the peer was written before NumPy 2
        import motmetrics

        tables = [[motmetrics.io.loadtxt(folder / side / f"{video}.txt") for side in ("ours", "theirs")]
                  for video in range(2)]  # fmt: skip
        made = [motmetrics.utils.compare_to_groundtruth(*pair, "iou", distth=0.5) for pair in tables]
        summary = motmetrics.metrics.create().compute_many(made, metrics=["mota", "idf1"], generate_overall=True)
        return [float(summary.loc["OVERALL", name]) for name in ("mota", "idf1")]

    work = "from MOT files to MOTA and IDF1: 2 videos, 4,300 boxes"
    return _row(work, ours, "py-motmetrics", None if _missing("motmetrics") else theirs, 10, "")


def _masks(folder: Path) -> list[Row]:
    rng, (y, x) = np.random.default_rng(5), np.ogrid[:480, :854]
    for number in range(40):
        centre, radius = rng.uniform((80, 80), (400, 770)), rng.uniform(30, 120)
        for side in ("mask_references", "masks"):
            shift = rng.normal(0, 4, 3)
            disc = np.hypot(y - centre[0] - shift[0], x - centre[1] - shift[1]) < radius + shift[2]
            path = folder / side / f"v{number % 4}" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_png(np.repeat(disc.astype(np.uint8)[..., None], 3, axis=2), path)
    sides = folder / "mask_references", folder / "masks"
    names = sorted(png_folder(sides[0]))

    def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
        from PIL import Image

        return [tuple(np.asarray(Image.open(s / f"{n}.png"))[..., 0] > 0 for s in sides) for n in names]  # type: ignore[misc]

    def overlap() -> float:
        return float(masks_walked(png_folder(sides[0]), png_folder(sides[1]), [1], None, {}).binary.sum())

    def plain() -> list[float]:
        return [2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b)) for a, b in pairs()]

    def outlines() -> list[float]:
        ours, theirs = (png_folder(side) for side in sides)
        return [nsd(ours[n] > 0, theirs[n] > 0, tolerance_px=TOLERANCE_PX, outline="contour") for n in names]

    def surfaces() -> list[float]:
        import surface_distance as peer

        made = [peer.compute_surface_distances(a, b, (1, 1)) for a, b in pairs()]
        return [float(peer.compute_surface_dice_at_tolerance(one, TOLERANCE_PX)) for one in made]

    work = "from 40 PNG pairs of 854x480"
    off = 0.0 if _missing("surface_distance") else np.abs(np.subtract(outlines(), surfaces())).max()
    return [
        _row(f"{work} to DSC", overlap, "Pillow and numpy", None if _missing("PIL") else plain, 0.75,
             "both mostly Pillow's decoder; ours checks names, labels and colours too"),
        _row(f"{work} to NSD", outlines, "Pillow and surface-distance",
             None if _missing("surface_distance") else surfaces, 1,
             f"both mostly Pillow's decoder, the metric alone stands in `NSD of a pair`; largest difference {off:.0e}"),
    ]  # fmt: skip


def _classes(folder: Path) -> Row:
    """Label maps of five classes, one of which may be missed, to the mean DSC of classes."""
    rng, (y, x), labels = np.random.default_rng(6), np.ogrid[:480, :854], range(1, 6)
    sides = folder / "map_references", folder / "maps"
    for number in range(40):
        discs = [(*rng.uniform((50, 50), (430, 800)), rng.uniform(30, 120)) for _ in labels]
        for side in sides:
            array = np.zeros((480, 854), np.uint8)
            for label, (row, column, radius) in zip(labels, discs, strict=True):
                shift = rng.normal(0, 4, 3)
                if rng.random() < 0.8:
                    array[np.hypot(y - row - shift[0], x - column - shift[1]) < radius + shift[2]] = label
            path = side / f"v{number % 4}" / f"{number}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_png(np.repeat(array[..., None], 3, axis=2), path)
    names = sorted(png_folder(sides[0]))
    metric = open_metric("dsc_classes", classes=tuple(labels))

    def ours() -> float:
        walked = masks_walked(png_folder(sides[0]), png_folder(sides[1]), list(labels), None, {})
        return value_of(metric, walked.counted([name.partition("/")[0] for name in names]))

    def theirs() -> float:
        from PIL import Image

        values = np.full((len(names), len(labels)), np.nan)
        for at, name in enumerate(names):
            first, second = (np.asarray(Image.open(side / f"{name}.png"))[..., 0] for side in sides)
            for label in labels:
                one, other = first == label, second == label
                if held := np.count_nonzero(one) + np.count_nonzero(other):
                    values[at, label - 1] = 2 * np.count_nonzero(one & other) / held
        return float(np.nanmean(np.nanmean(values, axis=0)))

    off = 0.0 if _missing("PIL") else abs(ours() - theirs())
    return _row("from 40 PNG pairs of 854x480, five classes, to their mean DSC", ours, "Pillow and numpy",
                None if _missing("PIL") else theirs, 0.75, f"largest difference {off:.0e}")  # fmt: skip


def _many_boxes(folder: Path) -> Row:
    dataset, results = detection_set(50_000, 200, 250_000, MANY_BOXES)
    paths = folder / "many_dataset.json", folder / "many_results.json"
    for path, content in zip(paths, (dataset, results), strict=True):
        path.write_text(json.dumps(content))
    command = [sys.executable, "-c", _READ_BOXES, str(folder)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    spent, before, after = map(float, printed)
    work = f"from two JSON files to the twelve COCO numbers: {MANY_BOXES:,} boxes"
    peer = None if _missing("hotcoco") else cpu_seconds(lambda: _hotcoco(*paths), repeat=1, warm_up=False)
    note = f"goal: at most 1.5 times its time; memory grew by {after - before:,.0f} MB"
    return Row(work, spent, "hotcoco", peer, 1 / 1.5, note)


def _many_masks(folder: Path) -> Row:
    """Small masks, each of a hundred files read a thousand times: what is kept per mask is what grows."""
    rng = np.random.default_rng(0)
    for number in range(100):
        write_png(
            np.repeat((rng.random((60, 80)) < 0.3).astype(np.uint8)[..., None], 3, axis=2), folder / f"{number}.png"
        )
    files = {f"v{n % 50}/{n}": folder / f"{n % 100}.png" for n in range(MANY_MASKS)}
    before = peak_memory_mb()
    spent = cpu_seconds(lambda: masks_walked(PngFiles(files), PngFiles(files), [1], None, {}), repeat=1, warm_up=False)
    grown = peak_memory_mb() - before
    return Row(f"from {MANY_MASKS:,} PNG pairs to DSC", spent, "-", None, note=f"memory grew by {grown:,.0f} MB")
