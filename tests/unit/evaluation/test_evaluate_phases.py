"""Phases: hand-checked sequences, scikit-learn, frame rates and bad input."""

import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import surgvalid
from surgvalid.errors import InputInvalid, Misuse, TableInvalid, UnknownName
from surgvalid.metrics import TIME, Factory
from surgvalid.stats.comparing.strata import strata
from surgvalid.stats.intervals.interval import interval


def table(reference: dict[str, str], prediction: dict[str, str], step: int = 1) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"video": video, "frame": step * place, "reference": label, "prediction": prediction[video][place]}
            for video, labels in reference.items()
            for place, label in enumerate(labels)
        ]
    )


SMALL = table({"u": "aabb", "v": "aaab"}, {"u": "aabb", "v": "abbb"})


def test_accuracy_is_the_mean_over_videos_and_segments_are_counted() -> None:
    result = surgvalid.evaluate("phases", SMALL, metrics=["phase_accuracy", "segment_edit"], replicates=50)
    assert result.value("phase_accuracy") == 0.75
    assert result.value("segment_edit") == 1.0
    inside = result.per_video.filter(pl.col("metric") == "phase_accuracy")
    assert inside["value"].to_list() == [1.0, 0.5]
    assert "phases" in result.conventions["phase_accuracy"]["conventions"]


def test_values_within_a_video_equal_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    truth, guess = np.sort(rng.integers(0, 3, 90)), rng.integers(0, 3, 90)
    frame = table({"u": "".join(map(str, truth))}, {"u": "".join(map(str, guess))})
    result = surgvalid.evaluate("phases", frame, metrics=["phase_jaccard", "phase_f1"], replicates=10)
    assert result.value("phase_jaccard") == pytest.approx(sk.jaccard_score(truth, guess, average="macro"))
    jaccard = result.per_class.filter(pl.col("metric") == "jaccard")["value"].to_list()
    assert jaccard == pytest.approx(sk.jaccard_score(truth, guess, average=None).tolist())


def test_frame_numbers_of_25_fps_are_one_label_per_second_when_said_so() -> None:
    frame = table({"u": "aabb", "v": "aaab"}, {"u": "aabb", "v": "abbb"}, step=25)
    with pytest.raises(InputInvalid, match=r"frames step by 25; say with --fps"):
        surgvalid.evaluate("phases", frame)
    result = surgvalid.evaluate("phases", frame, fps=25, metrics=["transition_delay_p50_s"], replicates=10)
    assert result.per_video["value"].to_list() == [0.0, 2.0]
    assert "Labels per second: 1." in result.notes
    faster = surgvalid.evaluate("phases", frame, fps=50, metrics=["transition_delay_p50_s"], replicates=10)
    assert faster.per_video["value"].to_list() == [0.0, 1.0]


def test_seconds_say_the_rate_themselves() -> None:
    frame = SMALL.with_columns((pl.col("frame") * 0.5).alias("second")).drop("frame")
    assert "Labels per second: 2." in surgvalid.evaluate("phases", frame, replicates=10).notes


def test_gaps_are_refused_in_every_video() -> None:
    broken = SMALL.filter(pl.col("frame") != 2)
    with pytest.raises(InputInvalid) as caught:
        surgvalid.evaluate("phases", broken)
    assert len([problem for problem in caught.value.problems if "gaps" in problem]) == 2


def test_a_video_of_half_a_day_means_a_wrong_frame_rate() -> None:
    long = pl.DataFrame({"video": "u", "frame": np.arange(50_000), "reference": "a", "prediction": "a"})
    with pytest.raises(InputInvalid, match=r"would last 13\.9 hours"):
        surgvalid.evaluate("phases", long)


def test_empty_labels_and_unordered_cases_are_refused() -> None:
    holes = pl.when(pl.col("frame") > 0).then("prediction").alias("prediction")
    with pytest.raises(InputInvalid, match="empty in 2 rows"):
        surgvalid.evaluate("phases", SMALL.with_columns(holes))
    with pytest.raises(InputInvalid, match="no order in time"):
        surgvalid.evaluate("phases", SMALL.rename({"frame": "case"}))


def test_forgiving_metrics_want_the_phases_they_know() -> None:
    with pytest.raises(Misuse, match="transitions of Cholec80"):
        surgvalid.evaluate("phases", SMALL, metrics=["phase_accuracy_ad"])


def test_strata_must_hold_whole_videos() -> None:
    whole = SMALL.with_columns((pl.col("video") == "u").cast(pl.String).alias("center"))
    result = surgvalid.evaluate("phases", whole, metrics=["phase_accuracy"], by=["center"], replicates=10)
    assert result.per_stratum["value"].to_list() == [1.0, 0.5]
    with pytest.raises(InputInvalid, match="changes within 2 videos"):
        surgvalid.evaluate("phases", whole, by=["reference"])


def test_a_metric_of_the_family_that_takes_other_cases_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    late = Factory("times.LatencyQuantile", quantile=0.9)
    monkeypatch.setitem(TIME, "latency_p90_s", late)
    rows = {"video": ["u"] * 4, "second": [0, 1, 2, 3], "reference": list("aabb"), "prediction": list("aabb")}
    with pytest.raises(UnknownName, match="unknown metric 'latency_p90_s'"):
        surgvalid.evaluate("phases", rows, metrics=["latency_p90_s"], replicates=10)


def test_strata_of_videos_reach_the_metrics_of_videos_and_empty_ones_are_refused() -> None:
    rows = [
        {
            "video": f"v{v}",
            "second": s,
            "reference": "ab"[s > 4],
            "prediction": "ab"[(s + v) % 2],
            "old": v < 2,
            "no": None,
        }
        for v in range(4)
        for s in range(10)
    ]
    frame = pl.DataFrame(rows, schema_overrides={"no": pl.String})
    scores = surgvalid.evaluate("phases", frame, by=["old", "no"], replicates=20).scores
    assert scores.frame.schema["old"] == pl.Boolean
    found = strata(scores, ["old"], metric="flicker_per_min", replicates=20).table
    assert found["videos"].to_list() == [2]
    assert interval(scores, by=["old"], metric="flicker_per_min", replicates=20).table["videos"].to_list() == [2, 2]
    for work in (
        lambda by: strata(scores, by, metric="flicker_per_min"),
        lambda by: interval(scores, by=by, metric="correct"),
    ):
        with pytest.raises(TableInvalid, match=r"column 'no' is empty in all \d+ rows of metric"):
            work(["no"])
