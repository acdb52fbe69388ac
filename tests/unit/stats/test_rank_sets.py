import itertools
import math

import numpy as np
import pytest

from surgeval.stats.rank_sets import rank_sets, sign_patterns


def sets_by_force(c: np.ndarray, level: float = 0.95) -> list[tuple[int, int]]:
    """The definition, pair by pair and pattern by pattern."""
    videos, models = c.shape
    pairs = list(itertools.combinations(range(models), 2))
    patterns = [(1, *rest) for rest in itertools.product((1, -1), repeat=videos - 1)]

    def t(pair: tuple[int, int], signs: tuple[int, ...]) -> float:
        d = c[:, pair[0]] - c[:, pair[1]]
        return float(abs(np.dot(signs, d)) / np.sqrt((d**2).sum()))

    left, out = list(pairs), set()
    while left:
        ordered = sorted(max(t(pair, signs) for pair in left) for signs in patterns)
        critical = ordered[math.ceil(level * len(patterns)) - 1]
        new = [pair for pair in left if t(pair, patterns[0]) > critical * (1 + 1e-9)]
        if not new:
            break
        out.update(new)
        left = [pair for pair in left if pair not in out]
    value = c.sum(axis=0)
    better = [[(min(i, j), max(i, j)) in out and value[i] > value[j] for j in range(models)] for i in range(models)]
    return [(1 + sum(better[i][j] for i in range(models)), models - sum(better[j])) for j in range(models)]


@pytest.mark.parametrize("seed", range(6))
def test_sets_equal_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = rng.normal(0, 1, (8, 1)) + rng.normal(0, 1, (8, 4)) + np.arange(4) * rng.choice([0.3, 1.0, 3.0])
    found = rank_sets(c)
    assert list(zip(found.low.tolist(), found.high.tolist(), strict=True)) == sets_by_force(c)
    assert found.patterns == 128


def test_step_down_finds_what_one_step_does_not() -> None:
    rng = np.random.default_rng(11)
    gains = 0
    for _ in range(60):
        c = rng.normal(0, 1, (10, 5)) + np.arange(5) * 0.9
        sizes = rank_sets(c)
        pairs = int(sizes.better.sum())
        first, second = np.triu_indices(5, 1)
        d = c[:, first] - c[:, second]
        spread = np.sqrt((d**2).sum(axis=0))
        largest = np.sort((np.abs(sign_patterns(10, 0, 0, "all") @ d) / spread).max(axis=1))
        one_step = int((np.abs(d.sum(axis=0)) / spread > largest[math.ceil(0.95 * 512) - 1] * (1 + 1e-9)).sum())
        assert pairs >= one_step
        gains += pairs > one_step
    assert gains > 0


def test_fewer_than_six_videos_and_equal_models_leave_every_rank_possible() -> None:
    spread_out = np.random.default_rng(1).normal(0, 0.01, (5, 3)) + np.arange(3)
    equal = np.tile(np.random.default_rng(2).random((9, 1)), (1, 3))
    for c in (spread_out, equal):
        found = rank_sets(c)
        assert (found.low.tolist(), found.high.tolist()) == ([1] * 3, [3] * 3)


def test_clear_differences_leave_one_rank_each_whichever_way_is_better() -> None:
    c = np.random.default_rng(3).normal(0, 0.01, (20, 4)) + np.array([0.3, 0.9, 0.5, 0.7])
    assert rank_sets(c).low.tolist() == rank_sets(c).high.tolist() == [4, 1, 3, 2]
    assert rank_sets(c, larger_is_better=False).low.tolist() == [1, 4, 2, 3]


@pytest.mark.parametrize("videos", [9, 30])
def test_the_order_of_models_changes_nothing_and_the_seed_repeats(videos: int) -> None:
    rng = np.random.default_rng(4)
    c = rng.normal(0, 1, (videos, 5)) + np.arange(5) * 0.4
    order = rng.permutation(5)
    found, moved = rank_sets(c, seed=3), rank_sets(c[:, order], seed=3)
    assert moved.low.tolist() == found.low[order].tolist()
    assert moved.high.tolist() == found.high[order].tolist()
    assert rank_sets(c, seed=3).low.tolist() == found.low.tolist()
