import numpy as np
import polars as pl
import pytest
from scipy import stats

from chart_examples_analysis import quantile_rows, random_rows
from chart_reading import drawn_as, row_order, rows_of
from surgeval.report.charts import caterpillar, normal_qq, simulated_residuals
from surgeval.stats.mixed.failures import failures
from surgeval.stats.mixed.fit_tables import (
    kept_ranks,
    normal_quantiles,
    quantile_table,
    random_effects_table,
    residual_table,
)
from surgeval.stats.mixed.report import FailuresResult
from surgeval.stats.mixed.residuals import quantile_residuals
from surgeval.stats.mixed.simulated import Simulation


@pytest.fixture(scope="module")
def found() -> FailuresResult:
    frame = Simulation(patients=8, images=60, instances=120, algorithms=3, outcome="score").frame(3)
    return failures(frame, outcome="score", fixed=["i_dark"], random=["algorithm", "patient", "image"])


def test_random_effects_are_those_of_the_fit(found: FailuresResult) -> None:
    table = random_effects_table(found.fit)
    for group in found.fit.groups:
        part = table.filter(pl.col("group") == group.name)
        assert part["level"].to_list() == group.labels.cast(pl.String).to_list()
        np.testing.assert_array_equal(part["mean"].to_numpy(), group.mean)
        np.testing.assert_array_equal(part["sd"].to_numpy(), group.spread)


def test_the_hardest_level_is_on_top(found: FailuresResult) -> None:
    table = random_effects_table(found.fit)
    chart = caterpillar(table, group="patient")
    part = table.filter(pl.col("group") == "patient").sort("mean")
    assert row_order(chart) == part["level"].to_list()
    assert f"from {part['level'][0]} {part['mean'][0]:+.2f}" in chart.alt


def test_bars_reach_1_96_conditional_deviations() -> None:
    (row,) = rows_of(caterpillar(random_rows(["a"])), "rule", "low")
    assert (row["low"], row["high"]) == pytest.approx((-1.0 - 1.96 * 0.3, -1.0 + 1.96 * 0.3))


def test_of_many_levels_the_fifty_lowest_are_shown() -> None:
    chart = caterpillar(random_rows([f"p{i:03d}" for i in range(80)]))
    assert row_order(chart) == [f"p{i:03d}" for i in range(50)]
    assert "The 50 lowest of 80 levels" in chart.caption
    assert chart.data.height == 80


def test_levels_told_apart_from_average_have_a_shape_of_their_own() -> None:
    chart = caterpillar(random_rows([f"p{i:02d}" for i in range(21)]))
    where = {row["level"]: row["where"] for row in rows_of(chart, "point", "mean")}
    assert (where["p00"], where["p10"], where["p20"]) == (
        "below average", "not told apart from average", "above average",
    )  # fmt: skip


def test_an_unknown_group_is_said() -> None:
    assert "no random effect 'x'" in caterpillar(random_rows(["a"]), group="x").alt


def test_quantiles_of_a_normal_sample_lie_on_the_line() -> None:
    sample = stats.norm.ppf((np.arange(1, 201) - 0.375) / 200.25) * 3 + 7
    table = normal_quantiles("g", np.random.default_rng(0).permutation(sample))
    assert (table["observed"] - table["expected"]).abs().max() < 0.05


def test_residuals_of_a_linear_model_have_a_panel(found: FailuresResult) -> None:
    table = quantile_table(found.fit)
    chart = normal_qq(table)
    titles = [layer["title"]["text"] for layer in drawn_as(chart, "point")]
    assert titles[0] == f"residuals (n = {found.fit.design.rows})"
    assert len(titles) == table["group"].n_unique()


def test_a_constant_sample_has_no_quantiles() -> None:
    assert normal_quantiles("g", np.ones(5)).is_empty()


def test_thinning_keeps_both_ends() -> None:
    kept = kept_ranks(10_000, most=100)
    assert kept[0] == 0
    assert kept[-1] == 9_999
    assert len(kept) <= 100
    assert (np.diff(kept) > 0).all()


def test_more_groups_than_panels_are_said() -> None:
    chart = normal_qq(quantile_rows([f"g{i}" for i in range(8)]))
    assert len(drawn_as(chart, "point")) == 6
    assert "The first 6 of 8 are shown" in chart.caption


def test_tests_of_residuals_stand_in_the_caption(found: FailuresResult) -> None:
    check = quantile_residuals(found.fit, draws=50)
    frame, tests = residual_table(check)
    chart = simulated_residuals(frame, tests=tests)
    assert f"uniformity p = {check.uniformity_p:.3g}" in chart.caption
    assert f"dispersion {check.dispersion:.2f}" in chart.caption
    assert "Random effects were drawn anew" in chart.caption


def test_the_histogram_counts_every_residual_once() -> None:
    values = [0.0, 0.01, 0.5, 0.99, 1.0]
    chart = simulated_residuals(pl.DataFrame({"residual": values}))
    bars = rows_of(chart, "bar", "start")
    assert sum(row["rows"] for row in bars) == 5
    assert [bars[0]["rows"], bars[-1]["rows"]] == [2, 2]
