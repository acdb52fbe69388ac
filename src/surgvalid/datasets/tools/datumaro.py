"""Datumaro JSON: one file per subset, with its categories and items.

Read: boxes, and polygons, ellipses and masks as the box around them; identity is the attribute `track_id` or
`instance`. An item's image tells the size; the item's id is the name of its frame.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surgvalid.datasets.tools._about import About, head_of, number, rows, whole
from surgvalid.datasets.tools._draft import Rectangle
from surgvalid.datasets.tools._pictures import DrawnShape, Noticed, ShapedImage, box_around, taken_name
from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json

TITLE = "Datumaro JSON"
_IDENTITY = ("instance", "track_id")
_NO_BOX = {"label": "labels", "caption": "labels", "points": "points", "polyline": "points", "mask": "unlike"}
_SIDES = 4


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head`, or the folder of a project, is one of this tool."""
    if path.is_dir():
        return any(recognises(one, head_of(one)) for one in _files(path)[:1])
    return path.suffix.lower() == ".json" and '"items"' in head and '"categories"' in head and '"images"' not in head


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The items of the file.

    Raises:
        FileUnreadable: Not Datumaro JSON.
    """
    return (picture for one in (_files(path) if path.is_dir() else [path]) for picture in _pictures(one, noticed))


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "annotations").glob("*.json")) or sorted((folder / "dataset/annotations").glob("*.json"))


def _pictures(path: Path, noticed: Noticed) -> Iterator[ShapedImage]:
    document = read_json(path)
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise FileUnreadable(str(path), ["not Datumaro: expected an object with the list 'items'"])
    labels = [str(row.get("name")) for row in rows(_below(document, "categories", "label").get("labels"))]
    for item in rows(document["items"]):
        image = _below(item, "image") or _below(item, "media")
        sizes = image.get("size")
        height, width = map(whole, sizes) if isinstance(sizes, list) and len(sizes) == 2 else (None, None)
        yield ShapedImage(str(item.get("id")), list(_shapes(item, labels, *noticed)), width, height)


def _below(document: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document if isinstance(document, dict) else {}


def _shapes(item: dict[str, Any], labels: list[str], counts: Counter[str], problems: list[str]) -> Iterator[DrawnShape]:
    for row in rows(item.get("annotations")):
        kind, label = str(row.get("type")), whole(row.get("label_id"))
        if kind in _NO_BOX:
            counts[_NO_BOX[kind]] += 1
            continue
        box = _box(kind, row)
        if box is None or label is None or not 0 <= label < len(labels):
            what = f"a {kind} that cannot be read" if box is None else f"the unknown label {row.get('label_id')!r}"
            problems.append(f"item {item.get('id')!r}, annotation {row.get('id')!r}: {what}")
            continue
        counts["outline"] += kind != "bbox"
        attributes = {str(k): str(v) for k, v in _below(row, "attributes").items() if k not in ("rotation", "keyframe")}
        occluded = attributes.pop("occluded", "") == "True"
        name = taken_name(attributes, _IDENTITY, labels[label])
        yield DrawnShape(labels[label], box, name, attributes, occluded, attributes.get("score"))


def _box(kind: str, row: dict[str, Any]) -> Rectangle | None:
    if kind == "bbox" and isinstance(row.get("bbox"), list):
        sides = [value for one in row["bbox"] if (value := number(one)) is not None]
        return (sides[0], sides[1], sides[2], sides[3]) if len(sides) == _SIDES else None
    points = row.get("points")
    if kind in ("polygon", "ellipse") and isinstance(points, list) and len(points) >= _SIDES:
        return box_around(list(zip(points[::2], points[1::2], strict=False)))
    return None
