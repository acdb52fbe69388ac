import itertools

import numpy as np
import pytest

from surgvalid.stats.comparing.rank_sets import rank_sets


def p_adjusted_by_force(c: np.ndarray) -> dict[tuple[int, int], float]:
    """The definition, pair by pair and pattern by pattern: the larger share of smallest p as small."""
    videos, models = c.shape
    pairs = list(itertools.combinations(range(models), 2))
    patterns = [np.array((1, *rest)) for rest in itertools.product((1, -1), repeat=videos - 1)]

    def own_p(d: np.ndarray) -> list[float]:
        sizes = [abs(float(signs @ d)) for signs in patterns]
        return [sum(other >= size - 1e-9 for other in sizes) / len(sizes) for size in sizes]

    gaps = {pair: c[:, pair[0]] - c[:, pair[1]] for pair in pairs}
    raw = {pair: own_p(d) for pair, d in gaps.items()}
    centred = [own_p(d - d.mean()) for d in gaps.values()]
    smallest = [[min(column) for column in zip(*lists, strict=True)] for lists in (raw.values(), centred)]
    return {pair: max(sum(m <= p[0] + 1e-12 for m in some) / len(some) for some in smallest) for pair, p in raw.items()}


@pytest.mark.parametrize("seed", range(6))
def test_sets_equal_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = rng.normal(0, 1, (8, 1)) + rng.normal(0, 1, (8, 4)) + np.arange(4) * rng.choice([0.3, 1.0, 3.0])
    found, value = rank_sets(c), c.sum(axis=0)
    for (i, j), p in p_adjusted_by_force(c).items():
        assert bool(found.better[i, j]) == (p <= 0.05 and value[i] > value[j])
        assert bool(found.better[j, i]) == (p <= 0.05 and value[j] > value[i])
    assert found.low.tolist() == (1 + found.better.sum(axis=0)).tolist()
    assert found.high.tolist() == (4 - found.better.sum(axis=1)).tolist()


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
def test_the_order_of_models_changes_nothing_and_a_call_repeats(videos: int) -> None:
    rng = np.random.default_rng(4)
    c = rng.normal(0, 1, (videos, 5)) + np.arange(5) * 0.4
    order = rng.permutation(5)
    found, moved = rank_sets(c), rank_sets(c[:, order])
    assert moved.low.tolist() == found.low[order].tolist()
    assert moved.high.tolist() == found.high[order].tolist()
    assert rank_sets(c).low.tolist() == found.low.tolist()
