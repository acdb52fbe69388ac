from itertools import product

import numpy as np
import pytest

from nested_tables import two_stage_nest
from surgeval.errors import Misuse
from surgeval.stats.deterministic import two_stage_distribution
from surgeval.stats.draws import replicate_keys, stream
from surgeval.stats.resampling import drawn_sums


def scores(videos: int, seed: int, models: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.integers(5, 30, videos))
    share = np.repeat(rng.beta(4, 2, videos), sizes)
    return (rng.random((sizes.sum(), models)) < share[:, None]).astype(float), np.concatenate([[0], np.cumsum(sizes)])


@pytest.mark.parametrize("difference", [False, True])
def test_quantiles_are_those_of_very_many_replicates(difference: bool) -> None:
    values, starts = scores(40, 1, models=2)
    wanted = values[:, 0] - values[:, 1] if difference else values[:, 0]
    found = two_stage_distribution(wanted, starts)
    nest = two_stage_nest(np.diff(starts).tolist())
    sums = drawn_sums(nest, replicate_keys(40_000, stream(1, "test")), values, 1 / nest.sizes) / 40
    draws = sums[:, 0] - sums[:, 1] if difference else sums[:, 0]
    assert found.sd == pytest.approx(draws.std(), rel=0.02)
    shares = np.array([0.005, 0.025, 0.5, 0.975, 0.995])
    np.testing.assert_allclose(found.quantiles(shares), np.quantile(draws, shares), atol=0.06 * found.sd)


def test_the_sd_is_exact_by_enumeration_of_a_tiny_table() -> None:
    values, starts = np.array([0.0, 1.0, 1.0, 1.0, 0.0]), np.array([0, 2, 5])
    videos = [values[0:2], values[2:5]]
    outcomes, weights = [], []
    for drawn in product(range(2), repeat=2):
        for rows in product(*(product(range(len(videos[v])), repeat=len(videos[v])) for v in drawn)):
            outcomes.append(np.mean([videos[v][list(r)].mean() for v, r in zip(drawn, rows, strict=True)]))
            weights.append(1 / 4 / np.prod([len(videos[v]) ** len(videos[v]) for v in drawn]))
    mean = np.average(outcomes, weights=weights)
    sd = np.sqrt(np.average((np.array(outcomes) - mean) ** 2, weights=weights))
    found = two_stage_distribution(values, starts)
    assert found.value == pytest.approx(mean)
    assert found.sd == pytest.approx(sd)


def test_all_equal_scores_have_no_spread() -> None:
    found = two_stage_distribution(np.ones(6), np.array([0, 2, 6]))
    assert found.sd == 0
    assert found.quantiles(np.array([0.025, 0.975])).tolist() == [1.0, 1.0]
    assert found.below(np.array([0.5, 1.5])).tolist() == [0.0, 1.0]


def test_the_distribution_function_rises_from_zero_to_one() -> None:
    values, starts = scores(60, 3)
    found = two_stage_distribution(values[:, 0], starts)
    points = np.linspace(found.value - 10 * found.sd, found.value + 10 * found.sd, 400)
    below = found.below(points)
    assert below[0] == 0
    assert below[-1] == 1
    assert (np.diff(below) > -1e-6).all()


def test_scores_of_many_values_and_unscored_cases_are_refused() -> None:
    with pytest.raises(Misuse, match="few distinct values"):
        two_stage_distribution(np.linspace(0, 1, 200), np.array([0, 100, 200]))
    with pytest.raises(Misuse, match="every case scored"):
        two_stage_distribution(np.array([1.0, np.nan]), np.array([0, 1, 2]))
