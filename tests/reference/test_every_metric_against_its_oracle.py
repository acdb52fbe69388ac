"""Every metric against an independent implementation, on random units with absent classes and empty units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metric_examples import all_examples
from surgvalid.metrics import METRICS, open_metric
from surgvalid.metrics.metric import value_of

EXAMPLES = all_examples()


@pytest.mark.parametrize("name", sorted(METRICS))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 6))
def test_the_value_is_the_oracles(name: str, seed: int, count: int) -> None:
    example = EXAMPLES[name]
    rng = np.random.default_rng(seed)
    units = [example.random(rng) for _ in range(count)]
    ours = value_of(open_metric(name, **example.options), example.cases(units))
    assert ours == pytest.approx(example.oracle(units), abs=example.tolerance, nan_ok=True)
