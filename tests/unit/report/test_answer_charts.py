import numpy as np
import polars as pl
import pytest

from chart_examples_analysis import reliability_rows, time_rows
from chart_reading import curves_of
from surgvalid.report.charts import calibration, time_error
from surgvalid.report.sections.latency import latency_table
from surgvalid.scoring.targeted import TargetedItem, count_table, targeted_scores


def test_the_curve_of_times_counts_questions_within_each_tolerance() -> None:
    frame = pl.DataFrame({"model": ["A"] * 4, "value": [0.0, 2.0, 5.0, float("nan")]})
    curve = {row["within_s"]: row["share"] for row in time_error(frame).data.iter_rows(named=True)}
    assert [curve[0.5], curve[1.5], curve[2.0], curve[5.0], curve[60.0]] == [0.25, 0.25, 0.5, 0.75, 0.75]


def test_the_share_at_the_tolerance_is_the_targeted_metric() -> None:
    rng = np.random.default_rng(0)
    items = [
        TargetedItem(f"q{i}", "v", "time", (100.0,), (100.0 + float(rng.normal(0, 6)),), (0.0, 200.0))
        for i in range(50)
    ]
    cases = targeted_scores(items).cases
    want = cases.filter(pl.col("metric") == "time_within_5s")["value"].mean()
    frame = cases.filter(pl.col("metric") == "time_error_s").with_columns(model=pl.lit("A"))
    got = time_error(frame).data.filter(pl.col("within_s") == 5.0)["share"][0]
    assert got == pytest.approx(want)


def test_models_are_ordered_by_the_share_within_the_tolerance() -> None:
    frame = pl.DataFrame({"model": ["slow", "fast"] * 2, "value": [9.0, 1.0, 4.0, 2.0]})
    chart = time_error(frame, tolerance_s=5)
    assert "fast 100 % to slow 50 %" in chart.alt
    assert list(curves_of(chart)) == ["fast", "slow"]


def test_the_best_seven_are_drawn_each_with_a_look_of_its_own() -> None:
    chart = time_error(time_rows([f"m{i}" for i in range(20)]))
    looks = {(curve.look, curve.dash) for curve in curves_of(chart).values()}
    assert len(looks) == len(curves_of(chart)) == 7
    assert "The 7 best of 20 are shown" in chart.caption


def test_counting_questions_are_taken_from_scored_items() -> None:
    items = [TargetedItem("a", "v", "number", 3, None), TargetedItem("b", "v", "number", 2, 10**30),
             TargetedItem("c", "v", "fo_class", frozenset({"Clip"}))]  # fmt: skip
    assert count_table(items).select("reference", "response").rows() == [(3, None), (2, 2**62)]


def test_latencies_are_summed_up_by_the_house_metric() -> None:
    table = latency_table({"A": [float(s) for s in range(100, 0, -1)], "none": [None, None]}, budget_s=90)
    assert table.rows() == [("A", 50.0, 95.0, 100.0, 0.1, 100), ("none", None, None, None, 1.0, 2)]


def test_the_widest_gap_of_confidence_is_spoken() -> None:
    table = pl.DataFrame({"model": "A", "confidence": [0.2, 0.9], "observed": [0.7, 0.8], "cases": [30, 10]})
    assert "A: says 20 %, is right in 70 % (30 cases)" in calibration(table).alt


def test_further_models_are_left_out_of_the_reliability_curves_and_that_is_said() -> None:
    chart = calibration(reliability_rows([f"m{i}" for i in range(9)]))
    assert "The first 7 of 9 models are shown" in chart.caption
    assert chart.data["model"].n_unique() == 9
