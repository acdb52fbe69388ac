"""Means over classes: what each class adds, differences class by class, and tables that give what `evaluate` gave."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import surgvalid
from surgvalid.evaluation.measure import EvaluationMaterial, MeasureJob, MeasureSettings, measure
from surgvalid.metrics.classification.averages import ClassAverage
from surgvalid.metrics.classification.cases import LabelCases, ScoreCases
from surgvalid.metrics.classification.ranking import MeanAveragePrecision
from surgvalid.metrics.packing import written_down
from surgvalid.metrics.triplets import TripletCases, TripletMap, VideoTripletMap
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.statistics_table import StatisticsTable, stacked_statistics
from surgvalid.stats.comparing.comparison import ComparisonResult
from surgvalid.stats.intervals.interval import metric_interval
from surgvalid.stats.intervals.macro_interval import class_terms, macro_difference_interval, macro_interval
from surgvalid.stats.intervals.video_jackknife import degrees_of_freedom

VIDEOS = 8
NAMES = [f"v{video}" for video in range(VIDEOS)]


def labels(seed: int, *, classes: int = 4, right: float = 0.7, rare: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """References and predictions of 12 cases in each of 8 videos; the last class in `rare` videos where given."""
    truth, luck = np.random.default_rng(0), np.random.default_rng(seed)
    reference = truth.integers(0, classes - bool(rare), VIDEOS * 12)
    for video in range(rare):
        reference[video * 12 : video * 12 + 3] = classes - 1
    guess = luck.integers(0, classes, len(reference))
    return reference, np.where(luck.random(len(reference)) < right, reference, guess)


def label_cases(reference: np.ndarray, prediction: np.ndarray, classes: int = 4) -> LabelCases:
    return LabelCases(reference, prediction, classes=classes, unit=np.repeat(NAMES, 12).tolist())


def pooled_table(metric: ClassAverage, models: dict[str, LabelCases], cases: tuple[int, ...] = ()) -> ScoreTable:
    """The table that `evaluate` writes for a metric of all videos together."""
    name, rows, places = metric.facts.name, [], {}
    for model, given in models.items():
        statistics = metric.prepare(given)
        places[model] = StatisticsTable.of(model, {name: written_down(name, metric, statistics, NAMES, cases)})
        alone = metric.combine(statistics, np.eye(VIDEOS))
        rows += [
            {"model": model, "case": video, "video": video, "metric": name, "value": float(value)}
            for video, value in zip(NAMES, alone, strict=True)
        ]
    facts = {name: metric.facts}
    return ScoreTable.of(pl.DataFrame(rows), facts=facts, statistics=stacked_statistics(places))


# --- what a class adds ---------------------------------------------------------------------------


@pytest.mark.parametrize("labels_rule", ["supported", "union", "declared"])
@pytest.mark.parametrize("measure", ["f1", "precision", "recall"])
def test_terms_average_to_the_metric_under_every_rule_for_classes(measure: str, labels_rule: str) -> None:
    reference, prediction = labels(1, classes=6)
    prediction = np.where(prediction == 5, 4, prediction)  # class 5 is never said
    reference = np.where(reference == 4, 0, reference)  # class 4 is only said
    metric = ClassAverage(measure, labels=labels_rule)
    prepared = metric.prepare(label_cases(reference, prediction, 7))
    terms = metric.class_terms(prepared, np.ones((1, VIDEOS)))[0]
    assert np.nanmean(terms) == pytest.approx(metric.combine(prepared, np.ones((1, VIDEOS)))[0], abs=1e-12)
    assert np.isfinite(terms).sum() == {"supported": 5, "union": 6, "declared": 7}[labels_rule]


def test_a_class_that_counts_zero_without_a_reference_scales_the_interval_of_the_others_and_is_said() -> None:
    given = label_cases(*labels(1), classes=5)  # class 4 is nowhere
    declared, supported = (ClassAverage("f1", labels=rule) for rule in ("declared", "supported"))
    rows = [metric_interval(one, given, video=NAMES) for one in (declared, supported)]
    whole, four = (result.table.row(0, named=True) for result in rows)
    assert [whole[end] for end in ("value", "low", "high")] == pytest.approx(
        [0.8 * four[end] for end in ("value", "low", "high")], rel=1e-12
    )
    assert whole["method"] == "jackknife by class, logit"
    assert [one.code for one in rows[0].findings] == ["classes-without-reference"]
    assert not rows[1].findings


def test_a_class_that_is_never_predicted_counts_zero_and_keeps_the_interval_class_wise() -> None:
    reference, prediction = labels(1)
    metric = ClassAverage("precision")
    row = metric_interval(metric, label_cases(reference, np.where(prediction == 3, 0, prediction)), video=NAMES)
    assert row.table["method"].to_list() == ["jackknife by class, logit"]


def test_absent_classes_that_count_zero_act_on_the_full_sample_only() -> None:
    rng = np.random.default_rng(4)
    reference = rng.integers(0, 3, VIDEOS * 12)
    reference[(reference == 2) & (np.arange(len(reference)) >= 24)] = 0  # class 2 in two videos, class 3 nowhere
    cases = ScoreCases(reference, rng.random((len(reference), 4)), unit=np.repeat(NAMES, 12).tolist())
    metric = MeanAveragePrecision(absent="zero")
    prepared = np.asarray(metric.prepare(cases))
    values = metric.class_values(prepared, np.ones((1, VIDEOS)))[0]
    expected = macro_interval(
        values, metric.class_values(prepared, 1 - np.eye(VIDEOS)), metric.class_support(prepared)
    ).every
    row = metric_interval(metric, cases, video=NAMES).table.row(0, named=True)
    assert (row["low"], row["high"]) == pytest.approx((0.75 * expected.low, 0.75 * expected.high), rel=1e-9)


@pytest.mark.parametrize("average", ["weighted", "micro"])
def test_a_perfect_weighted_average_is_not_taken_for_a_plain_one(average: str) -> None:
    reference, _ = labels(1)
    metric = ClassAverage("f1", average)
    assert class_terms(metric, metric.prepare(label_cases(reference, reference)), 1.0) is None


def test_the_map_of_triplets_within_videos_is_a_mean_over_classes() -> None:
    rng = np.random.default_rng(5)
    tiny = TripletMap("tiny", ((0, 0, 0), (0, 1, 1), (1, 0, 1)), frozenset())
    reference = rng.random((VIDEOS * 10, 3)) < 0.4
    reference[30:, 2] = False  # in three videos only
    cases = TripletCases(reference, rng.random((VIDEOS * 10, 3)), np.repeat(NAMES, 10).tolist())
    metric = VideoTripletMap(triplets=tiny)
    prepared = metric.prepare(cases)
    values = metric.class_values(prepared, np.ones((1, VIDEOS)))[0]
    assert values.mean() == pytest.approx(metric.combine(prepared, np.ones((1, VIDEOS)))[0])
    expected = macro_interval(values, metric.class_values(prepared, 1 - np.eye(VIDEOS)), metric.class_support(prepared))
    row = metric_interval(metric, cases, video=NAMES).table.row(0, named=True)
    assert (row["low"], row["high"], row["df"]) == pytest.approx(
        (expected.every.low, expected.every.high, expected.every.df), rel=1e-9
    )
    assert row["method"] == "jackknife by class, logit"


# --- differences ---------------------------------------------------------------------------------


def compared(*, rare: int = 0, classes: int = 4, level: float = 0.95) -> ComparisonResult:
    """A good and a poor model."""
    models = {
        name: label_cases(*labels(seed, right=right, rare=rare, classes=classes), classes)
        for name, seed, right in (("A", 1, 0.9), ("B", 2, 0.5))
    }
    return surgvalid.compare(pooled_table(ClassAverage("f1"), models), "A", "B", level=level)


@pytest.mark.parametrize("rare", [0, 2])
def test_the_difference_of_means_over_classes_is_taken_class_by_class(rare: int) -> None:
    row = compared(rare=rare).table.row(0, named=True)
    metric = ClassAverage("f1")
    first, second = (metric.prepare(label_cases(*labels(s, right=r, rare=rare))) for s, r in ((1, 0.9), (2, 0.5)))
    gaps = [
        metric.class_values(first, weights) - metric.class_values(second, weights)
        for weights in (np.ones((1, VIDEOS)), 1 - np.eye(VIDEOS))
    ]
    support = metric.class_support(first)
    gaps[1][(support.sum(axis=0) - support) == 0] = np.nan
    expected = macro_difference_interval(gaps[0][0], gaps[1], support).every
    assert [row[name] for name in ("difference", "low", "high", "sd", "df")] == pytest.approx(
        [expected.value, expected.low, expected.high, expected.sd, expected.df], rel=1e-12
    )
    assert row["method"] == "jackknife by class"
    assert row["smallest_p"] is None  # no sign is flipped


@pytest.mark.parametrize(("rare", "classes"), [(0, 4), (2, 4), (1, 6)])
def test_p_value_and_interval_of_a_mean_over_classes_are_one_conclusion(rare: int, classes: int) -> None:
    p = compared(rare=rare, classes=classes).table["p_value"][0]
    assert 0 < p < 1
    for level, excluded in ((1 - p * 1.01, True), (1 - p * 0.99, False)):
        row = compared(rare=rare, classes=classes, level=level).table.row(0, named=True)
        assert (row["low"] > 0 or row["high"] < 0) is excluded


def test_a_class_of_one_video_takes_its_widest_difference_off_the_evidence() -> None:
    with_single, without = (compared(rare=rare, classes=6).table["p_value"][0] for rare in (1, 2))
    assert with_single > without


def test_too_many_classes_of_one_video_leave_no_claim_and_the_others_are_named() -> None:
    result = compared(rare=1)
    row = result.table.row(0, named=True)
    assert row["p_value"] is None
    assert row["favours"] is None
    assert [one.code for one in result.findings if one.code.endswith("classes")] == [
        "single-video-classes",
        "repeated-classes",
    ]


def test_models_that_count_different_classes_fall_back_to_the_plain_jackknife() -> None:
    metric = ClassAverage("f1", labels="union")
    reference, prediction = labels(1)
    strange = np.where(prediction == 0, 4, prediction)
    models = {"A": label_cases(reference, prediction, 5), "B": label_cases(reference, strange, 5)}
    assert surgvalid.compare(pooled_table(metric, models), "A", "B").table["method"].to_list() == ["jackknife"]


def test_a_t_test_of_few_videos_claims_no_more_than_signs_could() -> None:
    metric = ClassAverage("f1", "micro")
    table = pooled_table(metric, {m: label_cases(*labels(s, right=r)) for m, s, r in (("A", 1, 0.95), ("B", 2, 0.2))})
    frame = table.frame.filter(pl.col("video") < "v4")
    kept = StatisticsTable(table.statistics.frame.filter(pl.col("video").is_null() | (pl.col("video") < "v4")))
    few = ScoreTable.of(frame, facts=table.facts, statistics=kept)
    row = surgvalid.compare(few, "A", "B").table.row(0, named=True)
    assert row["videos"] == 4
    assert row["p_value"] >= 0.125 == row["smallest_p"]
    assert row["favours"] is None


def test_the_paragraph_says_which_test_gave_the_p_value() -> None:
    prose = compared().prose
    assert "on the 8 videos both were scored on" in prose
    assert "class by class" in prose
    assert "Student's t with the jackknife's standard error" in prose
    assert "sign-flip test over videos" not in prose


# --- one value, one interval ---------------------------------------------------------------------


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_a_table_of_statistics_gives_the_interval_that_evaluate_gave(average: str) -> None:
    metric, sizes = ClassAverage("f1", average), (40, 12, 12, 12, 12, 3, 3, 2)
    given = label_cases(*labels(1))
    lengths = dict(zip(NAMES, sizes, strict=True))
    found = EvaluationMaterial(tuple(NAMES), 96, (MeasureJob(metric.facts.name, metric, given),), sizes=lengths)
    told = measure(found, MeasureSettings(), lambda _: None).metrics.row(0, named=True)
    row = surgvalid.interval(pooled_table(metric, {"A": given}, sizes)).table.row(0, named=True)
    numbers = ("value", "low", "high", "sd", "df")
    assert [row[name] for name in numbers] == pytest.approx([told[name] for name in numbers], rel=1e-12)
    assert row["method"] == told["method"]
    if average == "micro":
        assert row["df"] == pytest.approx(float(degrees_of_freedom(np.array(sizes))))


def test_statistics_without_the_number_of_cases_are_still_read(tmp_path) -> None:
    table = pooled_table(ClassAverage("f1"), {"A": label_cases(*labels(1))})
    table.to_dir(tmp_path)
    old = pl.read_parquet(tmp_path / "statistics.parquet").drop("cases")
    old.write_parquet(tmp_path / "statistics.parquet")
    assert surgvalid.interval(tmp_path).table.equals(surgvalid.interval(table).table)
