"""Two models on the same cases: paired differences with intervals, and what a claim of superiority risks.

Both models are seen on the same cases, so what a case or a video has in common cancels out. By default (`auto`) the
interval is the set of differences that the exact sign-flip test over videos does not reject, so it excludes 0 exactly
when the p-value says so; where a method draws, both models share the draws.

* `p_value`: of the exact sign-flip test, two-sided, whatever the method of the interval; `smallest_p` is the least
  that so many differing videos could have given. Other metrics than means have the p-value of the jackknife's t, class
  by class for means over classes, or none; below six videos it is at least the sign-flip test's smallest.
* `p_false_claim`: half of it, the risk that a claim of superiority is false. It is never 0.
* `favours`: the model with the better value. Where so few videos differ that nothing could be significant (fewer than
  six at the usual level), nobody is favoured; where nothing is significant, a note says that the name is no conclusion.
* `min_detectable`: the true difference that would be found significant with 80 % power at this level,
  `(t[1 - alpha/2] + t[power]) * sd` with the jackknife's standard error and degrees of freedom (Bloom 1995, "Minimum
  detectable effects"); where a method draws, the SD of the draws and one degree of freedom less than there are videos.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from surgeval.errors import Misuse, UnknownName
from surgeval.results.request import requested
from surgeval.results.table_result import TableResult, as_table
from surgeval.results.tables.statistics import COMPARE
from surgeval.schema.findings import Finding
from surgeval.schema.score_table import Missing, ScoreMatrix
from surgeval.schema.table_facts import Directions
from surgeval.stats.deterministic import two_stage_distribution
from surgeval.stats.engine import AUTO, Difference, auto_difference
from surgeval.stats.few_videos import (
    differing_videos,
    few_videos,
    gathered,
    not_significant,
    percentile_too_narrow,
)
from surgeval.stats.interval import (
    DETERMINISTIC,
    Settings,
    check_settings,
    chosen_resample,
    interval_prose,
    known,
    matrix_notes,
    replicate_sd,
    slice_keys,
    unused,
    values_prose,
)
from surgeval.stats.intervals import bounds, percent
from surgeval.stats.jackknife import leave_one_out
from surgeval.stats.labels import SEPARATOR
from surgeval.stats.nesting import Resample, label_of, need_units
from surgeval.stats.pooled import POOLED, scores_videos, verb_matrix
from surgeval.stats.replicates import Sample
from surgeval.stats.resampling import Engine
from surgeval.stats.slices import Slice, labelled, slices, split_notes
from surgeval.stats.statistic import Statistic
from surgeval.stats.video_jackknife import FEWEST_VIDEOS

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
    resample: Resample | None = None,
    estimand: str = "rows",
    by: Sequence[str] = (),
    separator: str = SEPARATOR,
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    columns: Mapping[str, str] | None = None,
    engine: Engine = "auto",
    preregistration: str | Path | None = None,  # noqa: ARG001 - held against the settings by `requested`
    deviations: Mapping[str, str] | None = None,  # noqa: ARG001
) -> ComparisonResult:
    """The difference of `model_a` minus `model_b` on the cases both were scored on, with its interval.

    Args are those of `interval`; `better` says whether `larger` or `smaller` values are better where neither the table
    nor the name of the metric does. `preregistration` is the registration that the settings must be those of, and
    `deviations` says why they differ, by the name of the option. `favours` in the result is the model that looks
    better, from six videos on.

    Raises:
        UnknownName: A model that the table does not have.
        DirectionUnknown: Nobody said which values are better.
        TooFewVideos: The whole table has a single unit.

    Example:
        >>> rows = {"model": ["A"] * 7 + ["B"] * 7, "case": list("abcdefg") * 2, "video": list("tuvwxyz") * 2,
        ...         "value": [9, 7, 8, 6, 9, 8, 7, 5, 6, 4, 5, 7, 6, 4]}
        >>> result = compare(rows, "A", "B", better="larger")
        >>> result.table.select("difference", "low", "high", "favours", "p_value").row(0)
        (2.4285714285714284, 1.0, 4.0, 'A', 0.015625)
    """
    settings = Settings(statistic, chosen_resample(resample, method), estimand, level, replicates, method, seed, engine)
    check_settings(settings)
    scores = as_table(table, columns, better=better, metric=metric)
    models = (model_a, model_b)
    matrix = verb_matrix(scores, metric, missing=missing, statistic=statistic, estimand=estimand, models=models)
    pair = pair_matrix(matrix, model_a, model_b)
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for slice_ in slices(pair, by, separator=separator):
        row, findings = pair_row(slice_, settings, strict=not by)
        rows.append(row)
        spoken += [replace(one, subject=slice_.name if slice_.labels else None) for one in findings]
    about = matrix_notes(pair, has_videos=scores.has_videos, paired=True)
    split = split_notes(pair.cases, by, separator=separator)
    notes = [*about, *split, *unused(settings, resample), *gathered(spoken)]
    return ComparisonResult.of(COMPARE.frame(rows), _prose(settings, pair), tuple(notes))


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


def min_detectable(sd: float, freedom: float, *, level: float = 0.95, power: float = POWER) -> float:
    """The smallest true difference found with the given power, for a difference with this SD and degrees of freedom.

    Example:
        >>> round(min_detectable(0.01, 199), 4)
        0.0282
    """
    if not freedom > 0:
        return float("nan")
    return float((stdtrit(freedom, 1 - (1 - level) / 2) + stdtrit(freedom, power)) * sd)


def pair_row(slice_: Slice, settings: Settings, *, strict: bool = False) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The row of a pair of columns, the first minus the second, and what must be said about it.

    Raises:
        TooFewVideos: A single unit, where `strict`.
    """
    matrix = slice_.matrix
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    if strict:
        need_units(sample.nest, slice_.name)
    value = sample.point()
    difference = auto_difference(sample, matrix.metric, level=settings.level, approximate=settings.method != AUTO)
    note = difference.findings[0].message if np.isnan(difference.low) and difference.findings else None
    if settings.method != AUTO:
        difference, note = _drawn(sample, difference, settings, slice_.name)
    row = {
        "model_a": matrix.models[0], "model_b": matrix.models[1], "metric": matrix.metric.name,
        "statistic": settings.statistic if matrix.statistics is None else POOLED, "estimand": settings.estimand,
        "value_a": float(value[0]), "value_b": float(value[1]), "difference": difference.value,
        **{name: known(getattr(difference, name)) for name in ("low", "high", "sd", "df")},
        "favours": (favours := _favours(difference, matrix, settings.level)),
        **{name: known(getattr(difference, name)) for name in ("p_value", "smallest_p")},
        "p_false_claim": known(difference.p_value / 2),
        "min_detectable": known(_detectable(difference, settings)),
        **_video_score(matrix), "cases": len(matrix.values), "videos": len(matrix.video_names),
        "effective_videos": known(difference.effective), "resample": label_of(settings.resample),
        "method": difference.method, "level": settings.level,
        "replicates": settings.replicates if settings.draws else None,
        "seed": settings.seed if settings.draws else None, "note": note,
    }  # fmt: skip
    notes = [differing_videos(difference.videos, difference.smallest_p, settings.level)] if difference.testable else []
    if favours is not None:
        notes.append(not_significant(difference.p_value, settings.level))
    return labelled(slice_.labels, row), (*difference.findings, *(one for one in notes if one is not None))


def _favours(difference: Difference, matrix: ScoreMatrix, level: float) -> str | None:
    """The model that looks better, where so many videos can show anything and there is a test or an interval."""
    sign = np.sign(difference.value) * matrix.metric.sign
    hopeless = not difference.testable or difference.smallest_p > (1 - level) * (1 + 1e-9)
    if sign == 0 or hopeless or np.isnan([difference.p_value, difference.low]).all():
        return None
    return matrix.models[0 if sign > 0 else 1]


def _detectable(difference: Difference, settings: Settings) -> float:
    if np.isnan(difference.low):
        return float("nan")
    return min_detectable(
        difference.sd, difference.videos - 1 if np.isnan(difference.df) else difference.df, level=settings.level
    )


def _drawn(sample: Sample, difference: Difference, settings: Settings, name: str) -> tuple[Difference, str | None]:
    """The difference with the interval of a method that is asked for by name; the test stays as it is."""
    unknown = float("nan")
    spoken = [few_videos(difference.videos, unknown)] if difference.videos < FEWEST_VIDEOS else []
    spoken += [percentile_too_narrow(difference.videos, difference.effective)]
    findings = tuple(one for one in spoken if one is not None)
    if difference.videos < 2:
        blank = difference._replace(low=unknown, high=unknown, sd=unknown, df=unknown, method="none", findings=findings)
        return blank, "one unit only: its spread is unknowable"
    low, high, sd = _ends(sample, difference.value, settings, name)
    return difference._replace(low=low, high=high, sd=sd, df=unknown, method=settings.method, findings=findings), None


def _ends(sample: Sample, difference: float, settings: Settings, name: str) -> tuple[float, float, float]:
    """Both ends and the SD."""
    tail = (1 - settings.level) / 2
    if settings.method == DETERMINISTIC:
        exact = two_stage_distribution(sample.values[:, 0] - sample.values[:, 1], sample.nest.row_starts)
        low, high = exact.quantiles(np.array([tail, 1 - tail]))
        return float(low), float(high), exact.sd
    both = sample.replicates(slice_keys(settings, name), engine=settings.engine)
    draws = (both[:, 0] - both[:, 1])[:, None]
    left_out = None
    if settings.method == "bca":
        without = leave_one_out(sample)
        left_out = (without[:, 0] - without[:, 1])[:, None]
    ends = bounds(draws, np.array([difference]), level=settings.level, method=settings.method, left_out=left_out)
    return float(ends.low[0]), float(ends.high[0]), float(replicate_sd(draws)[0])


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
    how = interval_prose(settings, matrix, what="values") if settings.method != AUTO else _auto_prose(settings, matrix)
    both = f"{len(matrix.values):,} {'videos' if scores_videos(matrix) else 'cases'} " + (
        "of both, stand-ins for missing scores included" if matrix.absent.filled else "both were scored on"
    )
    return (
        f"{matrix.models[0]!r} minus {matrix.models[1]!r} on the {both}. "
        f"{how} {_test_prose(settings, matrix)} "
        f"The minimum detectable difference has {POWER:.0%} power at level {1 - settings.level:.2g} and takes the SD "
        "as given. Nobody is favoured where so few videos differ that nothing could be significant."
    )


def _test_prose(settings: Settings, matrix: ScoreMatrix) -> str:
    """Where the p-value comes from."""
    half = "and the probability of a false claim is half of it."
    if _is_flipped(settings, matrix):
        return f"The p-value is that of the exact sign-flip test over videos, two-sided, {half}"
    if matrix.statistics is None and Statistic.read(settings.statistic).quantile is not None:
        return "Pooled quantiles have no test here, so there is no p-value."
    return (
        "The p-value is that of Student's t with the jackknife's standard error, two-sided (below six videos never "
        f"smaller than a sign-flip test could give), {half}"
    )


def _is_flipped(settings: Settings, matrix: ScoreMatrix) -> bool:
    """Whether the difference is one of means over videos or rows, which signs can be flipped of."""
    if matrix.statistics is not None:
        return False
    return settings.estimand == "videos" or Statistic.read(settings.statistic).is_mean


def _auto_prose(settings: Settings, matrix: ScoreMatrix) -> str:
    head, level = values_prose(settings, matrix, what="values"), percent(settings.level)
    if _is_flipped(settings, matrix):
        return (
            f"{head} The {level} interval holds every difference that the exact sign-flip test over videos does not "
            "reject; with three to five videos it comes from leaving out one video at a time (jackknife). Nothing is "
            "drawn."
        )
    by_class = ", class by class where the metric averages over classes" if matrix.statistics is not None else ""
    how = f"The {level} interval comes from leaving out one video at a time (jackknife){by_class}"
    return f"{head} {how}. Nothing is drawn."
