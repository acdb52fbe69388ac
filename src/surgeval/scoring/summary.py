"""The native summary: every slice with its interval, its unit and both estimands by name.

Whole videos are drawn with replacement (questions of one video are not independent). Each slice has
its own random stream, so its interval never depends on which other slices were asked for; all models
share the draws. The headline is the mean over populated buckets of their accuracies, and its
interval resamples videos jointly over all buckets, since one video sits in several of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from surgeval.results.tables.scoring import SUMMARY
from surgeval.stats.draws import stream, video_counts
from surgeval.stats.intervals import bounds

ESTIMANDS = ("rows", "videos")
"""`rows`: mean over questions. `videos`: mean over videos of their means."""

Slice = tuple[str, str]
"""Level and name."""


class Estimate(NamedTuple):
    """A value per model with its interval; NaN ends where a single video leaves the spread unknown."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


class Tally(NamedTuple):
    """Right answers and scored questions per video and model."""

    right: np.ndarray
    scored: np.ndarray


def summarise(
    values: np.ndarray,
    videos: np.ndarray,
    models: Sequence[str],
    slices: Mapping[Slice, np.ndarray],
    *,
    replicates: int = 1000,
    seed: int = 42,
    level: float = 0.95,
) -> pl.DataFrame:
    """One line per model, slice and estimand.

    Args:
        values: `values[question, model]`: 1 right, 0 wrong, NaN not scored.
        videos: The video of each question, as a code from 0.
        models: Names of the columns.
        slices: Level and name to the indices of the questions; the headline is taken over those of
            level `bucket`.
        replicates: Bootstrap resamples of the videos; 0 leaves the intervals out.
        seed: Of the random streams.
        level: Of the intervals.
    """
    order = np.argsort(videos, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    work = _Work(values[order], videos[order], replicates, seed, level)
    lines = _headline_lines(work, {s: np.sort(place[i]) for s, i in slices.items() if s[0] == "bucket"}, models)
    for name, indices in slices.items():
        lines += _slice_lines(work, name, np.sort(place[indices]), models)
    whose = pl.Series("model", [line.pop("model") for line in lines], dtype=pl.String)
    return SUMMARY.frame(lines).insert_column(0, whose)


class _Work(NamedTuple):
    values: np.ndarray
    videos: np.ndarray
    replicates: int
    seed: int
    level: float

    def draws(self, videos: int, *purpose: str) -> np.ndarray:
        return video_counts(videos, self.replicates, stream(self.seed, "summary", *purpose)).astype(np.float64)

    def estimate(self, value: np.ndarray, replicates: np.ndarray) -> Estimate:
        """The value with its percentile ends; resamples without a scored question are left out."""
        return Estimate(value, *bounds(replicates, value, level=self.level))


def tally(values: np.ndarray, videos: np.ndarray) -> Tally:
    """Right answers and scored questions per video (in order of their codes) and model; rows sorted by video."""
    starts = np.flatnonzero(np.diff(videos, prepend=-1))
    scored = ~np.isnan(values)
    right = np.add.reduceat(np.where(scored, values, 0.0), starts, axis=0)
    return Tally(right, np.add.reduceat(scored.astype(np.float64), starts, axis=0))


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0))


def _estimates(work: _Work, slice_: Slice, counts: Tally) -> dict[str, Estimate]:
    videos = len(counts.right)
    means = np.nan_to_num(_ratio(counts.right, counts.scored))
    present = (counts.scored > 0).astype(np.float64)
    parts = {"rows": counts, "videos": Tally(means, present)}
    points = {name: _ratio(top.sum(axis=0), bottom.sum(axis=0)) for name, (top, bottom) in parts.items()}
    if videos < 2 or not work.replicates:
        unknown = np.full(counts.right.shape[1], np.nan)
        return {name: Estimate(point, unknown, unknown) for name, point in points.items()}
    ratios = _weighted_ratios(work.draws(videos, *slice_), list(parts.values()))
    return {name: work.estimate(points[name], ratio) for name, ratio in zip(parts, ratios, strict=True)}


def _weighted_ratios(draws: np.ndarray, parts: Sequence[Tally]) -> list[np.ndarray]:
    """`right / scored` of every part in every replicate, from one matrix product.

    Where all models have the same questions scored, which is the rule, one column of counts serves all.
    """
    columns = [matrix for part in parts for matrix in (part.right, _without_copies(part.scored))]
    edges = np.cumsum([matrix.shape[1] for matrix in columns])[:-1]
    sums = np.split(draws @ np.hstack(columns), edges, axis=1)
    return [_ratio(top, bottom) for top, bottom in zip(sums[::2], sums[1::2], strict=True)]


def _without_copies(matrix: np.ndarray) -> np.ndarray:
    first = matrix[:, :1]
    return first if bool((matrix == first).all()) else matrix


def _slice_lines(work: _Work, slice_: Slice, rows: np.ndarray, models: Sequence[str]) -> list[dict[str, Any]]:
    counts = tally(work.values[rows], work.videos[rows])
    estimates = _estimates(work, slice_, counts)
    return _lines(slice_, estimates, counts, len(rows), models)


def _lines(
    slice_: Slice, estimates: Mapping[str, Estimate], counts: Tally, size: int, models: Sequence[str]
) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for m, model in enumerate(models):
        scored = counts.scored[:, m]
        total = float(scored.sum())
        effective = total**2 / float((scored**2).sum()) if total else 0.0
        size_facts = {
            "count": int(total),
            "videos": int((scored > 0).sum()),
            "effective_videos": effective,
            "not_scored": size - int(total),
        }
        for name, estimate in estimates.items():
            lines.append(
                {
                    "model": model,
                    "level": slice_[0],
                    "name": slice_[1],
                    "estimand": name,
                    "accuracy": float(estimate.value[m]),
                    "low": float(estimate.low[m]),
                    "high": float(estimate.high[m]),
                    **size_facts,
                }
            )
    return lines


def _headline_lines(work: _Work, buckets: Mapping[Slice, np.ndarray], models: Sequence[str]) -> list[dict[str, Any]]:
    """The mean over buckets, by questions; resampled jointly, buckets a resample misses are left out of it."""
    if not buckets:
        return []
    names, codes = np.unique(work.videos, return_inverse=True)
    parts = [_spread(tally(work.values[r], codes[r]), np.unique(codes[r]), len(names)) for r in buckets.values()]
    points = np.stack([_ratio(p.right.sum(axis=0), p.scored.sum(axis=0)) for p in parts])
    value = _mean_of_present(points)
    unknown = np.full(len(models), np.nan)
    estimate = Estimate(value, unknown, unknown)
    if len(names) > 1 and work.replicates:
        draws = work.draws(len(names), "headline")
        estimate = work.estimate(value, _mean_of_present(np.stack(_weighted_ratios(draws, parts))))
    whole = Tally(sum(p.right for p in parts), sum(p.scored for p in parts))  # type: ignore[arg-type]
    size = sum(len(rows) for rows in buckets.values())
    return _lines(("headline", "mean over buckets"), {"rows": estimate}, whole, size, models)


def _spread(counts: Tally, present: np.ndarray, videos: int) -> Tally:
    right, scored = (np.zeros((videos, counts.right.shape[1])) for _ in range(2))
    right[present], scored[present] = counts
    return Tally(right, scored)


def _mean_of_present(parts: np.ndarray) -> np.ndarray:
    """The mean along the first axis over entries that are not NaN."""
    given = ~np.isnan(parts)
    return _ratio(np.where(given, parts, 0.0).sum(axis=0), given.sum(axis=0).astype(np.float64))
