"""Who leads a leaderboard: only who competes, by what, and how firmly."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from surgvalid.report.sections.ranking import _with_intervals
from surgvalid.report.verdict.leads import Firmness, Lead, Measure, lead_table, leaderboard_leads, sentences, title_of
from surgvalid.report.wording import competitors, in_redraws, whole_places
from surgvalid.report.words import column_words
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
    assert sentences(lead, ACCURACY)[0] == "On the technical leaderboard, a comes first; how firmly was not computed."


def test_how_often_a_model_is_first_in_redraws_is_not_said_with_the_lead() -> None:
    table = places(("a", 1, 3, None, False), ("b", 2, 1, None, False))
    [lead] = leaderboard_leads(ranking(places=table, stability=spread(a=0.967, b=0.033)))
    said = f"{sentences(lead, ACCURACY)} {lead_table([lead], ACCURACY).to_dicts()} {title_of([lead])}"
    assert "96.7" not in said
    assert "0.967" not in said
    assert in_redraws(spread(a=0.967))["p_first"].to_list() == [97]
    assert column_words("p_first") == "times first in 100 redraws"


def test_a_first_place_that_rests_on_a_tie_break_says_so() -> None:
    part = ranking(places=places(("a", 1, 2, 0.6, False), ("b", 2, 2, 0.4, False), ("c", 3, -4, None, False)))
    [lead] = leaderboard_leads(part)
    assert lead.tied == 2
    assert "The tie-break decided among 2 models that were level." in sentences(lead, ACCURACY)[0]


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
    (OPEN, Firmness.OPEN, "a comes first, but with all models compared at once b may be as good or better"),
    (NOTHING, Firmness.NOTHING, "a comes first, but which model does better is open"),
    (AGAINST, Firmness.AGAINST, "a comes first by the ranking rule, although b is significantly better on average"),
    (None, Firmness.UNKNOWN, "a comes first; how firmly was not computed"),
])  # fmt: skip
def test_the_title_says_how_firm_the_first_place_is(low: dict[str, int] | None, firmness: Firmness, title: str) -> None:
    lead = of(low=low)
    assert lead.firmness is firmness
    assert title_of([lead]) == title
    assert sentences(lead, ACCURACY)[0] == f"On the technical leaderboard, {title}."


def test_models_of_an_old_confidence_set_may_be_the_best_too() -> None:
    rows: list[Any] = [("technical", model, model in "ab") for model in "abc"]
    summary = pl.DataFrame(rows, schema=["board", "model", "in_confidence_set"], orient="row")
    table = places(("a", 1, 2, None, False), ("b", 2, 0, None, False), ("c", 3, -2, None, False))
    [lead] = leaderboard_leads(ranking(places=table, summary=summary))
    assert lead.also == ("b",)


def test_a_shared_first_place_has_no_single_accuracy() -> None:
    lead = of(shared=True, low=CLEAR)
    assert (lead.models, lead.accuracy, lead.firmness) == (("a", "b"), None, Firmness.SHARED)
    assert title_of([lead]) == "a and b share final rank 1"
    assert len(sentences(lead, ACCURACY)) == 1


def test_one_competitor_and_none_let_nothing_be_concluded() -> None:
    [lead] = leaderboard_leads(ranking(places=places(("a", 1, 0, None, False))))
    assert title_of([lead]) == "a competes alone, without a model to compare with"
    assert title_of([]) == "Nobody competes"


@pytest.mark.parametrize(("options", "words"), [
    ({"gap": 0.1, "low": -0.05, "high": 0.25},
     ", 10.0 points more than b (95 % interval -5.0 to 25.0 for this pair alone)."),
    ({"gap": -0.1, "low": -0.25, "high": 0.05},
     ", 10.0 points less than b (95 % interval -5.0 to 25.0 for this pair alone)."),
    ({"gap": 0.1}, ", 10.0 points more than b; so few videos carry no interval of the difference."),
    ({"gap": 0.0}, ", exactly as much as b."),
    ({}, "counts the same."),
])  # fmt: skip
def test_by_how_much_the_first_is_ahead(options: dict[str, Any], words: str) -> None:
    ends = {name: value for name, value in options.items() if name != "gap"}
    lead = of(**{key: value for key, value in options.items() if key == "gap"})
    lead = lead._replace(low=0.6, high=0.8, gap_low=ends.get("low"), gap_high=ends.get("high"))
    said = sentences(lead, ACCURACY)[1]
    assert said.startswith("a answers 70.0 % of the questions rightly (95 % interval 60.0 to 80.0 %), where every kind")
    assert said.endswith(words)


def test_values_of_other_metrics_keep_their_unit() -> None:
    lead = of(gap=0.1)._replace(gap_low=0.05, gap_high=0.15)
    said = sentences(lead, Measure(MetricFacts("dsc")))[1]
    assert said == (
        "a reaches dsc 0.700, where every kind of question counts the same, 0.100 more than b (95 % interval 0.050 to"
        " 0.150 for this pair alone)."
    )


def boards(*leads: tuple[str, dict[str, int]]) -> list[Lead]:
    return [of(low=low)._replace(models=(name,), board=f"leaderboard {at}") for at, (name, low) in enumerate(leads)]


@pytest.mark.parametrize(("leads", "title"), [
    ([("a", CLEAR), ("a", CLEAR)], "a comes first on both leaderboards; every lead is clear"),
    ([("a", CLEAR), ("a", OPEN)], "a comes first on both leaderboards; one lead is clear"),
    ([("a", CLEAR), ("a", CLEAR), ("b", OPEN)], "a comes first on 2 of 3 leaderboards; 2 leads are clear"),
    ([("a", OPEN), ("a", OPEN), ("b", OPEN)], "a comes first on 2 of 3 leaderboards; no lead is clear"),
    ([("a", OPEN), ("b", OPEN)], "No model leads: a and b come first on 1 of 2 leaderboards each; no lead is clear"),
    ([("a", NOTHING), ("a", NOTHING)],
     "a comes first on both leaderboards, but which model does better is open"),
])  # fmt: skip
def test_one_title_for_several_boards(leads: list[tuple[str, dict[str, int]]], title: str) -> None:
    assert title_of(boards(*leads)) == title


def test_the_table_of_leads_says_the_same_in_few_words() -> None:
    leads = [
        of(low=OPEN, gap=0.1)._replace(track="frame", gap_low=-0.05, gap_high=0.25),
        of(low=NOTHING),
        of(low=CLEAR),
    ]
    rows = lead_table(leads, ACCURACY).to_dicts()
    assert rows[0] == {
        "track": "frame", "board": "technical", "first": "a", "value": "70.0 % (60.0 to 80.0 %)",
        "ahead": "10.0 points ahead of b (-5.0 to 25.0)", "also": "b",
    }  # fmt: skip
    assert [row["also"] for row in rows[1:]] == ["every other model", "nobody else"]
    behind = of(gap=-0.1)._replace(gap_low=-0.25, gap_high=0.05)
    assert lead_table([behind], ACCURACY)["ahead"][0] == "10.0 points behind b (-5.0 to 25.0)"
    assert "track" not in lead_table([behind], ACCURACY).columns


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
    found = _with_intervals(pairs.cast(kind), differences.cast(kind))
    assert found.select("low", "high").rows() == [(-0.4, -0.1), (0.2, 0.5)]


def test_models_that_share_every_first_place_leave_nothing_to_conclude() -> None:
    shared = of(shared=True)._replace(rivals=2)
    assert (
        title_of([shared, shared])
        == "a and b share final rank 1 on both leaderboards, but which model does better is open"
    )
    assert (
        title_of([shared._replace(rivals=3)] * 3)
        == "a and b share final rank 1 on all 3 leaderboards; no lead is clear"
    )
    assert title_of([of(low=CLEAR)] * 2) == "a comes first on both leaderboards; every lead is clear"


def test_a_tie_break_that_left_models_level_decided_nothing() -> None:
    part = ranking(places=places(("a", 1, 2, 0.5, False), ("b", 1, 2, 0.5, False), ("c", 3, -4, None, False)))
    [lead] = leaderboard_leads(part)
    assert sentences(lead, ACCURACY) == ["On the technical leaderboard, a and b share final rank 1."]
