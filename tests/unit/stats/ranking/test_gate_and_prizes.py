import numpy as np
import polars as pl
import pytest

from ranking_tables import focus_frame, focus_table
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.ranking import rank
from surgvalid.stats.ranking._focus.gate import prizes


def paid(place: list[int], *, above: list[bool] | None = None, unpaid: tuple[str, ...] = (), pool: float = 100.0):
    names = [chr(65 + i) for i in range(len(place))]
    frame, notes = prizes("technical", names, np.array(place), np.array(above or [True] * len(place)), unpaid, pool)
    return dict(zip(frame["model"], frame["amount"], strict=True)), notes, frame


def test_the_first_three_get_half_three_tenths_and_a_fifth() -> None:
    amounts, notes, _ = paid([1, 2, 3, 4])
    assert amounts == {"A": 50.0, "B": 30.0, "C": 20.0, "D": 0.0}
    assert notes == []


def test_tied_models_share_what_their_places_earn_together() -> None:
    assert paid([1, 1, 3])[0] == {"A": 40.0, "B": 40.0, "C": 20.0}
    assert paid([1, 2, 2, 2])[0] == {"A": 50.0, "B": 16.66, "C": 16.66, "D": 16.66}
    assert paid([3, 1, 1, 3])[0] == {"B": 40.0, "C": 40.0, "A": 10.0, "D": 10.0}


def test_places_are_counted_among_those_who_may_be_paid() -> None:
    amounts, _, frame = paid([1, 2, 3, 4], above=[True, False, True, True], unpaid=("A",))
    assert amounts == {"A": 0.0, "B": 0.0, "C": 50.0, "D": 30.0}
    reasons = dict(zip(frame["model"], frame["reason"], strict=True))
    assert reasons["A"] == "excluded from prizes"
    assert reasons["B"] == "not above every baseline on this leaderboard"
    assert reasons["C"] == "award final rank 1"


def test_what_is_not_paid_out_is_said() -> None:
    _, notes, _ = paid([1, 2], pool=99.99)
    assert [finding.text for finding in notes] == ["technical leaderboard: 20.01 of the pool of 99.99 is not paid out"]


@pytest.mark.parametrize("pool", [0.0, 0.03, 1234.56, 20000.0])
def test_never_more_than_the_pool_is_paid(pool: float) -> None:
    for place in ([1, 1, 1], [1, 2, 2], [1, 1, 3], [1, 2, 3]):
        assert sum(paid(place, pool=pool)[0].values()) <= pool + 1e-9


def test_the_gate_needs_one_board_above_every_baseline() -> None:
    result = rank(focus_table(5, gap=3.0, seed=2), baselines=["D", "E"], replicates=50)
    gate = result.records["gate"]
    assert gate["applies"]
    assert gate["baselines"] == ["D", "E"]
    assert {m: g["passes"] for m, g in gate["models"].items()} == {"A": True, "B": True, "C": True}
    evidence = result.gate_evidence
    assert evidence.height == 2 * 3 * 2
    assert (evidence["low"] <= evidence["gap"]).all()
    assert (evidence["gap"] <= evidence["high"]).all()
    assert (evidence["above"] == (evidence["macro_accuracy"] > evidence["baseline_macro_accuracy"])).all()


def test_a_model_equal_to_a_baseline_does_not_pass() -> None:
    frame = focus_frame(3, gap=0.0, seed=3)
    copy = frame.filter(frame["model"] == "A").with_columns(model=pl.lit("Z"))
    both = pl.concat([frame.filter(pl.col("model").is_in(["A", "B"])), copy])
    gate = rank(both, baselines=["Z"], replicates=0).records["gate"]
    assert not gate["models"]["A"]["passes"]


def test_without_baselines_the_gate_does_not_apply() -> None:
    assert rank(focus_table(3), replicates=0).records["gate"]["applies"] is False


def test_baselines_stand_outside_with_the_place_they_would_take() -> None:
    table = focus_table(5, gap=4.0, seed=4)
    alone = rank(without(table, "B"), board="technical", replicates=50)
    result = rank(table, board="technical", baselines=["B"], replicates=50)
    competitors = result.places.filter(~result.places["baseline"]).drop("baseline")
    assert competitors.equals(alone.places.drop("baseline"))
    baseline = result.places.filter(result.places["baseline"]).row(0, named=True)
    full = rank(table, board="technical", replicates=50).places
    assert baseline["copeland"] == full.filter(full["model"] == "B")["copeland"][0]
    assert baseline["win_rate"] is None
    pairs = result.pairs
    assert pairs.filter(pairs["model_b"] == "B").height == 4 * 4
    own = alone.pairs
    assert pairs.filter(pairs["model_b"] != "B").equals(own)


def without(table: ScoreTable, model: str) -> ScoreTable:
    return ScoreTable.of(table.frame.filter(table.frame["model"] != model))


def test_entries_outside_are_no_baselines() -> None:
    result = rank(focus_table(4), outside=["A"], replicates=0, board="technical")
    row = result.places.filter(result.places["model"] == "A").row(0, named=True)
    assert row["baseline"] is False
    assert "A" not in result.sensitivity["model"].to_list()


def test_unknown_baselines_and_an_empty_field_are_refused() -> None:
    with pytest.raises(UnknownName, match=r"model \(given as baseline\) 'Q'"):
        rank(focus_table(3), baselines=["Q"], replicates=0)
    with pytest.raises(Misuse, match="nobody is left to rank"):
        rank(focus_table(2), baselines=["A", "B"], replicates=0)


def test_one_competitor_among_baselines_is_first() -> None:
    result = rank(focus_table(3, gap=3.0), baselines=["B", "C"], replicates=20, prize_pool=10)
    first = result.places.filter(result.places["model"] == "A")
    assert first["place"].to_list() == [1, 1]
    assert result.prizes["amount"].to_list() == [5.0, 5.0]
