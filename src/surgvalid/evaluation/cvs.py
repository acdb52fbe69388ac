"""The benchmark of Endoscapes2023: critical view of safety, boxes and masks, beside the published rows.

For each of the three criteria, average precision and balanced accuracy over all rated frames, then the mean of the
three; for boxes (BBox201) and masks (Seg50), COCO mAP over IoU 0.50 to 0.95. The reference is the majority of three
raters. Frames that nobody rated carry a label in some files, the last one before them; they are never scored.

References are the folder of the data set, or a table with `video`, `frame` and a column per criterion (`C1`, `C2`,
`C3`, or their names) with 0 and 1 or the mean of the raters.

Rated frames and scores of the three criteria, side by side.

Criteria are named `C1`, `C2`, `C3` in the order of Endoscapes, or by name; Cholec80-CVS orders them otherwise, so
files of other data sets must name them. Scores may also be there for frames that nobody rated; those are left aside,
and how many is said. A rated frame without scores is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.datasets import open_data_set
from surgvalid.datasets.sets.endoscapes2023 import CRITERIA
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.classification import (
    EXACT,
    LabelledRows,
    case_scores,
    checks_of,
    read_labelled,
)
from surgvalid.evaluation.detection import Detections, box_checks, class_jobs, read_detections
from surgvalid.evaluation.endoscapes_board import CODES, boards
from surgvalid.evaluation.measure import ClassJob, EvaluationMaterial, Measured, MeasureJob, material_of
from surgvalid.evaluation.records import checked_rows, joined, numbers, read_records
from surgvalid.evaluation.sanity.sanity_finding import Looked, both, incomplete_split
from surgvalid.metrics.classification.averages import LabelBalancedAccuracy
from surgvalid.metrics.classification.ranking import MeanAveragePrecision
from surgvalid.schema.metric_facts import MetricFacts

MAJORITY = 0.5


def joined_rows(
    predictions: Any, references: Any, *, split: str, threshold: float | None, columns: Mapping[str, str] | None
) -> tuple[pl.DataFrame, list[str], tuple[Path, ...]]:
    """One row per rated frame with `reference:`, `score:` and `prediction:` columns, what was noticed, and files read.

    Raises:
        InputInvalid: With every problem.
    """
    given = read_records(predictions, columns, roles=(*CODES, *CRITERIA))
    problems: list[str] = []
    files: tuple[Path, ...] = ()
    scores = _criteria(given, ("score:", ""), "scores", problems)
    if references is None:
        rated, truth = given, _criteria(given, ("reference:",), "references", problems)
    else:
        rated, files = _rated(references, split, columns)
        truth = _criteria(rated, ("reference:", ""), "references", problems)
    if problems:
        raise InputInvalid("critical view of safety", problems)
    notes: list[str] = []
    if references is None:
        frame = _renamed(given, {"reference": truth, "score": scores})
    else:
        rated, scored = _renamed(rated, {"reference": truth}), _renamed(given, {"score": scores})
        kept, notes = _rated_only(rated, scored)
        frame = joined(rated, kept, wanted=("score",))
    return _decided(frame, threshold, problems), notes, files


def _rated(references: Any, split: str, columns: Mapping[str, str] | None) -> tuple[pl.DataFrame, tuple[Path, ...]]:
    """The rated frames of the data set and the files that told them, or those of a table; strata stay."""
    if not (isinstance(references, Path) and references.is_dir()):
        return read_records(references, columns, roles=(*CODES, *CRITERIA)), ()
    rated = open_data_set("endoscapes2023").references(references, task="cvs")
    chosen = rated.table.filter(pl.col("split") == split).drop("case", "split", *(f"{name}_mean" for name in CRITERIA))
    if chosen.is_empty():
        raise InputInvalid(str(references), [f"no rated frames in {split!r}"])
    return chosen, rated.files


def _criteria(frame: pl.DataFrame, prefixes: tuple[str, ...], what: str, problems: list[str]) -> dict[str, str]:
    """The column of every criterion."""
    criteria = {}
    for code, name in zip(CODES, CRITERIA, strict=True):
        known = [prefix + label for prefix in prefixes for label in (name, code)]
        named = [column for column in known if column in frame.columns]
        if len(named) == 1:
            criteria[name] = named[0]
        elif named:
            problems.append(f"{what}: criterion {name!r} is there twice, as {' and '.join(map(repr, named))}")
        else:
            problems.append(f"{what}: no column for criterion {name!r}; expected {' or '.join(map(repr, known))}")
    return criteria


def _renamed(frame: pl.DataFrame, by_kind: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    """Moments, strata, and the criteria under `reference:` or `score:` and their names."""
    kinds = {f"{kind}{label}" for kind in ("", "reference:", "score:") for label in (*CODES, *CRITERIA)}
    others = [name for name in frame.columns if name not in kinds]
    criteria = [
        pl.col(theirs).alias(f"{kind}:{name}") for kind, columns in by_kind.items() for name, theirs in columns.items()
    ]
    return frame.select(*others, *criteria)


def _rated_only(rated: pl.DataFrame, scored: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Scores of rated frames alone, where every rated frame has some; otherwise all, so that the join says why not."""
    left, moment = checked_rows(rated, "references")
    right, theirs = checked_rows(scored, "predictions")
    if moment != theirs or left.join(right, on=["video", moment], how="anti").height:
        return scored, []
    kept = right.join(left.select("video", moment), on=["video", moment], how="semi")
    if not (spare := right.height - kept.height):
        return scored, []
    return kept, [f"{spare:,} frames with scores were not rated by anybody and are left aside."]


def _decided(frame: pl.DataFrame, threshold: float | None, problems: list[str]) -> pl.DataFrame:
    """References as 0 and 1, and decisions at the threshold."""
    names = {prefix: [f"{prefix}:{name}" for name in CRITERIA] for prefix in ("reference", "score", "prediction")}
    truth = numbers(frame, names["reference"], "references", problems)
    scores = numbers(frame, names["score"], "scores", problems)
    if threshold is not None and not np.isfinite(threshold):
        raise Misuse(f"--thresholds must be a number, got {threshold!r}")
    if ((truth < 0) | (truth > 1)).any():
        problems.append("references: a criterion is 0, 1 or the mean of the raters; there is something outside [0, 1]")
    if (truth == MAJORITY).any():
        problems.append("references: a mean of exactly 0.5 is no majority; an odd number of raters is expected")
    if threshold is None and ((scores < 0) | (scores > 1)).any():
        problems.append(
            "scores: there are scores outside [0, 1]; say with --thresholds what is achieved (0 for logits)"
        )
    if problems:
        raise InputInvalid("critical view of safety", problems)
    decided = scores >= (0.5 if threshold is None else threshold)
    arrays = {"reference": truth > MAJORITY, "score": scores, "prediction": decided}
    made = [
        pl.Series(names[prefix][place], column, dtype=pl.Float64)
        for prefix, table in arrays.items()
        for place, column in enumerate(table.astype(np.float64).T)
    ]
    return frame.with_columns(made)


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

    def __getattr__(self, name: str) -> Any:
        """All else is the metric's."""
        if name == "metric":  # not there yet while it is copied
            raise AttributeError(name)
        return getattr(self.metric, name)


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
) -> EvaluationMaterial:
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
    offers, rows, read, lacking = list[EvaluationMaterial](), None, list[Path](), dict[str, str]()

    def add(offer: EvaluationMaterial, task: str = "") -> None:
        offers.append(offer)
        lacking.update({job.name: text for job in offer.jobs if task and (text := _lacking(task, split, offer))})

    if predictions is not None:
        frame, notes, files = joined_rows(predictions, references, split=split, threshold=threshold, columns=columns)
        read += files
        rows = read_labelled(frame, classes=CRITERIA)
        add(_of_criteria(rows, by, 0.5 if threshold is None else threshold, notes), "cvs")
    elif by:
        raise Misuse("--by reports strata of rated frames; give --predictions")
    if boxes is not None:
        source = _coco_file(box_references, root, split, "--box-references")
        read += [source] if box_references is None else []
        boxed = read_detections(boxes, source, video_pattern=VIDEO_OF_NAME)
        add(replace(_of_detections("bbox", boxed), looked=box_checks(boxed)), "boxes")
    if masks is not None:
        source = _coco_file(mask_references, root, f"{split}_seg", "--mask-references")
        read += [source] if mask_references is None else []
        drawn = read_detections(masks, source, overlap="mask", video_pattern=VIDEO_OF_NAME)
        boxed = read_detections(masks, source, overlap="box", video_pattern=VIDEO_OF_NAME)
        add(_of_detections("segm", drawn), "masks")
        add(_of_detections("seg50_bbox", boxed))
    made = _material(offers, lacking, metrics, rows, by)
    return made if root is None else replace(made, files=tuple(read))


def _material(
    offers: Sequence[EvaluationMaterial],
    lacking: Mapping[str, str],
    metrics: Sequence[str],
    rows: LabelledRows | None,
    by: Sequence[str],
) -> EvaluationMaterial:
    jobs = {job.name: job for offer in offers for job in offer.jobs}
    for name in metrics:
        if name not in jobs:
            raise UnknownName("metric of this benchmark and input", name, jobs)
    notes = [note for offer in offers for note in offer.notes]
    notes.append(
        "Published rows have no interval; one that lies inside the interval of this run shows no difference to it."
    )
    looked: Looked = {"incomplete-split": incomplete_split(tuple(dict.fromkeys(lacking.values())))}
    for offer in offers:
        looked = both(looked, offer.looked)

    def finish(model: str, measured: Measured) -> Mapping[str, pl.DataFrame]:
        return boards(model, measured, set(jobs), lacking)

    return EvaluationMaterial(
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


def _lacking(task: str, split: str, offer: EvaluationMaterial) -> str:
    """What this run lacks of the test part that the published rows are of."""
    if split != "test":
        return f"The published rows are of the test videos, this run is of {split}."
    cases = int(open_data_set("endoscapes2023").tasks[task].published["cases in test"])
    if offer.cases == cases:
        return ""
    return f"{offer.cases:,} cases of {len(offer.videos)} videos; the test part of {task} has {cases:,}."


def _of_criteria(rows: LabelledRows, by: Sequence[str], threshold: float, notes: Sequence[str]) -> EvaluationMaterial:
    reference = "majority of three raters; frames that nobody rated are not scored"
    order = "C1 two structures, C2 hepatocystic triangle, C3 cystic plate"
    shared = {"reference": reference, "criteria": order}
    decided = {**shared, "threshold": f"achieved from a score of {threshold:g} on"}
    precision: Any = Declared(MeanAveragePrecision(), "cvs_map", shared)
    accuracy: Any = Declared(LabelBalancedAccuracy(), "cvs_bacc", decided)

    def build(rows_here: pl.DataFrame) -> list[MeasureJob]:
        videos = tuple(rows_here["video"].unique(maintain_order=True).to_list())
        pairs = (("cvs_map", precision, True), ("cvs_bacc", accuracy, False))
        return [MeasureJob(name, one, rows.cases(rows_here, scores=scores), videos) for name, one, scores in pairs]

    made = material_of(rows.frame, by, build)
    counts = made.jobs[0].cases.reference.sum(axis=0).tolist()
    pairs = zip(("ap", "balanced_accuracy"), (precision, accuracy), made.jobs, strict=True)
    per_class = tuple(ClassJob(name, one, job.cases, rows.classes, counts, made.videos) for name, one, job in pairs)
    return replace(made, class_jobs=per_class, notes=tuple(notes), looked=checks_of(rows), sizes={})


def _of_detections(name: str, detections: Detections) -> EvaluationMaterial:
    subset = {"images": "frames with boxes (BBox201)" if name == "bbox" else "frames with masks (Seg50)"}
    class_job = class_jobs(detections, ((f"{name}_ap", "coco"),))[0]
    metric: Any = Declared(class_job.metric, f"{name}_map", subset)
    job = MeasureJob(f"{name}_map", metric, detections.cases, class_job.videos)
    named: Any = Declared(class_job.metric, f"{name}_ap", subset)
    per_class = class_job._replace(metric=named)
    return EvaluationMaterial(class_job.videos, len(detections.records), (job,), (per_class,))


def _coco_file(given: Any, root: Path | None, folder: str, option: str) -> Any:
    if given is not None:
        return given
    if root is None:
        raise Misuse(f"give the folder of the data set with --references, or the COCO file with {option}")
    path = root / folder / "annotation_coco.json"
    if not path.is_file():
        raise InputInvalid(str(root), [f"{folder}/annotation_coco.json is missing; name the file with {option}"])
    return path
