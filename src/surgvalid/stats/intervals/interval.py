"""Intervals for the value of every model, overall or per slice, clustered by video.

`interval` is the public entry. By default (`auto`) nothing is drawn and `engine` chooses the method; the percentile
bootstrap is asked for by name, and only it uses `replicates`, `seed` and what `resample` draws within its largest unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from surgvalid.errors import Misuse, TooFewVideos
from surgvalid.results.request import requested
from surgvalid.results.result import TableResult, as_table
from surgvalid.results.tables.statistics import INTERVAL
from surgvalid.schema.findings import Finding
from surgvalid.schema.metric_facts import Metric, MetricFacts
from surgvalid.schema.tables.score_table import Missing, ScoreMatrix
from surgvalid.schema.tables.table_facts import Directions
from surgvalid.schema.tables.units import UNSAID, Unit
from surgvalid.stats.draws import replicate_keys, stream
from surgvalid.stats.intervals.engine import Spread, auto_spread, drawn_spread, half_line
from surgvalid.stats.intervals.few_videos import gathered, no_videos
from surgvalid.stats.intervals.interval_settings import AUTO, IntervalSettings, check_settings, percent, unused
from surgvalid.stats.intervals.nesting import ROWS, Resample, label_of, levels_of, need_units
from surgvalid.stats.intervals.pooled import POOLED, pooled_head, scored_units, scores_videos, verb_matrix
from surgvalid.stats.intervals.replicates import ESTIMAND_PROSE, Sample
from surgvalid.stats.intervals.slices import SEPARATOR, Slice, labelled, slices, split_notes
from surgvalid.stats.intervals.statistic import MetricStatistic, Weighted, is_smooth

MEDIAN = ("median", "median_low", "median_high")


class PreparedSpread(NamedTuple):
    """Values with their uncertainty, and in how many resamples each had none (0 where nothing was drawn)."""

    spread: Spread
    undefined: np.ndarray


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class IntervalResult(TableResult):
    """The value of every model with its interval; one row per slice and model."""

    stem: ClassVar[str] = "intervals"

    @property
    def shown(self) -> pl.DataFrame:
        """The table without the columns that the paragraph says, and medians only where there are some."""
        shown = super().shown
        return shown.drop([name for name in MEDIAN if name in shown.columns and shown[name].is_null().all()])


@requested("interval")
def interval(
    table: Any,
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
) -> IntervalResult:
    """Values of all models with intervals in which rows of one video are not treated as independent.

    Tables and slices of one unit or two are reported without an interval.

    Args:
        table: A `ScoreTable`, files, or anything tabular with model, case, value and (best) video.
        statistic: `mean`, `median`, `min`, `max`, or `q` and a percentage such as `q05`.
        resample: What belongs together: `cluster` (videos; the default), `naive` (rows) or a hierarchy such as
            `center>video`, of which `auto` leaves out the largest units. The bootstrap also knows `two-stage` and
            `center>video>rows`, which draw rows within videos.
        estimand: `rows` (all rows pooled) or `videos` (the mean over videos of the statistic within).
        by: Columns whose combinations are reported one by one; one with several labels per case is split.
        separator: What stands between the labels of a case, where a column of text holds several.
        level: Coverage asked for.
        replicates: How many resamples, where a method draws.
        method: `auto` chooses a method that holds with few videos and draws nothing; `bootstrap` takes percentiles of
            resampled units, to repeat published work.
        seed: Seed of the named streams, where a method draws; each slice has its own.
        metric: Which metric of the table; may be left out where there is one.
        better: `larger` or `smaller`, where neither the table nor the name of the metric says it.
        missing: What a score that is not there counts as: `worst`, `drop-case`, `drop-score`, `error` or a number, for
            all or by status; by default the worst value for what the model is to blame for, else an error.
        columns: Our column names to theirs, where files are read.

    Example:
        >>> rows = {"model": ["A"] * 8, "case": list("abcdefgh"), "video": list("uuvvwwxx"),
        ...         "metric": ["correct"] * 8, "value": [1, 1, 0, 1, 1, 0, 1, 1]}
        >>> result = interval(rows)
        >>> result.table.select(pl.col("value", "low", "high", "df").round(3)).row(0)
        (0.75, 0.206, 0.972, 3.0)
        >>> [finding.code for finding in result.findings]
        ['few-videos']
    """
    settings = IntervalSettings(statistic, resample or "cluster", estimand, level, replicates, method, seed)
    check_settings(settings)
    scores = as_table(table, columns, better=better, metric=metric)
    matrix = verb_matrix(scores, metric, missing=missing, statistic=statistic, estimand=estimand)
    rows: list[dict[str, Any]] = []
    spoken: list[Finding] = []
    for slice_ in slices(matrix, by, separator=separator):
        estimates, note = slice_spread(slice_, settings)
        rows += [
            _row(slice_, model, matrix.metric, settings, estimates, place, note)
            for place, model in enumerate(slice_.matrix.models)
        ]
        spoken += of_slice(slice_, estimates.findings, slice_.matrix.models)
    split = split_notes(matrix.cases, by, separator=separator)
    about = matrix_notes(matrix, has_videos=scores.has_videos)
    notes = [*about, *split, *unused(settings), *gathered(spoken)]
    prose = interval_prose(settings, matrix, what="values")
    return IntervalResult.of(INTERVAL.frame(rows), prose, notes)


@requested("metric_interval", files=("cases",))
def metric_interval(
    metric: Metric,
    cases: Any,
    *,
    video: Sequence[Any],
    resample: Resample | None = None,
    estimand: str = "rows",
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
) -> IntervalResult:
    """The value of one metric on some cases with its interval; `prepare` runs once, `combine` per replicate.

    Args:
        metric: Anything with `facts`, `prepare` and `combine` (see `surgvalid.schema.metric_facts`).
        cases: Whatever the metric's `prepare` takes.
        video: The video of each case, in the order of the prepared statistics.
        resample: As for `interval`.
        estimand: `rows` (the metric of all cases) or `videos` (the mean of the metric within videos).
        level: Coverage asked for.
        replicates: How many resamples, where a method draws.
        method: `auto` or `bootstrap`.
        seed: Seed of the stream, where a method draws.
    """
    name = metric.facts.name
    settings = IntervalSettings(name, resample or "cluster", estimand, level, replicates, method, seed)
    prepared = np.asarray(metric.prepare(cases))
    sample, whole = _prepared_sample(MetricStatistic(metric), prepared, video, settings, metric.facts)
    estimates = sample_spread(sample, settings, whole.name, metric.facts, [name])
    row = _row(whole, name, metric.facts, settings, estimates, 0, "")
    notes = (*unused(settings), *of_slice(whole, estimates.findings, [name]))
    return IntervalResult.of(INTERVAL.frame([row]), interval_prose(settings, whole.matrix, what="values"), notes)


def prepared_spread(
    statistic: Weighted,
    prepared: np.ndarray,
    *,
    video: Sequence[Any],
    facts: MetricFacts,
    names: Sequence[str],
    cases: np.ndarray | None = None,
    level: float = 0.95,
    replicates: int = 1000,
    method: str = AUTO,
    seed: int = 42,
) -> PreparedSpread:
    """Values, intervals and SDs of everything that a statistic gives on prepared cases, one entry each.

    Where a method draws, the draws are those of `metric_interval` under the same seed, so several statistics of the
    same videos (a mean over classes and each of its classes, say) rest on the same resamples.

    Args:
        statistic: One or several values per weighting.
        prepared: What is weighted; the first axis runs over the cases.
        video: The video of each case.
        facts: Range of the values.
        names: What each value is, for the findings.
        cases: How many cases are behind each row of `prepared`, `[row]` or `[row, value]`; 1 where not given.
        level: Coverage asked for.
        replicates: How many resamples, where a method draws.
        method: `auto` or `bootstrap`.
        seed: Seed of the stream, where a method draws.

    Raises:
        TooFewVideos: A single unit.
    """
    settings = IntervalSettings(statistic.name, "cluster", "rows", level, replicates, method, seed)
    sample, whole = _prepared_sample(statistic, prepared, video, settings, facts)
    if method == AUTO and is_smooth(statistic):
        behind = None if cases is None else cases[sample.nest.order]
        estimates = auto_spread(sample, facts, level=level, names=names, cases=behind)
        return PreparedSpread(estimates, np.zeros(len(estimates.value), dtype=np.int64))
    draws = sample.replicates(slice_keys(settings, whole.name))
    drawn = drawn_spread(sample, draws, level=level, names=names, flat=method != AUTO)
    return PreparedSpread(drawn, np.isnan(draws).sum(axis=0))


def _prepared_sample(
    statistic: Weighted, prepared: np.ndarray, video: Sequence[Any], settings: IntervalSettings, facts: MetricFacts
) -> tuple[Sample, Slice]:
    """Prepared cases as a sample, and the slice that stands for all of them."""
    check_settings(settings._replace(statistic="mean"))
    if len(prepared) != len(video):
        raise Misuse(f"{facts.name}: prepared {len(prepared)} statistics, but {len(video)} videos were named")
    names, codes = np.unique(np.asarray([str(name) for name in video]), return_inverse=True)
    frame = pl.DataFrame({"case": [f"{i:09d}" for i in range(len(video))], "video": names[codes]})
    blank = ScoreMatrix(np.zeros((len(video), 1)), [facts.name], codes, names.tolist(), frame, facts)
    shape = Sample.of(blank, statistic="mean", resample=settings.resample, estimand=settings.estimand)
    need_units(shape.nest, facts.name)
    return Sample(prepared[shape.nest.order], shape.nest, statistic, shape.estimand), Slice({}, blank)


def spread(matrix: ScoreMatrix, settings: IntervalSettings, name: str) -> Spread:
    """Value, interval and SD of every column of a matrix; `name` names the random stream.

    Raises:
        TooFewVideos: A single unit, where a method draws; `auto` then gives no interval.
    """
    sample = Sample.of(matrix, statistic=settings.statistic, resample=settings.resample, estimand=settings.estimand)
    if settings.method != AUTO:
        need_units(sample.nest, name)
    return sample_spread(sample, settings, name, matrix.metric, matrix.models)


def sample_spread(
    sample: Sample, settings: IntervalSettings, name: str, facts: MetricFacts, names: Sequence[str]
) -> Spread:
    """Value, interval and SD of every column of a sample; `names` say what the columns are."""
    if settings.method == AUTO:
        return auto_spread(sample, facts, level=settings.level, names=names)
    return drawn_spread(sample, sample.replicates(slice_keys(settings, name)), level=settings.level, names=names)


def slice_keys(settings: IntervalSettings, name: str) -> np.ndarray:
    """The replicate keys of a slice: its own stream, whatever else is asked for."""
    return replicate_keys(settings.replicates, stream(settings.seed, "bootstrap", name))


def values_prose(settings: IntervalSettings, matrix: ScoreMatrix, *, what: str) -> str:
    """One sentence on what the values are."""
    if head := pooled_head(matrix, what):
        return head
    name = matrix.metric.name
    value = f"{name!r}" if settings.statistic == name else f"the {settings.statistic} of {name!r}"
    over = "over the values of the videos" if scores_videos(matrix) else ESTIMAND_PROSE[settings.estimand]
    return f"{what.capitalize()} are {value} {over} (estimand: {settings.estimand}; {scored_units(matrix)})."


def interval_prose(settings: IntervalSettings, matrix: ScoreMatrix, *, what: str) -> str:
    """One paragraph on how intervals were made."""
    label = label_of(settings.resample)
    head = values_prose(settings, matrix, what=what)
    if not matrix.unit.is_known:
        return f"{head} No intervals: {UNSAID}."
    if settings.method == AUTO:
        more = "" if matrix.statistics is None else " Means over classes are taken class by class, with Welch's."
        if half_line(matrix.metric):
            more += (
                " This one has no upper bound: the interval is the union of that on the log scale and that by Hall's "
                "transformation, and the median over units has its exact interval from order statistics."
            )
        return f"{head} {percent(settings.level)} {auto_prose(settings)}{more} Nothing is drawn."
    return (
        f"{head} {percent(settings.level)} {settings.method} intervals come from {settings.replicates:,} "
        f"{resample_prose(label)} (seed {settings.seed}); all models share the draws."
    )


def auto_prose(settings: IntervalSettings) -> str:
    """How intervals of values are made where nothing is drawn; the sentence begins after the level."""
    unit = "row" if levels_of(settings.resample) == (ROWS,) else levels_of(settings.resample)[0]
    if settings.estimand == "rows" and _is_quantile(settings.statistic):
        return f"intervals hold every value that the sign-flip test over {unit}s does not reject."
    return (
        f"intervals come from leaving out one {unit} at a time (jackknife), with Student's t and the degrees of "
        "freedom of Bell and McCaffrey, on the logit scale where the metric is bounded."
    )


def _is_quantile(statistic: str) -> bool:
    return statistic in ("median", "min", "max") or re.fullmatch(r"q[\d.]+", statistic) is not None


def resample_prose(label: str) -> str:
    """How a sentence names a resample."""
    known = {
        "naive": "naive bootstrap resamples of single rows, which take rows of one video as independent",
        "cluster": "cluster bootstrap resamples of whole videos",
        "two-stage": "two-stage bootstrap resamples (videos, then rows within them)",
    }
    return known.get(label, f"bootstrap resamples of the hierarchy {label}")


def matrix_notes(matrix: ScoreMatrix, *, has_videos: bool = True, paired: bool = False) -> list[Finding]:
    """What a reader must know about the scores themselves."""
    stated = has_videos or matrix.unit.level == "E1"
    return [*([] if stated else [no_videos()]), *matrix.borrowed, *matrix.findings(paired=paired)]


def of_slice(slice_: Slice, spoken: Sequence[Finding], names: Sequence[str]) -> list[Finding]:
    """Findings about the columns of a slice, each message once, and about whom it is as its subject."""
    whose: dict[Finding, list[str]] = {}
    for one in spoken:
        whose.setdefault(replace(one, where=None), []).append(one.where or "")
    label = slice_.name if slice_.labels else ""
    out = []
    for one, columns in whose.items():
        subject = ", ".join(filter(None, [label, *(columns if len(columns) < len(names) else [])]))
        out.append(replace(one, subject=subject or None))
    return out


def slice_spread(slice_: Slice, settings: IntervalSettings) -> tuple[Spread, str]:
    """Values and intervals of a slice, and why there is none where it is a single unit and a method draws."""
    try:
        return spread(slice_.matrix, settings, slice_.name), ""
    except TooFewVideos:
        alone = settings._replace(resample="cluster", method=AUTO)
        return spread(slice_.matrix, alone, slice_.name)._replace(
            findings=()
        ), "one unit only: its spread is unknowable"


def _row(
    slice_: Slice, model: str, facts: MetricFacts, settings: IntervalSettings, estimates: Spread, place: int, note: str
) -> dict[str, Any]:
    numbers = {name: float(getattr(estimates, name)[place]) for name in "value low high sd df".split()}
    scored, unit = int(np.isfinite(slice_.matrix.values[:, place]).sum()), slice_.matrix.unit
    row = {
        "model": model,
        "metric": facts.name,
        "statistic": settings.statistic if slice_.matrix.statistics is None else POOLED,
        "estimand": settings.estimand,
        **{name: known(number) for name, number in numbers.items()},
        "cases": scored,
        "videos": unit.counted(_scored_videos(slice_.matrix, place)),
        "effective_videos": unit.counted(known(estimates.effective[place])),
        "resample": label_of(settings.resample),
        "method": settings.method if note else estimates.method[place],
        **settings.recorded,
        "note": note or ("not scored" if scored == 0 else why_none(estimates, place, model, unit)),
        **dict.fromkeys(MEDIAN),
    }
    if estimates.medians:
        row |= {name: known(number) for name, number in zip(MEDIAN, estimates.medians[place], strict=True)}
    return labelled(slice_.labels, row)


def _scored_videos(matrix: ScoreMatrix, place: int) -> int:
    """In how many videos a model has scores."""
    if matrix.statistics is not None:
        return len(matrix.video_names)
    return len(np.unique(matrix.videos[np.isfinite(matrix.values[:, place])]))


def why_none(estimates: Spread, place: int, name: str, unit: Unit) -> str | None:
    """Why a column has no interval, where it has none."""
    if not unit.is_known:
        return UNSAID
    if np.isfinite(estimates.low[place]):
        return None
    return next((unit.called(one.message) for one in estimates.findings if one.where == name), None)


def known(number: float) -> float | None:
    """The number, None where it is not known."""
    return None if np.isnan(number) else float(number)
