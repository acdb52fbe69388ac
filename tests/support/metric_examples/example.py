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

import numpy as np

Raw = Any
"""One unit (video, image, frame) of references and predictions, in whatever form the oracle likes."""


@dataclass(frozen=True)
class Example:
    """How one metric is tried out."""

    random: Callable[[np.random.Generator], Raw]
    """A small random unit: not perfect, now and then without some class or without anything."""
    perfect: Callable[[np.random.Generator], Raw]
    """A unit whose prediction is as good as can be."""
    cases: Callable[[list[Raw]], Any]
    """What `prepare` takes, made of a list of units; a unit that occurs twice is two units."""
    oracle: Callable[[list[Raw]], float]
    """The value by an independent implementation, NaN where undefined."""
    oracle_name: str = "brute force"
    spoilt: Callable[[np.random.Generator], Raw] | None = None
    """A unit with NaN where a number belongs; None where nothing can be NaN."""
    absent: Callable[[np.random.Generator], Raw] | None = None
    """A unit whose reference lacks a class, or everything, that is predicted; None where there are no classes."""
    best: float | None = None
    """The value of perfect units, where it is not the better end of the metric's range."""
    tolerance: float = 1e-9
    """How closely the oracle is met; its own precision, never ours."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options with which the metric is made for this example."""
