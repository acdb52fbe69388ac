"""Open Images: a CSV with a box a row, in shares of the image; names of classes may lie in a second CSV beside it.

Columns are ImageID, LabelName, XMin, XMax, YMin, YMax, and IsOccluded, IsGroupOf and Confidence where there are any. A
file `class-descriptions*.csv` gives names to labels such as `/m/01g317`. Sizes are those of the images beside, else
`About(width_px, height_px)` tells them. An image without a box is not in the file, so it was not annotated.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from surgvalid.datasets.tools._about import About, number
from surgvalid.datasets.tools._pictures import DrawnShape, ImagesBeside, Noticed, ShapedImage
from surgvalid.schema.documents import read_text

TITLE = "Open Images (boxes as CSV)"
_SIDES = ("XMin", "XMax", "YMin", "YMax")


def recognises(path: Path, head: str) -> bool:
    """Whether a file that begins with `head` is one of this tool."""
    columns = {cell.strip().strip('"') for cell in head.split("\n", 1)[0].split(",")}
    return path.suffix.lower() == ".csv" and {"ImageID", "LabelName", *_SIDES} <= columns


def pictures(path: Path, about: About, noticed: Noticed) -> Iterator[ShapedImage]:
    """The images of the file."""
    names, beside = _names_beside(path), ImagesBeside(path)
    rows: dict[str, list[dict[str, str]]] = {}
    for row in csv.DictReader(read_text(path).splitlines()):
        rows.setdefault(row["ImageID"], []).append(row)
    for image, boxes in rows.items():
        width, height = beside.size_of(image)
        width, height = about.width_px or width, about.height_px or height
        if width is None or height is None:
            noticed.problems.append(f"{image}: shares of an image whose size is not known; give --size or the image")
            continue
        yield ShapedImage(image, list(_shapes(boxes, names, (width, height), noticed)), width, height)


def _names_beside(path: Path) -> dict[str, str]:
    files = sorted(path.parent.glob("class-descriptions*.csv"))
    lines = csv.reader(read_text(files[0]).splitlines()) if files else ()
    return {row[0]: row[1] for row in lines if len(row) > 1}


def _shapes(
    rows: list[dict[str, str]], names: dict[str, str], size: tuple[int, int], noticed: Noticed
) -> Iterator[DrawnShape]:
    for place, row in enumerate(rows, start=1):
        sides = [side for name in _SIDES if (side := number(row[name])) is not None]
        if len(sides) < len(_SIDES):
            noticed.problems.append(f"{row['ImageID']}, box {place}: sides that are no numbers")
            continue
        left, right, top, bottom = sides[0] * size[0], sides[1] * size[0], sides[2] * size[1], sides[3] * size[1]
        label = names.get(row["LabelName"], row["LabelName"])
        yield DrawnShape(label, (left, top, right - left, bottom - top), occluded=row.get("IsOccluded") == "1")
