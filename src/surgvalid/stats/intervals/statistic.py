"""Statistics of weighted rows: means, quantiles and the interquartile mean, from counts and never from copies.

A quantile is R's type 7 (Hyndman and Fan 1996), numpy's default: with weights that are counts it equals
`numpy.quantile` of the rows written out that many times. The interquartile mean leaves out the whole number of rows
in a quarter at either end (`scipy.stats.trim_mean`, as rliable does). NaN means "not scored" and carries no weight.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from surgvalid.errors import Misuse
from surgvalid.schema.metric_facts import Metric

_QUANTILE = re.compile(r"q(\d{1,3}(?:\.\d+)?)")


class Weighted(Protocol):
    """Anything that can be computed from rows under weights."""

    @property
    def name(self) -> str:
        """What outputs call it."""

    @property
    def is_mean(self) -> bool:
        """Whether it is the weighted mean of the rows, which has faster ways."""

    def width(self, values: np.ndarray) -> int:
        """How many values come out per weighting."""

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The values under each weighting: `[weighting, column]`."""


@runtime_checkable
class Summed(Weighted, Protocol):
    """A statistic that sums over rows tell: where whole units are drawn, each is summed once."""

    def summands(self, values: np.ndarray) -> np.ndarray:
        """What is summed, `[row, sum]`."""

    def of_sums(self, sums: np.ndarray) -> np.ndarray:
        """The values of sums `[weighting, sum]`: `[weighting, column]`."""


@runtime_checkable
class OfMetric(Weighted, Protocol):
    """A statistic whose columns are values of one metric on prepared cases."""

    @property
    def metric(self) -> Metric:
        """The metric."""

    def prepared_rows(self, values: np.ndarray) -> Sequence[np.ndarray]:
        """The prepared statistics behind each column, in the order of the rows."""


@dataclass(frozen=True, slots=True)
class Statistic:
    """What is computed from the rows of one group."""

    name: str
    quantile: float | None = None
    """The share below, or None for a mean."""
    trimmed: float = 0.0
    """The share of rows left out at either end before the mean."""

    @classmethod
    def read(cls, name: str | Statistic) -> Statistic:
        """The statistic of a name: `mean`, `iqm`, `median`, `min`, `max`, or `q` and a percentage such as `q05`.

        Example:
            >>> Statistic.read("q05").quantile, Statistic.read("mean").quantile
            (0.05, None)

        Raises:
            Misuse: No such statistic.
        """
        if isinstance(name, Statistic):
            return name
        if name == "iqm":
            return cls(name, trimmed=0.25)
        known = {"mean": None, "median": 0.5, "min": 0.0, "max": 1.0}
        if name in known:
            return cls(name, known[name])
        match = _QUANTILE.fullmatch(name)
        if match and float(match[1]) <= 100:
            return cls(name, float(match[1]) / 100)
        raise Misuse(
            f"unknown statistic {name!r}; expected mean, iqm, median, min, max or q and a percentage such as q05"
        )

    @property
    def is_mean(self) -> bool:
        """Whether this is the mean of all rows."""
        return self.quantile is None and not self.trimmed

    def width(self, values: np.ndarray) -> int:
        """One value per column."""
        return int(values.shape[1])

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The statistic of each column under each weighting: `[weighting, column]`.

        Args:
            counts: `[weighting, row]`, whole numbers.
            values: `[row, column]`.
        """
        if self.is_mean:
            return weighted_means(counts, values)
        columns = [
            trimmed_mean(counts, column, self.trimmed)
            if self.quantile is None
            else weighted_quantile(counts, column, self.quantile)
            for column in values.T
        ]
        return np.stack(columns, axis=1) if columns else np.empty((len(counts), 0))


def is_smooth(statistic: Any) -> bool:
    """Whether a statistic may be left to the jackknife: not that of a metric that says `smooth = False`."""
    return bool(getattr(getattr(statistic, "metric", None), "smooth", True))


@dataclass(frozen=True, slots=True)
class MetricStatistic:
    """A metric's `combine` as a statistic of its prepared cases."""

    metric: Metric

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.facts.name

    @property
    def is_mean(self) -> bool:
        """Never assumed of a metric."""
        return False

    def width(self, values: np.ndarray) -> int:  # noqa: ARG002
        """A metric gives one value."""
        return 1

    def prepared_rows(self, values: np.ndarray) -> Sequence[np.ndarray]:
        """The rows themselves."""
        return (values,)

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The metric under each weighting, as one column."""
        return np.asarray(self.metric.combine(values, counts), dtype=np.float64).reshape(len(counts), 1)


def unweighted(statistic: Weighted, values: np.ndarray) -> np.ndarray:
    """The statistic with every row counted once."""
    return np.asarray(statistic.weighted(np.ones((1, len(values)), dtype=np.int64), values)[0])


def weighted_means(counts: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Weighted mean of each column under each weighting; NaN where nothing scored has weight."""
    weights = counts.astype(np.float64)
    scored = np.isfinite(values)
    if scored.all():
        totals: np.ndarray = weights.sum(axis=1, keepdims=True)
        return divided(weights @ values, totals)
    return divided(weights @ np.where(scored, values, 0.0), weights @ scored.astype(np.float64))


def weighted_quantile(counts: np.ndarray, values: np.ndarray, quantile: float) -> np.ndarray:
    """Type 7 quantile of `values` under each row of `counts`; NaN where nothing scored has weight.

    Example:
        >>> weighted_quantile(np.array([[1, 2, 1]]), np.array([1.0, 2.0, 5.0]), 0.5).tolist()
        [2.0]
    """
    scored = np.flatnonzero(np.isfinite(values))
    order = scored[np.argsort(values[scored], kind="stable")]
    if not order.size:
        return np.full(len(counts), np.nan)
    ordered = values[order]
    reached = np.cumsum(counts[:, order], axis=1)
    total = reached[:, -1]
    position = np.maximum(total - 1, 0) * quantile
    below = np.floor(position).astype(np.int64)
    low = ordered[_index(reached, below)]
    high = ordered[_index(reached, np.minimum(below + 1, np.maximum(total - 1, 0)))]
    between = lerp(low, high, position - below)
    return np.asarray(np.where(total > 0, between, np.nan))


def trimmed_mean(counts: np.ndarray, values: np.ndarray, share: float) -> np.ndarray:
    """Mean of `values` under each row of `counts` without the lowest and highest `share` of rows, rounded down.

    Example:
        >>> trimmed_mean(np.array([[1, 2, 1]]), np.array([1.0, 2.0, 50.0]), 0.25).tolist()
        [2.0]
    """
    scored = np.flatnonzero(np.isfinite(values))
    order = scored[np.argsort(values[scored], kind="stable")]
    reached = np.cumsum(counts[:, order], axis=1)
    total = reached[:, -1:] if order.size else np.zeros((len(counts), 1), dtype=np.int64)
    cut = np.floor(total * share)
    inside = np.clip(reached, cut, total - cut)
    kept = np.diff(inside, axis=1, prepend=cut)
    return divided(kept @ values[order], kept.sum(axis=1))


def lerp(low: np.ndarray, high: np.ndarray, share: np.ndarray) -> np.ndarray:
    """`low` to `high` by `share`, from the nearer end, as numpy does."""
    gap = high - low
    return np.asarray(np.where(share >= 0.5, high - gap * (1 - share), low + gap * share))


def divided(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient, NaN where the denominator is zero."""
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    out = np.full(numerator.shape, np.nan)
    return np.asarray(np.divide(numerator, denominator, out=out, where=denominator > 0))


def _index(reached: np.ndarray, position: np.ndarray) -> np.ndarray:
    """First position whose cumulated count exceeds the position."""
    place = (reached <= position[:, None]).sum(axis=1)
    return np.asarray(np.minimum(place, reached.shape[1] - 1))
