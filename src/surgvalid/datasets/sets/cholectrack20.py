"""CholecTrack20: 20 cholecystectomies with tool boxes and three identities per tool.

The README and the converter name the same keys differently; both are accepted. Boxes are normalised. Keys are frame
numbers at 25 fps that count from 1 in steps of 25, unlike those of Cholec80, which count from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.datasets._data_set import Schemes
from surgvalid.datasets._folder import DataFolder, whole_number
from surgvalid.datasets._layouts import HEAD

VIDEOS = (1, 2, 4, 6, 7, 11, 12, 13, 17, 23, 25, 30, 31, 37, 39, 92, 96, 103, 110, 111)
PERSPECTIVES = ("intraoperative", "intracorporeal", "visibility")
CONDITIONS = ("crowded", "occluded", "bleeding", "smoke", "blurred", "undercoverage", "reflection", "stainedlens")
PARTS = {"training": "train", "validation": "val", "testing": "test"}
"""Folders and the parts of the split that they are."""
_SWAPPED = {
    "VID30": "which video its annotations belong to is unclear, and the maintainers say to ignore it",
    "VID31": "its annotations are those of VID30",
}
_LARGEST = 1e9
_TOOL_KEYS = ("instrument", "category")
_SCHEMA = HEAD | {
    "split": pl.String,
    "instrument": pl.Int64,
    **dict.fromkeys((f"{name}_track" for name in PERSPECTIVES), pl.Int64),
    **dict.fromkeys(("x", "y", "width", "height"), pl.Float64),
    **dict.fromkeys(("image_width_px", "image_height_px"), pl.Int64),
    "operator": pl.Int64,
    "phase": pl.Int64,
    **dict.fromkeys(CONDITIONS, pl.Int64),
}


def tracks(folder: DataFolder) -> pl.DataFrame:
    """One row per box."""
    rows = [row for video, path in _files(folder) for row in _rows(folder, video, path)]
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _files(folder: DataFolder) -> Iterator[tuple[str, Path]]:
    for name, path in folder.named("*/VID*/VID*.json", r"(VID\d{2,3})\.json"):
        video = name.upper()
        if video in _SWAPPED:
            folder.warn("doubtful-video", path, f"{video}: {_SWAPPED[video]} (CAMMA-public/cholectrack20, issue 10)")
        if int(video[3:]) not in VIDEOS:
            folder.problem("unknown-video", path, f"{video} is not among the 20 videos")
        elif path.parent.name.upper() != video:
            folder.problem("malformed", path, f"lies in the folder of {path.parent.name}")
        else:
            yield video, path


def _rows(folder: DataFolder, video: str, path: Path) -> Iterator[tuple[object, ...]]:
    content = folder.json_object(path) or {"annotations": {}}
    frames, about = content.get("annotations"), content.get("video")
    size = [_size(about.get(side)) if isinstance(about, dict) else None for side in ("width", "height")]
    if not isinstance(frames, dict):
        folder.problem("malformed", path, "lacks the object 'annotations'")
        return
    for frame, boxes in frames.items():
        number = whole_number(frame)
        if number is None or not isinstance(boxes, list):
            folder.problem("malformed", path, f"frame {frame[:20]!r}: expected a number and a list")
            continue
        for box in boxes:
            if problem := _problem(box):
                folder.problem("malformed", path, f"frame {frame}: {problem}")
                continue
            base = (f"{video}/{number}", video, number, _split(path), _first(box, _TOOL_KEYS))
            tracks = [_first(box, _track_keys(name)) for name in PERSPECTIVES]
            rest = [_whole(box.get(key)) for key in ("operator", "phase", *CONDITIONS)]
            yield (*base, *tracks, *map(float, box["tool_bbox"]), *size, *rest)


def _split(path: Path) -> str:
    folder = path.parent.parent.name
    return PARTS.get(folder.lower(), folder)


def _track_keys(perspective: str) -> tuple[str, str]:
    return f"{perspective}_track", f"{perspective}_track_id"


def _whole(value: object) -> int | None:
    if not isinstance(value, int | float) or not abs(value) < _LARGEST or value != int(value):
        return None
    return int(value)


def _size(value: object) -> int | None:
    pixels = _whole(value)
    return pixels if pixels is not None and pixels > 0 else None


def _first(box: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((_whole(box[key]) for key in keys if key in box), None)


def _problem(box: Any) -> str:
    if not isinstance(box, dict):
        return f"expected an object, got {str(box)[:40]}"
    numbers = box.get("tool_bbox")
    if not isinstance(numbers, list) or len(numbers) != 4 or not all(isinstance(n, int | float) for n in numbers):
        return f"tool_bbox is not four numbers: {str(numbers)[:40]}"
    if not all(-0.01 <= number <= 1.01 for number in numbers):
        return f"tool_bbox is not normalised: {str(numbers)[:60]}"
    lacking = [keys[0] for keys in (_TOOL_KEYS, *map(_track_keys, PERSPECTIVES)) if _first(box, keys) is None]
    return f"lacks {', '.join(lacking)}" if lacking else ""


def schemes(folder: DataFolder) -> Schemes:
    """The parts that the folders are."""
    parts: dict[str, list[str]] = {}
    for path in folder.files("*/VID*/VID*.json", needed=False):
        parts.setdefault(_split(path), []).append(path.stem.upper())
    return {"folders": parts}
