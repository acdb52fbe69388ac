from pathlib import Path

import numpy as np
import polars as pl
import pytest

import surgvalid
from nested_tables import nested_frame
from surgvalid.errors import Misuse, TableInvalid, UnknownName
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.stats.intervals.interval import interval, metric_interval, prepared_spread
from surgvalid.stats.intervals.statistic import MetricStatistic, Statistic
from surgvalid.stats.intervals.video_jackknife import mean_interval

FRAME = nested_frame(videos=12)


def ends(result: surgvalid.IntervalResult) -> list[tuple[float, ...]]:
    return result.table.sort("model").select("value", "low", "high").rows()


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_the_value_lies_in_its_interval_and_carries_its_estimand(method: str, estimand: str) -> None:
    table = interval(FRAME, method=method, estimand=estimand, replicates=300).table
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()
    assert table["estimand"].unique().to_list() == [estimand]


def test_the_two_estimands_have_different_values_when_videos_differ_in_length() -> None:
    pooled, averaged = (
        interval(FRAME, estimand=e, replicates=20).table["value"].to_numpy() for e in ("rows", "videos")
    )
    means = FRAME.group_by("model", "video").agg(pl.col("value").mean()).group_by("model").agg(pl.col("value").mean())
    assert averaged == pytest.approx(means.sort("model")["value"].to_numpy())
    assert not np.allclose(pooled, averaged)


def test_a_slice_does_not_depend_on_which_others_are_asked_for() -> None:
    both = interval(FRAME, by=["view"], replicates=100).table.filter(pl.col("view") == "smoke")
    alone = interval(FRAME.filter(pl.col("view") == "smoke"), by=["view"], replicates=100).table
    assert both.equals(alone)


def test_row_and_model_order_change_nothing() -> None:
    shuffled = FRAME.sample(fraction=1, shuffle=True, seed=3)
    assert ends(interval(FRAME, replicates=100)) == ends(interval(shuffled, replicates=100))


def test_names_that_keep_their_order_may_be_anything() -> None:
    renamed = FRAME.with_columns(video="patient " + pl.col("video"), case="case " + pl.col("case"))
    assert ends(interval(FRAME, replicates=100)) == ends(interval(renamed, replicates=100))


def test_perfect_scores_have_the_best_value_without_spread() -> None:
    perfect = FRAME.with_columns(value=pl.lit(1.0))
    row = interval(perfect, replicates=50, method="bootstrap").table.row(0, named=True)
    assert (row["value"], row["low"], row["high"], row["sd"]) == (1.0, 1.0, 1.0, 0.0)


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_one_video_has_values_without_an_interval(method: str) -> None:
    alone = interval(FRAME.filter(pl.col("video") == "v00"), method=method, replicates=20)
    assert alone.table["low"].null_count() == alone.table.height
    assert alone.table["value"].null_count() == 0


def test_slices_of_one_video_have_no_interval_and_say_so() -> None:
    result = interval(FRAME, by=["video"])
    assert result.table["low"].null_count() == result.table.height
    assert set(result.table["note"]) == {"1 video: no interval; the spread between videos cannot be judged."}
    assert [one.code for one in result.findings] == ["few-videos"]
    drawn = interval(FRAME, by=["video"], method="bootstrap", replicates=20).table
    assert drawn["low"].null_count() == drawn.height
    assert set(drawn["note"]) == {"one unit only: its spread is unknowable"}
    assert interval(FRAME.filter(pl.col("video") == "v00"), resample="naive").table["low"].null_count() == 0


def test_one_model_and_cases_without_videos_are_fine_and_said() -> None:
    alone = FRAME.filter(pl.col("model") == "M0").drop("video").with_columns(pl.col("case").rank("dense").alias("case"))
    result = interval(alone, resample="cluster", replicates=50)
    assert result.table.height == 1
    assert "each case counts as independent" in " ".join(result.warnings)


def test_missing_pairs_are_filled_dropped_or_refused_and_always_reported() -> None:
    holed = FRAME.filter(~((pl.col("model") == "M1") & (pl.col("case") == "v00q00")))
    worst = interval(holed, replicates=20)
    assert "1 score of 'M1' is not there (missing: 1): counted as worst, 0." in worst.notes
    dropped = interval(holed, replicates=20, missing="drop-case")
    assert dropped.table["cases"].unique().to_list() == [worst.table["cases"][0] - 1]
    assert "1 case was left out for every model." in dropped.notes
    with pytest.raises(TableInvalid, match=r"1 score is not there \(M1: missing: 1\)"):
        interval(holed, missing="error")


def test_a_model_that_was_never_scored_has_no_value() -> None:
    blank = FRAME.with_columns(value=pl.when(pl.col("model") == "M1").then(None).otherwise(pl.col("value")))
    row = interval(blank, replicates=20, missing="drop-score").table.filter(pl.col("model") == "M1").row(0, named=True)
    assert (row["value"], row["low"], row["note"], row["cases"]) == (None, None, "not scored", 0)


def test_videos_are_counted_where_the_model_has_scores() -> None:
    gone = (pl.col("model") == "M1") & (pl.col("video") == "v00")
    holed = FRAME.with_columns(value=pl.when(gone).then(None).otherwise(pl.col("value")))
    table = interval(holed, missing="drop-score").table
    videos = dict(zip(table["model"], table["videos"], strict=True))
    assert videos["M1"] == videos["M0"] - 1 == FRAME["video"].n_unique() - 1


def test_duplicates_are_refused() -> None:
    with pytest.raises(TableInvalid, match="repeat"):
        interval(pl.concat([FRAME, FRAME.head(1)]))


def test_settings_that_contradict_themselves_are_refused() -> None:
    for gone in ("percentile", "basic", "bca", "deterministic"):
        with pytest.raises(UnknownName, match=f"unknown interval method '{gone}'; known: auto, bootstrap"):
            interval(FRAME, method=gone)
    with pytest.raises(UnknownName, match="unknown column 'smoke'"):
        interval(FRAME, by=["smoke"])
    with pytest.raises(Misuse, match="between 2 and 10,000,000, got 0"):
        interval(FRAME, replicates=0)


def test_the_paragraph_says_what_was_done() -> None:
    auto = interval(FRAME, level=0.9).prose
    for part in ("estimand: rows", "12 videos", "90% intervals", "leaving out one video", "Nothing is drawn"):
        assert part in auto
    prose = interval(FRAME, method="bootstrap", resample="two-stage", replicates=50, seed=7, level=0.9).prose
    for part in ("estimand: rows", "12 videos", "90% bootstrap", "50 two-stage", "seed 7"):
        assert part in prose


def test_results_are_written_as_csv_parquet_and_folder(tmp_path: Path) -> None:
    result = interval(FRAME, replicates=20)
    assert pl.read_csv(result.to_file(tmp_path / "i.csv"))["value"].to_list() == result.table["value"].to_list()
    assert pl.read_parquet(result.to_file(tmp_path / "i.parquet")).equals(result.table)
    result.to_dir(tmp_path / "folder")
    assert (tmp_path / "folder" / "intervals.txt").read_text().startswith("Values are the mean")
    with pytest.raises(Misuse, match=r"expected \.csv or"):
        result.to_file(tmp_path / "i.xlsx")
    assert "IntervalResult" in repr(result)


class Accuracy:
    """A metric that is a mean, so that the general route can be compared with the fast one."""

    facts = MetricFacts("accuracy")

    def prepare(self, cases: pl.DataFrame) -> np.ndarray:
        return cases["value"].to_numpy()

    def combine(self, statistics: np.ndarray, weights: np.ndarray) -> np.ndarray:
        total = weights.sum(axis=-1)
        return np.divide(weights @ statistics, total, out=np.full(len(weights), np.nan), where=total > 0)


WAYS = [(resample, estimand) for resample in ("naive", "cluster", "two-stage") for estimand in ("rows", "videos")]


@pytest.mark.parametrize(("resample", "estimand"), WAYS)
def test_a_metric_is_resampled_through_its_weights(resample: str, estimand: str) -> None:
    method = "bootstrap"
    one = FRAME.filter(pl.col("model") == "M0").sort("case")
    plain = interval(one, resample=resample, estimand=estimand, replicates=60, method=method).table.row(0, named=True)
    general = metric_interval(
        Accuracy(),
        one,
        video=one["video"].to_list(),
        resample=resample,
        estimand=estimand,
        replicates=60,
        method=method,
    ).table.row(0, named=True)
    for column in ("value", "low", "high", "sd"):
        assert general[column] == pytest.approx(plain[column], rel=1e-12)


def test_a_metric_whose_statistics_do_not_match_its_videos_is_refused() -> None:
    with pytest.raises(Misuse, match="but 1 videos were named"):
        metric_interval(Accuracy(), FRAME, video=["v"])


def test_prepared_cases_get_the_draws_of_the_metric_interval() -> None:
    one = FRAME.filter(pl.col("model") == FRAME["model"][0])
    videos, metric = one["video"].to_list(), Accuracy()
    for method in ("auto", "bootstrap"):
        options = {"video": videos, "replicates": 80, "method": method}
        whole = metric_interval(metric, one, **options).table.row(0, named=True)
        prepared = np.asarray(metric.prepare(one))
        found = prepared_spread(MetricStatistic(metric), prepared, facts=metric.facts, names=["accuracy"], **options)
        for column in ("value", "low", "high", "sd"):
            assert getattr(found.spread, column) == pytest.approx([whole[column]], rel=1e-12)
        assert found.undefined.tolist() == [0]


def test_resamples_in_which_a_value_is_undefined_are_counted_and_left_aside() -> None:
    values = np.array([[1.0, 1.0], [0.0, np.nan], [0.5, np.nan]])
    options = {"method": "bootstrap", "facts": MetricFacts("m"), "names": ["a", "b"], "replicates": 200}
    found = prepared_spread(Statistic("mean"), values, video=list("uvw"), **options)
    assert found.undefined[0] == 0
    assert 30 < found.undefined[1] < 90  # the first video is missing from (2/3)^3 of the resamples
    assert (found.spread.low[1], found.spread.value[1], found.spread.high[1]) == (1.0, 1.0, 1.0)


def test_the_paragraph_says_the_level_unrounded() -> None:
    assert "97.5% bootstrap intervals" in interval(FRAME, level=0.975, method="bootstrap", replicates=20).prose
    assert "99.9% intervals" in interval(FRAME, level=0.999).prose


def test_the_default_is_the_jackknife_over_videos_and_draws_nothing() -> None:
    one, other = interval(FRAME, seed=1), interval(FRAME.sample(fraction=1, shuffle=True, seed=3), seed=2, replicates=7)
    assert one.table.equals(other.table)
    totals = FRAME.filter(pl.col("model") == "M1").group_by("video").agg(pl.col("value").sum(), pl.len())
    expected = mean_interval(totals["value"].to_numpy()[:, None], totals["len"].to_numpy(), low=0, high=1)
    row = one.table.filter(pl.col("model") == "M1").row(0, named=True)
    for name, column in (
        ("low", "low"),
        ("high", "high"),
        ("sd", "sd"),
        ("df", "df"),
        ("effective", "effective_videos"),
    ):
        assert row[column] == pytest.approx(getattr(expected, name)[0], rel=1e-12)
    assert (row["method"], row["replicates"], row["seed"]) == ("jackknife, logit", None, None)


def test_what_has_no_effect_on_a_method_is_said() -> None:
    assert [one.code for one in interval(FRAME, resample="two-stage").findings] == ["resample-unused"]
    assert interval(FRAME, resample="cluster").findings == ()
    assert interval(FRAME, resample="two-stage").table["low"].equals(interval(FRAME).table["low"])
    assert not interval(FRAME, resample="naive").table["low"].equals(interval(FRAME).table["low"])


def test_two_videos_carry_no_interval_and_findings_name_only_the_models_concerned() -> None:
    few = interval(FRAME.filter(pl.col("video") < "v02"))
    assert few.table["low"].null_count() == few.table.height
    assert [one.text for one in few.findings] == ["2 videos: no interval; the spread between videos cannot be judged."]
    flat = FRAME.with_columns(value=pl.when(pl.col("model") == "M1").then(0.5).otherwise(pl.col("value")))
    found = [one for one in interval(flat).findings if one.code == "no-variation"]
    assert [one.subject for one in found] == ["M1"]
