import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from surgvalid.stats.intervals.video_jackknife import (
    degrees_of_freedom,
    effective_videos,
    jackknife_interval,
    mean_interval,
)


def freedom_on_rows(sizes: list[int]) -> float:
    """Bell and McCaffrey's degrees of freedom from hat and residual matrices over all rows."""
    video = np.repeat(np.arange(len(sizes)), sizes)
    rows = len(video)
    keep = np.eye(rows) - np.full((rows, rows), 1 / rows)
    vectors = []
    for v in range(len(sizes)):
        chosen = video == v
        size = int(chosen.sum())
        # A residual of the left-out fit: (I - H_vv)^-1/2 as CR2, applied to a column of ones.
        value, basis = np.linalg.eigh(np.eye(size) - np.full((size, size), 1 / rows))
        root = basis @ np.diag(value**-0.5) @ basis.T
        vectors.append(keep[:, chosen] @ root @ np.ones(size))
    inner = np.array(vectors) @ np.array(vectors).T
    return float(np.trace(inner) ** 2 / (inner**2).sum())


@given(st.lists(st.integers(1, 15), min_size=2, max_size=8))
def test_degrees_of_freedom_equal_the_trace_formula_on_rows(sizes: list[int]) -> None:
    assert degrees_of_freedom(np.array(sizes)) == pytest.approx(freedom_on_rows(sizes), rel=1e-10)


def test_equal_videos_give_students_t_on_the_logit_scale() -> None:
    rng = np.random.default_rng(1)
    for videos in (3, 7, 30):
        means = rng.beta(4, 2, (videos, 5))
        found = mean_interval(means * 12, np.full(videos, 12.0), low=0, high=1)
        centre, error = means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(videos)
        step = stats.t.ppf(0.975, videos - 1) * error / (centre * (1 - centre))
        assert found.df == pytest.approx(np.full(5, videos - 1.0), rel=1e-12)
        assert found.sd == pytest.approx(error, rel=1e-12)
        assert found.low == pytest.approx(special.expit(special.logit(centre) - step), rel=1e-12)
        assert found.high == pytest.approx(special.expit(special.logit(centre) + step), rel=1e-12)


def test_the_variance_is_that_of_values_really_computed_without_each_video() -> None:
    rng = np.random.default_rng(2)
    rows = [rng.random(size) for size in (4, 9, 2, 7)]
    totals, sizes = np.array([[r.sum()] for r in rows]), np.array([float(len(r)) for r in rows])
    value = np.concatenate(rows).mean()
    without = [np.concatenate(rows[:v] + rows[v + 1 :]).mean() for v in range(4)]
    found = mean_interval(totals, sizes)
    assert found.sd[0] == pytest.approx(np.sqrt(3 / 4 * sum((w - value) ** 2 for w in without)), rel=1e-12)
    t = stats.t.ppf(0.975, degrees_of_freedom(sizes))
    assert (found.low[0], found.high[0]) == pytest.approx((value - t * found.sd[0], value + t * found.sd[0]))


def test_other_scales_are_the_same_interval_moved_and_stretched() -> None:
    totals, sizes = np.array([[8.0], [3.0], [14.0], [6.0]]), np.array([10.0, 5.0, 15.0, 9.0])
    unit = mean_interval(totals, sizes, low=0, high=1)
    wide = mean_interval(-10 * sizes[:, None] + 30 * totals, sizes, low=-10, high=20)
    assert wide.low == pytest.approx(-10 + 30 * unit.low)
    assert wide.high == pytest.approx(-10 + 30 * unit.high)


def test_a_metric_bounded_on_one_side_is_cut_there() -> None:
    found = mean_interval(np.array([[0.1], [0.2], [9.0]]), np.ones(3), low=0)
    assert found.low[0] == 0.0
    assert found.high[0] > 9


def test_all_videos_at_the_limit_leave_room_on_the_other_side() -> None:
    sizes = np.full(10, 5.0)
    top = mean_interval(np.full((10, 1), 5.0), sizes, low=0, high=1)
    assert (top.low[0], top.high[0]) == (pytest.approx(0.025**0.1), 1.0)
    bottom = mean_interval(np.zeros((10, 1)), sizes, low=0, high=1)
    assert (bottom.low[0], bottom.high[0]) == (0.0, pytest.approx(1 - 0.025**0.1))


def test_no_variation_elsewhere_and_fewer_than_three_videos_give_no_interval() -> None:
    flat = mean_interval(np.full((6, 1), 2.0), np.full(6, 4.0), low=0, high=1)
    assert np.isnan([flat.low[0], flat.high[0]]).all()
    assert flat.value[0] == 0.5
    two = mean_interval(np.array([[1.0], [2.0]]), np.full(2, 4.0), low=0, high=1)
    assert np.isnan([two.low[0], two.high[0]]).all()


def test_a_video_without_cases_of_one_model_leaves_only_that_model() -> None:
    rng = np.random.default_rng(3)
    totals, sizes = rng.random((6, 2)) * 5, np.full((6, 2), 5.0)
    totals[2, 1] = sizes[2, 1] = 0.0
    both = mean_interval(totals, sizes, low=0, high=1)
    alone = mean_interval(np.delete(totals[:, 1:], 2, axis=0), np.full(5, 5.0), low=0, high=1)
    assert both.videos.tolist() == [6, 5]
    for name in ("value", "low", "high", "sd", "df", "effective"):
        assert getattr(both, name)[1] == pytest.approx(getattr(alone, name)[0])


def test_the_order_of_videos_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    totals, sizes = rng.random((9, 3)) * 8, rng.integers(8, 30, 9).astype(float)
    order = rng.permutation(9)
    for one, other in zip(mean_interval(totals, sizes), mean_interval(totals[order], sizes[order]), strict=True):
        assert one == pytest.approx(other, rel=1e-12)


def test_a_value_at_the_limit_with_variation_is_cut_instead_of_lost() -> None:
    found = jackknife_interval(np.array([1.0]), np.array([[1.0], [0.9], [1.0]]), np.ones(3), low=0, high=1)
    assert found.low[0] < 0.9
    assert found.high[0] == 1.0


def test_effective_videos_are_the_number_of_equal_ones() -> None:
    assert effective_videos(np.full(7, 3.0)) == pytest.approx(7)
    assert effective_videos(np.array([100.0, 1, 1])) < 1.1


def test_the_end_on_the_side_of_the_most_influential_videos_moves_out_and_the_other_stays() -> None:
    """Written out: `a = sum e^3 / (6 (sum e^2)^1.5)` of `e_v = value - value without v`, times `1 + 2 t^2`."""
    sizes = np.array([60.0, 8, 7, 6, 5, 4, 3, 3])
    totals = sizes * np.array([0.3, 0.8, 0.9, 0.8, 0.7, 0.9, 1.0, 0.8])
    plain = mean_interval(totals[:, None], sizes, low=0.0, high=1.0)
    value = totals.sum() / sizes.sum()
    gone = value - (totals.sum() - totals) / (sizes.sum() - sizes)
    lean = (gone**3).sum() / (6 * (gone**2).sum() ** 1.5)
    assert lean < 0
    t = special.stdtrit(plain.df[0], 0.975)
    step = (t - lean * (1 + 2 * t**2)) * plain.sd[0] / (value * (1 - value))
    pulled = mean_interval(totals[:, None], sizes, low=0.0, high=1.0, pulled=np.array([True]))
    assert pulled.low[0] == pytest.approx(special.expit(special.logit(value) - step), rel=1e-9)
    assert pulled.high[0] == plain.high[0]
    turned = mean_interval((sizes - totals)[:, None], sizes, low=0.0, high=1.0, pulled=np.array([True]))
    assert (turned.low[0], turned.high[0]) == pytest.approx((1 - pulled.high[0], 1 - pulled.low[0]), abs=1e-12)


def test_equal_influences_move_nothing() -> None:
    totals, sizes = np.array([[2.0], [4.0], [6.0], [8.0]]), np.full(4, 10.0)
    pulled, plain = (mean_interval(totals, sizes, low=0.0, high=1.0, pulled=np.array([p])) for p in (True, False))
    assert pulled.low[0] == pytest.approx(plain.low[0], rel=1e-12)
    assert pulled.high[0] == pytest.approx(plain.high[0], rel=1e-12)
