import numpy as np
import polars as pl
import pytest
from scipy.cluster import hierarchy

from chart_examples_challenge import kendall, scores, taus, winners
from chart_rows import rows_with
from surgeval.report.charts.task_distance import task_dendrogram, task_network
from surgeval.report.charts.tasks import POINTS, task_boxes, tau_violin
from surgeval.stats.ranking import rank

AB = ["A", "B"]
TASKS = ["t1", "t2", "t3", "t4", "t5"]


def test_boxes_have_the_quartiles_of_all_scores() -> None:
    chart = task_boxes(scores(AB), measure="dice")
    values = scores(["A"]).filter(task="grasping")["value"].to_numpy()
    box = next(row for row in rows_with(chart, "q25") if row["model"] == "A")
    assert [box["q25"], box["median"], box["q75"]] == pytest.approx(np.quantile(values, [0.25, 0.5, 0.75]))
    assert f"A {box['median']:.3f}" in chart.alt
    assert "n = 30 per model" in chart.caption


def test_lines_end_at_the_outermost_point_within_one_and_a_half_boxes() -> None:
    values = [0.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.62]
    box = rows_with(task_boxes(pl.DataFrame({"model": "A", "value": values})), "q25")[0]
    assert (box["low"], box["high"]) == (0.4, 0.62)


def test_points_may_be_means_of_videos() -> None:
    chart = task_boxes(scores(AB), video_means=True)
    assert len(rows_with(chart, "at", "value")) == 20
    assert "the mean score of one video (n = 10 per model)" in chart.caption


def test_more_points_than_fit_are_thinned_evenly_and_always_the_same() -> None:
    table = pl.DataFrame({"model": ["A"] * 5000, "value": np.random.default_rng(0).random(5000)})
    chart = task_boxes(table)
    drawn = rows_with(chart, "at", "value")
    assert len(drawn) == 1667 <= POINTS
    assert drawn == rows_with(task_boxes(table.reverse()), "at", "value")
    assert np.median([row["value"] for row in drawn]) == pytest.approx(table["value"].median(), abs=0.01)
    assert "1,667 of 5,000 points" in chart.caption


def test_scores_that_are_not_given_are_left_out() -> None:
    chart = task_boxes(pl.DataFrame({"model": ["A", "A", "B"], "value": [0.5, None, float("nan")]}))
    assert chart.data["model"].to_list() == ["A"]


def test_rows_of_boxes_follow_the_ranks() -> None:
    ranks = pl.DataFrame({"task": "grasping", "model": AB, "rank": [2, 1]})
    assert [row["model"] for row in rows_with(task_boxes(scores(AB), ranks), "q25")] == ["B", "A"]


def test_bodies_of_the_violin_hold_the_shares_and_stand_on_their_row() -> None:
    chart = tau_violin(taus(["x", "y"]))
    body = [row for row in rows_with(chart, "left") if row["task"] == "y"]
    assert [(row["left"], round(row["share"], 9)) for row in body] == [(-0.225, 0.1), (0.575, 0.3), (0.975, 0.5)]
    assert all((row["from"] + row["to"]) / 2 == pytest.approx(1) for row in body)
    widest = max(body, key=lambda row: row["to"] - row["from"])
    assert widest["left"] == 0.975
    assert "least firm first: x 0.733; y 0.733" in chart.alt


def test_a_violin_of_undefined_taus_says_so() -> None:
    table = taus(["x"]).filter(pl.col("tau_b").is_null())
    assert tau_violin(table).alt.startswith("Nothing to show")


def test_the_tree_joins_at_the_distances_of_complete_linkage() -> None:
    far = np.random.default_rng(1).random(10)
    pairs = kendall(TASKS).with_columns(tau_b=1 - pl.Series(far))
    chart = task_dendrogram(pairs)
    drawn = sorted({round(row["distance"], 9) for row in rows_with(chart, "distance")})
    assert drawn == pytest.approx(hierarchy.complete(far)[:, 2])
    nearest = pairs.row(int(far.argmin()), named=True)
    assert f"Most alike: {nearest['task_a']} and {nearest['task_b']} ({far.min():.3f})" in chart.alt
    assert f"joined at {drawn[-1]:.3f}" in chart.alt


def test_a_task_whose_models_are_all_equal_is_left_out_and_named() -> None:
    table = kendall(TASKS).with_columns(
        tau_b=pl.when((pl.col("task_a") == "t2") | (pl.col("task_b") == "t2")).then(None).otherwise("tau_b")
    )
    chart = task_dendrogram(table)
    assert "Left out, because all models are equal there: t2" in chart.caption
    assert chart.alt.startswith("Tree of 4 tasks")


def test_tasks_with_a_single_winner_are_coloured_by_it() -> None:
    chart = task_network(kendall(TASKS), winners(TASKS))
    won = {row["task"]: row["winner"] for row in rows_with(chart, "winner", "x")}
    assert won == {"t1": "no single winner", **{task: f"{task} winner" for task in TASKS[1:]}}


def test_tasks_that_rank_alike_are_near_on_the_map_and_circles_never_cover_each_other() -> None:
    names = [f"t{at:02d}" for at in range(30)]
    at = np.array([(row["x"], row["y"]) for row in rows_with(task_network(kendall(names)), "winner", "x")])
    far = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
    same = np.equal.outer(np.arange(30) % 3, np.arange(30) % 3)
    assert far[same].max() < far[~same].min()
    assert far[~np.eye(30, dtype=bool)].min() > 20


def test_lines_of_the_map_are_the_shortest_tree_also_where_tasks_rank_the_same() -> None:
    same = kendall(TASKS).with_columns(tau_b=pl.when(pl.col("tau_b") > 0).then(1.0).otherwise(-0.5))
    lines = rows_with(task_network(same), "distance", "x2")
    assert sorted(round(row["distance"], 6) for row in lines) == [0.0, 0.0, 1.5, 1.5]


def test_the_consensus_is_called_so() -> None:
    table = scores(AB).with_columns(task=pl.lit("(consensus)"))
    assert task_boxes(table).title == "Scores, consensus over tasks"


def test_the_map_is_the_same_every_time_and_says_what_it_leaves_out() -> None:
    names = [f"t{at:02d}" for at in range(60)]
    first, again = task_network(kendall(names)), task_network(kendall(names))
    assert first.spec == again.spec
    assert "the first 50 of 60 tasks" in first.caption


def test_every_chart_of_tasks_takes_the_tables_of_a_real_ranking() -> None:
    rng = np.random.default_rng(3)
    table = scores(["A", "B", "C"]).with_columns(value=pl.Series(rng.random(180)), metric=pl.lit("dice"))
    made = rank(table, "mean-then-rank", replicates=50).tables
    charts = [
        task_boxes(table, made["ranks"], group="cutting"),
        tau_violin(made["tau_frequencies"], made["tau"]),
        task_dendrogram(made["footrule"]),
        task_network(made["kendall"], made["ranks"]),
    ]
    assert not [chart.name for chart in charts if chart.alt.startswith("Nothing to show")]
