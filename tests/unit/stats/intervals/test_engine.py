from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from nested_tables import nested_matrix
from surgvalid.metrics.classification.averages import FN, TP, ClassAverage
from surgvalid.metrics.classification.cases import LabelCases
from surgvalid.schema.metric_facts import CORRECT, MetricFacts
from surgvalid.schema.tables.score_table import ScoreMatrix
from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.intervals.engine import auto_difference, auto_spread, row_owners, unit_totals, values_without
from surgvalid.stats.intervals.macro_interval import macro_spread
from surgvalid.stats.intervals.replicates import Sample
from surgvalid.stats.intervals.statistic import weighted_means
from surgvalid.stats.intervals.video_jackknife import mean_interval


def sample_of(
    matrix: ScoreMatrix, *, statistic: str = "mean", resample: str = "cluster", estimand: str = "rows"
) -> Sample:
    return Sample.of(matrix, statistic=statistic, resample=resample, estimand=estimand)


class Pooled:
    """The mean as a metric whose form is not known."""

    name, is_mean = "pooled", False

    def width(self, values: np.ndarray) -> int:
        return int(values.shape[1])

    def weighted(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        return weighted_means(counts, values)


def codes(findings: object) -> list[str]:
    return [finding.code for finding in findings]  # type: ignore[attr-defined]


def test_the_mean_of_rows_is_the_jackknife_of_the_sums_of_videos() -> None:
    matrix = nested_matrix(videos=9)
    totals = np.stack([np.bincount(matrix.videos, weights=column) for column in matrix.values.T], axis=1)
    expected = mean_interval(totals, np.bincount(matrix.videos).astype(float), low=0, high=1)
    found = auto_spread(sample_of(matrix), CORRECT, level=0.95, names=matrix.models)
    for name in ("value", "low", "high", "sd", "df"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert found.method == ("jackknife, logit",) * 3


def test_the_mean_over_videos_takes_every_video_once() -> None:
    matrix = nested_matrix(videos=9)
    sizes = np.bincount(matrix.videos)
    means = np.stack([np.bincount(matrix.videos, weights=column) / sizes for column in matrix.values.T], axis=1)
    found = auto_spread(sample_of(matrix, estimand="videos"), CORRECT, level=0.95, names=matrix.models)
    assert found.value == pytest.approx(means.mean(axis=0))
    assert found.sd == pytest.approx(means.std(axis=0, ddof=1) / 3)
    assert found.df.tolist() == pytest.approx([8.0] * 3)


def test_a_metric_of_unknown_form_gets_the_same_interval_as_the_mean_it_is() -> None:
    matrix = nested_matrix(videos=7)
    plain = sample_of(matrix)
    blind = Sample(plain.values, plain.nest, Pooled(), "rows")
    expected = auto_spread(plain, CORRECT, level=0.9, names=matrix.models)
    found = auto_spread(blind, CORRECT, level=0.9, names=matrix.models)
    assert found.low == pytest.approx(expected.low, rel=1e-12)
    assert found.high == pytest.approx(expected.high, rel=1e-12)


def test_a_hierarchy_takes_its_largest_units() -> None:
    matrix = nested_matrix(videos=12)
    sample = sample_of(matrix, resample="center>video")
    totals, _ = unit_totals(sample)
    assert totals.shape == (2, 3)
    assert totals.sum(axis=0) == pytest.approx(matrix.values.sum(axis=0))
    assert len(np.unique(row_owners(sample))) == 2
    found = auto_spread(sample, CORRECT, level=0.95, names=matrix.models)
    assert np.isnan(found.low).all()
    assert set(codes(found.findings)) == {"few-videos"}


@pytest.mark.parametrize("statistic", ["mean", "q05", "median"])
@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_leaving_out_a_video_equals_the_table_without_it(statistic: str, estimand: str) -> None:
    matrix = nested_matrix(binary=False)
    sample = sample_of(matrix, statistic=statistic, resample="two-stage", estimand=estimand)
    got = values_without(sample)
    unit_of_row = np.empty(len(matrix.values), dtype=int)
    unit_of_row[sample.nest.order] = sample.nest.row_units
    for unit in range(sample.nest.units):
        rest = matrix.where(unit_of_row != unit)
        expected = sample_of(rest, statistic=statistic, resample="two-stage", estimand=estimand).point()
        np.testing.assert_allclose(got[unit], expected, rtol=1e-12)


@pytest.mark.parametrize("statistic", ["mean", "q05", "median", "max"])
def test_leaving_out_a_row_equals_the_rows_without_it(statistic: str) -> None:
    sample = sample_of(nested_matrix(binary=False), statistic=statistic, resample="naive")
    got = values_without(sample)
    for row in range(0, len(sample.values), 7):
        rest = np.delete(sample.values, row, axis=0)
        q = {"mean": None, "q05": 0.05, "median": 0.5, "max": 1.0}[statistic]
        expected = rest.mean(axis=0) if q is None else np.quantile(rest, q, axis=0)
        np.testing.assert_allclose(got[row], expected, rtol=1e-12)


def test_a_hierarchy_leaves_out_its_largest_unit() -> None:
    matrix = nested_matrix(videos=5)
    got = values_without(sample_of(matrix, resample="center>video>rows"))
    center = matrix.cases["center"].to_numpy()
    np.testing.assert_allclose(
        got, [matrix.values[center == "c1"].mean(axis=0), matrix.values[center == "c0"].mean(axis=0)]
    )


def test_rows_stand_for_themselves_where_they_do() -> None:
    matrix = nested_matrix(videos=5)
    sample = sample_of(matrix, resample="naive")
    found = auto_spread(sample, CORRECT, level=0.95, names=matrix.models)
    assert found.videos.tolist() == [len(matrix.values)] * 3
    without = values_without(sample)
    rows = len(without)
    assert found.sd == pytest.approx(np.sqrt((rows - 1) / rows * ((without - found.value) ** 2).sum(axis=0)))


def test_scores_that_are_missing_count_for_their_model_only() -> None:
    matrix = nested_matrix(videos=8)
    matrix = replace(matrix, values=matrix.values.copy())
    matrix.values[matrix.videos == 3, 1] = np.nan
    found = auto_spread(sample_of(matrix), CORRECT, level=0.95, names=matrix.models)
    assert found.videos.tolist() == [8, 7, 8]
    assert np.isfinite(found.low).all()


def test_quantiles_are_pooled_or_taken_within_videos() -> None:
    matrix = nested_matrix(videos=12, binary=False, rows=9)
    pooled = auto_spread(sample_of(matrix, statistic="median"), CORRECT, level=0.95, names=matrix.models)
    within = auto_spread(
        sample_of(matrix, statistic="median", estimand="videos"), CORRECT, level=0.95, names=matrix.models
    )
    assert (pooled.low <= pooled.value).all()
    assert (pooled.value <= pooled.high).all()
    assert within.method == ("jackknife, logit",) * 3
    thin = auto_spread(sample_of(matrix, statistic="q05"), CORRECT, level=0.95, names=matrix.models)
    assert np.isnan(thin.low).all()
    assert codes(thin.findings) == ["thin-quantile"] * 3


def pair(matrix: ScoreMatrix) -> ScoreMatrix:
    return ScoreMatrix(
        matrix.values[:, :2], matrix.models[:2], matrix.videos, matrix.video_names, matrix.cases, matrix.metric
    )


@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_a_difference_has_the_p_value_of_the_published_test(estimand: str) -> None:
    matrix = pair(nested_matrix(videos=11))
    gaps = np.bincount(matrix.videos, weights=matrix.values[:, 0] - matrix.values[:, 1])
    gaps = gaps / np.bincount(matrix.videos) if estimand == "videos" else gaps
    found = auto_difference(sample_of(matrix, estimand=estimand), CORRECT, level=0.95)
    assert found.p_value == pytest.approx(flip_p(gaps)[0], rel=1e-12)
    assert (found.low <= 0 <= found.high) == (found.p_value > 0.05)
    assert found.smallest_p == 2.0 ** (1 - int((gaps != 0).sum()))
    assert found.testable


def test_few_videos_are_said_to_show_nothing() -> None:
    found = auto_difference(sample_of(pair(nested_matrix(videos=4))), CORRECT, level=0.95)
    assert found.method == "jackknife"
    assert not found.testable
    assert "few-videos" in codes(found.findings)


def test_open_ends_are_the_limits_of_the_metric() -> None:
    found = auto_difference(sample_of(pair(nested_matrix(videos=6))), CORRECT, level=0.99)
    assert (found.low, found.high) == (-1.0, 1.0)
    assert "open-interval" in codes(found.findings)


def test_the_difference_of_any_other_metric_rests_on_its_values_without_each_video() -> None:
    matrix = pair(nested_matrix(videos=9))
    plain = sample_of(matrix)
    found = auto_difference(Sample(plain.values, plain.nest, Pooled(), "rows"), CORRECT, level=0.95)
    assert found.method == "jackknife"
    assert (found.low <= 0 <= found.high) == (found.p_value > 0.05)
    quantile = auto_difference(sample_of(matrix, statistic="median"), CORRECT, level=0.95)
    assert np.isnan(quantile.low)
    assert codes(quantile.findings) == ["no-method"]


def test_no_variation_is_said_and_all_right_is_not_certainty() -> None:
    matrix = nested_matrix(videos=8, uneven=False)
    matrix = replace(matrix, values=matrix.values.copy())
    matrix.values[:, 0], matrix.values[:, 1] = 1.0, np.arange(len(matrix.values)) % 2
    found = auto_spread(sample_of(matrix), CORRECT, level=0.95, names=matrix.models)
    assert found.low[0] == pytest.approx(0.025 ** (1 / 8))
    assert np.isnan(found.low[1])
    assert "no-variation" in codes(found.findings)


def test_row_order_changes_nothing_to_the_last_digit() -> None:
    matrix = nested_matrix(videos=13, binary=False)
    order = np.random.default_rng(0).permutation(len(matrix.values))
    moved = ScoreMatrix(
        matrix.values[order], matrix.models, matrix.videos[order], matrix.video_names, matrix.cases[order.tolist()],
        matrix.metric,
    )  # fmt: skip
    for statistic in ("mean", "median"):
        one, other = (
            auto_spread(sample_of(m, statistic=statistic), CORRECT, level=0.95, names=matrix.models)
            for m in (matrix, moved)
        )
        assert one.low.tolist() == other.low.tolist()
        assert one.high.tolist() == other.high.tolist()


def test_a_mean_over_classes_names_the_classes_it_knows_little_about() -> None:
    rng = np.random.default_rng(1)
    video = np.repeat(np.arange(10), 12)
    reference = rng.integers(0, 6, 120)
    reference[(reference == 5) & (video > 0)] = 0
    reference[0] = 5
    prediction = np.where(rng.random(120) < 0.7, reference, rng.integers(0, 6, 120))
    metric = ClassAverage("f1", "macro")
    statistics = metric.prepare(LabelCases(reference, prediction, 6, unit=video.tolist()))
    support = statistics[..., TP] + statistics[..., FN]
    found, findings = macro_spread(
        lambda weights: metric.class_values(statistics, weights), support, np.arange(10), MetricFacts("macro_f1"),
        level=0.95, classes=[f"class {k}" for k in range(6)],
    )  # fmt: skip
    assert found.every.value == pytest.approx(metric.combine(statistics, np.ones((1, 10)))[0])
    assert found.every.low < found.repeated.low * 5 / 6 + 1e-12
    assert codes(findings) == ["single-video-classes"]
    assert "class 5" in findings[0].message


def test_findings_become_table_rows() -> None:
    found = auto_difference(sample_of(pair(nested_matrix(videos=3))), CORRECT, level=0.95)
    frame = pl.DataFrame([finding.as_dict() for finding in found.findings])
    assert {"code", "severity", "message"} <= set(frame.columns)


def test_long_videos_that_differ_pull_the_pooled_interval_to_their_side_and_leave_videos_alone() -> None:
    sizes = np.array([60, 40, 25, 16, 10, 7, 5, 4, 3, 3, 2, 2])
    rng = np.random.default_rng(1)
    video = np.repeat(np.arange(12), sizes)
    values = (rng.random(len(video)) < np.linspace(0.3, 0.95, 12)[video]).astype(float)[:, None]
    cases = pl.DataFrame({"case": [f"q{i:03d}" for i in range(len(video))], "video": [f"v{v:02d}" for v in video]})
    matrix = ScoreMatrix(values, ["A"], video, [f"v{v:02d}" for v in range(12)], cases, CORRECT)
    plain = mean_interval(np.bincount(video, weights=values[:, 0])[:, None], sizes.astype(float), low=0, high=1)
    found = auto_spread(sample_of(matrix), CORRECT, level=0.95, names=["A"])
    assert codes(found.findings) == ["long-videos-differ"]
    assert found.low[0] < plain.low[0]
    assert found.high[0] == plain.high[0]
    assert codes(auto_spread(sample_of(matrix, estimand="videos"), CORRECT, level=0.95, names=["A"]).findings) == []
