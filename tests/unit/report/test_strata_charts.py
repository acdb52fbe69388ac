import numpy as np
import polars as pl

from chart_examples_analysis import aggregation_table, strata_table
from chart_reading import drawn_as, layers, row_order, rows_of
from surgeval.report.charts import aggregation_flips, strata_deltas
from surgeval.stats.aggregation import aggregate
from surgeval.stats.strata import strata


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
    assert f"Lowest: smoke {middle['delta'][0]:+.3f} [{middle['low'][0]:.3f}, {middle['high'][0]:.3f}]" in chart.alt


def test_few_models_have_intervals_of_their_own() -> None:
    chart = strata_deltas(strata_table(["smoke", "blood"], ["A", "B"]))
    assert len(rows_of(chart, "rule", "low")) == 6
    assert "Coloured shapes: single models" in chart.caption


def test_many_models_are_ticks_under_the_median() -> None:
    chart = strata_deltas(strata_table(["smoke", "blood"], [f"m{i}" for i in range(30)]))
    assert len(rows_of(chart, "tick", "delta")) == 60
    assert len(rows_of(chart, "rule", "low")) == 2
    assert "median over 30 models" in chart.caption


def test_one_model_stands_for_itself() -> None:
    chart = strata_deltas(strata(_scores(1), ["smoke"], replicates=50).table)
    assert "Differences of 1 model to all cases" in chart.alt
    assert len(rows_of(chart, "rule", "low")) == 1


def test_equal_strata_of_two_columns_keep_two_rows() -> None:
    frame = pl.concat([strata_table(["late"], ["A"]).with_columns(column=pl.lit(name)) for name in ("phase", "shift")])
    assert sorted(row_order(strata_deltas(frame))) == ["phase: late", "shift: late"]


def test_strata_without_a_case_are_not_drawn() -> None:
    frame = strata_table(["smoke", "blood"], ["A"]).with_columns(delta=pl.Series([None, 0.1], dtype=pl.Float64))
    assert row_order(strata_deltas(frame)) == ["blood"]


def test_flips_are_those_of_the_ranks() -> None:
    found = aggregate(_scores(), operator="q05", better="larger")
    chart = aggregation_flips(found.table, agreement=found.agreement)
    moved = found.table.filter(pl.col("rank_change") != 0)["model"].n_unique()
    assert f"{moved} change rank against frame-wise" in chart.alt
    points = [row for layer in drawn_as(chart, "point") for row in layer["values"]]
    assert {(row["strategy"], row["model"], row["rank"], row["change"]) for row in points} == set(
        found.table.select("strategy", "model", "rank", "rank_change").iter_rows()
    )


def test_models_that_change_and_models_that_do_not_are_drawn_apart() -> None:
    frame = aggregation_table(["A", "B", "C"], ["mean", "median"]).with_columns(rank=pl.Series([1, 2, 3, 2, 1, 3]))
    quiet, loud = drawn_as(aggregation_flips(frame), "line")
    assert {row["model"] for row in quiet["values"]} == {"C"}
    assert {row["model"]: row["kind"] for row in loud["values"]} == {"A": "worse", "B": "better"}
    assert quiet["mark"]["strokeWidth"] < loud["mark"]["strokeWidth"]


def test_the_winner_under_every_strategy_is_spoken() -> None:
    frame = aggregation_table(["A", "B", "C"], ["mean", "median"]).with_columns(rank=pl.Series([1, 2, 3, 2, 1, 3]))
    assert "First place under mean: A; median: B." in aggregation_flips(frame).alt


def test_tied_models_stand_on_lines_of_their_own() -> None:
    frame = aggregation_table(["A", "B"], ["mean", "median"]).with_columns(rank=pl.Series([1, 1, 1, 2]))
    points = [row for layer in drawn_as(aggregation_flips(frame), "point") for row in layer["values"]]
    first = [row for row in points if row["strategy"] == "mean"]
    assert sorted(row["line"] for row in first) == [1, 2]
    assert [row["rank"] for row in first] == [1, 1]


def test_among_many_models_only_winners_and_large_moves_are_coloured() -> None:
    names = [f"m{i:02d}" for i in range(40)]
    chart = aggregation_flips(aggregation_table(names))
    loud = {row["model"] for row in drawn_as(chart, "line")[1]["values"]}
    assert 10 <= len(loud) <= 13
    assert "m00" in loud
    assert "largest moves" in chart.caption


def test_names_of_models_are_data_only() -> None:
    chart = aggregation_flips(aggregation_table(["datum.x", "B"]))
    for layer in layers(chart):
        assert "datum.x" not in str({key: value for key, value in layer.items() if key not in ("values", "data")})
