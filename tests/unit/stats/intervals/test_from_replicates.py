import numpy as np
import pytest

from surgvalid.errors import Misuse
from surgvalid.stats.intervals.replicates import bounds

DRAWS = np.random.default_rng(0).gamma(3, size=(999, 2))


def test_percentile_ends_are_quantiles_of_the_replicates() -> None:
    ends = bounds(DRAWS, level=0.9)
    np.testing.assert_allclose(ends, np.quantile(DRAWS, [0.05, 0.95], axis=0))


def test_replicates_in_which_nothing_was_scored_are_left_aside() -> None:
    draws = DRAWS.copy()
    draws[::3, 0] = np.nan
    known = draws[np.isfinite(draws[:, 0]), 0]
    ends = bounds(draws)
    assert (ends.low[0], ends.high[0]) == pytest.approx(tuple(np.quantile(known, [0.025, 0.975])))
    assert np.isnan(bounds(np.full((5, 1), np.nan)).low[0])


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(Misuse, match="level must lie between 0 and 1, got 95"):
        bounds(DRAWS, level=95)
