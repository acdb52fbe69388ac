import numpy as np
import pytest

from surgvalid.stats.comparing.paired_tests import PairedScores
from surgvalid.stats.draws import stream, video_counts
from surgvalid.stats.ranking._focus.buckets import Bucket, FocusLeaderboard
from surgvalid.stats.ranking._focus.stability import (
    _inner_counts,
    broken_places,
    place_shares,
    video_lists,
    win_rates_nested,
)


def board_of(
    videos: int = 9, models: int = 4, buckets: int = 3, seed: int = 0, binary: bool = True
) -> FocusLeaderboard:
    """Several questions per video; the last bucket lacks every third video."""
    rng = np.random.default_rng(seed)
    made = []
    for b in range(buckets):
        held = np.arange(videos) if b < buckets - 1 else np.flatnonzero(np.arange(videos) % 3)
        code = np.repeat(np.arange(len(held)), 4)
        values = rng.random((len(code), models))
        values = (values < 0.6).astype(float) if binary else values
        made.append(Bucket(f"group {b}", False, PairedScores(values, code), held))
    return FocusLeaderboard("technical", [f"m{i}" for i in range(models)], tuple(made), videos)


def rates_by_force(board: FocusLeaderboard, members: np.ndarray, weights: np.ndarray, one: np.ndarray, group: list[int],
                   inner: int, seed: int) -> np.ndarray:  # fmt: skip
    """Win rates of one replicate, every inner resample written out as a list of videos."""
    rate = np.zeros(len(group))
    for b, bucket in enumerate(board.buckets):
        for counts in _inner_counts(board, bucket, len(one), inner, seed):
            listed = np.repeat(one, counts)
            total = np.zeros(len(group))
            for video in listed:
                for place in np.flatnonzero(bucket.videos == video):
                    total += bucket.scores.sums[place][members[group]]
            top = total >= total.max() - 1e-9
            rate += weights[b] / weights.sum() * top / top.sum() / inner
    return rate


def test_lists_and_counts_are_the_same_draws() -> None:
    lists = video_lists(200, 3000, stream(3, "ranking", "stability"))
    counts = video_counts(200, 3000, stream(3, "ranking", "stability"))
    assert (np.stack([np.bincount(one, minlength=200) for one in lists]) == counts).all()


@pytest.mark.parametrize("binary", [True, False])
def test_win_rates_equal_a_bootstrap_of_the_bootstrap_written_out(binary: bool) -> None:
    board, members, weights = board_of(binary=binary), np.array([0, 2, 3]), np.array([1.0, 2.0, 0.5])
    lists = video_lists(9, 5, stream(1, "test"))
    place = np.array([[1, 1, 1], [1, 1, 3], [3, 1, 1], [1, 2, 2], [1, 2, 3]])
    inner = [_inner_counts(board, bucket, 9, 20, 7) for bucket in board.buckets]
    rates = win_rates_nested(board, members, weights, lists, place, inner)
    for replicate, group in ((0, [0, 1, 2]), (1, [0, 1]), (2, [1, 2]), (3, [1, 2])):
        expected = rates_by_force(board, members, weights, lists[replicate], group, 20, 7)
        assert rates[replicate, group] == pytest.approx(expected, abs=1e-12)
    assert not rates[4].any()


def test_only_shared_places_at_the_top_change_and_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    board, members = board_of(models=6, seed=2), np.arange(6)
    rng = np.random.default_rng(5)
    score = rng.integers(0, 4, (80, 6))
    place = 1 + (score[:, None, :] > score[:, :, None]).sum(axis=2)
    macro, lists = rng.random((80, 6)), video_lists(9, 80, stream(1, "test"))
    broken = broken_places(board, members, np.ones(3), lists, place, macro, seed=1, inner=30)
    for before, after in zip(place, broken, strict=True):
        for p in np.unique(before):
            group = np.flatnonzero(before == p)
            if len(group) == 1 or p > 3:
                assert (after[group] == p).all()
            else:
                assert sorted(after[group]) == list(range(p, p + len(group)))
    monkeypatch.setattr("surgvalid.stats.ranking._focus.stability._CELLS", 2000)
    again = broken_places(board, members, np.ones(3), lists, place, macro, seed=1, inner=30)
    assert (again == broken).all()


def test_macro_accuracy_decides_between_equal_win_rates_and_equals_stay_tied() -> None:
    board, members = board_of(models=3), np.arange(3)
    lists = video_lists(9, 2, stream(1, "test"))
    macro = np.array([[0.5, 0.7, 0.7], [0.5, 0.6, 0.7]])
    broken = broken_places(board, members, np.ones(3), lists, np.ones((2, 3), dtype=int), macro, seed=1, inner=0)
    assert broken.tolist() == [[3, 1, 1], [3, 2, 1]]
    assert place_shares(broken, 1) == pytest.approx([0, 0.25, 0.75])


def test_probabilities_of_the_first_places_sum_to_their_number() -> None:
    rng = np.random.default_rng(6)
    score = rng.integers(0, 5, (500, 7))
    place = 1 + (score[:, None, :] > score[:, :, None]).sum(axis=2)
    assert place_shares(place, 1).sum() == pytest.approx(1.0, abs=1e-9)
    assert place_shares(place, 3).sum() == pytest.approx(3.0, abs=1e-9)
