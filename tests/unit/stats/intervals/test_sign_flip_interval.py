import itertools

import numpy as np
import pytest
from scipy import stats

from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.intervals.sign_flip_interval import (
    bracketed_ends,
    difference_interval,
    listed_ends,
    normal_ends,
    videos_needed,
)


def random_table(rng: np.random.Generator, videos: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of differences and sizes: whole or real, long and short videos, some without a difference."""
    sizes = rng.integers(2, 40, videos).astype(float)
    totals = rng.normal(rng.normal(0, 0.3), 1, videos) * sizes
    if rng.random() < 0.5:
        totals = np.rint(totals / 4)
    if rng.random() < 0.3:
        totals = np.rint(totals * 10) * 0.1
    return totals, sizes


def test_zero_is_excluded_exactly_when_p_is_at_most_alpha() -> None:
    rng = np.random.default_rng(1)
    disagreements = excluded = 0
    for _ in range(1000):
        totals, sizes = random_table(rng, int(rng.integers(6, 16)))
        low, high = listed_ends(totals[:, None], sizes, level=0.95)
        found = difference_interval(totals[:, None], sizes)
        outside = not found.low[0] <= 0 <= found.high[0]
        excluded += outside
        disagreements += outside != (found.p_value[0] <= 0.05)
        assert (found.low[0], found.high[0]) == pytest.approx((low[0], high[0]), abs=1e-9)
    assert disagreements == 0
    assert 100 < excluded < 900


@pytest.mark.parametrize("videos", [6, 8, 10])
def test_the_ends_are_the_last_differences_the_test_keeps(videos: int) -> None:
    rng = np.random.default_rng(videos)
    totals, sizes = rng.normal(1, 3, videos), rng.integers(2, 30, videos).astype(float)
    found = difference_interval(totals[:, None], sizes)
    width = found.high[0] - found.low[0]
    for end, outwards in ((found.low[0], -1), (found.high[0], 1)):
        assert flip_p(totals - sizes * (end - outwards * 1e-7 * width))[0] > 0.05
        assert flip_p(totals - sizes * (end + outwards * 1e-7 * width))[0] <= 0.05


def test_the_ends_are_order_statistics_of_all_splits() -> None:
    rng = np.random.default_rng(3)
    totals, sizes = rng.normal(0, 1, 7), rng.integers(1, 9, 7).astype(float)
    lower = []
    for pattern in itertools.product((False, True), repeat=6):
        side = np.array([*pattern, False])
        if side.any():
            means = [totals[part].sum() / sizes[part].sum() for part in (side, ~side)]
            lower.append(min(means))
    assert listed_ends(totals[:, None], sizes, level=0.95)[0][0] == pytest.approx(sorted(lower)[2], rel=1e-12)


@pytest.mark.parametrize("videos", [9, 12, 15])
def test_listing_and_bracketing_agree(videos: int) -> None:
    rng = np.random.default_rng([4, videos])
    totals, sizes = rng.normal(0.2, 1, videos), rng.integers(3, 40, videos).astype(float)
    listed = [float(end[0]) for end in listed_ends(totals[:, None], sizes, level=0.95)]
    assert bracketed_ends(totals, sizes, level=0.95) == pytest.approx(listed, abs=1e-6 * (listed[1] - listed[0]))


@pytest.mark.parametrize("videos", [18, 40])
def test_beyond_fifteen_videos_interval_and_p_still_agree(videos: int) -> None:
    rng = np.random.default_rng([5, videos])
    for shift in (0.0, 0.35, 0.8):
        totals = rng.normal(shift, 1, videos)
        for approximate in (False, True):
            found = difference_interval(totals[:, None], np.ones(videos), approximate=approximate)
            assert (not found.low[0] <= 0 <= found.high[0]) == (found.p_value[0] <= 0.05)
            assert found.low[0] < found.value[0] < found.high[0]


def test_the_normal_form_solves_its_equation_and_comes_near_the_exact_ends() -> None:
    rng = np.random.default_rng(6)
    totals, sizes = rng.normal(1, 3, (40, 3)), rng.integers(10, 30, (40, 1)) * np.ones((1, 3))
    low, high = normal_ends(totals, sizes, level=0.95)
    for end in (low, high):
        gaps = totals - sizes * end
        assert np.abs(gaps.sum(axis=0)) / np.sqrt((gaps**2).sum(axis=0)) == pytest.approx(
            np.full(3, 1.959964), rel=1e-5
        )
    exact = bracketed_ends(totals[:, 0], sizes[:, 0], level=0.95)
    assert (low[0], high[0]) == pytest.approx(exact, abs=0.1 * (exact[1] - exact[0]))


def test_three_to_five_videos_get_students_t_and_two_get_nothing() -> None:
    values = np.array([0.1, 0.3, 0.2, 0.25])
    found = difference_interval(values[:, None], np.ones(4))
    expected = stats.t.interval(0.95, 3, values.mean(), values.std(ddof=1) / 2)
    assert (found.low[0], found.high[0]) == pytest.approx(expected)
    assert found.method == ("jackknife",)
    assert found.smallest_p[0] == 0.125
    two = difference_interval(values[:2, None], np.ones(2))
    assert np.isnan(two.low[0])
    assert two.method == ("none",)


def test_a_level_that_so_few_videos_cannot_reach_leaves_the_interval_open() -> None:
    found = difference_interval(np.arange(1.0, 7)[:, None], np.ones(6), level=0.99)
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)


def test_one_video_that_outweighs_all_others_opens_the_normal_form_only() -> None:
    sizes = np.concatenate([[1e6], np.ones(19)])
    totals = sizes * np.linspace(0.1, 0.2, 20)
    normal = difference_interval(totals[:, None], sizes, approximate=True)
    assert normal.high[0] == np.inf
    assert normal.low[0] > 0, "the p-value, which is exact, excludes zero"
    assert np.isfinite(difference_interval(totals[:, None], sizes).high[0])


def test_videos_that_all_show_the_same_difference_carry_no_interval() -> None:
    for difference in (0.0, 0.25):
        found = difference_interval(np.full((20, 1), 5 * difference), np.full(20, 5.0))
        assert np.isnan([found.low[0], found.high[0]]).all()
        assert found.p_value[0] == (1.0 if difference == 0 else 2.0**-19)


def test_videos_needed_is_the_first_number_whose_smallest_p_passes() -> None:
    for pairs in (1, 3, 10, 45, 190, 780, 4950):
        need = videos_needed(pairs)
        assert 2.0 ** (1 - need) * pairs <= 0.05 < 2.0 ** (2 - need) * pairs
