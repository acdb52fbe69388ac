"""Bootstrap replicates of a statistic, for all models at once and paired by construction.

Two estimands are kept apart. `rows`: the statistic of all rows together, so a long video weighs more.
`videos`: the mean over videos of the statistic within each, so every procedure weighs the same. For a
mean both are sums over drawn rows and cost one pass; other statistics weight the rows by their counts.
In a two-stage resample every drawn copy of a video has its own rows, so the statistic within videos is
taken per copy.

The interval of a drawn method runs between two quantiles of the replicates (percentile bootstrap; Efron and Tibshirani
1993, chapter 13, with whole units drawn: Davison and Hinkley 1997, section 3.8). Cost is linear in rows and replicates,
and memory is bounded by the blocks of `draws.blocks`, whatever the table's size.

The decision a reader would question: no BCa or other correction of the ends. With few videos none of them repairs the
coverage; method `auto` does, and the plain percentiles are here to repeat published work.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.draws import blocks, picks, unit_keys
from surgvalid.stats.intervals.interval_settings import check_level
from surgvalid.stats.intervals.nesting import ROWS, VIDEO, Nest, Resample, nest_of
from surgvalid.stats.intervals.pooled import PooledStatistic
from surgvalid.stats.intervals.statistic import Statistic, Summed, Weighted, divided, unweighted

Estimand = Literal["rows", "videos"]
ESTIMANDS = ("rows", "videos")
ESTIMAND_PROSE = {"rows": "over all rows pooled", "videos": "averaged over videos"}
"""How a sentence names each estimand."""
SMALL_PRODUCT = 200_000
"""Multiplications in a matrix product that stays on one thread."""
BLOCK_CELLS = 8_000_000
"""Counts held at once where a statistic needs all rows of a replicate together."""


@dataclass(frozen=True)
class Sample:
    """Scores in canonical order with the nest that resamples them."""

    values: np.ndarray
    """`[row, model]`, NaN where not scored; the numbers of the rows where the statistic knows what they stand for."""
    nest: Nest
    statistic: Weighted
    estimand: Estimand

    @classmethod
    def of(cls, matrix: ScoreMatrix, *, statistic: str | Statistic, resample: Resample, estimand: str) -> Sample:
        """The sample of a matrix; one with statistics is sampled by what they combine to, whatever else is named.

        Raises:
            UnknownName: No such estimand.
            Misuse: The estimand `videos` with a resample whose smallest named unit is not the video.
        """
        if estimand not in ESTIMANDS:
            raise UnknownName("estimand", estimand, ESTIMANDS)
        nest = nest_of(matrix, resample)
        named = [level for level in nest.levels if level != ROWS]
        if estimand == "videos" and named and named[-1] != VIDEO:
            raise Misuse(
                f"estimand 'videos' needs the video as smallest unit of the resample, got {'>'.join(nest.levels)}; "
                "end the hierarchy with 'video' or 'video>rows', or ask for estimand 'rows'"
            )
        if matrix.statistics is not None:
            return cls(nest.order, nest, PooledStatistic.of(matrix), "rows")
        return cls(np.take(matrix.values, nest.order, axis=0), nest, Statistic.read(statistic), estimand)  # type: ignore[arg-type]

    @property
    def columns(self) -> int:
        """How many values a replicate has: one per model."""
        return self.statistic.width(self.values)

    def point(self) -> np.ndarray:
        """The value of each model on the table itself."""
        if self.estimand == "rows":
            return unweighted(self.statistic, self.values)
        return mean_of_units(self.within_units())

    def within_units(self) -> np.ndarray:
        """The statistic within each smallest named unit (video): `[unit, model]`."""
        starts = self.nest.row_starts
        if self.statistic.is_mean:
            return divided(*unit_sums(self.values, starts))
        parts = [unweighted(self.statistic, self.values[a:b]) for a, b in itertools.pairwise(starts)]
        return np.stack(parts)

    def replicates(self, keys: np.ndarray) -> np.ndarray:
        """The value of each model in each replicate: `[replicate, model]`."""
        if self.estimand == "rows":
            return self._pooled(keys)
        return self._by_video(keys)

    def _pooled(self, keys: np.ndarray) -> np.ndarray:
        if isinstance(self.statistic, Summed) and not self.nest.draws_rows:
            per_unit = np.add.reduceat(self.statistic.summands(self.values), self.nest.row_starts[:-1], axis=0)
            return self.statistic.of_sums(unit_counts(self.nest, keys).astype(np.float64) @ per_unit)
        if not self.statistic.is_mean:
            out = np.empty((len(keys), self.columns))
            for rows, counts in row_count_blocks(self.nest, keys):
                out[rows] = self.statistic.weighted(counts, self.values)
            return out
        scored = np.isfinite(self.values)
        if self.nest.draws_rows and scored.all():
            return divided(drawn_sums(self.nest, keys, self.values), self._drawn_rows(keys))
        if self.nest.draws_rows:
            parts = np.concatenate([np.where(scored, self.values, 0.0), scored], axis=1)
            sums = drawn_sums(self.nest, keys, parts)
            return divided(sums[:, : self.columns], sums[:, self.columns :])
        totals, sizes = unit_sums(self.values, self.nest.row_starts)
        counts = unit_counts(self.nest, keys).astype(np.float64)
        return divided(counts @ totals, counts @ sizes)

    def _drawn_rows(self, keys: np.ndarray) -> np.ndarray:
        """How many rows each replicate has, as a column."""
        counts = unit_counts(self.nest, keys)
        return np.asarray(counts @ np.diff(self.nest.starts[-1]))[:, None]

    def _by_video(self, keys: np.ndarray) -> np.ndarray:
        if self.nest.levels == (ROWS,):
            return self._rows_then_videos(keys)
        if not self.nest.draws_rows:
            counts = unit_counts(self.nest, keys).astype(np.float64)
            within = self.within_units()
            known = np.isfinite(within)
            return divided(counts @ np.where(known, within, 0.0), counts @ known.astype(np.float64))
        if self.statistic.is_mean and np.isfinite(self.values).all():
            sums = drawn_sums(self.nest, keys, self.values, 1.0 / self.nest.sizes)
            return divided(sums, unit_counts(self.nest, keys).sum(axis=1, keepdims=True))
        return self._copy_by_copy(keys)

    def _rows_then_videos(self, keys: np.ndarray) -> np.ndarray:
        out = np.empty((len(keys), self.columns))
        starts = self.nest.row_starts
        for rows, counts in row_count_blocks(self.nest, keys):
            within = [self.statistic.weighted(counts[:, a:b], self.values[a:b]) for a, b in itertools.pairwise(starts)]
            out[rows] = mean_of_units(np.stack(within))
        return out

    def _copy_by_copy(self, keys: np.ndarray) -> np.ndarray:
        """Every drawn copy of a video with rows of its own; copies without a scored row do not count."""
        parents = unit_counts(self.nest, keys)
        starts = self.nest.row_starts
        totals = np.zeros((len(keys), self.columns))
        known = np.zeros_like(totals)
        level = len(self.nest.starts) - 1
        for first, last, size in equal_runs(starts):
            for unit in range(first, last):
                names = unit_keys(keys, level, np.array([unit]))
                values = self.values[starts[unit] : starts[unit + 1]]
                for rows, _ in blocks(len(keys), 1, size):
                    picked = picks(names[rows], parents[rows, unit : unit + 1], size)
                    copies = np.arange(len(picked.cell))[:, None]
                    flat = (picked.children + copies * size).ravel()
                    counts = np.bincount(flat, minlength=len(copies) * size).reshape(-1, size)
                    within = self.statistic.weighted(counts, values)
                    scored = np.isfinite(within)
                    np.add.at(totals[rows], picked.cell, np.where(scored, within, 0.0))
                    np.add.at(known[rows], picked.cell, scored.astype(np.float64))
        return divided(totals, known)


def unit_sums(values: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of the scored rows of each unit: two arrays `[unit, model]`."""
    scored = np.isfinite(values)
    if not len(values):
        return np.zeros((0, values.shape[1])), np.zeros((0, values.shape[1]))
    if scored.all():
        totals = np.add.reduceat(values, starts[:-1], axis=0)
        return totals, np.broadcast_to(np.diff(starts).astype(np.float64)[:, None], totals.shape)
    totals = np.add.reduceat(np.where(scored, values, 0.0), starts[:-1], axis=0)
    return totals, np.add.reduceat(scored.astype(np.float64), starts[:-1], axis=0)


def mean_of_units(within: np.ndarray) -> np.ndarray:
    """The mean over the first axis of what is known; NaN where nothing is."""
    known = np.isfinite(within)
    return divided(np.where(known, within, 0.0).sum(axis=0), known.sum(axis=0))


class ReplicateBounds(NamedTuple):
    """Lower and upper ends, one per model."""

    low: np.ndarray
    high: np.ndarray


def bounds(replicates: np.ndarray, *, level: float = 0.95) -> ReplicateBounds:
    """The ends of the percentile interval of each column, linear between replicates.

    Args:
        replicates: `[replicate, column]`; NaN replicates (nothing scored was drawn) are left aside.
        level: Coverage asked for.

    Raises:
        Misuse: A level outside (0, 1).
    """
    check_level(level)
    tails = [(1 - level) / 2, 1 - (1 - level) / 2]
    ends = np.full((2, replicates.shape[1]), np.nan)
    whole = np.isfinite(replicates).all(axis=0)
    if whole.any():
        ends[:, whole] = np.quantile(replicates[:, whole], tails, axis=0)
    for column in np.flatnonzero(~whole):
        known = replicates[np.isfinite(replicates[:, column]), column]
        if known.size:
            ends[:, column] = np.quantile(known, tails)
    return ReplicateBounds(*ends)


def replicate_sd(draws: np.ndarray) -> np.ndarray:
    """SD of the replicates of each column, leaving aside those where nothing scored was drawn."""
    known = np.isfinite(draws)
    number = known.sum(axis=0)
    mean = np.where(known, draws, 0.0).sum(axis=0) / np.maximum(number, 1)
    squares = np.where(known, draws - mean, 0.0) ** 2
    return np.where(number > 1, np.sqrt(squares.sum(axis=0) / np.maximum(number - 1, 1)), np.nan)


def child_counts(keys: np.ndarray, level: int, parents: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """How often each child is drawn, `[replicate, child]`, given how often its parents were.

    Args:
        keys: One per replicate.
        level: Number of the parents' level; 0 for the whole.
        parents: `[replicate, parent]` counts.
        starts: Where the children of each parent begin.
    """
    counts = np.zeros((len(keys), int(starts[-1])), dtype=np.int32)
    for first, last, size in equal_runs(starts):
        names = unit_keys(keys, level, np.arange(first, last))
        for rows, units in blocks(len(keys), last - first, size):
            drawn = parents[rows, first:last][:, units]
            begin = int(starts[first]) + units.start * size
            counts[rows, begin : begin + drawn.shape[1] * size] = _counted(names[rows, units], drawn, size)
    return counts


def unit_counts(nest: Nest, keys: np.ndarray) -> np.ndarray:
    """How often each smallest named unit is drawn, `[replicate, unit]`; a naive nest's whole: once."""
    counts = np.ones((len(keys), 1), dtype=np.int32)
    named = len(nest.levels) - nest.draws_rows
    for level in range(named):
        counts = child_counts(keys, level, counts, nest.starts[level])
    return counts


def row_counts(nest: Nest, keys: np.ndarray) -> np.ndarray:
    """How often each row is drawn, `[replicate, row]`, rows in canonical order."""
    units = unit_counts(nest, keys)
    if nest.draws_rows:
        return child_counts(keys, len(nest.starts) - 1, units, nest.starts[-1])
    return units[:, nest.row_units]


def row_count_blocks(nest: Nest, keys: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Row counts for some replicates at a time, so that memory stays bounded."""
    at_once = max(1, BLOCK_CELLS // max(1, len(nest.order)))
    for begin in range(0, len(keys), at_once):
        rows = slice(begin, min(begin + at_once, len(keys)))
        yield rows, row_counts(nest, keys[rows])


def drawn_sums(nest: Nest, keys: np.ndarray, values: np.ndarray, scale: np.ndarray | None = None) -> np.ndarray:
    """Sums over drawn rows, `[replicate, column]`, each row times the scale of its unit.

    Args:
        nest: A nest that draws rows.
        keys: One per replicate.
        values: `[row, column]` in canonical order, finite.
        scale: Per smallest named unit (one number for a naive nest); 1 when left out.
    """
    starts, level = nest.starts[-1], len(nest.starts) - 1
    scale = np.ones(len(starts) - 1) if scale is None else scale
    sums = np.zeros((len(keys), values.shape[1]))
    at_once = max(1, BLOCK_CELLS // max(1, len(starts)))
    for begin in range(0, len(keys), at_once):
        some = slice(begin, begin + at_once)
        parents = unit_counts(nest, keys[some])
        for first, last, size in equal_runs(starts):
            group = np.zeros((len(parents), values.shape[1]))
            names = unit_keys(keys[some], level, np.arange(first, last))
            for rows, units in blocks(len(parents), last - first, size):
                drawn = parents[rows, first:last][:, units]
                top = int(starts[first]) + units.start * size
                weights = _counted(names[rows, units], drawn, size).astype(np.float64)
                group[rows] += _product(weights, values[top : top + drawn.shape[1] * size])
            sums[some] += group * scale[first]
    return sums


def _counted(keys: np.ndarray, parents: np.ndarray, size: int) -> np.ndarray:
    """How often the children of equally large units are drawn, `[replicate, unit and child]`."""
    picked = picks(keys, parents, size)
    flat = (picked.children + picked.cell[:, None] * size).ravel()
    return np.bincount(flat, minlength=parents.size * size).reshape(len(parents), -1)


def _product(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The matrix product in pieces small enough that BLAS starts no threads: they cost more than they do."""
    step = max(1, SMALL_PRODUCT // max(1, values.size))
    return np.concatenate([weights[row : row + step] @ values for row in range(0, len(weights), step)])


def equal_runs(starts: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Runs of neighbouring units of equal size: (first, one past the last, size)."""
    sizes = np.diff(starts)
    edges = np.flatnonzero(np.diff(sizes)) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(sizes)], strict=True):
        if first < last:
            yield first, last, int(sizes[first])
