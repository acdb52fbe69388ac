"""Tables far beyond any challenge: nothing crashes, and memory stays bounded."""

import numpy as np
import polars as pl
import pytest

from surgvalid.stats.intervals.interval import interval
from surgvalid.stats.intervals.nesting import Nest
from surgvalid.stats.intervals.replicates import Sample
from surgvalid.stats.intervals.statistic import Statistic

pytestmark = pytest.mark.slow
ROWS = 10_000_000


def test_a_table_of_ten_million_rows_gets_its_intervals() -> None:
    number = pl.Series(np.arange(ROWS // 20))
    cases = pl.select(case=number.cast(pl.String), video=(number % 1000).cast(pl.String))
    values = pl.Series(np.random.default_rng(0).integers(0, 2, len(number)).astype(np.float64))
    frame = pl.concat([cases.with_columns(model=pl.lit(f"m{i}"), value=values) for i in range(20)])
    table = interval(frame, replicates=20).table
    assert table.height == 20
    assert (table["low"] <= table["value"]).all()
    assert table["cases"][0] == ROWS // 20


@pytest.mark.parametrize("resample", ["naive", "cluster", "two-stage"])
def test_ten_million_rows_of_one_model_and_one_huge_video(resample: str) -> None:
    row_starts = np.array([0, 10, 20, ROWS])
    levels = {"naive": ("rows",), "cluster": ("video",), "two-stage": ("video", "rows")}[resample]
    root = np.array([0, ROWS]) if resample == "naive" else np.array([0, 3])
    starts = (root, row_starts) if resample == "two-stage" else (root,)
    values = (np.arange(ROWS) % 2).astype(np.float64)[:, None]
    sample = Sample(values, Nest(levels, np.arange(ROWS), starts, row_starts), Statistic("mean"), "rows")
    draws = sample.replicates(np.arange(3, dtype=np.uint64))
    assert np.isfinite(draws).all()
    assert abs(draws - 0.5).max() < 0.3
