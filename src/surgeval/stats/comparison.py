"""Two models on the same cases: paired differences with intervals, and what a claim of superiority risks.

Both models are resampled with the same draws, so what a case or a video has in common cancels out. The
default resample is `cluster`: two-stage resampling adds the noise within videos a second time, which an
interval for one value may carry but a comparison should not.

* `p_false_claim`: the share of resamples in which the model that looks better is not better, an estimate
  of the probability that a claim of superiority is false.
* `min_detectable`: the true difference that would be found significant with 80 % power at this level,
  `(t[1 - alpha/2] + t[power]) * sd` with one degree of freedom less than there are videos (Bloom 1995,
  "Minimum detectable effects").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from surgeval.errors import Misuse, TooFewVideos, UnknownName
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.results.tables.statistics import COMPARE
from surgeval.schema.score_table import Missing, ScoreMatrix
from surgeval.schema.table_facts import Directions
from surgeval.stats.deterministic import two_stage_distribution
from surgeval.stats.interval import (
    DETERMINISTIC,
    Settings,
    check_settings,
    interval_prose,
    matrix_notes,
    replicate_sd,
    slice_keys,
)
from surgeval.stats.intervals import bounds
from surgeval.stats.jackknife import leave_one_out
from surgeval.stats.nesting import Resample, label_of, need_units
from surgeval.stats.pooled import POOLED, verb_matrix
from surgeval.stats.replicates import Sample
from surgeval.stats.resampling import Engine
from surgeval.stats.slices import Slice, labelled, slices

POWER = 0.8


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ComparisonResult(TableResult):
    """The difference of two models; one row per slice."""

    stem: ClassVar[str] = "comparison"


@requested("compare")
def compare(
    table: Any,
    model_a: str,
    model_b: str,
    *,
    statistic: str = "mean",
    resample: Resample = "cluster",
    estimand: str = "rows",
    by: Sequence[str] = (),
    level: float = 0.95,
    replicates: int = 1000,
    method: str = "percentile",
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
    engine: Engine = "auto",
) -> ComparisonResult:
    """The difference of `model_a` minus `model_b` on the cases both were scored on, with its interval.

    Args are those of `interval`; `better` says whether `larger` or `smaller` values are better where neither the table
    nor the name of the metric does. `favours` in the result is the model that looks better.

    Raises:
        UnknownName: A model that the table does not have.
        DirectionUnknown: Nobody said which values are better.
        TooFewVideos: The whole table has a single unit.

    Example:
        >>> rows = {"model": ["A"] * 4 + ["B"] * 4, "case": list("abcd") * 2,
        ...         "video": list("uvwx") * 2, "value": [1, 1, 1, 0, 0, 0, 1, 0]}
        >>> compare(rows, "A", "B", better="larger").table.select("difference", "favours", "videos_won").row(0)
        (0.5, 'A', 2)
    """
    settings = Settings(statistic, resample, estimand, level, replicates, method, seed, engine)
    check_settings(settings)
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = verb_matrix(
        scores, metric, missing=missing, statistic=statistic, estimand=estimand, models=(model_a, model_b)
    )
    pair = pair_matrix(matrix, model_a, model_b)
    rows = [_pair_row(part, settings, strict=not by) for part in slices(pair, by)]
    return ComparisonResult.of(
        table=COMPARE.frame(rows),
        prose=_prose(settings, pair),
        notes=tuple(matrix_notes(pair, has_videos=scores.has_videos, paired=True)),
    )


def pair_matrix(matrix: ScoreMatrix, model_a: str, model_b: str) -> ScoreMatrix:
    """The columns of two models on the cases both were scored on.

    Raises:
        UnknownName: A model that the table does not have.
        Misuse: A model compared with itself, or no case scored for both.
    """
    for name in (model_a, model_b):
        if name not in matrix.models:
            raise UnknownName("model", name, matrix.models)
    if model_a == model_b:
        raise Misuse(f"model {model_a!r} cannot be compared with itself")
    if matrix.statistics is not None:
        return matrix.columns([model_a, model_b])
    columns = [matrix.models.index(model_a), matrix.models.index(model_b)]
    both = np.isfinite(matrix.values[:, columns]).all(axis=1)
    if not both.any():
        raise Misuse(f"no case was scored for both {model_a!r} and {model_b!r}")
    return matrix.columns([model_a, model_b]).where(both)


def min_detectable(sd: float, videos: int, *, level: float = 0.95, power: float = POWER) -> float:
    """The smallest true difference found with the given power, for a difference whose SD is known.

    Example:
        >>> round(min_detectable(0.01, 200), 4)
        0.0282
    """
    if videos < 2:
        return float("nan")
    freedom = videos - 1
    return float((stdtrit(freedom, 1 - (1 - level) / 2) + stdtrit(freedom, power)) * sd)


def _pair_row(part: Slice, settings: Settings, *, strict: bool) -> dict[str, Any]:
    matrix = part.matrix
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    value = sample.point()
    found: dict[str, Any] = {"low": None, "high": None, "sd": None, "favours": None, "p_false_claim": None,
                             "min_detectable": None}  # fmt: skip
    note = None
    try:
        need_units(sample.nest, part.name)
        found = _uncertainty(sample, value, matrix, settings, part.name)
    except TooFewVideos:
        if strict:
            raise
        note = "one unit only: its spread is unknowable"
    exact = settings.method == DETERMINISTIC
    row = {
        "model_a": matrix.models[0], "model_b": matrix.models[1], "metric": matrix.metric.name,
        "statistic": settings.statistic if matrix.statistics is None else POOLED, "estimand": settings.estimand,
        "value_a": float(value[0]), "value_b": float(value[1]), "difference": float(value[0] - value[1]),
        **found, **_video_score(matrix), "cases": len(matrix.values), "videos": len(matrix.video_names),
        "resample": label_of(settings.resample), "method": settings.method, "level": settings.level,
        "replicates": None if exact else settings.replicates, "seed": None if exact else settings.seed, "note": note,
    }  # fmt: skip
    return labelled(part.labels, row)


def _uncertainty(
    sample: Sample, value: np.ndarray, matrix: ScoreMatrix, settings: Settings, name: str
) -> dict[str, Any]:
    difference = float(value[0] - value[1])
    sign = np.sign(difference) * matrix.metric.sign
    favours = None if sign == 0 else matrix.models[0 if sign > 0 else 1]
    low, high, sd, not_above = _spread(sample, difference, settings, name)
    return {
        "low": low,
        "high": high,
        "sd": sd,
        "favours": favours,
        "p_false_claim": None if favours is None else not_above,
        "min_detectable": min_detectable(sd, sample.nest.units, level=settings.level),
    }


def _spread(sample: Sample, difference: float, settings: Settings, name: str) -> tuple[float, float, float, float]:
    """Ends, SD, and the share of the distribution that is not on the side of the difference."""
    tail = (1 - settings.level) / 2
    if settings.method == DETERMINISTIC:
        exact = two_stage_distribution(sample.values[:, 0] - sample.values[:, 1], sample.nest.row_starts)
        low, high = exact.quantiles(np.array([tail, 1 - tail]))
        below = float(exact.below(np.zeros(1))[0])
        return float(low), float(high), exact.sd, below if difference > 0 else 1 - below
    both = sample.replicates(slice_keys(settings, name), engine=settings.engine)
    draws = (both[:, 0] - both[:, 1])[:, None]
    left_out = None
    if settings.method == "bca":
        without = leave_one_out(sample)
        left_out = (without[:, 0] - without[:, 1])[:, None]
    ends = bounds(draws, np.array([difference]), level=settings.level, method=settings.method, left_out=left_out)
    share = float((draws * np.sign(difference) <= 0).mean())
    return float(ends.low[0]), float(ends.high[0]), float(replicate_sd(draws)[0]), share


def _video_score(matrix: ScoreMatrix) -> dict[str, int]:
    """In how many videos the mean of the first model is better, worse and equal."""
    sums = np.bincount(matrix.videos, weights=matrix.values[:, 0] - matrix.values[:, 1])
    gaps = matrix.metric.sign * np.where(np.abs(sums) < 1e-12, 0.0, sums)
    return {
        "videos_won": int((gaps > 0).sum()),
        "videos_lost": int((gaps < 0).sum()),
        "videos_tied": int((gaps == 0).sum()),
    }


def _prose(settings: Settings, matrix: ScoreMatrix) -> str:
    how = interval_prose(settings, matrix, what="values")
    return (
        f"{matrix.models[0]!r} minus {matrix.models[1]!r} on the {len(matrix.values):,} cases both were scored on. "
        f"{how} "
        "The probability of a false claim is the share of resamples in which the model that looks better is not; "
        f"the minimum detectable difference has {POWER:.0%} power at level {1 - settings.level:.2g} and takes the "
        f"{label_of(settings.resample)} SD as given."
    )
