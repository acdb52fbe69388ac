"""What a metric offers, so that every resample of it is nothing but a vector of weights.

The expensive part (matching boxes, reading masks) happens once, in `prepare`; `combine` turns the
prepared statistics and weights into values. Bootstrap, jackknife, strata and paired comparison then
never run the matching again.
"""

from __future__ import annotations

from typing import Any, Protocol

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
