"""Pascal VOC: an XML file per image (labelImg, CVAT, Roboflow, ...), a folder of them, or the data set's folder.

Corners count pixels from 1 and belong to the box in VOC itself, while labelImg and CVAT write them as coordinates; a
difference of one pixel, left as it is. The format tells no identity: an attribute `instance` or `track_id` does where
a tool wrote one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree.ElementTree import Element

from surgvalid.datasets.tools._about import About, head_of, whole
from surgvalid.datasets.tools._pictures import DrawnShape, Noticed, ShapedImage, box_around, taken_name
from surgvalid.datasets.tools._xml import only_element

TITLE = "Pascal VOC (a file or a folder)"
_IDENTITY = ("instance", "track_id")
_CORNERS = (("xmin", "ymin"), ("xmax", "ymax"))


def recognises(path: Path, head: str) -> bool:
    """Whether a folder, or a file that begins with `head`, is one of this tool."""
    if path.is_dir():
        return bool(files := _files(path)) and recognises(files[0], head_of(files[0]))
    return path.suffix.lower() == ".xml" and "<annotation" in head and "<annotations" not in head


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images of a file or folder.

    Raises:
        FileUnreadable: Not such XML.
    """
    return (_picture(one, *noticed) for one in (_files(path) if path.is_dir() else [path]))


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.xml")) or sorted(folder.glob("Annotations/**/*.xml"))


def _picture(path: Path, counts: Counter[str], problems: list[str]) -> ShapedImage:
    root, shapes = only_element(path, "annotation", "Pascal VOC"), list[DrawnShape]()
    for place, element in enumerate(root.iterfind("object"), start=1):
        label, corners = (element.findtext("name") or "").strip(), element.find("bndbox")
        ends = [] if corners is None else [(corners.findtext(x), corners.findtext(y)) for x, y in _CORNERS]
        box = box_around(ends)
        if not label or box is None:
            problems.append(f"{path.name}, object {place}: {'no name' if not label else 'no <bndbox> of four numbers'}")
            continue
        counts["difficult"] += (element.findtext("difficult") or "0").strip() == "1"
        counts["parts"] += len(element.findall("part"))
        attributes = _attributes(element)
        name = taken_name(attributes, _IDENTITY, label)
        occluded = (element.findtext("occluded") or "").strip() in ("1", "yes")
        score = element.findtext("score") or element.findtext("confidence") or attributes.get("score")
        shapes.append(DrawnShape(label, box, name, attributes, occluded, score))
    size = whole(root.findtext("size/width")), whole(root.findtext("size/height"))
    stated = (root.findtext("filename") or "").strip().replace("\\", "/")
    return ShapedImage(Path(stated or path.stem).name, shapes, size[0] or None, size[1] or None, stated_name=stated)


def _attributes(element: Element) -> dict[str, str]:
    stated = (
        (one.findtext("name") or "", one.findtext("value") or "") for one in element.iterfind("attributes/attribute")
    )
    return {name.strip(): value.strip() for name, value in stated if name.strip() not in ("", "rotation", "occluded")}
