"""What every metric keeps: its range, its best value, and the law of weights that all intervals rest on.

A weight of k means that the unit is there k times (`surgvalid.metrics.metric`). A metric that breaks this law gives
numbers, but its intervals and strata are wrong without anybody seeing it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from surgvalid.errors import Misuse, SurgvalidError
from surgvalid.metrics.metric import Metric, value_of
from surgvalid.testing._broken import Broken, refuse

Raw = Any
"""One unit (video, image, frame) of references and predictions, in whatever form is handy."""
Draw = Callable[[np.random.Generator], Raw]
_SAME = 1e-12
_SETS, _UNITS, _DRAWS, _APART, _NONE = 8, 30, 100, 1.5, 0.01


@dataclass(frozen=True)
class MetricExample:
    """How a metric is tried out. A list of units is a data set; an entry that occurs twice is two units."""

    random: Draw
    """A small random unit: not perfect, now and then without some class or without anything."""
    perfect: Draw
    """A unit whose prediction is as good as can be."""
    cases: Callable[[list[Raw]], Any]
    """What `prepare` takes, made of a list of units."""
    spoilt: Draw | None = field(default=None, kw_only=True)
    """A unit with NaN where a number belongs; None where nothing can be NaN."""
    best: float | None = field(default=None, kw_only=True)
    """The value of perfect units, where it is not the better end of the metric's range."""


def check_metric(metric: Metric, example: MetricExample, *, seeds: int = 5) -> None:
    """Nothing, when a metric keeps the rules of metrics on units drawn from the example.

    Raises:
        ContractBroken: With every rule that it does not keep.
    """
    names = (rule(metric, example, seed) for seed in range(seeds) for rule in METRIC_RULES)
    refuse("metric", metric.facts.name, names)


def it_has_its_facts(metric: Metric, _example: MetricExample, _seed: int) -> Broken:
    """A range, an estimand and a record of conventions."""
    facts = metric.facts
    if not facts.low < facts.high:
        yield f"its range is {facts.low} to {facts.high}"
    if not facts.estimand:
        yield "it does not say what it estimates"
    if not facts.conventions or not all(isinstance(v, str) for pair in facts.conventions.items() for v in pair):
        yield "it has no record of its conventions, texts by name"


def values_lie_in_the_range(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """Every value lies in the declared range, or is NaN."""
    for count in (1, 3):
        value = value_of(metric, example.cases(drawn(example, seed, count)))
        if not math.isnan(value) and not metric.facts.low - _SAME <= value <= metric.facts.high + _SAME:
            yield f"a value of {value} lies outside {metric.facts.low} to {metric.facts.high}"


def perfect_units_reach_the_best_value(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """Perfect units reach the best value, and random ones do not pass it."""
    facts, rng = metric.facts, np.random.default_rng(seed)
    best = example.best if example.best is not None else facts.high if facts.better == "larger" else facts.low
    perfect = value_of(metric, example.cases([example.perfect(rng) for _ in range(4)]))
    if not math.isclose(perfect, best, abs_tol=1e-9):
        yield f"perfect units give {perfect}, not {best}"
    draws = [value_of(metric, example.cases(drawn(example, 100 * seed + turn, 1 + turn % 3))) for turn in range(9)]
    known = [value for value in draws if not math.isnan(value)]
    if not any(abs(value - best) > 1e-3 for value in known):
        yield "random units of the example give nothing but the best value, or no value"
    extreme = max if facts.better == "larger" else min
    if extreme([best, *known]) != best and abs(extreme(known) - best) > 1e-9:
        yield f"random units are better than perfect ones: {max(known) if facts.better == 'larger' else min(known)}"


def the_order_of_the_units_changes_nothing(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """The same value for the same units in another order."""
    units = drawn(example, seed, 4)
    order = np.random.default_rng(seed).permutation(len(units))
    turned = value_of(metric, example.cases([units[place] for place in order]))
    yield from _differ("units in another order", turned, value_of(metric, example.cases(units)))


def a_weight_is_a_repetition(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """A weight of k gives what the unit written out k times gives."""
    counts = np.random.default_rng(seed).integers(0, 4, size=4)
    counts[0] = max(counts[0], 1)
    units = drawn(example, seed, len(counts))
    weighted = metric.combine(metric.prepare(example.cases(units)), counts[None, :])[0]
    written_out = [unit for unit, count in zip(units, counts, strict=True) for _ in range(count)]
    yield from _differ(f"weights {counts.tolist()}", weighted, value_of(metric, example.cases(written_out)))


def many_weightings_at_once_equal_one_by_one(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """Weightings do not touch each other, and only their proportions count."""
    statistics = metric.prepare(example.cases(drawn(example, seed, 5)))
    weights = np.random.default_rng(seed).integers(0, 3, size=(4, 5))
    if len(statistics) != 5:
        yield f"`prepare` gave {len(statistics)} rows of statistics for 5 units"
        return
    together = metric.combine(statistics, weights)
    if together.shape != (4,):
        yield f"`combine` gave values of shape {together.shape} for 4 weightings"
        return
    for row, scaled, value in zip(weights, metric.combine(statistics, weights / 7), together, strict=True):
        yield from _differ("one weighting alone", metric.combine(statistics, row), value)
        yield from _differ("weights divided by 7", scaled, value)


def rows_of_the_statistics_can_be_taken_like_units(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """Taking, repeating and reordering rows of the statistics is doing so with units."""
    units = drawn(example, seed, 4)
    rows = np.random.default_rng(seed).integers(0, 4, size=4)
    value = metric.combine(metric.prepare(example.cases(units))[rows], np.ones(4))
    again = value_of(metric, example.cases([units[place] for place in rows]))
    yield from _differ(f"rows {rows.tolist()} of the statistics", value, again)


def no_units_and_no_weight_have_no_value(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """NaN, and not 0, where there is nothing to measure."""
    if not math.isnan(value := value_of(metric, example.cases([]))):
        yield f"no units give {value}, not NaN"
    statistics = metric.prepare(example.cases(drawn(example, seed, 3)))
    if not np.isnan(values := metric.combine(statistics, np.zeros((2, 3)))).all():
        yield f"weights of zero give {values.tolist()}, not NaN"


def weights_that_mean_nothing_are_refused(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """Too few, negative, NaN or infinite weights end in Misuse."""
    statistics = metric.prepare(example.cases(drawn(example, seed, 2)))
    for wrong in ([1.0], [1.0, -1.0], [1.0, math.nan], [[1.0, math.inf]]):
        try:
            value = metric.combine(statistics, np.asarray(wrong))
        except Misuse:
            continue
        yield f"weights {wrong} of two units were taken and gave {value}"


def nan_is_refused_or_handled_by_a_declared_rule(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """A unit with NaN is refused, unless the conventions have a rule named NaN."""
    if example.spoilt is None:
        return
    rng = np.random.default_rng(seed)
    units = [example.random(rng), example.spoilt(rng)]
    try:
        value = value_of(metric, example.cases(units))
    except SurgvalidError:
        if "NaN" in metric.facts.conventions:
            yield "its conventions have a rule for NaN, and it refuses NaN"
        return
    if "NaN" not in metric.facts.conventions or math.isnan(value):
        yield f"a unit with NaN gave {value}, and no convention named NaN says so"


def jackknife_and_bootstrap_agree(metric: Metric, example: MetricExample, seed: int) -> Broken:
    """Leaving out one unit at a time and drawing units give like errors, unless the metric says `smooth = False`.

    Of a quantile the jackknife's error is now a third and now thrice the bootstrap's, however many units there are.
    """
    if seed or not getattr(metric, "smooth", True):
        return
    rng, gaps = np.random.default_rng(seed), []
    for turn in range(_SETS):
        statistics = metric.prepare(example.cases(drawn(example, turn, _UNITS)))
        without, counts = 1.0 - np.eye(_UNITS), rng.multinomial(_UNITS, np.full(_UNITS, 1 / _UNITS), _DRAWS)
        left, draws = (metric.combine(statistics, weights) for weights in (without, counts))
        errors = np.nanstd(left) * math.sqrt(_UNITS - 1), np.nanstd(draws)
        if errors[1] > 0:
            gaps.append(math.log(max(errors[0] / errors[1], _NONE)))
    if len(gaps) > _SETS / 2 and np.ptp(gaps) > _APART:
        yield (
            "errors by jackknife and by bootstrap are unlike from sample to sample; if it is no smooth function of its "
            "units, as a quantile is none, say `smooth = False`"
        )


def drawn(example: MetricExample, seed: int, count: int) -> list[Raw]:
    """So many random units."""
    rng = np.random.default_rng(seed)
    return [example.random(rng) for _ in range(count)]


def _differ(what: str, value: npt.ArrayLike, expected: float) -> Broken:
    if not np.allclose(value, expected, rtol=_SAME, atol=_SAME, equal_nan=True):
        yield f"{what}: gave {float(np.asarray(value))!r}, expected {float(expected)!r}"


LAWS_OF_WEIGHTS = (
    values_lie_in_the_range,
    the_order_of_the_units_changes_nothing,
    a_weight_is_a_repetition,
    many_weightings_at_once_equal_one_by_one,
    rows_of_the_statistics_can_be_taken_like_units,
)
METRIC_RULES = (
    it_has_its_facts,
    perfect_units_reach_the_best_value,
    *LAWS_OF_WEIGHTS,
    no_units_and_no_weight_have_no_value,
    weights_that_mean_nothing_are_refused,
    nan_is_refused_or_handled_by_a_declared_rule,
    jackknife_and_bootstrap_agree,
)
