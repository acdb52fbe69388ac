"""Plans against brute force: other code and other seeds draw the studies and judge them."""

import numpy as np
import pytest

from surgvalid.stats.comparing.paired_tests import flip_p
from surgvalid.stats.planning.closed_forms import difference_chance
from surgvalid.stats.planning.orders import made_up_leaderboard, order_chances
from surgvalid.stats.planning.simulated import Design, difference_found, differences, is_found, values, widths
from surgvalid.stats.planning.spread import Spread
from surgvalid.stats.ranking import RankOptions

SPREAD = Spread.stated(0.4, 0.2, 10.0)


def listed_p(differences: np.ndarray) -> np.ndarray:
    """The sign-flip p-value of every column, every pattern written out."""
    videos = len(differences)
    signs = 1 - 2 * ((np.arange(2**videos)[:, None] >> np.arange(videos)) & 1)
    sums = np.abs(signs @ differences)
    return (sums >= np.abs(differences.sum(axis=0)) * (1 - 1e-12)).mean(axis=0)


def test_the_chance_of_a_difference_holds_in_brute_force_with_another_seed():
    """Single scores of two models are drawn, question by question, and every sign pattern is listed."""
    rng, videos, n, studies = np.random.default_rng(991), 11, 10, 1500
    between, within = float(SPREAD.between[0]), float(SPREAD.within[0])
    means = 0.2 + rng.normal(0, np.sqrt(between), (videos, studies))
    gaps = means[..., None] + rng.normal(0, np.sqrt(within), (videos, studies, n))
    sums = gaps.sum(axis=-1)
    share = float(((listed_p(sums) <= 0.05) & (sums.sum(axis=0) > 0)).mean())
    closed = float(difference_chance(0.2, SPREAD.variance()[0], videos))
    ours = difference_found(Design(SPREAD, videos, n, 0.2), studies, np.random.default_rng(5))
    assert 0.5 < share < 0.95
    assert ours == pytest.approx(share, abs=4 * np.sqrt(0.25 / studies))
    assert closed == pytest.approx(share, abs=0.04)


def test_decisions_are_those_of_the_exact_test():
    rng = np.random.default_rng(8)
    for videos in (7, 20, 45):
        totals = rng.normal(0.35, 1.0, (videos, 120))
        assert (is_found(totals, 0.05) == (flip_p(totals) <= 0.05)).all()


def test_drawn_scores_have_the_variances_that_they_were_drawn_with():
    rng = np.random.default_rng(4)
    for design in (
        Design(SPREAD, 6, 10, 0.1),
        Design(Spread.stated(0.5, 0.1, 10.0), 6, 10, 0.1, zero_one=True),
    ):
        totals, sizes = differences(design, 6000, rng)
        assert float((totals / sizes).mean()) == pytest.approx(0.1, abs=0.01)
        assert float((totals / sizes).var()) == pytest.approx(float(design.spread.variance()[0]), rel=0.05)
    share = Design(Spread.stated(np.sqrt(0.7 * 0.3), 0.15, 10.0), 6, 10, 0.7, zero_one=True, low=0.0, high=1.0)
    totals, sizes = values(share, 6000, rng)
    assert set(np.unique(totals)) <= set(range(11))
    assert float((totals / sizes).var()) == pytest.approx(float(share.spread.variance()[0]), rel=0.05)


def test_widths_come_from_the_interval_of_this_package():
    design = Design(Spread.stated(0.3, 0.3, 20.0), 30, 20, 0.8, low=0.0, high=1.0)
    seen = widths(design, 400, np.random.default_rng(1))
    assert 0.08 < float(np.nanmedian(seen)) < 0.2


def test_models_in_steps_are_ordered_firmly_with_more_videos():
    rng = np.random.default_rng(2)
    board = made_up_leaderboard(3, 4, 0.1, 0.8, Spread.stated(0.4, 0.1, 5.0), rng)
    assert board.macro.tolist() == pytest.approx([0.8, 0.7, 0.6])
    few, many = (
        order_chances(board, [videos], RankOptions(), np.random.default_rng(3), studies=200) for videos in (10, 80)
    )
    assert few["order"][0] < many["order"][0]
    assert many["order"][0] > 0.95
    assert order_chances(board, [4], RankOptions(), rng, studies=100)["first"][0] == 0.0


def test_the_range_of_a_pilot_covers_the_truth():
    """Pilots of eight equal videos: the 80 % range of their variance holds the true one four times in five."""
    rng, held, tries = np.random.default_rng(6), 0, 400
    for _ in range(tries):
        means = rng.normal(0, 0.2, 8)
        rows = means[:, None] + rng.normal(0, 0.4, (8, 10))
        sd = rows.mean(axis=1).std(ddof=1) / np.sqrt(8)
        spread = Spread.measured(
            float(sd), 7.0, 8, within=float(rows.var(axis=1, ddof=1).mean()), questions=10.0, sizes=np.full(8, 10.0)
        )
        drawn = spread.drawn(rng, 400).variance()
        low, high = np.quantile(drawn, (0.1, 0.9))
        held += low <= 0.04 + 0.016 <= high
    assert held / tries == pytest.approx(0.8, abs=0.06)
