"""Boxes and masks of detections as a shard leaves them, and all shards put together again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from surgvalid.evaluation.shards import Gathered, stacked
from surgvalid.metrics.detection.cases import DetectionCases, Objects
from surgvalid.metrics.detection.masks import Mask

_FACTS = ("names", "overlap", "form", "silent")
_SIDES = ("reference", "prediction")
_BOX = ("x", "y", "width", "height")
_SINGLE = {"score": np.float64, "crowd": bool, "area": np.float64, "numbered_0": bool}


Overlap = Literal["box", "mask"]


class Detections(NamedTuple):
    """What a COCO data set and a list of results hold, images drawn by video."""

    cases: DetectionCases
    records: list[Mapping[str, Any]]
    """The image records, in the order of the cases."""
    videos: list[str]
    """Of every image."""
    names: list[str]
    """Of the categories."""
    overlap: Overlap
    form: str = ""
    """What the predictions were interpreted as, in a sentence."""
    silent: tuple[str, ...] = ()
    """Videos of which the caller says that nothing was detected there."""

    @property
    def confidence(self) -> Literal["scores", "none"]:
        """Whether detections have scores; where there is none, nobody misses any."""
        given = self.cases.prediction
        return "scores" if given.score is not None or not len(given) else "none"


def gathered_boxes(detected: Detections, places: np.ndarray, videos: tuple[str, ...]) -> Gathered:
    """The images and objects of a shard.

    Args:
        detected: Of its images alone.
        places: The place of every image among all, which decides between equal scores.
        videos: All videos, of the other shards too.
    """
    images = pl.DataFrame(
        {
            "video": detected.videos,
            "place": places,
            "record": [json.dumps(record, default=str) for record in detected.records],
        }
    )
    sides = {side: _table(getattr(detected.cases, side), places) for side in _SIDES}
    facts = {name: getattr(detected, name) for name in _FACTS}
    return Gathered(facts, {"images": images, **sides}, videos)


def _table(objects: Objects, places: np.ndarray) -> pl.DataFrame:
    columns: dict[str, Any] = {"place": places[objects.image], "category": objects.category}
    if objects.box is not None:
        columns |= dict(zip(_BOX, objects.box.T, strict=True))
    columns |= {name: getattr(objects, name) for name in _SINGLE if getattr(objects, name) is not None}
    if objects.mask is not None:
        columns["edges"] = pl.Series([mask.edges.tolist() for mask in objects.mask], dtype=pl.List(pl.Int64))
        columns |= {f"mask_{side}": [getattr(mask, side) for mask in objects.mask] for side in ("height", "width")}
    return pl.DataFrame(columns)


def rejoined_boxes(parts: Sequence[Gathered]) -> Detections:
    """The images and objects of all shards, as if they had been read at once.

    Images of shards of one run have different places. Those of several sites may share some; each site keeps its own,
    in the order of the sites.
    """
    moved = [
        {name: frame.with_columns(pl.col("place") + start) for name, frame in one.frames.items()}
        for one, start in zip(parts, _starts(parts), strict=True)
    ]
    images = pl.concat([one["images"] for one in moved]).sort("place")
    order = images["place"].to_numpy()
    objects = []
    for side in _SIDES:
        table = pl.concat([one[side] for one in moved], how="diagonal_relaxed").sort("place", maintain_order=True)
        objects.append(_objects(table, np.searchsorted(order, table["place"].to_numpy())))
    videos = images["video"].to_list()
    facts = {name: parts[0].facts[name] for name in _FACTS}
    cases = DetectionCases(images.height, objects[0], objects[1], max(len(facts["names"]), 1), videos)
    records = [json.loads(record) for record in images["record"]]
    return Detections(cases, records, videos, **facts)


def _starts(parts: Sequence[Gathered]) -> list[int]:
    """What is added to the places of each shard so that none is there twice."""
    places = stacked(parts, "images")["place"]
    if places.is_unique().all():
        return [0] * len(parts)
    lengths = [int(one.frames["images"]["place"].max() or 0) + 1 for one in parts]  # type: ignore[arg-type]
    return [0, *np.cumsum(lengths[:-1]).tolist()]


def _objects(table: pl.DataFrame, image: np.ndarray) -> Objects:
    given: dict[str, Any] = {}
    for name, kind in _SINGLE.items():
        if name in table.columns:  # flags that a shard lacks are off there
            column = table[name].fill_null(False) if kind is bool else table[name]
            given[name] = column.to_numpy().astype(kind)
    if "x" in table.columns:
        given["box"] = table.select(_BOX).to_numpy()
    if "edges" in table.columns:
        rows = zip(table["mask_height"], table["mask_width"], table["edges"], strict=True)
        given["mask"] = [Mask(height, width, edges.to_numpy()) for height, width, edges in rows]
    return Objects(image.astype(np.intp), table["category"].to_numpy().astype(np.intp), **given)
