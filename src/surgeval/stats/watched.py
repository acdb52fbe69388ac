"""What is watched after a validation, as ratios of sums over videos: values, case mix, properties."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import Misuse, TableInvalid, UnknownName
from surgeval.schema.score_table import ScoreMatrix

MOST_LEVELS = 12
"""Labels of a column beyond which it is no stratum here: names, times, free text."""
FEWEST = 2
"""Videos of each period that a change can be judged by."""


class Check(NamedTuple):
    """One ratio that is watched."""

    kind: str
    """value, stratum, mix or property."""
    column: str
    level: str
    model: str
    totals: np.ndarray
    """`[video]`, above the line."""
    sizes: np.ndarray
    """`[video]`, below it; 0 where a video has nothing to say."""


def periods(matrix: ScoreMatrix, column: str, since: str) -> tuple[list[Any], np.ndarray]:
    """The time of each video, and whether it is new.

    Raises:
        TableInvalid: With every video that has no time or lies in both periods.
        Misuse: A period is empty, or times cannot be compared with `since`.
    """
    times = matrix.cases[column]
    edge = _edge(times, since)
    late = (times >= edge).fill_null(False).to_numpy() if times.dtype.is_numeric() else np.array(_late(times, edge))
    lacking = times.is_null().to_numpy()
    first: list[Any] = [None] * len(matrix.video_names)
    problems = []
    new = np.zeros(len(matrix.video_names), dtype=bool)
    for video, name in enumerate(matrix.video_names):
        rows = np.flatnonzero(matrix.videos == video)
        if lacking[rows].any():
            problems.append(f"video {name!r} has no {column}")
        elif 0 < late[rows].sum() < len(rows):
            problems.append(f"video {name!r} lies before and after {since}")
        new[video] = bool(late[rows].any())
        first[video] = times[int(rows[0])]
    if problems:
        raise TableInvalid(f"column {column!r}", problems)
    if min(int(new.sum()), int((~new).sum())) < FEWEST:
        raise Misuse(
            f"{int((~new).sum())} videos before {since} and {int(new.sum())} from then on; each period needs {FEWEST}"
        )
    return first, new


def _edge(times: pl.Series, since: str) -> Any:
    if not times.dtype.is_numeric():
        return since
    try:
        return float(since)
    except ValueError:
        raise Misuse(f"--since {since}: column {times.name!r} holds numbers; give one") from None


def _late(times: pl.Series, since: str) -> list[bool]:
    """Whether each time, in ISO form, is not before `since`: to its precision, text sorts as dates do."""
    texts = times.cast(pl.String).to_list()
    odd = [text for text in {*texts, since} if text is not None and not (_is_iso(text) and len(text) >= len(since))]
    if odd:
        listed = ", ".join(map(repr, sorted(odd)[:3]))
        raise Misuse(f"times must be numbers or ISO dates as exact as --since, such as 2026-03-01; got {listed}")
    return [text is not None and text[: len(since)] >= since for text in texts]


def _is_iso(text: str) -> bool:
    head = text[:10].split("-")
    widths = [len(piece) for piece in head]
    return all(piece.isdigit() for piece in head) and widths in ([4], [4, 2], [4, 2, 2])


def strata_columns(cases: pl.DataFrame, time_column: str, by: Sequence[str] | None) -> list[str]:
    """The columns that are strata here: those asked for, or all with few labels."""
    if by:
        unknown = [name for name in by if name not in cases.columns]
        if unknown:
            raise UnknownName("column", unknown[0], cases.columns)
        return [name for name in by if not _is_measure(cases[name])]
    listed = [name for name in cases.columns if name not in ("case", "video", "task", time_column)]
    return [name for name in listed if cases[name].n_unique() <= MOST_LEVELS and not _is_measure(cases[name])]


def _is_measure(column: pl.Series) -> bool:
    return column.dtype.is_float() or (column.dtype.is_integer() and column.n_unique() > MOST_LEVELS)


def values(matrix: ScoreMatrix, columns: Sequence[str]) -> Iterator[Check]:
    """The value of every model, over all cases and in every stratum."""
    every = np.ones(len(matrix.videos), dtype=bool)
    for place, model in enumerate(matrix.models):
        yield _check("value", "", "", model, matrix, matrix.values[:, place], every)
        for column, level, held in _levels(matrix, columns):
            yield _check("stratum", column, level, model, matrix, matrix.values[:, place], held)


def mix(matrix: ScoreMatrix, columns: Sequence[str]) -> Iterator[Check]:
    """The share of cases with every label."""
    every = np.ones(len(matrix.videos), dtype=bool)
    for column, level, held in _levels(matrix, columns):
        yield _check("mix", column, level, "", matrix, held.astype(np.float64), every)


def properties(matrix: ScoreMatrix, time_column: str, by: Sequence[str] | None) -> Iterator[Check]:
    """The mean of every column of numbers."""
    for column in by or matrix.cases.columns:
        if column in ("case", "video", "task", time_column) or not _is_measure(matrix.cases[column]):
            continue
        numbers = matrix.cases[column].cast(pl.Float64).to_numpy().astype(np.float64)
        yield _check("property", column, "", "", matrix, numbers, np.ones(len(numbers), dtype=bool))


def _levels(matrix: ScoreMatrix, columns: Sequence[str]) -> Iterator[tuple[str, str, np.ndarray]]:
    for column in columns:
        texts = matrix.cases[column].cast(pl.String).fill_null("(none)").to_numpy()
        levels = sorted(set(texts.tolist()))
        for level in levels if len(levels) > 1 else ():
            yield column, level, texts == level


def _check(
    kind: str, column: str, level: str, model: str, matrix: ScoreMatrix, numbers: np.ndarray, held: np.ndarray
) -> Check:
    known = held & np.isfinite(numbers)
    videos = len(matrix.video_names)
    totals = np.bincount(matrix.videos[known], weights=numbers[known], minlength=videos)
    sizes = np.bincount(matrix.videos[known], minlength=videos).astype(np.float64)
    return Check(kind, column, level, model, totals, sizes)


def can_be_judged(check: Check, new: np.ndarray) -> bool:
    """Whether both periods have videos enough."""
    held = check.sizes > 0
    return min(int((held & new).sum()), int((held & ~new).sum())) >= FEWEST
