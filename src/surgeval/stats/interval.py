"""Intervals for the value of every model, overall or per slice, that respect which rows belong together.

`interval` is the public entry; the resampling itself is in `replicates`, the ends in `intervals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from surgeval.errors import Misuse, TooFewVideos, UnknownName
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.results.tables.statistics import INTERVAL
from surgeval.schema.findings import Finding
from surgeval.schema.metric import Metric
from surgeval.schema.metric_facts import MetricFacts
from surgeval.schema.score_table import Missing, ScoreMatrix
from surgeval.schema.table_facts import Directions
from surgeval.stats.deterministic import two_stage_distribution
from surgeval.stats.draws import check_replicates, check_seed, replicate_keys, stream
from surgeval.stats.intervals import METHODS, bounds, check_level, percent
from surgeval.stats.jackknife import leave_one_out
from surgeval.stats.nesting import Resample, label_of, need_units
from surgeval.stats.pooled import POOLED, pooled_head, verb_matrix
from surgeval.stats.replicates import ESTIMAND_PROSE, Sample
from surgeval.stats.resampling import Engine
from surgeval.stats.slices import Slice, labelled, slices
from surgeval.stats.statistic import MetricStatistic, Statistic, Weighted

DETERMINISTIC = "deterministic"
ALL_METHODS = (*METHODS, DETERMINISTIC)


class Settings(NamedTuple):
    """How intervals are made."""

    statistic: str = "mean"
    resample: Resample = "two-stage"
    estimand: str = "rows"
    level: float = 0.95
    replicates: int = 1000
    method: str = "percentile"
    seed: int = 42
    engine: Engine = "auto"


class Spread(NamedTuple):
    """Values with their uncertainty, one entry per model."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray


class PreparedSpread(NamedTuple):
    """Values with their uncertainty, and in how many resamples each had none."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    undefined: np.ndarray


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class IntervalResult(TableResult):
    """The value of every model with its interval; one row per slice and model."""

    stem: ClassVar[str] = "intervals"


@requested("interval")
def interval(
    table: Any,
    *,
    statistic: str = "mean",
    resample: Resample = "two-stage",
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
) -> IntervalResult:
    """Values of all models with intervals in which rows of one video are not taken as independent.

    Args:
        table: A `ScoreTable`, files, or anything tabular with model, case, value and (best) video.
        statistic: `mean`, `median`, `min`, `max`, or `q` and a percentage such as `q05`.
        resample: `naive`, `cluster`, `two-stage`, or a hierarchy such as `center>video>rows`.
        estimand: `rows` (all rows pooled) or `videos` (the mean over videos of the statistic within).
        by: Columns whose combinations are reported one by one.
        level: Coverage asked for.
        replicates: How many resamples.
        method: `percentile`, `basic`, `bca`, or `deterministic` (means of few-valued scores,
            two-stage, estimand `videos`: no random numbers at all).
        seed: Seed of the named streams; each slice has its own.
        metric: Which metric of the table; may be left out where there is one.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.
        engine: `numba`, `numpy`, or `auto`; results are equal.

    Raises:
        TooFewVideos: The whole table has a single unit. A slice with one is reported without an interval.

    Example:
        >>> rows = {"model": ["A"] * 6, "case": list("abcdef"), "video": list("uuvvww"), "value": [1, 1, 0, 1, 0, 0]}
        >>> interval(rows, resample="cluster").table.select("value", "low", "high").row(0)
        (0.5, 0.0, 1.0)
    """
    settings = Settings(statistic, resample, estimand, level, replicates, method, seed, engine)
    check_settings(settings)
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = verb_matrix(scores, metric, missing=missing, statistic=statistic, estimand=estimand)
    rows = [row for part in slices(matrix, by) for row in _slice_rows(part, settings, strict=not by)]
    return IntervalResult.of(
        table=INTERVAL.frame(rows),
        prose=interval_prose(settings, matrix, what="values"),
        notes=tuple(matrix_notes(matrix, has_videos=scores.has_videos)),
    )


@requested("metric_interval", files=("cases",))
def metric_interval(
    metric: Metric,
    cases: Any,
    *,
    video: Sequence[Any],
    resample: Resample = "two-stage",
    estimand: str = "rows",
    level: float = 0.95,
    replicates: int = 1000,
    method: str = "percentile",
    seed: int = 42,
) -> IntervalResult:
    """The value of one metric on some cases with its interval; `prepare` runs once, `combine` per replicate.

    Args:
        metric: Anything with `facts`, `prepare` and `combine` (see `surgeval.schema.metric`).
        cases: Whatever the metric's `prepare` takes.
        video: The video of each case, in the order of the prepared statistics.
        resample: As for `interval`.
        estimand: `rows` (the metric of all cases) or `videos` (the mean of the metric within videos).
        level: Coverage asked for.
        replicates: How many resamples.
        method: `percentile`, `basic` or `bca`.
        seed: Seed of the stream.
    """
    settings = Settings(metric.facts.name, resample, estimand, level, replicates, method, seed, "numpy")
    prepared = np.asarray(metric.prepare(cases))
    sample, whole = _prepared_sample(MetricStatistic(metric), prepared, video, settings, metric.facts)
    found = sample_spread(sample, settings, whole.name)
    row = _row(whole, metric.facts.name, metric.facts, settings, found, 0, "")
    return IntervalResult.of(INTERVAL.frame([row]), interval_prose(settings, whole.matrix, what="values"))


def prepared_spread(
    statistic: Weighted,
    prepared: np.ndarray,
    *,
    video: Sequence[Any],
    resample: Resample = "cluster",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 42,
) -> PreparedSpread:
    """Values, percentile intervals and SDs of everything that a statistic gives on prepared cases, one entry each.

    The draws are those of `metric_interval` under the same seed, so several statistics of the same videos (a mean over
    classes and each of its classes, say) rest on the same resamples.

    Args:
        statistic: One or several values per weighting.
        prepared: What is weighted; the first axis runs over the cases.
        video: The video of each case.
        resample: As for `interval`.
        level: Coverage asked for.
        replicates: How many resamples.
        seed: Seed of the stream.

    Raises:
        TooFewVideos: A single unit.
    """
    settings = Settings(statistic.name, resample, "rows", level, replicates, "percentile", seed, "numpy")
    sample, whole = _prepared_sample(statistic, prepared, video, settings, MetricFacts.unknown(statistic.name))
    value, draws = sample.point(), sample.replicates(slice_keys(settings, whole.name), engine=settings.engine)
    ends = bounds(draws, value, level=level)
    return PreparedSpread(value, ends.low, ends.high, replicate_sd(draws), np.isnan(draws).sum(axis=0))


def _prepared_sample(
    statistic: Weighted, prepared: np.ndarray, video: Sequence[Any], settings: Settings, facts: MetricFacts
) -> tuple[Sample, Slice]:
    """Prepared cases as a sample, and the slice that stands for all of them."""
    check_settings(settings._replace(statistic="mean"), methods=METHODS)
    if len(prepared) != len(video):
        raise Misuse(f"{facts.name}: prepared {len(prepared)} statistics, but {len(video)} videos were named")
    names, codes = np.unique(np.asarray([str(name) for name in video]), return_inverse=True)
    frame = pl.DataFrame({"case": [f"{i:09d}" for i in range(len(video))], "video": names[codes]})
    blank = ScoreMatrix(np.zeros((len(video), 1)), [facts.name], codes, names.tolist(), frame, facts)
    shape = Sample.of(blank, statistic="mean", resample=settings.resample, estimand=settings.estimand)
    need_units(shape.nest, facts.name)
    return Sample(prepared[shape.nest.order], shape.nest, statistic, shape.estimand), Slice({}, blank)


def check_settings(settings: Settings, *, methods: Sequence[str] = ALL_METHODS) -> None:
    """Refuse settings that cannot mean anything.

    Raises:
        Misuse: With the first thing wrong.
    """
    Statistic.read(settings.statistic)
    check_level(settings.level)
    label = label_of(settings.resample)
    if settings.method not in methods:
        raise UnknownName("interval method", settings.method, methods)
    check_replicates(settings.replicates)
    check_seed(settings.seed)
    fits = (settings.statistic, label, settings.estimand) == ("mean", "two-stage", "videos")
    if settings.method == DETERMINISTIC and not fits:
        raise Misuse(
            "method 'deterministic' is for statistic 'mean', resample 'two-stage' and estimand 'videos'; "
            f"got {settings.statistic!r}, {label!r} and {settings.estimand!r}"
        )


def spread(matrix: ScoreMatrix, settings: Settings, name: str) -> Spread:
    """Value, interval and SD of every column of a matrix; `name` names the random stream.

    Raises:
        TooFewVideos: A single unit.
    """
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    need_units(sample.nest, name)
    if settings.method == DETERMINISTIC:
        return _deterministic(sample, settings.level)
    return sample_spread(sample, settings, name)


def sample_spread(sample: Sample, settings: Settings, name: str) -> Spread:
    """Value, interval and SD of every column of a prepared sample."""
    value = sample.point()
    draws = sample.replicates(slice_keys(settings, name), engine=settings.engine)
    left_out = leave_one_out(sample) if settings.method == "bca" else None
    ends = bounds(draws, value, level=settings.level, method=settings.method, left_out=left_out)
    return Spread(value, ends.low, ends.high, replicate_sd(draws))


def slice_keys(settings: Settings, name: str) -> np.ndarray:
    """The replicate keys of a slice: its own stream, whatever else is asked for."""
    return replicate_keys(settings.replicates, stream(settings.seed, "bootstrap", name))


def replicate_sd(draws: np.ndarray) -> np.ndarray:
    """SD of the replicates of each column, leaving aside those where nothing scored was drawn."""
    known = np.isfinite(draws)
    number = known.sum(axis=0)
    mean = np.where(known, draws, 0.0).sum(axis=0) / np.maximum(number, 1)
    squares = np.where(known, draws - mean, 0.0) ** 2
    return np.where(number > 1, np.sqrt(squares.sum(axis=0) / np.maximum(number - 1, 1)), np.nan)


def interval_prose(settings: Settings, matrix: ScoreMatrix, *, what: str) -> str:
    """One paragraph on how intervals were made."""
    label = label_of(settings.resample)
    size = f"{len(matrix.values):,} cases from {len(matrix.video_names):,} videos"
    head = pooled_head(matrix, what) or (
        f"{what.capitalize()} are the {settings.statistic} of {matrix.metric.name!r} "
        f"{ESTIMAND_PROSE[settings.estimand]} (estimand: {settings.estimand}; {size})."
    )
    if settings.method == DETERMINISTIC:
        return (
            f"{head} {percent(settings.level)} intervals are percentiles of the two-stage bootstrap distribution "
            "(videos, then rows within them), computed from its characteristic function without random numbers."
        )
    return (
        f"{head} {percent(settings.level)} {settings.method} intervals come from {settings.replicates:,} "
        f"{resample_prose(label)} (seed {settings.seed}); all models share the draws."
    )


def resample_prose(label: str) -> str:
    """How a sentence names a resample."""
    known = {
        "naive": "naive bootstrap resamples of single rows, which take rows of one video as independent",
        "cluster": "cluster bootstrap resamples of whole videos",
        "two-stage": "two-stage bootstrap resamples (videos, then rows within them)",
    }
    return known.get(label, f"bootstrap resamples of the hierarchy {label}")


def matrix_notes(matrix: ScoreMatrix, *, has_videos: bool = True, paired: bool = False) -> list[Finding | str]:
    """What a reader must know about the scores themselves."""
    notes: list[Finding | str] = []
    if not has_videos:
        notes.append("The table names no video, so each case stands for itself.")
    return [*notes, *matrix.borrowed, *matrix.findings(paired=paired)]


def _deterministic(sample: Sample, level: float) -> Spread:
    tail = (1 - level) / 2
    found = [two_stage_distribution(column, sample.nest.row_starts) for column in sample.values.T]
    ends = np.array([one.quantiles(np.array([tail, 1 - tail])) for one in found])
    return Spread(sample.point(), ends[:, 0], ends[:, 1], np.array([one.sd for one in found]))


def _slice_rows(part: Slice, settings: Settings, *, strict: bool) -> list[dict[str, Any]]:
    note = ""
    try:
        found = spread(part.matrix, settings, part.name)
    except TooFewVideos:
        if strict:
            raise
        note = "one unit only: its spread is unknowable"
        sample = Sample.of(part.matrix, statistic=settings.statistic, resample="naive", estimand=settings.estimand)
        unknown = np.full(len(part.matrix.models), np.nan)
        found = Spread(sample.point(), unknown, unknown, unknown)
    return [
        _row(part, model, part.matrix.metric, settings, found, place, note)
        for place, model in enumerate(part.matrix.models)
    ]


def _row(
    part: Slice, model: str, facts: MetricFacts, settings: Settings, found: Spread, place: int, note: str
) -> dict[str, Any]:
    numbers: Mapping[str, float] = {name: float(column[place]) for name, column in found._asdict().items()}
    exact = settings.method == DETERMINISTIC
    scored = int(np.isfinite(part.matrix.values[:, place]).sum())
    row = {
        "model": model,
        "metric": facts.name,
        "statistic": settings.statistic if part.matrix.statistics is None else POOLED,
        "estimand": settings.estimand,
        **{name: None if np.isnan(number) else number for name, number in numbers.items()},
        "cases": scored,
        "videos": len(part.matrix.video_names),
        "resample": label_of(settings.resample),
        "method": settings.method,
        "level": settings.level,
        "replicates": None if exact else settings.replicates,
        "seed": None if exact else settings.seed,
        "note": note or ("not scored" if scored == 0 else None),
    }
    return labelled(part.labels, row)
