"""CholecInstanceSeg: instruments as polygons with instance numbers in 85 cholecystectomies.

`{part}/VIDxx_{source}/ann_dir/*.json` is like LabelMe: an instance may have several polygons, which share a `group_id`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.datasets._coco_boxes import BOX, SIZE, pixels
from surgvalid.datasets._data_set import Schemes
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD

TOOLS = ("grasper", "hook", "irrigator", "clipper", "bipolar", "scissors", "snare")
"""In the order of their numbers, from 1."""
PARTS = ("train", "val", "test")
_FOLDER = re.compile(r"(VID\d{2,3})_(seg8k|t50_full|t50_sparse|t80_sparse)", re.IGNORECASE)
_SCHEMA = HEAD | {"split": pl.String, "subset": pl.String, "image_file": pl.String} | SIZE
_SCHEMA |= {"category_id": pl.Int64, "category": pl.String, "segmentation": pl.String} | BOX


def instances(folder: DataFolder) -> pl.DataFrame:
    """One row per instance; an image without any is a row without a class."""
    rows: list[tuple[object, ...]] = []
    for path in folder.files("**/ann_dir/*.json"):
        match, number = _FOLDER.fullmatch(path.parent.parent.name), re.search(r"(\d{1,12})$", path.stem)
        content = folder.json_object(path) if match and number else None
        if match is None or number is None:
            folder.warn("unexpected-file", path, "not laid out as VIDxx_SOURCE/ann_dir/NAME_FRAME.json; not read")
            continue
        if content is None or not isinstance(content.get("shapes"), list):
            folder.problem("malformed", path, "lacks the list 'shapes'")
            continue
        split = path.parent.parent.parent.name.lower()
        about = (path.stem, match[1].upper(), int(number[1]), split if split in PARTS else None, match[2].lower())
        size = pixels(content.get("imageWidth")), pixels(content.get("imageHeight"))
        image = f"{path.stem}.png"
        outlines = list(_outlines(folder, path, content["shapes"]).items())
        for (label, _), polygons in outlines:
            rows.append((*about, image, *size, TOOLS.index(label) + 1, label, json.dumps(polygons), *_box(polygons)))
        if not outlines:
            rows.append((*about, image, *size, *[None] * (3 + len(BOX))))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _outlines(folder: DataFolder, path: Path, shapes: list[Any]) -> dict[tuple[str, object], list[list[float]]]:
    """The polygons of every instance, by its class and number."""
    outlines: dict[tuple[str, object], list[list[float]]] = {}
    for place, shape in enumerate(shapes):
        label = str(shape.get("label")).lower() if isinstance(shape, dict) else ""
        points: Any = shape.get("points") if isinstance(shape, dict) else None
        numbers = [n for point in points for n in point] if _is_polygon(points) else []
        if label not in TOOLS or not numbers or shape.get("shape_type", "polygon") != "polygon":
            folder.problem("malformed", path, f"shape {place}: expected a polygon of a known tool, got {label[:20]!r}")
            continue
        group = shape.get("group_id")
        outlines.setdefault((label, ("alone", place) if group is None else group), []).append(numbers)
    return outlines


def _is_polygon(points: object) -> bool:
    return isinstance(points, list) and len(points) > 2 and all(_is_point(point) for point in points)


def _is_point(point: object) -> bool:
    return (
        isinstance(point, list) and len(point) == 2 and all(isinstance(n, int | float) and abs(n) < 1e6 for n in point)
    )


def _box(polygons: list[list[float]]) -> tuple[float, float, float, float]:
    across, down = [x for one in polygons for x in one[::2]], [y for one in polygons for y in one[1::2]]
    return min(across), min(down), max(max(across) - min(across), 1e-6), max(max(down) - min(down), 1e-6)


def schemes(folder: DataFolder) -> Schemes:
    """A video may be in several sources but is in one part."""
    parts: dict[str, list[str]] = {split: [] for split in PARTS}
    for path in folder.files("*/VID*_*", needed=False):
        if path.parent.name.lower() in parts and (match := _FOLDER.fullmatch(path.name)):
            parts[path.parent.name.lower()].append(match[1].upper())
    return {"folders": {split: sorted(set(videos)) for split, videos in parts.items() if videos}}
