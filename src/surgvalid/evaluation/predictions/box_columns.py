"""COCO results and annotations of boxes read column by column: no object per box.

Taken only where nothing needs to be found out: records with whole-number ids and a `bbox`, in results nothing that
another form has. Whatever does not fit to the last record is left to the general reader, which says what is wrong.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl

from surgvalid.metrics.detection.cases import BoxColumns

_BOX: dict[str, Any] = {
    "image_id": pl.Float64,  # not whole numbers: those would be cut off in silence
    "category_id": pl.Float64,
    "bbox": pl.List(pl.Float64),
}
_RESULT = {**_BOX, "score": pl.Float64, "file_name": pl.String}
_ANNOTATION = {**_BOX, "area": pl.Float64, "iscrowd": pl.Float64, "id": pl.Float64}
_PLAIN = frozenset({*_RESULT, *_ANNOTATION})
_LARGEST = 2.0**53
_HEAD_BYTES = 4096
_PIECE_BYTES = 1 << 19
_BETWEEN = re.compile(rb"}\s*,\s*\Z")
_LIST = re.compile(rb'"annotations"\s*:\s*\[')
_OTHERS = b'"images"', b'"categories"', b'"info"', b'"licenses"'


def read_box_columns(path: Path) -> BoxColumns | None:
    """The boxes of a JSON file of COCO results, or None where it is anything else."""
    try:
        with path.open("rb") as file:
            first = _first_plain(file.read(_HEAD_BYTES).decode("utf-8", "ignore").lstrip())
            if first is None:
                return None
            file.seek(0)
            frame = _frame(file, _RESULT)
    except (OSError, pl.exceptions.PolarsError):
        return None
    score, name = frame["score"], frame["file_name"]
    if not _complete(score, needed="score" in first) or not _complete(name):
        return None
    columns = _columns(frame)
    return columns and columns._replace(
        score=score.to_numpy() if "score" in first else None, name=None if name.has_nulls() else name.to_numpy()
    )


def read_data_set_columns(path: Path) -> dict[str, Any] | None:
    """A COCO data set of boxes with its annotations by columns, or None where it is anything else.

    CVAT's `attributes` change what a crowd is, so they are left to the general reader.
    """
    try:
        text = path.read_bytes()
    except OSError:
        return None
    if text.count(b'"annotations"') != 1 or b'"attributes"' in text or not (list_start := _LIST.search(text)):
        return None
    start = list_start.end() - 1
    following = [place for name in _OTHERS if (place := text.find(name, start)) > 0]
    end = text.rfind(b"]", start, min(following, default=len(text))) + 1
    try:
        content = json.loads(text[:start] + b"[]" + text[end:])
        frame = _frame(io.BytesIO(text[start:end]), _ANNOTATION)
    except (ValueError, RecursionError, pl.exceptions.PolarsError):
        return None
    columns, crowd = _columns(frame), frame["iscrowd"].fill_null(0).to_numpy()
    if not isinstance(content, dict) or content.get("annotations") != [] or columns is None:
        return None
    if not np.isin(crowd, (0, 1)).all():
        return None
    number = frame["id"].fill_null(1).to_numpy()
    return {**content, "annotations": columns._replace(area=frame["area"].to_numpy(), crowd=crowd == 1, number=number)}


def _frame(file: BinaryIO, schema: dict[str, Any]) -> pl.DataFrame:
    return pl.concat([pl.read_json(piece, schema=schema) for piece in _pieces(file)])


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """The list in a file as lists of some records each: parsing one takes many times its length in memory,
    and pieces that fit into the cache of a processor half the time.

    Cut is only where a record follows another; text that looks like it leaves pieces that no reader takes.
    """
    opening, rest = b"", b""
    while block := file.read(_PIECE_BYTES):
        rest += block
        cut = rest.rfind(b"{")
        between = _BETWEEN.search(rest, max(cut - _HEAD_BYTES, 0), max(cut, 0))
        if between:
            yield b"".join((opening, memoryview(rest)[: between.start() + 1], b"]"))
            opening, rest = b"[", rest[cut:]
    yield opening + rest


def _first_plain(head: str) -> dict[str, Any] | None:
    """The first record of a list, where it says nothing but what results do."""
    start = head.find("{")
    if not head.startswith("[") or head[1:start].strip() or start < 0:
        return None
    try:
        record: dict[str, Any] = json.JSONDecoder().raw_decode(head, start)[0]
    except json.JSONDecodeError:
        return None
    ids = [record.get("image_id"), record.get("category_id")]
    return record if set(record) <= _PLAIN and "bbox" in record and all(type(one) is int for one in ids) else None


def _complete(column: pl.Series, *, needed: bool = False) -> bool:
    """Whether every record has the entry, or none where it is not needed."""
    return column.null_count() in ((0,) if needed else (0, len(column)))


def _columns(frame: pl.DataFrame) -> BoxColumns | None:
    if any(frame[name].has_nulls() for name in _BOX) or not (frame["bbox"].list.len() == 4).all():
        return None
    box = frame["bbox"].list.to_array(4).to_numpy()
    ids = [frame[name].to_numpy() for name in ("image_id", "category_id")]
    if any((one != np.round(one)).any() or (np.abs(one) > _LARGEST).any() for one in ids) or np.isnan(box).any():
        return None
    image, category = (one.astype(np.int64) for one in ids)
    return BoxColumns(image, category, box)
