import numpy as np
import polars as pl
import pytest
from scipy import special, stats

from ranking_tables import focus_table, from_bucket_scores
from surgvalid.stats.intervals.sign_flip_interval import difference_interval
from surgvalid.stats.ranking import RankOptions, rank
from surgvalid.stats.ranking._focus.buckets import prepare
from surgvalid.stats.ranking._focus.tables import confidence_set_p

STAIRS = [[[1, 1, 1]] * 6 + [[1, 1, 0]] * 20 + [[1, 0, 0]] * 20 for _ in range(2)]
"""A is right wherever B is, and B wherever C is; all differences are significant."""


def test_leaving_out_a_model_of_a_clear_order_moves_nobody() -> None:
    result = rank(from_bucket_scores(STAIRS, ["A", "B", "C"]), replicates=0)
    assert result.places["place"].to_list() == [1, 2, 3]
    assert result.influence["models_moved"].sum() == 0
    assert result.influence["tau_b"].unique().to_list() == [1.0]


def test_a_clear_order_is_stable_and_decided() -> None:
    result = rank(from_bucket_scores(STAIRS, ["A", "B", "C"]), replicates=200)
    assert result.stability["mean_place"].to_list() == pytest.approx([1, 2, 3], abs=0.01)
    assert result.stability["p_first"].to_list() == [1.0, 0.0, 0.0]
    assert result.stability["p_top3"].to_list() == [1.0, 1.0, 1.0]
    spread = result.records["structure"]["technical"]["stability"]
    assert spread["adjacent_pairs_decided"] == 1.0
    assert spread["mean_rank_width"] == 0.0
    assert spread["tau_b_mean"] == pytest.approx(1.0)


def test_the_shares_of_tau_have_the_mean_of_the_record() -> None:
    result = rank(focus_table(4), replicates=100)
    for board, spread in ((name, record["stability"]) for name, record in result.records["structure"].items()):
        given = result.tau_frequencies.filter(pl.col("board") == board).drop_nulls()
        assert (given["tau_b"] * given["share"]).sum() / given["share"].sum() == pytest.approx(spread["tau_b_mean"])


def test_frequencies_sum_to_one_for_every_model() -> None:
    result = rank(focus_table(4), replicates=100)
    totals = result.place_frequencies.group_by("board", "model").agg(pl.col("share").sum())
    assert totals["share"].to_list() == pytest.approx([1.0] * 8)
    means = result.place_frequencies.group_by("board", "model").agg((pl.col("share") * pl.col("place")).sum())
    joined = means.join(result.stability, on=["board", "model"])
    assert joined["share"].to_list() == pytest.approx(joined["mean_place"].to_list())


@pytest.mark.parametrize("videos", [4, 8, 20])
def test_intervals_of_differences_are_those_of_the_kernel_for_tables(videos: int) -> None:
    table = focus_table(4, videos=videos, seed=2)
    result = rank(table, board="technical", replicates=0)
    for bucket in prepare(table, RankOptions(board="technical")).boards[0].buckets:
        expected = difference_interval(bucket.scores.video_differences, bucket.scores.sizes, approximate=True)
        here = (pl.col("capability") == bucket.capability) & (pl.col("ood") == bucket.ood)
        rows = result.differences.filter(here)
        assert rows["low"].to_numpy() == pytest.approx(expected.low, nan_ok=True)
        assert rows["high"].to_numpy() == pytest.approx(expected.high, nan_ok=True)
        assert rows["method"].to_list() == list(expected.method)


@pytest.mark.parametrize("seed", range(4))
def test_an_interval_of_a_difference_holds_zero_exactly_when_its_test_is_not_significant(seed: int) -> None:
    result = rank(focus_table(5, videos=24, seed=seed, gap=1.0), board="technical", replicates=0, correction="none")
    both = result.differences.join(result.pairs, on=["board", "capability", "ood", "model_a", "model_b"])
    assert both.height == 40
    assert (((both["low"] <= 0) & (both["high"] >= 0)) == (both["p_value"] > 0.05)).all()
    assert 0 < (both["p_value"] <= 0.05).sum() < 40


def test_bucket_intervals_leave_out_one_video_at_a_time() -> None:
    result = rank(from_bucket_scores(STAIRS, ["A", "B", "C"]), replicates=0).buckets
    row = result.filter(pl.col("model") == "B").row(0, named=True)
    n, share = 46, row["accuracy"]
    error = np.sqrt(share * (1 - share) / (n - 1)) / (share * (1 - share))
    reach = stats.t.ppf(0.975, n - 1) * error
    ends = special.expit(special.logit(share) + np.array([-reach, reach]))
    assert (row["low"], row["high"]) == pytest.approx(tuple(ends))
    perfect = result.filter(pl.col("model") == "A").row(0, named=True)
    assert (perfect["low"], perfect["high"]) == pytest.approx((0.025 ** (1 / 46), 1.0))


def test_the_dominance_table_counts_buckets() -> None:
    table = rank(from_bucket_scores(STAIRS, ["A", "B", "C"]), replicates=0).dominance
    row = table.filter((pl.col("model_a") == "A") & (pl.col("model_b") == "C")).row(0, named=True)
    assert (row["buckets_a_ahead"], row["buckets_b_ahead"], row["a_dominates_b"]) == (2.0, 0.0, True)
    assert table.height == 6


def test_the_confidence_set_keeps_equals_and_drops_the_clearly_worse() -> None:
    rng = np.random.default_rng(0)
    value = np.array([0.80, 0.79, 0.60, 0.80])
    p = confidence_set_p(value, value + rng.normal(0, 0.02, (2000, 4)))
    assert (p > 0.05).tolist() == [True, True, False, True]
    assert p.max() == 1.0


def test_the_confidence_set_holds_the_best_model_in_most_samples() -> None:
    rng = np.random.default_rng(1)
    truth, kept = np.array([0.70, 0.70, 0.65, 0.60]), 0
    for _ in range(200):
        value = truth + rng.normal(0, 0.02, 4)
        p = confidence_set_p(value, value + rng.normal(0, 0.02, (300, 4)))
        kept += bool((p[:2] > 0.1).all())
    assert kept / 200 > 0.85


def test_the_summary_gives_letters_and_ranks_by_macro_accuracy() -> None:
    summary = rank(from_bucket_scores(STAIRS, ["A", "B", "C"]), replicates=50).summary
    assert summary["letters"].to_list() == ["a", "b", "c"]
    assert summary.select("rank_low", "rank_high").rows() == [(1, 1), (2, 2), (3, 3)]
    assert summary["mean_rank"].to_list() == [1.0, 2.0, 3.0]


def test_the_model_confidence_set_is_given_from_a_hundred_videos_on() -> None:
    few = rank(from_bucket_scores(STAIRS, ["A", "B", "C"]), replicates=100).summary
    assert few["confidence_set_p"].null_count() == few["in_confidence_set"].null_count() == 3
    many = rank(from_bucket_scores([bucket * 3 for bucket in STAIRS], ["A", "B", "C"]), replicates=100).summary
    assert many["in_confidence_set"].to_list() == [True, False, False]


def test_without_resampling_there_is_no_stability_and_the_prose_says_so() -> None:
    result = rank(focus_table(3), replicates=0)
    assert "stability" not in result.tables
    assert result.buckets["low"].null_count() == 0
    assert result.summary["rank_low"].null_count() == 0
    assert result.summary["rank_width"].null_count() == result.summary.height
    assert "No resampling was asked for" in result.prose
    with pytest.raises(AttributeError, match="unknown table of a focus ranking 'stability'"):
        result.stability


def test_the_macro_accuracy_has_about_the_interval_of_a_cluster_bootstrap_where_videos_are_many() -> None:
    table = focus_table(3, seed=5, videos=120, per_video=10)
    summary = rank(table, "focus", board="technical", replicates=0).summary
    wide = table.frame.filter(metric="correct")
    rng = np.random.default_rng(1)
    videos = wide["video"].unique().sort()
    found: dict[str, list[float]] = {name: [] for name in summary["model"]}
    for _ in range(400):
        drawn = pl.DataFrame({"video": videos.gather(rng.integers(0, len(videos), len(videos)))})
        buckets = drawn.join(wide, on="video").group_by("model", "capability", "ood").agg(pl.col("value").mean())
        for name, value in buckets.group_by("model").agg(pl.col("value").mean()).iter_rows():
            found[name].append(value)
    for row in summary.iter_rows(named=True):
        low, high = np.quantile(found[row["model"]], [0.025, 0.975])
        assert row["macro_low"] <= row["macro_accuracy"] <= row["macro_high"]
        assert row["macro_low"] == pytest.approx(low, abs=0.02)
        assert row["macro_high"] == pytest.approx(high, abs=0.02)
