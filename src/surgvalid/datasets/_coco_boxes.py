"""Tables of boxes, and COCO files whose annotations carry more than a box, as GraSP and PSI-AVA have them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD
from surgvalid.datasets.tools._about import rows as objects_in

SIZE: dict[str, type[pl.DataType]] = dict.fromkeys(("image_width_px", "image_height_px"), pl.Int64)
"""Size of the image, null where the files do not say it."""
BOX: dict[str, type[pl.DataType]] = dict.fromkeys(("x_px", "y_px", "width_px", "height_px"), pl.Float64)
"""Left, top, width and height; null in the row of an image without boxes."""
IMAGE = HEAD | {"split": pl.String, "image_id": pl.Int64, "image_file": pl.String} | SIZE
CATEGORY: dict[str, type[pl.DataType]] = {"category_id": pl.Int64, "category": pl.String}
_LARGEST_PX = 1e6


def pixels(value: object) -> int | None:
    """The number of pixels of a side of an image, or None where it is none.

    Example:
        >>> pixels(854), pixels(0), pixels("854")
        (854, None, None)
    """
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST_PX else None


def box_problem(numbers: object) -> str:
    """What is wrong with a box of left, top, width and height; nothing where it can be used.

    Example:
        >>> box_problem([1, 2, 3, 0])
        'box without area: [1, 2, 3, 0]'
    """
    if not isinstance(numbers, list) or len(numbers) != 4:
        return f"bbox is not four numbers: {str(numbers)[:40]}"
    if not all(isinstance(n, int | float) and abs(n) < _LARGEST_PX for n in numbers):
        return f"bbox is not four numbers: {str(numbers)[:40]}"
    return "" if min(numbers[2:]) > 0 else f"box without area: {numbers}"


_IMAGE = re.compile(r"(CASE\d{3})/(\d{1,12})\.\w+")
_MOST_PROBLEMS = 20


@dataclass(frozen=True, kw_only=True)
class CocoFiles:
    """A COCO file per part of a split."""

    files: str
    """Glob pattern below the root with `{part}`; of several files the first counts."""
    parts: Mapping[str, str]
    """What stands for `{part}` -> the part of the split."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """The files to read where that of the first part is not here."""
    label: str = ""
    """What annotations say of a whole image, such as `phase`; without it they are boxes."""

    def read(self, folder: DataFolder) -> pl.DataFrame:
        """One row per box, or per image with its label."""
        chosen, anywhere = self.parts, self.files.replace("{part}", "*")
        first = self.files.replace("{part}", next(iter(chosen)))
        if self.instead and folder.files(anywhere, needed=False) and not folder.files(first, needed=False):
            chosen = self.instead
        here = folder.parts({name: self.files.replace("{part}", name) for name in chosen}, anywhere)
        files = {paths[0]: chosen[name] for name, paths in here.items()}
        return read_moments(folder, files, self.label) if self.label else read_boxes(folder, files)


def read_boxes(folder: DataFolder, files: Mapping[Path, str]) -> pl.DataFrame:
    """One row per box with its actions; an image without any is a row without a class.

    Args:
        folder: Where problems are noted.
        files: Each file and the part of the split that it holds.
    """
    rows: list[tuple[object, ...]] = []
    for path, split, content in _contents(folder, files):
        images = {key: _about(image, split) for key, image in _images(folder, path, content).items()}
        boxes = [one for one in objects_in(content.get("annotations")) if "bbox" in one]
        rows += box_rows(folder, path, content | {"annotations": boxes}, images, _actions_and_outline)
    schema: dict[str, Any] = {"actions": pl.List(pl.Int64), "segmentation": pl.String}
    return pl.DataFrame(rows, schema=IMAGE | CATEGORY | schema | BOX, orient="row")


def _actions_and_outline(box: dict[str, Any]) -> tuple[object, ...]:
    actions = [int(action) for action in box.get("actions", []) if isinstance(action, int)]
    return actions, json.dumps(box["segmentation"]) if box.get("segmentation") else None


def box_rows(
    folder: DataFolder,
    path: Path,
    content: Mapping[str, Any],
    images: Mapping[int, tuple[object, ...]],
    more: Callable[[dict[str, Any]], tuple[object, ...]],
) -> list[tuple[object, ...]]:
    """Rows of image, category, what else is known of a box, and the box; an image without one is a row of nulls.

    Args:
        folder: Where problems are noted.
        path: The file that `content` comes from.
        content: Of a COCO file.
        images: What is known of each image by its id.
        more: What else a box has.
    """
    named = [one for one in objects_in(content.get("categories")) if isinstance(one.get("id"), int) and "name" in one]
    names = {one["id"]: str(one["name"]) for one in named}
    rows, seen, width = list[tuple[object, ...]](), set(), len(CATEGORY) + len(more({})) + len(BOX)
    for box in content.get("annotations", []):
        if problem := _annotation_problem(box, images, names):
            _problem(folder, path, problem)
            continue
        key, kind = box["image_id"], box["category_id"]
        seen.add(key)
        rows.append((*images[key], kind, names[kind], *more(box), *map(float, box["bbox"])))
    return rows + [(*about, *[None] * width) for key, about in images.items() if key not in seen]


def _annotation_problem(box: Any, images: Mapping[int, object], names: Mapping[int, str]) -> str:
    if not isinstance(box, dict):
        return f"an annotation is no object: {str(box)[:40]}"
    place = f"annotation {str(box.get('id'))[:20]}"
    if not isinstance(box.get("image_id"), int) or box["image_id"] not in images:
        return f"{place}: no image with id {str(box.get('image_id'))[:20]}"
    if not isinstance(box.get("category_id"), int) or box["category_id"] not in names:
        return f"{place}: category {str(box.get('category_id'))[:20]} is not in 'categories'"
    wrong = box_problem(box.get("bbox"))
    return f"{place}: {wrong}" if wrong else ""


def read_moments(folder: DataFolder, files: Mapping[Path, str], key: str) -> pl.DataFrame:
    """One row per image with its phase or step, which annotations call in the singular or the plural."""
    rows: dict[str, tuple[object, ...]] = {}
    for path, split, content in _contents(folder, files):
        images = _images(folder, path, content)
        for one in objects_in(content.get("annotations")):
            image, label = images.get(one.get("image_id")), one.get(key, one.get(f"{key}s"))
            if image is None or not isinstance(label, int):
                _problem(folder, path, f"annotation {str(one.get('id'))[:20]}: no image or no {key}")
                continue
            case, video, frame = _case(image)
            first = rows.setdefault(case, (case, video, frame, split, label))
            if first[-1] != label:
                _problem(folder, path, f"{case} has the {key}s {first[-1]} and {label}")
    return pl.DataFrame(list(rows.values()), schema=HEAD | {"split": pl.String, key: pl.Int64}, orient="row")


def _contents(folder: DataFolder, files: Mapping[Path, str]) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    for path, split in files.items():
        content = folder.json_object(path)
        if content is not None and not objects_in(content.get("images")):
            folder.problem("malformed", path, "lacks 'images'")
        elif content is not None:
            yield path, split, content


def _images(folder: DataFolder, path: Path, content: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    images = {}
    for record in objects_in(content.get("images")):
        if isinstance(record.get("id"), int) and _IMAGE.search(str(record.get("file_name"))):
            images[record["id"]] = record
        else:
            _problem(folder, path, f"an image without id or a name like CASE001/00001.jpg: {str(record)[:80]}")
    return images


def _about(image: dict[str, Any], split: str) -> tuple[object, ...]:
    size = pixels(image.get("width")), pixels(image.get("height"))
    return (*_case(image), split, image["id"], str(image["file_name"]), *size)


def _case(image: dict[str, Any]) -> tuple[str, str, int]:
    match = _IMAGE.search(str(image["file_name"]))
    video, number = (match[1], int(match[2])) if match else ("", 0)
    return f"{video}/{number}", video, number


def _problem(folder: DataFolder, path: Path, message: str) -> None:
    if sum(finding.code == "malformed" for finding in folder.findings) < _MOST_PROBLEMS:
        folder.problem("malformed", path, message)
