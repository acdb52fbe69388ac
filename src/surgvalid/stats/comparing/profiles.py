"""Performance profiles and the probability of improvement, with whole videos as the unit.

Both come from Agarwal et al. 2021 ("Deep reinforcement learning at the edge of the statistical precipice", rliable).

* Profile: the share of cases on which a model is at least as good as a threshold, for many thresholds. A profile that
  lies above another everywhere belongs to a model that is better at every level, not only on average.
* Probability of improvement: how often the first model does better than the second on the same case, a tie counting
  half. It is blind to the size of the difference: winning by a hair in 60 % of cases and losing by far in 40 % is 0.6.

Two decisions a reader would question. Models are paired by case, where rliable compares all runs of one with all runs
of the other: both models saw the same frames, and what makes a frame hard is no news about either. Intervals leave out
one video at a time (see `video_jackknife`), where rliable draws runs: frames of one video are no independent evidence.
They hold for one threshold or one pair at a time, not for a whole profile.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from surgvalid.errors import Misuse
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import IMPROVEMENT, PROFILES
from surgvalid.schema.findings import Finding
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.units import UNSAID
from surgvalid.stats.intervals.engine import unit_totals
from surgvalid.stats.intervals.few_videos import few_videos
from surgvalid.stats.intervals.interval import known, matrix_notes
from surgvalid.stats.intervals.interval_settings import check_level, percent
from surgvalid.stats.intervals.pooled import scored_units
from surgvalid.stats.intervals.replicates import ESTIMAND_PROSE, Sample
from surgvalid.stats.intervals.slices import SEPARATOR, Slice, labelled, slices, split_notes
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS, Jackknifed, degrees_of_freedom, mean_interval

MOST_THRESHOLDS = 21
"""Up to so many different scores, each is a threshold; beyond, so many are spread evenly."""
_TIED = 1e-12
"""Scores closer than this are equal: they differ by rounding only."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ProfilesResult(TableResult):
    """Performance profiles; one row per slice, model and threshold."""

    stem: ClassVar[str] = "profiles"

    @property
    def improvement(self) -> pl.DataFrame:
        """The probability that the first model of each pair does better, per slice."""
        return self.tables["improvement"]

    def screen(self) -> Mapping[str, pl.DataFrame]:
        """The profiles, and the pairs."""
        return {"": self.shown, "probability of improvement": self.improvement.drop("level")}


@requested("profiles")
def profiles(
    table: Any,
    *,
    thresholds: Sequence[float] = (),
    estimand: str = "rows",
    by: Sequence[str] = (),
    separator: str = SEPARATOR,
    level: float = 0.95,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
) -> ProfilesResult:
    """How often each model is at least as good as each threshold, and how often it does better than each other model.

    Args:
        table: A `ScoreTable`, files, or anything tabular.
        thresholds: Scores to reach; when left out, the scores that occur, or 21 spread over the range of the metric.
        estimand: `rows` (share of all cases) or `videos` (mean over videos of the share within).
        by: Columns whose combinations are reported one by one; one with several labels per case is split.
        separator: What stands between the labels of a case, where a column of text holds several.
        level: Coverage asked for.
        metric: Which metric of the table.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.

    Raises:
        DirectionUnknown: Nobody said which values are better.
        Misuse: A threshold that is no finite number.

    Example:
        >>> rows = {"model": ["A"] * 4 + ["B"] * 4, "case": list("abcd") * 2, "video": list("uvwx") * 2,
        ...         "value": [0.9, 0.8, 0.7, 0.6, 0.8, 0.8, 0.6, 0.7]}
        >>> found = profiles(rows, better="larger", thresholds=[0.8])
        >>> found.table["value"].to_list(), found.improvement["value"].to_list()
        ([0.5, 0.5], [0.625])
    """
    check_level(level)
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = scores.matrix(metric, missing=missing)
    marks = chosen_thresholds(matrix, thresholds)
    rows: list[dict[str, Any]] = []
    pairs: list[dict[str, Any]] = []
    notes = matrix_notes(matrix, has_videos=scores.has_videos)
    parts = list(slices(matrix, by, separator=separator))
    notes += split_notes(matrix.cases, by, separator=separator)
    for slice_ in parts:
        rows += _profile_rows(slice_, marks, estimand, level)
        pairs += _pair_rows(slice_, estimand, level)
        notes += _few(slice_)
    prose = (
        f"The share of cases whose {matrix.metric.name!r} reaches a threshold ({len(marks)} of them), and the "
        "probability that one model does better than another on the same case (a tie counts half), "
        f"{ESTIMAND_PROSE[estimand]} (estimand: {estimand}; {scored_units(matrix)}). "
    )
    prose += (
        f"{percent(level)} intervals leave out one video at a time (jackknife, quantiles of t on the logit scale) and "
        "hold for one threshold or one pair at a time."
        if matrix.unit.is_known
        else f"No intervals: {UNSAID}."
    )
    return ProfilesResult.of(PROFILES.frame(rows), prose, notes, improvement=IMPROVEMENT.frame(pairs))


def chosen_thresholds(matrix: ScoreMatrix, given: Sequence[float] = ()) -> np.ndarray:
    """The thresholds in rising order: those given, the scores that occur, or some spread over the range.

    Raises:
        Misuse: One is no finite number, or nothing was scored.
    """
    if len(given):
        marks = np.unique(np.asarray(given, dtype=np.float64))
        if not np.isfinite(marks).all():
            raise Misuse(f"thresholds must be finite numbers, got {list(given)}")
        return marks
    occurring = np.unique(matrix.values[np.isfinite(matrix.values)])
    if not occurring.size:
        raise Misuse("no case was scored, so there is nothing to draw a profile of")
    if len(occurring) <= MOST_THRESHOLDS:
        return occurring
    facts = matrix.metric
    low = facts.low if np.isfinite(facts.low) else occurring[0]
    high = facts.high if np.isfinite(facts.high) else occurring[-1]
    return np.linspace(low, high, MOST_THRESHOLDS)


def reached(values: np.ndarray, thresholds: np.ndarray, sign: float) -> np.ndarray:
    """`[case, model, threshold]`: 1 where a score is at least as good as the threshold, NaN where there is none."""
    good = sign * (values[:, :, None] - thresholds) >= -_TIED
    return np.where(np.isfinite(values)[:, :, None], good.astype(np.float64), np.nan)


def wins(first: np.ndarray, second: np.ndarray, sign: float) -> np.ndarray:
    """1 where the first score of a case is better, 0.5 where both are equal, else 0; NaN where one is not there.

    Example:
        >>> wins(np.array([0.9, 0.5, 0.1]), np.array([0.8, 0.5, 0.2]), 1.0).tolist()
        [1.0, 0.5, 0.0]
    """
    gap = sign * (first - second)
    return np.where(np.isnan(gap), np.nan, np.where(np.abs(gap) <= _TIED, 0.5, (gap > 0).astype(np.float64)))


def _profile_rows(slice_: Slice, marks: np.ndarray, estimand: str, level: float) -> list[dict[str, Any]]:
    matrix = slice_.matrix
    good = reached(matrix.values, marks, matrix.metric.sign)
    shares, sizes = video_shares(matrix, good.reshape(len(good), -1), estimand, level)
    sure = np.tile(matrix.metric.sign * (matrix.metric.worst - marks) >= -_TIED, len(matrix.models))
    shares = shares._replace(low=np.where(sure & np.isfinite(shares.value), 1.0, shares.low))
    named = itertools.product(matrix.models, marks.tolist())
    return [
        labelled(
            slice_.labels,
            {
                "model": model,
                "metric": matrix.metric.name,
                "estimand": estimand,
                "threshold": mark,
                **_numbers(shares, place),
                "cases": int(sizes[place]),
                "videos": matrix.unit.counted(int(shares.videos[place])),
                "level": level,
                "note": "every score reaches it by definition" if sure[place] else _note(matrix, shares, place),
            },
        )
        for place, (model, mark) in enumerate(named)
    ]


def _pair_rows(slice_: Slice, estimand: str, level: float) -> list[dict[str, Any]]:
    matrix = slice_.matrix
    pairs = list(itertools.combinations(range(len(matrix.models)), 2))
    if not pairs:
        return []
    sign = matrix.metric.sign
    won = np.stack([wins(matrix.values[:, a], matrix.values[:, b], sign) for a, b in pairs], axis=1)
    shares, sizes = video_shares(matrix, won, estimand, level)
    tied = (won == 0.5).sum(axis=0)
    return [
        labelled(
            slice_.labels,
            {
                "model_a": matrix.models[a],
                "model_b": matrix.models[b],
                "metric": matrix.metric.name,
                "estimand": estimand,
                **_numbers(shares, place),
                "tied": int(tied[place]),
                "cases": int(sizes[place]),
                "videos": matrix.unit.counted(int(shares.videos[place])),
                "level": level,
                "note": _note(matrix, shares, place),
            },
        )
        for place, (a, b) in enumerate(pairs)
    ]


def video_shares(matrix: ScoreMatrix, values: np.ndarray, estimand: str, level: float) -> tuple[Jackknifed, np.ndarray]:
    """The mean of each column with its interval over videos, and the number of cases behind it."""
    shown = replace(matrix, values=values, models=[str(place) for place in range(values.shape[1])])
    sample = Sample.of(shown, statistic="mean", resample="cluster", estimand=estimand)
    totals, sizes = unit_totals(sample)
    return mean_interval(totals, sizes, level=level, low=0.0, high=1.0), np.isfinite(values).sum(axis=0)


def _numbers(shares: Jackknifed, place: int) -> dict[str, float | None]:
    columns = {"value": shares.value, "low": shares.low, "high": shares.high, "sd": shares.sd}
    return {name: known(column[place]) for name, column in columns.items()}


def _note(matrix: ScoreMatrix, shares: Jackknifed, place: int) -> str | None:
    if np.isnan(shares.value[place]):
        return "not scored"
    if not matrix.unit.is_known:
        return UNSAID
    if np.isnan(shares.low[place]):
        few = shares.videos[place] < FEWEST_VIDEOS
        return "too few videos for an interval" if few else "all videos agree: no interval"
    return None


def _few(slice_: Slice) -> list[Finding]:
    if not slice_.matrix.unit.is_known:
        return []
    sizes = np.bincount(slice_.matrix.videos).astype(np.float64)
    where = slice_.name if slice_.labels else None
    finding = few_videos(len(sizes), float(degrees_of_freedom(sizes)), where=where)
    return [finding] if finding else []
