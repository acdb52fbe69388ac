"""Detections in COCO form: a data set with `images`, `categories` and `annotations`, and a list of results.

Images name their video, so that intervals draw videos and not images. Results without any score are allowed and
ranked as one step, which the conventions then say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.alignment.boxes import (
    BoxStudy,
    LocatedBoxes,
    box_alignment,
    frames_in_order,
    lags_of,
    natural_keys,
)
from surgvalid.evaluation.alignment.classes import renamings
from surgvalid.evaluation.box_shards import Detections as Detections
from surgvalid.evaluation.box_shards import Overlap, gathered_boxes, rejoined_boxes
from surgvalid.evaluation.measure import (
    ClassJob,
    EvaluationMaterial,
    MeasureJob,
    jobs_on,
    material_of,
    open_chosen,
    record_columns,
)
from surgvalid.evaluation.predictions.box_columns import read_box_columns, read_data_set_columns
from surgvalid.evaluation.predictions.boxes import PredictionsRead, class_number_hint, read_boxes, read_data_set
from surgvalid.evaluation.predictions.plain_files import read_json
from surgvalid.evaluation.sanity.sanity_finding import Looked
from surgvalid.evaluation.shards import Cut, Gathered
from surgvalid.evaluation.video_names import videos_of_records
from surgvalid.metrics import DETECTION
from surgvalid.metrics.detection.average_precision import CocoAP, CocoAR, coco_summary
from surgvalid.metrics.detection.cases import DetectionCases, coco_cases
from surgvalid.metrics.detection.counts import ERRORS, JudgedDetections, detection_errors, judged_detections
from surgvalid.results.tables.evaluation import COCO_SUMMARY, DETECTION_ERRORS, DETECTIONS
from surgvalid.schema.metric_facts import Metric, MetricFacts

MOST_ROWS = 200_000
"""Of more detections no row each is written."""
DEFAULT = ("coco_ap", "coco_ap50", "coco_ar", "detection_f1", "false_alarms_per_image")


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    overlap: Overlap = "box",
    video_column: str | None = None,
    video_pattern: str | None = None,
    by: Sequence[str] = (),
    box_format: str | None = None,
    class_numbers: str | None = None,
    prediction_labels: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    join: str | None = None,
    boxes_from: str | None = None,
    renamed: str | None = None,
    lag: str | None = None,
    no_predictions: Sequence[str] = (),
    cut: Cut | None = None,
) -> EvaluationMaterial:
    """What a COCO data set and the boxes of a model offer for measuring.

    Args:
        predictions: COCO results, or what a framework wrote (`surgvalid.evaluation.predictions.boxes`).
        references: A COCO data set.
        metrics: Names of detection metrics.
        overlap: Whether boxes or masks are compared.
        video_column: The key of an image that names its video.
        video_pattern: Pattern on the names of images, whose first group is the video.
        by: Keys of images whose values are reported one by one.
        box_format: What the four numbers of a box are, where the predictions leave it open.
        class_numbers: What class numbers stand for, where the predictions leave it open.
        prediction_labels: Names of the class numbers, in the model's order.
        columns: Our names of the columns of a table to theirs: `image`, `label`, `score`, `box`.
        join: How images of the predictions are told, where that is open: one of `joining.JOINS`.
        boxes_from: What was done to images before boxes were predicted, such as `mirror:x` or `letterbox:640`.
        renamed: What predictions call some classes, and what these are, as `A:B+B:A`.
        lag: By how many images of their video predictions are moved: `-1`, or `VIDEO:-1+VIDEO:2`.
        no_predictions: Videos in which nothing was detected, as is meant.
        cut: Which videos; all if left out.

    Raises:
        InputInvalid: With every problem of either file.
        Misuse: Two readings of the predictions fit; names the option that decides.
    """
    readings: dict[str, Any] = {
        "box_format": box_format,
        "class_numbers": class_numbers,
        "prediction_labels": prediction_labels,
        "columns": columns,
        "join": join,
        "boxes_from": boxes_from,
    }
    detections = read_detections(
        predictions,
        references,
        overlap=overlap,
        video_column=video_column,
        video_pattern=video_pattern,
        readings=readings,
        renamed=renamed,
        lag=lag,
    )._replace(silent=tuple(no_predictions))
    if cut is None:
        return _material(detections, metrics, by)
    detections, places = _of_cut(detections, cut)
    return replace(_material(detections, metrics, by), gathered=gathered_boxes(detections, places, tuple(cut.seen)))


def rejoined(parts: Sequence[Gathered], metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    """The same of all shards."""
    return _material(rejoined_boxes(parts), metrics, by)


def _of_cut(detections: Detections, cut: Cut) -> tuple[Detections, np.ndarray]:
    """The images of some videos, and their places among all."""
    held = {video: cut.holds(video) for video in dict.fromkeys(detections.videos)}
    places = np.flatnonzero([held[video] for video in detections.videos])
    cut.check(places.size)
    videos = [detections.videos[place] for place in places]
    cases = replace(_of_images(detections.cases, places), unit=videos)
    records = [detections.records[place] for place in places]
    return detections._replace(cases=cases, records=records, videos=videos), places


def _material(detections: Detections, metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    whole, videos, overlap = detections.cases, detections.videos, detections.overlap
    opened = open_chosen(metrics, DEFAULT, DETECTION, ("objects",), kind=overlap, confidence=detections.confidence)
    rows = pl.DataFrame({"video": videos, "": range(len(videos)), **_strata(detections.records, by)})

    def build(here: pl.DataFrame) -> list[MeasureJob]:
        places, names = here[""].to_numpy(), here["video"].to_list()
        return jobs_on(opened, whole if here is rows else replace(_of_images(whole, places), unit=names))

    made = material_of(rows, by, build)
    return replace(
        made,
        jobs=(*made.jobs, *_flawed_jobs(opened, whole)),
        class_jobs=class_jobs(detections, (("ap", "coco"), ("ap50", "50"))),
        extra_tables=_summary(detections, _strata(detections.records, by)) if detections.confidence == "scores" else {},
        notes=_notes(detections),
        looked=box_checks(detections),
    )


def _strata(records: Sequence[Mapping[str, Any]], by: Sequence[str]) -> dict[str, list[str]]:
    """The values of some keys of image records."""
    keys = {str(key) for one in records for key, value in one.items() if value is not None}
    if lacking := [column for column in by if column not in keys]:
        raise UnknownName("key of image records", lacking[0], sorted({str(key) for one in records for key in one}))
    return {column: [str(record.get(column)) for record in records] for column in by}


def box_checks(detections: Detections) -> Looked:
    """The checks of boxes, where both sides have some."""
    cases = detections.cases
    sides = [
        None if side.box is None else LocatedBoxes(side.image, side.box, side.category, side.score)
        for side in (cases.reference, cases.prediction)
    ]
    if sides[0] is None or sides[1] is None:
        return {}
    video, place, names = _moments(detections.records, detections.videos)
    size = _sizes(detections.records)
    files = [str(record.get("file_name") or "") for record in detections.records]
    study = BoxStudy(sides[0], sides[1], video, place, size, detections.names, names, files if all(files) else ())
    return box_alignment(study, scored=detections.confidence == "scores", silent=detections.silent)


def _sizes(records: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Width and height of every image, where they are told."""
    stated = [[record.get(name) for name in ("width", "height")] for record in records]
    sides = [[side if type(side) in (int, float) else np.nan for side in one] for one in stated]
    return np.array(sides, dtype=np.float64).reshape(-1, 2)


def read_detections(
    predictions: Any,
    references: Any,
    *,
    overlap: Overlap = "box",
    video_column: str | None = None,
    video_pattern: str | None = None,
    readings: Mapping[str, Any] | None = None,
    renamed: str | None = None,
    lag: str | None = None,
) -> Detections:
    """The cases of both files; `readings` are what the caller says about the predictions, as `read_boxes` takes it.

    Raises:
        InputInvalid: With every problem of either file.
    """
    if overlap not in ("box", "mask"):
        raise UnknownName("kind of overlap", overlap, ("box", "mask"))
    dataset, (results, form), outlines = _read(predictions, references, overlap, readings or {})
    try:
        read = coco_cases(dataset, results, kind=overlap)
    except InputInvalid as error:
        raise InputInvalid(error.where, [*error.problems, *class_number_hint(results, dataset)]) from None
    by_id = {record["id"]: record for record in dataset["images"]}
    records = [by_id[image] for image in read.images]
    videos = videos_of_records(records, column=video_column, pattern=video_pattern)
    if not records:
        raise InputInvalid("images", ["the data set has no images"])
    called = {record["id"]: str(record.get("name", record["id"])) for record in dataset["categories"]}
    names = [called[category] for category in read.categories]
    cases = replace(read.cases, unit=videos)
    if renamed:
        others = renamings(renamed, names)
        if strange := sorted(set(others.values()) - set(names)):
            raise Misuse(f"--format renamed: {', '.join(strange)} are no classes of the references")
        place = np.array([names.index(others.get(name, name)) for name in names])
        cases = replace(cases, prediction=replace(cases.prediction, category=place[cases.prediction.category]))
        form = f"{form}; renamed {renamed}"
    if lag:
        cases, moved = _moved(cases, records, videos, lag)
        form = f"{form}; {moved}"
    form = f"Predictions were read as {form}; {_summed_up(cases, videos, names)}."
    return Detections(cases, records, videos, names, overlap, " ".join([form, *outlines]))


def _summed_up(cases: DetectionCases, videos: Sequence[str], names: Sequence[str]) -> str:
    """Classes, videos and scores of the predictions."""
    given = cases.prediction
    held = {videos[place] for place in np.unique(given.image).tolist()}
    score = given.score
    scores = f"scores {score.min():.3g} to {score.max():.3g}" if score is not None and len(score) else "no scores"
    classes = len(np.unique(given.category))
    return f"{classes} of {len(names)} classes; {len(held):,} of {len(set(videos)):,} videos have predictions; {scores}"


def _moments(records: Sequence[Mapping[str, Any]], videos: Sequence[str]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """The video of every image, and its place in it: by frame number, else by name, else as listed."""
    frames = [record.get("frame") for record in records]
    if all(isinstance(frame, int) for frame in frames):
        return frames_in_order(videos, frames)
    names = [str(record.get("file_name") or "") for record in records]
    return frames_in_order(videos, list(natural_keys(names)) if all(names) else list(range(len(records))))


def _moved(
    cases: DetectionCases, records: Sequence[Mapping[str, Any]], videos: Sequence[str], lag: str
) -> tuple[DetectionCases, str]:
    """Predictions moved within their videos; those that leave a video are of no image and are left out."""
    video, place, names = _moments(records, videos)
    steps = np.array(lags_of(lag, names), dtype=np.intp)
    at = {(v, p): image for image, (v, p) in enumerate(zip(video.tolist(), place.tolist(), strict=True))}
    target = np.array(
        [at.get((v, p), -1) for v, p in zip(video.tolist(), (place + steps[video]).tolist(), strict=True)]
    )
    given = cases.prediction
    kept = np.flatnonzero(target[given.image] >= 0)
    moved = given.of(kept)
    prediction = replace(moved, image=target[moved.image])
    left = len(given) - len(kept)
    return replace(cases, prediction=prediction), f"moved by {lag} images in their videos ({left:,} boxes left them)"


def _read(
    predictions: Any, references: Any, overlap: Overlap, readings: Mapping[str, Any]
) -> tuple[Mapping[str, Any], PredictionsRead, list[str]]:
    if references is None:
        raise Misuse("detection needs --references, a COCO data set with images, categories and annotations")
    dataset = _data_set(Path(references), overlap) if isinstance(references, str | Path) else references
    if not isinstance(dataset, Mapping):
        raise InputInvalid("references", ["expected a COCO data set (an object), got a list; are the files swapped?"])
    dataset, outlines = _without_false_crowds(dataset)
    if isinstance(predictions, str | Path) and Path(predictions).suffix.lower() == ".json":
        columns = read_box_columns(Path(predictions))
        if columns is not None and len(columns.image):
            return dataset, read_boxes(columns, dataset, **readings), outlines
        content = read_json(Path(predictions))
        predictions = content if isinstance(content, list) else predictions
    return dataset, read_boxes(predictions, dataset, **readings), outlines


def _data_set(path: Path, overlap: Overlap) -> Any:
    """The references: a COCO data set as it is, another layout as one."""
    if path.is_file() and path.suffix.lower() == ".json":
        content = (read_data_set_columns(path) if overlap == "box" else None) or read_json(path)
        other = isinstance(content, Mapping) and "items" in content and "annotations" not in content
        return read_data_set(path) if other else content
    return read_data_set(path) if path.exists() else read_json(path)


def _without_false_crowds(dataset: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
    """The references with masks that CVAT marks as crowd (it does so with every mask and ellipse) as single objects.

    A crowd region is never to be found; CVAT's annotations carry `attributes`, which crowds of other makers lack.
    """
    annotations = dataset.get("annotations")
    rows = annotations if isinstance(annotations, list) else []
    mended = [
        {**one, "iscrowd": 0}
        if type(one) is dict and one.get("iscrowd") == 1 and isinstance(one.get("attributes"), Mapping)
        else one
        for one in rows
    ]
    false = sum(new is not old for new, old in zip(mended, rows, strict=True))
    note = f"{false} masks of the references that CVAT marks as crowd count as the single objects that they are."
    return ({**dataset, "annotations": mended}, [note]) if false else (dataset, [])


def _flawed_jobs(opened: Mapping[str, Metric], cases: DetectionCases) -> tuple[MeasureJob, ...]:
    """What pycocotools makes of the metrics, where an annotation is numbered 0 and the two differ."""
    if cases.reference.numbered_0 is None:
        return ()
    flawed = {name: replace(m, compat="pycocotools") for name, m in opened.items() if isinstance(m, CocoAP | CocoAR)}
    return tuple(MeasureJob(f"{name}_pycocotools", metric, cases) for name, metric in flawed.items())


def _of_images(cases: DetectionCases, images: np.ndarray) -> DetectionCases:
    """The cases of some images, numbered anew."""
    place = np.full(cases.images, -1)
    place[images] = np.arange(len(images))
    sides = []
    for side in (cases.reference, cases.prediction):
        kept = side.of(np.flatnonzero(place[side.image] >= 0))
        sides.append(replace(kept, image=place[kept.image]))
    return DetectionCases(len(images), sides[0], sides[1], cases.classes)


def class_jobs(detections: Detections, grids: Sequence[tuple[str, str]]) -> tuple[ClassJob, ...]:
    """The AP of every class on some grids of thresholds."""
    counts = _reference_counts(detections).tolist()
    metrics = (
        (name, CocoAP(ious=ious, kind=detections.overlap, confidence=detections.confidence)) for name, ious in grids
    )
    videos = tuple(dict.fromkeys(detections.videos))
    return tuple(ClassJob(name, metric, detections.cases, detections.names, counts, videos) for name, metric in metrics)


def _summary(detections: Detections, strata: Mapping[str, Sequence[str]]) -> dict[str, pl.DataFrame]:
    """The twelve numbers of the protocol, with what they were computed under, and what is wrong with the detections."""
    cases, overlap = detections.cases, detections.overlap
    rows = [
        {"number": name, "value": None if value != value else value, **record_columns(_summary_facts(name, overlap))}
        for name, value in coco_summary(cases, kind=overlap).items()
    ]
    under = f"overlap of {overlap} at IoU 0.5, background at most 0.1, crowds ignored, 101 recall points"
    judged = judged_detections(cases, kind=overlap)
    errors = [{**one._asdict(), "conventions": under} for one in detection_errors(cases, judged)]
    made = {"coco_summary": COCO_SUMMARY.frame(rows), "detection_errors": DETECTION_ERRORS.frame(errors)}
    if len(judged.detection) > MOST_ROWS:
        return made
    each = _every_detection(detections, judged, strata).with_columns(conventions=pl.lit(under))
    return {**made, "detections": DETECTIONS.frame(each)}


def _every_detection(
    detections: Detections, judged: JudgedDetections, strata: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Every detection, right or invented, with what it is like and where it lies: rows of a failure analysis."""
    records, names = detections.records, np.array([*detections.names, "nothing"])
    given, near = detections.cases.prediction.of(judged.detection), judged.nearest
    case = [str(record.get("file_name", record["id"])) for record in records]
    images = pl.DataFrame({"case": case, "video": detections.videos, **strata})
    left, top, width, height = (np.full((len(given), 4), np.nan) if given.box is None else given.box).T
    across, down = _sizes(records)[given.image].T
    each = {
        "class": names[judged.category],
        "score": judged.score,
        "right": (judged.wrong < 0) * 1,
        "error": np.array([*ERRORS, ""])[judged.wrong],
        "area_px": given.sizes,
        "x": (left + width / 2) / across,
        "y": (top + height / 2) / down,
        "border_px": np.min([left, top, across - left - width, down - top - height], axis=0),
        "overlap": near.overlap,
        "lies_on": names[np.append(detections.cases.reference.category, -1)[near.reference]],
    }
    return images[given.image].hstack(pl.DataFrame(each).fill_nan(None))


def _summary_facts(name: str, overlap: Overlap) -> MetricFacts:
    """The facts of one of the twelve numbers."""
    kind, _, size = name.partition("_")
    size = size or "all"
    if kind.startswith("ar"):
        return CocoAR(kind=overlap, size=size, max_detections=int(kind.removeprefix("ar")), name=name).facts
    return CocoAP(kind=overlap, size=size, ious=kind.removeprefix("ap") or "coco", name=name).facts


def _notes(detections: Detections) -> tuple[str, ...]:
    notes = [detections.form] if detections.form else []
    if detections.confidence == "none":
        notes.append("No detection has a score: all detections of a class are ranked as one step.")
    if not len(detections.cases.prediction):
        notes.append("The list of results is empty: the model detected nothing.")
    if len(detections.cases.prediction) > MOST_ROWS:
        notes.append(f"detections.csv, with a row for each, is left out: there are more than {MOST_ROWS:,}.")
    counts = _reference_counts(detections)
    if absent := [name for name, count in zip(detections.names, counts, strict=True) if not count]:
        notes.append(f"Classes without a reference have no AP and are left out of the mean: {', '.join(absent)}.")
    return tuple(notes)


def _reference_counts(detections: Detections) -> np.ndarray:
    """References of every class that can be found; a crowd is none of them."""
    reference = detections.cases.reference
    return np.bincount(reference.category[~reference.crowds], minlength=len(detections.names))
