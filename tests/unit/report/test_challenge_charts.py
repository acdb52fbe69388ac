import polars as pl
import pytest

from chart_examples_challenge import buckets, pairs, places, stability, summary
from chart_reading import beside, cells_of, marks_of, row_order
from ranking_tables import focus_table
from surgvalid.errors import UnknownName
from surgvalid.report.chart import Chart
from surgvalid.report.charts.leaderboard import board, significance_map
from surgvalid.stats.ranking import rank

ABC = ["A", "B", "C"]


# --- the leaderboard -------------------------------------------------------------------------------------


def test_the_board_has_the_winner_on_top_and_says_who_is_a_baseline() -> None:
    chart = board(places(ABC), stability(ABC), buckets=buckets(ABC))
    assert row_order(chart) == ["1. A", "(2.) B, baseline", "3. C"]
    assert chart.alt.startswith(
        "2 competitors and 1 baseline, technical leaderboard: final rank 1: A, macro accuracy 0.900"
    )
    assert "final ranks 1 to 2 in 95 % of resamples" in chart.alt
    assert "n = 406 questions in 4 buckets of 20 to 23 videos" in chart.caption


def test_the_board_can_do_without_stability() -> None:
    chart = board(places(ABC))
    assert [head for head, _ in chart.image.beside] == ["accuracy", "Copeland"]
    assert "resample" not in chart.alt + chart.caption


def test_another_board_can_be_asked_for_and_an_unknown_one_is_refused() -> None:
    assert board(places(ABC), group="clinical").title == "Final ranks and what they rest on, clinical leaderboard"
    assert set(board(places(ABC), group="clinical").data["board"]) == {"clinical"}
    with pytest.raises(UnknownName, match="unknown leaderboard 'clincal'; did you mean 'clinical'"):
        board(places(ABC), group="clincal")


def test_scores_on_the_board_carry_their_sign() -> None:
    assert list(beside(board(places(ABC)), "Copeland").values()) == ["+2", "0", "−2"]


# --- pairs -----------------------------------------------------------------------------------------


def test_a_cell_is_filled_where_the_row_is_significantly_better() -> None:
    chart = significance_map(pairs(ABC), summary(ABC), places(ABC))
    drawn = {pair: int(cell.text) for pair, cell in cells_of(chart).items() if cell.shade}
    table = pairs(ABC).filter(pl.col("board") == "technical", "significant", pl.col("difference") > 0)
    named = {"A": "A", "B": "B, baseline", "C": "C"}
    expected = table.group_by("model_a", "model_b").len().iter_rows()
    assert drawn == {(named[a], named[b]): count for a, b, count in expected}
    assert "Letters: A: a; B, baseline: ab; C: b" in chart.alt


def filled(chart: Chart) -> list[tuple[str, str]]:
    return [pair for pair, cell in cells_of(chart).items() if cell.shade]


def test_a_negative_difference_fills_the_cell_of_the_second_model() -> None:
    frame = pl.DataFrame({"model_a": ["A"], "model_b": ["B"], "difference": [-0.4], "significant": [True]})
    chart = significance_map(frame)
    assert filled(chart) == [("B", "A")]
    assert row_order(chart) == ["B", "A"]


def test_one_sided_pairs_of_a_task_fill_the_cell_of_the_first_model() -> None:
    frame = pl.DataFrame({"task": "t", "model_a": ["A", "B"], "model_b": ["B", "A"], "significant": [False, True]})
    assert filled(significance_map(frame)) == [("B", "A")]


def test_a_matrix_of_many_models_shows_the_first_forty_and_says_so() -> None:
    names = [f"m{at:02d}" for at in range(70)]
    chart = significance_map(pairs(names), summary(names), places(names))
    assert [row.removesuffix(", baseline") for row in row_order(chart)] == names[:40]
    assert "the first 40 of 70 models" in chart.caption


# --- all of them, on the real tables of a ranking ----------------------------------------------------


def test_every_chart_takes_the_tables_of_a_real_ranking() -> None:
    made = rank(focus_table(5), replicates=50, baselines=["B"]).tables
    charts = [
        board(made["places"], made["stability"], buckets=made["buckets"]),
        significance_map(made["pairs"], made["summary"], made["places"]),
    ]
    for chart in charts:
        assert not chart.alt.startswith("Nothing to show"), chart.name
        assert chart.csv().count("\n") == chart.data.height + 1


def test_models_named_by_numbers_survive_the_way_through_a_file() -> None:
    names = ["1", "2", "10"]
    made = {name: pl.read_csv(make(names).write_csv().encode()) for name, make in MAKERS.items()}
    assert made["places"]["model"].dtype == pl.Int64
    assert row_order(board(made["places"], made["stability"])) == ["1. 1", "(2.) 2, baseline", "3. 10"]
    charts = [
        significance_map(made["pairs"], made["summary"], made["places"]),
    ]
    assert not [chart.name for chart in charts if chart.alt.startswith("Nothing to show")]


MAKERS = {
    "places": places, "stability": stability, "buckets": buckets, "pairs": pairs,
    "summary": summary,
}  # fmt: skip


def test_the_interval_of_the_macro_accuracy_stands_on_the_board() -> None:
    result = rank(focus_table(4, seed=3), "focus", board="technical", replicates=60)
    chart = board(result.places, result.stability, summary=result.summary)
    first = result.summary.sort("place").row(0, named=True)
    assert f"({first['macro_low']:.3f} to {first['macro_high']:.3f})" in chart.alt
    assert {mark.high for _, mark in marks_of(chart)} == set(result.summary["macro_high"])
    assert {mark.high for _, mark in marks_of(board(result.places))} == {None}


def test_entries_outside_the_competition_are_marked_as_such() -> None:
    result = rank(
        focus_table(4, seed=3), "focus", board="technical", replicates=60, outside=[focus_table(4, seed=3).models[0]]
    )
    chart = board(result.places, result.stability)
    assert [row for row in row_order(chart) if row.endswith(", outside")]
    assert "3 competitors and 1 outside the competition" in chart.alt
    assert "Triangles" in chart.caption
