import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from examples.simulated_instruments import EFFECTS, Simulation
from scipy import special

import surgvalid
from mixed_data import nested_table
from surgvalid.errors import FileUnreadable, Misuse, TableInvalid, UnknownName, WouldOverwrite
from surgvalid.results.tables import failures as tables
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.model.workflow import choose_family, choose_transform, transformed

UNITS = ["algorithm", "patient", "image", "instance"]
COUNTS = {"successes": "hits", "trials": "total", "fixed": ["smoke", "size"], "random": UNITS}


def test_the_default_specification_adds_model_by_unit_for_counts() -> None:
    result = failures(nested_table(cell=1.0), **COUNTS)
    assert result.variance["group"].to_list() == [*UNITS, "algorithm:instance"]
    paper = failures(nested_table(cell=1.0), **COUNTS, spec="ross")
    assert paper.variance["group"].to_list() == UNITS
    assert result.specifications is not None
    assert result.specifications.test is not None
    assert result.specifications.test.p_value < 0.05
    assert paper.specifications is not None
    assert paper.specifications.dispersion == pytest.approx(result.specifications.dispersion, rel=1e-3)


@pytest.mark.parametrize("outcome", ["correct", "score"])
def test_nothing_is_added_for_single_outcomes(outcome: str) -> None:
    result = failures(nested_table(), outcome=outcome, fixed=["smoke"], random=UNITS)
    assert "algorithm:instance" not in result.variance["group"].to_list()
    assert result.fit.family == ("binomial" if outcome == "correct" else "gaussian")


def test_effects_have_the_published_columns_and_odds_ratios() -> None:
    table = failures(nested_table(), **COUNTS).table
    assert table.columns == list(tables.EFFECTS.columns)
    assert table["term"].to_list() == ["(Intercept)", "smoke", "size"]
    np.testing.assert_allclose(table["odds_ratio"], np.exp(table["estimate"]))
    assert ((table["low"] < table["odds_ratio"]) & (table["odds_ratio"] < table["high"])).all()


def test_continuous_outcomes_have_no_odds_ratio() -> None:
    table = failures(nested_table(), outcome="score", fixed=["smoke"], random=UNITS).table
    assert table["odds_ratio"].null_count() == table.height


def test_properties_that_cannot_be_assessed_carry_an_x() -> None:
    result = failures(nested_table().with_columns(lens=pl.lit(1)), **{**COUNTS, "fixed": ["smoke", "lens"]})
    assert result.table.row(-1, named=True)["symbol"] == "x"
    assert any("lens is 1 in every row" in warning for warning in result.warnings)


def test_aliased_random_effects_are_dropped_and_said() -> None:
    table = nested_table().with_columns(frame=pl.col("instance") + "f")
    result = failures(table, **{**COUNTS, "random": ["algorithm", "frame", "instance"]})
    assert "frame" not in result.variance["group"].to_list()
    assert any("frame groups the rows exactly as instance" in warning for warning in result.warnings)


def test_undefined_precision_is_excluded_and_counted_per_model() -> None:
    table = nested_table().with_columns(
        total=pl.when((pl.col("algorithm") == "B") & (pl.col("smoke") == 1)).then(0).otherwise(pl.col("total"))
    ).with_columns(hits=pl.min_horizontal("hits", "total"))  # fmt: skip
    result = failures(table, **COUNTS)
    missing = table.filter(pl.col("total") == 0).height
    assert result.excluded_by_model == {"A": 0, "B": missing, "C": 0}
    assert result.fit.design.rows == table.height - missing
    assert any(f"differ between models (A: 0, B: {missing}, C: 0)" in warning for warning in result.warnings)


def test_rows_without_trials_of_all_models_alike_are_counted_but_are_no_selection() -> None:
    table = nested_table().with_columns(total=pl.when(pl.col("instance") == "i3").then(0).otherwise(pl.col("total")))
    result = failures(table.with_columns(hits=pl.min_horizontal("hits", "total")), **COUNTS)
    assert result.excluded_by_model == {"A": 1, "B": 1, "C": 1}
    assert any("3 rows left out: total is 0" in warning for warning in result.warnings)
    assert not any("differ" in warning for warning in result.warnings)


def test_the_paper_specification_carries_a_warning() -> None:
    paper = failures(nested_table(cell=1.0), **COUNTS, spec="ross")
    assert any("tens of times too small" in warning for warning in paper.warnings)


def test_models_may_enter_as_fixed_effects() -> None:
    result = failures(nested_table(), **COUNTS, role="fixed")
    assert {"algorithm[B]", "algorithm[C]"} <= set(result.table["term"])


def test_models_may_be_removed_or_aggregated() -> None:
    removed = failures(nested_table(), **COUNTS, role="removed")
    assert removed.variance["group"].to_list() == UNITS[1:]
    summed = failures(nested_table(), **COUNTS, role="aggregated")
    assert summed.fit.design.rows == 40


@pytest.mark.parametrize("random", [UNITS, ["algorithm"]])
def test_one_model_is_removed_by_itself_and_said(random: list[str]) -> None:
    result = failures(nested_table().filter(pl.col("algorithm") == "A"), **{**COUNTS, "random": random})
    assert result.role == "removed"
    assert "algorithm" not in result.variance["group"].to_list()
    assert any("only one model" in str(decision) for decision in result.decisions)


def test_each_model_can_be_fitted_by_itself() -> None:
    result = failures(nested_table(trials=40), **COUNTS, per_model=True)
    assert result.per_model is not None
    assert set(result.per_model["model"]) == {"A", "B", "C"}
    alone = failures(nested_table(trials=40).filter(pl.col("algorithm") == "B"), **COUNTS)
    mine = result.per_model.filter((pl.col("model") == "B") & (pl.col("term") == "smoke"))["estimate"][0]
    assert mine == pytest.approx(alone.table["estimate"][1], abs=1e-4)


def test_a_model_that_cannot_be_fitted_alone_is_marked_not_fatal() -> None:
    table = nested_table().with_columns(hits=pl.when(pl.col("algorithm") == "C").then(0).otherwise(pl.col("hits")))
    result = failures(table, **COUNTS, per_model=True)
    assert result.per_model is not None
    row = result.per_model.filter(pl.col("model") == "C").row(0, named=True)
    assert row["symbol"] == "x"
    assert "never a success" in row["note"]


def test_clusters_and_levels_to_leave_out_need_not_be_random_effects() -> None:
    table = nested_table().with_columns(center=pl.col("image").str.slice(-1))
    options = {"outcome": "correct", "fixed": "smoke", "random": ["algorithm", "instance"]}
    result = failures(table, **options, cluster="center", leave_out="center")
    inside = failures(table, **{**options, "random": ["algorithm", "center", "instance"]}, cluster=["center"])
    assert result.marginal is not None
    assert inside.marginal is not None
    assert result.marginal.equals(inside.marginal)
    assert result.influence is not None
    assert result.influence["left_out"].n_unique() == table["center"].n_unique()
    assert "center" not in result.variance["group"].to_list()


def test_marginal_and_conditional_odds_ratios_stand_in_different_tables() -> None:
    result = failures(nested_table(), outcome="correct", fixed=["smoke"], random=UNITS, cluster=["image"])
    assert result.marginal is not None
    assert "odds_ratio" not in result.marginal.columns
    assert "marginal_odds_ratio" not in result.table.columns


def test_properties_join_by_the_columns_both_tables_have() -> None:
    table = nested_table()
    more = table.select("instance", "smoke", "size").unique()
    joined = failures(table.drop("smoke", "size"), **COUNTS, properties=more)
    assert joined.table.equals(failures(table, **COUNTS).table)
    with pytest.raises(TableInvalid, match="repeat a combination"):
        failures(table.drop("smoke", "size"), **COUNTS, properties=pl.concat([more, more]))
    with pytest.raises(TableInvalid, match="shares no column"):
        failures(table, **COUNTS, properties=pl.DataFrame({"case": ["a"]}))


def test_an_interaction_without_its_parts_is_warned_of() -> None:
    table = nested_table().with_columns(phase=pl.Series(["a", "b", "c"] * 40))
    lone = failures(table, **{**COUNTS, "fixed": ["smoke", "smoke:phase"]})
    assert any("smoke:phase enters without phase" in warning for warning in lone.warnings)
    whole = failures(table, **{**COUNTS, "fixed": ["smoke", "phase", "smoke:phase", "smoke:algorithm"]})
    assert not any("enters without" in warning for warning in whole.warnings)


def test_how_properties_go_together_is_on_record() -> None:
    record = failures(nested_table(), **COUNTS).records["fit"]
    (pair,) = record["co_occurrence"]
    whole = np.corrcoef(nested_table()["smoke"], nested_table()["size"])[0, 1]
    assert (pair["term_a"], pair["term_b"]) == ("size", "smoke")
    assert pair["phi"] == pytest.approx(whole)


def test_a_table_of_several_metrics_needs_a_choice() -> None:
    table = nested_table().with_columns(value=pl.col("correct"), metric=pl.Series(["dice", "nsd"] * 60))
    options = {"outcome": "value", "fixed": ["smoke"], "random": ["image"]}
    with pytest.raises(TableInvalid, match="holds 2 metrics"):
        failures(table, **options)
    assert failures(table, **options, metric="dice").fit.design.rows == 60
    with pytest.raises(UnknownName):
        failures(table, **options, metric="dise")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"successes": "hits", "random": UNITS}, Misuse),
        ({**COUNTS, "leave_out": ["hospital"]}, TableInvalid),
        ({**COUNTS, "cluster": ["hospital"]}, TableInvalid),
        ({**COUNTS, "role": "fixed", "random": ["image"]}, Misuse),
        ({**COUNTS, "role": "removed", "random": ["algoritm", "image"]}, TableInvalid),
        ({**COUNTS, "family": "poisson"}, Misuse),
        ({**COUNTS, "family": "gaussian"}, Misuse),
        ({**COUNTS, "transform": "logit"}, Misuse),
        ({"outcome": "correct", "random": UNITS, "transform": "log"}, Misuse),
        ({"random": UNITS}, Misuse),
        ({**COUNTS, "spec": "papr"}, UnknownName),
        ({**COUNTS, "role": "none"}, UnknownName),
        ({**COUNTS, "family": "gamma"}, UnknownName),
        ({**COUNTS, "transform": "sqrt"}, UnknownName),
        ({**COUNTS, "level": 1.5}, Misuse),
        ({**COUNTS, "fixed": ["smok"]}, TableInvalid),
        ({**COUNTS, "random": ["algoritm", "instance"]}, TableInvalid),
        ({**COUNTS, "random": ["smoke | patient"]}, Misuse),
        ({"outcome": "algorithm", "random": ["image"]}, TableInvalid),
        ({"outcome": "nothing", "random": ["image"]}, TableInvalid),
        ({**COUNTS, "columns": {"model": "network"}}, TableInvalid),
        ({"outcome": "score", "random": ["algorithm"], "per_model": True}, Misuse),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, object], error: type[Exception]) -> None:
    with pytest.raises(error):
        failures(nested_table(), **options)  # type: ignore[arg-type]


def test_files_are_written_and_never_overwritten_silently(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    nested_table(cell=0.5).write_csv(table)
    result = surgvalid.failures(str(table), **COUNTS, per_model=True, cluster=["image"])
    result.to_dir(tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written >= {"effects.csv", "variance.csv", "fit.json", "manifest.json", "per_model.csv", "marginal.csv"}
    record = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert record["rows"] == 120
    assert record["levels"]["algorithm"] == 3
    assert record["spec"] == "default"
    assert record["converged"] is True
    assert isinstance(record["singular"], bool)
    assert pl.read_csv(tmp_path / "out" / "variance.csv").columns == ["group", "variance", "sd", "icc"]
    with pytest.raises(WouldOverwrite):
        result.to_dir(tmp_path / "out")


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="no such file"):
        failures(tmp_path / "none.csv", **COUNTS)


@pytest.mark.long
def test_prose_and_repr_name_what_was_found() -> None:
    result = failures(Simulation(images=60, instances=150).frame(3), successes="tp", trials="reference",
                      fixed=list(EFFECTS), random=UNITS)  # fmt: skip
    assert "binomial mixed model" in result.prose
    assert "17 properties" in result.prose
    assert repr(result).startswith("Failures(tp / reference ~ i_bright")


def test_a_score_between_zero_and_one_goes_through_the_logit_unless_residuals_are_straight() -> None:
    rng = np.random.default_rng(0)
    table = nested_table().with_columns(dice=pl.Series(special.expit(3 + 2 * rng.normal(size=120))))
    result = failures(table, outcome="dice", fixed=["smoke"], random=UNITS)
    assert result.transform == "logit"
    assert result.fit.design.model.outcome == "logit(dice)"
    plain = failures(table, outcome="dice", fixed=["smoke"], random=UNITS, transform="none")
    assert plain.transform == "none"


def test_every_branch_of_the_workflow_is_logged() -> None:
    straight = {"binary": np.array([0.0, 1.0]), "unbounded": np.array([-1.0, 2.0]), "positive": np.array([0.0, 5.0]),
                "share": np.array([0.0, 0.9])}  # fmt: skip
    works = {name: choose_family(values) for name, values in straight.items()}
    assert works["binary"].family == "binomial"
    for name, expected in (("unbounded", "none"), ("positive", "log"), ("share", "logit")):
        choose_transform(works[name], straight[name], 0.5, paper=True)
        assert works[name].transform == expected
        assert len(works[name].decisions) == 2
    straightened = choose_family(straight["share"])
    choose_transform(straightened, straight["share"], 0.999)
    assert straightened.transform == "none"


def test_bad_residuals_lead_to_the_advice_to_restate_as_counts() -> None:
    rng = np.random.default_rng(1)
    table = nested_table().with_columns(
        dice=pl.Series(np.where(rng.random(120) < 0.4, 0.0, 0.97)) + 0.01 * pl.col("smoke")
    )
    result = failures(table, outcome="dice", fixed=["smoke"], random=UNITS, spec="ross")
    assert any("Restate the outcome as counts" in str(decision) for decision in result.decisions)
    assert any("p values are withheld" in warning for warning in result.warnings)
    assert result.table["p_value"].null_count() == result.table.height
    assert result.table["symbol"].to_list() == ["", "x"]
    kept = failures(table, outcome="dice", fixed=["smoke"], random=UNITS)
    assert kept.transform == "none"
    assert any("in points of the score" in str(decision) for decision in kept.decisions)
    assert kept.table["p_value"][1] is not None


@pytest.mark.long
def test_a_score_gives_way_to_the_counts_behind_it_only_where_its_residuals_are_not_normal() -> None:
    rng = np.random.default_rng(1)
    split = np.where(rng.random(120) < 0.4, 0.0, 0.97)
    table = nested_table().with_columns(dice=pl.Series(split), normal=pl.Series(rng.normal(size=120)))
    counts = failures(table, outcome="dice", **COUNTS)  # type: ignore[arg-type]
    assert counts.fit.family == "binomial"
    answers = [decision.question for decision in counts.decisions]
    assert answers.index("Are the residuals normal?") < answers.index("Can the outcome be restated as counts?")
    plain = failures(table, **COUNTS)  # type: ignore[arg-type]
    assert counts.table.equals(plain.table)
    score = failures(table, outcome="normal", **COUNTS)  # type: ignore[arg-type]
    assert score.fit.family == "gaussian"


def test_patients_and_models_can_be_left_out_one_by_one(tmp_path: Path) -> None:
    result = failures(nested_table(), **COUNTS, leave_out=["patient", "algorithm"])  # type: ignore[arg-type]
    assert result.influence is not None
    counts = result.influence.group_by("column").agg(pl.col("left_out").n_unique()).sort("column")
    assert counts.rows() == [("algorithm", 3), ("patient", 4)]
    result.to_dir(tmp_path / "out")
    assert (tmp_path / "out" / "influence.csv").exists()
    large = result.influence.filter((pl.col("shift").abs() > 1) & (pl.col("term") != "(Intercept)"))
    assert any("rests on few" in warning for warning in result.warnings) == (large.height > 0)


def test_transforms_keep_missing_values_missing() -> None:
    assert np.isnan(transformed(np.array([np.nan, 0.5]), "logit")[0])
    assert np.isfinite(transformed(np.array([0.0, 2.0]), "log")).all()


def test_a_rule_for_missing_scores_that_would_be_left_unused_is_refused() -> None:
    frame = nested_table()
    with pytest.raises(Misuse, match=r"'score' is not the score of the table.*columns: value=score"):
        failures(frame, outcome="score", fixed=["smoke"], random=UNITS, missing="error")
    with pytest.raises(Misuse, match="'hits of total' is not the score of the table"):
        failures(frame, **COUNTS, missing="worst")


def test_the_paragraph_names_the_scale_that_was_fitted() -> None:
    frame = nested_table().with_columns(hd95=pl.col("score").exp())
    options = {"outcome": "hd95", "fixed": ["smoke"], "random": UNITS, "transform": "log"}
    for columns in (None, {"value": "hd95"}):
        assert "model of log(hd95) was fitted" in failures(frame, **options, columns=columns).prose
