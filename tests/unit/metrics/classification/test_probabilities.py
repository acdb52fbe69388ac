"""Calibration and proper scores: bins, reliability tables, and scores that are no probabilities."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.calibration import calibration_curve

from surgvalid.errors import InputInvalid, Misuse, UnknownName
from surgvalid.metrics import open_metric
from surgvalid.metrics.classification.cases import ScoreCases
from surgvalid.metrics.classification.probabilities import CalibrationError, LogScore
from surgvalid.metrics.metric import value_of


def binary(seed: int, size: int = 400) -> ScoreCases:
    rng = np.random.default_rng(seed)
    given = rng.random((size, 1))
    return ScoreCases(rng.random((size, 1)) < given**2, given, unit=rng.integers(0, 20, size))


def test_the_reliability_table_is_that_of_scikit_learn() -> None:
    cases, metric = binary(1), CalibrationError("classwise", bins=10)
    table = metric.reliability(metric.prepare(cases), np.ones(20))
    observed, confidence = calibration_curve(cases.reference[:, 0], cases.scores[:, 0], n_bins=10)
    assert table.observed == pytest.approx(observed)
    assert table.confidence == pytest.approx(confidence)
    assert table.weight.sum() == pytest.approx(1)


def test_equal_mass_bins_hold_equal_shares() -> None:
    metric = CalibrationError("classwise", "equal mass", bins=8)
    statistics = metric.prepare(binary(2))
    assert metric.reliability(statistics, np.ones(20)).weight == pytest.approx(np.full(8, 1 / 8))


def test_one_bin_is_the_gap_between_mean_confidence_and_share_of_hits() -> None:
    cases = binary(3)
    gap = abs(cases.scores.mean() - cases.reference.mean())
    for binning in ("equal width", "equal mass"):
        assert value_of(CalibrationError("classwise", binning, bins=1), cases) == pytest.approx(gap)  # type: ignore[arg-type]


def test_empty_bins_are_shown_as_such() -> None:
    metric = CalibrationError("classwise", bins=4)
    statistics = metric.prepare(ScoreCases(np.array([[1]], bool), np.array([[1.0]])))
    table = metric.reliability(statistics, np.ones(1))
    assert table.weight.tolist() == [0, 0, 0, 1]
    assert np.isnan(table.observed).tolist() == [True, True, True, False]


def test_scores_that_are_no_probabilities_are_refused_with_every_problem() -> None:
    cases = ScoreCases(np.array([0, 1]), np.array([[1.2, -0.2], [0.2, 0.2]]))
    with pytest.raises(InputInvalid) as caught:
        value_of(open_metric("brier"), cases)
    assert "2 probabilities outside [0, 1] (first: case 0, class 0, 1.2)" in str(caught.value)
    assert "1 cases whose probabilities do not add up to 1 (first: case 1, 0.4)" in str(caught.value)


@pytest.mark.parametrize("name", ["brier", "log_score", "ece"])
def test_metrics_of_one_label_refuse_several(name: str) -> None:
    with pytest.raises(Misuse, match="one reference class per case"):
        value_of(open_metric(name), ScoreCases(np.array([[1, 1]], bool), np.array([[0.5, 0.5]])))


def test_the_binary_brier_score_is_half_of_the_summed_one() -> None:
    rng = np.random.default_rng(4)
    p, y = rng.random(30), rng.integers(0, 2, 30)
    two = ScoreCases(y, np.stack([1 - p, p], axis=1))
    one = ScoreCases(y[:, None] == 1, p[:, None])
    assert value_of(open_metric("brier"), two) == pytest.approx(2 * value_of(open_metric("label_brier"), one))


def test_a_certain_error_costs_what_the_record_says() -> None:
    cases = ScoreCases(np.array([0]), np.array([[0.0, 1.0]]))
    assert value_of(LogScore(1e-6), cases) == pytest.approx(-math.log(1e-6))
    assert LogScore(1e-6).facts.conventions["smallest probability"] == "1e-06"


def test_options_that_mean_nothing_are_refused() -> None:
    with pytest.raises(UnknownName):
        CalibrationError("all")  # type: ignore[arg-type]
    with pytest.raises(UnknownName):
        CalibrationError(norm="l3")  # type: ignore[arg-type]
    with pytest.raises(Misuse):
        CalibrationError(bins=0)
    with pytest.raises(Misuse):
        LogScore(0.0)
