import polars as pl
import pytest

from chart_examples_challenge import buckets, dominance, pairs, place_shares, places, sensitivity, stability, summary
from chart_rows import row_order, rows_with
from ranking_tables import focus_table
from surgeval.errors import UnknownName
from surgeval.report.charts import CHARTS
from surgeval.report.charts.board import board
from surgeval.report.charts.buckets import FLOOR_ROW, SIZE_ROW, bucket_matrix
from surgeval.report.charts.differences import ROWS, pair_differences
from surgeval.report.charts.pairs import dominance_matrix, significance_map
from surgeval.report.charts.places import place_frequencies, places_by_rule
from surgeval.report.charts.places import place_shares as place_shares_chart
from surgeval.report.charts.podium import podium, ranking_heat_map
from surgeval.stats.ranking import rank

ABC = ["A", "B", "C"]


# --- the board -------------------------------------------------------------------------------------


def test_the_board_has_the_winner_on_top_and_says_who_is_a_baseline() -> None:
    chart = board(places(ABC), stability(ABC), buckets=buckets(ABC))
    assert row_order(chart) == ["1. A", "(2.) B, baseline", "3. C"]
    assert chart.alt.startswith("2 competitors and 1 baseline, technical board: place 1: A, macro accuracy 0.900")
    assert "places 1 to 2 in 95 % of resamples" in chart.alt
    assert "n = 406 questions in 4 buckets of 20 to 23 videos" in chart.caption


def test_every_panel_of_the_board_has_its_rows_in_the_same_order() -> None:
    chart = board(places(ABC), stability(ABC))
    orders = [layer["encoding"]["y"]["scale"]["domain"] for panel in chart.spec["hconcat"] for layer in panel["layer"]]
    assert all(order == row_order(chart) for order in orders)


def test_the_board_can_do_without_stability() -> None:
    chart = board(places(ABC))
    assert len(chart.spec["hconcat"]) == 2
    assert "resample" not in chart.alt + chart.caption


def test_another_board_can_be_asked_for_and_an_unknown_one_is_refused() -> None:
    assert board(places(ABC), group="clinical").title == "Places and what they rest on, clinical board"
    assert set(board(places(ABC), group="clinical").data["board"]) == {"clinical"}
    with pytest.raises(UnknownName, match="unknown board 'clincal'; did you mean 'clinical'"):
        board(places(ABC), group="clincal")


def test_scores_on_the_board_carry_their_sign() -> None:
    assert [row["net"] for row in rows_with(board(places(ABC)), "net")] == ["+2", "0", "−2"]


# --- places ----------------------------------------------------------------------------------------


def test_circles_have_the_shares_of_the_table_and_crosses_the_actual_places() -> None:
    chart = place_frequencies(place_shares(ABC), stability(ABC), places(ABC), evidence="500 resamples of 20 videos")
    drawn = {(row["label"], row["place"]): row["share"] for row in rows_with(chart, "share")}
    assert drawn == {("A", 1): 0.8, ("A", 2): 0.2, ("B", 2): 0.8, ("B", 3): 0.2, ("C", 3): 0.8, ("C", 4): 0.2}
    crosses = [layer for layer in chart.spec["layer"] if layer["mark"].get("shape") == "cross"]
    assert len(crosses) == 1
    assert "First place: A in 80.0%" in chart.alt
    assert "A: 1 to 2" in chart.alt
    assert "500 resamples of 20 videos" in chart.caption


def test_ranks_in_a_task_are_drawn_like_places() -> None:
    shares = place_shares(ABC).rename({"board": "task", "place": "rank"})
    spread = stability(ABC).rename({"board": "task", "place_low": "rank_low", "place_high": "rank_high"})
    chart = place_frequencies(shares, spread, group="clinical")
    assert chart.title.endswith(", task clinical")
    assert rows_with(chart, "place_low")[0]["place_high"] == 2.0


def test_without_places_crosses_are_medians_where_the_table_has_them() -> None:
    shares = place_shares(ABC).rename({"board": "task", "place": "rank"})
    spread = stability(ABC).rename({"board": "task", "place_low": "rank_low", "place_high": "rank_high"})
    chart = place_frequencies(shares, spread.with_columns(median_rank=1.5))
    cross = next(layer for layer in chart.spec["layer"] if layer["mark"].get("shape") == "cross")
    assert cross["encoding"]["x"]["field"] == "place"
    assert {row["place"] for row in chart.spec["datasets"][cross["data"]["name"]]} == {1.5}
    assert "Crosses: the median" in chart.caption


def test_without_places_the_rows_are_ordered_by_mean_place() -> None:
    assert row_order(place_frequencies(place_shares(ABC).reverse())) == ABC


def test_stacked_pieces_of_a_model_add_up_to_one_and_bands_grow_coarser() -> None:
    names = [f"m{at:02d}" for at in range(12)]
    chart = place_shares_chart(place_shares(names), places(names))
    pieces = pl.DataFrame(rows_with(chart, "places"))
    assert pieces.group_by("label").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 12)
    assert chart.spec["encoding"]["color"]["scale"]["domain"] == ["1", "2", "3", "4 to 5", "6 to 10", "11 to 13"]
    assert {row["places"] for row in rows_with(chart, "places") if row["label"] == "m05"} == {"6 to 10"}


def test_equal_places_stand_one_under_the_other_and_movers_are_named() -> None:
    chart = places_by_rule(sensitivity(["A", "B", "C", "D"]))
    wins = {row["label"]: (row["place"], row["slot"]) for row in rows_with(chart, "slot") if row["rule"] == "wins"}
    assert wins == {"A": (1, 1), "B": (1, 2), "C": (3, 3), "D": (3, 4)}
    assert "4 of the models move: A: 1 to 4; D: 1 to 4" in chart.alt


def test_rules_that_agree_are_said_to_agree() -> None:
    same = pl.DataFrame({"model": ["A", "B"], "mean": [1, 2], "median": [1, 2]})
    assert "no place depends on the rule" in places_by_rule(same).alt


# --- podium and heat map ---------------------------------------------------------------------------


def test_the_podium_shows_ten_models_and_says_so() -> None:
    names = [f"m{at:02d}" for at in range(30)]
    chart = podium(buckets(names), places(names))
    assert {row["model"] for row in rows_with(chart, "position", "value")} == set(names[:10])
    assert "the first 10 of 30 models" in chart.caption
    assert set(chart.data["model"]) == set(names)


def test_positions_on_the_podium_follow_the_values_and_ties_share_the_better_one() -> None:
    table = buckets(ABC).with_columns(accuracy=pl.when(pl.col("model") == "A").then(0.5).otherwise(0.7))
    chart = podium(table, places(ABC))
    assert {(row["model"], row["position"]) for row in rows_with(chart, "position", "value")} == {
        ("A", 3), ("B", 1), ("C", 1),
    }  # fmt: skip
    assert "First position: B, baseline in 4; C in 4" in chart.alt


def test_tasks_where_small_is_good_stand_by_their_rank() -> None:
    ranks = pl.DataFrame({"task": ["t", "t"], "model": ["A", "B"], "value": [9.0, 2.0], "rank": [2, 1]})
    assert "First position: B in 1" in podium(ranks).alt


def test_cells_of_the_heat_map_count_buckets() -> None:
    chart = ranking_heat_map(buckets(ABC), places(ABC))
    drawn = {(row["label"], row["rank"]): row["times"] for row in rows_with(chart, "times")}
    assert drawn == {("A", 1): 4, ("B, baseline", 1): 4, ("C", 2): 4}
    assert "First rank: A in 4" in chart.alt


# --- pairs -----------------------------------------------------------------------------------------


def test_a_cell_is_filled_where_the_row_is_significantly_better() -> None:
    chart = significance_map(pairs(ABC), summary(ABC), places(ABC))
    drawn = {(row["winner"], row["loser"]): row["buckets"] for row in rows_with(chart, "buckets")}
    table = pairs(ABC).filter(pl.col("board") == "technical", "significant", pl.col("difference") > 0)
    named = {"A": "A", "B": "B, baseline", "C": "C"}
    expected = table.group_by("model_a", "model_b").len().iter_rows()
    assert drawn == {(named[a], named[b]): count for a, b, count in expected}
    assert "Letters: A: a; B, baseline: ab; C: b" in chart.alt


def test_a_negative_difference_fills_the_cell_of_the_second_model() -> None:
    frame = pl.DataFrame({"model_a": ["A"], "model_b": ["B"], "difference": [-0.4], "significant": [True]})
    chart = significance_map(frame)
    assert [(row["winner"], row["loser"]) for row in rows_with(chart, "ink")] == [("B", "A")]
    assert row_order(chart) == ["B", "A"]


def test_one_sided_pairs_of_a_task_fill_the_cell_of_the_first_model() -> None:
    frame = pl.DataFrame({"task": "t", "model_a": ["A", "B"], "model_b": ["B", "A"], "significant": [False, True]})
    assert [(row["winner"], row["loser"]) for row in rows_with(significance_map(frame), "ink")] == [("B", "A")]


def test_letters_of_a_bucket_stand_only_beside_the_map_of_that_bucket() -> None:
    whole = significance_map(pairs(ABC), buckets(ABC), places(ABC))
    one = significance_map(pairs(ABC), buckets(ABC), places(ABC), bucket="aggregation, OOD")
    assert "Letters" not in whole.caption
    assert "Letters" in one.caption
    assert set(one.data["bucket"]) == {"aggregation, OOD"}
    with pytest.raises(UnknownName, match="unknown bucket 'aggregation'"):
        significance_map(pairs(ABC), bucket="aggregation")


def test_dominance_is_told_by_sign_and_number() -> None:
    chart = dominance_matrix(dominance(ABC), places(ABC))
    assert {(r["winner"], r["loser"]): (r["state"], r["text"]) for r in rows_with(chart, "state")} == {
        ("A", "C"): ("dominates", "3:0"), ("C", "A"): ("is dominated", "0:3"),
    }  # fmt: skip
    assert "in 1 of 3 pairs one dominates the other: A dominates 1" in chart.alt
    many = [f"m{at:02d}" for at in range(25)]
    signs = {(row["state"], row["text"]) for row in rows_with(dominance_matrix(dominance(many)), "state")}
    assert signs == {("dominates", "+"), ("is dominated", "−")}


def test_a_matrix_of_many_models_shows_the_first_sixty_and_says_so() -> None:
    names = [f"m{at:02d}" for at in range(70)]
    chart = dominance_matrix(dominance(names), places(names))
    assert row_order(chart) == names[:60]
    assert "the first 60 of 70 models" in chart.caption


def test_the_model_ahead_is_named_first_and_its_interval_turned_with_it() -> None:
    frame = pl.DataFrame(
        {"model_a": ["A", "A"], "model_b": ["B", "C"], "difference": [-0.3, 0.1], "low": [-0.5, -0.2],
         "high": [-0.1, 0.4]}
    )  # fmt: skip
    chart = pair_differences(frame)
    first, second = rows_with(chart, "row")
    assert (first["row"], first["difference"], first["low"], first["high"]) == ("B − A", 0.3, 0.1, 0.5)
    assert first["fill"] != second["fill"] == "#ffffff"
    assert "1 of 2 intervals leave out 0" in chart.alt


def test_only_the_largest_differences_are_shown() -> None:
    names = [f"m{at:02d}" for at in range(12)]
    chart = pair_differences(pairs(names), bucket="aggregation, ID")
    shown = [row["difference"] for row in rows_with(chart, "row")]
    assert len(shown) == ROWS
    assert shown == sorted(shown, reverse=True)
    assert f"the first {ROWS} of 66 pairs" in chart.caption
    assert set(rows_with(pair_differences(pairs(names), models=("m01", "m04")), "row")[0]["row"].split()[:3]) == {
        "m01", "−", "m04",
    }  # fmt: skip


# --- buckets ---------------------------------------------------------------------------------------

FLOORS = pl.DataFrame(
    {
        "floor": ["constant-per-format", "text-prior", "oracle-constant-per-format", "text-prior"],
        "level": ["bucket"] * 4,
        "name": ["object_recognition_id"] * 3 + ["aggregation_ood"],
        "accuracy": [0.3, 0.4, 0.9, 0.2],
        "questions": [100, 100, 100, 7],
    }
)


def test_margins_are_over_the_best_honest_floor_on_the_same_questions() -> None:
    chart = bucket_matrix(buckets(ABC), places(ABC), FLOORS)
    cells = {(row["model"], row["bucket"]): row["margin"] for row in rows_with(chart, "margin")}
    assert cells["A", "object recognition, ID"] == pytest.approx(0.5)
    assert cells["A", "aggregation, OOD"] is None
    assert row_order(chart) == ["A", "B, baseline", "C", FLOOR_ROW, SIZE_ROW]
    assert [row["words"] for row in rows_with(chart, "words") if row["row"] == FLOOR_ROW] == ["0.400"]
    assert "object recognition, ID: A 0.900, +0.500 over the floor" in chart.alt


def test_equals_at_the_top_of_a_bucket_are_counted() -> None:
    level = buckets(ABC).with_columns(accuracy=0.5)
    assert "object recognition, ID: A and 2 more 0.500" in bucket_matrix(level, places(ABC)).alt


def test_without_a_floor_on_the_same_questions_no_margin_is_claimed() -> None:
    chart = bucket_matrix(buckets(ABC), places(ABC), FLOORS.tail(1))
    assert FLOOR_ROW not in row_order(chart)
    assert "no margin is shown" in chart.caption
    assert "floor" not in bucket_matrix(buckets(ABC), places(ABC)).caption


# --- all of them, on the real tables of a ranking ----------------------------------------------------


def test_every_chart_takes_the_tables_of_a_real_ranking() -> None:
    made = rank(focus_table(5), replicates=50, baselines=["B"]).tables
    charts = [
        board(made["places"], made["stability"], buckets=made["buckets"]),
        place_frequencies(made["place_frequencies"], made["stability"], made["places"]),
        place_shares_chart(made["place_frequencies"], made["places"]),
        places_by_rule(made["sensitivity"], group="clinical"),
        podium(made["buckets"], made["places"]),
        ranking_heat_map(made["buckets"], made["places"]),
        significance_map(made["pairs"], made["summary"], made["places"]),
        dominance_matrix(made["dominance"], made["places"]),
        bucket_matrix(made["buckets"], made["places"]),
        pair_differences(made["differences"]),
        CHARTS["tau_violin"](made["tau_frequencies"]),
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
        place_frequencies(made["shares"], made["stability"], made["places"]),
        place_shares_chart(made["shares"], made["places"]),
        places_by_rule(made["sensitivity"]),
        podium(made["buckets"], made["places"]),
        ranking_heat_map(made["buckets"], made["places"]),
        significance_map(made["pairs"], made["summary"], made["places"]),
        dominance_matrix(made["dominance"], made["places"]),
        bucket_matrix(made["buckets"], made["places"]),
        pair_differences(made["pairs"]),
    ]
    assert not [chart.name for chart in charts if chart.alt.startswith("Nothing to show")]


MAKERS = {
    "places": places, "stability": stability, "shares": place_shares, "sensitivity": sensitivity, "buckets": buckets,
    "pairs": pairs, "summary": summary, "dominance": dominance,
}  # fmt: skip


def test_the_interval_of_the_macro_accuracy_stands_on_the_board() -> None:
    result = rank(focus_table(4, seed=3), "focus", board="technical", replicates=60)
    chart = board(result.places, result.stability, summary=result.summary)
    first = result.summary.sort("place").row(0, named=True)
    assert f"[{first['macro_low']:.3f}, {first['macro_high']:.3f}]" in chart.alt
    spans = [row for rows in dict(chart.spec)["datasets"].values() for row in rows if row.get("macro_low") is not None]
    assert {round(row["macro_high"], 9) for row in spans} == {round(v, 9) for v in result.summary["macro_high"]}
    assert "macro_low" not in str(board(result.places).spec)


def test_entries_outside_the_competition_are_marked_as_such() -> None:
    result = rank(
        focus_table(4, seed=3), "focus", board="technical", replicates=60, outside=[focus_table(4, seed=3).models[0]]
    )
    chart = board(result.places, result.stability)
    assert [row for row in row_order(chart) if row.endswith(", outside")]
    assert "3 competitors and 1 outside the competition" in chart.alt
    assert "Triangles" in chart.caption
