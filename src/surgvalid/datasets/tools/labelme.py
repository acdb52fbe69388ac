"""labelme (JSON, one file per image) and LabelMe 3.0 (XML): a file, or a folder of them.

Of labelme, shapes with the same label and `group_id` in one image are one object, whose name they share over all images
of the folder. LabelMe 3.0 tells no identity beyond one image.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from surgvalid.datasets.tools._about import About, head_of, number, rows, whole
from surgvalid.datasets.tools._draft import Rectangle
from surgvalid.datasets.tools._pictures import DrawnShape, Noticed, ShapedImage, box_around
from surgvalid.datasets.tools._xml import only_element
from surgvalid.errors import FileUnreadable
from surgvalid.schema.documents import read_json

TITLE = "labelme JSON or LabelMe 3.0 XML (a file or a folder)"
_LINES = ("point", "line", "linestrip", "points")


def recognises(path: Path, head: str) -> bool:
    """Whether a folder, or a file that begins with `head`, is one of this tool."""
    if path.is_dir():
        return bool(files := _files(path)) and recognises(files[0], head_of(files[0]))
    if path.suffix.lower() == ".xml":
        return "<annotation>" in head and ("<imagesize>" in head or "<sourceAnnotation>" in head)
    return path.suffix.lower() == ".json" and head.lstrip().startswith("{") and '"shapes"' in head


def pictures(path: Path, _about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images of a file or folder.

    Raises:
        FileUnreadable: Not what either tool writes.
    """
    files = _files(path) if path.is_dir() else [path]
    return ((_from_xml if one.suffix.lower() == ".xml" else _from_json)(one, *noticed) for one in files)


def _files(folder: Path) -> list[Path]:
    direct = sorted(one for one in folder.glob("*") if one.suffix.lower() in (".json", ".xml"))
    return direct or sorted(folder.glob("Annotations/**/*.xml"))


def _from_json(path: Path, counts: Counter[str], problems: list[str]) -> ShapedImage:
    document = read_json(path)
    if not isinstance(document, dict) or not isinstance(document.get("shapes"), list):
        raise FileUnreadable(str(path), ["not labelme: expected an object with the list 'shapes'"])
    parts: dict[tuple[str, str], list[tuple[Rectangle, Any]]] = {}
    for place, shape in enumerate(rows(document["shapes"]), start=1):
        label, kind = str(shape.get("label") or ""), str(shape.get("shape_type") or "polygon")
        if kind in _LINES:
            counts["points"] += 1
            continue
        points = shape.get("points")
        box = _shape_box(kind, points if isinstance(points, list) else [])
        if not label or box is None:
            problems.append(
                f"{path.name}, shape {place}: {'no label' if not label else f'a {kind} without its points'}"
            )
            continue
        counts["outline"] += kind != "rectangle"
        group = shape.get("group_id")
        key = (label, f"{label} {group}" if group is not None else f" {place}")
        parts.setdefault(key, []).append((box, shape))
    shapes = [_shape(label, name if name[0] != " " else "", drawn) for (label, name), drawn in parts.items()]
    size = whole(document.get("imageWidth")), whole(document.get("imageHeight"))
    return ShapedImage(_file_name(document.get("imagePath"), path), shapes, *size)


def _shape(label: str, name: str, drawn: list[tuple[Rectangle, Any]]) -> DrawnShape:
    first = drawn[0][1]
    flags = first.get("flags") if isinstance(first.get("flags"), dict) else {}
    stated = (first.get("score"), first.get("confidence"), flags.get("score"))
    round_ = all(one.get("shape_type") == "polygon" for _, one in drawn)
    outline = [[n for point in one["points"] for n in point] for _, one in drawn] if round_ else []
    score = next((one for one in stated if one is not None), None)
    return DrawnShape(label, _union([box for box, _ in drawn]), name, score=score, outline=outline)


def _file_name(stated: Any, path: Path) -> str:
    """The image's own name; the folder that labelme names beside it is seen from the file and tells nothing."""
    return Path(str(stated or path.stem).replace("\\", "/")).name


def _shape_box(kind: str, points: list[Any]) -> Rectangle | None:
    pairs = [point for point in points if isinstance(point, list)]
    if kind == "circle" and len(pairs) == 2 and (hull := box_around(pairs)) is not None:
        x, y = number(pairs[0][0]) or 0.0, number(pairs[0][1]) or 0.0
        radius = (hull[2] ** 2 + hull[3] ** 2) ** 0.5
        return x - radius, y - radius, 2 * radius, 2 * radius
    return box_around(pairs) if len(pairs) == len(points) else None


def _union(boxes: list[Rectangle]) -> Rectangle:
    corners = [(x, y) for x, y, _, _ in boxes] + [(x + w, y + h) for x, y, w, h in boxes]
    return box_around(corners) or boxes[0]


def _from_xml(path: Path, counts: Counter[str], problems: list[str]) -> ShapedImage:
    root, shapes = only_element(path, "annotation", "LabelMe"), list[DrawnShape]()
    for place, element in enumerate(root.iterfind("object"), start=1):
        if (element.findtext("deleted") or "0").strip() == "1":
            counts["deleted"] += 1
            continue
        label, box = (element.findtext("name") or "").strip(), box_around(list(_corners(element)))
        if not label or box is None:
            problems.append(f"{path.name}, object {place}: {'no name' if not label else 'neither a polygon nor a box'}")
            continue
        counts["outline"] += element.find("polygon") is not None
        shapes.append(DrawnShape(label, box, occluded=(element.findtext("occluded") or "").strip() == "yes"))
    size = whole(root.findtext("imagesize/ncols")), whole(root.findtext("imagesize/nrows"))
    return ShapedImage(_file_name((root.findtext("filename") or "").strip(), path), shapes, *size)


def _corners(element: Any) -> Iterator[tuple[Any, Any]]:
    for point in element.iterfind("polygon/pt"):
        yield point.findtext("x"), point.findtext("y")
    for box in element.iterfind("segm/box"):
        yield box.findtext("xmin"), box.findtext("ymin")
        yield box.findtext("xmax"), box.findtext("ymax")
