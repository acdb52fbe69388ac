import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranking_tables import GROUPS, focus_frame, focus_table, from_bucket_scores, long_table
from surgvalid.errors import Misuse, TableInvalid, TooFewVideos, UnknownName
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.paired_tests import adjusted, is_significant, pair_tests
from surgvalid.stats.draws import stream, video_counts
from surgvalid.stats.ranking import MERGES, rank
from surgvalid.stats.ranking._focus.buckets import prepare
from surgvalid.stats.ranking._focus.stability import _holm_rejected, replicate
from surgvalid.stats.ranking._focus.standing import standing
from surgvalid.stats.ranking._options import RankOptions

CONTRACT = {
    "places": "board model place copeland dominated dominated_by macro_accuracy win_rate baseline".split(),
    "buckets": "board capability ood model accuracy low high questions videos rank letters".split(),
    "pairs": "board capability ood model_a model_b difference p_value p_adjusted significant".split(),
    "stability": "board model mean_place sd_place place_low place_high p_first p_top3".split(),
}


def test_the_tables_have_the_columns_of_the_contract() -> None:
    result = rank(focus_table(3), replicates=20)
    for name, columns in CONTRACT.items():
        assert getattr(result, name).columns == columns
    assert result.table.equals(result.places)


def test_accuracies_are_means_over_the_questions_of_a_bucket_and_macro_over_buckets() -> None:
    frame = focus_frame(3)
    result = rank(frame, replicates=0, board="technical")
    expected = frame.group_by("capability", "ood", "model").agg(
        pl.col("value").mean(), pl.len().alias("n"), pl.col("video").n_unique().alias("v")
    )
    joined = result.buckets.join(expected, on=["capability", "ood", "model"])
    assert joined.height == 12
    assert joined["accuracy"].to_list() == pytest.approx(joined["value"].to_list())
    assert joined["questions"].to_list() == joined["n"].to_list()
    assert joined["videos"].to_list() == joined["v"].to_list()
    macro = expected.group_by("model").agg(pl.col("value").mean()).join(result.places, on="model")
    assert macro["value"].to_list() == pytest.approx(macro["macro_accuracy"].to_list())


def test_the_clinical_board_uses_clinical_questions_only() -> None:
    frame = focus_frame(3)
    both = rank(frame, replicates=0)
    clinical = rank(frame.filter(pl.col("clinical")).drop("clinical"), replicates=0, board="technical")
    assert both.places.filter(pl.col("board") == "clinical")["macro_accuracy"].to_list() == pytest.approx(
        clinical.places["macro_accuracy"].to_list()
    )


def test_tests_are_the_paired_tests_of_each_bucket_with_holm_inside_it() -> None:
    frame = focus_frame(4, gap=2.0)
    result = rank(frame, replicates=0, board="technical")
    for (group, ood), rows in frame.group_by("capability", "ood"):
        wide = rows.pivot(on="model", index=["case", "video"], values="value")
        expected = pair_tests(wide.select(list("ABCD")).to_numpy(), wide["video"].to_numpy())
        got = result.pairs.filter((pl.col("capability") == group) & (pl.col("ood") == ood))
        assert got["p_value"].to_list() == pytest.approx(expected.p.tolist())
        assert got["p_adjusted"].to_list() == pytest.approx(expected.p_adjusted.tolist())
        assert got["significant"].to_list() == expected.significant.tolist()


def test_display_ranks_count_the_models_significantly_better() -> None:
    result = rank(focus_table(4, gap=3.0), replicates=0, board="technical")
    for row in result.buckets.iter_rows(named=True):
        here = result.pairs.filter(
            (pl.col("capability") == row["capability"]) & (pl.col("ood") == row["ood"]) & pl.col("significant")
        )
        better = here.filter(
            ((pl.col("model_b") == row["model"]) & (pl.col("difference") > 0))
            | ((pl.col("model_a") == row["model"]) & (pl.col("difference") < 0))
        )
        assert row["rank"] == 1 + better.height


def test_leaf_names_codes_and_titles_fall_into_the_same_buckets() -> None:
    frame = focus_frame(3, groups=1)
    cases = frame.height // 3
    spellings = ["1a", "Object Recognition and Instance Matching", "instance_matching"] * cases
    spelled = frame.with_columns(pl.Series("capability", spellings[:cases] * 3))
    assert rank(spelled, replicates=0).buckets.equals(rank(frame, replicates=0).buckets)


def test_ood_and_clinical_may_be_written_in_words() -> None:
    frame = focus_frame(3)
    words = frame.with_columns(
        pl.when("ood").then(pl.lit("OOD")).otherwise(pl.lit("id")).alias("ood"),
        pl.col("clinical").cast(pl.Int64).alias("clinical"),
    )
    assert rank(words, replicates=0).places.equals(rank(frame, replicates=0).places)


def test_one_case_per_video_equals_a_table_without_videos() -> None:
    frame = focus_frame(3, videos=80, per_video=1, gap=3.0)
    alone = frame.with_columns(pl.col("case").alias("video"))
    with_videos, without = rank(alone, replicates=50), rank(frame.drop("video"), replicates=50)
    assert with_videos.places.equals(without.places)
    assert with_videos.pairs.equals(without.pairs)
    assert any("names no video" in warning for warning in without.warnings)


@settings(max_examples=12)
@given(st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_order_of_rows_and_of_models_changes_nothing(random: object, seed: int) -> None:
    frame = focus_frame(4, videos=12, per_video=12, seed=seed)
    rows = list(range(frame.height))
    random.shuffle(rows)  # type: ignore[attr-defined]
    before, after = rank(frame, replicates=30), rank(frame[rows], replicates=30)
    for name in before.tables:
        assert after.tables[name].equals(before.tables[name]), name


@settings(max_examples=12)
@given(st.permutations("ABCD"), st.integers(0, 5))
def test_renaming_models_renames_the_result(names: list[str], seed: int) -> None:
    frame = focus_frame(4, videos=12, per_video=12, seed=seed, gap=2.5)
    new = dict(zip("ABCD", names, strict=True))
    before, after = rank(frame, replicates=30), rank(frame.with_columns(pl.col("model").replace(new)), replicates=30)
    for name in ("places", "stability", "buckets"):
        key = [c for c in ("board", "capability", "ood", "model") if c in before.tables[name].columns]
        renamed = before.tables[name].with_columns(pl.col("model").replace(new))
        numeric = [c for c in renamed.columns if c != "letters"]
        left, right = renamed.select(numeric).sort(key), after.tables[name].select(numeric).sort(key)
        for column in numeric:
            if left[column].dtype.is_float():
                assert left[column].fill_null(-1).to_list() == pytest.approx(right[column].fill_null(-1).to_list())
            else:
                assert left[column].to_list() == right[column].to_list()


@pytest.mark.parametrize("merge", sorted(MERGES))
@pytest.mark.parametrize("seed", range(3))
def test_a_model_right_wherever_another_is_is_never_placed_lower(merge: str, seed: int) -> None:
    frame = focus_frame(4, videos=15, per_video=20, seed=seed, gap=0.5)
    wide = frame.pivot(on="model", index=["case", "video", "capability", "ood"], values="value")
    rng = np.random.default_rng(seed)
    lift = (wide["B"].to_numpy() == 1) | (rng.random(wide.height) < 0.3)
    table = pl.concat(
        [frame, frame.filter(pl.col("model") == "B").with_columns(model=pl.lit("Best"), value=pl.Series(lift * 1.0))]
    )
    places = rank(table, merge=merge, replicates=100).places
    for board in ("technical", "clinical"):
        place = dict(places.filter(pl.col("board") == board).select("model", "place").iter_rows())
        assert place["Best"] <= place["B"]


def test_a_model_that_wins_every_bucket_is_first_alone() -> None:
    buckets = [[[1, 0, 0], [1, 0, 0]] * 10 for _ in range(3)]
    result = rank(from_bucket_scores(buckets, ["A", "B", "C"]), board="technical", replicates=50)
    assert result.places["place"].to_list() == [1, 2, 2]
    assert result.records["structure"]["technical"]["condorcet_winner"] == "A"
    assert result.places["copeland"].to_list() == [2, -1, -1]


def test_models_that_are_all_equal_share_the_first_place_everywhere() -> None:
    frame = focus_frame(1)
    copies = pl.concat([frame.with_columns(model=pl.lit(name)) for name in "ABC"])
    result = rank(copies, replicates=30)
    assert result.places["place"].unique().to_list() == [1]
    assert result.stability["p_first"].to_list() == pytest.approx([1 / 3] * 6)
    assert result.buckets["letters"].unique().to_list() == ["a"]
    assert result.summary["letters"].unique().to_list() == ["a"]
    assert result.summary.select("rank_low", "rank_high").unique().rows() == [(1, 3)]
    assert any("stay partly tied" in warning for warning in result.warnings)


def test_every_merge_rule_appears_in_the_sensitivity_table() -> None:
    result = rank(focus_table(4, gap=3.0), replicates=50, merge="net", board="technical")
    assert result.sensitivity.columns == ["board", "model", *MERGES]
    own = rank(focus_table(4, gap=3.0), replicates=50, merge="wins", board="technical").places.sort("model")
    assert result.sensitivity.sort("model")["wins"].to_list() == own["place"].to_list()
    assert result.sensitivity.sort("model")["net"].to_list() == result.places.sort("model")["place"].to_list()


def test_stability_repeats_the_ranking_on_resampled_videos() -> None:
    """Two replicates are rebuilt from written-out resamples, with Holm on z-tests done by hand."""
    table = focus_table(4, gap=2.0, videos=15)
    options = RankOptions(board="technical", replicates=6)
    ready = prepare(table, options)
    board, members = ready.boards[0], np.arange(4)
    counts = video_counts(15, 6, stream(1, "test"))
    got = replicate(board, members, np.ones(4), options, counts)
    for row in range(6):
        lead = np.zeros((4, 4))
        for b, bucket in enumerate(board.buckets):
            copies = [(v, c) for v, c in enumerate(counts[row][bucket.videos]) for c in range(c)]
            rows = np.concatenate([np.flatnonzero(bucket.scores.videos == v) for v, _ in copies])
            unit = np.concatenate([np.full((bucket.scores.videos == v).sum(), k) for k, (v, _) in enumerate(copies)])
            run = pair_tests(bucket.scores.values[rows], unit, test="sign-flip-z")
            assert got.accuracy[b, row] == pytest.approx(bucket.scores.values[rows].mean(axis=0))
            sign = np.sign(run.difference) * run.significant
            lead[run.first, run.second] += sign
            lead[run.second, run.first] -= sign
        score = np.sign(lead).sum(axis=1)
        assert got.place[row].tolist() == [1 + int((score > s).sum()) for s in score]


@pytest.mark.parametrize("merge", sorted(set(MERGES) - {"pairwise"}))
def test_stability_follows_the_merge_rule(merge: str) -> None:
    table = focus_table(4, gap=2.0, videos=15)
    options = RankOptions(board="technical", merge=merge, test="sign-flip-z")
    board = prepare(table, options).boards[0]
    members, all_once = np.arange(4), np.ones((1, 15), dtype=int)
    point = standing(board, members, options, replicates=50).merged.place
    assert replicate(board, members, np.ones(4), options, all_once).place[0].tolist() == point.tolist()


def test_holm_without_sorting_equals_holm() -> None:
    from scipy import special

    rng = np.random.default_rng(0)
    statistic = rng.chisquare(1, (300, 15)) * rng.choice([1, 4, 9], (300, 15))
    expected = is_significant(adjusted(special.erfc(np.sqrt(statistic / 2)), "holm"), 0.05)
    assert (_holm_rejected(statistic, 0.05 / np.arange(15, 0, -1)) == expected).all()
    assert 0.05 < expected.mean() < 0.9


def test_leaving_out_a_model_shows_when_others_swap() -> None:
    result = rank(focus_table(4), replicates=0, board="technical")
    influence = result.influence
    assert influence.group_by("left_out").len().sort("left_out").rows() == [("bucket", 4), ("model", 4), ("video", 20)]
    decisive = [[[1, 0]] * 20 if b == 0 else [[1, 1]] * 20 for b in range(2)]
    moved = rank(from_bucket_scores(decisive, ["A", "B"]), replicates=0).influence
    by_bucket = moved.filter(pl.col("left_out") == "bucket").sort("name")
    assert by_bucket["first_changes"].to_list() == [True, False]


def test_equal_seeds_give_equal_results_and_other_seeds_other_intervals() -> None:
    table = focus_table(3, gap=0.3)
    first, again, other = (rank(table, replicates=50, seed=s) for s in (1, 1, 2))
    assert all(first.tables[n].equals(again.tables[n]) for n in first.tables)
    assert first.pairs.equals(other.pairs)
    assert not first.stability.equals(other.stability)


def test_intervals_of_differences_hold_the_difference() -> None:
    frame = rank(focus_table(3), replicates=0).differences
    assert ((frame["low"] < frame["difference"]) & (frame["difference"] < frame["high"])).all()


def test_bucket_weights_and_their_mistakes() -> None:
    table = focus_table(3, gap=3.0)
    assert rank(table, replicates=0, bucket_weights={"temporal_grounding": 2}).places.height == 6
    with pytest.raises(UnknownName, match="bucket weights"):
        rank(table, replicates=0, bucket_weights={"grounding": 2})
    with pytest.raises(Misuse, match="weight 0"):
        rank(table, replicates=0, bucket_weights={"temporal_grounding": 0, "object_recognition": 0})


def test_few_videos_are_warned_about() -> None:
    result = rank(focus_table(5, videos=7), replicates=0, board="technical")
    assert sum("videos cannot reach significance with 10 pairs; 9 are needed." in w for w in result.warnings) == 4
    assert not result.pairs["significant"].any()
    result = rank(focus_table(3, videos=12), replicates=0, board="technical")
    assert sum("only 12 videos" in warning for warning in result.warnings) == 4


def test_empty_buckets_are_skipped_and_named() -> None:
    result = rank(focus_table(3, groups=2), replicates=0, board="technical")
    (warning,) = [w for w in result.warnings if "empty buckets" in w]
    assert "aggregation, ID" in warning
    assert "temporal_grounding" not in warning
    assert result.buckets["capability"].n_unique() == 2


def test_tests_that_ignore_videos_are_allowed_with_a_warning() -> None:
    result = rank(focus_table(3), test="mcnemar", replicates=0)
    assert any("takes the cases of one video for independent" in warning for warning in result.warnings)
    assert "McNemar" in result.prose


def test_real_scores_are_ranked_too() -> None:
    frame = focus_frame(3, gap=3.0).with_columns(metric=pl.lit("set_f1"), value=(pl.col("value") * 2 + 1) / 3)
    result = rank(frame, metric="set_f1", replicates=50)
    assert "exact, scores times 3" in result.prose
    zero_one = rank(focus_frame(3, gap=3.0), replicates=50)
    assert result.places["copeland"].to_list() == zero_one.places["copeland"].to_list()


# --- missing scores and bad tables ---------------------------------------------------------------


def with_holes() -> pl.DataFrame:
    frame = focus_frame(3)
    frame = frame.with_row_index().with_columns(
        pl.when(pl.col("index") < 4).then(None).otherwise("value").alias("value")
    )
    return frame.filter(~pl.col("index").is_in([frame.height - 1, frame.height - 2])).drop("index")


def test_scores_not_given_count_as_wrong_and_are_counted() -> None:
    holes = with_holes()
    result = rank(holes, replicates=0)
    for told in ("4 scores of 'A' are not there (missing: 4): counted as worst, 0.", "2 scores of 'C'"):
        assert any(told in w for w in result.notes)
    filled = focus_frame(3).with_row_index()
    wrong = [0, 1, 2, 3, filled.height - 1, filled.height - 2]
    filled = filled.with_columns(pl.when(pl.col("index").is_in(wrong)).then(0.0).otherwise("value").alias("value"))
    assert result.places.equals(rank(filled.drop("index"), replicates=0).places)


def test_dropping_leaves_out_the_question_for_everyone() -> None:
    result = rank(with_holes(), replicates=0, missing="drop-case", board="technical")
    assert "6 cases were left out for every model." in result.notes
    whole = rank(focus_frame(3), replicates=0, board="technical")
    assert sum(result.buckets["questions"]) == sum(whole.buckets["questions"]) - 18


def test_missing_scores_may_be_an_error_or_a_number() -> None:
    with pytest.raises(TableInvalid, match=r"6 scores are not there \(A: missing: 4; C: missing: 2\)"):
        rank(with_holes(), replicates=0, missing="error")
    assert any("counted as 0.5" in w for w in rank(with_holes(), replicates=0, missing=0.5).notes)
    with pytest.raises(Misuse, match="same questions; use missing='drop-case'"):
        rank(with_holes(), replicates=0, missing="drop-score")


def test_a_table_without_the_columns_lists_every_one_missing() -> None:
    frame = focus_frame(3).drop("ood", "capability", "clinical")
    with pytest.raises(TableInvalid, match=r"3 problems.*'capability'.*'ood'.*'clinical'"):
        rank(frame, board="clinical", replicates=0)


def test_a_missing_clinical_column_leaves_the_technical_board() -> None:
    result = rank(focus_frame(3).drop("clinical"), replicates=0)
    assert result.places["board"].unique().to_list() == ["technical"]
    assert any("clinical leaderboard is left out" in w for w in result.warnings)


def test_unreadable_strata_are_all_listed() -> None:
    frame = focus_frame(3).with_columns(
        ood=pl.when(pl.col("ood")).then(pl.lit("maybe")).otherwise(pl.lit("false")),
        capability=pl.col("capability").replace({GROUPS[0]: "object_recogniton"}),
    )
    with pytest.raises(TableInvalid, match=r"did you mean 'object_recognition'.*'ood' holds 'maybe'"):
        rank(frame, replicates=0)


def test_a_case_described_differently_by_two_models_is_refused() -> None:
    frame = focus_frame(2).with_row_index().with_columns(ood=pl.col("ood") ^ (pl.col("index") == 0)).drop("index")
    with pytest.raises(TableInvalid, match="'ood' differs within 1 cases"):
        rank(frame, replicates=0)


def test_one_model_one_video_and_wrong_options_are_refused() -> None:
    with pytest.raises(TableInvalid, match="at least two models"):
        rank(focus_frame(1), replicates=0)
    with pytest.raises(TooFewVideos):
        rank(focus_frame(2, videos=1), replicates=0)
    with pytest.raises(UnknownName, match="merge rule 'wnis'; did you mean 'wins'"):
        rank(focus_frame(2), merge="wnis")
    with pytest.raises(UnknownName, match="ranking rule"):
        rank(focus_frame(2), "copland")
    with pytest.raises(UnknownName, match="leaderboard 'all'"):
        rank(focus_frame(2), board="all")
    with pytest.raises(Misuse, match=r"alpha.*replicates.*seed"):
        rank(focus_frame(2), alpha=2, replicates=-1, seed=-1, missing="guess")
    with pytest.raises(Misuse, match="larger is better"):
        rank(focus_frame(2).drop("metric"), "focus", better="smaller")


def test_the_group_column_may_name_groups_of_its_own() -> None:
    values = np.tile([1.0, 0.0], (40, 1))
    group = np.array(["phase", "tool"] * 20)
    frame = long_table(values, np.repeat(np.arange(20), 2), group=group, ood=np.zeros(40, dtype=bool))
    result = rank(ScoreTable.of(frame), replicates=0)
    assert result.buckets["capability"].unique().sort().to_list() == ["phase", "tool"]
    assert any("phase, OOD; tool, OOD" in w for w in result.warnings)


def test_the_export_for_challenger_holds_video_means() -> None:
    frame = focus_frame(2)
    export = rank(frame, replicates=0).challenger
    assert export.columns == ["task", "case", "algorithm", "value"]
    first = export.row(0, named=True)
    own = frame.filter((pl.col("capability") == GROUPS[0]) & ~pl.col("ood") & (pl.col("video") == first["case"]))
    assert first["value"] == pytest.approx(own.filter(pl.col("model") == first["algorithm"])["value"].mean())
