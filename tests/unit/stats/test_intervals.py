import numpy as np
import pytest
from scipy import stats

from surgeval.errors import Misuse, UnknownName
from surgeval.stats.intervals import acceleration, bca_shares, bounds

DRAWS = np.random.default_rng(0).gamma(3, size=(999, 2))
VALUE = np.array([2.9, 3.2])


def test_percentile_ends_are_quantiles_of_the_replicates() -> None:
    ends = bounds(DRAWS, VALUE, level=0.9)
    np.testing.assert_allclose(ends, np.quantile(DRAWS, [0.05, 0.95], axis=0))


def test_basic_ends_mirror_percentile_ends_about_the_value() -> None:
    plain, mirrored = bounds(DRAWS, VALUE), bounds(DRAWS, VALUE, method="basic")
    np.testing.assert_allclose(mirrored.low, 2 * VALUE - plain.high)
    np.testing.assert_allclose(mirrored.high, 2 * VALUE - plain.low)


def test_bca_shifts_as_scipy_does() -> None:
    data = np.random.default_rng(3).exponential(size=25)
    theirs = stats.bootstrap((data,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(1))
    left_out = ((data.sum() - data) / (len(data) - 1))[:, None]
    draws = theirs.bootstrap_distribution[:, None]
    ours = bounds(draws, np.array([data.mean()]), method="bca", left_out=left_out)
    assert ours.low[0] == pytest.approx(theirs.confidence_interval.low, abs=2e-3)
    assert ours.high[0] == pytest.approx(theirs.confidence_interval.high, abs=2e-3)


def test_bca_falls_back_to_the_tails_where_nothing_varies() -> None:
    flat = np.ones((50, 1))
    shares = bca_shares(flat, np.ones(1), np.ones((8, 1)), np.array([0.025, 0.975]))
    assert shares[:, 0].tolist() == [0.025, 0.975]
    assert acceleration(np.ones((8, 1))).tolist() == [0.0]


def test_replicates_in_which_nothing_was_scored_are_left_aside() -> None:
    draws = DRAWS.copy()
    draws[::3, 0] = np.nan
    known = draws[np.isfinite(draws[:, 0]), 0]
    ends = bounds(draws, VALUE)
    assert (ends.low[0], ends.high[0]) == pytest.approx(tuple(np.quantile(known, [0.025, 0.975])))
    assert np.isnan(bounds(np.full((5, 1), np.nan), np.array([np.nan])).low[0])


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(Misuse, match="level must lie between 0 and 1, got 95"):
        bounds(DRAWS, VALUE, level=95)
    with pytest.raises(UnknownName, match="did you mean 'percentile'"):
        bounds(DRAWS, VALUE, method="percentil")
    with pytest.raises(Misuse, match="one unit left out"):
        bounds(DRAWS, VALUE, method="bca")
