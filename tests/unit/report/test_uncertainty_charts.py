import numpy as np
import polars as pl
import pytest

from chart_examples_analysis import comparison_table
from chart_reading import marks_of, row_order
from surgvalid.errors import TableInvalid
from surgvalid.report.charts import difference_intervals, value_intervals
from surgvalid.stats.comparing.comparison import compare


def _scores() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    shift = np.repeat(rng.normal(0, 0.2, 12), 10)
    rows = [
        (name, f"q{i}", f"v{i // 10}", float(np.clip(0.5 + skill + shift[i] + rng.normal(0, 0.1), 0, 1)))
        for name, skill in (("A", 0.0), ("B", 0.1))
        for i in range(120)
    ]
    return pl.DataFrame(rows, schema=["model", "case", "video", "value"], orient="row")


def test_intervals_are_named_by_their_level() -> None:
    frame = pl.DataFrame({"model": ["A"], "value": [0.5], "low": [0.4], "high": [0.6], "level": [0.9]})
    chart = value_intervals(frame)
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
    assert [(mark.x, mark.hollow) for _, mark in marks_of(chart)] == [(difference, False)]


def test_differences_run_from_the_largest_to_the_smallest() -> None:
    chart = difference_intervals(comparison_table(["A", "B", "C"]))
    values = {label: mark.x or 0.0 for label, mark in marks_of(chart)}
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


def test_missing_columns_are_listed_all_at_once() -> None:
    with pytest.raises(TableInvalid, match=r"'low' is missing.*'high' is missing"):
        difference_intervals(comparison_table(["A", "B"]).drop("low", "high"))
