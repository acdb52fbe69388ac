"""What must stand beside some metrics: trivial values, bins, other label policies, corrected scorers.

By how much a reproduced scorer is off: its value beside the corrected one, and the difference with an interval.

Both are computed under the same weights, so the interval of the difference is paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from surgvalid.evaluation.measure import MeasureJob, MeasureSettings, record_columns, uncertain
from surgvalid.metrics.classification.averages import ClassAverage, LabelPolicy
from surgvalid.metrics.classification.f1_max import F1Max
from surgvalid.metrics.classification.probabilities import CalibrationError
from surgvalid.results.tables.evaluation import COMPAT, RELIABILITY
from surgvalid.schema.metric_facts import Metric, MetricFacts

LABEL_POLICIES: tuple[LabelPolicy, ...] = get_args(LabelPolicy)


@dataclass(frozen=True)
class AllPositive:
    """The F1 of predicting everything positive, which F1-max reaches whatever the scores are."""

    metric: F1Max

    @property
    def facts(self) -> MetricFacts:
        """Those of the trivial baseline."""
        name = f"{self.metric.facts.name}_all_positive"
        conventions = {"prediction": "everything positive, whatever the scores", "absent class": "left out"}
        return replace(self.metric.facts, name=name, conventions=conventions)

    def prepare(self, cases: Any) -> np.ndarray:
        """The metric's statistics."""
        return self.metric.prepare(cases)

    def combine(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """The trivial baseline under each weighting."""
        return self.metric.all_positive(statistics, weights)


def with_trivial_baselines(jobs: Sequence[MeasureJob]) -> tuple[MeasureJob, ...]:
    """The jobs, each F1-max followed by its trivial baseline."""
    jobs_made: list[MeasureJob] = []
    for job in jobs:
        jobs_made.append(job)
        if isinstance(job.metric, F1Max) and job.metric.thresholds is None:
            floor = AllPositive(job.metric)
            jobs_made.append(job._replace(name=floor.facts.name, metric=floor, floors=()))
    return tuple(jobs_made)


def policy_notes(jobs: Sequence[MeasureJob]) -> list[str]:
    """What averages over classes would be under the other rules for which classes count, where that matters."""
    notes = []
    for job in jobs:
        metric = job.metric
        if not isinstance(metric, ClassAverage) or metric.average != "macro":
            continue
        statistics = metric.prepare(job.cases)
        weights = np.ones((1, len(statistics)))
        values = {one: float(replace(metric, labels=one).combine(statistics, weights)[0]) for one in LABEL_POLICIES}
        if len({f"{value:.4f}" for value in values.values()}) > 1:
            listed = ", ".join(f"{one} {value:.4f}" for one, value in values.items())
            notes.append(f"{job.name} depends on which classes count: {listed} (--labels; here {metric.labels}).")
    return notes


def reliability_table(jobs: Sequence[MeasureJob], classes: Sequence[str]) -> pl.DataFrame:
    """The bins of every calibration error among the jobs; empty bins are left out."""
    rows = []
    for job in jobs:
        if not isinstance(job.metric, CalibrationError):
            continue
        statistics = job.metric.prepare(job.cases)
        conventions = record_columns(job.metric.facts)["conventions"]
        tasks = ("top label",) if job.metric.kind == "top label" else tuple(classes)
        for place, task in enumerate(tasks):
            curve = job.metric.reliability(statistics, np.ones(len(statistics)), task=place)
            lines = zip(*(column.tolist() for column in curve), strict=True)
            rows += [
                {
                    "metric": job.name,
                    "task": task,
                    "bin": b,
                    "share": share,
                    "confidence": confidence,
                    "observed": observed,
                    "conventions": conventions,
                }
                for b, (share, confidence, observed) in enumerate(lines, 1)
                if share > 0
            ]
    return RELIABILITY.frame(rows)


@dataclass(frozen=True)
class _Pair:
    """A flawed metric, the corrected one and their difference; what is weighted are places of units."""

    metrics: tuple[Metric, Metric]
    statistics: tuple[np.ndarray, np.ndarray]

    @property
    def name(self) -> str:
        return self.metrics[0].facts.name

    @property
    def is_mean(self) -> bool:
        return False

    def width(self, values: np.ndarray) -> int:  # noqa: ARG002
        return 3

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        weights = counts.astype(np.float64)
        pairs = zip(self.metrics, self.statistics, strict=True)
        flawed, right = (np.asarray(metric.combine(rows[values], weights)) for metric, rows in pairs)
        return np.stack([flawed, right, flawed - right], axis=1)


def compat_table(jobs: Sequence[MeasureJob], videos: Sequence[str], settings: MeasureSettings) -> pl.DataFrame:
    """One row per metric that reproduces a flawed scorer; none where no metric does."""
    rows = []
    for job in jobs:
        right: Metric | None = getattr(job.metric, "corrected", None)  # what a reproduced scorer should have been
        if right is None:
            continue
        of_job = job.videos or tuple(videos)
        pair = job.metric, right
        statistics = tuple(np.asarray(metric.prepare(job.cases)) for metric in pair)
        both = _Pair(pair, (statistics[0], statistics[1]))
        ends = uncertain(both, np.arange(len(of_job)), of_job, settings, MetricFacts.unknown(job.name))
        rows.append(
            {
                "metric": job.name,
                "value": ends[0]["value"],
                "corrected_metric": right.facts.name,
                "corrected_value": ends[1]["value"],
                "difference": ends[2]["value"],
                "low": ends[2]["low"],
                "high": ends[2]["high"],
                "videos": len(of_job),
                "conventions": record_columns(job.metric.facts)["conventions"],
                "corrected_conventions": record_columns(right.facts)["conventions"],
            }
        )
    return COMPAT.frame(rows)


def compat_notes(table: pl.DataFrame) -> list[str]:
    """A sentence per row, so that a flawed number is never told without the other."""
    rows = table.drop_nulls(("value", "corrected_value")).iter_rows(named=True)
    return [
        f"{row['metric']} reproduces a flawed scorer: {row['value']:.4f} instead of {row['corrected_metric']} = "
        f"{row['corrected_value']:.4f} (off by {row['difference']:+.4f})."
        for row in rows
    ]
