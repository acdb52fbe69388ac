import numpy as np
import polars as pl

from chart_examples_analysis import strata_table
from chart_reading import marks_of, row_order
from surgvalid.report.charts import strata_deltas
from surgvalid.stats.comparing.strata import strata


def _scores(models: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    smoke = rng.random(160) < 0.3
    rows = [
        (f"m{m}", f"q{i}", f"v{i // 10}", float(0.6 + 0.05 * m - 0.3 * smoke[i] + rng.normal(0, 0.05)), bool(smoke[i]),
         ["early", "late"][i % 2])
        for m in range(models)
        for i in range(160)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["model", "case", "video", "value", "smoke", "phase"], orient="row")


def test_strata_run_from_the_worst_to_the_best_and_the_worst_is_spoken() -> None:
    table = strata(_scores(), ["smoke", "phase"], replicates=100).table
    chart = strata_deltas(table)
    middle = table.filter(pl.col("model") == "(median of models)").sort("delta")
    names = [stratum if column == stratum else f"{column}: {stratum}" for column, stratum in
             middle.select("column", "stratum").iter_rows()]  # fmt: skip
    assert row_order(chart) == names
    assert names[0] == "smoke"
    assert f"in {middle.filter(pl.col('high') < 0).height} the interval lies below zero" in chart.alt
    assert middle.filter(pl.col("high") < 0).height not in (0, middle.height)
    worst = f"{middle['delta'][0]:+.3f} ({middle['low'][0]:+.3f} to {middle['high'][0]:+.3f})".replace("-", "\u2212")
    assert f"Lowest: smoke {worst}" in chart.alt


def test_models_are_ticks_under_the_median() -> None:
    chart = strata_deltas(strata_table(["smoke", "blood"], [f"m{i}" for i in range(30)]))
    assert len(marks_of(chart, "tick")) == 60
    assert len(marks_of(chart, "diamond")) == 2
    assert "median over 30 models" in chart.caption


def test_one_model_stands_for_itself() -> None:
    chart = strata_deltas(strata(_scores(1), ["smoke"], replicates=50).table)
    assert "Differences of 1 model to all cases" in chart.alt
    assert [mark.shape for _, mark in marks_of(chart)] == ["diamond"]


def test_equal_strata_of_two_columns_keep_two_rows() -> None:
    frame = pl.concat([strata_table(["late"], ["A"]).with_columns(column=pl.lit(name)) for name in ("phase", "shift")])
    assert sorted(row_order(strata_deltas(frame))) == ["phase: late", "shift: late"]


def test_strata_without_a_case_are_not_drawn() -> None:
    frame = strata_table(["smoke", "blood"], ["A"]).with_columns(delta=pl.Series([None, 0.1], dtype=pl.Float64))
    assert row_order(strata_deltas(frame)) == ["blood"]
