"""CholecInstanceSeg: instruments as polygons with instance numbers in 85 cholecystectomies.

`{part}/VIDxx_{source}/ann_dir/*.json` is like LabelMe: an instance may have several polygons, which share a `group_id`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.datasets._boxes import BOX, SIZE, pixels
from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Schemes, Task, listed
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import HEAD

KIND = "data set"
TOOLS = ("grasper", "hook", "irrigator", "clipper", "bipolar", "scissors", "snare")
"""In the order of their numbers, from 1."""
PARTS = ("train", "val", "test")
_OFFICIAL = {
    "val": (17, 28, 37, 23, 3, 11, 19, 30, 34, 39, 44, 46, 54, 59, 63, 67, 71, 76),
    "test": (9, 20, 24, 55, 14, 15, 22, 29, 7, 16, 21, 33, 38, 41, 45, 53, 58, 61, 64, 69, 72, 77),
}
"""Training is every other video."""
_FOLDER = re.compile(r"(VID\d{2,3})_(seg8k|t50_full|t50_sparse|t80_sparse)", re.IGNORECASE)
_SCHEMA = HEAD | {"split": pl.String, "subset": pl.String, "image_file": pl.String} | SIZE
_SCHEMA |= {"category_id": pl.Int64, "category": pl.String, "segmentation": pl.String} | BOX


def _instances(folder: Folder) -> pl.DataFrame:
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


def _outlines(folder: Folder, path: Path, shapes: list[Any]) -> dict[tuple[str, object], list[list[float]]]:
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


def _schemes(folder: Folder) -> Schemes:
    """A video may be in several sources but is in one part."""
    parts: dict[str, list[str]] = {split: [] for split in PARTS}
    for path in folder.files("*/VID*_*", needed=False):
        if path.parent.name.lower() in parts and (match := _FOLDER.fullmatch(path.name)):
            parts[path.parent.name.lower()].append(match[1].upper())
    return {"folders": {split: sorted(set(videos)) for split, videos in parts.items() if videos}}


DATA_SET = DataSet(
    name="cholecinstanceseg",
    title="CholecInstanceSeg",
    citation="Alabi et al., CholecInstanceSeg, Scientific Data 2025",
    source="https://github.com/labdeeman7/cholec_instance_seg (annotations by form)",
    checked_against="two real annotation files; the maintainers' lists",
    licence=None,
    licence_note="none stated in the repository; the images are those of Cholec80 and CholecT50",
    tasks={
        "instruments": Task(
            summary="polygons and boxes of instrument instances, seven tools",
            read=_instances,
            clock="frames as the files number them",
            one_row_per_case=False,
            published={"cases": 41_933},
            compared=Comparison(kind="detection", boxes="category"),
        ),
    },
    schemes={"official": listed("VID{:02}", _OFFICIAL)},
    read_schemes=_schemes,
    notes=(
        "Polygons of one group_id are one instance. Image sizes are empty in many files; masks then need the images' "
        "size and boxes do not.",
        "A video occurs in several sources (seg8k, t50, t80); what is independent is the video, not the folder.",
        "Tools by number from 1: " + ", ".join(TOOLS) + ".",
    ),
)
