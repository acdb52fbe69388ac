from dataclasses import replace

import numpy as np
import pytest

from nested_tables import nested_frame, nested_matrix
from surgvalid.errors import Misuse, UnknownName
from surgvalid.schema.tables.score_table import ScoreTable
from surgvalid.stats.draws import picks, replicate_keys, stream, unit_keys
from surgvalid.stats.intervals.replicates import Sample, row_counts, unit_counts

KEYS = replicate_keys(30, stream(5, "test"))
STATISTICS = ["mean", "median", "q05"]
FUNCTIONS = {"mean": np.mean, "median": np.median, "q05": lambda x: np.quantile(x, 0.05)}


def written_out(sample: Sample, function, replicate: int) -> np.ndarray:
    """The statistic of one replicate from rows that are really copied."""
    nest, key = sample.nest, KEYS[replicate : replicate + 1]
    if sample.estimand == "rows":
        counts = row_counts(nest, key)[0]
        return np.array([function(np.repeat(column, counts)) for column in sample.values.T])
    copies = []
    for video, times in enumerate(unit_counts(nest, key)[0]):
        rows = sample.values[nest.row_starts[video] : nest.row_starts[video + 1]]
        if nest.draws_rows:
            drawn = picks(unit_keys(key, 1, np.array([video])), np.array([[times]]), len(rows))
            copies += [rows[chosen] for chosen in drawn.children]
        else:
            copies += [rows] * int(times)
    return np.mean([[function(column) for column in copy.T] for copy in copies], axis=0)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("estimand", ["rows", "videos"])
@pytest.mark.parametrize("resample", ["cluster", "two-stage"])
def test_replicates_equal_resamples_that_are_written_out(statistic: str, estimand: str, resample: str) -> None:
    matrix = nested_matrix(binary=False)
    sample = Sample.of(matrix, statistic=statistic, resample=resample, estimand=estimand)
    got = sample.replicates(KEYS)
    for replicate in range(8):
        np.testing.assert_allclose(got[replicate], written_out(sample, FUNCTIONS[statistic], replicate), rtol=1e-12)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_naive_replicates_equal_resamples_that_are_written_out(statistic: str) -> None:
    sample = Sample.of(nested_matrix(binary=False), statistic=statistic, resample="naive", estimand="rows")
    got = sample.replicates(KEYS)
    for replicate in range(8):
        np.testing.assert_allclose(got[replicate], written_out(sample, FUNCTIONS[statistic], replicate), rtol=1e-12)


def test_naive_resamples_of_the_mean_over_videos_average_the_videos_that_were_drawn() -> None:
    sample = Sample.of(nested_matrix(), statistic="mean", resample="naive", estimand="videos")
    counts = row_counts(sample.nest, KEYS)
    got = sample.replicates(KEYS)
    unit = sample.nest.row_units
    for replicate in range(5):
        means = [
            np.average(sample.values[unit == u], axis=0, weights=counts[replicate, unit == u])
            for u in range(sample.nest.units)
            if counts[replicate, unit == u].sum()
        ]
        np.testing.assert_allclose(got[replicate], np.mean(means, axis=0), rtol=1e-12)


@pytest.mark.parametrize("resample", ["naive", "cluster", "two-stage"])
@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_rows_that_are_not_scored_count_for_nobody(resample: str, estimand: str) -> None:
    matrix = nested_matrix()
    whole = Sample.of(matrix, statistic="mean", resample=resample, estimand=estimand).replicates(KEYS)
    values = matrix.values.copy()
    values[::5, 1] = np.nan
    matrix = replace(matrix, values=values)
    sample = Sample.of(matrix, statistic="mean", resample=resample, estimand=estimand)
    got = sample.replicates(KEYS)
    np.testing.assert_allclose(got[:, [0, 2]], whole[:, [0, 2]], rtol=1e-12)
    if estimand == "rows":
        counts = row_counts(sample.nest, KEYS)
        scored = np.isfinite(sample.values[:, 1])
        by_hand = counts[:, scored] @ sample.values[scored, 1] / counts[:, scored].sum(axis=1)
        np.testing.assert_allclose(got[:, 1], by_hand, rtol=1e-12)


@pytest.mark.parametrize("resample", ["naive", "cluster", "two-stage", "center>video>rows"])
def test_the_order_of_rows_and_models_changes_nothing(resample: str) -> None:
    frame = nested_frame()
    one, other = (
        ScoreTable.of(f).matrix() for f in (frame, frame.sample(fraction=1, shuffle=True, seed=1).sort("model"))
    )
    place = [other.models.index(model) for model in one.models]
    a = Sample.of(one, statistic="mean", resample=resample, estimand="rows")
    b = Sample.of(other, statistic="mean", resample=resample, estimand="rows")
    assert np.array_equal(a.replicates(KEYS), b.replicates(KEYS)[:, place])


def test_one_row_per_video_makes_cluster_and_naive_the_same_draw() -> None:
    matrix = nested_matrix(rows=1, uneven=False, videos=12)
    cluster, naive, two_stage = (
        Sample.of(matrix, statistic="mean", resample=resample, estimand="rows").replicates(KEYS)
        for resample in ("cluster", "naive", "two-stage")
    )
    np.testing.assert_allclose(cluster, naive, rtol=1e-12)
    np.testing.assert_allclose(cluster, two_stage, rtol=1e-12)


def test_an_estimand_over_videos_needs_the_video_as_smallest_unit() -> None:
    with pytest.raises(Misuse, match="smallest unit"):
        Sample.of(nested_matrix(), statistic="mean", resample="center", estimand="videos")
    with pytest.raises(UnknownName, match="unknown estimand"):
        Sample.of(nested_matrix(), statistic="mean", resample="cluster", estimand="frames")
