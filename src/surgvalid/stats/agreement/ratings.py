"""Ratings: what each rater said about each unit, from a table of units or from a table of segments.

Segments (start, end, label per rater) become stretches of time in which no rater changes their mind.
Each stretch is one unit whose weight is its length in steps, so the result equals sampling at every step
when segments begin and end on steps, and is exact when they do not. Time outside a rater's segments is
that rater's idle label; a rater without any segment in a video has not rated it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.tables.tabular import as_frame

OVERLAPS = ("error", "first", "last")


@dataclass(frozen=True)
class Ratings:
    """Codes of categories by unit and rater."""

    codes: np.ndarray
    """`[unit, rater]`: index of the category, -1 where not rated."""
    categories: list[str]
    """In their order, where the scale has one."""
    raters: list[str]
    videos: np.ndarray
    """For each unit, the index of its video in `video_names`."""
    video_names: list[str]
    weights: np.ndarray
    """How much each unit counts: 1, or its length in steps."""
    has_videos: bool = True

    @property
    def numbers(self) -> np.ndarray:
        """`[unit, rater]`: the rated numbers, NaN where not rated.

        Raises:
            Misuse: A category is no number.
        """
        try:
            values = np.array([float(name) for name in self.categories])
        except ValueError:
            raise Misuse(f"this scale needs labels that are numbers, got {', '.join(self.categories[:5])}") from None
        return np.where(self.codes >= 0, np.append(values, np.nan)[self.codes], np.nan)


def unit_ratings(
    table: Any, *, unit: str, rater: str, label: str, video: str | None = None, order: Sequence[str] = ()
) -> Ratings:
    """Ratings from a table with one row per unit and rater; an empty label means not rated.

    Raises:
        TableInvalid: Columns are missing or empty, or a rater rated a unit of a video twice; every problem is listed.
    """
    frame = _needed(as_frame(table), [unit, rater, label, *([video] if video else [])])
    frame = frame.select(
        pl.col(unit).cast(pl.String).alias("unit"),
        pl.col(rater).cast(pl.String).alias("rater"),
        _text(frame, label).alias("label"),
        pl.col(video or unit).cast(pl.String).alias("video"),
    )
    problems = [
        f"column {name!r} is empty in {n} rows"
        for name in ("unit", "rater", "video")
        if (n := frame[name].null_count())
    ]
    repeated = frame.group_by("video", "unit", "rater").len().filter(pl.col("len") > 1).sort("unit", "rater")
    problems += [f"rater {row['rater']!r} rated unit {row['unit']!r} {row['len']} times" for row in repeated.to_dicts()]
    if problems:
        raise TableInvalid("ratings", problems)
    keys = frame.select("video", "unit").unique().sort("video", "unit")
    place = {key: i for i, key in enumerate(keys.rows())}
    raters = frame["rater"].unique().sort().to_list()
    categories = _categories(frame["label"], order)
    codes = np.full((len(place), len(raters)), -1)
    code = {name: i for i, name in enumerate(categories)}
    column = {name: i for i, name in enumerate(raters)}
    for where, whose, what in zip(frame.select("video", "unit").rows(), frame["rater"], frame["label"], strict=True):
        codes[place[where], column[whose]] = -1 if what is None else code[what]
    names, videos = np.unique(keys["video"].to_numpy().astype(str), return_inverse=True)
    return Ratings(codes, categories, raters, videos, names.tolist(), np.ones(len(place)), video is not None)


def segment_ratings(
    table: Any,
    *,
    video: str,
    rater: str,
    label: str,
    start: str,
    end: str,
    idle: str = "Idle",
    step_s: float = 1.0,
    order: Sequence[str] = (),
    overlaps: str = "error",
) -> Ratings:
    """Ratings from a table of segments; each video runs from 0 to the last end anybody marked in it.

    Raises:
        TableInvalid: With every segment that ends before it starts, starts before 0, or overlaps another one
            of its rater where that is an error.
    """
    if not 0 < step_s < np.inf:
        raise Misuse(f"step_s must be positive and finite, got {step_s!r}")
    frame = _needed(as_frame(table), [video, rater, label, start, end])
    frame = frame.select(
        pl.col(video).cast(pl.String).alias("video"),
        pl.col(rater).cast(pl.String).alias("rater"),
        _text(frame, label).alias("label"),
        pl.col(start).cast(pl.Float64, strict=False).alias("start"),
        pl.col(end).cast(pl.Float64, strict=False).alias("end"),
    ).sort("video", "rater", "start")
    if overlaps not in OVERLAPS:
        raise UnknownName("rule for overlaps", overlaps, OVERLAPS)
    if problems := _segment_problems(frame, overlaps):
        raise TableInvalid("segments", problems)
    raters = frame["rater"].unique().sort().to_list()
    categories = _categories(pl.concat([frame["label"], pl.Series("label", [idle])]), order)
    code = {name: i for i, name in enumerate(categories)}
    names = frame["video"].unique().sort().to_list()
    codes, weights, videos = [], [], []
    for index, name in enumerate(names):
        rows = frame.filter(pl.col("video") == name)
        edges = np.unique(np.concatenate([[0.0], rows["start"].to_numpy(), rows["end"].to_numpy()]))
        coded = np.full((len(edges) - 1, len(raters)), -1)
        for place, whose in enumerate(raters):
            mine = rows.filter(pl.col("rater") == whose)
            if mine.height:
                coded[:, place] = code[idle]
            mine = mine.reverse() if overlaps == "first" else mine
            for begin, stop, what in mine.select("start", "end", "label").iter_rows():
                coded[np.searchsorted(edges, begin) : np.searchsorted(edges, stop), place] = code[what]
        codes.append(coded)
        weights.append(np.diff(edges) / step_s)
        videos.append(np.full(len(edges) - 1, index))
    return Ratings(np.concatenate(codes), categories, raters, np.concatenate(videos), names, np.concatenate(weights))


def _needed(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    absent = [name for name in columns if name not in frame.columns]
    if absent or frame.is_empty():
        problems = [
            f"column {name!r} is missing; the table has {', '.join(map(repr, frame.columns))}" for name in absent
        ]
        raise TableInvalid("ratings", problems or ["the table has no rows"])
    return frame


def _text(frame: pl.DataFrame, label: str) -> pl.Expr:
    text = pl.col(label).cast(pl.String)
    if frame.schema[label].is_float():
        text = pl.when(pl.col(label).is_nan()).then(None).otherwise(text)
    return pl.when(text == "").then(None).otherwise(text)


def _categories(labels: pl.Series, order: Sequence[str]) -> list[str]:
    """The labels in the declared order, as numbers where all are numbers, alphabetically otherwise."""
    names = labels.drop_nulls().unique().to_list()
    if order:
        if repeated := sorted({name for name in order if list(order).count(name) > 1}):
            raise Misuse(f"order: {', '.join(map(repr, repeated))} is named twice; name each label once")
        if unknown := sorted(set(names) - set(order)):
            raise Misuse(f"labels {', '.join(map(repr, unknown))} are not in the declared order")
        return list(order)
    try:
        return sorted(names, key=float)
    except ValueError:
        return sorted(names)


def _segment_problems(frame: pl.DataFrame, overlaps: str) -> list[str]:
    empty = frame.filter(pl.any_horizontal(pl.all().is_null()))
    problems = [f"{empty.height} rows lack a value"] if empty.height else []
    whole = frame.drop_nulls()
    wrong = whole.filter((pl.col("end") <= pl.col("start")) | (pl.col("start") < 0) | ~pl.col("end").is_finite())
    problems += [
        f"segment {row['start']:g} to {row['end']:g} of rater {row['rater']!r} in video {row['video']!r} has no length"
        for row in wrong.to_dicts()
    ]
    if overlaps != "error":
        return problems
    before = pl.col("end").shift(1).over("video", "rater")
    overlap = whole.with_columns(before=before).filter(pl.col("before") > pl.col("start") + 1e-9)
    return problems + [
        f"segments of rater {row['rater']!r} in video {row['video']!r} overlap at {row['start']:g}; "
        "correct them, or pass overlaps='first' or 'last' to say which one counts"
        for row in overlap.to_dicts()
    ]
