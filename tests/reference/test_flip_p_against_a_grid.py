"""Sign-flip p-values of many videos against a grid that brackets the true one."""

import numpy as np
import pytest

from sign_patterns import bracketed_p, differences_at, sizes_of
from surgvalid.stats.comparing.paired_tests import flip_p


@pytest.mark.parametrize("kind", ["normal", "lognormal", "near zero"])
@pytest.mark.parametrize("videos", [30, 40, 60, 120, 200])
def test_p_values_lie_within_a_percent_of_the_bracket(kind: str, videos: int) -> None:
    rng = np.random.default_rng([12, videos])
    for p in (0.05, 1e-4, 1e-8):
        differences = differences_at(p, sizes_of(kind)(videos, rng), rng)
        low, high = bracketed_p(differences)
        found = flip_p(differences)[0]
        assert low * 0.99 <= found <= high * 1.01, (p, found, low, high)
