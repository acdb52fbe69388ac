"""How many examples a property is tried on: few in every run, many in `make test-slow`."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""What Hypothesis takes where nobody says otherwise; the numbers in the tests are said beside it."""


def many(count: int) -> int:
    """`count` as the profile in force has it: 30 of 100 in `make test`, 300 of 100 in `make test-slow`."""
    assert settings.default is not None
    return max(10, count * settings.default.max_examples // USUAL)
