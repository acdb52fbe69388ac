"""Phases fill the procedure, follow their model, and last about as long as the model says."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from surgvalid.simulation import PROCEDURE_TYPES
from surgvalid.simulation.procedure_types import draw_duration_s, draw_phases

KINDS = list(PROCEDURE_TYPES.values())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_phases_fill_the_duration_without_a_hole_and_in_the_order_of_the_model(kind):
    order = [phase.name for phase in kind.phases]
    for seed in range(50):
        phases = draw_phases(kind, 1800, np.random.default_rng(seed))
        assert phases[0].start_s == 0
        assert phases[-1].end_s == 1800
        assert all(one.end_s == other.start_s for one, other in pairwise(phases))
        assert all(phase.length_s > 0 and phase.start_s.is_integer() for phase in phases)
        places = [order.index(phase.model.name) for phase in phases]
        assert places == sorted(places)


def drawn(kind, rounds: int = 400) -> dict[str, list[float]]:
    """The shares of the duration that each phase took, in many procedures."""
    seen: dict[str, list[float]] = {phase.name: [] for phase in kind.phases}
    for seed in range(rounds):
        for phase in draw_phases(kind, 6000, np.random.default_rng(seed)):
            seen[phase.model.name].append(phase.length_s / 6000)
    return seen


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_phases_take_their_share_on_average_and_vary_by_less_than_half_of_it(kind):
    seen = drawn(kind)
    shares = np.array([phase.share for phase in kind.phases])
    means = np.array([np.mean(seen[phase.name]) for phase in kind.phases])
    assert np.corrcoef(shares, means)[0, 1] > 0.95
    spread = np.array([np.std(seen[phase.name]) for phase in kind.phases]) / means
    assert (spread < 0.5).all()
    assert spread.max() > 0.15


def test_a_phase_that_is_not_certain_comes_as_often_as_stated():
    kind = KINDS[0]
    models = (kind.phases[0], replace(kind.phases[1], chance=0.3), *kind.phases[2:])
    seen = drawn(replace(kind, phases=models))
    assert len(seen[models[1].name]) / 400 == pytest.approx(0.3, abs=0.07)
    assert len(seen[models[0].name]) == 400


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_durations_are_skewed_and_within_the_limits_of_the_type(kind):
    least, typical, most = kind.minutes
    minutes = np.array([draw_duration_s(kind, np.random.default_rng(seed)) for seed in range(1500)]) / 60
    assert least <= minutes.min()
    assert minutes.max() <= most
    assert np.median(minutes) == pytest.approx(typical, rel=0.06)
    if most > 2 * typical:
        assert minutes.mean() > np.median(minutes)
