"""Nests: which units a resample draws, and in which of them the next smaller ones lie.

`naive` draws rows, `cluster` whole videos, `two-stage` videos and then rows within them (Davison and
Hinkley 1997, "Bootstrap Methods", section 3.8); any other hierarchy is written from the largest unit to
the smallest, such as `center>video>rows`. In every drawn copy of a unit as many children are drawn as
it has, independently of the other copies.

Rows are put into one canonical order (unit, then case), so the order of a table changes no result.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TableInvalid, TooFewVideos
from surgvalid.schema.tables.score_table import ScoreMatrix

ROWS = "rows"
VIDEO = "video"
NAMED: dict[str, tuple[str, ...]] = {"naive": (ROWS,), "cluster": (VIDEO,), "two-stage": (VIDEO, ROWS)}
"""The resamples with a name of their own."""

Resample = str | Sequence[str]


@dataclass(frozen=True)
class Nest:
    """The units of a resample, largest first, over rows in canonical order."""

    levels: tuple[str, ...]
    order: np.ndarray
    """Row of the matrix at each canonical position."""
    starts: tuple[np.ndarray, ...]
    """Per level: where the units of each parent begin; the parent of the first level is the whole."""
    row_starts: np.ndarray
    """Where the rows of each smallest named unit (of each video, when naive) begin."""
    names: tuple[str, ...] = ()
    """What the largest units are called, in their order; rows are called by their case."""

    @property
    def draws_rows(self) -> bool:
        """Whether rows themselves are drawn."""
        return self.levels[-1] == ROWS

    @property
    def units(self) -> int:
        """How many of the smallest named units there are."""
        return len(self.row_starts) - 1

    @property
    def sizes(self) -> np.ndarray:
        """Rows per unit."""
        return np.diff(self.row_starts)

    @property
    def row_units(self) -> np.ndarray:
        """For each canonical position, its unit."""
        return np.repeat(np.arange(self.units), self.sizes)


def levels_of(resample: Resample) -> tuple[str, ...]:
    """The levels a resample names, largest first.

    Example:
        >>> levels_of("two-stage"), levels_of("center>video>rows")
        (('video', 'rows'), ('center', 'video', 'rows'))

    Raises:
        Misuse: The levels repeat, or rows are not the last of them.
    """
    if isinstance(resample, str):
        levels = NAMED.get(resample) or tuple(level.strip() for level in resample.split(">"))
    else:
        levels = tuple(resample)
    if not levels or "" in levels or len(set(levels)) < len(levels) or ROWS in levels[:-1]:
        raise Misuse(
            f"resample {resample!r} cannot be read; expected one of {', '.join(NAMED)} "
            "or levels from large to small such as 'center>video>rows'"
        )
    return levels


def label_of(resample: Resample) -> str:
    """The name of a resample as outputs show it.

    Example:
        >>> label_of(("video", "rows")), label_of(["center", "video"])
        ('two-stage', 'center>video')
    """
    levels = levels_of(resample)
    return next((name for name, known in NAMED.items() if known == levels), ">".join(levels))


def nest_of(matrix: ScoreMatrix, resample: Resample) -> Nest:
    """The nest of a resample over the cases of a matrix.

    Raises:
        Misuse: A level is no column of the table.
        TableInvalid: A unit lies in two larger ones, or has no value for a level.
    """
    levels = levels_of(resample)
    named = [level for level in levels if level != ROWS] or [VIDEO]
    codes = [_codes(matrix, level) for level in named]
    _check_nested(matrix, named, codes)
    leaf = codes[-1]
    size = np.bincount(leaf)[leaf]
    order = np.lexsort((_case_rank(matrix.cases), leaf, size, *reversed(codes[:-1])))
    row_starts = _run_starts(leaf[order])
    if levels == (ROWS,):
        cases = tuple(matrix.cases["case"].gather(order).cast(pl.String).to_list())
        return Nest(levels, order, (np.array([0, len(order)]),), row_starts, cases)
    starts = _starts([code[order][row_starts[:-1]] for code in codes])
    if levels[-1] == ROWS:
        starts = (*starts, row_starts)
    return Nest(levels, order, starts, row_starts, _called(matrix, levels[0], order[_run_starts(codes[0][order])[:-1]]))


def need_units(nest: Nest, where: str) -> None:
    """Refuse a nest whose largest unit exists only once.

    Raises:
        TooFewVideos: Nothing can be said about the spread between such units.
    """
    if len(nest.order) == 0:
        raise TooFewVideos(f"{where}: no cases to resample")
    if nest.levels != (ROWS,) and nest.starts[0][1] < 2:
        raise TooFewVideos(
            f"{where}: only one {nest.levels[0]}, so the spread between {nest.levels[0]}s is unknowable; "
            "add more; interval() with resample='naive' (--resample naive) describes this one alone"
        )


def _codes(matrix: ScoreMatrix, level: str) -> np.ndarray:
    if level == VIDEO:
        return matrix.videos
    if level not in matrix.cases.columns:
        raise Misuse(f"resample level {level!r} is no column; the cases have {', '.join(matrix.cases.columns)}")
    column = matrix.cases[level]
    if empty := column.null_count():
        raise TableInvalid("score table", [f"column {level!r}, a level of the resample, is empty for {empty} cases"])
    return np.unique(column.cast(pl.String).to_numpy().astype(str), return_inverse=True)[1]


def _called(matrix: ScoreMatrix, level: str, rows: np.ndarray) -> tuple[str, ...]:
    """The names of the units of a level, given a row of each."""
    if level == VIDEO:
        return tuple(matrix.video_names[code] for code in matrix.videos[rows].tolist())
    return tuple(matrix.cases[level].gather(rows).cast(pl.String).to_list())


def _check_nested(matrix: ScoreMatrix, names: Sequence[str], codes: Sequence[np.ndarray]) -> None:
    problems = []
    for (above, below), (large, small) in zip(itertools.pairwise(names), itertools.pairwise(codes), strict=True):
        pairs = np.unique(np.stack([small, large]), axis=1)[0]
        split = np.flatnonzero(np.bincount(pairs) > 1)
        if split.size:
            row = int(np.flatnonzero(small == split[0])[0])
            unit = matrix.cases[below][row]
            problems.append(f"{split.size} units of {below!r} lie in several of {above!r} (first: {unit!r})")
    if problems:
        raise TableInvalid("score table", problems)


def _case_rank(cases: pl.DataFrame) -> np.ndarray:
    key = [name for name in ("task", "case") if name in cases.columns]
    return cases.select(pl.struct(key).rank("ordinal")).to_series().to_numpy()


def _run_starts(codes: np.ndarray) -> np.ndarray:
    changes = np.flatnonzero(np.diff(codes)) + 1
    return np.concatenate([[0], changes, [len(codes)]]) if len(codes) else np.zeros(1, dtype=np.int64)


def _starts(paths: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Child offsets per level, from the codes of every level along the smallest named units."""
    tops = [_run_starts(path) for path in paths]
    starts = [np.array([0, len(tops[0]) - 1])]
    for above, below in itertools.pairwise(tops):
        starts.append(np.searchsorted(below, above))
    return tuple(starts)
