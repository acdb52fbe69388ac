"""Metrics of prepared cases: values with cluster intervals over videos, per video, per class and per stratum.

Statistics are prepared once per metric, one row per video. The interval draws whole videos with replacement, the
value of one video is a weighting that holds it alone, and a class is what the metric says about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from surgeval.errors import TooFewVideos, UnknownName
from surgeval.metrics import Factory
from surgeval.schema.metric import Metric
from surgeval.schema.metric_facts import MetricFacts
from surgeval.stats.interval import metric_interval


class Job(NamedTuple):
    """One metric and the cases it is computed on; statistics have one row per video."""

    name: str
    metric: Metric
    cases: Any


class Part(NamedTuple):
    """The cases of one value of one stratum."""

    stratum: str
    value: str
    cases: int
    videos: tuple[str, ...]
    jobs: tuple[Job, ...]


@dataclass(frozen=True)
class Material:
    """What one kind of input offers for measuring."""

    videos: tuple[str, ...]
    """In the order of the prepared statistics."""
    cases: int
    jobs: tuple[Job, ...]
    per_class: pl.DataFrame
    """`class, metric, value` and what else the kind knows about a class."""
    parts: tuple[Part, ...] = ()
    scores: pl.DataFrame | None = None
    """`case, video, metric, value, status` where one case has a score."""
    score_facts: Mapping[str, MetricFacts] = field(default_factory=dict)
    extra_tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Settings(NamedTuple):
    """How intervals are made."""

    level: float = 0.95
    replicates: int = 1000
    seed: int = 42


class ClassMetric(Protocol):
    """A metric that also knows the value of every class."""

    def prepare(self, cases: Any) -> np.ndarray:
        """The statistics of every unit."""

    def class_values(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """`[weighting, class]`."""


@dataclass(frozen=True)
class _Prepared:
    """A metric whose statistics are there already."""

    metric: Metric
    statistics: np.ndarray

    @property
    def facts(self) -> MetricFacts:
        return self.metric.facts

    def prepare(self, cases: Any) -> np.ndarray:
        return self.statistics if cases is None else np.asarray(self.metric.prepare(cases))

    def combine(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        return np.asarray(self.metric.combine(statistics, np.asarray(weights, dtype=np.float64)))


class Measured(NamedTuple):
    """Values of all metrics over everything and per video."""

    metrics: pl.DataFrame
    per_video: pl.DataFrame
    conventions: dict[str, dict[str, Any]]


def measure(jobs: Sequence[Job], videos: Sequence[str], settings: Settings) -> Measured:
    """The value of every metric with its interval, its value in every video, and its conventions."""
    rows, inside, records = [], [], {}
    for job in jobs:
        prepared = _Prepared(job.metric, np.asarray(job.metric.prepare(job.cases)))
        rows.append(_row(job.name, prepared, videos, settings))
        alone = prepared.combine(prepared.statistics, np.eye(len(videos)))
        inside += [
            {"video": video, "metric": job.name, "value": _or_none(value)}
            for video, value in zip(videos, alone.tolist(), strict=True)
        ]
        records[job.name] = record_of(job.metric.facts)
    schema = {"video": pl.String, "metric": pl.String, "value": pl.Float64}
    return Measured(pl.DataFrame(rows, infer_schema_length=None), pl.DataFrame(inside, schema=schema), records)


def measure_parts(parts: Sequence[Part], settings: Settings) -> pl.DataFrame:
    """One row per stratum, value and metric."""
    rows = []
    for part in parts:
        found = measure(part.jobs, part.videos, settings).metrics.to_dicts()
        rows += [{"stratum": part.stratum, "stratum_value": part.value, "cases": part.cases, **row} for row in found]
    return pl.DataFrame(rows, infer_schema_length=None)


def record_of(facts: MetricFacts) -> dict[str, Any]:
    """Everything that must be known to use a number of the metric."""
    return {
        "estimand": facts.estimand,
        "low": facts.low if np.isfinite(facts.low) else None,
        "high": facts.high if np.isfinite(facts.high) else None,
        "larger_is_better": facts.larger_is_better,
        "conventions": dict(facts.conventions),
    }


def _row(name: str, prepared: _Prepared, videos: Sequence[str], settings: Settings) -> dict[str, Any]:
    low = high = sd = None
    note = None
    value = _or_none(float(prepared.combine(prepared.statistics, np.ones((1, len(videos))))[0]))
    try:
        found = metric_interval(
            prepared,
            None,
            video=list(videos),
            resample="cluster",
            level=settings.level,
            replicates=settings.replicates,
            seed=settings.seed,
        ).table.row(0, named=True)
        low, high, sd = (found[end] if value is not None else None for end in ("low", "high", "sd"))
    except TooFewVideos:
        note = "one video only: its spread is unknowable"
    return {
        "metric": name,
        "value": value,
        "low": low,
        "high": high,
        "sd": sd,
        "videos": len(videos),
        "larger_is_better": prepared.facts.larger_is_better,
        "estimand": prepared.facts.estimand,
        "conventions": "; ".join(f"{key}: {text}" for key, text in prepared.facts.conventions.items()),
        "note": note if value is not None else "undefined on these cases",
    }


def class_rows(
    name: str, metric: ClassMetric, cases: Any, classes: Sequence[str], counts: Sequence[int]
) -> list[dict[str, Any]]:
    """The value of every class, with how many references it has."""
    statistics = np.asarray(metric.prepare(cases))
    values = metric.class_values(statistics, np.ones((1, len(statistics))))[0]
    return [
        {"class": label, "metric": name, "value": _or_none(float(value)), "references": int(count)}
        for label, value, count in zip(classes, values, counts, strict=True)
    ]


def class_frame(rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Rows of `class_rows` as a table, also where there are none."""
    schema = {"class": pl.String, "metric": pl.String, "value": pl.Float64, "references": pl.Int64}
    return pl.DataFrame(list(rows), schema=schema)


def open_chosen(
    names: Sequence[str], default: Sequence[str], known: Mapping[str, Factory], **options: Any
) -> dict[str, Metric]:
    """The metrics asked for, or the default ones; each gets those of the options that its name leaves open.

    Raises:
        UnknownName: A metric of another kind, or of none.
    """
    opened = {}
    for name in names or default:
        if name not in known:
            raise UnknownName("metric", name, known)
        taken = known[name].option_names - set(known[name].options)
        opened[name] = known[name](**{key: value for key, value in options.items() if key in taken})
    return opened


def parts_of(
    frame: pl.DataFrame, by: Sequence[str], build: Callable[[pl.DataFrame], tuple[tuple[str, ...], tuple[Job, ...]]]
) -> tuple[Part, ...]:
    """The parts of every stratum column; `build` makes videos and jobs of a part of the rows."""
    found = []
    for column in by:
        if column not in frame.columns:
            raise UnknownName("stratum column", column, frame.columns)
        for (value,), rows in frame.group_by(column, maintain_order=True):
            videos, jobs = build(rows)
            found.append(Part(column, "" if value is None else str(value), rows.height, videos, jobs))
    return tuple(found)


def _or_none(value: float) -> float | None:
    return None if value != value else value
