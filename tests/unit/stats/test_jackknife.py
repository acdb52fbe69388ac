import numpy as np
import pytest

from nested_tables import nested_matrix
from surgeval.errors import Misuse
from surgeval.stats.jackknife import jackknife_sd, leave_one_out
from surgeval.stats.replicates import Sample


@pytest.mark.parametrize("statistic", ["mean", "q05", "median"])
@pytest.mark.parametrize("estimand", ["rows", "videos"])
def test_leaving_out_a_video_equals_the_table_without_it(statistic: str, estimand: str) -> None:
    matrix = nested_matrix(binary=False)
    sample = Sample.of(matrix, statistic=statistic, resample="two-stage", estimand=estimand)
    got = leave_one_out(sample)
    unit_of_row = np.empty(len(matrix.values), dtype=int)
    unit_of_row[sample.nest.order] = sample.nest.row_units
    for unit in range(sample.nest.units):
        rest = matrix.where(unit_of_row != unit)
        expected = Sample.of(rest, statistic=statistic, resample="two-stage", estimand=estimand).point()
        np.testing.assert_allclose(got[unit], expected, rtol=1e-12)


@pytest.mark.parametrize("statistic", ["mean", "q05", "median", "max"])
def test_leaving_out_a_row_equals_the_rows_without_it(statistic: str) -> None:
    sample = Sample.of(nested_matrix(binary=False), statistic=statistic, resample="naive", estimand="rows")
    got = leave_one_out(sample)
    for row in range(0, len(sample.values), 7):
        rest = np.delete(sample.values, row, axis=0)
        q = {"mean": None, "q05": 0.05, "median": 0.5, "max": 1.0}[statistic]
        expected = rest.mean(axis=0) if q is None else np.quantile(rest, q, axis=0)
        np.testing.assert_allclose(got[row], expected, rtol=1e-12)


def test_a_hierarchy_leaves_out_its_largest_unit() -> None:
    matrix = nested_matrix(videos=5)
    sample = Sample.of(matrix, statistic="mean", resample="center>video>rows", estimand="rows")
    got = leave_one_out(sample)
    center = matrix.cases["center"].to_numpy()
    np.testing.assert_allclose(
        got, [matrix.values[center == "c1"].mean(axis=0), matrix.values[center == "c0"].mean(axis=0)]
    )


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.random.default_rng(0).random((20, 2))
    left_out = (values.sum(axis=0) - values) / 19
    np.testing.assert_allclose(jackknife_sd(left_out), values.std(axis=0, ddof=1) / np.sqrt(20))


def test_naive_rows_cannot_be_left_out_of_a_mean_over_videos() -> None:
    sample = Sample.of(nested_matrix(), statistic="mean", resample="naive", estimand="videos")
    with pytest.raises(Misuse, match="not defined"):
        leave_one_out(sample)
