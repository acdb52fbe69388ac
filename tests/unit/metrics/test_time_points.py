import math
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import Misuse
from surgvalid.metrics.times import matched_errors_s, worst_error_s

TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=6)


def least_total(reference, prediction) -> int:
    short, long = sorted((reference, prediction), key=len)
    return min(sum(abs(a - b) for a, b in zip(short, chosen, strict=True)) for chosen in permutations(long, len(short)))


@given(TIMES, TIMES)
def test_the_matching_is_the_best_of_all_permutations(reference, prediction) -> None:
    errors = matched_errors_s(reference, prediction, worst_s=10**6)
    matched = min(len(reference), len(prediction))
    assert errors[:matched].sum() == least_total(reference, prediction)
    assert (errors[matched:] == 10**6).all()
    assert len(errors) == max(len(reference), len(prediction))


@given(TIMES, TIMES, st.randoms())
def test_the_order_of_the_times_changes_nothing(reference, prediction, random) -> None:
    before = matched_errors_s(reference, prediction, worst_s=99).tolist()
    random.shuffle(reference)
    random.shuffle(prediction)
    assert matched_errors_s(reference, prediction, worst_s=99).tolist() == before
    assert sorted(matched_errors_s(prediction, reference, worst_s=99).tolist()) == sorted(before)


def test_of_equally_good_matchings_the_one_with_the_earliest_points_is_taken() -> None:
    assert matched_errors_s([1, 2], [0, 1, 4], worst_s=99).tolist() == [1, 1, 99]  # not [0, 2, 99]


def test_no_prediction_leaves_every_reference_unmatched() -> None:
    assert matched_errors_s([5, 9], [], worst_s=50).tolist() == [50, 50]


def test_an_absurd_time_costs_no_more_than_none() -> None:
    assert matched_errors_s([5], [359999], worst_s=50).tolist() == [50]


def test_a_missing_time_is_within_no_tolerance_even_where_it_costs_as_little_as_one() -> None:
    worst = worst_error_s([5], window_s=(0, 10))
    errors = matched_errors_s([5], [], worst_s=worst)
    assert errors.tolist() == [30]


def test_times_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(Misuse, match="finite seconds"):
        matched_errors_s([math.nan], [1], worst_s=9)
