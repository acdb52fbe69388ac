"""Rankings, top-k, F1-max: absent classes, ties and trivial baselines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score, top_k_accuracy_score

from surgvalid.errors import Misuse, UnknownName
from surgvalid.metrics import open_metric
from surgvalid.metrics.classification.cases import ScoreCases
from surgvalid.metrics.classification.f1_max import F1Max
from surgvalid.metrics.classification.ranking import AreaUnderROC, MeanAveragePrecision, TopK
from surgvalid.metrics.metric import value_of

ABSENT = ScoreCases(np.array([[1, 0], [0, 0], [1, 0]], bool), np.array([[0.9, 0.5], [0.8, 0.1], [0.7, 0.2]]))


def test_an_absent_class_is_left_out_or_counts_0_as_declared() -> None:
    ap = (1 + 2 / 3) / 2
    assert value_of(MeanAveragePrecision(), ABSENT) == pytest.approx(ap)
    assert value_of(MeanAveragePrecision(absent="zero"), ABSENT) == pytest.approx(ap / 2)
    assert value_of(MeanAveragePrecision("weighted"), ABSENT) == pytest.approx(ap)
    assert MeanAveragePrecision(absent="zero").facts.conventions["absent class"] == "counts 0"


def test_equal_scores_are_one_step() -> None:
    flat = ScoreCases(np.array([[1], [0], [1], [0]], bool), np.ones((4, 1)))
    assert value_of(MeanAveragePrecision(), flat) == 0.5
    assert value_of(AreaUnderROC(), flat) == 0.5


def test_values_per_class_are_there_to_be_shown() -> None:
    metric = MeanAveragePrecision()
    assert np.isnan(metric.class_values(metric.prepare(ABSENT), np.ones(3))).tolist() == [[False, True]]


def test_a_resample_without_a_class_drops_it() -> None:
    cases = ScoreCases(np.array([[1, 0], [0, 1]], bool), np.array([[0.1, 0.9], [0.9, 0.1]]), unit=["a", "b"])
    metric = MeanAveragePrecision()
    statistics = metric.prepare(cases)
    assert metric.combine(statistics, np.array([[1, 1], [1, 0]])).tolist() == [0.5, 1.0]


@pytest.mark.parametrize("wrong", [{"average": "samples"}, {"absent": "nan"}])
def test_unknown_options_of_rankings_are_named(wrong: dict[str, str]) -> None:
    with pytest.raises(UnknownName):
        MeanAveragePrecision(**wrong)  # type: ignore[arg-type]


def test_the_three_flavours_of_top_k_are_three_numbers() -> None:
    cases = ScoreCases(np.array([[1, 1, 0], [1, 0, 0]], bool), np.array([[3.0, 1, 2], [1.0, 2, 3]]))
    assert value_of(TopK(1, "any hit"), cases) == pytest.approx(1 / 2)
    assert value_of(TopK(1, "recall"), cases) == pytest.approx(1 / 3)
    single = ScoreCases(np.array([0, 0]), cases.scores)
    assert value_of(TopK(1, "single"), single) == pytest.approx(1 / 2)
    with pytest.raises(Misuse, match="one reference class per case"):
        value_of(TopK(1, "single"), cases)


def test_equal_scores_gain_nothing_unless_scikit_learns_rule_is_asked_for() -> None:
    cases = ScoreCases(np.array([0, 1, 2]), np.ones((3, 3)))
    assert value_of(TopK(2), cases) == 0
    peer = top_k_accuracy_score([0, 1, 2], np.ones((3, 3)), k=2)
    assert value_of(TopK(2, ties="last"), cases) == pytest.approx(peer) == pytest.approx(2 / 3)


def test_cases_without_reference_class_are_left_out_or_wrong_as_declared() -> None:
    cases = ScoreCases(np.array([[1, 0], [0, 0]], bool), np.array([[2.0, 1], [2, 1]]))
    assert value_of(TopK(1, "any hit"), cases) == 1
    assert value_of(TopK(1, "any hit", unlabelled="wrong"), cases) == 0.5


def test_top_k_refuses_what_means_nothing() -> None:
    with pytest.raises(Misuse):
        TopK(0)
    with pytest.raises(UnknownName):
        TopK(1, "overlap")  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        TopK(1, ties="random")  # type: ignore[arg-type]


def noise(seed: int) -> ScoreCases:
    rng = np.random.default_rng(seed)
    reference = rng.random((300, 4)) < [0.05, 0.1, 0.3, 0.6]
    return ScoreCases(reference, rng.random((300, 4)), unit=rng.integers(0, 10, 300))


def test_f1_max_of_noise_is_never_below_predicting_everything_positive() -> None:
    for metric in (F1Max(), F1Max("global")):
        statistics = metric.prepare(noise(1))
        weights = np.random.default_rng(2).multinomial(10, np.full(10, 0.1), 20)
        assert (metric.combine(statistics, weights) >= metric.all_positive(statistics, weights) - 1e-12).all()


def test_all_positive_is_scikit_learns_f1_of_all_ones() -> None:
    cases, metric = noise(3), F1Max()
    expected = f1_score(cases.reference, np.ones_like(cases.reference), average="macro")
    assert metric.all_positive(metric.prepare(cases), np.ones(10))[0] == pytest.approx(expected)


def test_thresholds_from_elsewhere_are_applied_and_not_searched() -> None:
    cases, chosen = noise(4), (0.5, 0.4, 0.3, 0.2)
    expected = f1_score(cases.reference, cases.scores >= np.array(chosen), average="macro")
    metric = F1Max(thresholds=chosen)
    assert value_of(metric, cases) == pytest.approx(expected)
    assert metric.facts.conventions["threshold"] == "given, one per class"
    assert value_of(F1Max(), cases) > expected
    with pytest.raises(Misuse, match="expected 4 thresholds"):
        value_of(F1Max(thresholds=(0.5,)), cases)


def test_f1_max_says_that_it_is_an_upper_bound_and_refuses_what_means_nothing() -> None:
    assert "upper bound" in open_metric("f1_max").facts.conventions["threshold"]
    with pytest.raises(UnknownName):
        F1Max("pooled")  # type: ignore[arg-type]
    with pytest.raises(Misuse):
        F1Max(steps=1)


def test_without_positives_there_is_no_f1_max() -> None:
    assert math.isnan(value_of(F1Max(), ScoreCases(np.zeros((3, 2), bool), np.random.default_rng(0).random((3, 2)))))
