import polars as pl

from chart_examples_analysis import reliability_rows
from surgvalid.report.charts import calibration
from surgvalid.report.sections.latency import latency_table
from surgvalid.scoring.targeted import TargetedItems, count_table


def test_counting_questions_are_taken_from_scored_items() -> None:
    items = TargetedItems("number", ["a", "b", "c"], ["v"] * 3, [3, 2, None], [None, 10**30, 1], [None] * 3)
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
