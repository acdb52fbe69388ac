import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgeval.errors import Misuse
from surgeval.stats.statistic import Statistic, unweighted, weighted_means, weighted_quantile


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
