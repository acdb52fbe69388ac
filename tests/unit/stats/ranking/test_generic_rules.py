import numpy as np
import polars as pl
import pytest

from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.ranking import rank
from surgvalid.stats.ranking._ranks import case_ranks, min_ranks, weighted_quantile


def scores(**models: list[float | None]) -> pl.DataFrame:
    rows = [(m, f"c{c}", v) for m, values in models.items() for c, v in enumerate(values)]
    schema = {"model": pl.String, "case": pl.String, "value": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row", strict=False).with_columns(metric=pl.lit("correct"))


def tasks(**parts: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame.with_columns(task=pl.lit(name)) for name, frame in parts.items()])


def ranks_of(result, task: str = "all") -> dict[str, int]:
    return dict(result.ranks.filter(pl.col("task") == task).select("model", "rank").iter_rows())


CLEAR = scores(A=[0.9, 0.8, 0.7], B=[0.5, 0.9, 0.3], C=[0.1, 0.1, 0.2])


def test_equal_values_share_the_better_rank() -> None:
    tied = scores(A=[1, 0], B=[0, 1], C=[0, 0])
    assert ranks_of(rank(tied, "mean-then-rank", replicates=0)) == {"A": 1, "B": 1, "C": 3}


def test_rounding_noise_breaks_no_tie() -> None:
    assert min_ranks(np.array([0.1 + 0.2, 0.3, 0.1])).tolist() == [1, 1, 3]


def test_smaller_can_be_better() -> None:
    up = rank(CLEAR, "mean-then-rank", replicates=0)
    down = rank(CLEAR.drop("metric"), "mean-then-rank", replicates=0, better="smaller")
    assert ranks_of(up) == {"A": 1, "B": 2, "C": 3}
    assert ranks_of(down) == {"A": 3, "B": 2, "C": 1}
    assert up.ranks.sort("model")["value"].to_list() == down.ranks.sort("model")["value"].to_list()


def test_the_direction_of_a_known_metric_is_used() -> None:
    facts = {"distance": MetricFacts("distance", 0, np.inf, better="smaller")}
    table = ScoreTable.of(CLEAR.with_columns(metric=pl.lit("distance")), facts=facts)
    assert ranks_of(rank(table, "rank-then-mean", replicates=0)) == {"A": 3, "B": 2, "C": 1}


def test_any_quantile_and_any_function_can_be_ranked() -> None:
    assert ranks_of(rank(CLEAR, "q90-then-rank", replicates=0)) == {"A": 1, "B": 2, "C": 3}
    own = rank(CLEAR, "aggregate-then-rank", aggregate=lambda x: float(np.ptp(x)), replicates=20)
    assert ranks_of(own) == {"A": 2, "B": 1, "C": 3}
    assert own.stability.height == 3
    with pytest.raises(Misuse, match="needs a function"):
        rank(CLEAR, "aggregate-then-rank", replicates=0)


def test_missing_scores_count_as_the_rule_says() -> None:
    holes = scores(A=[1, None, 1], B=[0, 0.5, 0])
    assert ranks_of(rank(holes, "mean-then-rank", replicates=0, missing="drop-score")) == {"A": 1, "B": 2}
    worst = rank(holes, "mean-then-rank", replicates=0, missing="worst").ranks.sort("model")
    assert worst["value"].to_list() == pytest.approx([2 / 3, 1 / 6])
    number = rank(holes, "mean-then-rank", replicates=0, missing=0.25).ranks.sort("model")
    assert number["value"][0] == pytest.approx(0.75)
    by_rank = rank(holes, "rank-then-mean", replicates=0)
    assert by_rank.ranks.sort("model")["value"].to_list() == pytest.approx([4 / 3, 5 / 3])
    assert "1 score of 'A' is not there (missing: 1): counted as worst, 0." in by_rank.prose
    alone = rank(holes, "rank-then-mean", replicates=0, missing="drop-score")
    assert alone.ranks.sort("model")["value"].to_list() == pytest.approx([1.0, 5 / 3])
    with pytest.raises(TableInvalid, match="1 score is not there"):
        rank(holes, "rank-then-mean", replicates=0, missing="error")


def test_an_absent_row_is_a_missing_score() -> None:
    holes = scores(A=[1, None, 1], B=[0, 0.5, 0])
    absent = holes.drop_nulls()
    for rule in ("drop-score", "drop-case", "worst"):
        assert rank(absent, "mean-then-rank", replicates=0, missing=rule).ranks.equals(
            rank(holes, "mean-then-rank", replicates=0, missing=rule).ranks
        )


def test_ranks_run_among_the_models_that_have_a_score_on_the_case() -> None:
    oriented = np.array([[3.0, 1.0, np.nan, np.nan], [1.0, 1.0, 1.0, np.nan], [2.0, np.nan, 3.0, 1.0]])
    none = np.nan
    expected = [[1, 2, none, none], [1, 1, 1, none], [2, none, 1, 3]]
    np.testing.assert_array_equal(case_ranks(oriented), expected)


def test_a_model_without_any_score_in_a_task_is_named() -> None:
    both = tasks(x=CLEAR, y=CLEAR.filter(pl.col("model") != "B"))
    with pytest.raises(TableInvalid, match="'B' has no score at all in task 'y'"):
        rank(both, "mean-then-rank", replicates=0, missing="drop-score")
    with pytest.raises(TableInvalid, match="task 'y' has no case left"):
        rank(both, "mean-then-rank", replicates=0, missing="drop-case")


def test_the_consensus_averages_ranks_with_average_ties() -> None:
    both = tasks(x=scores(A=[1, 1], B=[1, 1], C=[0, 0]), y=scores(A=[0, 0], B=[1, 1], C=[0.5, 0.5]))
    result = rank(both, "mean-then-rank", replicates=0)
    mean = dict(result.consensus.select("model", "mean_rank").iter_rows())
    assert mean == {"A": (1.5 + 3) / 2, "B": (1.5 + 1) / 2, "C": (3 + 2) / 2}
    assert result.consensus["model"].to_list() == ["B", "A", "C"]
    assert result.table.equals(result.consensus)


def test_task_weights_shift_the_consensus() -> None:
    both = tasks(x=scores(A=[1.0], B=[0.0]), y=scores(A=[0.0], B=[1.0]))
    assert rank(both, "mean-then-rank", replicates=0).consensus["rank"].to_list() == [1, 1]
    weighted = rank(both, "mean-then-rank", replicates=0, task_weights={"x": 3}).consensus
    assert weighted.select("model", "mean_rank", "rank").rows() == [("A", 1.25, 1), ("B", 1.75, 2)]
    with pytest.raises(UnknownName, match="task in the task weights 'z'"):
        rank(both, "mean-then-rank", replicates=0, task_weights={"z": 1})
    with pytest.raises(TableInvalid, match="weight 0"):
        rank(both, "mean-then-rank", replicates=0, task_weights={"x": 0, "y": 0})


def test_the_case_rank_consensus_averages_over_all_cases_of_all_tasks() -> None:
    both = tasks(x=scores(A=[1.0, 1.0, 1.0], B=[0.0, 0.0, 0.0]), y=scores(A=[0.0], B=[1.0]))
    result = rank(both, "mean-then-rank", replicates=0, consensus="case-ranks").consensus
    assert result.select("model", "mean_rank", "rank").rows() == [("A", 1.25, 1), ("B", 1.75, 2)]


def test_tasks_may_be_any_column_or_the_metric() -> None:
    frame = tasks(x=CLEAR, y=CLEAR.with_columns(value=1 - pl.col("value"))).rename({"task": "phase"})
    frame = frame.with_columns(case=pl.col("phase") + pl.col("case"))
    result = rank(frame, "mean-then-rank", replicates=0, task_column="phase")
    assert (ranks_of(result, "x")["A"], ranks_of(result, "y")["A"]) == (1, 3)
    assert result.kendall.rows() == [("x", "y", pytest.approx(-1.0))]
    assert result.footrule["footrule"].to_list() == [4]
    metrics = rank(
        frame.drop("metric").rename({"phase": "metric"}),
        "mean-then-rank",
        replicates=0,
        task_column="metric",
        better="larger",
    )
    assert metrics.ranks["task"].unique().sort().to_list() == ["x", "y"]
    with pytest.raises(UnknownName, match="task column 'fase'"):
        rank(frame, "mean-then-rank", replicates=0, task_column="fase")


def test_a_constant_ranking_has_no_tau() -> None:
    both = tasks(x=scores(A=[1.0], B=[1.0]), y=scores(A=[0.0], B=[1.0]))
    assert rank(both, "mean-then-rank", replicates=0).kendall["tau_b"].to_list() == [None]


def test_equal_scores_everywhere_are_ranked_first_together_by_every_rule() -> None:
    same = scores(A=[0.5, 0.7], B=[0.5, 0.7])
    for rule in ("mean-then-rank", "rank-then-median", "test-then-rank"):
        result = rank(same, rule, replicates=20)
        assert ranks_of(result) == {"A": 1, "B": 1}
        assert result.tau["undefined"].to_list() == [20]
        assert result.tau_frequencies.rows() == [("all", None, 1.0)]
    assert result.pairs["p_value"].to_list() == [None, None]
    assert not result.pairs["significant"].any()


def test_the_shares_of_tau_add_up_to_the_printed_mean() -> None:
    both = tasks(x=CLEAR, y=scores(A=[0.4, 0.8, 0.7], B=[0.5, 0.9, 0.3], C=[0.1, 0.7, 0.6]))
    result = rank(both, "mean-then-rank", replicates=300)
    shares = result.tau_frequencies
    assert shares.group_by("task").agg(pl.col("share").sum())["share"].to_list() == pytest.approx([1.0] * 3)
    for task, mean, undefined in result.tau.select("task", "mean", "undefined").iter_rows():
        given = shares.filter(pl.col("task") == task).drop_nulls()
        assert given["tau_b"].is_sorted()
        assert given["share"].sum() == pytest.approx(1 - undefined / 300)
        assert (given["tau_b"] * given["share"]).sum() / given["share"].sum() == pytest.approx(mean)


def test_whole_videos_are_resampled_where_the_table_names_them() -> None:
    rng = np.random.default_rng(0)
    frame = scores(A=(rng.random(40) + 0.05).tolist(), B=rng.random(40).tolist())
    frame = frame.with_columns(metric=pl.lit("kappa"), value=pl.col("value") - 1)
    videos = pl.Series([f"v{c // 20}" for c in range(40)] * 2)
    cases, clusters = rank(frame, "mean-then-rank"), rank(frame.with_columns(video=videos), "mean-then-rank")
    assert "whole cases" in cases.prose
    assert "whole videos" in clusters.prose
    assert set(clusters.stability["p_first"].to_list()) != set(cases.stability["p_first"].to_list())


def test_tasks_on_the_same_cases_share_their_draws() -> None:
    rng = np.random.default_rng(1)
    noisy = scores(A=rng.random(15).tolist(), B=rng.random(15).tolist(), C=rng.random(15).tolist())
    result = rank(tasks(x=noisy, y=noisy), "mean-then-rank", replicates=100)
    spread = result.stability.drop("task")
    assert spread.head(3).equals(spread.slice(3, 3))
    faulty = rank(tasks(x=noisy, y=noisy), "mean-then-rank", replicates=100, challenger_compat=True)
    compat = faulty.stability.drop("task")
    assert not compat.head(3).equals(compat.slice(3, 3))


def test_other_tests_can_decide_the_wins_but_are_not_resampled() -> None:
    rng = np.random.default_rng(2)
    right = scores(A=[1.0] * 30, B=rng.integers(0, 2, 30).astype(float).tolist())
    result = rank(right, "test-then-rank", test="mcnemar")
    assert ranks_of(result) == {"A": 1, "B": 2}
    assert "stability" not in result.tables
    assert any("Wilcoxon test only" in w for w in result.warnings)
    p = result.pairs["p_value"].to_list()
    assert sum(p) == pytest.approx(1.0)


def test_wilcoxon_on_several_cases_per_video_is_warned_about() -> None:
    frame = scores(A=[1.0, 0.9, 0.8], B=[0.1, 0.2, 0.3]).with_columns(video=pl.lit("v"))
    assert any("Wilcoxon" in w for w in rank(frame, "test-then-rank", replicates=0).warnings)


def test_a_quantile_of_counted_values_is_the_quantile_of_their_copies() -> None:
    rng = np.random.default_rng(3)
    values = np.sort(rng.random(9))
    for q in (0.0, 0.05, 0.5, 0.9, 1.0):
        counts = rng.multinomial(9, np.full(9, 1 / 9), size=8)
        got = weighted_quantile(np.broadcast_to(values, counts.shape), counts, q)
        assert got == pytest.approx([np.quantile(np.repeat(values, c), q) for c in counts])


def test_one_model_is_no_ranking() -> None:
    with pytest.raises(TableInvalid, match="at least two models"):
        rank(scores(A=[1.0]), "mean-then-rank")


@pytest.mark.parametrize(("units", "level", "kind"), [(6, 0.05, "better"), (6, 0.01, "too_few"), (5, 0.1, "better")])
def test_the_level_of_a_ranking_is_that_of_its_verdict(units: int, level: float, kind: str) -> None:
    frame = {
        "patient": [f"p{unit}" for unit in range(units)] * 2,
        "model": ["A"] * units + ["B"] * units,
        "dice": [0.7 + 0.01 * unit for unit in range(units)] + [0.75 + 0.012 * unit for unit in range(units)],
    }
    ranked, studied = rank(frame, alpha=level, replicates=0), compare(frame, "B", "A", level=round(1 - level, 12))
    assert ranked.judged is not None
    assert (ranked.judged.kind, ranked.verdict) == (kind, studied.verdict)
    assert (ranked.ranks["rank_high"][0] == 1) == (kind == "better")
    assert f"hold together at level {1 - level:g}" in ranked.prose
    assert not [one for one in ranked.findings if one.code == "option-unused"]
