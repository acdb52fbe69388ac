"""Metrics of prepared cases: values with intervals over videos, per video and per stratum.

Statistics are prepared once per metric, one row per video. The interval leaves out one video at a time (or draws whole
videos, where that is asked for by name), and the value of one video is a weighting that holds it alone. Every row
carries its estimand and its conventions.

Values of single classes, which are as uncertain as the mean over them and have conventions of their own.

A class job gives one value per class under each weighting of the videos, so its intervals rest on the same resamples
as those of the metric over all classes. A class that a resample lacks has no value there; how often that was is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.evaluation.sanity.sanity_finding import Looked
from surgvalid.evaluation.sanity.trivial_predictors import Trivial, trivial_best, trivial_predictors
from surgvalid.evaluation.shards import Gathered
from surgvalid.evaluation.sharing import ORDERED
from surgvalid.metrics import METRICS, Factory, metrics_for
from surgvalid.metrics.packing import written_down
from surgvalid.results.tables import evaluation as tables
from surgvalid.schema.metric_facts import Metric, MetricFacts
from surgvalid.schema.tables.column_words import PATIENTS, named_by
from surgvalid.schema.tables.statistics_table import Recipe, VideoStatistics
from surgvalid.stats.intervals.engine import Spread
from surgvalid.stats.intervals.interval import known, prepared_spread
from surgvalid.stats.intervals.interval_settings import AUTO
from surgvalid.stats.intervals.statistic import MetricStatistic, Weighted, unweighted


class ClassMetric(Protocol):
    """A metric that knows the value of every class."""

    @property
    def facts(self) -> MetricFacts:
        """Name, range, direction and conventions."""

    def prepare(self, cases: Any) -> np.ndarray:
        """The statistics of every unit."""

    def class_values(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """`[weighting, class]`."""


class ClassJob(NamedTuple):
    """One metric whose values per class are asked for."""

    name: str
    metric: ClassMetric
    cases: Any
    classes: Sequence[str]
    references: Sequence[int]
    """How many references each class has."""
    videos: tuple[str, ...] = ()
    """Where they are not those of the material."""

    def statistic(self) -> ClassStatistic:
        """The values of all classes as one statistic."""
        return ClassStatistic(self.metric, len(self.classes))


@dataclass(frozen=True)
class ClassStatistic:
    """The values of all classes as a statistic of prepared cases, one column per class."""

    metric: ClassMetric
    classes: int

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.facts.name

    @property
    def is_mean(self) -> bool:
        """Never assumed of a metric."""
        return False

    def width(self, values: np.ndarray) -> int:  # noqa: ARG002
        """One value per class."""
        return self.classes

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The value of every class under each weighting."""
        return np.asarray(self.metric.class_values(values, counts), dtype=np.float64)


@dataclass(frozen=True)
class OneByOne:
    """A metric on the cases of every class by itself; cases are a list with one entry per class."""

    metric: Metric

    @property
    def facts(self) -> MetricFacts:
        """Those of the metric, and that classes are taken alone."""
        inner = self.metric.facts
        conventions = {**inner.conventions, "classes": "each on its own references and predictions"}
        return replace(inner, conventions=conventions)

    def prepare(self, cases: Sequence[Any]) -> np.ndarray:
        """`[unit, class, ...]`."""
        return np.stack([np.asarray(self.metric.prepare(one)) for one in cases], axis=1)

    def class_values(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """The metric of every class."""
        given = np.asarray(weights, dtype=np.float64)
        columns = [self.metric.combine(statistics[:, place], given) for place in range(statistics.shape[1])]
        return np.stack(columns, axis=-1)


Step = Callable[[int], None]
"""Told how many further metrics are done."""
_SAID_ONCE = frozenset({"few-videos", "percentile-too-narrow"})
"""Findings about the videos rather than about a value; the result says them once."""


class MeasureJob(NamedTuple):
    """One metric and the cases it is computed on; statistics have one row per video."""

    name: str
    metric: Metric
    cases: Any
    videos: tuple[str, ...] = ()
    """Where they are not those of the material."""
    floors: tuple[Trivial, ...] | None = None
    """Trivial predictors beside it; those of the form of its cases where None."""


class MetricPart(NamedTuple):
    """The cases of one value of one stratum."""

    stratum: str
    value: str
    cases: int
    videos: tuple[str, ...]
    jobs: tuple[MeasureJob, ...]
    sizes: Mapping[str, int] = {}
    """Cases of each video, where known."""


@dataclass(frozen=True)
class EvaluationMaterial:
    """What one kind of input offers for measuring."""

    videos: tuple[str, ...]
    """In the order of the prepared statistics."""
    cases: int
    jobs: tuple[MeasureJob, ...]
    class_jobs: tuple[ClassJob, ...] = ()
    parts: tuple[MetricPart, ...] = ()
    scores: pl.DataFrame | None = None
    """`case, video, metric, value, status` where one case has a score."""
    score_facts: Mapping[str, MetricFacts] = field(default_factory=dict)
    extra_tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    """Cases of each video, where known: unequal videos leave fewer degrees of freedom."""
    patients: Mapping[str, str] = field(default_factory=dict)
    """Whose each video is, where patients have several."""
    files: tuple[Path, ...] | None = None
    """The files of a data set's folder that were read; where None, all files of the inputs are."""
    finish: Callable[[str, Measured], Mapping[str, pl.DataFrame]] = lambda *_: {}
    """Tables that need the name of the model and what was measured, such as a leaderboard; they are shown too."""
    looked: Looked = field(default_factory=dict)
    """Checks of this kind of input that ran, and what they saw."""
    gathered: Gathered | None = None
    """What a shard leaves for `combine`."""

    @property
    def scored(self) -> set[str]:
        """Metrics under which single cases have scores."""
        return set() if self.scores is None else set(self.scores["metric"].unique())


class MeasureSettings(NamedTuple):
    """How intervals are made."""

    level: float = 0.95
    replicates: int = 1000
    seed: int = 42
    method: str = AUTO
    clusters: Mapping[str, str] = {}
    """What a video belongs to, where videos are not independent of each other: intervals leave out all of it."""

    def units(self, videos: Sequence[str]) -> list[str]:
        """What each video stands and falls with: itself, or the surgeon or patient that it belongs to."""
        return [self.clusters.get(video, video) for video in videos]


class Measured(NamedTuple):
    """Values of all metrics over everything, per video and per class."""

    metrics: pl.DataFrame
    per_video: pl.DataFrame
    per_class: pl.DataFrame
    conventions: dict[str, dict[str, Any]]
    statistics: dict[str, tuple[Recipe, VideoStatistics]]
    """Of the metrics whose value over all videos is not the mean of the videos' own."""
    unwritten: dict[str, str]
    """Such metrics whose statistics cannot be written down, and why."""
    shared: Mapping[str, tuple[Recipe, VideoStatistics]]
    """Of every metric that can be shared as sums per video, where that was asked for."""
    unshared: Mapping[str, str]
    """The other metrics, and why."""


def measure(material: EvaluationMaterial, settings: MeasureSettings, step: Step, *, share: bool = False) -> Measured:
    """The value of every metric with its interval, its values in every video and class, and its conventions.

    Args:
        material: What there is to measure.
        settings: How intervals are made.
        step: Told of every metric that is done.
        share: Keep the statistics of every metric that can be shared.
    """
    rows, inside, classes, records = [], [], [], {}
    packed: dict[str, tuple[Recipe, VideoStatistics]] = {}
    unwritten: dict[str, str] = {}
    shared: dict[str, tuple[Recipe, VideoStatistics]] = {}
    unshared: dict[str, str] = {}
    trivial: dict[int, tuple[Trivial, ...]] = {}
    for job in material.jobs:
        videos = job.videos or material.videos
        statistics = np.asarray(job.metric.prepare(job.cases))
        if job.floors is None and id(job.cases) not in trivial:
            trivial[id(job.cases)] = trivial_predictors(job.cases)
        floor = trivial_best(job.metric, trivial[id(job.cases)] if job.floors is None else job.floors)
        row = _job_row(job, statistics, videos, settings, material.sizes)
        rows.append({**row, "floor": floor.value, "floor_predictor": floor.predictor})
        inside += _video_rows(job, statistics, videos)
        records[job.name] = record_of(job.metric.facts)
        if job.metric.facts.pooled and job.name not in material.scored:
            try:
                packed[job.name] = _packed(job, statistics, videos, material, settings)
            except Misuse as error:
                unwritten[job.name] = str(error)
        if share:
            try:
                shared[job.name] = _sums(_packed(job, statistics, videos, material, settings))
            except Misuse as error:
                unshared[job.name] = str(error)
        step(1)
    for one in material.class_jobs:
        classes += _class_rows(one, one.videos or material.videos, settings)
        records[f"per class: {one.name}"] = record_of(one.metric.facts)
        step(1)
    return Measured(
        tables.METRICS.frame(rows),
        tables.PER_VIDEO.frame(inside),
        tables.PER_CLASS.frame(classes),
        records,
        packed,
        unwritten,
        shared,
        unshared,
    )


def _packed(
    job: MeasureJob,
    statistics: np.ndarray,
    videos: Sequence[str],
    material: EvaluationMaterial,
    settings: MeasureSettings,
) -> tuple[Recipe, VideoStatistics]:
    if settings.clusters:
        raise Misuse(
            "its videos are not independent of each other, and later verbs would take them so; name what is with --unit"
        )
    cases = [material.sizes.get(video, 1) for video in videos] if material.sizes else []
    return written_down(job.name, job.metric, statistics, videos, cases)


def _sums(given: tuple[Recipe, VideoStatistics]) -> tuple[Recipe, VideoStatistics]:
    """The statistics, where they are sums of each video and nothing belongs to all of them together."""
    if given[1].packed.shared:
        raise Misuse(ORDERED)
    return given


def measure_parts(parts: Sequence[MetricPart], settings: MeasureSettings, step: Step) -> pl.DataFrame:
    """One row per stratum, value and metric."""
    rows = []
    for subset in parts:
        for job in subset.jobs:
            row = _job_row(job, np.asarray(job.metric.prepare(job.cases)), subset.videos, settings, subset.sizes)
            rows.append({"stratum": subset.stratum, "stratum_value": subset.value, "cases": subset.cases, **row})
            step(1)
    return tables.PER_STRATUM.frame(rows)


def record_of(facts: MetricFacts) -> dict[str, Any]:
    """Everything that must be known to use a number of the metric."""
    return {key: value for key, value in facts.as_dict().items() if key != "name"}


def record_columns(facts: MetricFacts) -> dict[str, Any]:
    """The same for a row of a table."""
    return {
        "better": facts.better,
        "estimand": facts.estimand,
        "conventions": "; ".join(f"{key}: {text}" for key, text in facts.conventions.items()),
    }


def uncertain(
    statistic: Weighted,
    statistics: np.ndarray,
    videos: Sequence[str],
    settings: MeasureSettings,
    facts: MetricFacts,
    cases: np.ndarray | None = None,
) -> list[dict[str, Any]]:
    """Value, interval over videos, SD and note of everything that a statistic gives."""
    value = unweighted(statistic, statistics)
    names, units = [str(place) for place in range(len(value))], settings.units(videos)
    try:
        estimates, undefined = prepared_spread(
            statistic,
            statistics,
            video=units,
            facts=facts,
            names=names,
            cases=cases,
            level=settings.level,
            replicates=settings.replicates,
            method=settings.method,
            seed=settings.seed,
        )
    except TooFewVideos:
        blank = dict.fromkeys(("low", "high", "sd", "df", "effective_videos"))
        rest = {**blank, "videos": 1, "method": "none", "note": "one video only: its spread is unknowable"}
        return [{"value": known(one), **rest} for one in value]
    count = len(set(units))
    return [_spread_row(estimates, place, count, int(undefined[place]), settings) for place in range(len(value))]


def _spread_row(
    estimates: Spread, place: int, videos: int, undefined: int, settings: MeasureSettings
) -> dict[str, Any]:
    numbers = {name: known(getattr(estimates, name)[place]) for name in ("value", "low", "high", "sd", "df")}
    findings = [one for one in estimates.findings if one.where == str(place)]
    elsewhere = _SAID_ONCE - ({"few-videos"} if numbers["low"] is None else set())  # no interval, none too narrow
    notes = [one.message for one in findings if one.code not in elsewhere]
    if undefined:
        notes.append(f"undefined in {undefined:,} of {settings.replicates:,} resamples, which are left aside")
    if numbers["value"] is None:
        numbers, notes = dict.fromkeys(numbers), ["undefined on these cases"]
    return {
        **numbers,
        "videos": videos,
        "effective_videos": known(estimates.effective[place]),
        "method": estimates.method[place],
        "note": " ".join(notes) or None,
    }


def _job_row(
    job: MeasureJob, statistics: np.ndarray, videos: Sequence[str], settings: MeasureSettings, sizes: Mapping[str, int]
) -> dict[str, Any]:
    facts = job.metric.facts
    cases = np.array([sizes.get(video, 1) for video in videos]) if _counts_cases(facts) else None
    row = uncertain(MetricStatistic(job.metric), statistics, videos, settings, facts, cases)[0]
    return {"metric": job.name, **row, **record_columns(facts)}


def _counts_cases(facts: MetricFacts) -> bool:
    """Whether a long video weighs more in the metric."""
    return facts.pooled or facts.row == "case"


def _video_rows(job: MeasureJob, statistics: np.ndarray, videos: Sequence[str]) -> list[dict[str, Any]]:
    alone = np.asarray(job.metric.combine(statistics, np.eye(len(videos)))).tolist()
    record = record_columns(job.metric.facts)
    return [
        {"video": video, "metric": job.name, "value": known(value), **record}
        for video, value in zip(videos, alone, strict=True)
    ]


def _class_rows(job: ClassJob, videos: Sequence[str], settings: MeasureSettings) -> list[dict[str, Any]]:
    rows = uncertain(job.statistic(), np.asarray(job.metric.prepare(job.cases)), videos, settings, job.metric.facts)
    record = record_columns(job.metric.facts)
    return [
        {"class": label, "metric": job.name, **row, **record, "references": int(count)}
        for label, count, row in zip(job.classes, job.references, rows, strict=True)
    ]


def open_chosen(
    names: Sequence[str],
    default: Sequence[str],
    family: Mapping[str, Factory],
    forms: Sequence[str],
    **options: Any,
) -> dict[str, Metric]:
    """The metrics asked for, or the default ones; each gets those of the options that its name leaves open.

    Args:
        names: The metrics asked for.
        default: Those taken where none is.
        family: Where names are looked up.
        forms: Forms of cases that there are; a metric of the family that takes none of them is not offered.
        **options: What the input says.

    Raises:
        UnknownName: A metric of another kind, or of none.
        Misuse: A metric of an installed package that takes other cases.
    """
    opened, offered = {}, metrics_for(family, *forms)
    for name in names or default:
        factory = offered.get(name) or _plugin(name, offered, forms)
        taken = factory.option_names - set(factory.options)
        opened[name] = factory(**{key: value for key, value in options.items() if key in taken})
    return opened


def _plugin(name: str, offered: Mapping[str, Factory], forms: Sequence[str]) -> Factory:
    """The metric that an installed package brings, where none of ours has the name."""
    brought = [other for other in METRICS if other not in METRICS.ours]
    if name not in brought:
        raise UnknownName("metric", name, [*offered, *brought])
    factory = METRICS[name]
    if not set(forms) & set(factory.takes):
        takes = ", ".join(factory.takes) or "nothing (its class has no `takes`)"
        raise Misuse(f"metric {name!r} takes {takes}; there are {', '.join(forms)} here")
    return factory


Build = Callable[[pl.DataFrame], Sequence[MeasureJob]]
"""Makes the jobs of some rows."""


def jobs_on(opened: Mapping[str, Metric], cases: Any) -> list[MeasureJob]:
    """Every metric on the same cases."""
    return [MeasureJob(name, metric, cases) for name, metric in opened.items()]


def material_of(frame: pl.DataFrame, by: Sequence[str], build: Build) -> EvaluationMaterial:
    """The jobs of all rows and of every value of every stratum, which every kind of evaluation begins with.

    Args:
        frame: A row per case with its `video`, in an order in which `build` makes statistics of videos.
        by: Columns of it whose values are reported one by one.
        build: What the kind makes of rows.

    Raises:
        UnknownName: A stratum that is no column.
    """
    parts = []
    for column in by:
        if column not in frame.columns:
            raise UnknownName("stratum column", column, frame.columns)
        for (value,), rows in frame.group_by(column, maintain_order=True):
            text = "" if value is None else str(value)
            sizes = Counter(rows["video"].to_list())
            parts.append(MetricPart(column, text, rows.height, tuple(sizes), tuple(build(rows)), sizes))
    sizes = Counter(frame["video"].to_list())
    return EvaluationMaterial(
        tuple(sizes), frame.height, tuple(build(frame)), parts=tuple(parts), sizes=sizes, patients=_patients(frame)
    )


def _patients(frame: pl.DataFrame) -> dict[str, str]:
    """The patient of each video, where a column names one for each, and patients have several."""
    named = frame.select("video", *named_by(frame.columns, PATIENTS)[:1]).cast(pl.String).unique().drop_nulls()
    patients = dict(named.rows()) if named.width > 1 and named.height == frame["video"].n_unique() else {}
    return patients if len(set(patients.values())) < len(patients) else {}
