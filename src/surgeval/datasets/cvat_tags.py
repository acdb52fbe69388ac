"""Properties from CVAT: image tags and attributes of shapes in "CVAT for images 1.1" XML.

A tag on an image says that the image has that property; an image without it does not. A checkbox attribute of a
shape is a property of that instance. The file is read as a stream, and a document type (the door to entity
expansion) is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

import polars as pl

from surgeval.datasets._cvat_shapes import KINDS
from surgeval.datasets._xml import elements
from surgeval.errors import FileUnreadable

_CHECKED = {"true": 1, "false": 0}


@dataclass
class _Image:
    name: str
    tags: list[str] = field(default_factory=list)
    instances: list[dict[str, int]] = field(default_factory=list)


def read_image_tags(path: str | Path, *, tags: Iterable[str] | None = None) -> pl.DataFrame:
    """One row per image: `case` (its name without folder and ending) and a 0/1 column per tag.

    Args:
        path: The XML file.
        tags: Tags to make columns of; by default every tag that occurs.

    Raises:
        FileUnreadable: The file is no such XML.
    """
    images = list(_images(Path(path)))
    names = sorted({tag for image in images for tag in image.tags}) if tags is None else list(tags)
    columns: dict[str, list[object]] = {"case": [image.name for image in images]}
    for name in names:
        columns[name] = [int(name in image.tags) for image in images]
    return pl.DataFrame(columns, schema_overrides={"case": pl.String})


def read_instance_attributes(path: str | Path) -> pl.DataFrame:
    """One row per shape: `case`, `instance` (its number within the image) and a 0/1 column per checkbox attribute.

    Raises:
        FileUnreadable: The file is no such XML.
    """
    images = list(_images(Path(path)))
    names = sorted({name for image in images for instance in image.instances for name in instance})
    rows = [
        {"case": image.name, "instance": str(number), **{name: instance.get(name) for name in names}}
        for image in images
        for number, instance in enumerate(image.instances, start=1)
    ]
    schema = {"case": pl.String, "instance": pl.String} | dict.fromkeys(names, pl.Int8())
    return pl.DataFrame(rows, schema=schema)


def _images(path: Path) -> Iterator[_Image]:
    is_there = False
    for element in elements(path, ("image",)):
        is_there = True
        yield _image(element)
    if not is_there:
        raise FileUnreadable(str(path), ["holds no <image>; export as 'CVAT for images 1.1'"])


def _image(element: Element) -> _Image:
    image = _Image(Path(element.get("name", "")).stem)
    for child in element:
        if child.tag == "tag":
            image.tags.append(child.get("label", ""))
        elif child.tag in KINDS:
            attributes = {
                element.get("name", ""): (element.text or "").strip().lower() for element in child.iter("attribute")
            }
            image.instances.append({name: _CHECKED[text] for name, text in attributes.items() if text in _CHECKED})
    return image
