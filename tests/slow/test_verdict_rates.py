"""How often a verdict is wrong: a thousand pages, joint intervals, contradictions, and every printed probability."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from docs.validate_verdicts import held_by_bound, held_by_improvement, held_by_range, held_elsewhere

from surgvalid.stats.comparing.paired_tests import pair_indices
from surgvalid.stats.verdict.contradictions import conditions
from surgvalid.stats.verdict.joint_flips import joint_differences
from verdict_pages import contradictions, simulated


def test_a_thousand_pages_say_nothing_against_their_intervals() -> None:
    wrong = {seed: found for seed in range(1000) if (found := contradictions(simulated(seed)))}
    assert wrong == {}


@pytest.mark.parametrize(
    ("models", "units", "runs", "power"), [(3, 10, 400, 0.19), (3, 40, 100, 0.86), (5, 10, 300, 0.07)]
)
def test_joint_intervals_cover_together_and_find_what_was_measured(
    models: int, units: int, runs: int, power: float
) -> None:
    """Coverage of equal models with unequal spread, and the share of unequal pairs found, one model 0.8 SD ahead."""
    rng = np.random.default_rng(models * units)
    first, second = pair_indices(models)
    covered, found = [], []
    for _ in range(runs):
        scores = rng.normal(0, 1, (units, models)) * np.linspace(0.4, 2, models)
        gaps = scores[:, first] - scores[:, second]
        held = joint_differences(gaps, np.ones_like(gaps))
        covered.append(bool(((held.low <= 0) & (held.high >= 0)).all()))
        ahead = rng.normal(0, 1, (units, models))
        ahead[:, 0] += 0.8
        gaps = ahead[:, first] - ahead[:, second]
        p = joint_differences(gaps, np.ones_like(gaps)).tests.p_adjusted[first == 0]
        found.append(float((p <= 0.05).mean()))
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / runs)
    assert abs(np.mean(found) - power) < 3 * np.sqrt(power * (1 - power) / runs) + 0.03


def depends(rng: np.random.Generator, sizes: tuple[int, ...], effects: tuple[float, ...]) -> bool:
    labels = np.repeat([f"c{place}" for place in range(len(sizes))], sizes)
    gaps = rng.normal(0, 1, len(labels)) + np.repeat(effects, sizes)
    found = conditions(gaps, np.arange(len(gaps)), {"centre": pl.Series(labels)}, number=len(gaps))
    return bool(found) and found[0].contradicting() is not None


@pytest.mark.parametrize(("sizes", "opposite"), [((10, 10), 0.95), ((16, 8), 0.92)])
def test_it_depends_is_said_as_seldom_and_as_often_as_measured(sizes: tuple[int, ...], opposite: float) -> None:
    rng = np.random.default_rng(sum(sizes))
    runs = 200
    assert np.mean([depends(rng, sizes, (0.0, 0.0)) for _ in range(runs)]) <= 0.03
    assert np.mean([depends(rng, sizes, (1.0, 1.0)) for _ in range(runs)]) <= 0.02
    assert np.mean([depends(rng, sizes, (2.5, 0.0)) for _ in range(runs)]) <= 0.10
    assert np.mean([depends(rng, sizes, (1.2, -1.2)) for _ in range(runs)]) >= opposite - 0.08


def test_every_probability_that_is_printed_is_kept() -> None:
    assert [held_by_range("normal", units) for units in (3, 4, 5)] == pytest.approx([0.75, 0.875, 0.9375], abs=0.01)
    assert min(held_by_bound(units) for units in (6, 12, 40)) >= 0.95
    assert min(held_elsewhere(centres, 1500) for centres in (5, 12)) >= 0.94
    assert min(held_by_improvement(videos, 200) for videos in (6, 20)) >= 0.91
