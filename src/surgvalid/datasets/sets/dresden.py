"""Dresden Surgical Anatomy Dataset: binary organ masks, one folder per organ, and a folder with several organs.

A folder of an organ annotates that organ only: the others are unknown there, not absent.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import polars as pl

from surgvalid.datasets._data_set import References
from surgvalid.datasets._folder import DataFolder
from surgvalid.datasets._layouts import HEAD

MULTILABEL = "multilabel"
ORGANS = (
    "abdominal_wall",
    "colon",
    "inferior_mesenteric_artery",
    "intestinal_veins",
    "liver",
    "pancreas",
    "small_intestine",
    "spleen",
    "stomach",
    "ureter",
    "uterus",
    "vesicular_glands",
)
"""The weak labels, in the order of their columns."""
_SCHEMA = HEAD | dict.fromkeys(("organ", "image_file", "mask_file"), pl.String)


def single(folder: DataFolder) -> pl.DataFrame:
    """One row per image of an organ's folder and the mask of that organ."""
    rows, masks = [], {_key(path): path for path in folder.files("*/*/mask*.png", needed=False)}
    for image in _images(folder, "*"):
        organ, number = image.parent.parent.name.lower(), _number(image)
        if organ == MULTILABEL:
            continue
        place = image.with_name(image.name.lower().replace("image", "mask", 1))
        mask = masks.get(_key(place))
        if mask is None:
            folder.problem("missing", place, "no such file")
        elif folder.png(mask) is not None:
            rows.append(_row(folder, image, mask, number, organ))
    if not rows and folder.root.is_dir():
        folder.problem("missing", "{organ}/{NN}/imageXX.png", "no images with masks")
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def several(folder: DataFolder) -> pl.DataFrame:
    """One row per image of the multilabel folder and organ."""
    rows, masks_of = [], defaultdict[str, list[Path]](list)
    for path in folder.files(f"{MULTILABEL}/*/mask*_*.png", needed=False):
        masks_of[_key(path).partition("_")[0]].append(path)
    for image in _images(folder, MULTILABEL):
        masks = masks_of[_key(image.with_name(image.stem.lower().replace("image", "mask", 1)))]
        if not masks:
            folder.problem("missing", image, "has no mask of any organ")
        for mask in masks:
            if folder.png(mask) is not None:
                rows.append(_row(folder, image, mask, _number(image), mask.stem.lower().partition("_")[2]))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _images(folder: DataFolder, organ: str) -> list[Path]:
    images = folder.files(f"{organ}/*/image*.png")
    odd = [path for path in images if not re.fullmatch(r".*/\d{1,4}/image\d{1,9}\.png", _key(path))]
    for path in odd:
        folder.warn("unexpected-file", path, "not laid out as organ/NN/imageXX.png; not read")
    return [path for path in images if path not in set(odd)]


def _key(path: Path) -> str:
    """A place in the folder in either case."""
    return f"{path.parent.parent.name}/{path.parent.name}/{path.name}".lower()


def _number(image: Path) -> int:
    return int(image.stem.lower().removeprefix("image"))


def _row(folder: DataFolder, image: Path, mask: Path, number: int, organ: str) -> tuple[object, ...]:
    files = [path.relative_to(folder.root).as_posix() for path in (image, mask)]
    case = f"{image.parent.parent.name.lower()}/{image.parent.name}/{number}"
    return (case, f"{int(image.parent.name):02}", number, organ, *files)


def presence(folder: DataFolder) -> pl.DataFrame:
    """Weak labels: one row per image and organ; names such as `images00.png` are mapped to images by their number."""
    rows = []
    for path in folder.files("*/*/weak_labels.csv"):
        header, body = _header_and_body(folder, path)
        for number, cells in body:
            match = re.search(r"(\d{1,9})(\.png)?$", cells[0])
            if match is None or len(cells) != 1 + len(header) or not set(cells[1:]) <= {"0", "1"}:
                message = f"line {number}: expected a name and 0 or 1 for each of {len(header)} organs, got {cells[:4]}"
                folder.problem("malformed", path, message)
                continue
            case, video = f"{path.parent.parent.name.lower()}/{path.parent.name}/{int(match[1])}", path.parent.name
            rows += [
                (case, video.zfill(2), int(match[1]), organ, int(v)) for organ, v in zip(header, cells[1:], strict=True)
            ]
    schema = HEAD | {"organ": pl.String, "present": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _header_and_body(folder: DataFolder, path: Path) -> tuple[tuple[str, ...], list[tuple[int, list[str]]]]:
    """The organs and the numbered lines; a file whose first line holds labels has no header and is read by place."""
    lines = [[cell.strip() for cell in line.strip().rstrip(",").split(",")] for line in folder.lines(path)]
    numbered = list(enumerate(lines, start=1))
    if not lines:
        folder.problem("malformed", path, "empty file")
        return (), []
    if set(lines[0][1:]) <= {"0", "1"}:
        if len(lines[0]) != 1 + len(ORGANS):
            message = f"no header, and {len(lines[0]) - 1} labels instead of {len(ORGANS)}: the organs are not known"
            folder.problem("malformed", path, message)
            return (), []
        return ORGANS, numbered
    return tuple(lines[0][1:]), numbered[1:]


def one_row_per_image(references: References) -> References:
    """A column of 0 and 1 per organ; images of one folder state the same organs."""
    wide = references.table.pivot("organ", index=["case", "video"], values="present", aggregate_function="first")
    return replace(references, table=wide)
