import numpy as np
import pytest

from sign_patterns import bracketed_p, differences_at, enumerated_p, sizes_of
from surgvalid.stats.comparing.paired_tests import (
    PairedScores,
    adjusted,
    flip_p,
    is_significant,
    pair_tests,
    smallest_p,
)
from surgvalid.stats.comparing.paired_tests._by_video import sign_flip_p


@pytest.mark.parametrize("videos", [1, 2, 3, 6, 9, 12, 16])
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.0])
def test_p_equals_the_share_of_all_sign_patterns(videos: int, shift: float) -> None:
    rng = np.random.default_rng([videos, int(10 * shift)])
    differences = rng.normal(shift, 1, (videos, 4))
    assert flip_p(differences).tolist() == [enumerated_p(column) for column in differences.T]


def test_twenty_videos_are_counted_exactly_too() -> None:
    differences = np.random.default_rng(1).normal(0.5, 1, 20)
    assert flip_p(differences)[0] == enumerated_p(differences)


def test_sums_that_differ_by_rounding_only_are_equal() -> None:
    tenths = np.array([1, 2, -3, 4, 5, -1, 2, 3, -4, 6], dtype=float)
    assert flip_p(tenths * 0.1)[0] == enumerated_p(tenths)


def test_videos_without_a_difference_change_nothing() -> None:
    differences = np.random.default_rng(2).normal(0.4, 1, 35)
    padded = np.concatenate([np.zeros(40), differences])
    assert flip_p(padded)[0] == pytest.approx(flip_p(differences)[0], rel=1e-12)


@pytest.mark.parametrize("kind", ["normal", "lognormal", "near zero"])
@pytest.mark.parametrize("videos", [31, 45, 100])
def test_many_videos_lie_within_a_percent_of_a_bracketing_grid(kind: str, videos: int) -> None:
    rng = np.random.default_rng([3, videos])
    for p in (0.05, 1e-3, 1e-6):
        differences = differences_at(p, sizes_of(kind)(videos, rng), rng)
        low, high = bracketed_p(differences, 100_000)
        assert low * 0.99 <= flip_p(differences)[0] <= high * 1.01


def test_whole_numbers_of_many_videos_have_their_exact_p() -> None:
    whole = np.random.default_rng(4).integers(-2, 4, 60).astype(float)
    low, high = bracketed_p(whole, int(np.abs(whole).sum()))
    assert low == pytest.approx(high)
    assert flip_p(whole)[0] == pytest.approx(low, rel=1e-9)
    assert flip_p(whole / 3)[0] == pytest.approx(low, rel=1e-9)


def test_neither_the_order_of_videos_nor_the_other_pairs_matter() -> None:
    rng = np.random.default_rng(6)
    for videos in (12, 50):
        pairs = np.column_stack([rng.normal(0.3, 1, (videos, 3)), rng.integers(-2, 4, videos)])
        together = flip_p(pairs)
        assert flip_p(pairs[rng.permutation(videos)]).tolist() == together.tolist()
        assert [flip_p(column)[0] for column in pairs.T] == pytest.approx(together.tolist(), rel=1e-12)


def test_equal_models_have_p_one_and_the_smallest_p_is_reached_when_one_wins_everywhere() -> None:
    assert flip_p(np.zeros((9, 1)))[0] == 1.0
    for videos in (6, 15, 80):
        assert flip_p(np.linspace(0.1, 1, videos))[0] == float(smallest_p(videos))


def test_clearly_different_models_pass_a_correction_over_many_pairs() -> None:
    rng = np.random.default_rng(8)
    scores = rng.normal(0, 1, (60, 1)) + np.arange(12) + rng.normal(0, 0.5, (60, 12))
    assert pair_tests(scores, np.arange(60)).significant.all()


def test_many_pairs_are_decided_as_if_every_p_value_were_refined() -> None:
    rng = np.random.default_rng(11)
    models, videos = 48, 36
    skill = np.repeat(np.linspace(0.0, 1.2, models // 4), 4)
    values = skill + rng.normal(0, 1, (videos, models)) * rng.lognormal(0, 0.5, (videos, 1))
    scores = PairedScores(values, np.arange(videos))
    quick, method = sign_flip_p(scores, seed=0, replicates=0)
    full = flip_p(scores.video_differences)
    assert "saddlepoint alone" in method
    assert (is_significant(adjusted(quick, "holm"), 0.05) == is_significant(adjusted(full, "holm"), 0.05)).all()
    assert 0.02 < is_significant(adjusted(full, "holm"), 0.05).mean() < 0.9
    assert np.abs(np.log(quick / full)).max() < np.log(1.6)
    between = (full > 1e-6) & (full < 0.15)
    assert (quick[between] == full[between]).all()
    assert (quick != full).any()


def test_forty_clearly_different_models_give_significant_pairs() -> None:
    rng = np.random.default_rng(3)
    videos, models = 60, 40
    values = np.linspace(0, 1, models) + rng.normal(0, 0.15, (videos, models))
    run = pair_tests(values, np.arange(videos))
    rounded = pair_tests(np.round(values, 2), np.arange(videos))
    assert run.significant.sum() > 600
    assert abs(int(run.significant.sum()) - int(rounded.significant.sum())) < 15
