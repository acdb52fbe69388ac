"""Boxes from folders with a file per image: YOLO text files, Pascal VOC, LabelMe, MMDetection, ultralytics."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from surgvalid.datasets import drawn_images
from surgvalid.datasets.tools.yolo import LISTS, NAMES, class_names
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.evaluation.predictions.box_json import boxes_of_json
from surgvalid.evaluation.predictions.box_tables import FROM_0, FROM_1, IDS, XYWH, XYXY, RawBoxes, boxes_of_table
from surgvalid.evaluation.predictions.plain_files import read_json, read_npz, read_table
from surgvalid.schema.left_behind import put_there

_KINDS = (".txt", ".xml", ".json", ".npz", ".csv")
_SHOWN = 20


def boxes_of_folder(folder: Path, columns: Mapping[str, str] | None = None) -> RawBoxes:
    """The detections of a folder with one file per image; files of one kind only.

    Raises:
        FileUnreadable: No file of a known kind, or files of several.
    """
    files: dict[str, list[Path]] = {}
    for path in put_there(folder.rglob("*"), folder):
        name = path.name.lower()
        if "ImageSets" in path.relative_to(folder).parts or name in (*NAMES, *LISTS):
            continue
        if path.is_file() and path.suffix.lower() in _KINDS:
            files.setdefault(path.suffix.lower(), []).append(path)
    if len(files) != 1:
        listed = ", ".join(f"{len(paths)} {kind}" for kind, paths in files.items()) or "none"
        raise FileUnreadable(str(folder), [f"expected files of one kind per image ({', '.join(_KINDS)}), got {listed}"])
    ((kind, paths),) = files.items()
    if kind == ".txt":
        return yolo_boxes(paths, folder, columns or {})
    if kind == ".npz":
        return _arrays(paths, folder)
    if kind == ".csv":
        tables = [boxes_of_table(read_table(path), path.name, columns, about=_image(path, folder)) for path in paths]
        return _joined(tables, folder)
    return _joined([boxes_of_document(path, folder) for path in paths], folder)


def boxes_of_document(path: Path, folder: Path) -> RawBoxes:
    """The boxes of a JSON or XML file of a folder.

    Raises:
        FileUnreadable: None of the known forms.
    """
    drawn = drawn_boxes(path, folder)
    if drawn is None and path.suffix.lower() == ".xml":
        raise FileUnreadable(str(path), ["neither Pascal VOC nor CVAT nor LabelMe"])
    return drawn or boxes_of_json(read_json(path), _image(path, folder))


def _image(path: Path, folder: Path) -> str:
    """The image that a file is about: its path in the folder without ending."""
    return path.relative_to(folder).with_suffix("").as_posix()


def _joined(parts: list[RawBoxes], folder: Path) -> RawBoxes:
    """Files of one form as one; their words and readings must agree."""
    first = parts[0]
    if strange := {one.form for one in parts} - {first.form}:
        raise FileUnreadable(str(folder), [f"files of different forms: {first.form}; {'; '.join(sorted(strange))}"])
    for one in parts[1:]:
        first.sizes |= one.sizes
        for name in ("images", "labels", "boxes", "scores", "outlines", "problems"):
            getattr(first, name).extend(getattr(one, name))
    return first


def _arrays(paths: list[Path], folder: Path) -> RawBoxes:
    raw = RawBoxes("arrays per image (torchvision: corners in pixels, labels from 1)", (XYXY,), (IDS, FROM_1))
    for path in paths:
        arrays = read_npz(path)
        if lacking := [name for name in ("boxes", "labels") if name not in arrays]:
            raw.problems.append(f"{path.name}: no array {', '.join(lacking)}")
            continue
        scores = arrays.get("scores", np.full(len(arrays["boxes"]), np.nan)).tolist()
        raw.add_image(_image(path, folder), arrays["labels"].tolist(), arrays["boxes"].tolist(), scores)
    return raw


def yolo_boxes(paths: list[Path], folder: Path, columns: Mapping[str, str]) -> RawBoxes:
    """`class cx cy w h`, or `class x1 y1 x2 y2 ...`, as shares of the image, then maybe a confidence and a track."""
    rows, problems = [], []
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8-sig", errors="replace").splitlines(), start=1):
            cells = line.split()
            try:
                values = [float(cell) for cell in cells]
            except ValueError:
                values = []
            if cells and (len(values) < 5 or not np.isfinite(values).all() or not values[0].is_integer()):
                problems.append(f"{path.name}, line {number}: expected a class and at least four numbers")
            elif cells:
                rows.append((_image(path, folder), values))
    tail = _tail([values for _, values in rows], columns)
    raw = RawBoxes(
        f"YOLO text files (shares of the image; {tail or 'no confidence'})",
        ("cxcywhn",),
        (FROM_0, IDS),
        tuple(class_names(folder) or class_names(folder.parent) or ()),
        by_name=True,
    )
    raw.problems += problems[:_SHOWN]
    extra = len(tail.split(" and ")) if tail else 0
    raw.sizes = dict.fromkeys(_image(path, folder) for path in paths)
    for image, values in rows:
        body = values[1 : len(values) - extra]
        ends = values[len(values) - extra :]
        score = ends[0] if tail.startswith("confidence") else None
        if len(body) == 4:
            raw.add(image, int(values[0]), body, score)
        elif len(body) % 2 or len(body) < 6:
            raw.problems.append(f"{image}: {len(values)} numbers in a line fit neither a box nor a polygon")
        else:
            across, down = body[::2], body[1::2]
            middle = [(min(across) + max(across)) / 2, (min(down) + max(down)) / 2]
            box = [*middle, max(across) - min(across), max(down) - min(down)]
            raw.add(image, int(values[0]), box, score, {"shares": body})
    return raw


def _tail(rows: list[list[float]], columns: Mapping[str, str]) -> str:
    """What stands after the coordinates: nothing, a confidence, a track number, or both.

    Raises:
        Misuse: Two readings fit.
    """
    if "score" in columns or "track" in columns:
        return " and ".join(word for word, ours in (("confidence", "score"), ("track", "track")) if ours in columns)
    widths = {len(row) for row in rows}
    if not rows or widths == {5}:
        return ""
    last = [row[-1] for row in rows]
    share, whole = all(0 <= n <= 1 for n in last), all(n.is_integer() and n >= 0 for n in last)
    if widths == {6}:
        fits = [word for word, fit in (("confidence", share), ("track", whole)) if fit]
    else:
        fits = _fits_of_outlines(rows, share, whole)
    if len(fits) != 1:
        asked = "--columns score=6 (a confidence), --columns track=6 or --columns score=6,track=7"
        what = " and as ".join(fit or "no further column" for fit in fits) or "nothing known"
        raise Misuse(f"the last column of the YOLO files reads as {what}; say {asked}")
    return fits[0]


def _fits_of_outlines(rows: list[list[float]], share: bool, whole: bool) -> list[str]:
    """Readings of rows that are longer than a box with one more number."""
    fits = []
    odd = all(len(row) % 2 for row in rows)
    even = all(not len(row) % 2 for row in rows)
    if odd and share:
        fits.append("")
    if odd and whole and all(0 <= row[-2] <= 1 for row in rows):
        fits.append("confidence and track")
    if even and share:
        fits.append("confidence")
    if even and whole:
        fits.append("track")
    return fits


def drawn_boxes(path: Path, folder: Path) -> RawBoxes | None:
    """The boxes that a file of an annotation tool holds; None where it is of none that keeps images.

    A prediction and a reference are written alike; a score stands where a model wrote one.
    """
    drawn = drawn_images(path)
    if drawn is None:
        return None
    counts, problems = drawn.noticed
    raw = RawBoxes(f"{drawn.title}, names of classes", (XYWH,), (IDS,), problems=list(problems))
    if boxless := counts["points"] + counts["unlike"]:
        raw.problems.append(f"{path.name}: {boxless} points, lines or masks, which have no box")
    for image in drawn.images:
        key = image.stated_name or (_image(path, folder) if image.name == path.stem else image.name)
        raw.sizes[key] = (image.width_px, image.height_px) if image.width_px and image.height_px else None
        for shape in image.shapes:
            raw.add(key, shape.label, list(shape.box), shape.score, shape.outline or None)
    return raw
