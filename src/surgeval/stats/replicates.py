"""Bootstrap replicates of a statistic, for all models at once and paired by construction.

Two estimands are kept apart. `rows`: the statistic of all rows together, so a long video weighs more.
`videos`: the mean over videos of the statistic within each, so every procedure weighs the same. For a
mean both are sums over drawn rows and cost one pass; other statistics weight the rows by their counts.
In a two-stage resample every drawn copy of a video has its own rows, so the statistic within videos is
taken per copy.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surgeval.errors import Misuse, UnknownName
from surgeval.schema.score_table import ScoreMatrix
from surgeval.stats.draws import blocks, picks, unit_keys
from surgeval.stats.nesting import ROWS, VIDEO, Nest, Resample, nest_of
from surgeval.stats.pooled import PooledStatistic
from surgeval.stats.resampling import Engine, drawn_sums, equal_runs, row_count_blocks, unit_counts
from surgeval.stats.statistic import Statistic, Summed, Weighted, divided, unweighted

Estimand = Literal["rows", "videos"]
ESTIMANDS = ("rows", "videos")
ESTIMAND_PROSE = {"rows": "over all rows pooled", "videos": "averaged over videos"}
"""How a sentence names each estimand."""


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

    def replicates(self, keys: np.ndarray, *, engine: Engine = "auto") -> np.ndarray:
        """The value of each model in each replicate: `[replicate, model]`."""
        if self.estimand == "rows":
            return self._pooled(keys, engine)
        return self._by_video(keys, engine)

    def _pooled(self, keys: np.ndarray, engine: Engine) -> np.ndarray:
        if isinstance(self.statistic, Summed) and not self.nest.draws_rows:
            per_unit = np.add.reduceat(self.statistic.summands(self.values), self.nest.row_starts[:-1], axis=0)
            return self.statistic.of_sums(unit_counts(self.nest, keys, engine=engine).astype(np.float64) @ per_unit)
        if not self.statistic.is_mean:
            out = np.empty((len(keys), self.columns))
            for rows, counts in row_count_blocks(self.nest, keys, engine=engine):
                out[rows] = self.statistic.weighted(counts, self.values)
            return out
        scored = np.isfinite(self.values)
        if self.nest.draws_rows and scored.all():
            return divided(drawn_sums(self.nest, keys, self.values, engine=engine), self._drawn_rows(keys, engine))
        if self.nest.draws_rows:
            parts = np.concatenate([np.where(scored, self.values, 0.0), scored], axis=1)
            sums = drawn_sums(self.nest, keys, parts, engine=engine)
            return divided(sums[:, : self.columns], sums[:, self.columns :])
        totals, sizes = unit_sums(self.values, self.nest.row_starts)
        counts = unit_counts(self.nest, keys, engine=engine).astype(np.float64)
        return divided(counts @ totals, counts @ sizes)

    def _drawn_rows(self, keys: np.ndarray, engine: Engine) -> np.ndarray:
        """How many rows each replicate has, as a column."""
        counts = unit_counts(self.nest, keys, engine=engine)
        return np.asarray(counts @ np.diff(self.nest.starts[-1]))[:, None]

    def _by_video(self, keys: np.ndarray, engine: Engine) -> np.ndarray:
        if self.nest.levels == (ROWS,):
            return self._rows_then_videos(keys, engine)
        if not self.nest.draws_rows:
            counts = unit_counts(self.nest, keys, engine=engine).astype(np.float64)
            within = self.within_units()
            known = np.isfinite(within)
            return divided(counts @ np.where(known, within, 0.0), counts @ known.astype(np.float64))
        if self.statistic.is_mean and np.isfinite(self.values).all():
            sums = drawn_sums(self.nest, keys, self.values, 1.0 / self.nest.sizes, engine=engine)
            return divided(sums, unit_counts(self.nest, keys, engine=engine).sum(axis=1, keepdims=True))
        return self._copy_by_copy(keys, engine)

    def _rows_then_videos(self, keys: np.ndarray, engine: Engine) -> np.ndarray:
        out = np.empty((len(keys), self.columns))
        starts = self.nest.row_starts
        for rows, counts in row_count_blocks(self.nest, keys, engine=engine):
            within = [self.statistic.weighted(counts[:, a:b], self.values[a:b]) for a, b in itertools.pairwise(starts)]
            out[rows] = mean_of_units(np.stack(within))
        return out

    def _copy_by_copy(self, keys: np.ndarray, engine: Engine) -> np.ndarray:
        """Every drawn copy of a video with rows of its own; copies without a scored row do not count."""
        parents = unit_counts(self.nest, keys, engine=engine)
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
