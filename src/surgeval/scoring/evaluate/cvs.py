"""The benchmark of Endoscapes2023: critical view of safety, boxes and masks, beside the published rows.

For each of the three criteria, average precision and balanced accuracy over all rated frames, then the mean of the
three; for boxes (BBox201) and masks (Seg50), COCO mAP over IoU 0.50 to 0.95. The reference is the majority of three
raters. Frames that nobody rated carry a label in some files, the last one before them; they are never scored.

References are the folder of the data set, or a table with `video`, `frame` and a column per criterion (`C1`, `C2`,
`C3`, or their names) with 0 and 1 or the mean of the raters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from surgeval.datasets import open_data_set
from surgeval.errors import InputInvalid, Misuse, UnknownName
from surgeval.metrics.classification.averages import LabelBalancedAccuracy
from surgeval.metrics.classification.ranking import MeanAveragePrecision
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.evaluate.classification import (
    EXACT,
    LabelledRows,
    case_scores,
    checks_of,
    read_labelled,
    videos_of,
)
from surgeval.scoring.evaluate.cvs_board import boards
from surgeval.scoring.evaluate.cvs_rows import CRITERIA, joined_rows
from surgeval.scoring.evaluate.detection import Detections, box_checks, class_jobs, read_detections
from surgeval.scoring.evaluate.measure import Job, Material, Measured, Part, parts_of
from surgeval.scoring.evaluate.per_class import ClassJob
from surgeval.scoring.sanity.doubt import Looked, both
from surgeval.scoring.sanity.videos import incomplete_split

SPLITS = ("train", "val", "test")
VIDEO_OF_NAME = "^([0-9]+)_"


@dataclass(frozen=True)
class Declared:
    """A metric under the name that a benchmark gives it, with what the benchmark adds to its conventions."""

    metric: Any
    name: str
    added: Mapping[str, str] = field(default_factory=dict)

    @property
    def facts(self) -> MetricFacts:
        """Those of the metric and of the benchmark."""
        inner: MetricFacts = self.metric.facts
        return replace(inner, name=self.name, conventions={**inner.conventions, **self.added})

    def prepare(self, cases: Any) -> np.ndarray:
        """The metric's statistics."""
        return np.asarray(self.metric.prepare(cases))

    def combine(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """The metric's values."""
        return np.asarray(self.metric.combine(statistics, weights))

    def class_values(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """The metric's values per class."""
        return np.asarray(self.metric.class_values(statistics, weights))

    def class_terms(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """What classes add to the metric's mean."""
        terms = getattr(self.metric, "class_terms", self.metric.class_values)
        return np.asarray(terms(statistics, weights))

    def class_support(self, statistics: np.ndarray) -> np.ndarray:
        """Those of the metric."""
        return np.asarray(self.metric.class_support(statistics))


@dataclass(frozen=True)
class _Offer:
    """Jobs of one part of the benchmark."""

    videos: tuple[str, ...] = ()
    cases: int = 0
    jobs: tuple[Job, ...] = ()
    class_jobs: tuple[ClassJob, ...] = ()
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    lacking: str = ""
    """What it lacks of the part of the data set that published rows are of."""
    looked: Looked = field(default_factory=dict)


def material(
    predictions: Any = None,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    split: str = "test",
    threshold: float | None = None,
    boxes: Any = None,
    masks: Any = None,
    box_references: Any = None,
    mask_references: Any = None,
    by: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> Material:
    """What predictions on Endoscapes offer for measuring.

    Args:
        predictions: Scores of the three criteria per frame; may be left out where boxes or masks are given.
        references: The folder of the data set, or a table of rated frames.
        metrics: Some of the benchmark's metrics; all that the input allows if left out.
        split: Which part of the data set.
        threshold: From which score on a criterion is called achieved; 0.5 if left out.
        boxes: COCO list of results on the frames with boxes.
        masks: COCO list of results on the frames with masks.
        box_references: COCO data set of the boxes, where it is not in the folder.
        mask_references: COCO data set of the masks, where it is not in the folder.
        by: Columns of the rated frames whose values are reported one by one.
        columns: Our column names to theirs.

    Raises:
        InputInvalid: With every problem.
    """
    if split not in SPLITS:
        raise UnknownName("split of Endoscapes", split, SPLITS)
    if predictions is None and boxes is None and masks is None:
        raise Misuse("nothing to evaluate; give --predictions, --boxes or --masks")
    root = references if isinstance(references, Path) and references.is_dir() else None
    offers, rows, read = [], None, list[Path]()
    if predictions is not None:
        frame, notes, files = joined_rows(predictions, references, split=split, threshold=threshold, columns=columns)
        read += files
        rows = read_labelled(frame, classes=CRITERIA)
        offer = _of_criteria(rows, by, 0.5 if threshold is None else threshold, notes)
        offers.append(replace(offer, lacking=_lacking("cvs", split, offer), looked=checks_of(rows)))
    elif by:
        raise Misuse("--by reports strata of rated frames; give --predictions")
    if boxes is not None:
        source = _coco_file(box_references, root, split, "--box-references")
        read += [source] if box_references is None else []
        boxed = read_detections(boxes, source, video_pattern=VIDEO_OF_NAME)
        offer = _of_detections("bbox", boxed)
        offers.append(replace(offer, lacking=_lacking("boxes", split, offer), looked=box_checks(boxed)))
    if masks is not None:
        source = _coco_file(mask_references, root, f"{split}_seg", "--mask-references")
        read += [source] if mask_references is None else []
        drawn = read_detections(masks, source, overlap="mask", video_pattern=VIDEO_OF_NAME)
        boxed = read_detections(masks, source, overlap="box", video_pattern=VIDEO_OF_NAME)
        offer = _of_detections("segm", drawn)
        offers += [replace(offer, lacking=_lacking("masks", split, offer)), _of_detections("seg50_bbox", boxed)]
    made = _material(offers, metrics, rows, by)
    return made if root is None else replace(made, files=tuple(read))


def _material(
    offers: Sequence[_Offer], metrics: Sequence[str], rows: LabelledRows | None, by: Sequence[str]
) -> Material:
    jobs = {job.name: job for offer in offers for job in offer.jobs}
    for name in metrics:
        if name not in jobs:
            raise UnknownName("metric of this benchmark and input", name, jobs)
    notes = [note for offer in offers for note in offer.notes]
    notes.append(
        "Published rows have no interval; one that lies inside the interval of this run shows no difference to it."
    )

    lacking = {job.name: offer.lacking for offer in offers for job in offer.jobs if offer.lacking}
    looked: Looked = {"incomplete-split": incomplete_split(tuple(dict.fromkeys(lacking.values())))}
    for offer in offers:
        looked = both(looked, offer.looked)

    def finish(model: str, measured: Measured) -> Mapping[str, pl.DataFrame]:
        return boards(model, measured, set(jobs), lacking)

    return Material(
        offers[0].videos,
        offers[0].cases,
        tuple(jobs[name] for name in metrics or jobs),
        tuple(job for offer in offers for job in offer.class_jobs),
        tuple(stratum for offer in offers for stratum in offer.parts),
        case_scores(rows, by) if rows is not None else None,
        {"set_exact": EXACT},
        notes=tuple(notes),
        finish=finish,
        looked=looked,
    )


def _lacking(task: str, split: str, offer: _Offer) -> str:
    """What this run lacks of the test part that the published rows are of."""
    if split != "test":
        return f"The published rows are of the test videos, this run is of {split}."
    cases = int(open_data_set("endoscapes2023").tasks[task].published["cases in test"])
    if offer.cases == cases:
        return ""
    return f"{offer.cases:,} cases of {len(offer.videos)} videos; the test part of {task} has {cases:,}."


def _of_criteria(rows: LabelledRows, by: Sequence[str], threshold: float, notes: Sequence[str]) -> _Offer:
    reference = "majority of three raters; frames that nobody rated are not scored"
    order = "C1 two structures, C2 hepatocystic triangle, C3 cystic plate"
    shared = {"reference": reference, "criteria": order}
    decided = {**shared, "threshold": f"achieved from a score of {threshold:g} on"}
    precision = Declared(MeanAveragePrecision(), "cvs_map", shared)
    accuracy = Declared(LabelBalancedAccuracy(), "cvs_bacc", decided)

    def build(rows_here: pl.DataFrame) -> tuple[tuple[str, ...], tuple[Job, ...]]:
        scored, chosen = rows.cases(rows_here, scores=True), rows.cases(rows_here, scores=False)
        videos = videos_of(rows_here)
        return videos, (Job("cvs_map", precision, scored, videos), Job("cvs_bacc", accuracy, chosen, videos))

    videos, jobs = build(rows.frame)
    counts = jobs[0].cases.reference.sum(axis=0).tolist()
    per_class = (
        ClassJob("ap", precision, jobs[0].cases, rows.classes, counts, videos),
        ClassJob("balanced_accuracy", accuracy, jobs[1].cases, rows.classes, counts, videos),
    )
    return _Offer(videos, rows.frame.height, jobs, per_class, parts_of(rows.frame, by, build), tuple(notes))


def _of_detections(name: str, detections: Detections) -> _Offer:
    subset = {"images": "frames with boxes (BBox201)" if name == "bbox" else "frames with masks (Seg50)"}
    class_job = class_jobs(detections, ((f"{name}_ap", "coco"),))[0]
    metric = Declared(class_job.metric, f"{name}_map", subset)
    job = Job(f"{name}_map", metric, detections.cases, class_job.videos)
    per_class = class_job._replace(metric=Declared(class_job.metric, f"{name}_ap", subset))
    return _Offer(class_job.videos, len(detections.records), (job,), (per_class,))


def _coco_file(given: Any, root: Path | None, folder: str, option: str) -> Any:
    if given is not None:
        return given
    if root is None:
        raise Misuse(f"give the folder of the data set with --references, or the COCO file with {option}")
    path = root / folder / "annotation_coco.json"
    if not path.is_file():
        raise InputInvalid(str(root), [f"{folder}/annotation_coco.json is missing; name the file with {option}"])
    return path
