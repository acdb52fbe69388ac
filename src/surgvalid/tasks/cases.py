"""The cases of a task: references of a public data set or of a folder of one's own, as one table.

Whatever the source, the table has `case`, `video`, the reference under the names of the task's classes (`reference`, or
`reference:CLASS`, or `start_s` and `end_s`) and every further column that places of media and prompts may name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.datasets import Comparison, References, open_data_set, sampled
from surgvalid.errors import InputInvalid, Misuse
from surgvalid.evaluation.data_sets import chosen_rows, coco_of_boxes
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.shard import Shard
from surgvalid.tasks.task import Layout, TaskForm, TaskInstance

CASES_FILE = "cases.csv"
SPAN = ("span_start_s", "span_end_s")
_HEAD = ("case", "video")
_PATIENT = "patient"
_TEST = "test"
_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Cases:
    """Cases with their references."""

    table: pl.DataFrame
    which: str
    """Which videos, in words."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """What every video belongs to, where videos are not independent of each other."""
    unit: str = "video"
    boxes: Mapping[str, Any] = field(default_factory=dict)
    """The references as COCO, of tasks whose answers are boxes."""
    recoded: Mapping[int, int] = field(default_factory=dict)
    """Values of masks that stand for others."""
    findings: tuple[Finding, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def videos(self) -> set[str]:
        """The videos of the cases."""
        return set(self.table["video"])


def cases_of(
    task: TaskInstance,
    root: str | Path,
    *,
    split: str | None = None,
    videos: Sequence[str] = (),
    limit: int | None = None,
    shard: str | None = None,
) -> Cases:
    """The cases of a task in a folder.

    Args:
        task: The task.
        root: The folder of the data set, or one's own with `cases.csv`.
        split: Another part than the task's.
        videos: Only these.
        limit: So many cases at most, evenly spread.
        shard: `I/N`: only the videos of part I of N.

    Raises:
        InputInvalid: With every problem of the files.
        Misuse: A split or videos that there are not, or nothing is left.
    """
    if task.not_public:
        raise Misuse(f"task {task.name!r} cannot be run: {task.not_public}")
    if task.data.layout is Layout.QUESTIONS:
        raise Misuse(f"task {task.name!r} is made of questions; its cases are the requests themselves")
    read = _of_folder if task.data.layout is Layout.CASES else _of_data_set
    cases = read(task, Path(root), split, tuple(videos))
    table = cases.table
    if shard is not None:
        chosen = Shard.read(shard)
        table = table.filter(pl.Series([chosen.holds(video) for video in table["video"]], dtype=pl.Boolean))
    if limit is not None:
        table = _spread(table, limit)
    if table.is_empty():
        raise InputInvalid(str(root), [f"no case is left of task {task.name!r} ({cases.which})"])
    return replace(cases, table=table, boxes=_of_cases(cases.boxes, table) if cases.boxes else {})


def _spread(table: pl.DataFrame, limit: int) -> pl.DataFrame:
    if limit < 1:
        raise Misuse(f"--limit must be 1 or more, got {limit}")
    if limit >= table.height:
        return table
    return table[[place * table.height // limit for place in range(limit)]]


def _of_cases(boxes: Mapping[str, Any], table: pl.DataFrame) -> dict[str, Any]:
    """The images and boxes of some cases."""
    kept = set(table["image_key"])
    images = [one for one in boxes["images"] if one["id"] in kept]
    drawn = [one for one in boxes["annotations"] if one["image_id"] in kept]
    return {**boxes, "images": images, "annotations": drawn}


# --- public data sets ----------------------------------------------------------------------------


def _of_data_set(task: TaskInstance, root: Path, split: str | None, videos: tuple[str, ...]) -> Cases:
    known = open_data_set(task.data.data_set)
    compared = known.tasks[task.data.task].compared if task.data.task in known.tasks else None
    read = known.references(root, task=task.data.task)
    table = _where(task, read.table, root)
    wanted = split or (None if videos else task.data.split or None)
    table, which, lacking = chosen_rows(known, root, table, wanted, videos)
    loaded = replace(read, table=table)
    loaded = _thinned(task, compared.arranged(loaded) if compared else loaded, compared)
    findings = [*read.findings, *(Finding("incomplete-split", Severity.WARNING, text) for text in lacking)]
    unit = compared.cluster if compared else "video"
    clusters = dict(table.select("video", unit).rows()) if unit != "video" else {}
    boxes, rows = _boxes(task, loaded, compared) if task.answer.form is TaskForm.BOXES else ({}, loaded.table)
    return Cases(
        table=_with_reference(task, rows, root),
        which=which,
        clusters=clusters,
        unit=unit,
        boxes=boxes,
        recoded=_recoded(task, compared),
        findings=tuple(findings),
        files=loaded.files,
    )


def _where(task: TaskInstance, table: pl.DataFrame, root: Path) -> pl.DataFrame:
    lacking = [name for name in task.data.where if name not in table.columns]
    if lacking:
        raise InputInvalid(str(root), [f"the references have no column {name!r}" for name in lacking])
    for name, value in task.data.where.items():
        table = table.filter(pl.col(name).cast(pl.String) == value)
    return table


def _thinned(task: TaskInstance, loaded: References, compared: Comparison | None) -> References:
    """The references at the rate of the task, or every n-th frame number of it."""
    first = compared.first_frame if compared else 0
    if task.data.every_frames is not None:
        kept = loaded.table.filter((pl.col("frame") - first) % task.data.every_frames == 0)
        return replace(loaded, table=kept)
    if task.data.rate_hz is None or task.data.rate_hz == loaded.rate_hz:
        return loaded
    return sampled(loaded, rate_hz=task.data.rate_hz, first_frame=first)


def _boxes(task: TaskInstance, loaded: References, compared: Comparison | None) -> tuple[dict[str, Any], pl.DataFrame]:
    """The boxes of the task's classes as COCO, and one row per image: images without any of them stay."""
    if compared is None:
        raise Misuse(f"task {task.name!r}: {task.data.data_set} does not say how its boxes are compared")
    names = dict(zip(task.answer.values or task.answer.classes, task.answer.classes, strict=True))
    column, about = task.answer.column, [name for name in _BOX_COLUMNS if name in loaded.table.columns]
    counts = pl.col(column).is_in(list(names))
    blank = [pl.when(counts).then(pl.col(name)).alias(name) for name in (column, *about)]
    table = loaded.table.with_columns(blank).with_columns(pl.col(column).replace(names))
    drawn = table.drop_nulls(column)
    bare = table.join(drawn, on="case", how="anti").unique("case", maintain_order=True)
    table = pl.concat([drawn, bare])
    declared = replace(compared, boxes=column, options={"classes": task.answer.classes})
    content = coco_of_boxes(replace(loaded, table=table.drop("category_id", strict=False)), declared)
    images = table.unique("case", maintain_order=True).sort("video", "frame")
    numbered = "image_id" in images.columns and images["image_id"].is_unique().all()
    return content, images.with_columns(pl.col("image_id" if numbered else "case").alias("image_key"))


_BOX_COLUMNS = ("x_px", "y_px", "width_px", "height_px", "category_id", "has_mask")


def _recoded(task: TaskInstance, compared: Comparison | None) -> dict[int, int]:
    """Values of masks that count as background, and those that stand for a class."""
    if task.answer.form is not TaskForm.MASKS or compared is None:
        return {}
    stated = {int(code): int(value) for code, value in compared.options.get("recoded", {}).items()}
    others = {int(code): 0 for code in compared.options.get("classes", ()) if code not in task.answer.mask_codes}
    return {**others, **stated}


def _with_reference(task: TaskInstance, table: pl.DataFrame, where: Path) -> pl.DataFrame:
    """The table with its reference under the names of the task's classes, in the order of videos and moments."""
    answer, problems = task.answer, []
    needed = [name for name in (*_needed(task), "video", "case") if name not in table.columns]
    if needed:
        raise InputInvalid(str(where), [f"the references have no column {name!r}" for name in dict.fromkeys(needed)])
    if answer.form is TaskForm.CHOICE:
        names = dict(zip(answer.values or answer.classes, answer.classes, strict=True))
        given = table[answer.column].cast(pl.String)
        strange = sorted(set(given.drop_nulls()) - set(names))
        if strange:
            problems.append(f"column {answer.column!r} holds {', '.join(map(repr, strange[:_SHOWN]))}, no class")
        table = table.with_columns(given.replace(names).alias("reference")).drop_nulls("reference")
    elif answer.form is TaskForm.LABELS:
        pairs = zip(answer.columns, answer.classes, strict=True)
        made = [pl.col(column).cast(pl.Int64, strict=False).alias(f"reference:{name}") for column, name in pairs]
        table = table.with_columns(made)
        for column, name in zip(answer.columns, answer.classes, strict=True):
            if not table[f"reference:{name}"].is_in([0, 1]).all():
                problems.append(f"column {column!r} holds something else than 0 and 1")
    elif answer.form is TaskForm.SPAN:
        columns = zip(SPAN, (answer.start, answer.end), strict=True)
        table = table.with_columns(pl.col(one).cast(pl.Float64, strict=False).alias(name) for name, one in columns)
        wrong = table.filter(~(pl.col(SPAN[0]) < pl.col(SPAN[1])).fill_null(False))["case"].to_list()
        problems += [f"case {case!r}: the span does not end after its start" for case in wrong]
    if problems:
        raise InputInvalid(str(where), problems)
    moments = [name for name in ("frame",) if name in table.columns]
    return table.sort("video", *moments, "case", maintain_order=True)


def _needed(task: TaskInstance) -> list[str]:
    answer = task.answer
    columns = {TaskForm.LABELS: answer.columns, TaskForm.SPAN: (answer.start, answer.end)}.get(
        answer.form, (answer.column,)
    )
    return [name for name in columns if name]


# --- a folder of one's own -----------------------------------------------------------------------


def _of_folder(task: TaskInstance, root: Path, split: str | None, videos: tuple[str, ...]) -> Cases:
    """The cases of `cases.csv`; where it has a column `split`, those of the part asked for, `test` by default."""
    path = root / CASES_FILE
    if not path.is_file():
        needed = ", ".join(dict.fromkeys((*_HEAD, "file", *_needed(task))))
        raise InputInvalid(str(path), [f"no such file; a folder of your own holds it, with the columns {needed}"])
    try:
        table = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputInvalid(str(path), [f"not a table ({str(error).splitlines()[0]})"]) from None
    problems = [
        f"column {name!r} is missing" for name in dict.fromkeys((*_HEAD, *_needed(task))) if name not in table.columns
    ]
    if problems:
        raise InputInvalid(str(path), [*problems, f"the table has {', '.join(table.columns)}"])
    problems += [f"column {name!r} is empty in {count} rows" for name in _HEAD if (count := table[name].null_count())]
    twice = table.filter(pl.col("case").is_duplicated())["case"].drop_nulls().unique().sort().to_list()
    problems += [f"case {case!r} is there twice" for case in twice]
    if problems:
        raise InputInvalid(str(path), problems)
    table, which = _part_of_folder(table, path, split, videos)
    clusters = dict(table.select("video", _PATIENT).drop_nulls().rows()) if _PATIENT in table.columns else {}
    return Cases(
        table=_with_reference(task, _numbers(table), path),
        which=which,
        clusters=clusters,
        unit=_PATIENT if clusters else "video",
        files=(path,),
    )


def _part_of_folder(
    table: pl.DataFrame, path: Path, split: str | None, videos: tuple[str, ...]
) -> tuple[pl.DataFrame, str]:
    if videos:
        absent = sorted(set(videos) - set(table["video"]))
        if absent:
            raise InputInvalid(str(path), [f"video {video!r} has no case" for video in absent])
        return table.filter(pl.col("video").is_in(list(videos))), ", ".join(videos[:_SHOWN])
    if "split" not in table.columns:
        if split is not None:
            raise Misuse(f"{path} has no column 'split', so there is no part {split!r}")
        return table, "all in the folder"
    wanted = split or _TEST
    parts = table["split"].drop_nulls().unique().sort().to_list()
    if wanted not in parts:
        raise Misuse(f"{path} has no part {wanted!r}; its column 'split' holds {', '.join(parts) or 'nothing'}")
    both = sorted(
        {str(video) for video, names in table.group_by("video").agg(pl.col("split").n_unique()).rows() if names > 1}
    )
    if both:
        raise InputInvalid(str(path), [f"video {video!r} is in more than one part" for video in both])
    return table.filter(pl.col("split") == wanted), wanted


def _numbers(table: pl.DataFrame) -> pl.DataFrame:
    """The table with its times and frame numbers as numbers."""
    columns = {"start_s": pl.Float64, "end_s": pl.Float64, "frame": pl.Int64, "fps": pl.Float64}
    return table.with_columns(
        pl.col(name).cast(kind, strict=False) for name, kind in columns.items() if name in table.columns
    )
