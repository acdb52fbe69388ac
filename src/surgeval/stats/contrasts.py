"""Contrasts: the value on some cases minus the value on others, all from the same draws.

Cases may overlap between the two sides and between contrasts. The interval of a contrast comes from
resampling the whole table and computing both sides within each resample, so what the sides share
cancels out and what they do not share counts. Resamples in which a side has no scored case are left
aside and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surgeval.errors import Misuse
from surgeval.schema.score_table import ScoreMatrix
from surgeval.stats.interval import Settings, replicate_sd, slice_keys
from surgeval.stats.intervals import bounds
from surgeval.stats.nesting import label_of, need_units
from surgeval.stats.pooled import POOLED
from surgeval.stats.replicates import Sample
from surgeval.stats.resampling import row_count_blocks, unit_counts
from surgeval.stats.statistic import divided, unweighted

ALL_MODELS = "(median of models)"
"""Name under which the median over models is reported."""


@dataclass(frozen=True)
class Contrast:
    """Two sets of cases to be compared."""

    labels: dict[str, Any]
    cases: np.ndarray
    """Mask over the rows of the matrix."""
    baseline: np.ndarray
    """Mask of what they are compared with."""


def contrast_rows(matrix: ScoreMatrix, contrasts: Sequence[Contrast], settings: Settings) -> list[dict[str, Any]]:
    """One row per contrast and model, and one for the median over models where there are several.

    Raises:
        TooFewVideos: The table has a single unit.
        Misuse: A resample or method that contrasts do not offer.
    """
    _check(settings)
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    need_units(sample.nest, "strata")
    sides = [(one.cases[sample.nest.order], one.baseline[sample.nest.order]) for one in contrasts]
    draws = _draws(sample, sides, slice_keys(settings, "strata"), settings)
    rows = []
    for place, (one, (cases, baseline)) in enumerate(zip(contrasts, sides, strict=True)):
        value, reference = _point(sample, cases), _point(sample, baseline)
        rows += table_rows(matrix, one, value, reference, draws[place], settings)
    return rows


def table_rows(
    matrix: ScoreMatrix,
    one: Contrast,
    value: np.ndarray,
    baseline: np.ndarray,
    draws: np.ndarray,
    settings: Settings,
) -> list[dict[str, Any]]:
    """The rows of one contrast: every model, then the median of the models' differences."""
    delta = value - baseline
    models = list(matrix.models)
    if len(models) > 1:
        models.append(ALL_MODELS)
        value, baseline = (np.append(side, _median(side)) for side in (value, baseline))
        delta = np.append(delta, _median(delta))
        middle = np.median(draws, axis=1, keepdims=True)
        draws = np.concatenate([draws, middle], axis=1)
    ends = bounds(draws, delta, level=settings.level, method=settings.method)
    sd = replicate_sd(draws)
    videos = len(np.unique(matrix.videos[one.cases]))
    usable = np.isfinite(draws).sum(axis=0)
    return [
        {
            **one.labels,
            "model": model,
            "statistic": settings.statistic if matrix.statistics is None else POOLED,
            "estimand": settings.estimand,
            "cases": int(one.cases.sum()),
            "videos": videos,
            "value": _number(value[i]),
            "baseline": _number(baseline[i]),
            "delta": _number(delta[i]),
            "low": _number(ends.low[i]) if videos > 1 else None,
            "high": _number(ends.high[i]) if videos > 1 else None,
            "sd": _number(sd[i]) if videos > 1 else None,
            "resample": label_of(settings.resample),
            "level": settings.level,
            "replicates": settings.replicates,
            "seed": settings.seed,
            "note": _note(int(one.cases.sum()), videos, int(usable[i]), len(draws)),
        }
        for i, model in enumerate(models)
    ]


def _check(settings: Settings) -> None:
    if settings.method not in ("percentile", "basic"):
        raise Misuse(f"contrasts offer the methods percentile and basic, got {settings.method!r}")
    if settings.estimand == "videos" and label_of(settings.resample) != "cluster":
        raise Misuse("contrasts of the estimand 'videos' need resample='cluster'")


def _point(sample: Sample, mask: np.ndarray) -> np.ndarray:
    if sample.estimand == "rows":
        return unweighted(sample.statistic, sample.values[mask])
    ones = np.ones((1, sample.nest.units))
    return np.asarray(_over_videos(sample, mask, ones)[0])


def _draws(
    sample: Sample, sides: Sequence[tuple[np.ndarray, np.ndarray]], keys: np.ndarray, settings: Settings
) -> list[np.ndarray]:
    """Differences in every replicate, `[contrast][replicate, model]`; equal masks are computed once."""
    masks: dict[bytes, np.ndarray] = {mask.tobytes(): mask for pair in sides for mask in pair}
    out = {name: np.empty((len(keys), sample.columns)) for name in masks}
    if sample.estimand == "videos":
        counts = unit_counts(sample.nest, keys, engine=settings.engine).astype(np.float64)
        out = {name: _over_videos(sample, mask, counts) for name, mask in masks.items()}
    else:
        for rows, counted in row_count_blocks(sample.nest, keys, engine=settings.engine):
            for name, mask in masks.items():
                out[name][rows] = sample.statistic.weighted(counted[:, mask], sample.values[mask])
    return [out[cases.tobytes()] - out[baseline.tobytes()] for cases, baseline in sides]


def _over_videos(sample: Sample, mask: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean over drawn videos of the statistic of their chosen rows."""
    hidden = np.where(mask[:, None], sample.values, np.nan)
    within = Sample(hidden, sample.nest, sample.statistic, sample.estimand).within_units()
    known = np.isfinite(within)
    return divided(counts @ np.where(known, within, 0.0), counts @ known.astype(np.float64))


def _median(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else float("nan")


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _note(cases: int, videos: int, usable: int, replicates: int) -> str | None:
    if cases == 0:
        return "no cases"
    if videos == 1:
        return "one video only: its spread is unknowable"
    if usable < replicates:
        return f"{replicates - usable} of {replicates} resamples had no scored case and were left aside"
    return None
