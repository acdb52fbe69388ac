"""Endoscapes2023: 201 cholecystectomies with critical view of safety by three raters, boxes and masks.

Frames are numbered at 25 fps and given once a second. Of them every fifth has a label (`annotation_ds_coco`),
fewer have boxes (`annotation_coco`), and those of 50 videos masks (the `_seg` folders). The video files
(`annotation_coco_vid`) list every frame and repeat the last label on frames nobody rated: such labels are
never returned as references. `ds` is the downstream task, the mean of three raters in the order C1, C2, C3.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._cvs import CRITERIA as CRITERIA
from surgeval.datasets._data_set import DataSet, Schemes, Task
from surgeval.datasets._endoscapes_files import (
    OFFICIAL,
    PARTS,
    fold_videos,
    images_of,
    listed_videos,
    parts_here,
    read_boxes,
    read_masks,
    read_raters,
)
from surgeval.datasets._folder import Folder

KIND = "data set"
_CLOCK = "frames at 25 fps"
_SCHEMA: dict[str, type[pl.DataType]] = {
    "case": pl.String,
    "video": pl.String,
    "frame": pl.Int64,
    "split": pl.String,
}


def _cvs(folder: Folder) -> pl.DataFrame:
    """Mean of the raters and majority per criterion, one row per rated frame."""
    rows = []
    for split in parts_here(folder, "annotation_ds_coco.json"):
        for image in images_of(folder, f"{split}/annotation_ds_coco.json"):
            if not image.rated:
                message = f"{image.case} is no rated frame; its label is the last one carried forward"
                folder.problem("forward-filled", f"{split}/annotation_ds_coco.json", message)
            elif image.ratings is None:
                folder.problem(
                    "malformed", f"{split}/annotation_ds_coco.json", f"{image.case}: 'ds' is not three thirds"
                )
            else:
                votes = [int(mean > 0.5) for mean in image.ratings]
                rows.append((image.case, image.video, image.frame, split, *image.ratings, *votes))
    schema = _SCHEMA | {f"{name}_mean": pl.Float64 for name in CRITERIA} | dict.fromkeys(CRITERIA, pl.Int64)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _frames(folder: Folder) -> pl.DataFrame:
    """Every frame at 1 fps and whether it was rated or boxed; labels are left out on purpose."""
    rows = [
        (image.case, image.video, image.frame, split, image.rated, image.boxed)
        for split in parts_here(folder, "annotation_coco_vid.json")
        for image in images_of(folder, f"{split}/annotation_coco_vid.json")
    ]
    schema = _SCHEMA | {"is_rated": pl.Boolean, "is_boxed": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _per_part(table: pl.DataFrame) -> dict[str, int]:
    if "split" not in table.columns:
        return {}
    cases = table.unique(subset="case")
    return {f"cases in {split}": cases.filter(pl.col("split") == split).height for split in PARTS}


def _boxes_per_part(table: pl.DataFrame) -> dict[str, int]:
    drawn = table.drop_nulls("category")
    return _per_part(table) | {f"boxes in {split}": drawn.filter(pl.col("split") == split).height for split in PARTS}


def _schemes(folder: Folder) -> Schemes:
    official = {split: [str(n) for n in numbers] for split, numbers in OFFICIAL.items()}
    listed = {split: listed_videos(folder, split) for split in PARTS if folder.file(f"{split}_vids.txt")}
    for split, videos in listed.items():
        if videos and sorted(videos) != sorted(official[split]):
            message = f"{len(videos)} videos that are not the published {len(official[split])}"
            folder.warn("split-differs", f"{split}_vids.txt", message)
    schemes = {"files": listed}
    schemes["seg50"] = {split: fold_videos(folder, f"{split}_seg") for split in PARTS}
    for share in ("12_5", "25"):
        for fold in range(3):
            schemes[f"{share}% fold {fold}"] = {"train": fold_videos(folder, f"{share}/train_{fold}")}
    return schemes


def _reconcile(folder: Folder, tables: Mapping[str, pl.DataFrame]) -> None:
    third, seg = fold_videos(folder, "25/train_2"), fold_videos(folder, "train_seg")
    if third and seg and third != seg:
        folder.warn("split-differs", "25/train_2", "its videos are not those of train_seg, as published")
    if {"cvs", "raters"} <= set(tables):
        _compare_raters(folder, tables["cvs"], tables["raters"])
    if {"cvs", "frames"} <= set(tables):
        unlisted = tables["cvs"].join(tables["frames"], on="case", how="anti")["case"]
        if unlisted.len():
            folder.warn("one-sided", "annotation_coco_vid.json", f"lacks {unlisted.len()} rated frames ({unlisted[0]})")


def _compare_raters(folder: Folder, cvs: pl.DataFrame, raters: pl.DataFrame) -> None:
    mean = raters.group_by("case").agg(pl.col(name).mean() for name in CRITERIA)
    both = cvs.join(mean, on="case", how="inner", suffix="_of_raters")
    for name in CRITERIA:
        differs = both.filter((pl.col(f"{name}_mean") - pl.col(f"{name}_of_raters")).abs() > 0.02)["case"]
        if differs.len():
            message = f"{name}: the mean of the raters is not the stored label on {differs.len()} frames ({differs[0]})"
            folder.warn("raters-differ", "all_metadata.csv", message)
    only = cvs.join(mean, on="case", how="anti").height, mean.join(cvs, on="case", how="anti").height
    if any(only):
        folder.warn(
            "one-sided", "all_metadata.csv", f"{only[0]} rated frames only in JSON, {only[1]} only in the table"
        )


DATA_SET = DataSet(
    name="endoscapes2023",
    title="Endoscapes2023 (CVS201, BBox201, Seg50)",
    citation="Murali et al., The Endoscapes Dataset, arXiv 2312.12429, 2023",
    source="https://github.com/CAMMA-public/Endoscapes or PhysioNet (endoscapes-2023)",
    checked_against="the maintainers' readme and issues; an audit",
    licence="CC BY-NC-SA 4.0",
    tasks={
        "cvs": Task(
            summary="mean and majority of three raters per criterion, rated frames only",
            read=_cvs,
            clock=_CLOCK,
            rate_hz=0.2,
            published={
                "cases": 11_090,
                "videos": 201,
                "cases in train": 6_960,
                "cases in val": 2_331,
                "cases in test": 1_799,
            },
            count=_per_part,
            compared=Comparison(kind="cvs"),
        ),
        "raters": Task(
            summary="the three criteria by each of three raters",
            read=read_raters,
            clock=_CLOCK,
            rate_hz=0.2,
            one_row_per_case=False,
            published={"cases": 11_090},
        ),
        "boxes": Task(
            summary="boxes of five structures and tools",
            read=read_boxes,
            clock=_CLOCK,
            one_row_per_case=False,
            published={
                "cases": 1_933,
                "cases in train": 1_212,
                "cases in val": 409,
                "cases in test": 312,
                "boxes in train": 5_566,
                "boxes in val": 1_733,
                "boxes in test": 1_485,
            },
            count=_boxes_per_part,
            compared=Comparison(kind="detection", boxes="category"),
        ),
        "masks": Task(
            summary="files of instance and semantic masks of Seg50",
            read=read_masks,
            clock=_CLOCK,
            published={
                "cases": 493,
                "videos": 50,
                "cases in train": 343,
                "cases in val": 76,
                "cases in test": 74,
            },
            count=_per_part,
            compared=Comparison(kind="segmentation", masks="classes_file"),
        ),
        "frames": Task(
            summary="every frame at 1 fps, without labels",
            read=_frames,
            clock=_CLOCK,
            rate_hz=1.0,
            published={"cases": 58_585, "cases in train": 36_694, "cases in val": 12_372, "cases in test": 9_519},
            count=_per_part,
        ),
    },
    schemes={"official": {split: [str(n) for n in numbers] for split, numbers in OFFICIAL.items()}},
    read_schemes=_schemes,
    further_checks=_reconcile,
    disagreements=(
        "rated frames: Table 1 prints 6,970 in training; the maintainers confirm 6,960, which makes the printed total "
        "of 11,090",
        "frames: the test video file lists 9,519 (58,585 in all), the folders hold 9,747 images (58,813); the 228 "
        "between them are frames of videos 190 and 194",
        "frames with masks: the abstract says 422, Table 1 and the text 493",
        "Table 4 calls the overall view the maximum of the criteria, the text says all three must be achieved",
    ),
    notes=(
        "Category ids: the README shifts them to start at 0, the files are said to use 1 to 6; names are read from "
        "'categories'.",
        "image id = video * 1,000,000 + frame comes from a secondary source; a deviation is a warning.",
        "Columns of all_metadata.csv and counts come from readers and an audit. Some boxed images have no box.",
        "Unpacked on Windows, train_seg, parts of val_seg and test_seg and *_seg_vids.txt are small files with a path "
        "instead of links; the check says so. Videos 1-4 and 7 (train) and 121 (val) are also in Cholec80.",
        "How the videos of Seg50 and of the 12.5 % and 25 % folds are listed is not confirmed: they are taken from the "
        "files in those folders. One reader reports an empty train_seg.",
        "Video files carry the last label on frames nobody rated; such labels are never returned.",
    ),
)
