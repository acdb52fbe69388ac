"""False positives of the failure analysis with few videos stay near their level; those of z tests do not."""

from dataclasses import replace

import pytest
from bench.few_videos_mixed import SETTINGS, rejected

pytestmark = pytest.mark.slow
SETS = 200
"""A rate of 5 % is then known to 1.5 points, so 9.5 % is three of them above."""


@pytest.mark.parametrize("name", list(SETTINGS))
def test_absent_effects_are_seldom_called_significant(name: str) -> None:
    rule, plain = rejected(replace(SETTINGS[name], videos=8), range(10_000, 10_000 + SETS))
    assert rule <= 0.095
    assert plain >= rule


def test_a_strong_effect_of_half_of_the_videos_is_found_as_often_as_it_can_be() -> None:
    """With 12 videos and log odds 1.2 the rule finds 71 % (four points of tolerance, and simulation error)."""
    rule, _ = rejected(replace(SETTINGS["of whole videos, half of them"], videos=12, effect=1.2), range(SETS))
    assert 0.55 < rule < 0.87
