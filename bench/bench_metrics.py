"""Metrics against their peers: COCO average precision, its bootstrap over videos, and bootstraps of labels.

Peers that would take minutes are run a few times and multiplied; the row says so. All start from the same records
in memory. Re-runs of pycocotools and hotcoco are restricted to one size range and 100 detections, since that is all
the bootstrapped number needs, and writing out the resample is not counted against them; ours counts everything.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np

from bench.detection_data import Records, detection_set
from bench.harness import Row, cpu_seconds
from surgvalid.metrics.classification.averages import ClassAverage
from surgvalid.metrics.classification.cases import LabelCases, ScoreCases
from surgvalid.metrics.classification.ranking import MeanAveragePrecision
from surgvalid.metrics.detection.average_precision import CocoAP, coco_summary
from surgvalid.metrics.detection.cases import coco_cases
from surgvalid.metrics.detection.matching import Engine
from surgvalid.metrics.metric import Metric

IMAGES, VIDEOS, REFERENCES, DETECTIONS = 5_000, 50, 20_000, 80_000
REPLICATES, RERUNS = 200, 2


def rows() -> list[Row]:
    return [*detection_rows(), *bootstrap_rows(), *label_rows(), *score_rows()]


def detection_rows() -> list[Row]:
    dataset, results = detection_set(IMAGES, VIDEOS, REFERENCES, DETECTIONS)
    work = f"COCO box evaluation, all 12 numbers, {IMAGES:,} images, {DETECTIONS:,} detections"
    ours = cpu_seconds(lambda: _ours(dataset, results, "auto"))
    plain = cpu_seconds(lambda: _ours(dataset, results, "numpy"), repeat=2)
    pycoco = cpu_seconds(lambda: _pycocotools(dataset, results), repeat=1, warm_up=False)
    hot = cpu_seconds(lambda: _hotcoco(dataset, results))
    return [
        Row(work, ours, "pycocotools", pycoco, 20),
        Row(work, ours, "hotcoco", hot, 0.5, "goal: at most twice its time"),
        Row(f"{work}, without numba", plain, "pycocotools", pycoco, 20),
    ]


def bootstrap_rows() -> list[Row]:
    records = detection_set(IMAGES, VIDEOS, REFERENCES, DETECTIONS)
    counts = np.random.default_rng(1).multinomial(VIDEOS, np.full(VIDEOS, 1 / VIDEOS), REPLICATES)
    work = f"bootstrap of mAP over {VIDEOS} videos, {REPLICATES} replicates, prepared once"
    resamples = [_resample(records, drawn) for drawn in counts[:RERUNS]]
    peers = {"pycocotools": (_pycocotools_map, 500.0), "hotcoco": (_hotcoco_map, 100.0)}
    found = []
    engines: tuple[Engine, ...] = ("auto", "numpy")
    for engine in engines:
        metric = CocoAP(engine=engine)
        ours = cpu_seconds(lambda metric=metric: _bootstrap(metric, records, counts), repeat=2)  # type: ignore[misc]
        values = _bootstrap(metric, records, counts[:RERUNS])
        for peer, (value_of, goal) in peers.items():
            gap = max(abs(value_of(*one) - value) for one, value in zip(resamples, values, strict=True))
            once = cpu_seconds(lambda run=value_of: [run(*one) for one in resamples], repeat=1, warm_up=False)  # type: ignore[misc]
            note = f"peer: {RERUNS} re-runs times {REPLICATES // RERUNS}; largest difference {gap:.0e}"
            name = work if engine == "auto" else f"{work}, without numba"
            goal_here = goal if engine == "auto" else None
            found.append(Row(name, ours, f"{peer} re-run", once * REPLICATES / RERUNS, goal_here, note))
    return found


def label_rows() -> list[Row]:
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(2)
    videos, frames, classes, replicates = 80, 2_400, 7, 10_000
    reference = rng.integers(0, classes, videos * frames)
    prediction = np.where(rng.random(len(reference)) < 0.7, reference, rng.integers(0, classes, len(reference)))
    cases = LabelCases(reference, prediction, classes, unit=np.repeat(np.arange(videos), frames))
    metric = ClassAverage("f1", "macro")
    statistics = metric.prepare(cases)
    counts = rng.multinomial(videos, np.full(videos, 1 / videos), replicates)
    ours = cpu_seconds(lambda: metric.combine(statistics, counts))
    once = cpu_seconds(lambda: f1_score(reference, prediction, average="macro"), repeat=1)
    note = f"goal: under 0.1 s; peer: one run times {replicates:,}"
    work = f"macro-F1, {replicates:,} replicates over {videos} videos of {frames:,} frames"
    return [Row(work, ours, "scikit-learn re-run", once * replicates, once * replicates / 0.1, note)]


def score_rows() -> list[Row]:
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(3)
    videos, frames, classes, replicates = 9, 2_000, 100, 100
    reference = rng.random((videos * frames, classes)) < 0.02
    scores = rng.normal(size=reference.shape) + reference
    cases = ScoreCases(reference, scores, unit=np.repeat(np.arange(videos), frames))
    metric = MeanAveragePrecision()
    statistics = metric.prepare(cases)
    counts = rng.multinomial(videos, np.full(videos, 1 / videos), replicates)
    ours = cpu_seconds(lambda: metric.combine(statistics, counts), repeat=2)
    once = cpu_seconds(
        lambda: [average_precision_score(reference[:, c], scores[:, c]) for c in range(classes)],
        repeat=1,
        warm_up=False,
    )
    work = f"mAP of {classes} classes, {replicates} replicates over {videos} videos of {frames:,} frames"
    return [Row(work, ours, "scikit-learn re-run", once * replicates, 25, f"peer: one run times {replicates}")]


def _ours(dataset: dict[str, Any], results: list[dict[str, Any]], engine: Any) -> dict[str, float]:
    return coco_summary(coco_cases(dataset, results).cases, engine=engine)


def _bootstrap(metric: Metric, records: Records, counts: np.ndarray) -> np.ndarray:
    """The whole bootstrap, matching included."""
    cases = coco_cases(*records, unit=lambda one: one["video"]).cases
    return metric.combine(metric.prepare(cases), counts)


def _pycocotools(dataset: dict[str, Any], results: list[dict[str, Any]], *, narrow: bool = False) -> Any:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = dataset
        truth.createIndex()
        found = COCOeval(truth, truth.loadRes([dict(one) for one in results]), "bbox")
        if narrow:
            found.params.areaRng, found.params.areaRngLbl, found.params.maxDets = [[0, 1e10]], ["all"], [100]
        found.evaluate()
        found.accumulate()
        if not narrow:
            found.summarize()
    return found


def _pycocotools_map(dataset: dict[str, Any], results: list[dict[str, Any]]) -> float:
    precision = _pycocotools(dataset, results, narrow=True).eval["precision"]
    return float(precision[precision > -1].mean())


def _hotcoco(dataset: dict[str, Any], results: list[dict[str, Any]], *, narrow: bool = False) -> Any:
    import hotcoco

    with contextlib.redirect_stdout(io.StringIO()):
        truth = hotcoco.COCO(dataset)
        found = hotcoco.COCOeval(truth, truth.load_res(results), "bbox")
        if narrow:
            settings = found.params
            settings.areaRng, settings.areaRngLbl, settings.maxDets = [[0, 1e10]], ["all"], [100]
            found.params = settings
        found.evaluate()
        found.accumulate()
        if not narrow:
            found.summarize()
    return found


def _hotcoco_map(dataset: dict[str, Any], results: list[dict[str, Any]]) -> float:
    precision = _hotcoco(dataset, results, narrow=True).eval["precision"]
    return float(precision[precision > -1].mean())


def _resample(records: Records, drawn: np.ndarray) -> Records:
    """A resample of videos written out, every copy with image ids of its own."""
    dataset, results = records
    by_image: dict[str, dict[int, list[dict[str, Any]]]] = {"annotations": {}, "results": {}}
    for name, listed in (("annotations", dataset["annotations"]), ("results", results)):
        for one in listed:
            by_image[name].setdefault(one["image_id"], []).append(one)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for image in dataset["images"]:
        for _ in range(drawn[image["video"]]):
            number = len(images)
            images.append({**image, "id": number})
            annotations += [
                {**one, "image_id": number, "id": len(annotations) + place}
                for place, one in enumerate(by_image["annotations"].get(image["id"], []), start=1)
            ]
            found += [{**one, "image_id": number} for one in by_image["results"].get(image["id"], [])]
    return {**dataset, "images": images, "annotations": annotations}, found
