"""Boxes, phases and steps from COCO files whose annotations carry more than a box, as GraSP and PSI-AVA have them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from surgeval.datasets._boxes import BOX, SIZE, box_problem, pixels
from surgeval.datasets._folder import Folder
from surgeval.datasets._layouts import HEAD

_IMAGE = re.compile(r"(CASE\d{3})/(\d{1,12})\.\w+")
_MOST_PROBLEMS = 20


def read_boxes(folder: Folder, files: Mapping[Path, str]) -> pl.DataFrame:
    """One row per box with its actions; an image without any is a row without a class.

    Args:
        folder: Where problems are noted.
        files: Each file and the part of the split that it holds.
    """
    rows: list[tuple[object, ...]] = []
    for path, split, content in _contents(folder, files):
        names = {c["id"]: str(c["name"]) for c in _records(content, "categories") if {"id", "name"} <= set(c)}
        images = _images(folder, path, content)
        seen = set()
        for one in _records(content, "annotations"):
            if "bbox" not in one:
                continue
            image, kind = images.get(one.get("image_id")), one.get("category_id")
            wrong = box_problem(one["bbox"])
            if image is None or kind not in names or wrong:
                _problem(folder, path, f"annotation {str(one.get('id'))[:20]}: {wrong or 'unknown image or category'}")
                continue
            seen.add(one["image_id"])
            outline = json.dumps(one["segmentation"]) if one.get("segmentation") else None
            actions = [int(action) for action in one.get("actions", []) if isinstance(action, int)]
            rows.append((*_about(image, split), kind, names[kind], actions, outline, *map(float, one["bbox"])))
        rows += [
            (*_about(image, split), None, None, None, None, *[None] * len(BOX))
            for key, image in images.items()
            if key not in seen
        ]
    schema: dict[str, Any] = HEAD | {"split": pl.String, "image_id": pl.Int64, "image_file": pl.String} | SIZE
    schema |= {"category_id": pl.Int64, "category": pl.String, "actions": pl.List(pl.Int64), "segmentation": pl.String}
    return pl.DataFrame(rows, schema=schema | BOX, orient="row")


def read_moments(folder: Folder, files: Mapping[Path, str], key: str) -> pl.DataFrame:
    """One row per image with its phase or step, which annotations call in the singular or the plural."""
    rows: dict[str, tuple[object, ...]] = {}
    for path, split, content in _contents(folder, files):
        images = _images(folder, path, content)
        for one in _records(content, "annotations"):
            image, label = images.get(one.get("image_id")), one.get(key, one.get(f"{key}s"))
            if image is None or not isinstance(label, int):
                _problem(folder, path, f"annotation {str(one.get('id'))[:20]}: no image or no {key}")
                continue
            case, video, frame = _case(image)
            first = rows.setdefault(case, (case, video, frame, split, label))
            if first[-1] != label:
                _problem(folder, path, f"{case} has the {key}s {first[-1]} and {label}")
    return pl.DataFrame(list(rows.values()), schema=HEAD | {"split": pl.String, key: pl.Int64}, orient="row")


def _contents(folder: Folder, files: Mapping[Path, str]) -> Iterator[tuple[Path, str, dict[str, Any]]]:
    for path, split in files.items():
        content = folder.json_object(path)
        if content is not None and not _records(content, "images"):
            folder.problem("malformed", path, "lacks 'images'")
        elif content is not None:
            yield path, split, content


def _images(folder: Folder, path: Path, content: dict[str, Any]) -> dict[Any, dict[str, Any]]:
    records = {}
    for record in _records(content, "images"):
        if isinstance(record.get("id"), int) and _IMAGE.search(str(record.get("file_name"))):
            records[record["id"]] = record
        else:
            _problem(folder, path, f"an image without id or a name like CASE001/00001.jpg: {str(record)[:80]}")
    return records


def _about(image: dict[str, Any], split: str) -> tuple[object, ...]:
    size = pixels(image.get("width")), pixels(image.get("height"))
    return (*_case(image), split, image["id"], str(image["file_name"]), *size)


def _case(image: dict[str, Any]) -> tuple[str, str, int]:
    match = _IMAGE.search(str(image["file_name"]))
    video, number = (match[1], int(match[2])) if match else ("", 0)
    return f"{video}/{number}", video, number


def _records(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    value = content.get(key)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _problem(folder: Folder, path: Path, message: str) -> None:
    if sum(finding.code == "malformed" for finding in folder.findings) < _MOST_PROBLEMS:
        folder.problem("malformed", path, message)
