"""MCC, kappa and Expected Cost where references are constant, answers missing or classes absent."""

from __future__ import annotations

import math

import numpy as np
import pytest

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics import open_metric
from surgvalid.metrics.answer_errors import expected_cost
from surgvalid.metrics.classification.cases import NO_ANSWER, LabelCases
from surgvalid.metrics.classification.confusion import ExpectedCost, Kappa, costs_of
from surgvalid.metrics.metric import value_of


def labels(reference: list[int], prediction: list[int], classes: int = 3) -> LabelCases:
    return LabelCases(np.array(reference), np.array(prediction), classes)


def test_a_constant_prediction_has_no_correlation_and_a_constant_reference_no_value() -> None:
    assert value_of(open_metric("mcc"), labels([0, 1], [1, 1])) == 0
    assert math.isnan(value_of(open_metric("mcc"), labels([1, 1], [0, 1])))


def test_two_equal_constant_raters_have_no_kappa() -> None:
    assert math.isnan(value_of(open_metric("kappa"), labels([1, 1], [1, 1])))


def test_a_missing_rating_is_as_far_away_as_the_farthest_class() -> None:
    silent = value_of(Kappa("squared"), labels([0, 1, 2, 2], [0, 1, 2, NO_ANSWER]))
    near = value_of(Kappa("squared"), labels([0, 1, 2, 2], [0, 1, 2, 1]))
    assert silent < near < 1


def test_expected_cost_of_counts_is_that_of_the_count_metrics() -> None:
    rng = np.random.default_rng(3)
    reference, prediction = rng.integers(0, 6, 40), rng.integers(0, 6, 40)
    reference[0] = 5
    cases = LabelCases(reference, prediction, 6)
    peer = expected_cost(reference, prediction, power=2)
    assert value_of(ExpectedCost("squared"), cases) == pytest.approx(peer.value)
    assert value_of(ExpectedCost("squared", normalised=True), cases) == pytest.approx(peer.normalised)


def test_priors_can_be_equal_or_given_and_absent_classes_are_left_out() -> None:
    cases = labels([0, 0, 0, 1], [0, 0, 1, 0])
    assert value_of(ExpectedCost("nominal"), cases) == pytest.approx(0.5)
    assert value_of(ExpectedCost("nominal", "equal"), cases) == pytest.approx((1 / 3 + 1) / 2)
    assert value_of(ExpectedCost("nominal", (0.5, 0.25, 0.25)), cases) == pytest.approx((0.5 / 3 + 0.25) / 0.75)


def test_a_table_of_costs_is_used_as_given() -> None:
    table = ((0, 10, 0), (1, 0, 0), (0, 0, 0))
    assert value_of(ExpectedCost(table), labels([0, 1], [1, 0])) == pytest.approx(5.5)
    assert value_of(ExpectedCost(table), labels([0], [NO_ANSWER])) == 10


def test_costs_that_mean_nothing_are_refused() -> None:
    for wrong in (((0, 1),), ((1, 0), (0, 0)), ((0, -1), (1, 0))):
        with pytest.raises(Misuse):
            costs_of(wrong, 2)
    with pytest.raises(UnknownName):
        costs_of("cubic", 2)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="prior must be 3 numbers"):
        value_of(ExpectedCost("nominal", (1.0,)), labels([0], [0]))
    with pytest.raises(UnknownName):
        value_of(ExpectedCost("nominal", "flat"), labels([0], [0]))  # type: ignore[arg-type]


def test_below_1_beats_every_constant() -> None:
    cases = labels([0, 1, 2, 2], [0, 1, 2, 1])
    assert value_of(open_metric("normalised_expected_cost"), cases) < 1
    assert math.isnan(value_of(open_metric("normalised_expected_cost"), labels([1, 1], [0, 1])))
