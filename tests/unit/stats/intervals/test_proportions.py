import math

import numpy as np
import pytest
from scipy import stats

from surgvalid.errors import Misuse
from surgvalid.stats.intervals.proportions import Hits, corrected_share, share


@pytest.mark.parametrize(("count", "cases"), [(0, 7), (3, 7), (7, 7), (41, 100)])
def test_the_exact_interval_is_that_of_scipy(count: int, cases: int) -> None:
    expected = stats.binomtest(count, cases).proportion_ci(0.9, method="exact")
    assert share(count, cases, level=0.9)[1:] == pytest.approx((expected.low, expected.high))


def test_nothing_counted_is_no_share_and_nonsense_is_refused() -> None:
    assert math.isnan(share(0, 0).value)
    with pytest.raises(Misuse, match="8 of 7"):
        share(8, 7)


def test_a_perfect_rater_needs_no_correction() -> None:
    found = corrected_share(30, 100, right=Hits(5000, 5000), wrong=Hits(5000, 5000))
    assert found is not None
    assert found.value == pytest.approx(0.3)
    assert (found.low, found.high) == pytest.approx((0.218, 0.397), abs=0.005)


def test_a_rater_no_better_than_chance_cannot_be_corrected() -> None:
    assert corrected_share(50, 100, right=Hits(5, 10), wrong=Hits(5, 10)) is None
    assert corrected_share(50, 100, right=Hits(0, 0), wrong=Hits(5, 10)) is None


@pytest.mark.parametrize(
    ("truth", "se", "sp", "cases", "gold"),
    [(0.5, 0.9, 0.8, 300, 60), (0.2, 0.85, 0.95, 200, 40), (0.8, 0.95, 0.7, 500, 100), (0.05, 0.9, 0.95, 150, 50)],
)
def test_the_interval_holds_the_truth_as_often_as_it_says(
    truth: float, se: float, sp: float, cases: int, gold: int
) -> None:
    rng = np.random.default_rng(11)
    runs, inside, errors = 2000, 0, []
    for _ in range(runs):
        known_right = Hits(int(rng.binomial(gold, se)), gold)
        known_wrong = Hits(int(rng.binomial(gold, sp)), gold)
        accepted = int(rng.binomial(cases, truth * se + (1 - truth) * (1 - sp)))
        found = corrected_share(accepted, cases, right=known_right, wrong=known_wrong)
        assert found is not None
        inside += found.low <= truth <= found.high
        errors.append(found.value - truth)
    assert 0.935 <= inside / runs <= 0.99
    assert abs(np.mean(errors)) < 0.02
