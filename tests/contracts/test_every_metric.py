"""What holds for every metric. A metric without an example, an oracle or a convention record fails here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metric_examples import Example, all_examples
from surgvalid.errors import UnknownName
from surgvalid.metrics import METRICS, open_metric
from surgvalid.metrics.metric import Metric, value_of
from surgvalid.testing._metrics import LAWS_OF_WEIGHTS, METRIC_RULES

EXAMPLES = all_examples()
NAMES = sorted(METRICS)
seeds = st.integers(0, 2**32 - 1)
every_metric = pytest.mark.parametrize("name", NAMES)


def made(name: str) -> tuple[Metric, Example]:
    return open_metric(name, **EXAMPLES[name].options), EXAMPLES[name]


def arrays_in(raw) -> list[np.ndarray]:
    """The arrays of labels or masks in a raw unit; a rate or a count beside them is no array."""
    parts = raw if isinstance(raw, tuple | list) else [raw]
    nested = [array for part in parts if isinstance(part, tuple | list) for array in arrays_in(part)]
    return nested + [part for part in parts if isinstance(part, np.ndarray)]


def test_every_metric_has_an_example_with_an_oracle() -> None:
    assert sorted(EXAMPLES) == NAMES
    assert all(callable(example.oracle) and example.oracle_name for example in EXAMPLES.values())


def test_an_unknown_metric_is_named_with_its_nearest() -> None:
    with pytest.raises(UnknownName):
        open_metric("no such metric")


@every_metric
def test_a_metric_is_called_by_its_name(name: str) -> None:
    assert made(name)[0].facts.name == name


@pytest.mark.parametrize("rule", METRIC_RULES, ids=lambda rule: rule.__name__)
@every_metric
def test_a_metric_keeps_every_rule(name: str, rule: Callable[..., Iterator[str]]) -> None:
    assert list(rule(*made(name), 0)) == []


@pytest.mark.parametrize("rule", LAWS_OF_WEIGHTS, ids=lambda rule: rule.__name__)
@every_metric
@settings(max_examples=8, deadline=None)
@given(seed=seeds)
def test_the_laws_of_weights_hold_for_any_units(name: str, rule: Callable[..., Iterator[str]], seed: int) -> None:
    assert list(rule(*made(name), seed)) == []


NO_CLASSES = {"latency_p50_s", "latency_p95_s", "latency_p99_s", "deadline_miss_share"}
"""Metrics of times, which know no classes that could be absent."""


@every_metric
@settings(max_examples=5, deadline=None)
@given(seed=seeds)
def test_an_absent_class_counts_as_the_oracle_says(name: str, seed: int) -> None:
    chosen, example = made(name)
    assert (example.absent is None) == (name in NO_CLASSES)
    if example.absent is None:
        return
    rng = np.random.default_rng(seed)
    alone = [example.absent(rng)]
    for units in (alone, [*alone, example.perfect(rng)], [example.random(rng), *alone, example.absent(rng)]):
        value = value_of(chosen, example.cases(units))
        assert value == pytest.approx(example.oracle(units), abs=example.tolerance, nan_ok=True)
        assert math.isnan(value) or chosen.facts.low - 1e-12 <= value <= chosen.facts.high + 1e-12


@every_metric
def test_only_what_cannot_be_nan_has_no_spoilt_unit(name: str) -> None:
    example = EXAMPLES[name]
    if example.spoilt is None:  # labels and masks are whole numbers
        arrays = arrays_in(example.random(np.random.default_rng(5)))
        assert all(np.asarray(array).dtype.kind in "biuU" for array in arrays)
