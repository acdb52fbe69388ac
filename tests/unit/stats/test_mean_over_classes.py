"""Metrics that are means over classes get their interval class by class."""

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.metrics.classification.averages import BalancedAccuracy, ClassAverage
from surgvalid.metrics.classification.cases import LabelCases
from surgvalid.stats.intervals.interval import metric_interval
from surgvalid.stats.intervals.macro_interval import macro_interval


def cases(reference: np.ndarray, prediction: np.ndarray, videos: np.ndarray) -> LabelCases:
    return LabelCases(reference, prediction, classes=int(reference.max()) + 1, unit=[f"v{v}" for v in videos])


def labels(seed: int = 0, videos: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    video = np.repeat(np.arange(videos), 12)
    reference = rng.integers(0, 3, len(video))
    return reference, np.where(rng.random(len(video)) < 0.7, reference, rng.integers(0, 3, len(video))), video


@pytest.mark.parametrize("metric", [BalancedAccuracy(), ClassAverage("f1"), ClassAverage("recall")])
def test_the_interval_is_the_class_wise_jackknife(metric) -> None:
    given = cases(*labels())
    row = metric_interval(metric, given, video=[f"v{v}" for v in range(8)]).table.row(0, named=True)
    prepared = np.asarray(metric.prepare(given))
    values = metric.class_values(prepared, np.ones((1, 8)))[0]
    without = metric.class_values(prepared, 1 - np.eye(8))
    expected = macro_interval(values, without, metric.class_support(prepared)).every
    assert (row["low"], row["high"], row["df"]) == pytest.approx((expected.low, expected.high, expected.df), rel=1e-12)
    assert row["method"] == "jackknife by class, logit"


def test_a_constant_predictor_has_half_balanced_accuracy_and_no_room() -> None:
    reference, _, video = labels()
    row = metric_interval(
        BalancedAccuracy(), cases(reference % 2, np.zeros(len(video), dtype=int), video),
        video=[f"v{v}" for v in range(8)],
    ).table.row(0, named=True)  # fmt: skip
    assert (row["value"], row["low"], row["high"]) == (0.5, 0.5, 0.5)


def test_a_class_of_one_video_widens_the_interval_and_is_said_with_the_others() -> None:
    rng = np.random.default_rng(1)
    video = np.repeat(np.arange(8), 12)
    reference = rng.integers(0, 5, len(video))
    reference[:3] = 5
    prediction = np.where(rng.random(len(video)) < 0.7, reference, 0)
    result = metric_interval(BalancedAccuracy(), cases(reference, prediction, video), video=[f"v{v}" for v in range(8)])
    row = result.table.row(0, named=True)
    assert [one.code for one in result.findings] == ["single-video-classes", "repeated-classes"]
    assert row["high"] - row["low"] > 1 / 6


def test_a_weighted_or_pooled_average_falls_back_to_the_plain_jackknife() -> None:
    for average in ("weighted", "micro"):
        metric = ClassAverage("f1", average)
        row = metric_interval(metric, cases(*labels()), video=[f"v{v}" for v in range(8)]).table.row(0, named=True)
        assert row["method"] == "jackknife, logit"


def test_evaluate_gives_the_same_interval() -> None:
    reference, prediction, video = labels()
    frame = pl.DataFrame(
        {"video": [f"v{v}" for v in video], "frame": np.arange(len(video)), "reference": reference.astype(str),
         "prediction": prediction.astype(str)}
    )  # fmt: skip
    found = surgvalid.evaluate("classification", frame, metrics=["balanced_accuracy"]).metrics.row(0, named=True)
    alone = metric_interval(BalancedAccuracy(), cases(reference, prediction, video), video=[f"v{v}" for v in range(8)])
    assert (found["low"], found["high"]) == alone.table.select("low", "high").row(0)
