"""Every rule by which a figure gets the title that says what is seen in it."""

from __future__ import annotations

import polars as pl

from surgvalid.report.figures import (
    buckets_title,
    effects_title,
    significance_title,
    time_title,
)


def table(names: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=names.split(), orient="row")


def test_where_the_best_model_has_fewest_right_is_named() -> None:
    rows = [("aggregation", False, 0.2), ("aggregation", False, 0.5), ("complex_reasoning", True, 0.9)]
    names = "capability ood accuracy"
    assert buckets_title(table(names, *rows)) == "Hardest: Aggregation, ID, where no model has more than 50 % right"
    assert buckets_title(table(names, *rows[:2])) == "Accuracy by capability"
    assert buckets_title(table(names, *rows[1:2], ("complex_reasoning", True, 0.5))) == "Accuracy by capability"


def test_comparisons_are_counted() -> None:
    assert significance_title(table("significant", (True,), (False,), (None,))) == (
        "1 of 3 comparisons of two models are significant"
    )


def test_who_is_late_is_named() -> None:
    rows = [("A", 0.0), ("B", 0.10), ("C", 0.07)]
    names = "model late_share"
    assert time_title(table(names, *rows), 5) == "B and C are late, after 5 s, in 5.0 % of their answers or more"
    assert time_title(table(names, *rows[:2]), 5) == "B is late, after 5 s, in 10 % of its answers"
    assert time_title(table(names, *rows[:1]), 5) == "No model is late, after 5 s, in 5.0 % of its answers or more"


def test_what_goes_with_failure_is_named_after_correction() -> None:
    names = "term symbol p_holm"
    smoke, blood = ("background_smoke[yes]", "--", 0.02), ("background_blood[yes]", "", 1.0)
    together = "What goes with failure in all models together: background smoke"
    assert effects_title(table(names, ("(Intercept)", "", None), smoke, blood)) == together
    assert effects_title(table(names, blood)) == "No property changes the outcome after correction over 1 effect"
    assert effects_title(table(names, ("light", "++", 0.01))) == "Effects of properties"
    assert effects_title(table("term symbol", ("light", "++"))) == "Effects of properties"
