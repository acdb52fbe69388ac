"""Masks and label maps per image: overlap, outlines and instances, per image, class and video.

With one class the masks are binary (whatever is not 0 is foreground); with several, mIoU is reported pooled and per
image, which differ. Empty masks are decided by a declared rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import polars as pl

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.alignment.boxes import frames_in_order, lags_of, natural_keys
from surgvalid.evaluation.alignment.classes import renamings
from surgvalid.evaluation.alignment.masks import mask_alignment, masks_held, masks_lacking
from surgvalid.evaluation.mask_walk import FROM_COUNTS, Walked, labels_in, masks_walked, overlap_jobs
from surgvalid.evaluation.measure import ClassJob, EvaluationMaterial, MeasureJob, material_of, open_chosen
from surgvalid.evaluation.predictions.label_maps import Colours, read_colours
from surgvalid.evaluation.predictions.mask_files import (
    AXES,
    Chosen,
    named,
    read_label_maps,
    recoded_maps,
    under_names_of,
)
from surgvalid.evaluation.records import with_properties
from surgvalid.evaluation.sanity.labels import empty_masks_apart
from surgvalid.evaluation.sanity.sanity_finding import Looked, SanityFinding
from surgvalid.evaluation.shards import Cut, Gathered, looked_as_data, looked_of, stacked
from surgvalid.evaluation.video_names import videos_of_paths
from surgvalid.metrics import METRICS, SEGMENTATION, metrics_for
from surgvalid.metrics.metric import CaseMean, StoredScores, mean_known
from surgvalid.metrics.segmentation.classes import ClassMean
from surgvalid.metrics.segmentation.instances import InstanceCounts
from surgvalid.metrics.segmentation.masks import MaskCases
from surgvalid.metrics.segmentation.overlap import CountedMasks
from surgvalid.results.tables.evaluation import INSTANCES
from surgvalid.schema.metric_facts import Metric

BINARY_DEFAULT = ("dsc", "iou")
INSTANCE_DEFAULT = ("mi_dsc", "dsc")
CLASS_DEFAULT = ("miou_pooled", "miou_per_image")
OF_CLASSES = {
    "dsc": ("dsc_classes", "dsc_foreground"),
    "iou": ("miou_per_image", "miou_pooled"),
    "nsd_border": ("nsd_classes",),
    "nsd_contour": ("nsd_classes",),
    "hd95_px": ("hd95_classes_px", "assd_classes_px"),
}
"""Metrics of one mask, and what several classes can be asked for instead."""
Maps = Mapping[str, np.ndarray]
_WHITE = {1: 255, 255: 1}
"""What foreground is called, and what it is called elsewhere."""


def material(
    predictions: Any,
    references: Any = None,
    *,
    metrics: Sequence[str] = (),
    classes: Sequence[int | str] = (),
    ignore: int | None = None,
    tolerance_px: float | None = None,
    mm_per_px: float | None = None,
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
    renamed: str | None = None,
    lag: str | None = None,
    no_predictions: Sequence[str] = (),
    cut: Cut | None = None,
) -> EvaluationMaterial:
    """What masks of references and predictions offer for measuring.

    Args:
        predictions: A folder of PNG, NPY or NIfTI files, an NPZ or JSON file, or a mapping of names to arrays.
        references: The same, with the same names.
        metrics: Names of segmentation metrics.
        classes: Numbers of the classes; those in the data if left out.
        ignore: A reference label whose pixels do not count.
        tolerance_px: For NSD.
        mm_per_px: The side of a square pixel, for distances in millimetres.
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
        renamed: What predictions call some classes, and what these are, as `1:2+2:1`.
        lag: By how many images of their video predictions are moved: `-1`, or `VIDEO:-1+VIDEO:2`.
        no_predictions: Videos in which nothing was segmented, as is meant.
        cut: Which videos; all if left out.

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
    sentences = [matching]
    if recoded:
        ours, theirs = recoded_maps(ours, recoded), recoded_maps(theirs, recoded)
    if renamed:
        theirs = recoded_maps(theirs, _numbers(renamed, theirs))
        sentences.append(f"Predicted masks were renamed {renamed}.")
    rows = _rows(sorted(ours), video_pattern, video_of, properties, by)
    if cut is not None:
        rows = cut.rows(rows)
        cut.check(rows.height)
        gone = set(ours) - set(rows["case"])
        ours, theirs = (named(side, {name: name for name in side if name not in gone}) for side in (ours, theirs))
    moved = ""
    if lag:
        rows, ours, theirs, moved = _moved(rows, ours, theirs, lag)
    if problems := [
        *_one_sided(ours, theirs, "references have no prediction"),
        *_one_sided(theirs, ours, "predictions have no reference"),
    ]:
        raise InputInvalid("masks", problems + masks_walked(ours, theirs, _whole_numbers(classes), ignore).problems)
    labels = _whole_numbers(classes) or labels_in(ours, theirs, ignore)
    if not recoded and not instances:
        ours, theirs, labels, white = _of_one_class(ours, theirs, labels, declared=bool(classes) or cut is not None)
        sentences += white
    given = {"tolerance_px": tolerance_px, "mm_per_px": mm_per_px, "empty": empty, "ignore": ignore}
    asked = MaskRequest(
        {name: value for name, value in given.items() if value is not None},
        instances,
        bool(classes),
        " ".join(text for text in (*sentences, moved) if text),
        list(no_predictions),
    )
    opened = _opened(metrics, labels, asked)
    walked = masks_walked(ours, theirs, labels, ignore, {n: m for n, m in opened.items() if _of_pixels(m)})
    if problems := walked.problems:
        if not renamed and any("among the classes" in one for one in problems):
            problems = [*problems[:-1], f"{problems[-1]}; predictions that number them otherwise: --format renamed=A:B"]
        raise InputInvalid("masks", problems)
    checks = mask_alignment(ours, theirs, rows["video"].to_list(), [] if instances else labels)
    made = _material(rows, walked, labels, asked, opened, by, checks, lambda here: _cases(ours, theirs, here))
    return replace(made, gathered=None if cut is None else _gathered(rows, walked, labels, asked, checks, cut))


def _of_one_class(
    ours: Maps, theirs: Maps, labels: list[int], *, declared: bool
) -> tuple[Maps, Maps, list[int], list[str]]:
    """Both sides of a task with one class under its number, where all of a side that is not background is 255, or 1."""
    if not declared and set(labels) == set(_WHITE):
        labels = [label for label in labels if _all_of(ours, label)] or labels
    if len(labels) != 1 or labels[0] not in _WHITE:
        return ours, theirs, labels, []
    (label,) = labels
    other, sentences, sides = _WHITE[label], [], [ours, theirs]
    for place, whose in enumerate(("Reference", "Predicted")):
        if _all_of(sides[place], other):
            sides[place] = recoded_maps(sides[place], {other: label})
            sentences.append(f"{whose} pixels of {other} are class {label}, the only one there is.")
    return sides[0], sides[1], labels, sentences


def _all_of(maps: Maps, label: int) -> bool:
    """Whether masks hold this label alone."""
    seen = False
    for name in sorted(maps):
        held = set(np.unique(np.asarray(maps[name])).tolist()) - {0}
        if held - {label}:
            return False
        seen = seen or bool(held)
    return seen


def _numbers(renamed: str, theirs: Maps) -> dict[int, int]:
    """The labels that predictions have, and what they are."""
    held = {str(label) for name in theirs for label in np.unique(np.asarray(theirs[name])).tolist()}
    pairs = renamings(renamed, held)
    if strange := [number for number in pairs.values() if not number.isdecimal()]:
        raise Misuse(f"--format renamed: labels of masks are whole numbers, got {', '.join(strange)}")
    return {int(theirs): int(ours) for theirs, ours in pairs.items()}


def _moved(rows: pl.DataFrame, ours: Maps, theirs: Maps, lag: str) -> tuple[pl.DataFrame, Maps, Maps, str]:
    """Predictions moved within their videos; images that then have none are left out."""
    names, videos = rows["case"].to_list(), rows["video"].to_list()
    video, place, listed = frames_in_order(videos, list(natural_keys(names)))
    steps = lags_of(lag, listed)
    at = {(v, p): name for name, v, p in zip(names, video.tolist(), place.tolist(), strict=True)}
    source = {name: at.get((v, p - steps[v])) for (v, p), name in at.items()}
    taken = {name: other for name, other in source.items() if other is not None and other in theirs}
    kept = rows.filter(pl.col("case").is_in(list(taken)))
    note = (
        f"Predictions were moved by {lag} images in their videos; {rows.height - kept.height} without one are left out."
    )
    return kept, named(ours, {name: name for name in ours if name in taken}), named(theirs, taken), note


class MaskRequest(NamedTuple):
    """What was asked of the masks."""

    options: Mapping[str, Any]
    """Of the metrics: `tolerance_px`, `mm_per_px`, `empty`, `ignore`, where given."""
    instances: bool
    declared: bool
    """Whether somebody listed the classes."""
    matching: str = ""
    """How names of predictions were matched."""
    silent: Sequence[str] = ()
    """Videos that are meant to have nothing predicted."""


def _opened(metrics: Sequence[str], labels: Sequence[int], asked: MaskRequest) -> dict[str, Metric]:
    ignore = asked.options.get("ignore")
    default = BINARY_DEFAULT if len(labels) == 1 and ignore is None else CLASS_DEFAULT
    default = INSTANCE_DEFAULT if asked.instances else default
    if len(labels) > 1 and not asked.instances and (unsaid := [name for name in metrics if name in OF_CLASSES]):
        raise Misuse(_which_reading(unsaid, labels))
    opened = open_chosen(
        metrics, default, SEGMENTATION, ("masks",), classes=list(labels), instances=asked.instances, **asked.options
    )
    _need_no_ignore(opened, ignore)
    return opened


def _which_reading(names: Sequence[str], labels: Sequence[int]) -> str:
    """What is asked where a metric of one mask meets several classes."""
    listed = ", ".join(f"--metric {' or '.join(OF_CLASSES[name])}" for name in names)
    return (
        f"{', '.join(names)} of {len(labels)} classes can be that of every class, then their mean, or that of "
        f"whatever is not background; say {listed}"
    )


def _gathered(
    rows: pl.DataFrame, walked: Walked, labels: Sequence[int], asked: MaskRequest, checks: Looked, cut: Cut
) -> Gathered:
    """Counts and scores of every image of a shard."""
    images = rows.with_columns(
        pl.Series("counts", walked.counts.reshape(len(walked.counts), -1).tolist(), dtype=pl.List(pl.Float64)),
        pl.Series("binary", walked.binary.tolist(), dtype=pl.List(pl.Float64)),
        pl.Series("pixels", walked.pixels),
        *(pl.Series(f"score:{name}", values.tolist(), strict=False) for name, values in walked.scores.items()),
    )
    facts = {"labels": list(labels), "asked": asked._asdict(), "looked": looked_as_data(checks)}
    tables = {"images": images, **_instances(walked.instances, rows)}
    return Gathered(facts, tables, tuple(cut.seen))


def rejoined(parts: Sequence[Gathered], metrics: Sequence[str], by: Sequence[str]) -> EvaluationMaterial:
    """The same of all shards."""
    asked = MaskRequest(**parts[0].facts["asked"])
    labels = sorted({int(label) for one in parts for label in one.facts["labels"]})
    if len(labels) > 1 and not asked.declared:  # a shard without any object names class 1
        seen = np.concatenate([_counts(one, labels) for one in parts]).sum(axis=(0, 2))
        labels = [label for label, count in zip(labels, seen, strict=True) if count] or [1]
    counts = np.concatenate([_counts(one, labels) for one in parts])
    images = stacked(parts, "images")
    order = images["case"].arg_sort().to_numpy()
    images = images[order]
    columns = [name for name in images.columns if name.startswith("score:")]
    walked = Walked(
        [],
        counts[order],
        np.array(images["binary"].to_list(), dtype=np.float64).reshape(-1, 3),
        images["pixels"].to_numpy(),
        {name.removeprefix("score:"): np.array(images[name].to_list(), dtype=np.float64) for name in columns},
    )
    rows = images.drop("counts", "binary", "pixels", *columns)
    opened = _opened(metrics, labels, asked)
    made = _material(rows, walked, labels, asked, opened, by, looked_of(parts), _no_pixels)
    if not any("instances" in one.frames for one in parts):
        return made
    return replace(made, extra_tables={"instances": stacked(parts, "instances").sort("case", maintain_order=True)})


def _counts(gathered: Gathered, labels: Sequence[int]) -> np.ndarray:
    """The pixel counts of a shard, with a place for every class of all shards."""
    listed = [int(label) for label in gathered.facts["labels"]]
    given = np.array(gathered.frames["images"]["counts"].to_list(), dtype=np.float64).reshape(-1, len(listed), 3)
    counts = np.zeros((len(given), len(labels), 3))
    for place, label in enumerate(sorted(listed)):
        if label in labels:
            counts[:, list(labels).index(label)] = given[:, place]
    return counts


def _no_pixels(rows: pl.DataFrame) -> MaskCases:
    raise Misuse(f"a metric asks for the pixels of {rows.height} masks, which shards do not keep; evaluate them whole")


def _material(
    rows: pl.DataFrame,
    walked: Walked,
    labels: Sequence[int],
    asked: MaskRequest,
    opened: Mapping[str, Metric],
    by: Sequence[str],
    checks: Looked,
    cases_of: Callable[[pl.DataFrame], MaskCases],
) -> EvaluationMaterial:
    whole = walked.counted(rows["video"].to_list())
    scores = {n: walked.scores[n] if _of_pixels(m) else m.scores(whole) for n, m in opened.items() if _per_image(m)}
    of_classes = {n: m for n, m in opened.items() if isinstance(m, ClassMean)}
    place = {case: index for index, case in enumerate(rows["case"])}

    def build(rows_here: pl.DataFrame) -> list[MeasureJob]:
        chosen, video = [place[case] for case in rows_here["case"]], rows_here["video"].to_list()
        counted, trivial = walked.counted(video, chosen), walked.trivial(video, chosen, labels)
        return [
            MeasureJob(name, metric, counted, floors=trivial)
            if isinstance(metric, FROM_COUNTS)
            else MeasureJob(name, metric, StoredScores(walked.scores[name][chosen], video))
            if _of_pixels(metric)
            else MeasureJob(name, metric, cases_of(rows_here))
            for name, metric in opened.items()
        ]

    counts, ignore = whole.counts, asked.options.get("ignore")
    return replace(
        material_of(rows, by, build),
        class_jobs=() if asked.instances else _class_jobs(of_classes, walked, whole, labels, ignore),
        scores=_score_rows(scores, rows),
        score_facts={name: metric.facts for name, metric in opened.items()},
        extra_tables=_instances(walked.instances, rows),
        notes=(
            *((asked.matching,) if asked.matching else ()),
            *(() if asked.instances else _notes(opened, labels, declared=asked.declared)),
            *_empty_notes(counts, scores),
            *_distance_notes(opened, walked),
        ),
        looked={
            **checks,
            **masks_lacking(rows["video"].to_list(), rows["case"].to_list(), counts, asked.silent),
            "empty-masks-apart": _apart(opened, counts, scores),
        },
    )


def _apart(opened: Mapping[str, Metric], counts: np.ndarray, scores: Mapping[str, np.ndarray]) -> SanityFinding | None:
    predicted, labelled = masks_held(counts)
    return empty_masks_apart(opened, int((~predicted & ~labelled).sum()), scores)


def _class_jobs(
    of_classes: Mapping[str, ClassMean],
    walked: Walked,
    whole: CountedMasks,
    labels: Sequence[int],
    ignore: int | None,
) -> tuple[ClassJob, ...]:
    """Overlaps of every class, and what the means over classes are made of."""
    jobs = overlap_jobs(whole, labels, ignore)
    for name, metric in of_classes.items():
        cases = StoredScores(walked.scores[name], whole.unit) if name in walked.scores else whole
        jobs.append(ClassJob(name, metric, cases, jobs[0].classes, jobs[0].references))
    return tuple(jobs)


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


def _per_image(metric: Metric) -> TypeGuard[CaseMean]:
    return isinstance(metric, CaseMean)


def _of_pixels(metric: Metric) -> TypeGuard[CaseMean | ClassMean]:
    """Whether a metric needs the pixels of each image, and no more than that."""
    return isinstance(metric, CaseMean | ClassMean) and not isinstance(metric, FROM_COUNTS)


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
    predicted, labelled = masks_held(counts)
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


def _distance_notes(opened: Mapping[str, Metric], walked: Walked) -> list[str]:
    """How many distances there are not, where the diagonal of the image stands for them, and the mean of the others."""
    notes = []
    for name, metric in opened.items():
        if "the diagonal of the image" not in metric.facts.conventions.values():
            continue
        counts = walked.counts if isinstance(metric, ClassMean) else walked.binary[:, None]
        held = counts[..., 1:] > 0
        alone, some = held.sum(axis=-1) == 1, int(held.any(axis=-1).sum())
        if alone.any():
            rest = mean_known(mean_known(np.where(alone, np.nan, walked.scores[name].reshape(alone.shape)).T))
            notes.append(
                f"{name}: {int(alone.sum())} of {some} have no distance, since one mask is empty, and count as the "
                f"diagonal of the image; the mean of the others is {rest:.4g}."
            )
    return notes


def _instances(listed: Sequence[Sequence[InstanceCounts]], rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Pixels of every instance, where instances are asked for: successes and trials of a failure analysis."""
    if not listed:
        return {}
    conventions = (
        "pixels; matched one to one by the largest sum of DSC; missed have no prediction_id, invented no reference_id"
    )
    rows_counted = [
        {"case": case, "video": video, **counts._asdict(), "conventions": conventions}
        for case, video, image in zip(rows["case"], rows["video"], listed, strict=True)
        for counts in image
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
