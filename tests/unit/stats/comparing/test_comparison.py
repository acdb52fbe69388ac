import numpy as np
import polars as pl
import pytest
from scipy import stats

from nested_tables import nested_frame
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.metric_facts import MetricFacts
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.comparing.comparison import compare, min_detectable
from surgvalid.stats.intervals.interval import interval

FRAME = nested_frame(videos=14, rows=8)


def row(*args, **options) -> dict:
    return compare(*args, **options).table.row(0, named=True)


def test_the_difference_is_that_of_the_two_values_and_turns_with_the_models() -> None:
    one, other = row(FRAME, "M2", "M0"), row(FRAME, "M0", "M2")
    values = interval(FRAME, replicates=20).table
    assert one["difference"] == pytest.approx(values["value"][2] - values["value"][0])
    assert (one["low"], one["high"]) == pytest.approx((-other["high"], -other["low"]))
    assert one["favours"] == other["favours"]
    assert one["p_value"] == other["p_value"]
    assert (one["videos_won"], one["videos_lost"]) == (other["videos_lost"], other["videos_won"])
    assert one["videos_won"] + one["videos_lost"] + one["videos_tied"] == 14


def test_pairing_makes_the_interval_narrower_than_two_separate_ones() -> None:
    shared = FRAME.with_columns(
        value=pl.when(pl.col("case").str.ends_with("0")).then(pl.col("value")).otherwise(pl.col("case").hash(1) % 2)
    )
    found = row(shared, "M2", "M0")
    apart = interval(shared, resample="cluster").table
    assert found["sd"] < np.hypot(apart["sd"][0], apart["sd"][2])


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_every_method_gives_an_interval(method: str, statistic: str) -> None:
    frame = nested_frame(videos=14, rows=8, binary=False)
    estimand = "videos" if method == "auto" else "rows"
    found = row(frame, "M2", "M0", method=method, statistic=statistic, estimand=estimand, replicates=200)
    assert found["low"] <= found["difference"] <= found["high"]


def test_a_claim_between_equal_models_is_a_coin_toss_and_between_unequal_ones_is_safe() -> None:
    rng = np.random.default_rng(0)
    equal = pl.DataFrame(
        {
            "model": ["A"] * 300 + ["B"] * 300,
            "case": [f"q{i:03d}" for i in range(300)] * 2,
            "video": [f"v{i % 30}" for i in range(300)] * 2,
            "value": rng.integers(0, 2, 600).astype(float),
            "metric": ["correct"] * 600,
        }
    )
    assert row(equal, "A", "B")["p_value"] > 0.05
    assert row(equal, "A", "B")["favours"] is None
    better = equal.with_columns(value=pl.when(pl.col("model") == "A").then(1.0).otherwise(pl.col("value")))
    found = row(better, "A", "B")
    assert found["p_value"] == found["smallest_p"] == 2.0**-29
    assert "p_false_claim" not in found


def test_the_interval_and_the_p_value_are_one_conclusion_whatever_the_method() -> None:
    auto, drawn = row(FRAME, "M2", "M0"), row(FRAME, "M2", "M0", method="bootstrap")
    assert (auto["low"] > 0) == (auto["p_value"] <= 0.05)
    assert auto["method"] == "sign-flip"
    for name in ("p_value", "smallest_p", "favours", "effective_videos"):
        assert drawn[name] == auto[name]
    assert auto["df"] is not None
    assert (drawn["df"], drawn["method"]) == (None, "bootstrap")
    codes = [one.code for one in compare(FRAME, "M2", "M0", method="bootstrap").findings]
    assert codes == ["percentile-too-narrow"]
    assert (auto["replicates"], auto["seed"], drawn["replicates"], drawn["seed"]) == (None, None, 1000, 42)


@pytest.mark.parametrize("method", ["auto", "bootstrap"])
def test_below_six_videos_nobody_is_favoured_and_it_is_said(method: str) -> None:
    five = FRAME.filter(pl.col("video") < "v05").with_columns(value=(pl.col("model") == "M2").cast(pl.Float64))
    five = five.with_columns(value=pl.when(pl.col("case") == "v00q00").then(0.5).otherwise(pl.col("value")))
    result = compare(five, "M2", "M0", method=method)
    found = result.table.row(0, named=True)
    assert found["difference"] > 0.9
    assert found["favours"] is None
    assert found["smallest_p"] == found["p_value"] == 0.0625
    if method == "auto":
        assert (found["method"], found["low"], found["high"]) == ("none", None, None)
        assert result.verdict[0].startswith("M2 is ahead in 5 of 5 videos, by ")
        assert [one.code for one in result.findings] == ["few-videos"]
    six = FRAME.filter(pl.col("video") < "v06").with_columns(value=(pl.col("model") == "M2").cast(pl.Float64))
    six = six.with_columns(value=pl.when(pl.col("case") == "v00q00").then(0.5).otherwise(pl.col("value")))
    assert row(six, "M2", "M0", method=method)["favours"] == "M2"


def test_two_videos_give_a_difference_without_interval_and_claim() -> None:
    result = compare(FRAME.filter(pl.col("video") < "v02"), "M2", "M0")
    found = result.table.row(0, named=True)
    assert (found["low"], found["high"], found["favours"], found["method"]) == (None, None, None, "none")
    assert found["note"] == "2 videos: no interval; the spread between videos cannot be judged."


def test_the_difference_of_pooled_quantiles_has_no_interval_unless_one_is_drawn() -> None:
    frame = nested_frame(videos=14, rows=8, binary=False)
    result = compare(frame, "M2", "M0", statistic="median")
    found = result.table.row(0, named=True)
    assert (found["low"], found["favours"], found["p_value"]) == (None, None, None)
    assert result.findings[0].code == "no-method"


def test_identical_models_favour_nobody() -> None:
    same = FRAME.with_columns(value=pl.lit(1.0))
    found = row(same, "M0", "M1", replicates=50)
    assert (found["difference"], found["favours"], found["p_value"], found["sd"]) == (0.0, None, 1.0, 0.0)
    assert (found["low"], found["high"]) == (None, None)
    assert "No variation between videos" in found["note"]


def test_smaller_may_be_better() -> None:
    table = ScoreTable.of(
        FRAME.with_columns(metric=pl.lit("error")), facts={"error": MetricFacts("error", better="smaller")}
    )
    found = row(table, "M2", "M0")
    assert found["difference"] > 0
    assert found["favours"] == ("M0" if found["p_value"] <= 0.05 else None)
    assert found["videos_lost"] > found["videos_won"]


def test_only_cases_scored_for_both_are_compared() -> None:
    holed = FRAME.with_columns(
        value=pl.when((pl.col("model") == "M0") & (pl.col("video") == "v00")).then(None).otherwise(pl.col("value"))
    )
    found = row(holed, "M2", "M0", replicates=50, missing="drop-score")
    assert found["videos"] == 13
    assert "both were scored on" in compare(holed, "M2", "M0", missing="drop-score").prose
    filled = compare(holed, "M2", "M0", missing="worst").prose
    assert "cases of both, stand-ins for missing scores included." in filled
    assert "both were scored on" not in filled
    kept = FRAME.filter(pl.col("video") != "v00")
    assert found["difference"] == pytest.approx(row(kept, "M2", "M0", replicates=50)["difference"])


def test_the_minimum_detectable_difference_is_found_with_its_power() -> None:
    videos, sd_video = 40, 0.2
    sd = sd_video / np.sqrt(videos)
    effect = min_detectable(sd, videos - 1)
    rng = np.random.default_rng(3)
    draws = rng.normal(effect, sd_video, (4000, videos))
    found = stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(0.8, abs=0.02)
    assert np.isnan(min_detectable(0.1, 0))


def test_slices_with_one_video_have_a_difference_but_no_interval() -> None:
    table = compare(FRAME, "M0", "M1", by=["video"], replicates=20).table
    assert table["low"].null_count() == 14
    assert table["difference"].null_count() == 0
    alone = compare(FRAME.filter(pl.col("video") == "v00"), "M0", "M1")
    assert alone.judged is not None
    assert (alone.judged.kind, alone.judged.winner, alone.judged.n) == ("too_few", None, 1)
    assert alone.table["low"].null_count() == 1


def test_wrong_models_are_named() -> None:
    with pytest.raises(UnknownName, match="unknown model 'M9'"):
        compare(FRAME, "M0", "M9")
    with pytest.raises(Misuse, match="itself"):
        compare(FRAME, "M0", "M0")
    blank = FRAME.with_columns(value=pl.when(pl.col("model") == "M1").then(None).otherwise(pl.col("value")))
    with pytest.raises(Misuse, match="no case was scored for both"):
        compare(blank, "M0", "M1", missing="drop-score")


def test_the_paragraph_names_unit_power_and_risk() -> None:
    drawn = compare(FRAME, "M0", "M1", method="bootstrap", replicates=30).prose
    for part in ("whole videos", "80% power", "estimand: rows", "seed 42"):
        assert part in drawn
    auto = compare(FRAME, "M0", "M1").prose
    assert "sign-flip test over videos" in auto
    assert "seed" not in auto


def test_too_few_differing_videos_favour_nobody_and_a_better_value_that_is_no_proof_is_said() -> None:
    """Six videos of which one is a tie: the smallest p-value is 0.0625, whoever wins the others."""
    rows = [
        {"model": model, "case": f"q{v}", "video": f"v{v}", "metric": "correct", "value": float(value)}
        for v in range(6)
        for model, value in (("A", 1), ("B", int(v == 0)))
    ]
    result = compare(pl.DataFrame(rows), "A", "B")
    row = result.table.row(0, named=True)
    assert (row["p_value"], row["smallest_p"], row["favours"]) == (0.0625, 0.0625, None)
    assert result.verdict[1] == "They differ in 5 of 6 videos only, which cannot show more than p = 0.062."
    mixed = [dict(row, value=float((int(row["video"][1]) + (row["model"] == "A")) % 2)) for row in rows]
    mixed += [dict(row, case="w", video="w", value=float(row["model"] == "A")) for row in rows[:2]]
    result = compare(pl.DataFrame(mixed), "A", "B")
    assert result.table["favours"].to_list() == [None]
    assert result.table["p_value"][0] > 0.05
    assert result.verdict[0].startswith(
        "A has the highest correct, 14.3 points above B (-100.0 to 100.0 points; 7 videos)"
    )


def frames_of_patients(gaps: list[float], frames: int = 20) -> pl.DataFrame:
    """Two models on frames of patients; B is ahead by so much in each."""
    rng = np.random.default_rng(2)
    base = rng.uniform(0.6, 0.7, (len(gaps), frames))
    return pl.DataFrame(
        [
            {
                "patient": f"p{unit}",
                "frame": f"p{unit}-{place}",
                "model": model,
                "dice": base[unit, place] + ahead * gap,
            }
            for unit, gap in enumerate(gaps)
            for place in range(frames)
            for model, ahead in (("A", 0), ("B", 1))
        ]
    )


def test_what_lies_within_patients_names_no_winner() -> None:
    frame = frames_of_patients([0.05, 0.03, 0.06, -0.03, -0.02, -0.02])
    whole, naive = compare(frame, "A", "B"), compare(frame, "A", "B", resample="naive")
    assert naive.verdict == whole.verdict
    assert naive.judged is not None
    assert naive.judged.winner is None
    kept, beside = naive.table.to_dicts()
    assert [kept] == whole.table.to_dicts()
    assert beside["high"] < 0  # narrow enough to deceive
    assert (beside["resample"], beside["favours"], beside["p_value"]) == ("naive", None, None)
    assert "as if what lies within a patient were independent" in beside["note"]


@pytest.mark.parametrize("statistic", ["median", "min", "max", "q05"])
def test_a_statistic_without_a_test_is_not_called_too_few_units(statistic: str) -> None:
    result = compare(frames_of_patients([0.01 * gap for gap in range(1, 11)]), "A", "B", statistic=statistic)
    assert result.judged is not None
    assert (result.judged.kind, result.judged.winner) == ("no_interval", None)
    assert "this statistic has no test here, so no winner is named" in result.verdict[0]
    assert "sign-flip" not in result.verdict[0]
    assert "interval comes from" not in result.prose
