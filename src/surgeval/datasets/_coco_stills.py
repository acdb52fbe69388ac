"""Images of a COCO file of which every one is a video of its own."""

from __future__ import annotations

from collections import Counter
from typing import Any

from surgeval.datasets._about import About, Annotations
from surgeval.datasets._json import number, rows, whole
from surgeval.datasets._pictures import Picture, Shape, annotations_of

_SIDES = 4


def stills(document: dict[str, Any], where: str, about: About) -> Annotations:
    """The procedures of one second that the images are.

    Raises:
        ProcedureInvalid: Something cannot be true; every problem is listed.
    """
    names = {str(row.get("id")): str(row.get("name", "")) for row in rows(document.get("categories"))}
    shapes: dict[str, list[Shape]] = {str(row.get("id")): [] for row in rows(document.get("images"))}
    problems, counts = list[str](), Counter[str]()
    if len(shapes) < len(rows(document.get("images"))):
        problems.append("several images have the same id, or none")
    for row in rows(document.get("annotations")):
        title, image, label = f"annotation {row.get('id')!r}", str(row.get("image_id")), str(row.get("category_id"))
        sides = [number(value) for value in row["bbox"]] if isinstance(row.get("bbox"), list) else []
        box = [value for value in sides if value is not None]
        problems += [f"{title}: unknown category {label}"] if not names.get(label) else []
        problems += [f"{title}: unknown image {image}"] if image not in shapes else []
        problems += [f"{title}: bbox must be four numbers"] if len(box) != _SIDES else []
        if names.get(label) and image in shapes and len(box) == _SIDES:
            counts["outline"] += bool(row.get("segmentation"))
            shapes[image].append(Shape(names[label], (box[0], box[1], box[2], box[3])))
    pictures = [
        Picture(
            str(row.get("file_name")), shapes[str(row.get("id"))], whole(row.get("width")), whole(row.get("height"))
        )
        for row in rows(document.get("images"))
    ]
    return annotations_of(pictures, where=where, about=about, counts=counts, problems=problems)
