"""Equal models are seldom called different, however rows are nested: 1,000 tables of each design."""

from __future__ import annotations

import pytest

import surgvalid
from equal_models import DESIGNS, tables

pytestmark = pytest.mark.slow
TABLES = 1000
MOST = 0.065


@pytest.mark.parametrize("design", DESIGNS)
def test_claims_without_a_true_difference(design: str) -> None:
    p_values = [surgvalid.compare(table, "A", "B").table["p_value"][0] for table in tables(design, TABLES)]
    assert sum(p <= 0.05 for p in p_values) <= MOST * TABLES
