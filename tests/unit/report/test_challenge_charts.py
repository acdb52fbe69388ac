import polars as pl
import pytest

from chart_examples_challenge import pairs, places, summary
from chart_reading import cells_of, row_order
from ranking_tables import focus_table
from surgvalid.errors import UnknownName
from surgvalid.report.chart import Chart
from surgvalid.report.charts.leaderboard import significance_map
from surgvalid.stats.ranking import rank

ABC = ["A", "B", "C"]


def test_another_leaderboard_can_be_asked_for_and_an_unknown_one_is_refused() -> None:
    assert set(significance_map(pairs(ABC), group="clinical").data["board"]) == {"clinical"}
    with pytest.raises(UnknownName, match="unknown leaderboard 'clincal'; did you mean 'clinical'"):
        significance_map(pairs(ABC), group="clincal")


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


# --- on the real tables of a ranking ----------------------------------------------------


def test_the_matrix_takes_the_tables_of_a_real_ranking() -> None:
    made = rank(focus_table(5), replicates=50, baselines=["B"]).tables
    chart = significance_map(made["pairs"], made["summary"], made["places"])
    assert not chart.alt.startswith("Nothing to show")
    assert chart.csv().count("\n") == chart.data.height + 1


def test_models_named_by_numbers_survive_the_way_through_a_file() -> None:
    names = ["1", "2", "10"]
    made = {name: pl.read_csv(make(names).write_csv().encode()) for name, make in MAKERS.items()}
    assert made["places"]["model"].dtype == pl.Int64
    chart = significance_map(made["pairs"], made["summary"], made["places"])
    assert row_order(chart) == ["1", "2, baseline", "10"]


MAKERS = {"places": places, "pairs": pairs, "summary": summary}
