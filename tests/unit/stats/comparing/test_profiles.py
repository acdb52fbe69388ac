"""Performance profiles and the probability of improvement against brute force."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from nested_tables import nested_frame
from surgvalid.errors import DirectionUnknown, Misuse, UnknownName
from surgvalid.stats.comparing.profiles import chosen_thresholds, profiles
from surgvalid.stats.intervals.video_jackknife import jackknife_interval

FRAME = nested_frame(models=3, videos=7, rows=5, binary=False).with_columns(pl.col("value").round(1))


def scores(model: str, frame: pl.DataFrame = FRAME) -> dict[str, float]:
    return dict(frame.filter(pl.col("model") == model).select("case", "value").iter_rows())


def beaten(frame: pl.DataFrame, a: str, b: str, sign: int = 1) -> float:
    first, second = scores(a, frame), scores(b, frame)
    points = [1.0 if sign * first[c] > sign * second[c] else 0.5 if first[c] == second[c] else 0.0 for c in first]
    return float(np.mean(points))


def test_a_profile_is_the_share_of_cases_at_least_as_good() -> None:
    found = profiles(FRAME, thresholds=[0.3, 0.6]).table
    for row in found.iter_rows(named=True):
        values = list(scores(row["model"]).values())
        assert row["value"] == pytest.approx(np.mean([value >= row["threshold"] for value in values]))
    assert found.height == 6


def test_where_smaller_is_better_the_profile_counts_what_stays_below() -> None:
    smaller = FRAME.with_columns(metric=pl.lit("gap"))
    found = profiles(smaller, thresholds=[0.4], better="smaller")
    values = list(scores("M1").values())
    share = found.table.filter(model="M1")["value"][0]
    assert share == pytest.approx(np.mean([value <= 0.4 for value in values]))
    assert found.improvement.filter(model_a="M0", model_b="M2")["value"][0] == pytest.approx(
        beaten(FRAME, "M0", "M2", sign=-1)
    )


def test_the_probability_of_improvement_counts_ties_as_half_and_its_interval_leaves_out_videos() -> None:
    found = profiles(FRAME, level=0.9).improvement
    assert [tuple(row) for row in found.select("model_a", "model_b").iter_rows()] == list(
        combinations(["M0", "M1", "M2"], 2)
    )
    videos = FRAME["video"].unique().sort().to_list()
    sizes = np.array([len(scores("M0", FRAME.filter(pl.col("video") == video))) for video in videos], dtype=float)
    for row in found.iter_rows(named=True):
        a, b = row["model_a"], row["model_b"]
        value = beaten(FRAME, a, b)
        without = np.array([[beaten(FRAME.filter(pl.col("video") != video), a, b)] for video in videos])
        by_hand = jackknife_interval(np.array([value]), without, sizes, level=0.9, low=0.0, high=1.0)
        assert row["value"] == pytest.approx(value)
        assert (row["low"], row["high"]) == pytest.approx((by_hand.low[0], by_hand.high[0]))
        assert row["tied"] == sum(scores(a)[c] == scores(b)[c] for c in scores(a))


def test_the_other_way_round_is_one_minus_it() -> None:
    names = pl.col("model").replace({"M0": "M2", "M2": "M0"})
    turned = profiles(FRAME.with_columns(names).sort("model", maintain_order=True)).improvement
    there = profiles(FRAME).improvement.filter(model_a="M0", model_b="M2").row(0, named=True)
    back = turned.filter(model_a="M0", model_b="M2").row(0, named=True)
    assert back["value"] == pytest.approx(1 - there["value"])
    assert (back["low"], back["high"]) == pytest.approx((1 - there["high"], 1 - there["low"]))


def test_the_estimand_videos_is_the_mean_over_videos() -> None:
    found = profiles(FRAME, thresholds=[0.5], estimand="videos").table
    mine = FRAME.filter(pl.col("model") == "M2").group_by("video").agg((pl.col("value") >= 0.5).mean())
    assert found.filter(model="M2")["value"][0] == pytest.approx(mine["value"].mean())
    with pytest.raises(UnknownName):
        profiles(FRAME, estimand="patients")


def test_slices_are_reported_one_by_one() -> None:
    found = profiles(FRAME, thresholds=[0.5], by=["view"])
    smoke = profiles(FRAME.filter(pl.col("view") == "smoke"), thresholds=[0.5])
    assert found.table.filter(view="smoke").drop("view").equals(smoke.table)
    assert found.improvement.filter(view="smoke").drop("view").equals(smoke.improvement)


def test_few_scores_are_their_own_thresholds_and_many_are_spread_over_the_range() -> None:
    assert profiles(nested_frame()).table["threshold"].unique().to_list() == [0.0, 1.0]
    many = nested_frame(binary=False)
    marks = profiles(many).table["threshold"].unique().sort().to_list()
    assert (len(marks), marks[0], marks[-1]) == (21, 0.0, 1.0)
    unbounded = many.with_columns(metric=pl.lit("depth"), value=pl.col("value") * 100)
    marks = profiles(unbounded, better="larger").table["threshold"].unique().sort()
    assert (marks[0], marks[-1]) == pytest.approx((unbounded["value"].min(), unbounded["value"].max()))


def test_two_videos_have_no_interval_and_the_reader_is_told() -> None:
    found = profiles(FRAME.filter(pl.col("video").is_in(["v00", "v01"])), thresholds=[0.5])
    assert found.table["low"].null_count() == found.table.height
    assert [finding.code for finding in found.findings] == ["few-videos"]
    assert set(found.improvement["note"]) == {"too few videos for an interval"}


def test_models_that_always_tie_are_a_half_without_an_interval() -> None:
    twins = pl.concat([FRAME.filter(pl.col("model") == "M0").with_columns(model=pl.lit(name)) for name in "AB"])
    row = profiles(twins).improvement.row(0, named=True)
    assert (row["value"], row["low"], row["tied"], row["note"]) == (
        0.5, None, row["cases"], "all videos agree: no interval",
    )  # fmt: skip


def test_what_cannot_be_profiled_is_refused() -> None:
    with pytest.raises(DirectionUnknown):
        profiles(FRAME.with_columns(metric=pl.lit("wobble")))
    with pytest.raises(Misuse, match="finite"):
        profiles(FRAME, thresholds=[float("nan")])
    assert chosen_thresholds(None, [0.5, 0.2, 0.5]).tolist() == [0.2, 0.5]  # type: ignore[arg-type]


def test_a_threshold_that_every_score_reaches_by_definition_is_certain() -> None:
    rows = {"model": ["A"] * 4, "case": list("abcd"), "video": list("uvwx"), "metric": ["correct"] * 4,
            "value": [1, 0, 1, 1]}  # fmt: skip
    first, second = profiles(rows).table.iter_rows(named=True)
    assert (first["threshold"], first["value"], first["low"], first["high"]) == (0.0, 1.0, 1.0, 1.0)
    assert first["note"] == "every score reaches it by definition"
    assert second["low"] < second["value"]
