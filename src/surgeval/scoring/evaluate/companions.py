"""What must stand beside some metrics: the floor of F1-max, the bins of a calibration error, other label policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from surgeval.metrics.classification.averages import ClassAverage, LabelPolicy
from surgeval.metrics.classification.calibration import CalibrationError
from surgeval.metrics.classification.f1_max import F1Max
from surgeval.results.tables.evaluation import RELIABILITY
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.evaluate.measure import Job, record_columns

LABEL_POLICIES: tuple[LabelPolicy, ...] = get_args(LabelPolicy)


@dataclass(frozen=True)
class AllPositive:
    """The F1 of predicting everything positive, which F1-max reaches whatever the scores are."""

    metric: F1Max

    @property
    def facts(self) -> MetricFacts:
        """Those of the floor."""
        name = f"{self.metric.facts.name}_all_positive"
        conventions = {"prediction": "everything positive, whatever the scores", "absent class": "left out"}
        return replace(self.metric.facts, name=name, conventions=conventions)

    def prepare(self, cases: Any) -> np.ndarray:
        """The metric's statistics."""
        return self.metric.prepare(cases)

    def combine(self, statistics: np.ndarray, weights: npt.ArrayLike) -> np.ndarray:
        """The floor under each weighting."""
        return self.metric.all_positive(statistics, weights)


def with_floors(jobs: Sequence[Job]) -> tuple[Job, ...]:
    """The jobs, each F1-max followed by its floor."""
    jobs_made: list[Job] = []
    for job in jobs:
        jobs_made.append(job)
        if isinstance(job.metric, F1Max) and job.metric.thresholds is None:
            floor = AllPositive(job.metric)
            jobs_made.append(job._replace(name=floor.facts.name, metric=floor, floors=()))
    return tuple(jobs_made)


def policy_notes(jobs: Sequence[Job]) -> list[str]:
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


def reliability_table(jobs: Sequence[Job], classes: Sequence[str]) -> pl.DataFrame:
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
