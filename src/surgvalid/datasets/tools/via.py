"""VIA 2 (VGG Image Annotator): the annotations of a project as JSON or CSV.

A region's label is its attribute `label`, `labels`, `class`, `class_name`, `type` or `name`, or its only one; which
object it is, its attribute `instance`, `track_id` or `track`. VIA tells no size of images: it is read from the files
where they lie beside, else `About(width_px, height_px)` tells it.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surgvalid.datasets.tools._about import About, number, rows
from surgvalid.datasets.tools._draft import Rectangle
from surgvalid.datasets.tools._pictures import (
    DrawnShape,
    Noticed,
    ShapedImage,
    box_around,
    box_around_ellipse,
    taken_name,
)
from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json, read_text

TITLE = "VIA 2 annotations (JSON or CSV)"
_LABELS = ("label", "labels", "class", "class_name", "type", "name")
_IDENTITY = ("instance", "track_id", "track")
_PROJECT = "_via_img_metadata"
_HEADER = "region_shape_attributes"


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head` is one of this tool."""
    if path.suffix.lower() == ".csv":
        return _HEADER in head.split("\n", 1)[0]
    return path.suffix.lower() == ".json" and (
        ('"shape_attributes"' in head and '"regions"' in head) or _PROJECT in head
    )


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images of the file.

    Raises:
        FileUnreadable: Not what VIA writes.
    """
    images = _from_table(path) if path.suffix.lower() == ".csv" else _from_json(path)
    for name, regions in images.items():
        shapes = list(_shapes(name, regions, *noticed))
        yield ShapedImage(name, shapes)


def _from_json(path: Path) -> dict[str, list[dict[str, Any]]]:
    document = read_json(path)
    if isinstance(document, dict) and isinstance(document.get(_PROJECT), dict):
        document = document[_PROJECT]
    if not isinstance(document, dict) or not all(
        isinstance(one, dict) and "filename" in one for one in document.values()
    ):
        raise FileUnreadable(str(path), ["not VIA 2: expected images with a 'filename' and 'regions'"])
    regions = {}
    for one in document.values():
        listed = one.get("regions")
        regions[str(one["filename"])] = rows(list(listed.values()) if isinstance(listed, dict) else listed)
    return regions


def _from_table(path: Path) -> dict[str, list[dict[str, Any]]]:
    regions: dict[str, list[dict[str, Any]]] = {}
    for line, row in enumerate(csv.DictReader(read_text(path).splitlines()), start=2):
        listed = regions.setdefault(str(row.get("filename") or row.get("#filename")), [])
        try:
            shape, attributes = (json.loads(row.get(name) or "{}") for name in (_HEADER, "region_attributes"))
        except ValueError:
            raise FileUnreadable(str(path), [f"row {line}: a cell is no JSON"]) from None
        if shape:
            listed.append({"shape_attributes": shape, "region_attributes": attributes})
    return regions


def _shapes(
    name: str, regions: list[dict[str, Any]], counts: Counter[str], problems: list[str]
) -> Iterator[DrawnShape]:
    for place, region in enumerate(regions, start=1):
        drawn, described = region.get("shape_attributes"), region.get("region_attributes")
        attributes = {str(k): _text(v) for k, v in described.items()} if isinstance(described, dict) else {}
        kind = str(drawn.get("name")) if isinstance(drawn, dict) else ""
        if kind in ("point", "polyline"):
            counts["points"] += 1
            continue
        box = _box(kind, drawn) if isinstance(drawn, dict) else None
        label = next((attributes[key] for key in _LABELS if attributes.get(key)), "")
        others = [key for key in attributes if key not in _IDENTITY]
        label = label or (attributes[others[0]] if len(others) == 1 else "")
        if box is None or not label:
            what = (
                f"the shape {kind!r} cannot be read" if box is None else f"no attribute tells its class ({_LABELS[0]})"
            )
            problems.append(f"{name}, region {place}: {what}")
            continue
        counts["outline"] += kind != "rect"
        name = taken_name(dict(attributes), _IDENTITY, label)
        more = {k: v for k, v in attributes.items() if v and v != label and k not in (*_LABELS, *_IDENTITY)}
        yield DrawnShape(label, box, name, more, score=more.get("score"))


def _text(value: Any) -> str:
    """A choice of VIA is text, or the options with whether they are ticked."""
    if isinstance(value, dict):
        return ", ".join(str(key) for key, ticked in value.items() if ticked)
    return "" if value is None else str(value)


def _box(kind: str, drawn: dict[str, Any]) -> Rectangle | None:
    def values(*names: str) -> list[float]:
        return [value for name in names if (value := number(drawn.get(name))) is not None]

    if kind == "rect" and len(sides := values("x", "y", "width", "height")) == 4:
        return sides[0], sides[1], sides[2], sides[3]
    if kind == "circle" and len(round_ := values("cx", "cy", "r")) == 3:
        return box_around_ellipse(round_[0], round_[1], round_[2], round_[2])
    if kind == "ellipse" and len(oval := values("cx", "cy", "rx", "ry")) == 4:
        turn = number(drawn.get("theta")) or 0.0
        return box_around_ellipse(oval[0], oval[1], oval[2], oval[3], turn * 57.29577951308232)
    xs, ys = drawn.get("all_points_x"), drawn.get("all_points_y")
    if kind == "polygon" and isinstance(xs, list) and isinstance(ys, list) and len(xs) == len(ys):
        return box_around(list(zip(xs, ys, strict=True)))
    return None
