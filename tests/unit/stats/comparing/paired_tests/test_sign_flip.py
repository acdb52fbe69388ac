import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surgvalid.stats.comparing.paired_tests import PairedScores, exact_p
from surgvalid.stats.comparing.paired_tests._by_video import sign_flip_p
from surgvalid.stats.comparing.paired_tests._sign_flip import _lattice_p, grid_of


def enumerated_p(differences: np.ndarray) -> list[float]:
    """All sign patterns, one by one, in exact arithmetic."""
    videos, pairs = differences.shape
    patterns = np.array(list(itertools.product((1, -1), repeat=videos)))
    sums = np.abs(patterns @ differences)
    return [float(Fraction(int((sums[:, k] >= abs(differences[:, k].sum())).sum()), 2**videos)) for k in range(pairs)]


def convolved_p(column: np.ndarray) -> float:
    """The distribution of the sum as a dictionary of whole-number counts."""
    ways = {0: 1}
    for step in np.abs(column).tolist():
        moved: dict[int, int] = {}
        for total, count in ways.items():
            for sign in (step, -step):
                moved[total + sign] = moved.get(total + sign, 0) + count
        ways = moved
    reached = abs(int(column.sum()))
    return float(Fraction(sum(count for total, count in ways.items() if abs(total) >= reached), 2 ** len(column)))


@given(hnp.arrays(np.int64, st.tuples(st.integers(1, 12), st.integers(1, 3)), elements=st.integers(-9, 9)))
def test_the_exact_test_equals_listing_all_sign_patterns_up_to_twelve_videos(differences: np.ndarray) -> None:
    assert exact_p(differences).tolist() == enumerated_p(differences)


@pytest.mark.parametrize("flipped", [0.0, 0.1, 0.3, 0.5])
def test_many_videos_agree_with_whole_number_convolution_to_twelve_digits(flipped: float) -> None:
    rng = np.random.default_rng(3)
    differences = rng.poisson(2, (150, 6)) * np.where(rng.random((150, 6)) < flipped, -1, 1)
    expected = [convolved_p(differences[:, k]) for k in range(6)]
    assert exact_p(differences) == pytest.approx(expected, rel=1e-11)


def test_the_lattice_sum_alone_is_within_one_in_a_trillion() -> None:
    rng = np.random.default_rng(4)
    differences = rng.integers(-12, 13, (200, 8))
    got = _lattice_p(np.abs(differences), np.abs(differences.sum(axis=0)))
    assert np.abs(got - [convolved_p(differences[:, k]) for k in range(8)]).max() < 1e-12


def test_a_model_that_wins_every_video_reaches_the_smallest_p() -> None:
    assert exact_p(np.full((60, 1), 3))[0] == 2.0**-59


def test_a_p_value_is_never_zero_however_many_videos_there_are() -> None:
    assert 0 < exact_p(np.ones((2000, 1), dtype=int))[0] < 1e-300


def test_equal_totals_are_never_significant() -> None:
    assert exact_p(np.array([[5], [-5], [0]]))[0] == 1.0
    assert exact_p(np.zeros((4, 2), dtype=int)).tolist() == [1.0, 1.0]


@given(hnp.arrays(np.int64, (8, 2), elements=st.integers(-6, 6)), st.randoms(use_true_random=False))
def test_neither_the_order_of_videos_nor_the_side_matters(differences: np.ndarray, random: object) -> None:
    order = list(range(8))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert exact_p(-differences[order]).tolist() == exact_p(differences).tolist()


def test_one_case_per_video_is_the_sign_test() -> None:
    scores = PairedScores(np.array([[1.0, 0.0]] * 7 + [[0.0, 1.0]] * 2 + [[1.0, 1.0]] * 5), np.arange(14))
    p, method = sign_flip_p(scores, seed=0, replicates=10)
    assert p[0] == pytest.approx(2 * (1 + 9 + 36) / 2**9)
    assert method == "exact"


def test_scores_on_a_grid_are_tested_exactly() -> None:
    values = np.array([[0.5, 0.25], [1.0, 0.75], [0.5, 0.5], [0.75, 0.25]])
    p, method = sign_flip_p(PairedScores(values, np.arange(4)), seed=0, replicates=10)
    assert (p[0], method) == (0.25, "exact, scores times 4")


def test_real_scores_are_counted_for_few_videos_and_never_drawn() -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(0.3, 1, (12, 2)) * [1.0, 0.0]
    few, how = sign_flip_p(PairedScores(values, np.arange(12)), seed=0, replicates=10)
    assert how == "exact, patterns counted"
    patterns = np.array(list(itertools.product((1, -1), repeat=12)))
    expected = (np.abs(patterns @ values[:, 0]) >= abs(values[:, 0].sum()) - 1e-12).mean()
    assert few[0] == pytest.approx(expected)
    values = rng.normal(0.2, 1, (60, 2)) * [1.0, 0.0]
    many, how = sign_flip_p(PairedScores(values, np.arange(60)), seed=7, replicates=10)
    assert how == "counted or saddlepoint"
    z = abs(values[:, 0].sum()) / np.sqrt((values[:, 0] ** 2).sum())
    assert many[0] == pytest.approx(2 * (1 - 0.5 * (1 + math.erf(z / 2**0.5))), abs=0.01)


def test_the_grid_of_thirds_and_halves_is_sixths() -> None:
    assert grid_of(np.array([1 / 3, 0.5])) == 6
    assert grid_of(np.array([0.123456789])) is None
