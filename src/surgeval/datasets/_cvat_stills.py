"""Images of a CVAT task or project of which every one is a video of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from surgeval.datasets._about import About, Annotations
from surgeval.datasets._cvat_shapes import CvatShape, shapes_of
from surgeval.datasets._json import whole
from surgeval.datasets._pictures import Picture, Shape, annotations_of
from surgeval.datasets._xml import elements

_IDENTITY = ("instance", "track_id")


def stills(path: str | Path, about: About) -> Annotations:
    """The procedures of one second that the images are, with every shape as the box around it.

    Raises:
        FileUnreadable: Not such XML.
        ProcedureInvalid: Tracks are no stills, or something cannot be true; every problem is listed.
    """
    problems, counts, pictures = list[str](), Counter[str](), list[Picture]()
    for element in elements(path, ("track", "image")):
        if element.tag == "track":
            problems.append(f"track {element.get('id')!r} is of a video, not of stills")
            continue
        shapes = list(shapes_of(element, problems))
        counts["outline"] += sum(shape.kind != "box" for shape in shapes)
        counts["rotated"] += sum(shape.kind == "box" and shape.rotation_deg % 360 != 0 for shape in shapes)
        size = whole(element.get("width")), whole(element.get("height"))
        name = "/".join(one for one in (element.get("subset"), element.get("name")) if one)
        pictures.append(Picture(name, [_shape(shape) for shape in shapes], *size))
    return annotations_of(pictures, where=str(path), about=about, counts=counts, problems=problems)


def _shape(shape: CvatShape) -> Shape:
    attributes = {key: value for key, value in shape.attributes.items() if key not in _IDENTITY}
    name = next((shape.attributes[key] for key in _IDENTITY if shape.attributes.get(key)), "")
    return Shape(shape.label, shape.box, name, attributes, shape.occluded)
