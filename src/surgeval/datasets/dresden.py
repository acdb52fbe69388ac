"""Dresden Surgical Anatomy Dataset: binary organ masks, one folder per organ, and a folder with several organs.

A folder of an organ annotates that organ only: the others are unknown there, not absent.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, References, Task
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import HEAD

KIND = "data set"
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
_SPLIT = {
    "train": (1, 4, 5, 6, 8, 9, 10, 12, 15, 16, 17, 19, 22, 23, 24, 25, 27, 28, 29, 30, 31),
    "val": (3, 21, 26),
    "test": (2, 7, 11, 13, 14, 18, 20, 32),
}
_SCHEMA = HEAD | dict.fromkeys(("organ", "image_file", "mask_file"), pl.String)


def _single(folder: Folder) -> pl.DataFrame:
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


def _several(folder: Folder) -> pl.DataFrame:
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


def _images(folder: Folder, organ: str) -> list[Path]:
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


def _row(folder: Folder, image: Path, mask: Path, number: int, organ: str) -> tuple[object, ...]:
    files = [path.relative_to(folder.root).as_posix() for path in (image, mask)]
    case = f"{image.parent.parent.name.lower()}/{image.parent.name}/{number}"
    return (case, f"{int(image.parent.name):02}", number, organ, *files)


def _presence(folder: Folder) -> pl.DataFrame:
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


def _header_and_body(folder: Folder, path: Path) -> tuple[tuple[str, ...], list[tuple[int, list[str]]]]:
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


def _one_row_per_image(references: References) -> References:
    """A column of 0 and 1 per organ; images of one folder state the same organs."""
    wide = references.table.pivot("organ", index=["case", "video"], values="present", aggregate_function="first")
    return replace(references, table=wide)


_CLOCK = "images of a surgery, in no stated rate"
_BINARY = Comparison(kind="segmentation", masks="mask_file", options={"classes": (1,), "recoded": {255: 1}})

DATA_SET = DataSet(
    name="dresden",
    title="Dresden Surgical Anatomy Dataset",
    citation="Carstens et al., The Dresden Surgical Anatomy Dataset, Scientific Data 2023",
    source="https://figshare.com (Dresden Surgical Anatomy Dataset) or the card nct-tso/dsad on Hugging Face",
    checked_against="the maintainers' card and a kit",
    licence="CC BY 4.0",
    tasks={
        "organ": Task(
            summary="file of the mask of the folder's own organ", read=_single, clock=_CLOCK, compared=_BINARY
        ),
        "organs": Task(
            summary="files of the masks of every organ (multilabel)",
            read=_several,
            clock=_CLOCK,
            one_row_per_case=False,
            compared=_BINARY,
        ),
        "presence": Task(
            summary="weak labels: whether an organ is visible",
            read=_presence,
            clock=_CLOCK,
            one_row_per_case=False,
            compared=Comparison(kind="classification", moment="case", arranged=_one_row_per_image),
        ),
    },
    schemes={"official": {split: [f"{n:02}" for n in numbers] for split, numbers in _SPLIT.items()}},
    notes=(
        "In the folder of one organ the others are unknown, not absent: never count them as negatives.",
        "weak_labels.csv names files images00.png, ...; they are mapped by number, which is not confirmed.",
        "Surgery 14 has no weak labels. How masks in multilabel are named is not confirmed; maskXX_ORGAN.png is read.",
        "weak_labels.csv has no header in the copies seen: its twelve columns are the eleven organs and the uterus in "
        "alphabetical order (a kit's reader); a file with a header is read by it.",
    ),
)
