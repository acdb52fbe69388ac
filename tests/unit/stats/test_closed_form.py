from dataclasses import replace

import numpy as np
import pytest

from nested_tables import nested_matrix
from surgeval.errors import Misuse
from surgeval.stats.closed_form import mean_sd
from surgeval.stats.draws import replicate_keys, stream
from surgeval.stats.replicates import Sample

KINDS = [("naive", "rows"), ("cluster", "videos"), ("two-stage", "videos"), ("cluster", "rows"), ("two-stage", "rows")]


@pytest.mark.parametrize(("resample", "estimand"), KINDS)
@pytest.mark.parametrize("binary", [True, False])
def test_closed_forms_are_the_sd_of_very_many_replicates(resample: str, estimand: str, binary: bool) -> None:
    matrix = nested_matrix(videos=20, rows=9, binary=binary)
    sample = Sample.of(matrix, statistic="mean", resample=resample, estimand=estimand)
    drawn = sample.replicates(replicate_keys(20_000, stream(1, "test"))).std(axis=0)
    np.testing.assert_allclose(mean_sd(sample), drawn, rtol=0.03)


def test_two_stage_is_exact_where_videos_are_equally_long() -> None:
    matrix = nested_matrix(uneven=False)
    rows, videos = (
        mean_sd(Sample.of(matrix, statistic="mean", resample="two-stage", estimand=e)) for e in ("rows", "videos")
    )
    np.testing.assert_allclose(rows, videos)


def test_unscored_rows_are_left_out() -> None:
    matrix = nested_matrix()
    matrix = replace(matrix, values=matrix.values.copy())
    matrix.values[::4, 0] = np.nan
    kept = matrix.where(np.isfinite(matrix.values[:, 0]))
    for resample, estimand in KINDS:
        a = mean_sd(Sample.of(matrix, statistic="mean", resample=resample, estimand=estimand))[0]
        b = mean_sd(Sample.of(kept, statistic="mean", resample=resample, estimand=estimand))[0]
        assert a == pytest.approx(b)


def test_other_statistics_have_no_closed_form() -> None:
    with pytest.raises(Misuse, match="no closed form"):
        mean_sd(Sample.of(nested_matrix(), statistic="median", resample="cluster", estimand="rows"))
