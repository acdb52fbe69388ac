import math

import polars as pl
import pytest
from examples.simulated_instruments import Simulation

from chart_examples_analysis import effects_rows, per_model_rows
from chart_reading import beside, cells_of, marks_of, row_order
from surgvalid.report.charts import effects_forest, model_effects
from surgvalid.report.charts.failures import stars
from surgvalid.report.words import term_words
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.report import FailuresResult


@pytest.fixture(scope="module")
def found() -> FailuresResult:
    frame = Simulation(patients=8, images=80, instances=160, algorithms=3, outcome="binary").frame(2)
    frame = frame.with_columns(pl.lit(0).alias("never"))
    fixed = ["i_instrument", "i_dark", "g_lens", "never"]
    return failures(frame, outcome="correct", fixed=fixed, random=["algorithm", "patient"], per_model=True)


def test_stars_follow_the_seed_limits() -> None:
    assert [stars(p) for p in (0.06, 0.05, 0.011, 0.01, 0.001, math.nan)] == ["", "*", "*", "**", "***", ""]


def test_the_forest_shows_log_odds_with_their_limits(found: FailuresResult) -> None:
    chart = effects_forest(found.table, rows=found.fit.design.rows)
    want = {term_words(row["term"]): row for row in found.table.iter_rows(named=True)}
    drawn = [(label, mark) for label, mark in marks_of(chart) if mark.x is not None]
    assert len(drawn) == 3
    for label, mark in drawn:
        assert mark.x == pytest.approx(want[label]["estimate"])
        assert (mark.low, mark.high) == pytest.approx((math.log(want[label]["low"]), math.log(want[label]["high"])))
    assert f"n = {found.fit.design.rows:,} rows" in chart.caption


def test_the_most_harmful_property_is_on_top_and_what_cannot_be_assessed_below(found: FailuresResult) -> None:
    chart = effects_forest(found.table)
    assessed = found.table.filter((pl.col("term") != "(Intercept)") & pl.col("estimate").is_not_null()).sort("estimate")
    assert row_order(chart) == [*(term_words(term) for term in assessed["term"]), "never"]
    assert beside(chart, "odds ratio (interval)")["never"] == "not assessable"


def test_odds_ratios_stars_and_symbols_stand_beside_the_rows() -> None:
    chart = effects_forest(effects_rows(["smoke", "blood", "motion"]))
    assert beside(chart, "odds ratio (interval)")["smoke"] == "0.37 (0.22 to 0.61)"
    assert (beside(chart)["smoke"], beside(chart, "symbol")["smoke"]) == ("***", "---")
    assert beside(chart)["motion"] == ""
    looks = {label: (mark.look, mark.shape) for label, mark in marks_of(chart)}
    assert looks["smoke"] == ("warm", "left")
    assert looks["motion"] == ("quiet", "circle")
    assert "3 properties, 3 assessable, 2 with p ≤ 0.05" in chart.alt
    assert "most harmful: smoke (odds ratio 0.37" in chart.alt


def test_stars_of_adjusted_p_values_say_so() -> None:
    frame = effects_rows(["smoke"]).with_columns(p_holm=pl.lit(0.2))
    chart = effects_forest(frame, p_column="p_holm")
    assert "0 with p" in chart.alt
    assert "Holm-adjusted p" in chart.caption


def test_an_endless_interval_is_cut_and_does_not_press_the_others_together() -> None:
    names = [f"p{i}" for i in range(6)]
    frame = effects_rows(names).with_columns(
        pl.when(pl.col("term") == "p1").then(1e304).otherwise("high").alias("high"),
        pl.when(pl.col("term") == "p2").then(0.0).otherwise("low").alias("low"),
    )
    chart = effects_forest(frame)
    drawn = dict(marks_of(chart))
    assert (drawn["p1"].high or 9) < 5
    assert (drawn["p2"].low or -9) > -5
    assert "over 10,000" in beside(chart, "odds ratio (interval)")["p1"]


def test_a_linear_model_is_shown_on_its_own_scale() -> None:
    frame = effects_rows(["smoke"]).with_columns(
        odds_ratio=pl.lit(None, dtype=pl.Float64), low=pl.lit(-1.5), high=pl.lit(-0.5)
    )
    chart = effects_forest(frame)
    assert [(mark.low, mark.high) for _, mark in marks_of(chart)] == [(-1.5, -0.5)]
    assert "odds" not in chart.caption.split("Symbols")[0]


def test_models_get_a_map_with_signs() -> None:
    chart = model_effects(per_model_rows([f"m{i}" for i in range(12)]))
    cells = cells_of(chart)
    assert len(cells) == 36
    assert [cells[term, "m3"].text for term in ("smoke", "blood", "motion")] == ["−", "−", ""]
    assert cells["smoke", "m3"].shade < 0
    assert "with 2." in chart.alt
