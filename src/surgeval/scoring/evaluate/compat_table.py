"""By how much a reproduced scorer is off: its value beside the corrected one, and the difference with an interval.

Both are computed under the same weights, so the interval of the difference is paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from surgeval.results.tables.evaluation import COMPAT
from surgeval.schema.metric import Metric
from surgeval.schema.metric_facts import MetricFacts
from surgeval.scoring.evaluate.measure import Job, Settings, record_columns, uncertain


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


def corrected_of(metric: Any) -> Metric | None:
    """The metric that a reproduced scorer should have been; None where nothing is reproduced."""
    return getattr(metric, "corrected", None)


def compat_table(jobs: Sequence[Job], videos: Sequence[str], settings: Settings) -> pl.DataFrame:
    """One row per metric that reproduces a flawed scorer; none where no metric does."""
    rows = []
    for job in jobs:
        if (right := corrected_of(job.metric)) is None:
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
