"""What every metric must bring to be tested: raw units, how they become cases, and an independent oracle.

A module of this folder holds `EXAMPLES: dict[str, Example]` for its family, one entry per name in `METRICS`.
Raw units are anything; a *list* of them is a data set. Repeating an entry of the list is repeating a unit,
permuting the list is permuting the units, and the empty list is empty input. `tests/contracts/
test_every_metric.py` and `tests/reference/test_every_metric_against_its_oracle.py` run over all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from surgvalid.testing import MetricExample
from surgvalid.testing._metrics import Draw, Raw


@dataclass(frozen=True)
class Example(MetricExample):
    """How one metric of ours is tried out: as any other, and against an oracle."""

    oracle: Callable[[list[Raw]], float]
    """The value by an independent implementation, NaN where undefined."""
    oracle_name: str = "brute force"
    absent: Draw | None = None
    """A unit whose reference lacks a class, or everything, that is predicted; None where there are no classes."""
    tolerance: float = 1e-9
    """How closely the oracle is met; its own precision, never ours."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options with which the metric is made for this example."""
