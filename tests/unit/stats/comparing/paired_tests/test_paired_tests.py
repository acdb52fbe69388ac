import numpy as np
import pytest

from ranking_tables import nested_scores
from surgvalid.errors import Misuse, UnknownName
from surgvalid.stats.comparing.paired_tests import (
    TESTS,
    PairedScores,
    adjusted,
    is_significant,
    pair_tests,
    paired_test,
)


def test_sums_and_sizes_are_per_video_whatever_the_order_of_cases() -> None:
    scores = PairedScores(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1, 0, 1]))
    assert scores.sums.tolist() == [[0.0, 1.0], [2.0, 1.0]]
    assert scores.sizes.tolist() == [1.0, 2.0]
    assert scores.mean_differences.tolist() == [0.0]


def test_a_difference_is_first_minus_second() -> None:
    result = pair_tests(np.array([[1.0, 0.0, 0.0]] * 6), np.arange(6))
    assert result.difference.tolist() == [1.0, 1.0, 0.0]
    assert result.p.tolist() == [2**-5, 2**-5, 1.0]
    assert result.p_adjusted == pytest.approx([3 * 2**-5, 3 * 2**-5, 1.0])


def test_nothing_can_be_significant_with_fewer_videos_than_the_correction_needs() -> None:
    values = np.tile([1.0, 0.0, 0.0, 0.0, 0.0], (8, 1))
    eight = pair_tests(values, np.arange(8))
    assert (eight.smallest_p, eight.unreachable, eight.significant.any()) == (2**-7, True, False)
    nine = pair_tests(np.vstack([values, values[:1]]), np.arange(9))
    assert not nine.unreachable
    assert nine.significant.sum() == 4


def test_real_scores_reach_the_smallest_p_that_so_many_videos_allow() -> None:
    values = np.random.default_rng(0).random((40, 2)) + np.array([9.0, 0.0])
    result = pair_tests(values, np.arange(40), replicates=99)
    assert result.p[0] == result.smallest_p == 2.0**-39


def test_the_resolution_limits_of_twenty_models_and_of_five() -> None:
    test = TESTS["sign-flip"]
    enough = {m: next(v for v in range(99) if test.smallest_p(videos=v, cases=v, replicates=0) * m <= 0.05)
              for m in (190, 10)}  # fmt: skip
    assert enough == {190: 13, 10: 9}


def test_tests_that_ignore_videos_say_so() -> None:
    for test in TESTS.values():
        assert test.unit in ("video", "case")
        assert bool(test.warning) == (test.unit == "case" or test.name == "cluster-bootstrap")


@pytest.mark.parametrize("name", sorted(TESTS))
def test_equal_models_get_p_one_from_every_test(name: str) -> None:
    values, video = nested_scores(20, 5, 1, seed=1)
    result = pair_tests(np.hstack([values, values]), video, test=name, replicates=200)
    assert not result.significant.any()
    assert np.isnan(result.p[0]) or result.p[0] == pytest.approx(1.0)


@pytest.mark.parametrize("name", sorted(TESTS))
def test_every_test_finds_a_large_difference_and_the_order_of_rows_changes_nothing(name: str) -> None:
    values, video = nested_scores(40, 10, 2, seed=2, gap=3.0)
    result = pair_tests(values, video, test=name, replicates=500, seed=3)
    assert result.significant.all()
    order = np.random.default_rng(0).permutation(len(values))
    again = pair_tests(values[order], video[order], test=name, replicates=500, seed=3)
    assert again.p == pytest.approx(result.p, rel=1e-9)


def test_one_video_gives_no_evidence() -> None:
    values = np.array([[1.0, 0.0]] * 9)
    for name in ("sign-flip", "video-means-t"):
        assert pair_tests(values, np.zeros(9, dtype=int), test=name).p.tolist() == [1.0]


def test_mcnemar_refuses_scores_that_are_not_right_or_wrong() -> None:
    with pytest.raises(Misuse, match="needs scores of 0 and 1"):
        pair_tests(np.array([[0.5, 1.0]]), np.array([0]), test="mcnemar")


def test_an_unknown_test_or_correction_is_named_with_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean 'mcnemar'"):
        paired_test("mcnemarr")
    with pytest.raises(UnknownName, match="correction"):
        adjusted(np.array([0.1]), "bonferonni")


def test_nan_scores_and_impossible_levels_are_refused() -> None:
    with pytest.raises(Misuse, match="1 scores are not given"):
        pair_tests(np.array([[np.nan, 1.0]]), np.array([0]))
    with pytest.raises(Misuse, match="alpha"):
        pair_tests(np.array([[0.0, 1.0]]), np.array([0]), alpha=0.0)


def test_p_values_that_could_not_be_computed_do_not_count_in_the_family() -> None:
    holm = adjusted(np.array([0.02, np.nan, 0.01]), "holm")
    assert holm[[0, 2]] == pytest.approx([0.02, 0.02])
    assert np.isnan(holm[1])
    assert is_significant(holm, 0.05).tolist() == [True, False, True]


def test_a_p_value_equal_to_the_level_is_significant() -> None:
    assert is_significant(np.array([0.05, 0.0500001]), 0.05).tolist() == [True, False]
