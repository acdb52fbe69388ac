"""Every rule by which a figure gets the title that says what is seen in it."""

from __future__ import annotations

import polars as pl
import pytest

from surgvalid.report.figures import (
    board_title,
    buckets_title,
    effects_title,
    reach_title,
    significance_title,
    time_title,
)


def table(names: str, *rows: tuple[object, ...]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=names.split(), orient="row")


@pytest.mark.parametrize(
    ("rows", "larger", "title"),
    [
        ([("A", 0.7), ("B", 0.6)], True, "A reaches most"),
        ([("A", 0.7), ("B", 0.7), ("C", 0.1)], True, "A and B reach most"),
        ([("A", 3.0), ("B", 2.0)], False, "B has the smallest value"),
        ([("A", 2.0), ("B", 2.0), ("C", 3.0)], False, "A and B have the smallest value"),
        ([("A", 2.0), ("B", 2.0)], False, "What each model reaches"),
        ([("A", 0.7), ("B", 0.6)], None, "What each model reaches"),
        ([("A", 0.7), ("B", None)], True, "What each model reaches"),
    ],
)
def test_who_has_the_best_value_is_named(rows: list[tuple[object, ...]], larger: bool | None, title: str) -> None:
    assert reach_title(table("model value", *rows), larger=larger) == title


@pytest.mark.parametrize(
    ("rows", "larger", "title"),
    [
        ([("A", 0.7, 0.65, 0.75), ("B", 0.6, 0.55, 0.65)], True, "A reaches most"),
        ([("A", 0.7, 0.65, 0.75), ("B", 0.6, 0.45, 0.72)], True, "What each model reaches"),
        ([("A", 3.0, 2.5, 3.5), ("B", 2.0, 1.0, 3.0)], False, "B has the smallest value"),
        ([("A", 3.0, 1.5, 3.5), ("B", 2.0, 1.0, 3.0)], False, "What each model reaches"),
    ],
)
def test_nobody_is_named_where_another_interval_reaches_the_best_value(
    rows: list[tuple[object, ...]], larger: bool, title: str
) -> None:
    assert reach_title(table("model value low high", *rows), larger=larger) == title


def test_who_has_the_best_value_is_named_panel_by_panel() -> None:
    rows = [("A", 0.7, "frame"), ("B", 0.6, "frame"), ("A", 0.8, "segment"), ("A", 0.2, "video"), ("B", 0.3, "video")]
    assert reach_title(table("model value panel", *rows)) == "A reaches most on frame and segment; B on video"
    tied = [*rows, ("B", 0.8, "segment")]
    assert reach_title(table("model value panel", *tied)) == "What each model reaches"


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([("A", 1, 1.0, 3.0), ("B", 2, 1.0, 4.0)], "A comes first (final rank 1 to 3 when videos are redrawn)"),
        ([("A", 1, 1.0, 1.0), ("B", 2, 2.0, 2.0)], "A comes first, also in redraws"),
        ([("A", 1, 1.0, 2.0), ("B", 1, 1.0, 2.0)], "A and B share final rank 1"),
        ([("A", 1, None, None), ("B", 2, None, None)], "A comes first"),
        ([("baseline", 1, 1.0, 1.0), ("B", 2, 2.0, 2.0)], "B comes first, also in redraws"),
        ([("baseline", 1, 1.0, 1.0)], "Final ranks and what they rest on"),
    ],
)
def test_who_comes_first_is_named(rows: list[tuple[object, ...]], title: str) -> None:
    frame = pl.DataFrame(rows, schema=["model", "place", "place_low", "place_high"], orient="row", strict=False)
    assert board_title(frame, ["A", "B"]) == title


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
