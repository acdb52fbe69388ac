"""No sentence of a simulated study goes against its interval; `tests/slow` has a thousand of them."""

import pytest

from verdict_pages import contradictions, simulated


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_no_sentence_goes_against_its_interval(seed: int) -> None:
    assert contradictions(simulated(seed)) == []


@pytest.mark.parametrize("seed", [16, 82, 543])
def test_the_pair_that_is_shown_is_the_one_that_decides(seed: int) -> None:
    """The next best was beaten and a lower model was not: "open" stood beside the interval of the first."""
    assert contradictions(simulated(seed)) == []
