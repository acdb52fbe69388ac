"""Adjusted p-values, simultaneous intervals, contradictions and what overturns a verdict, against plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats as peer

from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.intervals.skewed import unseen_rate
from surgvalid.stats.verdict.contradictions import _welch
from surgvalid.stats.verdict.joint_flips import JointDifferences, joint_differences, joint_tests
from surgvalid.stats.verdict.reach import carrying


def gaps_of(scores: np.ndarray) -> np.ndarray:
    first, second = pair_indices(scores.shape[1])
    return np.asarray(scores[:, first] - scores[:, second])


def joint(scores: np.ndarray) -> JointDifferences:
    gaps = gaps_of(scores)
    return joint_differences(gaps, np.ones_like(gaps))


def all_signs(units: int) -> list[np.ndarray]:
    return [np.array((1, *rest)) for rest in itertools.product((1, -1), repeat=units - 1)]


def own_p(gaps: np.ndarray, signs: list[np.ndarray]) -> list[float]:
    """The p-value of every pattern: its rank among the patterns of the pair."""
    sizes = [abs(float(one @ gaps)) for one in signs]
    slack = 1e-9 * np.abs(gaps).sum()
    return [sum(other >= size - slack for other in sizes) / len(sizes) for size in sizes]


def smallest(gaps: np.ndarray, signs: list[np.ndarray]) -> list[float]:
    return [min(column) for column in zip(*(own_p(pair, signs) for pair in gaps.T), strict=True)]


@pytest.mark.parametrize(("models", "units", "spread"), [(3, 7, 0.5), (3, 8, 2.0), (4, 8, 1.0)])
def test_adjusted_p_values_and_the_single_level_are_those_of_listing_every_pattern(
    models: int, units: int, spread: float
) -> None:
    rng = np.random.default_rng(models * units)
    gaps = gaps_of(rng.normal(0, 1, (units, models)) + spread * np.arange(models))
    signs = all_signs(units)
    m, mc = smallest(gaps, signs), smallest(gaps - gaps.mean(axis=0), signs)
    mine = [own_p(pair, signs)[0] for pair in gaps.T]
    wanted = [max(np.mean([one <= p + 1e-12 for one in some]) for some in (m, mc)) for p in mine]
    found = joint_tests(gaps, np.ones_like(gaps))
    assert found.p_value.tolist() == pytest.approx(mine)
    assert found.p_adjusted.tolist() == pytest.approx(wanted)
    levels = [k / len(signs) for k in range(len(signs))]
    held = [p for p in levels if max(np.mean([one <= p + 1e-12 for one in some]) for some in (m, mc)) <= 0.05 + 1e-12]
    assert found.single == pytest.approx(max(held))


def test_ends_are_where_the_pairs_own_test_crosses_the_single_level() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(0, 1, (8, 3)) + np.array([0.0, 0.5, 1.5])
    found, signs, gaps = joint(scores), all_signs(8), gaps_of(scores)
    for pair in range(3):
        for end, outside in ((found.low[pair], -1e-6), (found.high[pair], 1e-6)):
            assert own_p(gaps[:, pair] - (end + outside), signs)[0] <= found.tests.single + 1e-12
            assert own_p(gaps[:, pair] - (end - outside), signs)[0] > found.tests.single


scores_of = st.integers(2, 5).flatmap(
    lambda models: st.integers(5, 14).flatmap(
        lambda units: arrays.arrays(
            np.float64, (units, models), elements=st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.5, 0.7, 0.9, 1.0])
        )
    )
)


@settings(max_examples=60, deadline=None)
@given(scores_of)
def test_a_pair_is_shown_exactly_where_its_interval_excludes_zero(scores: np.ndarray) -> None:
    found = joint(scores)
    excludes = (found.low > 0) | (found.high < 0)
    assert (found.tests.p_adjusted <= 0.05 + 1e-12).tolist() == excludes.tolist()
    assert (found.tests.p_adjusted >= found.tests.p_value - 1e-12).all()


def test_units_that_a_pair_does_not_share_leave_its_test_alone() -> None:
    rng = np.random.default_rng(2)
    gaps = rng.normal(0.6, 1, (9, 1))
    padded = np.concatenate([gaps, np.zeros((2, 1))])
    sizes = np.concatenate([np.ones((9, 1)), np.zeros((2, 1))])
    both, alone = np.hstack([padded, padded]), joint_differences(gaps, np.ones_like(gaps))
    found = joint_differences(both, np.hstack([sizes, sizes]))
    assert found.value.tolist() == pytest.approx([alone.value[0]] * 2)
    assert found.tests.p_value.tolist() == pytest.approx([alone.tests.p_value[0]] * 2)
    assert found.low[0] <= alone.low[0] + 1e-12


@pytest.mark.parametrize("sizes", [(6, 6), (9, 4), (5, 6, 7)])
def test_welchs_f_is_that_of_scipy(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(sizes))
    groups = [rng.normal(place, 1 + place, size) for place, size in enumerate(sizes)]
    labels = np.repeat(np.arange(len(sizes)), sizes)[None, :]
    found = _welch(np.concatenate(groups), labels)[0]
    if len(sizes) == 2:
        assert found == pytest.approx(peer.ttest_ind(*groups, equal_var=False).statistic ** 2)
    w = np.array([len(one) / one.var(ddof=1) for one in groups])
    centre = sum(w * [one.mean() for one in groups]) / w.sum()
    top = sum(w * (np.array([one.mean() for one in groups]) - centre) ** 2) / (len(w) - 1)
    lack = sum((1 - w / w.sum()) ** 2 / (np.array(sizes) - 1))
    assert found == pytest.approx(top / (1 + 2 * (len(w) - 2) / (len(w) ** 2 - 1) * lack))


@pytest.mark.parametrize("seed", range(20))
def test_the_units_that_carry_a_verdict_are_no_more_than_an_exhaustive_search_finds(seed: int) -> None:
    gaps = np.random.default_rng(seed).normal(0.9, 1, 9)

    def holds(kept: np.ndarray) -> bool:
        some = gaps[kept][:, None]
        return bool(joint_tests(some, np.ones_like(some)).p_adjusted[0] <= 0.05)

    if not holds(np.ones(9, dtype=bool)):
        return
    fewest = next(
        number
        for number in range(1, 9)
        if any(not holds(~np.isin(np.arange(9), out)) for out in itertools.combinations(range(9), number))
    )
    found = carrying(gaps, holds, most=8)
    assert found is not None
    assert len(found) == fewest


def test_the_rate_that_may_be_unseen_is_the_end_of_clopper_and_pearson() -> None:
    for units, failures in ((6, 0), (12, 0), (14, 2), (40, 5)):
        wanted = peer.binomtest(failures, units).proportion_ci(0.90, "exact").high
        assert unseen_rate(units, failures) == pytest.approx(wanted)
    assert unseen_rate(12) == pytest.approx(1 - 0.05 ** (1 / 12))
