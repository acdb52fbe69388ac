"""Who leads a board: only who competes, by what, and how firmly."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from surgeval.report.sections import significance
from surgeval.report.sections._leaders import leader_table, leaders
from surgeval.report.sections._wording import competitors, whole_places
from surgeval.results.reading import StoredResult


def ranking(**tables: pl.DataFrame) -> StoredResult:
    return StoredResult(label="rank", kind="rank", tables=tables)


def places(*rows: tuple[str, int, int, float | None, bool]) -> pl.DataFrame:
    """Model, place, Copeland score, win rate in a tie, baseline."""
    frame = pl.DataFrame(rows, schema=["model", "place", "copeland", "win_rate", "baseline"], orient="row")
    return frame.with_columns(
        board=pl.lit("technical"), macro_accuracy=pl.lit(0.7), win_rate=pl.col("win_rate").cast(float)
    )


def spread(**first: float) -> pl.DataFrame:
    """How often each competitor is first."""
    rows = [("technical", model, 1.0, 3.4, share) for model, share in first.items()]
    return pl.DataFrame(rows, schema=["board", "model", "place_low", "place_high", "p_first"], orient="row")


def test_an_entry_outside_the_competition_never_leads() -> None:
    table = places(
        ("prior", 1, 5, None, False), ("base", 1, 5, None, True), ("a", 1, 3, None, False), ("b", 2, 1, None, False)
    )
    part = ranking(places=table, stability=spread(a=0.9, b=0.1))
    assert competitors(part, "technical") == ["a", "b"]
    [found] = leaders(part)
    assert found.models == ("a",)
    assert found.sentence == (
        "On the technical board a leads; where whole videos are drawn again it is first in 90 % of the draws."
    )


def test_a_first_place_that_rests_on_a_tie_break_says_so() -> None:
    part = ranking(places=places(("a", 1, 2, 0.6, False), ("b", 2, 2, 0.4, False), ("c", 3, -4, None, False)))
    [found] = leaders(part)
    assert found.tied == 2
    assert "by tie-break, 2 models having the same Copeland score" in found.sentence


@pytest.mark.parametrize(("inside", "words"), [
    (("a",), "all others can be told apart from the best"), (("a", "b"), "1 more cannot be told apart from the best"),
])  # fmt: skip
def test_who_cannot_be_told_apart_from_the_best_is_counted(inside: tuple[str, ...], words: str) -> None:
    rows: list[Any] = [("technical", model, model in inside, 0.6, 0.8) for model in "ab"]
    kinds = ["board", "model", "in_confidence_set", "macro_low", "macro_high"]
    summary = pl.DataFrame(rows, schema=kinds, orient="row")
    part = ranking(places=places(("a", 1, 1, None, False), ("b", 2, -1, None, False)), summary=summary)
    [found] = leaders(part)
    assert words in found.sentence
    row = leader_table([("frame", found)]).row(0, named=True)
    assert (row["leader"], row["macro_low"], row["decided_by"]) == ("a", 0.6, "Copeland")
    assert row["not_told_apart"] == ("nobody" if len(inside) == 1 else "b")


@pytest.mark.parametrize(("low", "words"), [
    ((1, 2), "all others can be told apart from the best"), ((1, 1), "1 more cannot be told apart from the best"),
    ((2, 1), "by macro accuracy over all buckets b is significantly better"),
])  # fmt: skip
def test_sets_of_ranks_say_who_may_be_the_best_before_any_confidence_set(low: tuple[int, ...], words: str) -> None:
    rows: list[Any] = [("technical", model, rank, None) for model, rank in zip("ab", low, strict=True)]
    summary = pl.DataFrame(rows, schema=["board", "model", "rank_low", "in_confidence_set"], orient="row")
    part = ranking(places=places(("a", 1, 1, None, False), ("b", 2, -1, None, False)), summary=summary)
    [found] = leaders(part)
    assert words in found.sentence


def test_a_shared_first_place_has_no_single_accuracy() -> None:
    [found] = leaders(ranking(places=places(("a", 1, 1, None, False), ("b", 1, 1, None, False))))
    assert (found.models, found.accuracy, found.first_share) == (("a", "b"), None, None)
    assert "lead together" in found.sentence


def test_ranges_of_places_are_whole_places() -> None:
    assert whole_places(spread(a=1.0)).select("place_low", "place_high").row(0) == (1.0, 4.0)


def test_a_pair_finds_its_interval_whichever_model_is_named_first() -> None:
    keys = {"board": "technical", "capability": "aggregation", "ood": None}
    pairs = pl.DataFrame([
        {**keys, "model_a": "b", "model_b": "a", "difference": -0.2, "p_value": 0.01, "p_adjusted": 0.02,
         "significant": True},
        {**keys, "model_a": "a", "model_b": "c", "difference": 0.3, "p_value": 0.01, "p_adjusted": 0.03,
         "significant": True},
    ])  # fmt: skip
    differences = pl.DataFrame([
        {**keys, "model_a": "a", "model_b": "b", "difference": 0.2, "low": 0.1, "high": 0.4},
        {**keys, "model_a": "a", "model_b": "c", "difference": 0.3, "low": 0.2, "high": 0.5},
    ])  # fmt: skip
    kind = {"ood": pl.Boolean}
    found = significance._with_intervals(pairs.cast(kind), differences.cast(kind))
    assert found.select("low", "high").rows() == [(-0.4, -0.1), (0.2, 0.5)]
