"""Odd and hostile tables: a clear error or a named fallback, never a foreign traceback."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mixed_data import RANDOM, nested_table
from mixed_predictions import predict
from surgvalid.errors import SurgvalidError, TableInvalid
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.model.formula import ModelFormula

UNITS = ["algorithm", "patient", "image", "instance"]
TABLE = nested_table(cell=0.5)
COUNTS = {"successes": "hits", "trials": "total"}


@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_the_scale_of_a_property_does_not_matter(factor: float) -> None:
    plain = fit(TABLE, f"hits / total ~ smoke + size + {RANDOM}")
    scaled = fit(
        TABLE.with_columns(size=pl.col("size") * factor + 10 * factor), f"hits / total ~ smoke + size + {RANDOM}"
    )
    assert scaled.beta[2] * factor == pytest.approx(plain.beta[2], rel=1e-4)
    assert scaled.standard_errors[2] * factor == pytest.approx(plain.standard_errors[2], rel=1e-4)
    assert scaled.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-6)
    assert scaled.convergence.converged


def test_the_restricted_likelihood_is_that_of_the_units_given() -> None:
    text = "score ~ size + (1 | image)"
    plain = fit(TABLE, text, family="gaussian")
    scaled = fit(TABLE.with_columns(size=pl.col("size") * 1e6), text, family="gaussian")
    assert scaled.log_likelihood == pytest.approx(plain.log_likelihood - np.log(1e6), abs=1e-5)


def test_a_large_mean_costs_no_digits_of_a_linear_model() -> None:
    text = "score ~ smoke + (1 | image)"
    plain = fit(TABLE, text, family="gaussian")
    moved = fit(TABLE.with_columns(score=pl.col("score") + 1e7), text, family="gaussian")
    np.testing.assert_allclose(moved.beta - [1e7, 0], plain.beta, atol=1e-5)
    np.testing.assert_allclose(moved.standard_errors, plain.standard_errors, rtol=1e-5)


def test_a_perfectly_determined_score_is_refused() -> None:
    with pytest.raises(TableInvalid, match="nothing is left to call a residual"):
        failures(TABLE.with_columns(score=3.0 * pl.col("smoke") + 1), outcome="score", fixed=["smoke"], random=UNITS)


def test_properties_that_separate_together_are_warned_of() -> None:
    table = TABLE.with_columns(a=(pl.col("hits") > pl.col("total") * 0.5).cast(pl.Int64))
    table = table.with_columns(hits=pl.col("a") * pl.col("total"), b=pl.col("a") * 2 + pl.int_range(120) % 7 / 10)
    result = failures(table, **COUNTS, fixed=["b"], random=["image"])
    assert any("separate the outcome" in warning for warning in result.warnings)


def test_negative_weights_and_nested_groups_are_refused() -> None:
    with pytest.raises(TableInvalid, match="negative in 120 rows"):
        fit(TABLE.with_columns(w=pl.lit(-1.0)), ModelFormula.parse("correct ~ smoke", weights="w"))
    with pytest.raises(TableInvalid, match="expected names or numbers of groups"):
        fit(TABLE.with_columns(g=pl.lit([1])), "correct ~ (1 | g)")


def test_an_interaction_that_is_there_already_is_not_added_again() -> None:
    result = failures(TABLE, **COUNTS, fixed=["smoke"], random=["algorithm", "image", "algorithm:image"])
    assert result.variance["group"].to_list() == ["algorithm", "image", "algorithm:image"]


def test_unseen_levels_get_the_average_effect_and_unseen_categories_are_refused() -> None:
    found = fit(TABLE, "hits / total ~ C(smoke) + (1 | algorithm) + (1 | image)")
    known = predict(found, TABLE)
    np.testing.assert_allclose(known.value, 1 / (1 + np.exp(-found.linear_predictor)), atol=1e-6)
    assert known.unseen == {}
    strange = TABLE.with_columns(algorithm=pl.lit("Z"))
    assert predict(found, strange).unseen == {"algorithm": 120}
    without = fit(TABLE, "hits / total ~ C(smoke) + (1 | algorithm) + (1 | image)").groups[0]
    own = dict(zip(without.labels, without.mean, strict=True))
    shift = np.array([own[name] for name in TABLE["algorithm"]])
    np.testing.assert_allclose(
        predict(found, strange).value, 1 / (1 + np.exp(-(found.linear_predictor - shift))), atol=1e-6
    )
    plain = predict(found, TABLE, random=False).value
    np.testing.assert_allclose(plain, 1 / (1 + np.exp(-found.fixed_predictor)), atol=1e-9)
    with pytest.raises(TableInvalid, match="does not know: 7"):
        predict(found, TABLE.with_columns(smoke=pl.lit(7)))
    with pytest.raises(TableInvalid, match="'smoke' does not exist"):
        predict(found, TABLE.drop("smoke"))


cells = st.one_of(
    st.none(), st.integers(-3, 12), st.floats(allow_nan=True, width=16), st.booleans(), st.text(max_size=2)
)


@settings(max_examples=40)
@given(st.integers(2, 12).flatmap(lambda n: st.lists(st.tuples(*[cells] * 5), min_size=n, max_size=n)))
def test_any_small_table_is_analysed_or_refused(rows: list[tuple[object, ...]]) -> None:
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("y", "n", "x", "a", "b"))}
    table = pl.DataFrame(columns, strict=False)
    for outcome in ({"successes": "y", "trials": "n"}, {"outcome": "y"}):
        try:
            failures(table, **outcome, fixed=["x"], random=["a", "b"]).as_dict()
        except SurgvalidError:
            continue
