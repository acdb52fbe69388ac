import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from nested_tables import nested_frame, nested_matrix
from surgvalid.errors import Misuse
from surgvalid.stats.comparing.comparison import compare
from surgvalid.stats.intervals.engine import auto_spread
from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.replicates import Sample
from surgvalid.stats.intervals.statistic import Statistic, unweighted, weighted_means, weighted_quantile
from surgvalid.stats.intervals.video_jackknife import jackknife_interval


@given(
    st.lists(st.tuples(st.floats(-5, 5), st.integers(0, 4)), min_size=1, max_size=30),
    st.sampled_from([0.0, 0.05, 0.25, 0.5, 0.9, 1.0]),
)
def test_a_weighted_quantile_equals_numpy_on_the_rows_written_out(rows: list[tuple[float, int]], q: float) -> None:
    values = np.array([value for value, _ in rows])
    counts = np.array([count for _, count in rows])
    got = weighted_quantile(counts[None], values, q)[0]
    if counts.sum() == 0:
        assert np.isnan(got)
    else:
        assert got == pytest.approx(np.quantile(np.repeat(values, counts), q), rel=1e-12, abs=1e-300)


def test_what_is_not_scored_carries_no_weight() -> None:
    values = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, 9.0]])
    counts = np.array([[1, 2, 1], [3, 0, 7]])
    np.testing.assert_allclose(weighted_means(counts, values), [[7 / 3, 19 / 3], [1.0, 9.0]])
    assert weighted_quantile(counts, values[:, 0], 0.5).tolist() == [3.0, 1.0]
    assert np.isnan(weighted_quantile(np.array([[0, 0, 5]]), values[:, 0], 0.5)[0])
    assert np.isnan(weighted_means(np.array([[0, 0, 5]]), values)[0, 0])


@pytest.mark.parametrize(("name", "q"), [("median", 0.5), ("q05", 0.05), ("q2.5", 0.025), ("min", 0.0), ("max", 1.0)])
def test_statistics_are_read_from_their_names(name: str, q: float) -> None:
    values = np.random.default_rng(0).random((11, 2))
    assert unweighted(Statistic.read(name), values) == pytest.approx(np.quantile(values, q, axis=0))


@pytest.mark.parametrize("name", ["average", "q", "q101", "q-5", "Q05"])
def test_an_unknown_statistic_is_refused(name: str) -> None:
    with pytest.raises(Misuse, match="unknown statistic"):
        Statistic.read(name)


def test_the_interquartile_mean_is_the_trimmed_mean_of_the_rows_written_out() -> None:
    rng = np.random.default_rng(4)
    for rows in (1, 2, 3, 4, 5, 9, 40):
        values = np.round(rng.normal(size=(rows, 2)), 1)
        counts = rng.integers(0, 4, (6, rows))
        counts[0] = 1
        found = Statistic.read("iqm").weighted(counts, values)
        for place, count in enumerate(counts):
            written_out = np.repeat(values, count, axis=0)
            expected = trim_mean(written_out, 0.25, axis=0) if len(written_out) else [np.nan, np.nan]
            np.testing.assert_allclose(found[place], expected, rtol=1e-12, atol=1e-12)


def test_the_interquartile_mean_leaves_aside_what_is_not_scored_and_is_no_plain_mean() -> None:
    values = np.array([[np.nan, np.nan], [0.0, np.nan], [1.0, np.nan], [2.0, np.nan], [90.0, np.nan]])
    iqm = Statistic.read("iqm")
    assert not iqm.is_mean
    np.testing.assert_array_equal(iqm.weighted(np.ones((1, 5), dtype=np.int64), values), [[1.5, np.nan]])


def test_intervals_and_comparisons_take_the_interquartile_mean() -> None:
    frame = nested_frame(videos=8, rows=9, binary=False)
    mine = frame.filter(pl.col("model") == "M1")["value"].to_numpy()
    row = interval(frame, statistic="iqm", replicates=50).table.filter(model="M1").row(0, named=True)
    assert row["value"] == pytest.approx(trim_mean(mine, 0.25))
    assert row["low"] < row["value"] < row["high"]
    gap = compare(frame, "M1", "M0", statistic="iqm", replicates=50).table.row(0, named=True)
    other = frame.filter(pl.col("model") == "M0")["value"].to_numpy()
    assert gap["difference"] == pytest.approx(trim_mean(mine, 0.25) - trim_mean(other, 0.25))


def test_without_resamples_the_interquartile_mean_is_left_out_video_by_video() -> None:
    matrix = nested_matrix(videos=8, rows=9, binary=False)
    sample = Sample.of(matrix, statistic="iqm", resample="cluster", estimand="rows")
    found = auto_spread(sample, matrix.metric, level=0.95, names=matrix.models)
    kept = [matrix.videos != video for video in range(8)]
    without = np.array([trim_mean(matrix.values[rows], 0.25, axis=0) for rows in kept])
    sizes = np.bincount(matrix.videos).astype(float)
    by_hand = jackknife_interval(trim_mean(matrix.values, 0.25, axis=0), without, sizes, low=0.0, high=1.0)
    np.testing.assert_allclose([found.low, found.high], [by_hand.low, by_hand.high])
    assert found.method == ("jackknife, logit",) * 3
