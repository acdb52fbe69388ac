"""Pooled metrics in the verbs: intervals of what the statistics combine to, and what is said where they cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from surgvalid.errors import TableInvalid
from surgvalid.metrics import open_metric
from surgvalid.metrics.packing import written_down
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.schema.tables.statistics_table import Recipe, StatisticsTable, stacked_statistics
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.intervals.dependence import without_each_video
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.pooled import PooledStatistic, verb_matrix
from surgvalid.stats.intervals.replicates import Sample
from surgvalid.stats.ranking import rank

NAME = "flicker_per_min"
"""Its statistics are a sum above and a sum below, so that the value is known by hand."""
VIDEOS = tuple("abcdefgh")
SAID = f"'{NAME}': per-video values; the pooled value of {NAME} is not their mean."


def table(videos: dict[str, tuple[str, ...]]) -> ScoreTable:
    """Models on videos of very different length, with centres of two videos each."""
    rng, metric, rows, places = np.random.default_rng(3), open_metric(NAME), [], {}
    for model, names in videos.items():
        below = 1.0 + np.array([VIDEOS.index(video) for video in names]) ** 2
        statistics = np.stack([rng.poisson(3 * below).astype(float), below], axis=1)
        places[model] = StatisticsTable.of(model, {NAME: written_down(NAME, metric, statistics, names)})
        alone = metric.combine(statistics, np.eye(len(names)))
        rows += [
            {"model": model, "case": v, "video": v, "metric": NAME, "value": x, "center": VIDEOS.index(v) // 2}
            for v, x in zip(names, alone, strict=True)
        ]
    facts = {NAME: metric.facts}
    return ScoreTable.of(pl.DataFrame(rows), facts=facts, statistics=stacked_statistics(places))


@pytest.fixture
def scores() -> ScoreTable:
    return table({"A": VIDEOS, "B": VIDEOS})


def sums(scores: ScoreTable, model: str) -> np.ndarray:
    own = scores.statistics.of_model(model, NAME)
    return np.array([unit["statistics"] for unit in own.packed.units])


def test_the_value_is_that_of_all_videos_together_and_not_their_mean(scores: ScoreTable) -> None:
    total = sums(scores, "A").sum(axis=0)
    found = interval(scores, replicates=20).table.row(0, named=True)
    assert found["value"] == pytest.approx(open_metric(NAME).combine(sums(scores, "A"), np.ones(8)), abs=1e-12)
    plain = interval(replace(scores, statistics=None), replicates=20)
    assert abs(plain.table["value"][0] - found["value"]) > 1e-3
    assert total.shape == (2,)


def test_leaving_out_a_video_is_a_weighting_of_the_statistics(scores: ScoreTable) -> None:
    sample = Sample.of(verb_matrix(scores, NAME, missing=None), statistic="mean", resample="cluster", estimand="rows")
    assert isinstance(sample.statistic, PooledStatistic)
    without = sample.statistic.weighted(1 - np.eye(8), sample.values)
    for place in range(8):
        kept = np.delete(sums(scores, "B"), place, axis=0)
        assert without[place, 1] == pytest.approx(open_metric(NAME).combine(kept, np.ones(7)), abs=1e-12)


def test_only_the_mean_over_rows_is_pooled_and_the_others_say_what_they_are(scores: ScoreTable) -> None:
    assert SAID not in interval(scores, replicates=20).warnings
    for other in ({"statistic": "median"}, {"estimand": "videos"}):
        assert SAID in interval(scores, replicates=20, **other).warnings
    assert SAID in rank(scores, "rank-then-mean", replicates=0).warnings
    assert SAID not in rank(scores, "mean-then-rank", replicates=0).warnings


def test_slices_of_whole_videos_are_pooled_too(scores: ScoreTable) -> None:
    rows = interval(scores, by=["center"], replicates=20).table.filter(model="A")
    expected = [open_metric(NAME).combine(sums(scores, "A")[[n, n + 1]], np.ones(2)) for n in (0, 2, 4, 6)]
    assert rows["value"].to_list() == pytest.approx(np.ravel(expected).tolist(), abs=1e-12)


def test_videos_that_only_one_model_has_are_refused_until_somebody_decides() -> None:
    uneven = table({"A": VIDEOS, "B": VIDEOS[:6]})
    with pytest.raises(TableInvalid, match=r"'B' has no statistics of 2 videos that others have \(g, h\)"):
        compare(uneven, "A", "B")
    row = compare(uneven, "A", "B", missing="drop-case", replicates=20).table.row(0, named=True)
    assert row["videos"] == 6
    assert row["value_a"] == pytest.approx(open_metric(NAME).combine(sums(uneven, "A")[:6], np.ones(6)), abs=1e-12)
    three = table({"A": VIDEOS, "B": VIDEOS[:6], "C": VIDEOS})
    assert compare(three, "A", "C", replicates=20).table["videos"].item() == 8


def test_a_model_without_statistics_takes_all_back_to_videos() -> None:
    both = table({"A": VIDEOS, "B": VIDEOS})
    half = replace(both, statistics=StatisticsTable(both.statistics.frame.filter(model="A")))
    found = interval(half, replicates=20)
    assert SAID in found.warnings
    assert found.table["statistic"].unique().to_list() == ["mean"]


def test_scores_of_videos_that_the_statistics_do_not_know_are_refused(scores: ScoreTable) -> None:
    known = StatisticsTable(scores.statistics.frame.filter(pl.col("video") != "h"))
    with pytest.raises(TableInvalid, match="video 'h' has scores under 'flicker_per_min' but no statistics"):
        interval(replace(scores, statistics=known))


def test_a_metric_that_cannot_be_opened_as_it_was_is_said(scores: ScoreTable) -> None:
    strange = scores.statistics.frame.with_columns(options=pl.lit(Recipe(NAME, '{"colour": 1}').options))
    with pytest.raises(TableInvalid, match="cannot be opened with"):
        interval(replace(scores, statistics=StatisticsTable(strange)))


def test_influence_is_on_the_value_of_all_videos_together(scores: ScoreTable) -> None:
    result = without_each_video(scores, metric=None, missing=None)
    metric, own = open_metric(NAME), sums(scores, "A")
    row = result.table.filter(pl.col("model") == "A", pl.col("video") == "h").row(0, named=True)
    assert row["value"] == pytest.approx(metric.combine(own, np.ones(8)))
    assert row["value_without"] == pytest.approx(metric.combine(own[:7], np.ones(7)))
    assert row["statistic"] == "pooled"
    assert "of all videos together" in result.prose
