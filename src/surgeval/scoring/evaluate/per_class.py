"""Values of single classes, which are as uncertain as the mean over them and have conventions of their own.

A class job gives one value per class under each weighting of the videos, so its intervals rest on the same resamples
as those of the metric over all classes. A class that a resample lacks has no value there; how often that was is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from surgeval.schema.metric import Metric
from surgeval.schema.metric_facts import MetricFacts


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
