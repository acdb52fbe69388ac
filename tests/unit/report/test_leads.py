"""Who leads a leaderboard: only who competes, by what, and how firmly."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from surgvalid.report.verdict.leads import Firmness, Lead, Measure, lead_of, leaderboard_leads, title_of
from surgvalid.report.wording import competitors
from surgvalid.results.reading import StoredResult
from surgvalid.schema.metric_facts import MetricFacts


def ranking(**tables: pl.DataFrame) -> StoredResult:
    return StoredResult(label="rank", kind="rank", tables=tables)


def places(*rows: tuple[str, int, int, float | None, bool]) -> pl.DataFrame:
    """Model, final rank, Copeland score, win rate in a tie, baseline."""
    frame = pl.DataFrame(rows, schema=["model", "place", "copeland", "win_rate", "baseline"], orient="row")
    return frame.with_columns(
        board=pl.lit("technical"), macro_accuracy=pl.lit(0.7), win_rate=pl.col("win_rate").cast(float)
    )


def spread(**first: float) -> pl.DataFrame:
    """How often each competitor is first."""
    rows = [("technical", model, 1.0, 3.4, share) for model, share in first.items()]
    return pl.DataFrame(rows, schema=["board", "model", "place_low", "place_high", "p_first"], orient="row")


ACCURACY = Measure(MetricFacts("correct"))


def test_an_entry_outside_the_competition_never_leads() -> None:
    table = places(
        ("prior", 1, 5, None, False), ("base", 1, 5, None, True), ("a", 1, 3, None, False), ("b", 2, 1, None, False)
    )
    part = ranking(places=table, stability=spread(a=0.9, b=0.1))
    assert competitors(part, "technical") == ["a", "b"]
    [lead] = leaderboard_leads(part)
    assert lead.models == ("a",)
    assert lead.rivals == 2
    assert title_of([lead]) == "a ranks first; how firmly was not computed"


def test_how_often_a_model_is_first_in_redraws_is_not_said_with_the_lead() -> None:
    table = places(("a", 1, 3, None, False), ("b", 2, 1, None, False))
    [lead] = leaderboard_leads(ranking(places=table, stability=spread(a=0.967, b=0.033)))
    said = f"{lead_of([lead], ACCURACY)} {title_of([lead])}"
    assert "96.7" not in said
    assert "0.967" not in said


def test_a_first_place_that_rests_on_a_tie_break_says_so() -> None:
    part = ranking(places=places(("a", 1, 2, 0.6, False), ("b", 2, 2, 0.4, False), ("c", 3, -4, None, False)))
    [lead] = leaderboard_leads(part)
    assert lead.tied == 2
    assert lead_of([lead], ACCURACY).endswith(" A tie-break decided among 2 models that were level.")


def of(*, low: dict[str, int] | None = None, shared: bool = False, gap: float | None = None, **ends: float) -> Lead:
    """The lead of model a before b and c, whose smallest possible ranks are given."""
    table = places(("a", 1, 2, None, False), ("b", 1 if shared else 2, 0, None, False), ("c", 3, -2, None, False))
    table = table.with_columns(macro_accuracy=pl.Series([0.7, 0.6, 0.5]))
    tables = {"places": table}
    if low is not None:
        rows: list[Any] = [("technical", model, rank, 0.6, 0.8) for model, rank in low.items()]
        kinds = ["board", "model", "rank_low", "macro_low", "macro_high"]
        tables["summary"] = pl.DataFrame(rows, schema=kinds, orient="row")
    if gap is not None:
        row = {"board": "technical", "model": "a", "other": "b", "gap": gap, "low": None, "high": None, **ends}
        tables["leads"] = pl.DataFrame([row], schema_overrides={"low": pl.Float64, "high": pl.Float64})
    [lead] = leaderboard_leads(ranking(**tables))
    return lead


CLEAR, OPEN = {"a": 1, "b": 2, "c": 2}, {"a": 1, "b": 1, "c": 2}
NOTHING, AGAINST = {"a": 1, "b": 1, "c": 1}, {"a": 2, "b": 1, "c": 2}


@pytest.mark.parametrize(("low", "firmness", "title"), [
    (CLEAR, Firmness.CLEAR, "a is the best of 3 models"),
    (OPEN, Firmness.OPEN, "No clear winner: a ranks first"),
    (NOTHING, Firmness.NOTHING, "No clear winner: a ranks first"),
    (AGAINST, Firmness.AGAINST, "a ranks first, but others are better on average"),
    (None, Firmness.UNKNOWN, "a ranks first; how firmly was not computed"),
])  # fmt: skip
def test_the_title_says_how_firm_the_first_rank_is(low: dict[str, int] | None, firmness: Firmness, title: str) -> None:
    lead = of(low=low)
    assert lead.firmness is firmness
    assert title_of([lead]) == title
    assert len(title) <= 60


def test_the_lead_names_who_may_be_first_too_and_where_rule_and_mean_contradict() -> None:
    assert lead_of([of(low=OPEN, gap=0.1)], ACCURACY) == (
        "a answers 70.0 % of the questions rightly (95 % interval 60.0 to 80.0 %), 10.0 points more than b."
        " With all 3 models compared at once, b may be first too."
    )
    assert lead_of([of(low=CLEAR, gap=0.1)], ACCURACY).endswith("10.0 points more than b.")
    said = lead_of([of(low=AGAINST, gap=-0.1)], ACCURACY)
    assert said.endswith(" By the mean, b may be the best and a, first by the rule, is not.")
    assert "may be first too" not in said
    several = boards(("a", AGAINST), ("c", CLEAR))
    assert lead_of(several, ACCURACY).endswith(
        "On the leaderboard 0 leaderboard, b may be the best and a, first by the rule, is not."
    )


def test_no_interval_of_one_pair_stands_beside_a_finding_about_all_models() -> None:
    said = lead_of([of(low=OPEN, gap=0.1)], ACCURACY)
    assert "points more than b (" not in said


def test_several_leaderboards_are_counted_in_one_sentence_each() -> None:
    said = lead_of(boards(("a", OPEN), ("a", NOTHING), ("b", CLEAR)), ACCURACY)
    assert (
        said == "On each, one to three of the three models may be first. a ranks first on 2 of 3; b may be first on 3."
    )
    assert lead_of(boards(("a", CLEAR), ("a", CLEAR)), ACCURACY) == (
        "On each, one model may be first. a ranks first on 2 of 2."
    )


def test_models_of_an_old_confidence_set_may_be_the_best_too() -> None:
    rows: list[Any] = [("technical", model, model in "ab") for model in "abc"]
    summary = pl.DataFrame(rows, schema=["board", "model", "in_confidence_set"], orient="row")
    table = places(("a", 1, 2, None, False), ("b", 2, 0, None, False), ("c", 3, -2, None, False))
    [lead] = leaderboard_leads(ranking(places=table, summary=summary))
    assert lead.also == ("b",)


def test_a_shared_first_place_has_no_single_accuracy() -> None:
    lead = of(shared=True, low=CLEAR)
    assert (lead.models, lead.accuracy, lead.firmness) == (("a", "b"), None, Firmness.SHARED)
    assert title_of([lead]) == "a and b share rank 1"
    assert lead_of([lead], ACCURACY).startswith("a and b have the same score by the ranking rule.")


def test_one_competitor_and_none_let_nothing_be_concluded() -> None:
    [lead] = leaderboard_leads(ranking(places=places(("a", 1, 0, None, False))))
    assert title_of([lead]) == "a competes alone"
    assert title_of([]) == "Nobody competes"
    assert title_of([lead, lead]) == "Every model competes alone"
    assert title_of([of(), of()]) == "How firm the ranks are was not computed"


@pytest.mark.parametrize(("gap", "words"), [
    (0.1, ", 10.0 points more than b."), (-0.1, ", 10.0 points less than b."), (0.0, ", exactly as much as b."),
    (None, "60.0 to 80.0 %)."),
])  # fmt: skip
def test_by_how_much_the_first_is_ahead(gap: float | None, words: str) -> None:
    assert lead_of([of(low=CLEAR, gap=gap)], ACCURACY).endswith(words)


def test_values_of_other_metrics_keep_their_unit() -> None:
    assert lead_of([of(gap=0.1)], Measure(MetricFacts("dsc"))) == "a reaches dsc 0.700, 0.100 more than b."


def boards(*leads: tuple[str, dict[str, int]]) -> list[Lead]:
    return [of(low=low)._replace(models=(name,), board=f"leaderboard {at}") for at, (name, low) in enumerate(leads)]


@pytest.mark.parametrize(("leads", "title"), [
    ([("a", CLEAR), ("a", CLEAR)], "a is the best on both leaderboards"),
    ([("a", CLEAR)] * 6, "a is the best on all six leaderboards"),
    ([("a", CLEAR), ("a", OPEN)], "a is clearly the best on 1 of 2 leaderboards"),
    ([("a", CLEAR), ("b", CLEAR), ("b", OPEN)], "a and b are each clearly the best on 1 of 3 leaderboards"),
    ([("a", OPEN), ("a", OPEN), ("b", OPEN)], "No clear winner on any of the three leaderboards"),
    ([("a", NOTHING), ("b", NOTHING)], "No clear winner on either of the two leaderboards"),
    ([("a", AGAINST), ("a", AGAINST)], "No clear winner on either of the two leaderboards"),
])  # fmt: skip
def test_one_title_for_several_leaderboards(leads: list[tuple[str, dict[str, int]]], title: str) -> None:
    assert title_of(boards(*leads)) == title
    assert len(title) <= 60


def test_a_tie_break_that_left_models_level_decided_nothing() -> None:
    part = ranking(places=places(("a", 1, 2, 0.5, False), ("b", 1, 2, 0.5, False), ("c", 3, -4, None, False)))
    [lead] = leaderboard_leads(part)
    assert title_of([lead]) == "a and b share rank 1"
    assert "tie-break" not in lead_of([lead], ACCURACY)
