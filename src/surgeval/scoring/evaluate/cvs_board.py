"""This run beside the published rows of the Endoscapes benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Any

import polars as pl

from surgeval.results.tables.evaluation import BOARDS
from surgeval.scoring.evaluate.cvs_rows import CODES, CRITERIA
from surgeval.scoring.evaluate.endoscapes_board import (
    BOX_NUMBERS,
    CVS_NUMBERS,
    MASK_NUMBERS,
    board,
    box_rows,
    cvs_rows,
    mask_rows,
)
from surgeval.scoring.evaluate.measure import Measured

_CODE = dict(zip(CRITERIA, CODES, strict=True))


def boards(
    model: str, measured: Measured, names: Set[str], lacking: Mapping[str, str] = MappingProxyType({})
) -> Mapping[str, pl.DataFrame]:
    """A board for every part of the benchmark that this run took part in, in percent.

    Args:
        model: What the model is called.
        measured: The values of this run.
        names: The metrics that this run could have; they say which boards there are.
        lacking: By metric, what this run lacks of the test part that published rows are of.
    """
    tables = {}
    if "cvs_map" in names:
        numbers = _parts(measured, "ap", "map", _CODE) | _parts(measured, "balanced_accuracy", "bacc", _CODE)
        numbers |= {"map_mean": _value(measured, "cvs_map"), "bacc_mean": _value(measured, "cvs_bacc")}
        tables["board_cvs"] = board(
            BOARDS["cvs"],
            cvs_rows(),
            _this_run(model, measured, numbers, "cvs_map"),
            CVS_NUMBERS,
            "map_mean",
            lacking.get("cvs_map", ""),
        )
    if "bbox_map" in names:
        numbers = {**_parts(measured, "bbox_ap", "", {}), "bbox_map": _value(measured, "bbox_map")}
        tables["board_boxes"] = board(
            BOARDS["boxes"],
            box_rows(),
            _this_run(model, measured, numbers, "bbox_map"),
            BOX_NUMBERS,
            "bbox_map",
            lacking.get("bbox_map", ""),
        )
    if "segm_map" in names:
        numbers = _parts(measured, "segm_ap", "segm", {}) | _parts(measured, "seg50_bbox_ap", "bbox", {})
        numbers |= {"segm_map": _value(measured, "segm_map"), "bbox_map": _value(measured, "seg50_bbox_map")}
        tables["board_masks"] = board(
            BOARDS["masks"],
            mask_rows(),
            _this_run(model, measured, numbers, "segm_map"),
            MASK_NUMBERS,
            "segm_map",
            lacking.get("segm_map", ""),
        )
    return tables


def _this_run(model: str, measured: Measured, numbers: Mapping[str, float | None], name: str) -> dict[str, Any]:
    row = measured.metrics.filter(pl.col("metric") == name)
    conventions = f"percent; {row['conventions'].item()}" if row.height else "percent; as in conventions.json"
    ends = row.select("low", "high").row(0) if row.height else (None, None)
    mark = None if None in ends else f"{name}: interval {100 * ends[0]:.1f} to {100 * ends[1]:.1f} over videos"
    return {"model": model, **numbers, "mark": mark, "conventions": conventions}


def _value(measured: Measured, name: str) -> float | None:
    row = measured.metrics.filter(pl.col("metric") == name)
    return _percent(row["value"].item()) if row.height else None


def _parts(measured: Measured, metric: str, prefix: str, codes: Mapping[str, str]) -> dict[str, float | None]:
    rows = measured.per_class.filter(pl.col("metric") == metric).select("class", "value").rows()
    return {f"{prefix}_{codes.get(label, label)}".removeprefix("_"): _percent(value) for label, value in rows}


def _percent(value: float | None) -> float | None:
    return None if value is None else round(100 * value, 1)
