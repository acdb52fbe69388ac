"""By how much a flawed public scorer is off: the value it gives beside the corrected one.

A metric that reproduces such a scorer has `corrected`: the metric it should have been. Its value is never told
without the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse
from surgvalid.metrics.metric import Floats, Metric


class CompatMetric(Metric, Protocol):
    """A metric that may reproduce a flawed scorer."""

    @property
    def corrected(self) -> Metric | None:
        """The metric it should have been; None where nothing is to be corrected."""


class CompatGap(NamedTuple):
    """What a flawed scorer gives, what is right, and the difference."""

    name: str
    value: Floats
    corrected_name: str
    corrected: Floats

    @property
    def difference(self) -> Floats:
        """Flawed minus corrected."""
        return np.asarray(self.value - self.corrected)

    def __str__(self) -> str:
        value, right, off = (float(np.ravel(number)[0]) for number in (self.value, self.corrected, self.difference))
        return f"{self.name} = {value:.4f}; {self.corrected_name} = {right:.4f} (off by {off:+.4f})"


def compat_gap(metric: CompatMetric, cases: Any, weights: npt.ArrayLike | None = None) -> CompatGap:
    """The value of a flawed scorer beside the corrected one, on the same cases under the same weights.

    Args:
        metric: A metric made with a `compat` option or a compatible rule.
        cases: What its `prepare` takes.
        weights: One row per weighting; every unit once if left out.

    Raises:
        Misuse: The metric reproduces nothing flawed.
    """
    right = metric.corrected
    if right is None:
        raise Misuse(f"{metric.facts.name} reproduces no flawed scorer, so there is nothing to compare with")
    flawed_statistics, right_statistics = metric.prepare(cases), right.prepare(cases)
    rows = np.ones((1, len(flawed_statistics))) if weights is None else np.atleast_2d(np.asarray(weights, np.float64))
    values = metric.combine(flawed_statistics, rows), right.combine(right_statistics, rows)
    return CompatGap(metric.facts.name, values[0], right.facts.name, values[1])
