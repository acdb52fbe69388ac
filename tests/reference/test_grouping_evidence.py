"""The F test of names that begin alike is that of SciPy, and the correlation that of its definition."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import f_oneway

from surgvalid.schema.tables.read_rows import _intraclass


@pytest.mark.parametrize("sizes", [[5] * 6, [2, 9, 4, 7, 3]])
def test_correlation_and_test_of_groups(sizes: list[int]) -> None:
    rng = np.random.default_rng(4)
    groups = [rng.normal(rng.normal(), 1.0, size) for size in sizes]
    rows = {"video": np.repeat(np.arange(len(sizes)), sizes).astype(str), "value": np.concatenate(groups)}
    icc, p = _intraclass(pl.DataFrame(rows)) or (np.nan, np.nan)
    wanted = f_oneway(*groups)
    assert p == pytest.approx(wanted.pvalue)
    count = sum(sizes)
    typical = (count - sum(size**2 for size in sizes) / count) / (len(sizes) - 1)
    assert icc == pytest.approx((wanted.statistic - 1) / (wanted.statistic - 1 + typical))
