"""Masks and label maps per image: overlap, outlines and instances, per image, class and video.

With one class the masks are binary (whatever is not 0 is foreground); with several, mIoU is reported pooled and per
image, which differ. Empty masks are decided by a declared rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import InputInvalid, Misuse, UnknownName
from surgeval.metrics import METRICS, SEGMENTATION, metrics_for
from surgeval.metrics.case_means import CaseMean
from surgeval.metrics.segmentation import MaskCases, MultiInstanceDsc, MultiInstanceNsd
from surgeval.metrics.segmentation.instances import instance_counts
from surgeval.metrics.segmentation.overlap import LARGEST_LABEL, class_counts, distinct_labels
from surgeval.results.tables.evaluation import INSTANCES
from surgeval.schema.metric import Metric
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.evaluate.class_overlaps import overlap_jobs
from surgeval.scoring.evaluate.measure import Job, Material, open_chosen, parts_of
from surgeval.scoring.evaluate.records import with_properties
from surgeval.scoring.evaluate.video_names import videos_of_paths
from surgeval.scoring.predictions.colour_tables import Colours, read_colours
from surgeval.scoring.predictions.mask_files import Chosen, Recoded, read_label_maps, under_names_of
from surgeval.scoring.predictions.nifti import AXES

BINARY_DEFAULT = ("dsc", "iou")
INSTANCE_DEFAULT = ("mi_dsc", "dsc")
CLASS_DEFAULT = ("miou_pooled", "miou_per_image")
Maps = Mapping[str, np.ndarray]


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    classes: Sequence[int | str] = (),
    ignore: int | None = None,
    tolerance_px: float | None = None,
    empty: str | None = None,
    video_pattern: str | None = None,
    properties: Any = None,
    by: Sequence[str] = (),
    instances: bool = False,
    recoded: Mapping[int, int] | None = None,
    colours: Colours | str | Path | None = None,
    video_of: Mapping[str, str] | None = None,
    nifti_axes: str | None = None,
    case_of: Mapping[str, str] | None = None,
) -> Material:
    """What masks of references and predictions offer for measuring.

    Args:
        predictions: A folder of PNG, NPY or NIfTI files, an NPZ or JSON file, or a mapping of names to arrays.
        references: The same, with the same names.
        metrics: Names of segmentation metrics.
        classes: Numbers of the classes; those in the data if left out.
        ignore: A reference label whose pixels do not count.
        tolerance_px: For NSD.
        empty: Name of the rule for empty masks; each metric's own if left out.
        video_pattern: Pattern on the names; the folder is the video if left out.
        properties: Table with `case` and the columns of `by`.
        by: Columns whose values are reported one by one.
        instances: Labels are numbers of objects and not of classes.
        recoded: Labels that stand for others on both sides.
        colours: What the colours of PNG files stand for: a table of colours, or a file with one.
        video_of: The video of every name; told by pattern or folder if left out.
        nifti_axes: `xy` or `rows`, where the shape of NIfTI files does not say it.
        case_of: What the data set calls every mask of the references; predictions may be called so.

    Raises:
        InputInvalid: Names on one side only, shapes that differ, undeclared labels; all are named.
    """
    if references is None:
        raise Misuse("segmentation needs --references, with masks of the same names")
    table = read_colours(Path(colours)) if isinstance(colours, str | Path) else colours
    if nifti_axes is not None and nifti_axes not in AXES:
        raise UnknownName("order of axes", nifti_axes, AXES)
    ours = read_label_maps(references, "references", table, nifti_axes=nifti_axes)
    theirs = read_label_maps(predictions, "predictions", table, like=ours, nifti_axes=nifti_axes)
    theirs, matching = under_names_of(ours, theirs, case_of or {})
    if recoded:
        ours, theirs = Recoded(ours, recoded), Recoded(theirs, recoded)
    labels = _scan(ours, theirs, _whole_numbers(classes), ignore)
    rows = _rows(sorted(ours), video_pattern, video_of, properties, by)
    default = BINARY_DEFAULT if len(labels) == 1 and ignore is None else CLASS_DEFAULT
    default = INSTANCE_DEFAULT if instances else default
    given = {"tolerance_px": tolerance_px, "empty": empty, "ignore": ignore}
    options = {name: value for name, value in given.items() if value is not None}
    opened = open_chosen(metrics, default, SEGMENTATION, ("masks",), classes=labels, **options)
    _need_no_ignore(opened, ignore)

    whole = _cases(ours, theirs, rows)
    scores = {name: metric.scores(whole) for name, metric in opened.items() if isinstance(metric, CaseMean)}
    place = {case: index for index, case in enumerate(rows["case"])}

    def build(rows_here: pl.DataFrame) -> tuple[tuple[str, ...], tuple[Job, ...]]:
        chosen, video = [place[case] for case in rows_here["case"]], rows_here["video"].to_list()
        jobs = [
            Job(name, Stored(metric), ScoredImages(scores[name][chosen], video))
            if name in scores
            else Job(name, metric, _cases(ours, theirs, rows_here))
            for name, metric in opened.items()
        ]
        return tuple(dict.fromkeys(video)), tuple(jobs)

    videos, jobs = build(rows)
    counts = class_counts(whole, classes=labels, ignore=ignore)
    return Material(
        videos,
        rows.height,
        jobs,
        () if instances else tuple(overlap_jobs(counts, rows["video"].to_list(), labels, ignore)),
        parts_of(rows, by, build),
        _score_rows(scores, rows),
        {name: metric.facts for name, metric in opened.items()},
        extra_tables=_instances(opened, whole, rows),
        sizes=Counter(rows["video"].to_list()),
        notes=(
            *((matching,) if matching else ()),
            *(() if instances else _notes(opened, labels, declared=bool(classes))),
            *_empty_notes(counts, scores),
        ),
    )


class ScoredImages(NamedTuple):
    """Scores of images that were computed once, and the video of each."""

    scores: np.ndarray
    unit: list[str]


@dataclass(frozen=True)
class Stored(CaseMean):
    """A mean over images of scores that are there already, so that strata need not read masks again."""

    metric: Metric

    @property
    def facts(self) -> MetricFacts:
        """Those of the metric."""
        return self.metric.facts

    def scores(self, cases: ScoredImages) -> np.ndarray:
        """As they were computed."""
        return cases.scores


def _cases(ours: Maps, theirs: Maps, rows: pl.DataFrame) -> MaskCases:
    names = rows["case"].to_list()
    return MaskCases(Chosen(ours, names), Chosen(theirs, names), rows["video"].to_list())


def _rows(
    names: Sequence[str], pattern: str | None, video_of: Mapping[str, str] | None, properties: Any, by: Sequence[str]
) -> pl.DataFrame:
    """One row per image: `case`, `video` and the strata."""
    if video_of is None or pattern is not None:
        videos = videos_of_paths(names, pattern)
    else:
        videos = [video_of[name] for name in names]
    rows = pl.DataFrame({"case": list(names), "video": videos})
    return with_properties(rows, properties, by, key="case") if by else rows


def _scan(ours: Maps, theirs: Maps, classes: list[int], ignore: int | None) -> list[int]:
    """The classes, after every pair was looked at once."""
    problems = _one_sided(ours, theirs, "references have no prediction")
    problems += _one_sided(theirs, ours, "predictions have no reference")
    seen: set[int] = set()
    for name in sorted(set(ours) & set(theirs)):
        pair = np.asarray(ours[name]), np.asarray(theirs[name])
        if any(one.ndim != 2 or one.dtype.kind not in "bui" for one in pair):
            shown = " and ".join(f"{one.dtype} of shape {one.shape}" for one in pair)
            problems.append(f"{name!r}: label maps are two-dimensional and of whole numbers, got {shown}")
        elif not pair[0].size:
            problems.append(f"{name!r}: the reference is {pair[0].shape} and has no pixels")
        elif pair[0].shape != pair[1].shape:
            problems.append(f"{name!r}: the reference is {pair[0].shape}, the prediction {pair[1].shape}; resize one")
        else:
            labels = {label for one in pair for label in distinct_labels(one.ravel())} - {0, ignore}
            if outside := sorted(label for label in labels if not 0 <= label <= LARGEST_LABEL):
                problems.append(
                    f"{name!r}: labels {outside[:5]} are not within 0 and {LARGEST_LABEL}; number them anew"
                )
            elif classes and (strange := sorted(labels - set(classes))):
                problems.append(f"{name!r}: labels {strange[:5]} are not among the classes {classes}")
            seen |= labels
    if problems:
        raise InputInvalid("masks", problems)
    return classes or sorted(label for label in seen if label is not None) or [1]


def _whole_numbers(classes: Sequence[int | str]) -> list[int]:
    if bad := [str(label) for label in classes if not str(label).isdecimal()]:
        raise Misuse(f"--classes of label maps are whole numbers, got {', '.join(bad)}")
    return [int(label) for label in classes]


def _one_sided(ours: Maps, theirs: Maps, text: str) -> list[str]:
    alone = sorted(set(ours) - set(theirs))
    return [f"{len(alone)} {text} (first: {alone[0]!r})"] if alone else []


def _need_no_ignore(opened: Mapping[str, Metric], ignore: int | None) -> None:
    if ignore is not None and (lacking := [n for n in opened if "ignore" not in METRICS[n].option_names]):
        raise UnknownName(
            "metric that can leave pixels out (--ignore)",
            ", ".join(lacking),
            [name for name, factory in metrics_for(SEGMENTATION, "masks").items() if "ignore" in factory.option_names],
        )


def _score_rows(scores: Mapping[str, np.ndarray], rows: pl.DataFrame) -> pl.DataFrame | None:
    """The score of every image, for metrics that are means over images."""
    parts = [
        rows.with_columns(pl.lit(name).alias("metric"), pl.Series("value", values)) for name, values in scores.items()
    ]
    return pl.concat(parts) if parts else None


def _empty_notes(counts: np.ndarray, scores: Mapping[str, np.ndarray]) -> list[str]:
    """How many images a rule for empty masks decided, and how many have no score."""
    predicted, labelled = (counts[..., kind].sum(axis=1) > 0 for kind in (1, 2))
    kinds = {
        "both masks empty": ~predicted & ~labelled,
        "only the reference empty": predicted & ~labelled,
        "only the prediction empty": labelled & ~predicted,
    }
    notes = []
    if any(kind.any() for kind in kinds.values()):
        listed = ", ".join(f"{name} in {int(kind.sum())}" for name, kind in kinds.items())
        notes.append(f"Of {len(counts)} images: {listed}; what they count as is in the conventions.")
    for name, values in scores.items():
        if unscored := int(np.isnan(values).sum()):
            notes.append(f"{name}: {unscored} of {len(values)} images are not scored and in no mean.")
    return notes


def _instances(opened: Mapping[str, Metric], cases: MaskCases, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Pixels of every instance, where instances are asked for: successes and trials of a failure analysis."""
    if not any(isinstance(metric, MultiInstanceDsc | MultiInstanceNsd) for metric in opened.values()):
        return {}
    conventions = (
        "pixels; matched one to one by the largest sum of DSC; missed have no prediction_id, invented no reference_id"
    )
    rows_counted = [
        {"case": case, "video": video, **counts._asdict(), "conventions": conventions}
        for case, video, pair in zip(rows["case"], rows["video"], cases.pairs(), strict=True)
        for counts in instance_counts(*pair)
    ]
    return {"instances": INSTANCES.frame(rows_counted)}


def _notes(opened: Mapping[str, Metric], classes: Sequence[int], *, declared: bool) -> tuple[str, ...]:
    listed = ", ".join(map(str, classes))
    notes = [] if declared else [f"Classes were taken from the data: {listed}. Declare them with --classes."]
    if len(classes) > 1 and (binary := [name for name in opened if "classes" not in METRICS[name].option_names]):
        notes.append(
            f"{', '.join(binary)}: label maps are used as the metric reads them, whatever is not 0 is foreground."
        )
    asked = "" if {"dsc", "iou"} & set(opened) else ", whatever metrics were asked for"
    notes.append(f"Per class{asked}: dsc and iou are means over images in which either mask holds the class.")
    return tuple(notes)
