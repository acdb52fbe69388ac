"""How firm the order is: shares of first final ranks, sets of ranks, and what a reader is told."""

import numpy as np
import polars as pl
import pytest

from ranking_tables import focus_frame, focus_table, from_bucket_scores, long_table, nested_scores
from surgvalid.errors import TableInvalid
from surgvalid.schema.findings import Finding, Severity
from surgvalid.stats.comparing.rank_sets import rank_sets
from surgvalid.stats.ranking import RankOptions, RankResult, rank
from surgvalid.stats.ranking._focus.buckets import prepare
from surgvalid.stats.ranking._focus.firmness import firmness_findings, possible_ranks
from surgvalid.stats.ranking._focus.stability import counts_of, place_shares
from surgvalid.stats.ranking._focus.standing import standing


def by_board(frame: pl.DataFrame, column: str, key: str = "board") -> list[float]:
    return frame.group_by(key, maintain_order=True).agg(pl.col(column).sum())[column].to_list()


@pytest.mark.parametrize("models", [8, 21])
def test_somebody_is_first_once_in_every_resample(models: int) -> None:
    stability = rank(focus_table(models, gap=0.0), replicates=120).stability
    assert by_board(stability, "p_first") == pytest.approx([1.0] * 2, abs=1e-9)
    assert by_board(stability, "p_top3") == pytest.approx([3.0] * 2, abs=1e-9)
    assert stability["p_first"].max() < 0.9


def test_a_clear_winner_is_still_first_in_every_resample() -> None:
    clear = [[[1, 0, 0]] * 20 for _ in range(2)]
    stability = rank(from_bucket_scores(clear, ["A", "B", "C"]), replicates=50).stability
    assert dict(stability.select("model", "p_first").iter_rows()) == {"A": 1.0, "B": 0.0, "C": 0.0}


def test_replicates_repeat_the_tie_break_of_the_published_order() -> None:
    """Nothing is significant with five videos, so that only the tie-break orders the models."""
    stronger = [[1, 0], [1, 0], [1, 1], [0, 0], [1, 1]]
    result = rank(from_bucket_scores([stronger, stronger], ["A", "B"]), board="technical", replicates=400)
    assert result.places["place"].to_list() == [1, 2]
    first = dict(result.stability.select("model", "p_first").iter_rows())
    # A is behind in no resample, and level with B in the share of resamples without both deciding videos.
    level = (3 / 5) ** 5
    assert first["B"] == pytest.approx(level / 2, abs=0.03)
    assert first["A"] + first["B"] == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("rule", ["mean-then-rank", "rank-then-median", "test-then-rank"])
def test_ranks_shared_in_a_resample_share_the_first_rank(rule: str) -> None:
    values, video = nested_scores(10, 6, 5, seed=3, gap=0.0)
    stability = rank(long_table(values, video), rule, replicates=60).stability
    assert by_board(stability, "p_first", "task") == pytest.approx([1.0], abs=1e-9)
    assert by_board(stability, "p_top3", "task") == pytest.approx([3.0], abs=1e-9)


def test_shares_of_places_equal_those_of_every_order_of_the_tied() -> None:
    place = np.array([[1, 1, 1, 4], [2, 1, 2, 4], [1, 2, 3, 3]])
    for last in (1, 2, 3):
        expected = np.zeros(4)
        for row in place:
            for model in range(4):
                tied = int((row == row[model]).sum())
                expected[model] += sum(row[model] + k <= last for k in range(tied)) / tied / len(place)
        assert place_shares(place, last) == pytest.approx(expected)


def test_counts_are_those_of_the_lists() -> None:
    lists = np.random.default_rng(0).integers(0, 7, (20, 7))
    assert (counts_of(lists) == np.stack([np.bincount(one, minlength=7) for one in lists])).all()


# --- sets of ranks ------------------------------------------------------------------------------------------------


def test_sets_of_a_board_are_those_of_its_macro_accuracies() -> None:
    """Written out: what each video adds to a mean over buckets, flipped by hand over all patterns."""
    table = focus_table(4, videos=9, seed=1, gap=3.0)
    summary = rank(table, board="technical", replicates=0).summary.sort("model")
    frame = table.frame.with_columns(n=pl.len().over("model", "capability", "ood"))
    buckets = frame.select("capability", "ood").unique().height
    added = frame.group_by("video", "model").agg((pl.col("value") / pl.col("n")).sum() / buckets)
    wide = added.pivot(on="model", index="video", values="value").select(summary["model"].to_list()).to_numpy()
    assert wide.sum(axis=0) == pytest.approx(summary["macro_accuracy"].to_numpy())
    expected = rank_sets(wide)
    assert summary["rank_low"].to_list() == expected.low.tolist()
    assert summary["rank_high"].to_list() == expected.high.tolist()
    assert summary["rank_low"].max() > 1


@pytest.mark.parametrize(("rule", "better"), [("mean-then-rank", "larger"), ("rank-then-mean", "larger"),
                                              ("mean-then-rank", "smaller")])  # fmt: skip
def test_means_have_sets_of_ranks_in_the_direction_of_the_metric(rule: str, better: str) -> None:
    values, video = nested_scores(14, 8, 3, seed=2, gap=6.0)
    frame = long_table(values, video).with_columns(metric=pl.lit("own"))
    ranks = rank(frame, rule, better=better, replicates=0).ranks
    assert ((ranks["rank_low"] <= ranks["rank"]) & (ranks["rank"] <= ranks["rank_high"])).all()
    assert ranks["model"].to_list() == (["A", "B", "C"] if better == "larger" else ["C", "B", "A"])
    assert ranks["rank_high"][0] < 3


@pytest.mark.parametrize("rule", ["median-then-rank", "rank-then-median", "test-then-rank"])
def test_values_that_are_no_means_have_no_sets_of_ranks(rule: str) -> None:
    values, video = nested_scores(14, 8, 3, seed=2, gap=6.0)
    ranks = rank(long_table(values, video), rule, replicates=0).ranks
    assert ranks["rank_low"].null_count() == ranks["rank_high"].null_count() == 3


def test_scores_left_out_for_one_model_leave_no_sets_of_ranks() -> None:
    values, video = nested_scores(14, 8, 3, seed=2, gap=6.0)
    frame = long_table(values, video)[1:]
    assert rank(frame, "mean-then-rank", replicates=0, missing="drop-score").ranks["rank_low"].null_count() == 3
    assert rank(frame, "mean-then-rank", replicates=0, missing="drop-case").ranks["rank_low"].null_count() == 0


# --- what a reader is told ----------------------------------------------------------------------------------------

CLEAR = [[[1, 0, 0]] * 10 + [[1, 1, 0]] * 10 for _ in range(2)]


def told(result: RankResult, code: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.code == code]


def test_an_order_without_any_significant_pair_is_said_to_rest_on_the_tie_break() -> None:
    table = focus_table(8, gap=0.0, videos=9)
    (finding,) = told(rank(table, board="technical", replicates=0), "nothing-significant")
    assert finding.severity is Severity.WARNING
    assert finding.text == (
        "technical leaderboard: no difference between two models is significant in any bucket; final ranks rest on the "
        "tie-break alone"
    )
    (paid,) = told(rank(table, board="technical", replicates=0, prize_pool=100), "nothing-significant")
    assert "final ranks and prizes rest on the tie-break alone" in paid.message
    (plain,) = told(rank(table, board="technical", replicates=0, merge="accuracy"), "nothing-significant")
    assert "rest on accuracies alone" in plain.message


def test_a_clear_order_is_said_to_rest_on_nothing_else() -> None:
    result = rank(from_bucket_scores(CLEAR, ["A", "B", "C"]), board="technical", replicates=0)
    codes = {finding.code for finding in result.findings}
    assert not codes & {
        "nothing-significant",
        "places-by-tie-break",
        "order-against-accuracy",
        "correction-unreachable",
    }


def test_places_that_a_tie_break_orders_are_named() -> None:
    buckets = [[[1, 1, 0]] * 12 + [[1, 0, 0], [1, 1, 0]] for _ in range(2)]
    result = rank(from_bucket_scores(buckets, ["A", "B", "C"]), board="technical", replicates=0)
    (finding,) = told(result, "places-by-tie-break")
    assert finding.message == "final ranks 1 to 2 rest on the tie-break: A, B have the same Copeland score"


def test_a_model_above_a_more_accurate_one_is_explained_by_the_buckets_that_decide() -> None:
    narrow = [[1, 0]] * 7 + [[1, 1]] * 13
    result = rank(from_bucket_scores([narrow, narrow, [[0, 1]] * 20], ["A", "B"]), board="technical", replicates=0)
    (finding,) = told(result, "order-against-accuracy")
    assert finding.text == (
        "technical leaderboard: final ranks and macro accuracies disagree: A (final rank 1, 0.667) stands above B "
        "(final rank 2, 0.767)"
        " because it is ahead in object_recognition, ID; object_recognition, OOD, behind in temporal_grounding, ID"
    )


def test_a_model_above_a_more_accurate_one_is_explained_by_other_models_or_the_tie_break() -> None:
    result = rank(focus_table(6, videos=16, seed=4, gap=1.2), board="technical", replicates=0)
    (finding,) = told(result, "order-against-accuracy")
    assert (
        "D (final rank 3, 0.471) stands above C (final rank 4, 0.545) because its Copeland score is 1 against 0"
        in finding.text
    )
    assert finding.text.endswith("it does better against E")
    dominated = result.dominance.filter(pl.col("a_dominates_b")).select("model_a", "model_b").rows()
    assert ("D", "E") in dominated
    assert ("C", "E") not in dominated
    (tied,) = told(rank(focus_table(6, videos=16, seed=3, gap=1.2), board="technical", replicates=0),
                   "order-against-accuracy")  # fmt: skip
    assert "their Copeland scores are equal and its win rate is" in tied.text


def test_an_order_against_a_significant_difference_over_all_buckets_is_named_as_such() -> None:
    options = RankOptions(board="technical")
    board = prepare(focus_table(6, videos=16, seed=4, gap=1.2), options).boards[0]
    found = standing(board, np.arange(6), options, replicates=200)
    sets = possible_ranks(board, found.members, options)
    better = np.zeros((6, 6), dtype=bool)
    better[2, 3] = True
    texts = [one.text for one in firmness_findings(found, sets._replace(better=better), options)]
    assert any("above C (final rank 4, 0.545), which is significantly better over all buckets together, because" in text
               for text in texts)  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_every_order_against_printed_accuracies_is_said_and_no_other(seed: int) -> None:
    result = rank(focus_table(6, videos=16, seed=seed, gap=1.2), board="technical", replicates=0)
    rows = [(p, round(m, 3)) for p, m in result.places.select("place", "macro_accuracy").iter_rows()]
    inverted = any(p < q and m < n for p, m in rows for q, n in rows)
    assert bool(told(result, "order-against-accuracy")) == inverted


def test_a_correction_that_no_bucket_can_pass_is_said_with_the_videos_needed() -> None:
    result = rank(focus_table(8, videos=9), board="technical", replicates=0)
    findings = told(result, "correction-unreachable")
    assert {finding.message for finding in findings} == {
        "9 videos cannot reach significance with 28 pairs; 11 are needed."
    }
    assert findings[0].subject == "technical leaderboard, object_recognition, ID"
    assert not told(rank(focus_table(8, videos=11), board="technical", replicates=0), "correction-unreachable")
    assert not told(rank(focus_table(8, videos=9), board="technical", replicates=0, correction="none"),
                    "correction-unreachable")  # fmt: skip


def test_generic_rules_say_when_no_two_models_can_be_told_apart() -> None:
    values, video = nested_scores(12, 6, 4, seed=5, gap=0.0)
    (finding,) = told(rank(long_table(values, video), "mean-then-rank", replicates=0), "order-open")
    assert finding.message == "no two of the 4 models can be told apart, so their order is open"
    few, at = nested_scores(5, 6, 3, seed=5, gap=8.0)
    (finding,) = told(rank(long_table(few, at), "mean-then-rank", replicates=0), "order-open")
    assert "5 videos cannot show any difference (6 are needed for two models)" in finding.message
    apart, where = nested_scores(20, 6, 3, seed=5, gap=8.0)
    assert not told(rank(long_table(apart, where), "mean-then-rank", replicates=0), "order-open")


# --- the rule that fits ---------------------------------------------------------------------------------------------


def plain_table(**strata: np.ndarray) -> pl.DataFrame:
    values, video = nested_scores(12, 6, 3, seed=1, gap=2.0)
    return long_table(values, video, **{name: column[: len(values)] for name, column in strata.items()})


def test_without_a_rule_the_one_that_fits_the_table_is_taken_and_said() -> None:
    plain = rank(plain_table(), replicates=0)
    assert plain.rule == "mean-then-rank"
    (finding,) = told(plain, "rule-taken")
    assert finding.message.startswith("No rule was named: 'mean-then-rank' was taken, because the table has no buckets")
    assert plain.prose.endswith(finding.message)
    assert plain.manifest()["settled"] == {"rule": "mean-then-rank"}
    buckets = rank(focus_table(3), replicates=0)
    assert buckets.rule == "focus"
    assert "the table has buckets (columns 'capability' and 'ood')" in buckets.prose
    distances = rank(focus_frame(2).drop("metric"), better="smaller", replicates=0)
    assert distances.rule == "mean-then-rank"
    assert "smaller values of 'value' are better" in distances.prose
    named = rank(focus_table(3), "focus", replicates=0)
    assert not told(named, "rule-taken")
    assert named.places.equals(buckets.places)


def test_options_of_boards_ask_for_boards_and_then_the_table_must_have_buckets() -> None:
    with pytest.raises(TableInvalid, match="rule 'focus' needs a column 'capability'"):
        rank(plain_table(), prize_pool=100, replicates=0)


def test_the_challenge_rule_on_an_ordinary_table_says_what_it_needs_and_which_rule_fits() -> None:
    with pytest.raises(TableInvalid, match=r"needs a column 'capability'.*needs a column 'ood'.*fits rule 'mean-then"):
        rank(plain_table(), "focus", replicates=0)
    with pytest.raises(TableInvalid) as refused:
        rank(plain_table(ood=np.zeros(500, dtype=bool)), "focus", replicates=0)
    assert "fits rule" not in str(refused.value)


def test_a_task_column_is_never_taken_for_tasks_in_silence() -> None:
    frame = plain_table(task=np.array(["x", "y"] * 250))
    (finding,) = told(rank(frame, "mean-then-rank", replicates=0), "tasks-taken")
    assert finding.message.startswith("column 'task' was taken to name 2 tasks: models are ranked on each")
    assert not told(rank(frame, "mean-then-rank", task_column="task", replicates=0), "tasks-taken")
    assert not told(rank(plain_table(task=np.array(["x"] * 500)), "mean-then-rank", replicates=0), "tasks-taken")


# --- the consensus over tasks --------------------------------------------------------------------


def _tasks(gaps: dict[str, float], *, videos: int = 12, models: int = 3) -> pl.DataFrame:
    """Scores on the same videos in several tasks; models lie `gap` apart in each."""
    rng = np.random.default_rng(8)
    frames = []
    for task, gap in gaps.items():
        values = rng.normal(0, 1, (videos, 1)) - gap * np.arange(models) + rng.normal(0, 0.3, (videos, models))
        frame = long_table(values, np.arange(videos)).with_columns(task=pl.lit(task), metric=pl.lit("score"))
        frames.append(frame.with_columns(case=pl.lit(task) + pl.col("case")))
    return pl.concat(frames)


@pytest.mark.parametrize("consensus", ["euclidean", "case-ranks"])
def test_the_consensus_has_the_ranks_that_each_model_can_have(consensus: str) -> None:
    options = {"better": "larger", "replicates": 0, "consensus": consensus}
    clear = rank(_tasks({"x": 2.0, "y": 2.0}), "mean-then-rank", **options).consensus
    assert clear.select("model", "rank_low", "rank_high").rows() == [("A", 1, 1), ("B", 2, 2), ("C", 3, 3)]
    result = rank(_tasks({"x": 2.0, "y": -2.0}), "mean-then-rank", **options)
    assert set(result.consensus["rank_low"]) == {1}
    assert set(result.consensus["rank_high"]) == {3}
    assert ("order-open", "consensus") in [(one.code, one.subject) for one in result.findings]


def test_sets_of_the_consensus_hold_on_all_tasks_together() -> None:
    """Three tasks at 95 % each would not; every task then answers for a third of the error."""
    prose = rank(_tasks({"x": 1, "y": 1, "z": 1}), "mean-then-rank", better="larger", replicates=0).prose
    assert "at level 0.9833" in prose
    few = rank(_tasks({"x": 2.0, "y": 2.0}, videos=7), "mean-then-rank", better="larger", replicates=0)
    assert few.ranks["rank_high"].min() == 1, "seven videos can tell three models apart on one task"
    assert few.consensus["rank_high"].min() == 3, "and not on two tasks together"


def test_a_task_without_sets_leaves_none_for_the_consensus() -> None:
    found = rank(_tasks({"x": 2.0, "y": 2.0}), "median-then-rank", better="larger", replicates=0)
    assert found.consensus["rank_low"].null_count() == 3


def test_the_case_rank_consensus_is_resampled_as_it_is_defined() -> None:
    table = _tasks({"x": 0.3, "y": 0.1})
    result = rank(table, "mean-then-rank", better="larger", consensus="case-ranks", replicates=200)
    merged = result.stability.filter(pl.col("task") == "(consensus)")
    assert merged["p_first"].sum() == pytest.approx(1.0, abs=1e-9)
    assert merged.sort("mean_rank")["model"][0] == result.consensus["model"][0]


# --- influence -----------------------------------------------------------------------------------


def test_influence_speaks_of_the_published_places_with_ties_broken() -> None:
    """No pair is significant, so Copeland ties all four: only the tie-break decides, and one video carries it."""
    rng = np.random.default_rng(3)
    scores = [(rng.random((20, 4)) < 0.5).astype(int).tolist() for _ in range(2)]
    result = rank(from_bucket_scores(scores, list("ABCD")), replicates=0)
    assert "nothing-significant" in [one.code for one in result.findings]
    assert result.places["place"].n_unique() > 1
    moved = result.influence.group_by("left_out").agg(pl.col("models_moved").sum()).sort("left_out")
    assert moved["models_moved"].min() > 0, "with unbroken final ranks nothing would ever move"


def test_leaving_out_a_model_closes_the_ranks_and_moves_nobody_else() -> None:
    decisive = [[[1, 1, 0, 0]] * 20] * 2
    result = rank(from_bucket_scores(decisive, list("ABCD")), replicates=0)
    assert result.influence.filter(pl.col("left_out") == "model")["models_moved"].sum() == 0


def test_influence_does_not_depend_on_the_order_of_models_or_rows() -> None:
    frame = focus_frame(4, gap=0.2)
    first = rank(frame, "focus", replicates=0, board="technical").influence
    again = rank(frame.sample(fraction=1.0, shuffle=True, seed=1), "focus", replicates=0, board="technical").influence
    assert first.equals(again)


def test_several_models_that_can_be_first_are_named_where_others_cannot() -> None:
    values = np.random.default_rng(1).normal(0, 0.2, (12, 4)) + np.array([1.0, 1.0, 0.0, 0.0])
    table = long_table(values, np.arange(12)).with_columns(metric=pl.lit("score"))
    found = rank(table, "mean-then-rank", better="larger", replicates=0)
    assert "2 of 4 models can be first by these data: A and B." in [one.message for one in found.findings]
    clear = rank(_tasks({"x": 2.0, "y": 2.0}), "mean-then-rank", better="larger", replicates=0)
    assert "first-open" not in [one.code for one in clear.findings]
