"""Sham remedies, models that fail alike and shares of failures with known truth; docs/validation-mixed.md has more."""

from __future__ import annotations

import numpy as np
import pytest
from docs.studies import Study, repeated, share
from docs.validate_failure_loop import alike, covered, hidden, sham

pytestmark = pytest.mark.slow
SETS = 30
ALLOWED = 0.05 + 3 * np.sqrt(0.05 * 0.95 / SETS)


def test_a_sham_remedy_shows_no_gain() -> None:
    (made,) = repeated([Study(sham, (8,), SETS)])
    assert max(share(made[:, k]) for k in range(3)) <= ALLOWED


def test_models_that_fail_alike_are_left_alone() -> None:
    (made,) = repeated([Study(alike, (8,), SETS)])
    assert max(share(made[:, k]) for k in range(2)) <= ALLOWED


def test_the_interval_of_a_share_holds_the_truth() -> None:
    (made,) = repeated([Study(covered, (8,), SETS)])
    assert share(made[:, 0]) >= 1 - ALLOWED


def test_harm_of_two_properties_or_at_the_ends_is_found_and_little_else() -> None:
    pairs, ends, two = repeated([Study(hidden, (kind, 12), 24) for kind in ("pair", "ends", "two")])
    assert min(pairs[:, 0].sum(), ends[:, 0].sum()) >= 22
    assert max(share(made[:, 1]) for made in (pairs, ends, two)) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 24)
