"""What a metric offers, so that every resample of it is nothing but a vector of weights.

The expensive part (matching boxes, reading masks) happens once, in `prepare`; `combine` turns the
prepared statistics and weights into values. Bootstrap, jackknife, strata and paired comparison then
never run the matching again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from surgeval.schema.metric_facts import MetricFacts


class Metric(Protocol):
    """A metric that can be weighted.

    An accuracy, as an example: `prepare` gives one 0 or 1 per case, and `combine` is
    `weights @ statistics / weights.sum(axis=-1)`.
    """

    @property
    def facts(self) -> MetricFacts:
        """Name, range, direction and conventions."""

    def prepare(self, cases: Any) -> np.ndarray:
        """The statistics of every case: an array whose first axis runs over the cases."""

    def combine(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The value under each weighting: `weights[weighting, case]` in, `values[weighting]` out.

        A weight of `k` means that the case counts `k` times. NaN where the metric is undefined.
        """


class Packed(NamedTuple):
    """Statistics as plain arrays of numbers: what a file can hold."""

    shared: Mapping[str, np.ndarray]
    """What belongs to all units together, such as the order of all scores; empty where units stand for themselves."""
    units: Sequence[Mapping[str, np.ndarray]]
    """What belongs to each unit, in the order of the statistics."""


@runtime_checkable
class PackableMetric(Metric, Protocol):
    """A metric whose statistics can be written down, so that its value over all units can be had again from a file."""

    def pack(self, statistics: np.ndarray) -> Packed:
        """The statistics as plain arrays.

        Raises:
            Misuse: They cannot be, and why.
        """

    def unpack(self, packed: Packed) -> np.ndarray:
        """Statistics with the values of those that were packed, under any weights.

        Raises:
            Misuse: The arrays are not those of this metric.
        """
