import numpy as np
import polars as pl
import pytest

from chart_examples_analysis import comparison_table, interval_pairs, leverage_table
from chart_reading import drawn_as, row_order, rows_of
from surgeval.errors import TableInvalid
from surgeval.report.charts import difference_intervals, naive_against_cluster, video_leverage
from surgeval.stats.comparison import compare
from surgeval.stats.dependence import width_ratio
from surgeval.stats.interval import interval


def _scores() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    shift = np.repeat(rng.normal(0, 0.2, 12), 10)
    rows = [
        (name, f"q{i}", f"v{i // 10}", float(np.clip(0.5 + skill + shift[i] + rng.normal(0, 0.1), 0, 1)))
        for name, skill in (("A", 0.0), ("B", 0.1))
        for i in range(120)
    ]
    return pl.DataFrame(rows, schema=["model", "case", "video", "value"], orient="row")


def test_the_ratio_of_widths_is_that_of_the_statistic() -> None:
    table = _scores()
    both = pl.concat([interval(table, resample=kind, replicates=200).table for kind in ("naive", "cluster")])
    chart = naive_against_cluster(both)
    want = width_ratio(table, resample="cluster", replicates=200).table.sort("model")["width_ratio"].to_list()
    got = {row["model"]: row["width_ratio"] for row in _text_rows(chart, "ratio_text")}
    assert [got["A"], got["B"]] == pytest.approx(want)
    assert row_order(chart) == ["B", "A"]
    assert f"{np.median(want):.2f} times as wide in the median" in chart.alt
    assert "n = 120 cases of 12 videos" in chart.caption


def _text_rows(chart, field):
    return next(layer["values"] for layer in drawn_as(chart, "text") if layer["encoding"]["text"]["field"] == field)


def test_naive_and_cluster_marks_stand_apart_and_differ_in_shape() -> None:
    chart = naive_against_cluster(interval_pairs(["A", "B"]))
    rules = drawn_as(chart, "rule")
    assert [rule["mark"]["yOffset"] < 0 for rule in rules] == [True, False]
    assert {row["kind"] for row in rules[0]["values"]} == {"rows as if independent"}
    assert {round(row["high"] - row["low"], 3) for row in rules[0]["values"]} == {0.04}
    assert {round(row["high"] - row["low"], 3) for row in rules[1]["values"]} == {0.1}
    assert drawn_as(chart, "point")[0]["encoding"]["shape"]["scale"]["range"] == ["square", "circle"]


def test_a_model_without_a_naive_width_has_no_ratio() -> None:
    frame = interval_pairs(["A", "B"]).filter((pl.col("model") == "A") | (pl.col("resample") == "cluster"))
    chart = naive_against_cluster(frame)
    assert {row["model"]: row["ratio_text"] for row in _text_rows(chart, "ratio_text")} == {"A": "2.5×", "B": "–"}


def test_intervals_are_named_by_their_level() -> None:
    chart = naive_against_cluster(interval_pairs(["A"]).with_columns(level=pl.lit(0.9)))
    assert "90 % intervals" in chart.caption
    assert "95" not in chart.caption


def test_differences_that_exclude_zero_are_filled_and_counted() -> None:
    table = _scores()
    frame = compare(table, "B", "A", better="larger", replicates=200).table
    chart = difference_intervals(frame)
    difference = frame["difference"][0]
    assert frame["low"][0] > 0
    assert f"B − A {difference:+.3f}" in chart.alt
    assert "1 exclude zero" in chart.alt.replace("the intervals of 1", "1")
    assert rows_of(chart, "point", "difference")[0]["verdict"] == "interval excludes zero"


def test_differences_run_from_the_largest_to_the_smallest() -> None:
    chart = difference_intervals(comparison_table(["A", "B", "C"]))
    values = {row["label"]: row["difference"] for row in rows_of(chart, "point", "difference")}
    order = row_order(chart)
    assert order == sorted(values, key=lambda label: -values[label])
    assert len(order) == 3


def test_a_pair_compared_in_two_slices_keeps_two_rows() -> None:
    frame = pl.concat([comparison_table(["A", "B"])] * 2).with_columns(phase=pl.Series(["early", "late"]))
    assert row_order(difference_intervals(frame, by=["phase"])) == ["A − B, early", "A − B, late"]
    assert row_order(difference_intervals(frame)) == ["A − B", "A − B (2)"]


def test_too_many_pairs_are_cut_and_that_is_said() -> None:
    frame = comparison_table([f"m{i}" for i in range(60)])
    chart = difference_intervals(frame)
    assert frame.height > 100
    assert len(row_order(chart)) == 100
    assert f"The first 100 of {frame.height} pairs are shown" in chart.caption
    assert chart.data.height == frame.height


def test_the_most_influential_video_stands_on_top() -> None:
    chart = video_leverage(leverage_table(["a", "b", "c", "d"]))
    assert row_order(chart) == ["d", "c", "b", "a"]
    assert "at most 0.0030 (d: -0.0030)" in chart.alt
    assert {row["video"]: row["headline"] for row in rows_of(chart, "point", "change")}["c"] == "rises without it"


def test_videos_that_cannot_be_left_out_are_left_out_of_the_picture() -> None:
    frame = leverage_table(["a", "b"]).with_columns(change=pl.Series([None, 0.5]))
    assert row_order(video_leverage(frame)) == ["b"]


def test_missing_columns_are_listed_all_at_once() -> None:
    with pytest.raises(TableInvalid, match=r"'low' is missing.*'high' is missing"):
        naive_against_cluster(interval_pairs(["A"]).drop("low", "high"))
