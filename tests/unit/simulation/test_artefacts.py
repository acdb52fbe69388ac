"""Artefacts come as often and as strong as stated, by phase and by centre."""

from functools import cache

import numpy as np
import pytest

from surgvalid.simulation import CENTERS, CHARACTERISTICS
from surgvalid.simulation.artefacts import BACKGROUND, IMAGE, INSTRUMENT, draw_episodes
from surgvalid.simulation.procedure_types import PhaseModel, TimedPhase

MINUTES = 60


@cache
def drawn(center: str = "Center A", smoke: float = 0.5, blood: float = 0.2, rounds: int = 60):
    model = PhaseModel("p", 1.0, "s", ("hook",), smoke=smoke, blood=blood)
    phases = (TimedPhase(model, 0.0, MINUTES * 60.0),)
    return [
        draw_episodes(phases, MINUTES * 60.0, CENTERS[center], np.random.default_rng(seed), 1.0)
        for seed in range(rounds)
    ]


def per_minute(kind: str, **options) -> float:
    return float(np.mean([sum(e.kind == kind for e in episodes) for episodes in drawn(**options)]) / MINUTES)


def test_there_are_five_nine_and_three_characteristics():
    assert (len(BACKGROUND), len(INSTRUMENT), len(IMAGE)) == (5, 9, 3)
    assert set(CHARACTERISTICS) == {*BACKGROUND, *INSTRUMENT, *IMAGE}


@pytest.mark.parametrize(("smoke", "blood"), [(0.5, 0.2), (0.0, 0.6)])
def test_smoke_and_blood_come_as_often_as_the_phase_says(smoke, blood):
    assert per_minute("background_smoke", smoke=smoke, blood=blood) == pytest.approx(smoke, rel=0.1, abs=0.001)
    assert per_minute("background_blood", smoke=smoke, blood=blood) == pytest.approx(blood, rel=0.12)


@pytest.mark.parametrize(
    ("center", "kind", "factor"),
    [("Center D", "image_too_dark", 3.0), ("Center E", "image_too_bright", 3.0), ("Center F", "background_smoke", 1.8),
     ("Center B", "background_smoke", 0.6)],
)  # fmt: skip
def test_centres_have_their_own_rates(center, kind, factor):
    assert per_minute(kind, center=center) / per_minute(kind) == pytest.approx(factor, rel=0.2)


def test_strengths_fill_the_range_and_episodes_lie_within_the_procedure():
    episodes = [episode for one in drawn() for episode in one]
    strengths = np.array([episode.strength for episode in episodes])
    assert 0.1 <= strengths.min() < 0.2
    assert 0.9 < strengths.max() <= 1
    assert strengths.mean() == pytest.approx(0.55, abs=0.02)
    assert all(0 <= e.start_s < e.end_s <= MINUTES * 60 for e in episodes)
    for one in drawn()[:5]:
        assert list(one) == sorted(one, key=lambda e: (e.start_s, e.kind))


def test_bleedings_last_longer_than_smoke_and_a_quick_pace_shortens_all():
    mean = {
        kind: np.mean([e.end_s - e.start_s for one in drawn() for e in one if e.kind == kind])
        for kind in ("background_smoke", "background_blood")
    }
    assert mean["background_smoke"] == pytest.approx(19, rel=0.15)
    assert mean["background_blood"] > 3 * mean["background_smoke"]
    model = PhaseModel("p", 1.0, "s", ("hook",), smoke=2.0)
    quick = draw_episodes((TimedPhase(model, 0, 3600.0),), 3600.0, CENTERS["Center A"], np.random.default_rng(1), 0.2)
    assert np.mean([e.end_s - e.start_s for e in quick if e.kind == "background_smoke"]) < 7
