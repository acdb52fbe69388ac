"""Contrasts: the value on some cases minus the value on others, all from the same draws.

Cases may overlap between the two sides and between contrasts. By default (`auto`) the interval of a contrast comes
from leaving out one video at a time, both sides at once, so what the sides share cancels out and what they do not
share counts: `difference -+ t sd` with the smaller of the two sides' degrees of freedom (`video_jackknife`), and class
by class where the metric is a mean over classes (`class_contrasts`). Where a method draws, the whole table is resampled
and both sides are computed within each resample; resamples in which a side has no scored case are left aside and
counted.

The decision a reader would question: the smaller degrees of freedom, not a mixture of both. A stratum is often the
smaller side by far, and a mixture would rest on an estimate of its variance that few videos do not give. Differences
of pooled quantiles get no interval, as in `engine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surgvalid.errors import Misuse
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.schema.tables.units import UNSAID
from surgvalid.stats.comparing.class_contrasts import ClassContrast, class_contrast
from surgvalid.stats.intervals.engine import pooled_cases, row_owners, values_without
from surgvalid.stats.intervals.interval import known, slice_keys
from surgvalid.stats.intervals.interval_settings import AUTO, IntervalSettings
from surgvalid.stats.intervals.macro_interval import LABEL
from surgvalid.stats.intervals.nesting import label_of, need_units
from surgvalid.stats.intervals.pooled import POOLED, PooledStatistic
from surgvalid.stats.intervals.replicates import Sample, bounds, replicate_sd, row_count_blocks, unit_counts
from surgvalid.stats.intervals.statistic import Statistic, divided, unweighted
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS, degrees_of_freedom, effective_videos, interval_ends

ALL_MODELS = "(median of models)"
"""Name under which the median over models is reported."""
ONE_VIDEO = "occur in one video only on one of the sides"
"""What the note of a row says of such classes."""


@dataclass(frozen=True)
class Contrast:
    """Two sets of cases to be compared."""

    labels: dict[str, Any]
    cases: np.ndarray
    """Mask over the rows of the matrix."""
    baseline: np.ndarray
    """Mask of what they are compared with."""


def contrast_rows(
    matrix: ScoreMatrix, contrasts: Sequence[Contrast], settings: IntervalSettings
) -> list[dict[str, Any]]:
    """One row per contrast and model, and one for the median over models where there are several.

    Raises:
        TooFewVideos: The table has a single unit.
        Misuse: A resample or method that contrasts do not offer.
    """
    _check(settings)
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    if matrix.unit.is_known:
        need_units(sample.nest, "strata")
    sides = [(one.cases[sample.nest.order], one.baseline[sample.nest.order]) for one in contrasts]
    left_out = _left_out(sample, sides) if settings.method == AUTO else []
    draws = [] if left_out else _draws(sample, sides, slice_keys(settings, "strata"))
    rows = []
    for place, (one, (cases, baseline)) in enumerate(zip(contrasts, sides, strict=True)):
        value, reference = _point(sample, cases), _point(sample, baseline)
        if settings.method == AUTO:
            sizes = [_unit_sizes(sample, side) for side in (cases, baseline)]
            by_class = class_contrast(sample, cases, baseline, matrix.metric, level=settings.level)
            rows += _jackknife_rows(matrix, one, value, reference, left_out[place], sizes, settings, by_class)
        else:
            rows += table_rows(matrix, one, value, reference, draws[place], settings)
    return rows


def table_rows(
    matrix: ScoreMatrix,
    one: Contrast,
    value: np.ndarray,
    baseline: np.ndarray,
    draws: np.ndarray,
    settings: IntervalSettings,
) -> list[dict[str, Any]]:
    """The rows of one contrast: every model, then the median of the models' differences."""
    sides = _with_median(value, baseline, value - baseline)
    if len(matrix.models) > 1:
        draws = np.concatenate([draws, np.median(draws, axis=1, keepdims=True)], axis=1)
    videos = _videos(matrix, one)
    ends, sd = bounds(draws, level=settings.level), replicate_sd(draws)
    usable = np.isfinite(draws).sum(axis=0)
    sizes = np.bincount(matrix.videos[one.cases], minlength=1)
    sizes = sizes if settings.estimand == "rows" else np.minimum(sizes, 1)
    shown = {"low": ends.low, "high": ends.high, "sd": sd} if min(videos) > 1 else {}
    blank = dict.fromkeys(("low", "high", "sd", "df"))
    intervals = [
        {
            **blank,
            **{name: known(column[i]) for name, column in shown.items()},
            "method": settings.method,
            "note": _note(one, videos, int(number), len(draws)),
        }
        for i, number in enumerate(usable)
    ]
    return _rows(matrix, one, sides, effective_videos(sizes), settings, intervals)


class _Spread(NamedTuple):
    """Interval, SD and degrees of freedom of each row of a contrast, how they were made, and what must be said."""

    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    df: np.ndarray
    method: str = "jackknife"
    note: str = ""


def _jackknife_rows(
    matrix: ScoreMatrix,
    one: Contrast,
    value: np.ndarray,
    baseline: np.ndarray,
    without: np.ndarray,
    sizes: Sequence[np.ndarray],
    settings: IntervalSettings,
    by_class: ClassContrast | None,
) -> list[dict[str, Any]]:
    """The rows of one contrast from the differences without each unit, `[unit, model]`."""
    without = without if by_class is None else by_class.without
    sides = _with_median(value, baseline, value - baseline)
    if len(matrix.models) > 1:
        without = np.concatenate([without, np.array([_median(row) for row in without])[:, None]], axis=1)
    delta, videos = sides[2], _videos(matrix, one)
    df = min(float(degrees_of_freedom(side)) for side in sizes) if by_class is None else float(np.min(by_class.df))
    spread = _plain_spread(delta, without, df, settings.level)
    spread = spread if by_class is None else _class_spread(spread, by_class)
    if np.array_equal(one.cases, one.baseline):
        spread = spread._replace(low=delta, high=delta, note="")
    refused = min(int((side > 0).sum()) for side in sizes) < FEWEST_VIDEOS or _pooled_quantile(settings)
    intervals: list[dict[str, Any]] = []
    for i, gap in enumerate(delta):
        ends = {end: None if refused else known(getattr(spread, end)[i]) for end in ("low", "high", "sd", "df")}
        none = ends["low"] is None
        why = _why_none(one, videos, gap, settings, spread.note) if none else spread.note
        why = why if matrix.unit.is_known else UNSAID
        intervals.append({**ends, "method": "none" if none else spread.method, "note": why or None})
    return _rows(matrix, one, sides, effective_videos(sizes[0]), settings, intervals)


def _plain_spread(delta: np.ndarray, without: np.ndarray, df: float, level: float) -> _Spread:
    units, freedom = len(without), np.full(len(delta), df)
    sd = np.sqrt((units - 1) / units * (np.where(np.isfinite(without), without - delta, 0.0) ** 2).sum(axis=0))
    ends = interval_ends(delta, sd, freedom, level=level, low=-np.inf, high=np.inf, effective=np.ones(len(sd)))
    return _Spread(*ends, sd, freedom)


def _class_spread(plain: _Spread, by_class: ClassContrast) -> _Spread:
    """The intervals of the models class by class; the median over models has the plain one, if every class repeats."""
    models, note = len(by_class.low), ""
    if by_class.single:
        note = f"{by_class.single} of {by_class.classes} classes {ONE_VIDEO} and may be anything on the metric's scale"
        unknown = np.full(len(plain.low), np.nan)
        plain = _Spread(unknown, unknown, unknown, unknown)
    pairs = ((getattr(by_class, name), getattr(plain, name)) for name in ("low", "high", "sd", "df"))
    low, high, sd, df = (np.append(one, other[models:]) for one, other in pairs)
    return _Spread(low, high, sd, df, LABEL, note)


def _rows(
    matrix: ScoreMatrix,
    one: Contrast,
    sides: Sequence[np.ndarray],
    effective: np.ndarray,
    settings: IntervalSettings,
    intervals: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """What a row says whatever the method, with its interval; `sides` are value, baseline and their difference."""
    videos, others = _videos(matrix, one)
    return [
        {
            **one.labels,
            "model": model,
            "statistic": settings.statistic if matrix.statistics is None else POOLED,
            "estimand": settings.estimand,
            "cases": int(one.cases.sum()),
            "videos": matrix.unit.counted(videos),
            "baseline_videos": matrix.unit.counted(others),
            "effective_videos": matrix.unit.counted(known(float(effective))),
            **{name: known(side[i]) for name, side in zip(("value", "baseline", "delta"), sides, strict=True)},
            "resample": label_of(settings.resample),
            **settings.recorded,
            **more,
        }
        for i, (model, more) in enumerate(zip([*matrix.models, ALL_MODELS], intervals, strict=False))
    ]


def _with_median(*sides: np.ndarray) -> list[np.ndarray]:
    """The values of all models, and their median behind them where there are several."""
    return [np.append(side, _median(side)) if len(side) > 1 else side for side in sides]


def _videos(matrix: ScoreMatrix, one: Contrast) -> tuple[int, int]:
    """How many videos each side has."""
    return len(np.unique(matrix.videos[one.cases])), len(np.unique(matrix.videos[one.baseline]))


def _check(settings: IntervalSettings) -> None:
    if settings.estimand == "videos" and label_of(settings.resample) != "cluster":
        raise Misuse("contrasts of the estimand 'videos' need resample='cluster'")


def _point(sample: Sample, mask: np.ndarray) -> np.ndarray:
    if sample.estimand == "rows":
        return unweighted(sample.statistic, sample.values[mask])
    ones = np.ones((1, sample.nest.units))
    return np.asarray(_over_videos(sample, mask, ones)[0])


def _draws(sample: Sample, sides: Sequence[tuple[np.ndarray, np.ndarray]], keys: np.ndarray) -> list[np.ndarray]:
    """Differences in every replicate, `[contrast][replicate, model]`; equal masks are computed once."""
    masks: dict[bytes, np.ndarray] = {mask.tobytes(): mask for pair in sides for mask in pair}
    out = {name: np.empty((len(keys), sample.columns)) for name in masks}
    if sample.estimand == "videos":
        counts = unit_counts(sample.nest, keys).astype(np.float64)
        out = {name: _over_videos(sample, mask, counts) for name, mask in masks.items()}
    else:
        for rows, counted in row_count_blocks(sample.nest, keys):
            for name, mask in masks.items():
                out[name][rows] = sample.statistic.weighted(counted[:, mask], sample.values[mask])
    return [out[cases.tobytes()] - out[baseline.tobytes()] for cases, baseline in sides]


def _left_out(sample: Sample, sides: Sequence[tuple[np.ndarray, np.ndarray]]) -> list[np.ndarray]:
    """Differences without each largest unit, `[contrast][unit, model]`; equal masks are computed once."""
    masks: dict[bytes, np.ndarray] = {mask.tobytes(): mask for pair in sides for mask in pair}
    out = {name: _without(sample, mask) for name, mask in masks.items()}
    return [out[cases.tobytes()] - out[baseline.tobytes()] for cases, baseline in sides]


def _without(sample: Sample, mask: np.ndarray) -> np.ndarray:
    if isinstance(sample.statistic, PooledStatistic):
        owners = row_owners(sample)
        kept = mask & (owners != np.arange(int(owners.max()) + 1)[:, None])
        return sample.statistic.weighted(kept.astype(np.int64), sample.values)
    hidden = Sample(np.where(mask[:, None], sample.values, np.nan), sample.nest, sample.statistic, sample.estimand)
    if sample.statistic.is_mean or sample.estimand == "videos":
        return values_without(hidden)
    return np.full((int(row_owners(sample).max()) + 1, sample.columns), np.nan)


def _unit_sizes(sample: Sample, mask: np.ndarray) -> np.ndarray:
    """Cases of each largest unit on one side; videos, where these are averaged."""
    owners = row_owners(sample)
    units = int(owners.max()) + 1
    if sample.estimand == "rows":
        cases = pooled_cases(sample)
        return np.bincount(owners[mask], cases if cases is None else cases[mask], minlength=units).astype(np.float64)
    return (np.bincount(owners[mask], minlength=units) > 0).astype(np.float64)


def _over_videos(sample: Sample, mask: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean over drawn videos of the statistic of their chosen rows."""
    hidden = np.where(mask[:, None], sample.values, np.nan)
    within = Sample(hidden, sample.nest, sample.statistic, sample.estimand).within_units()
    known = np.isfinite(within)
    return divided(counts @ np.where(known, within, 0.0), counts @ known.astype(np.float64))


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def _pooled_quantile(settings: IntervalSettings) -> bool:
    return settings.estimand == "rows" and not Statistic.read(settings.statistic).is_mean


def _why_none(
    one: Contrast, videos: tuple[int, int], delta: float, settings: IntervalSettings, single: str
) -> str | None:
    if (few := _too_few(one, videos, FEWEST_VIDEOS)) is not None:
        return few
    if _pooled_quantile(settings):
        return "no interval of a difference of pooled quantiles holds; use estimand='videos' or method='bootstrap'"
    if np.isnan(delta):
        return "not scored"
    return f"no interval: {single}" if single else "no variation between videos: no interval"


def _too_few(one: Contrast, videos: tuple[int, int], fewest: int) -> str | None:
    """Which side has too few videos to show its spread."""
    for side, mask, number in (("", one.cases, videos[0]), ("what it is compared with: ", one.baseline, videos[1])):
        if not mask.any():
            return f"{side}no cases"
        if number == 1:
            return f"{side}one video only: its spread is unknowable"
        if number < fewest:
            return f"{side}{number} videos: no interval; the spread between videos cannot be judged"
    return None


def _note(one: Contrast, videos: tuple[int, int], usable: int, replicates: int) -> str | None:
    if (few := _too_few(one, videos, 2)) is not None:
        return few
    if usable < replicates:
        return f"{replicates - usable} of {replicates} resamples had no scored case and were left aside"
    return None
