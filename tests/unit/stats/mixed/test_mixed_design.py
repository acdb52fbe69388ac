import numpy as np
import polars as pl
import pytest

from mixed_data import nested_table
from surgvalid.errors import Misuse, TableInvalid
from surgvalid.stats.mixed.model.design import design_of
from surgvalid.stats.mixed.model.formula import ModelFormula


def design(table: pl.DataFrame, text: str, **options: object):
    return design_of(table, ModelFormula.parse(text, **options))  # type: ignore[arg-type]


def test_numbers_enter_as_they_are_and_categories_against_their_first_level() -> None:
    table = pl.DataFrame({"y": [1, 1, 1, 0], "n": [2, 2, 2, 3], "x": [0.5, 1, 2, 3], "c": ["b", "a", "c", "a"]})
    found = design(table, "y / n ~ c")
    assert found.names == ("(Intercept)", "c[b]", "c[c]")
    assert found.fixed.tolist() == [[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 0]]


def test_an_interaction_is_the_product_of_its_columns() -> None:
    table = nested_table()
    found = design(table, "hits / total ~ smoke * size")
    assert found.names[-1] == "smoke:size"
    np.testing.assert_array_equal(found.fixed[:, 3], found.fixed[:, 1] * found.fixed[:, 2])


def test_every_unknown_column_is_named_with_the_nearest_one() -> None:
    with pytest.raises(TableInvalid, match=r"2 problems.*'smok' does not exist; did you mean 'smoke'.*'imagge'"):
        design(nested_table(), "hits / total ~ smok + (1 | imagge)")


def test_a_constant_property_is_not_assessable_and_says_so() -> None:
    found = design(nested_table().with_columns(lens=pl.lit(0)), "hits / total ~ smoke + lens")
    assert found.names == ("(Intercept)", "smoke")
    assert found.not_assessable == {"lens": "is 0 in every row"}


def test_a_property_that_repeats_others_is_dropped_with_their_names() -> None:
    table = nested_table().with_columns(clear=1 - pl.col("smoke"))
    found = design(table, "hits / total ~ smoke + size + clear")
    assert found.not_assessable == {"clear": "is determined by (Intercept), smoke"}


def test_a_property_that_separates_the_outcome_is_not_assessable() -> None:
    table = nested_table().with_columns(hits=pl.when(pl.col("smoke") == 1).then(0).otherwise(pl.col("hits")))
    found = design(table, "hits / total ~ smoke + size")
    assert "all" in found.not_assessable["smoke"]
    assert "failures" in found.not_assessable["smoke"]


def test_rows_without_values_or_trials_are_left_out_and_counted() -> None:
    table = pl.DataFrame({
        "hits": [1, 0, 2, None, 1, 3], "total": [2, 0, 3, 4, 2, 5], "x": [0.0, 1.0, float("nan"), 1.0, 1.0, 0.0],
        "g": ["a", "b", "a", "b", "", "b"],
    })  # fmt: skip
    found = design(table, "hits / total ~ (1 | g)")
    assert found.excluded == {"no value in hits": 1, "no value in g": 1, "total is 0": 1}
    assert found.kept.tolist() == [0, 2, 5]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hits": pl.col("total") + 1}, "'hits' exceeds 'total' in 120 rows"),
        ({"hits": pl.lit(-1)}, "'hits' is negative"),
        ({"hits": pl.col("total") * 0.5}, "must hold whole numbers"),
        ({"hits": pl.lit("many")}, "'hits' must hold numbers"),
        ({"hits": pl.lit(0)}, "never a success"),
        ({"hits": pl.col("total")}, "always a success"),
        ({"size": pl.lit(float("inf"))}, "'size' has infinite entries"),
        ({"size": pl.lit(None, dtype=pl.Float64)}, r"no row is left .* \(no value in size in 120 rows\)"),
        ({"total": pl.lit(0), "hits": pl.lit(0)}, r"no row is left .* \(total is 0 in 120 rows\)"),
        ({"total": -pl.col("total"), "hits": pl.lit(0)}, "'total' is negative in 120 rows"),
    ],
)
def test_impossible_outcomes_are_refused(changes: dict[str, pl.Expr], message: str) -> None:
    with pytest.raises(TableInvalid, match=message):
        design(nested_table().with_columns(**changes), "hits / total ~ smoke + size")


def test_an_outcome_that_is_not_zero_or_one_needs_trials() -> None:
    with pytest.raises(TableInvalid, match="must be 0 or 1, got 2"):
        design(pl.DataFrame({"y": [0, 1, 2, 1]}), "y ~ 1")


def test_empty_tables_and_too_few_rows_are_refused() -> None:
    with pytest.raises(TableInvalid, match="no rows"):
        design(nested_table().head(0), "hits / total ~ smoke")
    with pytest.raises(TableInvalid, match="2 rows cannot determine 2 coefficients"):
        design(pl.DataFrame({"y": [1, 1], "n": [2, 3], "x": [0.1, 0.9]}), "y / n ~ x")


def test_free_text_as_a_property_is_refused() -> None:
    table = pl.DataFrame({"y": [0, 1] * 150, "t": [f"text {i}" for i in range(300)]})
    with pytest.raises(Misuse, match="300 different texts"):
        design(table, "y ~ t")


def test_random_effects_that_cannot_carry_a_variance_are_named() -> None:
    table = nested_table().with_columns(center=pl.lit("c"), frame=pl.col("image"), row=pl.int_range(120))
    found = design(table, "correct ~ smoke + (1 | center) + (1 | frame) + (1 | image) + (1 | row)")
    assert [f.name for f in found.factors] == ["image"]
    assert found.dropped_factors == {
        "center": "has one level",
        "row": "has one row per level, which is the residual",
        "frame": "groups the rows exactly as image does (aliased)",
    }


def test_of_two_equal_groupings_the_interaction_is_dropped_and_the_model_keeps_its_name() -> None:
    table = nested_table().with_columns(instance=pl.lit("only"))
    found = design(table, "hits / total ~ smoke + (1 | algorithm) + (1 | algorithm:instance)")
    assert [f.name for f in found.factors] == ["algorithm"]
    assert found.dropped_factors == {"algorithm:instance": "groups the rows exactly as algorithm does (aliased)"}


@pytest.mark.parametrize("term", ["algorithm", "C(algorithm)"])
def test_what_is_a_fixed_effect_with_a_coefficient_per_level_is_no_random_effect_too(term: str) -> None:
    found = design(nested_table(), f"hits / total ~ {term} + (1 | algorithm) + (1 | image)")
    assert [f.name for f in found.factors] == ["image"]
    assert "is a fixed effect already" in found.dropped_factors["algorithm"]


def test_a_number_may_be_a_trend_and_a_group_at_once() -> None:
    table = nested_table().with_columns(year=pl.int_range(120) % 7)
    found = design(table, "hits / total ~ year + (1 | year)")
    assert [f.name for f in found.factors] == ["year"]


@pytest.mark.parametrize(
    ("text", "what"), [("hits", "fixed effect"), ("total", "fixed effect"), ("(1 | smoke:hits)", "random effect")]
)
def test_the_outcome_cannot_explain_itself(text: str, what: str) -> None:
    with pytest.raises(TableInvalid, match=f"is both outcome and {what}"):
        design(nested_table(), f"hits / total ~ {text}")


def test_columns_beside_the_model_are_kept_and_their_gaps_counted() -> None:
    table = nested_table().with_columns(center=pl.Series([None, *["c"] * 119]))
    found = design_of(table, ModelFormula.parse("hits / total ~ smoke"), also=["center", "smoke"])
    assert found.frame.columns == ["hits", "total", "smoke", "center"]
    assert found.excluded == {"no value in center": 1}
    with pytest.raises(TableInvalid, match="'centre' does not exist; did you mean 'center'"):
        design_of(table, ModelFormula.parse("hits / total ~ smoke"), also=["centre"])


def test_weights_beyond_computing_are_refused_and_rows_are_counted_from_one() -> None:
    table = nested_table().with_columns(w=pl.lit(1e300), o=pl.Series([0.0, float("inf"), *[0.0] * 118]))
    with pytest.raises(TableInvalid, match=r"weights 'w' reach 1e\+300"):
        design(table, "hits / total ~ smoke", weights="w")
    with pytest.raises(TableInvalid, match=r"'o' has infinite entries \(first: row 2\)"):
        design(table, "hits / total ~ smoke + offset(o)")


def test_counts_may_have_a_factor_with_one_row_per_level() -> None:
    found = design(nested_table().with_columns(row=pl.int_range(120)), "hits / total ~ (1 | row)")
    assert found.factors[0].levels == 120


def test_an_interaction_factor_joins_its_labels() -> None:
    found = design(nested_table(), "hits / total ~ (1 | algorithm:patient)")
    assert found.factors[0].labels[0] == "A:p0"
    assert found.factors[0].levels == 12
