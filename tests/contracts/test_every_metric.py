"""What holds for every metric. A metric without an example, an oracle or a convention record fails here."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metric_examples import Example, all_examples
from surgeval.errors import Misuse, SurgevalError, UnknownName
from surgeval.metrics import METRICS, open_metric
from surgeval.metrics.metric import Metric, value_of

EXAMPLES = all_examples()
NAMES = sorted(METRICS)
seeds = st.integers(0, 2**32 - 1)
every_metric = pytest.mark.parametrize("name", NAMES)
SAME = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}


def made(name: str) -> tuple[Metric, Example]:
    return open_metric(name, **EXAMPLES[name].options), EXAMPLES[name]


def some_units(example: Example, seed: int, count: int) -> list:
    rng = np.random.default_rng(seed)
    return [example.random(rng) for _ in range(count)]


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
def test_a_metric_has_its_facts(name: str) -> None:
    facts = made(name)[0].facts
    assert facts.name == name
    assert facts.low < facts.high
    assert facts.estimand
    assert facts.conventions, "a number without its convention record is a bug"
    assert all(isinstance(key, str) and isinstance(entry, str) for key, entry in facts.conventions.items())


@every_metric
@settings(max_examples=8, deadline=None)
@given(seed=seeds, count=st.integers(1, 4))
def test_values_lie_in_the_range(name: str, seed: int, count: int) -> None:
    chosen, example = made(name)
    value = value_of(chosen, example.cases(some_units(example, seed, count)))
    assert math.isnan(value) or chosen.facts.low - 1e-12 <= value <= chosen.facts.high + 1e-12


@every_metric
def test_perfect_predictions_reach_the_best_value_and_nothing_is_better(name: str) -> None:
    chosen, example = made(name)
    facts, rng = chosen.facts, np.random.default_rng(3)
    best = example.best if example.best is not None else facts.high if facts.better == "larger" else facts.low
    assert value_of(chosen, example.cases([example.perfect(rng) for _ in range(4)])) == pytest.approx(best, abs=1e-9)
    others = [value_of(chosen, example.cases(some_units(example, seed, 1 + seed % 3))) for seed in range(9)]
    known = [value for value in others if not math.isnan(value)]
    assert known, "random units must give values"
    assert any(abs(value - best) > 1e-3 for value in known), "random units must not be perfect"
    if facts.better == "larger":
        assert max(known) <= best + 1e-9
    else:
        assert min(known) >= best - 1e-9


@every_metric
@settings(max_examples=6, deadline=None)
@given(seed=seeds, count=st.integers(2, 5))
def test_the_order_of_the_units_changes_nothing(name: str, seed: int, count: int) -> None:
    chosen, example = made(name)
    units = some_units(example, seed, count)
    order = np.random.default_rng(seed).permutation(count)
    turned = value_of(chosen, example.cases([units[place] for place in order]))
    assert turned == pytest.approx(value_of(chosen, example.cases(units)), **SAME)


@every_metric
@settings(max_examples=12, deadline=None)
@given(seed=seeds, counts=st.lists(st.integers(0, 3), min_size=1, max_size=5).filter(any))
def test_a_weight_is_a_repetition(name: str, seed: int, counts: list[int]) -> None:
    chosen, example = made(name)
    units = some_units(example, seed, len(counts))
    weighted = chosen.combine(chosen.prepare(example.cases(units)), np.asarray([counts]))[0]
    written_out = [unit for unit, count in zip(units, counts, strict=True) for _ in range(count)]
    assert weighted == pytest.approx(value_of(chosen, example.cases(written_out)), **SAME)


@every_metric
@settings(max_examples=5, deadline=None)
@given(seed=seeds, count=st.integers(1, 5))
def test_many_weightings_at_once_equal_one_by_one(name: str, seed: int, count: int) -> None:
    chosen, example = made(name)
    statistics = chosen.prepare(example.cases(some_units(example, seed, count)))
    assert len(statistics) == count
    weights = np.random.default_rng(seed).integers(0, 3, size=(4, count))
    together = chosen.combine(statistics, weights)
    assert together.shape == (4,)
    for row, value in zip(weights, together, strict=True):
        assert chosen.combine(statistics, row) == pytest.approx(value, **SAME)
    assert chosen.combine(statistics, weights / 7) == pytest.approx(together, **SAME)


@every_metric
@settings(max_examples=5, deadline=None)
@given(seed=seeds, count=st.integers(2, 5))
def test_rows_of_the_statistics_can_be_taken_like_units(name: str, seed: int, count: int) -> None:
    chosen, example = made(name)
    units = some_units(example, seed, count)
    statistics = chosen.prepare(example.cases(units))
    taken = np.random.default_rng(seed).integers(0, count, size=count)
    again = value_of(chosen, example.cases([units[place] for place in taken]))
    assert chosen.combine(statistics[taken], np.ones(count)) == pytest.approx(again, **SAME)


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
def test_no_units_and_no_weight_have_no_value(name: str) -> None:
    chosen, example = made(name)
    assert math.isnan(value_of(chosen, example.cases([])))
    statistics = chosen.prepare(example.cases(some_units(example, 1, 3)))
    assert np.isnan(chosen.combine(statistics, np.zeros((2, 3)))).all()


@every_metric
def test_weights_that_mean_nothing_are_refused(name: str) -> None:
    chosen, example = made(name)
    statistics = chosen.prepare(example.cases(some_units(example, 1, 2)))
    for wrong in ([1.0], [1.0, -1.0], [1.0, math.nan], [[1.0, math.inf]]):
        with pytest.raises(Misuse):
            chosen.combine(statistics, np.asarray(wrong))


@every_metric
def test_nan_is_refused_or_handled_by_a_declared_rule(name: str) -> None:
    chosen, example = made(name)
    if example.spoilt is None:  # labels and masks are whole numbers, which cannot be NaN; their kind is checked instead
        assert all(
            np.asarray(array).dtype.kind in "biuU" for array in arrays_in(example.random(np.random.default_rng(5)))
        )
        return
    rng = np.random.default_rng(5)
    units = [example.random(rng), example.spoilt(rng)]
    if "NaN" in chosen.facts.conventions:
        assert not math.isnan(value_of(chosen, example.cases(units)))
    else:
        with pytest.raises(SurgevalError):
            value_of(chosen, example.cases(units))
