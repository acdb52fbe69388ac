"""Endoscapes2023: 201 cholecystectomies with critical view of safety by three raters, boxes and masks.

Frames are numbered at 25 fps and given once a second. Of them every fifth has a label (`annotation_ds_coco`),
fewer have boxes (`annotation_coco`), and those of 50 videos masks (the `_seg` folders). The video files
(`annotation_coco_vid`) list every frame and repeat the last label on frames nobody rated: such labels are
never returned as references. `ds` is the downstream task, the mean of three raters in the order C1, C2, C3.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgvalid.datasets._coco_boxes import BOX, CATEGORY, IMAGE, box_rows, pixels
from surgvalid.datasets._data_set import Schemes
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD

CRITERIA = ("two_structures", "hepatocystic_triangle", "cystic_plate")
"""Of the critical view of safety, C1 to C3 of Endoscapes; Cholec80-CVS stores the plate before the triangle."""


OFFICIAL = {"train": range(1, 121), "val": range(121, 162), "test": range(162, 202)}
"""The videos of every part."""
PARTS = tuple(OFFICIAL)
_SCHEMA = HEAD | {"split": pl.String}
RATERS = ("cvs_annotator_1", "cvs_annotator_2", "cvs_annotator_3")
_FRAME_NAME = re.compile(r"(\d{1,9})_(\d{1,9})\.\w+")
_VIDEO_FACTOR = 1_000_000
_LARGEST_FRAME = 1e6
_THIRDS_OFF_BY = 0.02


class Image(NamedTuple):
    """One image of a COCO file."""

    number: int
    case: str
    video: str
    frame: int
    rated: bool
    boxed: bool
    size: tuple[int | None, int | None]
    """Width and height in pixels, where the file says them."""
    ratings: tuple[float, ...] | None
    """Mean of the raters per criterion, in thirds; None where the label is not of that form."""


def images_of(folder: DataFolder, place: str) -> list[Image]:
    """The usable images of a COCO file; whatever is wrong with the others is noted."""
    return _images(folder, place, coco(folder, place))


def parts_here(folder: DataFolder, name: str) -> list[str]:
    """The parts whose file of that name is here."""
    return list(folder.parts({split: f"{split}/{name}" for split in PARTS}, f"PART/{name}"))


def coco(folder: DataFolder, place: str) -> dict[str, Any]:
    """The content of a COCO file with `images` and `annotations` as lists."""
    content = folder.json_object(folder.at(place)) or {}
    for key in ("images", "annotations", "categories"):
        if content and not isinstance(content.get(key, []), list):
            folder.problem("malformed", place, f"{key!r} is no list")
            content[key] = []
    if content and "images" not in content:
        folder.problem("malformed", place, "lacks 'images'")
    return content


def _images(folder: DataFolder, place: str, content: dict[str, Any]) -> list[Image]:
    images = []
    for entry in content.get("images", []):
        name = entry.get("file_name") if isinstance(entry, dict) else None
        match = _FRAME_NAME.fullmatch(Path(name).name) if isinstance(name, str) else None
        if match is None or not isinstance(entry.get("id"), int):
            folder.problem("malformed", place, f"an image without id or a name like 8_14775.jpg: {str(entry)[:80]}")
            continue
        video, frame = int(match[1]), int(match[2])
        if entry["id"] != video * _VIDEO_FACTOR + frame:
            folder.warn("image-id", place, f"{name} has id {entry['id']}, expected {video * _VIDEO_FACTOR + frame}")
        if entry.get("video_id") not in (None, video, str(video)):
            folder.problem("malformed", place, f"{name} says video_id {str(entry['video_id'])[:20]}")
        rated, boxed = bool(entry.get("is_ds_keyframe")), bool(entry.get("is_det_keyframe"))
        size = pixels(entry.get("width")), pixels(entry.get("height"))
        about = (entry["id"], f"{video}_{frame}", str(video), frame, rated, boxed, size)
        images.append(Image(*about, _ratings(entry.get("ds"))))
    return images


def _ratings(value: object) -> tuple[float, ...] | None:
    if not isinstance(value, list) or len(value) != len(CRITERIA):
        return None
    if not all(isinstance(mean, int | float) and 0 <= mean <= 1 for mean in value):
        return None
    thirds = [round(3 * mean) / 3 for mean in value]
    close = all(abs(third - mean) <= _THIRDS_OFF_BY for third, mean in zip(thirds, value, strict=True))
    return tuple(thirds) if close else None


def read_boxes(folder: DataFolder) -> pl.DataFrame:
    """One row per box in pixels; a boxed frame without any is a row with a null category."""
    rows: list[tuple[object, ...]] = []
    for split in parts_here(folder, "annotation_coco.json"):
        place = f"{split}/annotation_coco.json"
        content = coco(folder, place)
        images = {
            image.number: (*image[1:4], split, image.number, f"{image.case}.jpg", *image.size)
            for image in _images(folder, place, content)
        }
        rows += box_rows(folder, folder.at(place), content, images, lambda box: (bool(box.get("segmentation")),))
    return pl.DataFrame(rows, schema=IMAGE | CATEGORY | {"has_mask": pl.Boolean} | BOX, orient="row")


def read_raters(folder: DataFolder) -> pl.DataFrame:
    """One row per rated frame and rater with the three criteria as 0 or 1, from `all_metadata.csv`."""
    path = folder.at("all_metadata.csv")
    schema = HEAD | {"rater": pl.String} | dict.fromkeys(CRITERIA, pl.Int64)
    table = folder.table(path, {"vid": pl.Float64, "frame": pl.Float64})
    if (
        table is not None
        and not table.select(pl.all_horizontal(pl.all().is_between(0, _LARGEST_FRAME))).to_series().all()
    ):
        folder.problem("malformed", path, "a video or frame number that is none")
        table = None
    cells = _rater_cells(folder, path)
    rows: list[tuple[object, ...]] = []
    if table is not None and cells is not None:
        for line, ((video, frame), given) in enumerate(zip(table.iter_rows(), cells.iter_rows(), strict=True), start=2):
            for rater, cell in zip(RATERS, given, strict=True):
                if cell is None or not cell.strip():
                    continue
                votes = _votes(cell)
                if votes is None:
                    folder.problem("malformed", path, f"line {line}: {rater} is no list of three 0 or 1: {cell[:40]!r}")
                else:
                    rows.append((f"{int(video)}_{int(frame)}", str(int(video)), int(frame), rater, *votes))
    return pl.DataFrame(rows, schema=schema, orient="row")


def _rater_cells(folder: DataFolder, path: Path) -> pl.DataFrame | None:
    if not path.is_file():
        return None
    try:
        raw = pl.read_csv(path, infer_schema=False)
    except (pl.exceptions.PolarsError, OSError):
        return None
    if lacking := [name for name in RATERS if name not in raw.columns]:
        folder.problem("malformed", path, f"lacks the columns {', '.join(lacking)}")
        return None
    return raw.select(RATERS)


def _votes(cell: str) -> list[int] | None:
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        return None
    good = isinstance(value, list) and len(value) == len(CRITERIA) and all(vote in (0, 1) for vote in value)
    return [int(vote) for vote in value] if good else None


def read_masks(folder: DataFolder) -> pl.DataFrame:
    """The mask files of each frame: instances (`.npy` with its `.csv` of labels) and classes (`.png`).

    They lie in one folder, so the part follows from the number of the video.
    """
    rows = []
    labels_of = {one.stem: one for one in folder.files("insseg/*.csv", needed=False)}
    classes_of = {one.stem: one for one in folder.files("semseg/*.png", needed=False)}
    for path in folder.files("insseg/*.npy"):
        match = _FRAME_NAME.fullmatch(path.name)
        if match is None:
            folder.warn("unexpected-file", path, "the name is not like 8_14775.npy; not read")
            continue
        labels = labels_of.get(path.stem, path.with_suffix(".csv"))
        classes = classes_of.get(path.stem, folder.root / "semseg" / f"{path.stem}.png")
        for needed in (labels, classes):
            if not needed.is_file():
                folder.problem("missing", needed, "no such file")
        _check_array(folder, path)
        if classes.is_file():
            folder.png(classes)
        split = next((name for name, numbers in OFFICIAL.items() if int(match[1]) in numbers), None)
        files = (_inside(folder, p) for p in (path, labels, classes))
        rows.append((path.stem, match[1], int(match[2]), split, *files))
    schema = _SCHEMA | dict.fromkeys(("instances_file", "labels_file", "classes_file"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _check_array(folder: DataFolder, path: Path) -> None:
    """Look at the head only: an array of objects is a pickle inside and is refused."""
    try:
        with open(path, "rb") as handle:
            head = handle.read(256)
    except OSError as error:
        folder.problem("unreadable", path, f"cannot be read ({error.strerror or error})")
        return
    if not head.startswith(b"\x93NUMPY"):
        folder.problem("unreadable", path, "not a NumPy array")
    elif b"'|O'" in head:
        folder.problem("pickle", path, "an array of Python objects, which is a pickle; not opened")


def _inside(folder: DataFolder, path: Path) -> str:
    return path.relative_to(folder.root).as_posix()


def listed_videos(folder: DataFolder, split: str) -> list[str]:
    """The videos of `{part}_vids.txt`, whose ids are written as floats, also in scientific notation."""
    path = folder.at(f"{split}_vids.txt")
    videos = []
    for line in folder.lines(path):
        if re.fullmatch(r"\d{1,9}(\.0*)?|\d\.\d{1,30}[eE]\+?\d{1,2}", line.strip()) and float(line).is_integer():
            videos.append(str(int(float(line))))
        else:
            folder.problem("malformed", path, f"no video number: {line[:40]!r}")
    return videos


def fold_videos(folder: DataFolder, place: str) -> list[str]:
    """The videos whose images, or names of images in COCO files, are in a folder."""
    names = {path.name for path in folder.files(f"{place}/*.jpg", needed=False)}
    for path in folder.files(f"{place}/*.json", needed=False):
        entries = coco(folder, path.relative_to(folder.root).as_posix()).get("images", [])
        names |= {Path(str(entry.get("file_name"))).name for entry in entries if isinstance(entry, dict)}
    videos = {match[1] for name in names if (match := _FRAME_NAME.fullmatch(name))}
    return sorted(videos, key=int)


def cvs(folder: DataFolder) -> pl.DataFrame:
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


def frames(folder: DataFolder) -> pl.DataFrame:
    """Every frame at 1 fps and whether it was rated or boxed; labels are left out on purpose."""
    rows = [
        (image.case, image.video, image.frame, split, image.rated, image.boxed)
        for split in parts_here(folder, "annotation_coco_vid.json")
        for image in images_of(folder, f"{split}/annotation_coco_vid.json")
    ]
    schema = _SCHEMA | {"is_rated": pl.Boolean, "is_boxed": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def schemes(folder: DataFolder) -> Schemes:
    """The parts that files and folders state."""
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


def reconcile(folder: DataFolder, tables: Mapping[str, pl.DataFrame]) -> None:
    """Compare the labels with the raters, the frames and the folds."""
    third, seg = fold_videos(folder, "25/train_2"), fold_videos(folder, "train_seg")
    if third and seg and third != seg:
        folder.warn("split-differs", "25/train_2", "its videos are not those of train_seg, as published")
    if {"cvs", "raters"} <= set(tables):
        _compare_raters(folder, tables["cvs"], tables["raters"])
    if {"cvs", "frames"} <= set(tables):
        unlisted = tables["cvs"].join(tables["frames"], on="case", how="anti")["case"]
        if unlisted.len():
            folder.warn("one-sided", "annotation_coco_vid.json", f"lacks {unlisted.len()} rated frames ({unlisted[0]})")


def _compare_raters(folder: DataFolder, cvs: pl.DataFrame, raters: pl.DataFrame) -> None:
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
