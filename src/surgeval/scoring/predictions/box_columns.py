"""COCO results of boxes read column by column: no object per detection.

Taken only where nothing needs to be found out: a list whose first record has whole-number ids, a `bbox` and nothing
that another form has. Whatever does not fit to the last record is left to the general reader, which says what is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surgeval.metrics.detection.coco_records import BoxColumns

_SCHEMA: dict[str, Any] = {
    "image_id": pl.Float64,  # not whole numbers: those would be cut off in silence
    "category_id": pl.Float64,
    "bbox": pl.List(pl.Float64),
    "score": pl.Float64,
}
_PLAIN = frozenset({*_SCHEMA, "id", "area", "iscrowd"})
_LARGEST = 2.0**53
_HEAD_BYTES = 4096


def read_box_columns(path: Path) -> BoxColumns | None:
    """The boxes of a JSON file of COCO results, or None where it is anything else."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES).decode("utf-8", "ignore").lstrip()
        first = _first_record(head)
        if first is None or not _is_plain(first):
            return None
        frame = pl.read_json(path, schema=_SCHEMA)
    except (OSError, pl.exceptions.PolarsError):
        return None
    return _columns(frame, scored="score" in first)


def _first_record(head: str) -> dict[str, object] | None:
    start = head.find("{")
    if not head.startswith("[") or head[1:start].strip() or start < 0:
        return None
    try:
        record = json.JSONDecoder().raw_decode(head, start)[0]
    except json.JSONDecodeError:
        return None
    return record if isinstance(record, dict) else None


def _is_plain(record: dict[str, object]) -> bool:
    ids = [record.get("image_id"), record.get("category_id")]
    return set(record) <= _PLAIN and "bbox" in record and all(type(one) is int for one in ids)


def _columns(frame: pl.DataFrame, *, scored: bool) -> BoxColumns | None:
    needed = ["image_id", "category_id", "bbox", *(["score"] if scored else [])]
    if any(frame[name].null_count() for name in needed) or (not scored and frame["score"].drop_nulls().len()):
        return None
    if not (frame["bbox"].list.len() == 4).all():
        return None
    box = frame["bbox"].list.to_array(4).to_numpy()
    ids = [frame[name].to_numpy() for name in needed[:2]]
    if any((one != np.round(one)).any() or (np.abs(one) > _LARGEST).any() for one in ids) or np.isnan(box).any():
        return None
    image, category = (one.astype(np.int64) for one in ids)
    return BoxColumns(image, category, box, frame["score"].to_numpy() if scored else None)
