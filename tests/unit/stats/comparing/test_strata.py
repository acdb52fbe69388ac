from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from nested_tables import nested_frame
from surgvalid.errors import Misuse, TooFewVideos, UnknownName
from surgvalid.stats.comparing.contrasts import ALL_MODELS
from surgvalid.stats.comparing.strata import cooccurrence, strata, stratum_masks
from surgvalid.stats.intervals.video_jackknife import degrees_of_freedom

FRAME = nested_frame(videos=10, rows=12, binary=False).with_columns(
    smoke=pl.col("view") == "smoke",
    blood=(pl.col("case").str.tail(1).cast(pl.Int64) < 3).cast(pl.Int64),
    window_s=pl.col("case").str.tail(2).cast(pl.Float64),
)


def pick(table: pl.DataFrame, **labels: str) -> dict:
    return table.filter(**labels).row(0, named=True)


@pytest.mark.parametrize("rule", ["joint", "subset"])
def test_deltas_are_stratum_minus_whole_and_their_median_over_models(rule: str) -> None:
    options = {"statistic": "median", "rule": rule, "method": "bootstrap", "replicates": 50}
    table = strata(FRAME, ["smoke", "blood"], **options).table
    deltas = []
    for model in ("M0", "M1", "M2"):
        mine = FRAME.filter(pl.col("model") == model)
        expected = mine.filter("smoke")["value"].median() - mine["value"].median()
        row = pick(table, stratum="smoke", model=model)
        assert row["delta"] == pytest.approx(expected)
        assert row["low"] <= row["high"]
        deltas.append(expected)
    assert pick(table, stratum="smoke", model=ALL_MODELS)["delta"] == pytest.approx(np.median(deltas))


def test_a_stratum_that_is_the_whole_has_no_delta_and_no_spread() -> None:
    row = strata(FRAME.with_columns(everything=pl.lit(True)), ["everything"], replicates=50).table.row(0, named=True)
    assert (row["delta"], row["low"], row["high"]) == (0.0, 0.0, 0.0)


def test_the_joint_interval_covers_what_resampling_videos_gives() -> None:
    table = strata(FRAME, ["smoke"], method="bootstrap", replicates=2000).table
    rng = np.random.default_rng(0)
    mine = FRAME.filter(pl.col("model") == "M1")
    videos = {name[0]: part for name, part in mine.partition_by("video", as_dict=True).items()}
    names = list(videos)
    draws = []
    for _ in range(600):
        drawn = pl.concat([videos[names[i]] for i in rng.integers(0, len(names), len(names))])
        draws.append(drawn.filter("smoke")["value"].mean() - drawn["value"].mean())
    row = pick(table, stratum="smoke", model="M1")
    assert row["sd"] == pytest.approx(np.std(draws), rel=0.12)
    assert row["low"] == pytest.approx(np.quantile(draws, 0.025), abs=0.25 * row["sd"])


def test_the_subset_rule_resamples_only_videos_with_the_property() -> None:
    rare = FRAME.with_columns(rare=pl.col("smoke") & pl.col("video").is_in(["v01", "v04", "v07"]))
    rng = np.random.default_rng(0)
    mine = rare.filter(pl.col("model") == "M0")
    parts = [mine.filter(pl.col("video") == name) for name in ("v01", "v04", "v07")]
    draws = []
    for _ in range(800):
        inside, whole = [], []
        for i in rng.integers(0, 3, 3):
            a, b = parts[i].filter("rare")["value"].to_numpy(), parts[i]["value"].to_numpy()
            inside.append(rng.choice(a, len(a)))
            whole.append(rng.choice(b, len(b)))
        draws.append(np.median(np.concatenate(inside)) - np.median(np.concatenate(whole)))
    table = strata(rare, ["rare"], rule="subset", statistic="median", method="bootstrap", replicates=4000).table
    row = pick(table, stratum="rare", model="M0")
    assert row["videos"] == 3
    assert row["sd"] == pytest.approx(np.std(draws), rel=0.12)


def test_the_subset_rule_draws_stratum_rows_and_all_rows_apart() -> None:
    frame = FRAME.with_columns(all=pl.lit(True))
    row = strata(frame, ["all"], rule="subset", method="bootstrap", replicates=60).table.row(0, named=True)
    assert row["delta"] == 0.0
    assert row["low"] < 0 < row["high"]


def test_the_default_interval_is_the_jackknife_of_the_difference() -> None:
    row = pick(strata(FRAME, ["smoke"]).table, stratum="smoke", model="M1")
    mine = FRAME.filter(pl.col("model") == "M1")

    def delta(rows: pl.DataFrame) -> float:
        return rows.filter("smoke")["value"].mean() - rows["value"].mean()

    names = mine["video"].unique().to_list()
    gaps = [delta(mine.filter(pl.col("video") != name)) - delta(mine) for name in names]
    sd = np.sqrt((len(names) - 1) / len(names) * np.square(gaps).sum())
    sizes = mine.filter("smoke")["video"].value_counts()["count"].to_numpy().astype(float)
    df = float(degrees_of_freedom(sizes))
    assert (row["sd"], row["df"]) == pytest.approx((sd, df), rel=1e-9)
    reach = stats.t.ppf(0.975, df) * sd
    assert (row["low"], row["high"]) == pytest.approx((delta(mine) - reach, delta(mine) + reach), rel=1e-9)
    assert (row["method"], row["seed"], row["replicates"]) == ("jackknife", None, None)


def test_few_videos_in_a_stratum_are_said_and_two_carry_no_interval() -> None:
    frame = FRAME.with_columns(
        two=pl.col("smoke") & pl.col("video").is_in(["v01", "v04"]),
        four=pl.col("smoke") & pl.col("video").is_in(["v01", "v04", "v05", "v06"]),
    )
    result = strata(frame, ["two", "four"])
    assert pick(result.table, stratum="two", model="M0")["low"] is None
    assert pick(result.table, stratum="four", model="M0")["low"] is not None
    assert [(one.code, one.subject) for one in result.findings] == [("few-videos", "two"), ("few-videos", "four")]
    with pytest.raises(Misuse, match="pass method='bootstrap'"):
        strata(FRAME, ["smoke"], rule="subset")
    assert "pooled quantiles" in pick(strata(FRAME, ["smoke"], statistic="median").table, model="M0")["note"]


def test_the_gap_to_the_remaining_cases_is_a_baseline_of_its_own() -> None:
    row = pick(strata(FRAME, ["smoke"], baseline="rest", replicates=50).table, stratum="smoke", model="M0")
    mine = FRAME.filter(pl.col("model") == "M0")
    assert row["delta"] == pytest.approx(
        mine.filter("smoke")["value"].mean() - mine.filter(~pl.col("smoke"))["value"].mean()
    )


def test_numbers_are_cut_into_bins_and_low_artifact_means_at_most_one() -> None:
    cases = FRAME.filter(pl.col("model") == "M0")
    masks = stratum_masks(cases, ["smoke", "blood"], bins={"window_s": [4, 8]}, low_artifact=True)
    names = [labels["stratum"] for labels, _ in masks]
    assert names == ["smoke", "blood", "below 4", "4 to 8", "8 and more", "at most 1 of 2"]
    binned = np.array([mask for _, mask in masks[2:5]])
    assert (binned.sum(axis=0) == 1).all()
    both = (masks[0][1] & masks[1][1]).sum()
    assert (~masks[-1][1]).sum() == both


def test_empty_strata_and_strata_of_one_video_are_named_results() -> None:
    frame = FRAME.with_columns(never=pl.lit(False), once=pl.col("video") == "v02")
    table = strata(frame, ["never", "once"], replicates=30).table
    never, once = pick(table, stratum="never", model="M0"), pick(table, stratum="once", model="M0")
    assert (never["delta"], never["low"], never["note"]) == (None, None, "no cases")
    assert once["delta"] is not None
    assert once["low"] is None
    assert "one video" in once["note"]


def test_resamples_without_the_stratum_are_left_aside_and_counted() -> None:
    frame = FRAME.with_columns(rare=pl.col("smoke") & pl.col("video").is_in(["v01", "v04"]))
    row = pick(strata(frame, ["rare"], method="bootstrap", replicates=400).table, stratum="rare", model="M0")
    assert "had no scored case" in row["note"]
    assert row["low"] is not None


def test_the_mean_over_videos_can_be_contrasted_too() -> None:
    row = pick(strata(FRAME, ["smoke"], estimand="videos", replicates=50).table, stratum="smoke", model="M0")
    means = FRAME.filter((pl.col("model") == "M0") & pl.col("smoke")).group_by("video").agg(pl.col("value").mean())
    assert row["value"] == pytest.approx(means["value"].mean())
    with pytest.raises(Misuse, match="need resample='cluster'"):
        strata(FRAME, ["smoke"], estimand="videos", resample="two-stage")


def test_what_cannot_be_stratified_is_refused() -> None:
    with pytest.raises(UnknownName, match="unknown column 'haze'"):
        strata(FRAME, ["haze"])
    with pytest.raises(Misuse, match="give bins"):
        strata(FRAME, ["window_s"])
    with pytest.raises(Misuse, match="rising, finite edges"):
        strata(FRAME, [], bins={"window_s": [8, 4]})
    with pytest.raises(Misuse, match="at least one"):
        strata(FRAME, [])
    with pytest.raises(UnknownName, match="unknown strata rule"):
        strata(FRAME, ["smoke"], rule="paper")
    with pytest.raises(Misuse, match="at most one true/false"):
        strata(FRAME, ["view"], low_artifact=True)
    with pytest.raises(TooFewVideos):
        strata(FRAME.filter(pl.col("video") == "v00"), ["smoke"])


def test_row_order_changes_no_stratum() -> None:
    shuffled = FRAME.sample(fraction=1, shuffle=True, seed=5)
    one, other = (
        strata(f, ["smoke", "view"], replicates=40).table.sort("stratum", "model", "column") for f in (FRAME, shuffled)
    )
    assert one.drop("baseline").equals(other.drop("baseline"))


def test_marginal_and_conditional_performance_per_pair_of_labels() -> None:
    frame = FRAME.with_columns(
        capability=pl.when(pl.col("smoke")).then(pl.lit("time")).otherwise(pl.lit("space")),
        secondary=pl.when(pl.col("blood") == 1).then(pl.lit("space; count")).otherwise(pl.lit("")),
    )
    table = cooccurrence(frame, replicates=40).table
    mine = frame.filter(pl.col("model") == "M0")
    both = mine.filter((pl.col("capability") == "time") & (pl.col("blood") == 1))
    row = table.filter(kind="conditional", label="time", given="count", model="M0").row(0, named=True)
    assert row["value"] == pytest.approx(both["value"].mean())
    assert row["baseline"] == pytest.approx(mine.filter(pl.col("capability") == "time")["value"].mean())
    marginal = table.filter(kind="marginal", label="space", model="M0").row(0, named=True)
    carries = mine.filter((pl.col("capability") == "space") | (pl.col("blood") == 1))
    assert marginal["cases"] == carries.height
    alone = table.filter(kind="conditional", label="time", given="(none)", model="M0").row(0, named=True)
    assert alone["cases"] == mine.filter((pl.col("capability") == "time") & (pl.col("blood") == 0)).height


def test_labels_may_come_as_lists_and_other_columns_are_refused() -> None:
    frame = FRAME.with_columns(capability=pl.lit("time"), secondary=pl.concat_list(pl.lit("a")))
    assert set(cooccurrence(frame, replicates=20).table["kind"]) == {"marginal", "primary", "conditional"}
    with pytest.raises(Misuse, match="expected text or lists"):
        cooccurrence(frame, secondary="window_s")
    with pytest.raises(UnknownName, match="unknown column"):
        cooccurrence(frame, secondary="other")


LABELLED = nested_frame(videos=9, rows=8).with_columns(
    seen=pl.when(pl.col("case").str.ends_with("1"))
    .then(pl.lit("smoke; blood"))
    .when(pl.col("case").str.ends_with("2"))
    .then(pl.lit("blood"))
    .when(pl.col("case").str.ends_with("3"))
    .then(pl.lit("smoke"))
)


def test_each_label_of_a_case_is_a_stratum_and_the_overlap_is_said() -> None:
    found = strata(LABELLED, ["seen"], replicates=50)
    flags = LABELLED.with_columns(
        pl.col("seen").str.contains(label).fill_null(False).alias(label) for label in ("blood", "smoke")
    )
    by_hand = strata(flags, ["blood", "smoke"], replicates=50)
    assert found.table["stratum"].unique().sort().to_list() == ["blood", "smoke"]
    assert found.table.drop("column").equals(by_hand.table.drop("column"))
    assert found.table["column"].unique().to_list() == ["seen"]
    assert [finding.code for finding in found.findings] == ["labels-split"]
    assert "2 strata that overlap (9 cases lie in several, 54 in none)" in found.notes[0]


def test_a_column_of_lists_is_split_like_text(tmp_path: Path) -> None:
    lists = LABELLED.with_columns(pl.col("seen").str.split("; "))
    lists.write_parquet(tmp_path / "scores.parquet")
    text = strata(LABELLED, ["seen"], replicates=50).table
    assert strata(lists, ["seen"], replicates=50).table.equals(text)
    assert strata(tmp_path / "scores.parquet", ["seen"], replicates=50).table.equals(text)


def test_another_sign_between_labels_can_be_named() -> None:
    bars = LABELLED.with_columns(pl.col("seen").str.replace("; ", "|"))
    assert "smoke|blood" in strata(bars, ["seen"], replicates=20).table["stratum"]
    split = strata(bars, ["seen"], separator="|", replicates=20).table
    assert split["stratum"].unique().sort().to_list() == ["blood", "smoke"]


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_a_stratum_compared_with_the_cases_of_one_video_has_no_interval(method: str) -> None:
    """One case outside the stratum looked like a certain difference: leaving out its video told nothing."""
    rng = np.random.default_rng(3)
    rows = [
        {"model": "A", "case": f"q{v}{q}", "video": f"v{v}", "metric": "correct", "value": float(rng.random() < 0.5),
         "phase": "rare" if (v, q) == (0, 0) else "P"}
        for v in range(8)
        for q in range(6)
    ]  # fmt: skip
    result = strata(pl.DataFrame(rows), ["phase"], baseline="rest", method=method, replicates=50)
    row = result.table.filter(pl.col("stratum") == "P").row(0, named=True)
    assert (row["videos"], row["baseline_videos"]) == (8, 1)
    assert (row["low"], row["high"], row["sd"]) == (None, None, None)
    assert row["note"] == "what it is compared with: one video only: its spread is unknowable"
