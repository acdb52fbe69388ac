"""References straight from the folder of a public data set, in the form that a kind of evaluation takes.

The adapter of the data set says how its tasks are compared (`Comparison`); nothing about a single data set is said
here. Predictions keep the names and frame numbers of the data set: videos as it calls them, frames as it counts them
(or seconds, where its frame rate is known), masks under the path that they have in its folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.datasets import STRATA, Comparison, DataSet, References, open_data_set, sampled
from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.evaluation.predictions.mask_files import PngFiles
from surgvalid.evaluation.tracking import Tracks
from surgvalid.evaluation.video_names import first_few
from surgvalid.schema.findings import Finding, Severity

OPTIONS = ("data_set", "task", "split", "videos", "rate_hz", "perspective")
"""What `references_of` takes; none of them reaches the kind."""
_LACKING = "{} of the {} videos of {} are here; without {}."
_ALSO_AS = {"phases": "classification"}
"""A label of every moment can be compared moment by moment too, as where frames are missing in between."""
_PART_NAMES = {"training": "train", "validation": "val", "valid": "val", "testing": "test"}
_TOLD_BY_THE_CHECK = ("absent", "count-differs", "rows-differ", "unexpected-file", "doubtful-video")


class PreparedReferences(NamedTuple):
    """References as a kind takes them."""

    references: Any
    options: dict[str, Any]
    """What the kind is told unless the caller says otherwise."""
    conventions: dict[str, str]
    """What every number must say."""
    files: tuple[Path, ...] | None = None
    """Those of the folder that were read."""
    prose: str = ""
    notes: tuple[str | Finding, ...] = ()
    clusters: Mapping[str, str] = {}
    """What every video belongs to, where videos are not independent of each other."""
    metrics: tuple[str, ...] = ()
    """The usual ones of the task, where they are not those of the kind."""
    lacking: tuple[str, ...] = ()
    """What is not there of the official split asked for."""


def references_of(
    kind: str,
    root: Any,
    *,
    data_set: str,
    task: str | None = None,
    split: str | None = None,
    videos: Sequence[str] = (),
    rate_hz: float | None = None,
    perspective: str | None = None,
) -> PreparedReferences:
    """The references of one task of a data set.

    Args:
        kind: Of evaluation.
        root: The folder of the data set.
        data_set: Its name.
        task: One of its tasks; may be left out where only one is compared in this kind.
        split: A part such as `test`, or `scheme:part` where several schemes have one; all videos if left out.
        videos: Only these, for splits that the data set does not state.
        rate_hz: Thin the references to so many per second, each video by its own frame rate.
        perspective: What an identity means, where the data set has several.

    Raises:
        UnknownName: No such data set, task, split or perspective.
        Misuse: Options that do not fit.
        InputInvalid: With every problem of the files.
    """
    if kind == "cvs":
        raise Misuse("cvs takes the folder of Endoscapes2023 as references by itself; leave --data-set out")
    if not isinstance(root, str | Path):
        raise Misuse(f"--data-set {data_set} needs --references, the folder of the data set")
    known = open_data_set(data_set)
    name, compared = _compared_task(known, kind, task)
    read = known.references(root, task=name)
    table, which, lacking = chosen_rows(known, root, read.table, split, videos)
    lacking = lacking or _fewer_cases(known, name, table, split)
    table, left_out = _without_doubtful(table, compared, videos)
    loaded = _thinned(compared.arranged(replace(read, table=table)), compared, rate_hz)
    facts = {"references": f"{known.title}, {name}", "videos": which}
    if rate_hz is not None:
        facts["sampling"] = f"{rate_hz:g} references per second"
    if compared.cluster != "video":
        facts["independent unit"] = compared.cluster
    files = tuple(dict.fromkeys((*loaded.files, *_mask_files(root, table, compared))))
    prose = f" References are those of {known.title} ({known.citation}), task {name}; videos: {which}."
    given, options = _given_to(kind, Path(root), loaded, compared, perspective)
    if perspective is not None:
        facts["identity"] = perspective
    clusters = dict(table.select("video", compared.cluster).rows()) if compared.cluster != "video" else {}
    usual = {name: value for name, value in compared.options.items() if (kind, name) != ("detection", "classes")}
    return PreparedReferences(
        given,
        {**usual, **options},
        facts,
        files,
        prose,
        _notes(read, table, compared, left_out, clusters),
        clusters,
        compared.metrics if kind == compared.kind else (),
        lacking,
    )


def _notes(
    read: References,
    table: pl.DataFrame,
    compared: Comparison,
    left_out: Mapping[str, str],
    clusters: Mapping[str, str],
) -> tuple[str | Finding, ...]:
    """What whoever uses the numbers must be told about the references, of which `table` counts."""
    notes: list[str | Finding] = [one for one in read.findings if one.code not in _TOLD_BY_THE_CHECK]
    if compared.caution:
        notes.append(compared.caution)
    if clusters:
        count = len(set(clusters.values()))
        unit = compared.cluster
        notes.append(f"{len(clusters)} videos of {count} {unit}s: intervals leave out one {unit} at a time.")
    counted = set(table["video"])
    for video, why in compared.doubtful.items():
        if video in counted or video in left_out:
            what = "is left out: " if video in left_out else "counts since it was asked for by name, although "
            more = ". Name it with --videos to count it." if video in left_out else "."
            notes.append(Finding("doubtful-video", Severity.WARNING, f"{video} {what}{why}{more}"))
    return tuple(notes)


def _without_doubtful(
    table: pl.DataFrame, compared: Comparison, videos: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, str]]:
    """The rows without videos that the data set's makers question, unless they were asked for by name."""
    asked = {video.casefold() for video in videos}
    here = set(table["video"])
    left = {v: why for v, why in compared.doubtful.items() if v in here and v.casefold() not in asked}
    return (table.filter(~pl.col("video").is_in(list(left))), left) if left else (table, {})


def _given_to(
    kind: str, root: Path, loaded: References, compared: Comparison, perspective: str | None
) -> tuple[Any, dict[str, Any]]:
    """The references in the form that the kind takes, and options that follow from them."""
    if kind == "tracking":
        return _tracks(loaded.table, _identity_column(compared, perspective)), {}
    if perspective is not None:
        raise Misuse(f"--perspective is for tracking; {kind} has no identities")
    if kind == "segmentation":
        return _masks(root, loaded.table, compared)
    if kind == "detection":
        return coco_of_boxes(loaded, compared), {}
    return _rows(loaded, compared), _declared(compared, kind)


def _compared_task(known: DataSet, kind: str, task: str | None) -> tuple[str, Comparison]:
    """The task asked for, or the only one that is compared in this kind."""
    if task is not None and task not in known.tasks:
        raise UnknownName(f"task of {known.name}", task, known.tasks)
    offered = {name: one.compared for name, one in known.tasks.items() if one.compared is not None}
    fitting = [name for name, one in offered.items() if one.kind == kind and task in (None, name)]
    fitting = fitting or [name for name, one in offered.items() if _ALSO_AS.get(one.kind) == kind and task == name]
    if not fitting:
        listed = ", ".join(f"{name} as {one.kind}" for name, one in offered.items()) or "nothing"
        raise Misuse(f"{known.name} has no {task or 'task'} to evaluate as {kind}; it offers {listed}")
    if len(fitting) > 1:
        raise Misuse(f"{known.name} has several tasks to evaluate as {kind}; say --task {' or --task '.join(fitting)}")
    return fitting[0], offered[fitting[0]]


def chosen_rows(
    known: DataSet, root: str | Path, table: pl.DataFrame, split: str | None, videos: Sequence[str]
) -> tuple[pl.DataFrame, str, tuple[str, ...]]:
    """The rows of a part of a split, or of some videos, which they are in words, and what the split lacks."""
    if split is not None and videos:
        raise Misuse("--split and --videos both say which videos; give one of them")
    if split is not None and "split" in table.columns:
        named = {part_name(text): text for text in table["split"].drop_nulls().unique().to_list()}
        if part_name(split) in named:
            kept = table.filter(pl.col("split") == named[part_name(split)])
            return kept, part_name(split), _lacking(known, root, part_name(split), set(kept["video"]))
    wanted = _videos_of_split(known, root, table, split) if split is not None else list(videos)
    if not wanted:
        return table, "all in the folder", ()
    kept = table.filter(pl.col("video").str.to_lowercase().is_in([video.lower() for video in wanted]))
    here = {video.lower() for video in kept["video"].unique()}
    absent = [video for video in wanted if video.lower() not in here]
    shown = first_few(absent)
    if absent and (split is None or kept.is_empty()):
        raise InputInvalid(str(root), [f"{len(absent)} of {len(wanted)} videos have no references here ({shown})"])
    if split is None:
        return kept, first_few(wanted), ()
    if not absent:
        return kept, split, ()
    which = f"{split}, {len(wanted) - len(absent)} of {len(wanted)}; without {shown}"
    return kept, which, (_LACKING.format(len(here), len(wanted), split, shown),)


def _fewer_cases(known: DataSet, task: str, table: pl.DataFrame, split: str | None) -> tuple[str, ...]:
    """How many cases of a part are not there, where its makers published how many there are."""
    wanted = known.tasks[task].published.get(f"cases in {part_name(split)}") if split else None
    cases = table["case"].n_unique()
    return (f"{cases:,} of the {wanted:,} cases of {split} are here.",) if wanted and cases < wanted else ()


def _lacking(known: DataSet, root: str | Path, split: str, here: set[str]) -> tuple[str, ...]:
    """What the smallest stated part of this name that holds these videos has besides them."""
    stated = known.splits(root)
    parts = [
        (set(rows["video"]), f"{scheme}:{name}")
        for (scheme, name), rows in stated.group_by("scheme", "split", maintain_order=True)
        if part_name(str(name)) == split and here <= set(rows["video"])
    ]
    if not parts:
        return ()
    videos, named = min(parts, key=lambda one: len(one[0]))
    absent = sorted(videos - here)
    return (_LACKING.format(len(here), len(videos), named, first_few(absent)),) if absent else ()


def part_name(text: str) -> str:
    """The name of a part of a split as it is compared: small letters, and one word for what has several.

    Example:
        >>> part_name("Testing"), part_name("VAL"), part_name("fold 1")
        ('test', 'val', 'fold 1')
    """
    small = text.strip().casefold()
    return _PART_NAMES.get(small, small)


def _thinned(loaded: References, compared: Comparison, rate_hz: float | None) -> References:
    """References at the rate asked for, with the frame rate of every row where it is known."""
    if compared.fps is not None and "fps" not in loaded.table.columns:
        loaded = replace(loaded, table=loaded.table.with_columns(pl.lit(compared.fps).alias("fps")))
    return (
        loaded
        if rate_hz is None or rate_hz == loaded.rate_hz
        else sampled(loaded, rate_hz=rate_hz, first_frame=compared.first_frame)
    )


def _videos_of_split(known: DataSet, root: str | Path, table: pl.DataFrame, split: str) -> list[str]:
    """The videos of a part, named with its scheme where schemes with other videos have such a part too."""
    scheme, _, split_name = split.rpartition(":")
    stated, here = known.splits(root), table["video"].unique().implode()
    of_this_task = set(stated.filter(pl.col("video").is_in(here))["scheme"]) or set(stated["scheme"])
    by_scheme: dict[str, list[str]] = {}
    for (scheme_name, name), rows in stated.group_by("scheme", "split", maintain_order=True):
        named = scheme.casefold() == str(scheme_name).casefold() or (not scheme and scheme_name in of_this_task)
        if named and part_name(str(name)) == part_name(split_name):
            by_scheme[str(scheme_name)] = rows["video"].to_list()
    if len({frozenset(videos) for videos in by_scheme.values()}) > 1:
        listed = ", ".join(f"{scheme_name}:{part_name(split_name)}" for scheme_name in by_scheme)
        raise Misuse(f"{len(by_scheme)} splits have a part {split_name!r}; say {listed}")
    if not by_scheme:
        parts = table["split"].drop_nulls().unique(maintain_order=True).to_list() if "split" in table.columns else []
        pairs = stated.select("scheme", "split").unique(maintain_order=True).rows()
        offered = ", ".join([*parts, *(f"{scheme_name}:{name}" for scheme_name, name in pairs)]) or "none"
        raise Misuse(
            f"{known.name} states no split {split!r}; it states {offered}. List the videos of another one with --videos"
        )
    return next(iter(by_scheme.values()))


def _declared(compared: Comparison, kind: str) -> dict[str, Any]:
    return {"classes": tuple(compared.members.values())} if compared.members and kind != "triplets" else {}


def _rows(loaded: References, compared: Comparison) -> pl.DataFrame:
    """A row per moment: `video`, `frame` and `second`, or `case`, the reference and strata."""
    table = loaded.table
    columns = [pl.col("video"), pl.col(compared.moment)]
    if compared.moment == "frame" and (second := _seconds(loaded, compared)) is not None:
        columns.append(second.alias("second"))
    columns += [pl.col(name) for name in STRATA if name in table.columns]
    if compared.label:
        return table.select(*columns, pl.col(compared.label).alias("reference"))
    members = compared.members or {name: name for name in table.columns if name not in ("case", "video", *STRATA)}
    return table.select(*columns, *(pl.col(column).alias(f"reference:{label}") for column, label in members.items()))


def _seconds(loaded: References, compared: Comparison) -> pl.Expr | None:
    frame = pl.col("frame") - compared.first_frame
    if "fps" in loaded.table.columns:
        return frame / pl.col("fps")
    return frame.cast(pl.Float64) if loaded.clock in ("seconds", "frames at 1 fps") else None


def _mask_files(root: str | Path, table: pl.DataFrame, compared: Comparison) -> list[Path]:
    return [Path(root) / name for name in table[compared.masks]] if compared.masks else []


def _masks(root: Path, table: pl.DataFrame, compared: Comparison) -> tuple[PngFiles, dict[str, Any]]:
    """Masks under the path that they have in the folder, with their videos and strata."""
    names = [Path(name).with_suffix("").as_posix() for name in table[compared.masks]]
    strata = [name for name in STRATA if name in table.columns]
    given = {
        "video_of": dict(zip(names, table["video"].to_list(), strict=True)),
        "properties": table.select(pl.Series("case", names), *strata),
        "case_of": dict(zip(names, table["case"].to_list(), strict=True)),
    }
    return PngFiles({name: root / place for name, place in zip(names, table[compared.masks], strict=True)}), given


def _identity_column(compared: Comparison, perspective: str | None) -> str:
    if perspective is None:
        listed = " or ".join(f"--perspective {name}" for name in compared.identities)
        raise Misuse(f"a box has several identities here; say which one counts with {listed}")
    if perspective not in compared.identities:
        raise UnknownName("perspective", perspective, compared.identities)
    return compared.identities[perspective]


def _tracks(table: pl.DataFrame, identity: str) -> Mapping[str, Tracks]:
    tracks = {}
    for (video,), rows in table.group_by("video", maintain_order=True):
        size = rows.select("image_width_px", "image_height_px").row(0)
        tracks[str(video)] = Tracks(
            rows["frame"].to_numpy(),
            rows[identity].to_numpy(),
            rows.select("x", "y", "width", "height").to_numpy(),
            rows["instrument"].to_numpy(),
            size_px=None if None in size else size,
            normalised=True,
        )
    return tracks


def coco_of_boxes(loaded: References, compared: Comparison) -> dict[str, Any]:
    """The references of a table of boxes as a COCO data set.

    Images and classes have the ids that the data set gives them; where it gives none their names are the ids, so that
    numbers of whoever predicts never meet numbers that were made up here.
    """
    table = loaded.table
    images = table.unique("case", maintain_order=True)
    numbered = "image_id" in images.columns and images["image_id"].is_unique().all()
    keys = dict(zip(images["case"], images["image_id" if numbered else "case"], strict=True))
    strata = [name for name in STRATA if name in table.columns]
    records = []
    for row in images.iter_rows(named=True):
        record = {"id": keys[row["case"]], "file_name": row.get("image_file") or row["case"], "video": row["video"]}
        sides = {"width": row.get("image_width_px"), "height": row.get("image_height_px")}
        record["frame"] = row["frame"]
        records.append(record | {side: n for side, n in sides.items() if n} | {name: row[name] for name in strata})
    classes = _box_classes(table, compared)
    drawn = table.drop_nulls(compared.boxes)
    boxes = [
        {
            "id": number,
            "image_id": keys[row["case"]],
            "category_id": classes[str(row[compared.boxes])],
            "bbox": [row[side] for side in ("x_px", "y_px", "width_px", "height_px")],
            "area": row["width_px"] * row["height_px"],
            "iscrowd": 0,
            **({"segmentation": json.loads(row["segmentation"])} if row.get("segmentation") else {}),
        }
        for number, row in enumerate(drawn.iter_rows(named=True), start=1)
    ]
    categories = [{"id": number, "name": name} for name, number in classes.items()]
    return {"images": records, "annotations": boxes, "categories": categories}


def _box_classes(table: pl.DataFrame, compared: Comparison) -> dict[str, int | str]:
    """Every class of the boxes and its id: the number that the data set gives it, or its name."""
    if "category_id" in table.columns:
        pairs = table.select(compared.boxes, "category_id").drop_nulls().unique().sort("category_id").rows()
        return {str(name): int(number) for name, number in pairs}
    seen = table[compared.boxes].drop_nulls().unique().sort().to_list()
    declared = [str(name) for name in compared.options.get("classes", seen)]
    return {name: name for name in declared}
