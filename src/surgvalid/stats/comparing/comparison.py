"""Two models on the same cases: paired differences with intervals, and the verdict on them.

Both models are seen on the same cases, so what a case or a video has in common cancels out. By default (`auto`) the
interval is the set of differences that the exact sign-flip test over videos does not reject, so it excludes 0 exactly
when the p-value says so; the bootstrap shares its draws between both.

* `p_value`: of the exact sign-flip test, two-sided, whatever the method of the interval; `smallest_p` is the least
  that so many differing videos could have given. Other metrics than means have the p-value of the jackknife's t, class
  by class for means over classes, or none; below six videos it is at least the sign-flip test's smallest.
* `favours`: the model that is shown to be better, by the verdict of the whole table and by the test in a slice; else
  nobody. Half a p-value is not the risk that a claim is false: that depends on how many compared models are equal.
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

from surgvalid.errors import Misuse, UnknownName
from surgvalid.results.registered_data import note_cases
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import COMPARE
from surgvalid.schema.findings import Finding
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.units import UNSAID
from surgvalid.stats.intervals.engine import Difference, auto_difference
from surgvalid.stats.intervals.few_videos import (
    few_videos,
    gathered,
    percentile_too_narrow,
)
from surgvalid.stats.intervals.interval import (
    interval_prose,
    known,
    matrix_notes,
    slice_keys,
    values_prose,
)
from surgvalid.stats.intervals.interval_settings import (
    AUTO,
    BOOTSTRAP,
    IntervalSettings,
    check_settings,
    percent,
    unused,
)
from surgvalid.stats.intervals.nesting import Resample, label_of, nest_of
from surgvalid.stats.intervals.pooled import POOLED, scores_videos, verb_matrix
from surgvalid.stats.intervals.replicates import Sample, bounds, replicate_sd
from surgvalid.stats.intervals.slices import SEPARATOR, Slice, labelled, slices, split_notes
from surgvalid.stats.intervals.statistic import Statistic
from surgvalid.stats.intervals.video_jackknife import FEWEST_VIDEOS
from surgvalid.stats.verdict.judged_result import JudgedResult
from surgvalid.stats.verdict.unit_differences import PairFinding, unit_sums
from surgvalid.stats.verdict.who_is_better import VerdictQuestion, pairwise, verdict

POWER = 0.8


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class ComparisonResult(JudgedResult, TableResult):
    """The difference of two models; one row per slice. The verdict is on the whole table; none on slices."""

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
    margin: float | None = None,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
    metric: str | None = None,
    better: Directions = None,
    missing: Missing = None,
    prior: str | None = None,
    why: bool = False,
    columns: Mapping[str, str] | None = None,
    preregistration: str | Path | None = None,  # noqa: ARG001 - held against the settings by `requested`
    deviations: Mapping[str, str] | None = None,  # noqa: ARG001
) -> ComparisonResult:
    """The difference of `model_a` minus `model_b` on the cases both were scored on, with its interval and the verdict.

    Args are those of `interval`; `better` says whether `larger` or `smaller` values are better where neither the table
    nor the name of the metric does. `margin` is the smallest difference that matters, in the unit of the metric,
    `prior` (`half-equal`) asks for the chance that a claim is wrong, and `why` shows the rule, the numbers and the
    source behind each sentence. `preregistration` is the registration that
    the settings must be those of, and `deviations` says why they differ, by the name of the option. `favours` in the
    result is the model that is shown to be better.

    Raises:
        UnknownName: A model that the table does not have.
        DirectionUnknown: Nobody said which values are better.

    Example:
        >>> rows = {"model": ["A"] * 7 + ["B"] * 7, "case": list("abcdefg") * 2, "video": list("tuvwxyz") * 2,
        ...         "value": [9, 7, 8, 6, 9, 8, 7, 5, 6, 4, 5, 7, 6, 4]}
        >>> result = compare(rows, "A", "B", better="larger")
        >>> result.table.select("difference", "low", "high", "favours", "p_value").row(0)
        (2.4285714285714284, 1.0, 4.0, 'A', 0.015625)
        >>> print(result.verdict[0])
        A is better than B in value by 2.4 (1.0 to 4.0; 7 videos).
    """
    settings = IntervalSettings(statistic, resample or "cluster", estimand, level, replicates, method, seed)
    check_settings(settings)
    scores = as_table(table, columns, better=better, metric=metric)
    models = (model_a, model_b)
    rule = pairwise(scores, scores.chosen_metric(metric), missing)
    matrix = verb_matrix(scores, metric, missing=rule, statistic=statistic, estimand=estimand, models=models)
    pair = pair_matrix(matrix, model_a, model_b)
    note_cases(pair.cases, metric=matrix.metric.name)
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    below, settings = settings, _of_units(pair, settings)
    for slice_ in slices(pair, by, separator=separator):
        row, findings = pair_row(slice_, settings)
        rows += [row] if below == settings else [row, _beside(slice_, below)]
        spoken += [replace(one, subject=slice_.name if slice_.labels else None) for one in findings]
    judged = None
    if not by:
        question = VerdictQuestion(metric, missing, models, margin, level, estimand, prior=prior)
        judged = verdict(scores, question, pairs=_other_finding(pair, settings))
        rows[0]["favours"] = judged.favours
    about = matrix_notes(pair, has_videos=scores.has_videos, paired=True)
    split = split_notes(pair.cases, by, separator=separator)
    notes = [*about, *split, *unused(settings), *gathered(spoken)]
    made = ComparisonResult.of(COMPARE.frame(rows), _prose(settings, pair), notes)
    return replace(made, judged=judged, why=why)


def _of_units(pair: ScoreMatrix, settings: IntervalSettings) -> IntervalSettings:
    """The settings, of whole units where the resample draws what lies within them: parts of a unit show no winner."""
    drawn = int(nest_of(pair, settings.resample).starts[0][1])
    return settings._replace(resample="cluster") if drawn > len(pair.video_names) else settings


def _beside(slice_: Slice, settings: IntervalSettings) -> dict[str, Any]:
    """The row of a resample of what lies within units, for its width alone."""
    row, _ = pair_row(slice_, settings)
    row |= dict.fromkeys("favours p_value smallest_p min_detectable effective_videos".split())
    return row | {
        "note": f"as if what lies within a {slice_.matrix.unit.word} were independent: nothing is shown by it"
    }


def _other_finding(pair: ScoreMatrix, settings: IntervalSettings) -> list[PairFinding] | None:
    """What the verdict rests on where its own test is not that of the statistic or of the units asked for.

    Turned to the side that is better; the interval is the one that belongs to the p-value, whatever method was asked.
    """
    if settings.statistic == "mean" and settings.resample == "cluster":
        return None
    row, _ = pair_row(Slice({}, pair), settings._replace(method=AUTO))
    sign, unknown = pair.metric.sign, float("nan")
    p, ends = row["p_value"], (row["low"], row["high"])
    low, high = sorted(sign * end for end in ends) if None not in ends else (-np.inf, np.inf)
    sums = unit_sums(pair, estimand="videos")
    gaps = np.where(sums.sizes[:, 0] > 0, sums.totals[:, 0], unknown)
    p = unknown if p is None else p
    value = sign * row["difference"]
    return [PairFinding(row["model_a"], row["model_b"], value, low, high, p, p, gaps, row["cases"])]


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


def min_detectable(sd: float, freedom: float, *, level: float = 0.95) -> float:
    """The smallest true difference found with the given power, for a difference with this SD and degrees of freedom.

    Example:
        >>> round(min_detectable(0.01, 199), 4)
        0.0282
    """
    if not freedom > 0:
        return float("nan")
    return float((stdtrit(freedom, 1 - (1 - level) / 2) + stdtrit(freedom, POWER)) * sd)


def pair_row(
    slice_: Slice, settings: IntervalSettings, *, approximate: bool = False
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The row of a pair of columns, the first minus the second, and what must be said about it.

    Args:
        slice_: The two columns.
        settings: Of the interval.
        approximate: Ends need not be exact, since others take their place.
    """
    matrix = slice_.matrix
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    value = sample.point()
    difference = auto_difference(
        sample, matrix.metric, level=settings.level, approximate=approximate or settings.method != AUTO
    )
    if not matrix.unit.is_known:
        difference = difference._replace(p_value=float("nan"), smallest_p=float("nan"))
    if not difference.testable:  # the inverted test is unbounded there, so there is no interval at the level
        difference = difference._replace(low=float("nan"), high=float("nan"), method="none")
    note = None
    if np.isnan(difference.low) and difference.findings:
        note = matrix.unit.called(difference.findings[0].message) if matrix.unit.is_known else UNSAID
    if settings.method != AUTO:
        difference, note = _drawn(sample, difference, settings, slice_.name)
    row = {
        "model_a": matrix.models[0],
        "model_b": matrix.models[1],
        "metric": matrix.metric.name,
        "statistic": settings.statistic if matrix.statistics is None else POOLED,
        "estimand": settings.estimand,
        "value_a": float(value[0]),
        "value_b": float(value[1]),
        "difference": difference.value,
        **{name: known(getattr(difference, name)) for name in ("low", "high", "sd", "df")},
        "favours": _favours(difference, matrix, settings.level),
        **{name: known(getattr(difference, name)) for name in ("p_value", "smallest_p")},
        "min_detectable": known(_detectable(difference, settings)),
        **_video_score(matrix),
        "cases": len(matrix.values),
        "videos": matrix.unit.counted(len(matrix.video_names)),
        "effective_videos": matrix.unit.counted(known(difference.effective)),
        "resample": label_of(settings.resample),
        "method": difference.method,
        **settings.recorded,
        "note": note,
    }
    return labelled(slice_.labels, row), tuple(one for one in difference.findings if one is not None)


def _favours(difference: Difference, matrix: ScoreMatrix, level: float) -> str | None:
    """The model that is shown to be better, by the test alone."""
    if not difference.testable or not difference.p_value <= (1 - level) * (1 + 1e-12):
        return None
    return matrix.models[0 if difference.value * matrix.metric.sign > 0 else 1]


def _detectable(difference: Difference, settings: IntervalSettings) -> float:
    if np.isnan(difference.low):
        return float("nan")
    return min_detectable(
        difference.sd, difference.videos - 1 if np.isnan(difference.df) else difference.df, level=settings.level
    )


def _drawn(
    sample: Sample, difference: Difference, settings: IntervalSettings, name: str
) -> tuple[Difference, str | None]:
    """The difference with the interval of a method that is asked for by name; the test stays as it is."""
    unknown = float("nan")
    spoken = [few_videos(difference.videos, unknown)] if difference.videos < FEWEST_VIDEOS else []
    spoken += [percentile_too_narrow(difference.videos, difference.effective)]
    findings = tuple(one for one in spoken if one is not None)
    if difference.videos < 2:
        blank = difference._replace(low=unknown, high=unknown, sd=unknown, df=unknown, method="none", findings=findings)
        return blank, "one unit only: its spread is unknowable"
    both = sample.replicates(slice_keys(settings, name))
    draws = (both[:, 0] - both[:, 1])[:, None]
    ends, sd = bounds(draws, level=settings.level), float(replicate_sd(draws)[0])
    low, high = float(ends.low[0]), float(ends.high[0])
    return difference._replace(low=low, high=high, sd=sd, df=unknown, method=BOOTSTRAP, findings=findings), None


def _video_score(matrix: ScoreMatrix) -> dict[str, int | None]:
    """In how many videos the mean of the first model is better, worse and equal."""
    sums = np.bincount(matrix.videos, weights=matrix.values[:, 0] - matrix.values[:, 1])
    gaps = matrix.metric.sign * np.where(np.abs(sums) < 1e-12, 0.0, sums)
    held = {"videos_won": gaps > 0, "videos_lost": gaps < 0, "videos_tied": gaps == 0}
    return {name: matrix.unit.counted(int(some.sum())) for name, some in held.items()}


def _prose(settings: IntervalSettings, matrix: ScoreMatrix) -> str:
    how = interval_prose(settings, matrix, what="values") if settings.method != AUTO else _auto_prose(settings, matrix)
    both = f"{len(matrix.values):,} {'videos' if scores_videos(matrix) else 'cases'} " + (
        "of both, stand-ins for missing scores included" if matrix.absent.filled else "both were scored on"
    )
    head = f"{matrix.models[0]!r} minus {matrix.models[1]!r} on the {both}."
    if not matrix.unit.is_known:
        return f"{head} {values_prose(settings, matrix, what='values')} No interval and no test: {UNSAID}."
    return (
        f"{head} {how} {_test_prose(settings, matrix)} "
        f"The minimum detectable difference has {POWER:.0%} power at level {1 - settings.level:.2g} and takes the SD "
        "as given."
    )


def _test_prose(settings: IntervalSettings, matrix: ScoreMatrix) -> str:
    """Where the p-value comes from."""
    if _is_flipped(settings, matrix):
        return "The p-value is that of the exact sign-flip test over videos, two-sided."
    if _is_untested(settings, matrix):
        return "Pooled quantiles have no test here, so there is no p-value."
    return (
        "The p-value is that of Student's t with the jackknife's standard error, two-sided (below six videos never "
        "smaller than a sign-flip test could give)."
    )


def _is_flipped(settings: IntervalSettings, matrix: ScoreMatrix) -> bool:
    """Whether the difference is one of means over videos or rows, which signs can be flipped of."""
    if matrix.statistics is not None:
        return False
    return settings.estimand == "videos" or Statistic.read(settings.statistic).is_mean


def _is_untested(settings: IntervalSettings, matrix: ScoreMatrix) -> bool:
    """Whether the difference is one of quantiles of pooled rows, beside which nothing holds."""
    return not _is_flipped(settings, matrix) and (
        matrix.statistics is None and Statistic.read(settings.statistic).quantile is not None
    )


def _auto_prose(settings: IntervalSettings, matrix: ScoreMatrix) -> str:
    head, level = values_prose(settings, matrix, what="values"), percent(settings.level)
    if _is_flipped(settings, matrix):
        return (
            f"{head} The {level} interval holds every difference that the exact sign-flip test over videos does not "
            "reject; fewer than six videos bound none. Nothing is drawn."
        )
    if (
        matrix.statistics is None
        and Statistic.read(settings.statistic).quantile is not None
        and settings.estimand == "rows"
    ):
        return head
    by_class = ", class by class where the metric averages over classes" if matrix.statistics is not None else ""
    how = f"The {level} interval comes from leaving out one video at a time (jackknife){by_class}"
    return f"{head} {how}. Nothing is drawn."
