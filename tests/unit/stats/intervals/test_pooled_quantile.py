import numpy as np
import pytest

from sign_patterns import enumerated_p
from surgvalid.stats.intervals.pooled_quantile import pooled_quantile_interval, videos_beyond


def nested(videos: int, rows: int, seed: int, uneven: bool = True) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(rows // 2, 2 * rows, videos) if uneven else np.full(videos, rows)
    code = np.repeat(np.arange(videos), sizes)
    return rng.normal(rng.normal(0, 1, videos)[code], 1), code


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_ends_are_those_of_testing_every_value(seed: int) -> None:
    values, code = nested(9, 30, seed)
    values = np.round(values, 1)
    found = pooled_quantile_interval(values, code, 0.5)
    distinct = np.unique(values)
    sizes = np.bincount(code)
    p = [enumerated_p(np.bincount(code[values <= x], minlength=9) - 0.5 * sizes) for x in distinct]
    kept = np.flatnonzero(np.array(p) > 0.05)
    assert (found.low, found.high) == (distinct[kept[0]], distinct[kept[-1] + 1])
    assert found.low <= np.median(values) <= found.high


def test_row_order_changes_nothing() -> None:
    values, code = nested(12, 20, 5)
    order = np.random.default_rng(0).permutation(len(values))
    assert pooled_quantile_interval(values, code, 0.5) == pooled_quantile_interval(values[order], code[order], 0.5)


def test_too_few_videos_beyond_the_quantile_give_no_interval() -> None:
    values, code = nested(20, 20, 6, uneven=False)
    assert np.isnan(pooled_quantile_interval(values, code, 0.05).low)
    assert np.isfinite(pooled_quantile_interval(values, code, 0.25).low)
    values, code = nested(5, 20, 6, uneven=False)
    assert np.isnan(pooled_quantile_interval(values, code, 0.5).low)


def test_an_end_that_is_never_rejected_is_the_bound_of_the_metric() -> None:
    code = np.repeat(np.arange(8), 2)
    values = np.where(np.arange(16) < 12, 0.2, 0.9)
    found = pooled_quantile_interval(values, code, 0.4, low=0.0, high=1.0)
    assert found.open_low
    assert found.low == 0.0


def test_rows_that_were_not_scored_do_not_count() -> None:
    values, code = nested(10, 12, 7)
    more = np.concatenate([values, [np.nan] * 5])
    assert pooled_quantile_interval(more, np.concatenate([code, [0, 1, 2, 3, 11]]), 0.5) == pooled_quantile_interval(
        values, code, 0.5
    )


def test_long_videos_count_for_less_than_their_number() -> None:
    assert videos_beyond(np.array([50.0, 1, 1, 1]), 0.5) < 0.6
