import math

import numpy as np
import polars as pl
import pytest

from chart_examples_analysis import effects_rows, marginal_rows, per_model_rows, prevalence_rows
from chart_reading import drawn_as, layers, row_order, rows_of
from surgeval.report.charts import effects_forest, marginal_means, model_effects, property_prevalence
from surgeval.report.charts._forest import stars
from surgeval.report.words import term_words
from surgeval.stats.mixed.diagnostics import prevalences
from surgeval.stats.mixed.failures import failures
from surgeval.stats.mixed.fit_tables import marginal_table
from surgeval.stats.mixed.report import FailuresResult
from surgeval.stats.mixed.simulated import Simulation


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
    want = {row["term"]: row for row in found.table.iter_rows(named=True)}
    for row in rows_of(chart, "rule", "shown_low"):
        if row["estimate"] is not None:
            assert row["shown"] == pytest.approx(want[row["term"]]["estimate"])
            assert row["shown_low"] == pytest.approx(math.log(want[row["term"]]["low"]))
            assert row["shown_high"] == pytest.approx(math.log(want[row["term"]]["high"]))
    assert f"n = {found.fit.design.rows:,} rows" in chart.caption


def test_the_most_harmful_property_is_on_top_and_what_cannot_be_assessed_below(found: FailuresResult) -> None:
    chart = effects_forest(found.table)
    assessed = found.table.filter((pl.col("term") != "(Intercept)") & pl.col("estimate").is_not_null()).sort("estimate")
    assert row_order(chart) == [*(term_words(term) for term in assessed["term"]), "never"]
    assert "never" in {
        row["label"] for row in rows_of(chart, "rule", "shown_low") if row["size_text"] == "not assessable"
    }


def test_odds_ratios_stars_and_symbols_stand_beside_the_rows() -> None:
    chart = effects_forest(effects_rows(["smoke", "blood", "motion"]))
    rows = {row["term"]: row for row in rows_of(chart, "rule", "shown_low")}
    assert rows["smoke"]["size_text"] == "0.37 (0.22 to 0.61)"
    assert (rows["smoke"]["stars"], rows["smoke"]["symbol"], rows["smoke"]["effect"]) == ("***", "---", "harms")
    assert (rows["motion"]["stars"], rows["motion"]["effect"]) == ("", "not significant")
    assert "3 properties, 3 assessable, 2 with p ≤ 0.05" in chart.alt
    assert "most harmful: smoke (odds ratio 0.37" in chart.alt


def test_stars_of_adjusted_p_values_say_so() -> None:
    frame = effects_rows(["smoke"]).with_columns(p_holm=pl.lit(0.2))
    chart = effects_forest(frame, p_column="p_holm")
    assert "0 with p" in chart.alt
    assert "Holm-adjusted p" in chart.caption


def test_an_endless_interval_is_cut_with_an_arrow_and_does_not_press_the_others_together() -> None:
    names = [f"p{i}" for i in range(6)]
    frame = effects_rows(names).with_columns(
        pl.when(pl.col("term") == "p1").then(1e304).otherwise("high").alias("high"),
        pl.when(pl.col("term") == "p2").then(0.0).otherwise("low").alias("low"),
    )
    chart = effects_forest(frame)
    rows = {row["term"]: row for row in rows_of(chart, "rule", "shown_low")}
    assert rows["p1"]["shown_high"] == rows["p1"]["cut_high"] < 5
    assert rows["p2"]["shown_low"] == rows["p2"]["cut_low"] > -5
    assert rows["p0"]["cut_low"] is None
    assert {layer["mark"].get("text") for layer in drawn_as(chart, "text")} >= {"‹", "›"}


def test_a_linear_model_is_shown_on_its_own_scale() -> None:
    frame = effects_rows(["smoke"]).with_columns(
        odds_ratio=pl.lit(None, dtype=pl.Float64), low=pl.lit(-1.5), high=pl.lit(-0.5)
    )
    chart = effects_forest(frame)
    assert [(row["shown_low"], row["shown_high"]) for row in rows_of(chart, "rule", "shown_low")] == [(-1.5, -0.5)]
    assert "odds" not in chart.caption.split("Symbols")[0]


def test_few_models_get_a_forest_each(found: FailuresResult) -> None:
    assert found.per_model is not None
    chart = model_effects(found.per_model)
    titles = [layer["title"]["text"] for layer in layers(chart) if "title" in layer]
    assert sorted(set(titles)) == ["A0", "A1", "A2"]


def test_many_models_get_a_map_with_signs() -> None:
    chart = model_effects(per_model_rows([f"m{i}" for i in range(12)]))
    cells = drawn_as(chart, "rect")[0]["values"]
    assert len(cells) == 36
    signs = {(row["who"], row["label"]): row["sign"] for row in cells}
    assert [signs["m3", term] for term in ("smoke", "blood", "motion")] == ["−", "−", ""]
    assert "with 2." in chart.alt


def test_prevalences_are_ordered_and_sparse_ones_marked() -> None:
    chart = property_prevalence(prevalence_rows([f"p{i}" for i in range(12)]), unit="instances")
    assert row_order(chart)[:2] == ["p0", "p1"]
    marked = [row["term"] for row in rows_of(chart, "bar", "share") if row["share_text"].endswith("!)")]
    assert marked == ["p10", "p11"]
    assert "2 rest on fewer than 10 instances" in chart.alt


def test_prevalences_per_patient_are_ticks(found: FailuresResult) -> None:
    by = prevalences(found.fit.design, "patient")
    chart = property_prevalence(found.diagnostics.prevalence, by=by)
    assert len(rows_of(chart, "tick", "share")) == by.height


def test_the_two_kinds_of_marginal_means_have_panels_of_their_own(found: FailuresResult) -> None:
    table = marginal_table(found.fit)
    chart = marginal_means(table)
    scales = [{row["scale"] for row in layer["values"]} for layer in drawn_as(chart, "point")]
    assert scales == [{"conditional"}, {"conditional"}, {"population"}, {"population"}]
    assert "not to be mixed" in chart.caption
    sides = {(row["side"], row["value"]) for layer in drawn_as(chart, "point") for row in layer["values"]}
    assert sides == {("without the property", 0.0), ("with the property", 1.0)}
    means = {
        (row["term"], row["value"]): row["mean"] for row in table.iter_rows(named=True) if row["scale"] == "population"
    }
    assert f"i instrument from {means['i_instrument', 0.0]:.3f} to {means['i_instrument', 1.0]:.3f}" in chart.alt


def test_marginal_means_run_from_the_largest_loss_to_the_largest_gain() -> None:
    table = marginal_rows(["a", "b", "c", "d", "e"])
    change = {
        term: np.subtract(*[table.filter((pl.col("term") == term) & (pl.col("value") == v))["mean"][1] for v in (1, 0)])
        for term in "abcde"
    }
    assert row_order(marginal_means(table)) == sorted(change, key=lambda term: (change[term], term))
