"""The files of Endoscapes2023: COCO files with extra keys, the table of raters, video lists, masks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from surgeval.datasets._boxes import BOX, SIZE, box_problem, pixels
from surgeval.datasets._cvs import CRITERIA
from surgeval.datasets._folder import Folder

OFFICIAL = {"train": range(1, 121), "val": range(121, 162), "test": range(162, 202)}
"""The videos of every part."""
PARTS = tuple(OFFICIAL)
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


def images_of(folder: Folder, place: str) -> list[Image]:
    """The usable images of a COCO file; whatever is wrong with the others is noted."""
    return _images(folder, place, coco(folder, place))


def parts_here(folder: Folder, name: str) -> list[str]:
    """The parts whose file of that name is here; those that are not are noted, and all of them lacking is a problem."""
    here = [split for split in PARTS if folder.file(f"{split}/{name}")]
    if not here and folder.root.is_dir():
        folder.problem("missing", f"PART/{name}", f"no such file in any of {', '.join(PARTS)}")
    for split in PARTS:
        if here and split not in here:
            folder.absent(f"{split}/{name}", f"{split} is not here; what is here is read")
    return here


def coco(folder: Folder, place: str) -> dict[str, Any]:
    """The content of a COCO file with `images` and `annotations` as lists."""
    content = folder.json_object(folder.at(place)) or {}
    for key in ("images", "annotations", "categories"):
        if content and not isinstance(content.get(key, []), list):
            folder.problem("malformed", place, f"{key!r} is no list")
            content[key] = []
    if content and "images" not in content:
        folder.problem("malformed", place, "lacks 'images'")
    return content


def _images(folder: Folder, place: str, content: dict[str, Any]) -> list[Image]:
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


def read_boxes(folder: Folder) -> pl.DataFrame:
    """One row per box in pixels; a boxed frame without any is a row with a null category."""
    rows = [row for split in parts_here(folder, "annotation_coco.json") for row in _box_rows(folder, split)]
    schema: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64}
    schema |= {"split": pl.String, "image_id": pl.Int64, "image_file": pl.String} | SIZE
    schema |= {"category_id": pl.Int64, "category": pl.String, "has_mask": pl.Boolean} | BOX
    return pl.DataFrame(rows, schema=schema, orient="row")


def _box_rows(folder: Folder, split: str) -> list[tuple[object, ...]]:
    place = f"{split}/annotation_coco.json"
    content = coco(folder, place)
    images = {image.number: image for image in _images(folder, place, content)}
    names = {
        c["id"]: str(c["name"])
        for c in content.get("categories", [])
        if isinstance(c, dict) and isinstance(c.get("id"), int) and "name" in c
    }
    rows: list[tuple[object, ...]] = []
    for box in content.get("annotations", []):
        if problem := _box_problem(box, images, names):
            folder.problem("malformed", place, problem)
            continue
        image = images[box["image_id"]]
        kind, drawn = box["category_id"], bool(box.get("segmentation"))
        rows.append((*_about(image, split), kind, names[kind], drawn, *map(float, box["bbox"])))
    seen = {row[0] for row in rows}
    bare = [image for image in images.values() if image.case not in seen]
    return rows + [(*_about(image, split), *[None] * (3 + len(BOX))) for image in bare]


def _about(image: Image, split: str) -> tuple[object, ...]:
    return (image.case, image.video, image.frame, split, image.number, f"{image.case}.jpg", *image.size)


def _box_problem(box: Any, images: dict[int, Image], names: dict[Any, str]) -> str:
    if not isinstance(box, dict):
        return f"an annotation is no object: {str(box)[:40]}"
    place = f"annotation {str(box.get('id'))[:20]}"
    if not isinstance(box.get("image_id"), int) or box["image_id"] not in images:
        return f"{place}: no image with id {str(box.get('image_id'))[:20]}"
    if not isinstance(box.get("category_id"), int) or box["category_id"] not in names:
        return f"{place}: category {str(box.get('category_id'))[:20]} is not in 'categories'"
    wrong = box_problem(box.get("bbox"))
    return f"{place}: {wrong}" if wrong else ""


def read_raters(folder: Folder) -> pl.DataFrame:
    """One row per rated frame and rater with the three criteria as 0 or 1, from `all_metadata.csv`."""
    path = folder.at("all_metadata.csv")
    schema: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64}
    schema |= {"rater": pl.String} | dict.fromkeys(CRITERIA, pl.Int64)
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


def _rater_cells(folder: Folder, path: Path) -> pl.DataFrame | None:
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


def read_masks(folder: Folder) -> pl.DataFrame:
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
    schema: dict[str, type[pl.DataType]] = {"case": pl.String, "video": pl.String, "frame": pl.Int64}
    schema |= {"split": pl.String}
    schema |= dict.fromkeys(("instances_file", "labels_file", "classes_file"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def _check_array(folder: Folder, path: Path) -> None:
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


def _inside(folder: Folder, path: Path) -> str:
    return path.relative_to(folder.root).as_posix()


def listed_videos(folder: Folder, split: str) -> list[str]:
    """The videos of `{part}_vids.txt`, whose ids are written as floats, also in scientific notation."""
    path = folder.at(f"{split}_vids.txt")
    videos = []
    for line in folder.lines(path):
        if re.fullmatch(r"\d{1,9}(\.0*)?|\d\.\d{1,30}[eE]\+?\d{1,2}", line.strip()) and float(line).is_integer():
            videos.append(str(int(float(line))))
        else:
            folder.problem("malformed", path, f"no video number: {line[:40]!r}")
    return videos


def fold_videos(folder: Folder, place: str) -> list[str]:
    """The videos whose images, or names of images in COCO files, are in a folder."""
    names = {path.name for path in folder.files(f"{place}/*.jpg", needed=False)}
    for path in folder.files(f"{place}/*.json", needed=False):
        entries = coco(folder, path.relative_to(folder.root).as_posix()).get("images", [])
        names |= {Path(str(entry.get("file_name"))).name for entry in entries if isinstance(entry, dict)}
    videos = {match[1] for name in names if (match := _FRAME_NAME.fullmatch(name))}
    return sorted(videos, key=int)
