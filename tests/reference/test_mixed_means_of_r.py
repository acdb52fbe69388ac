"""Marginal means, contrasts, joint tests and averages over the data against stored values of emmeans."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from mixed_data import stored_inference as stored
from mixed_predictions import means_table, slopes_over
from surgvalid.stats.mixed.fit.fit import fit
from surgvalid.stats.mixed.fit.result import MixedFit
from surgvalid.stats.mixed.inference.grid import Means, emm, joint_test
from surgvalid.stats.mixed.inference.marginal import averaged

FORMULAS = {
    "set1_counts": ("hits / trials ~ A*B + A*size + (1 | video) + (1 | row)", "binomial"),
    "set2_binary": ("correct ~ phase + smoke + size + model + (1 | video)", "binomial"),
    "set3_gaussian": ("score ~ A*size + w + (1 | video)", "gaussian"),
}


def fitted(name: str) -> tuple[MixedFit, dict[str, Any]]:
    table, reference = stored(name)
    formula, family = FORMULAS[name]
    return fit(table, formula, family=family), reference  # type: ignore[arg-type]


def close(
    table: pl.DataFrame, reference: list[dict[str, Any]], ours: str, theirs: str, *, tolerance: float = 1e-4
) -> None:
    np.testing.assert_allclose(table[ours], [row[theirs] for row in reference], atol=tolerance)
    np.testing.assert_allclose(table["std_error"], [row["SE"] for row in reference], atol=tolerance)


def test_means_of_a_factor_with_an_interaction_equal_those_of_emmeans() -> None:
    found, reference = fitted("set1_counts")
    close(means_table(emm(found, "A"), ["A"]), reference["A_link_equal"], "mean", "emmean")


def test_means_of_combinations_and_at_values_equal_those_of_emmeans() -> None:
    found, reference = fitted("set1_counts")
    both = means_table(emm(found, ["A", "B"]), ["A", "B"]).sort("B", "A")
    close(both, reference["AB_link"], "mean", "emmean")
    sized = means_table(emm(found, ["A", "size"], at={"size": [1.0, 3.0, 5.0]}), ["A", "size"]).sort("size", "A")
    close(sized, reference["A_at_size"], "mean", "emmean")


@pytest.mark.parametrize("df", [None, 7.0])
def test_pairs_equal_those_of_emmeans(df: float | None) -> None:
    found, reference = fitted("set1_counts")
    table = emm(found, "A").pairs(df=df or float("inf"))
    expected = reference["A_pairs_tukey" + ("_df7" if df else "")]
    close(table, expected, "estimate", "estimate")
    ends = ("lower.CL", "upper.CL") if df else ("asymp.LCL", "asymp.UCL")
    for ours, theirs in zip(("p_value", "low", "high"), ("p.value", *ends), strict=True):
        np.testing.assert_allclose(table[ours], [row[theirs] for row in expected], atol=2e-4)


def test_slopes_per_level_equal_the_trends_of_emmeans() -> None:
    found, reference = fitted("set1_counts")
    trends = slopes_over(found, "size", "A")
    close(means_table(trends, ["A"], is_slope=True), reference["size_trend_by_A"], "mean", "size.trend")
    close(trends.pairs(), reference["size_trend_pairs"], "estimate", "estimate")


def test_differences_of_differences_equal_those_of_emmeans() -> None:
    found, reference = fitted("set1_counts")
    means = emm(found, ["A", "B"]).linear.reshape(3, 2, -1)
    apart = means[:, 0] - means[:, 1]
    rows = np.array([apart[a] - apart[b] for a, b in ((0, 1), (0, 2), (1, 2))])
    table = means_table(Means((("ab",), ("ac",), ("bc",)), rows, found), ["pair"], is_slope=True)
    close(table, reference["interaction_contrast"], "mean", "estimate")


def test_joint_tests_equal_those_of_emmeans() -> None:
    found, reference = fitted("set1_counts")
    for term in ("A", "B"):
        test = joint_test(found, term)
        assert test.rank * test.statistic == pytest.approx(reference[f"joint_{term}_exact"]["chi2"], rel=1e-4)
    for row in reference["joint_tests"]:
        assert joint_test(found, row["model term"]).statistic == pytest.approx(row["F.ratio"], abs=6e-4)


def test_joint_tests_of_a_linear_model_are_at_the_mean_and_not_at_zero() -> None:
    found, reference = fitted("set3_gaussian")
    for row in reference["joint_tests_satterthwaite"]:
        test = joint_test(found, row["model term"], df=row["df2"])
        assert test.statistic == pytest.approx(row["F.ratio"], abs=6e-4)
        assert test.rank == row["df1"]
    close(means_table(emm(found, "A"), ["A"]), reference["A_equal"], "mean", "emmean", tolerance=1e-5)
    close(means_table(emm(found, "w"), ["w"]), reference["w"], "mean", "emmean", tolerance=1e-5)


@pytest.mark.parametrize("name", ["phase", "smoke"])
@pytest.mark.parametrize("scale", ["conditional", "population"])
def test_averages_over_the_data_equal_those_of_r(name: str, scale: str) -> None:
    found, reference = fitted("set2_binary")
    expected = reference[f"gcomp_{name}"][scale]
    levels = [row["level"] if name == "phase" else float(row["level"]) for row in expected["mean"]]
    means, spread = averaged(found, name, levels, population=scale == "population")
    np.testing.assert_allclose(means, [row["mean"] for row in expected["mean"]], atol=1e-5)
    np.testing.assert_allclose(spread, np.array(expected["cov"]), atol=1e-5)


def test_four_phases_equal_those_of_emmeans() -> None:
    found, reference = fitted("set2_binary")
    close(means_table(emm(found, "phase"), ["phase"]), reference["phase_link_equal"], "mean", "emmean")
    close(emm(found, "phase").pairs(), reference["phase_pairs_tukey"], "estimate", "estimate")
