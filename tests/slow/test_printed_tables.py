"""Ten thousand honest tables without a grave finding, and how many planted errors each rule notices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

import surgvalid
from planted_tables import PLANTED, planted_tables
from printed_confusions import Honest, honest_table, honest_tables

pytestmark = pytest.mark.slow
LEAST = {"labelwise-accuracy": 0.15, "no-solution": 0.25, "whole-counts": 0.5, "degenerate": 0.85, "average": 0.85}


def audited(tables: list[Honest]) -> surgvalid.TableAudit:
    cells = [cell for table in tables for cell in table.cells]
    return surgvalid.audit_tables(cells, facts=[table.facts for table in tables if table.facts] or None)


def test_ten_thousand_honest_tables_have_no_grave_finding() -> None:
    result = audited(list(honest_tables(10_000, seed=20)))
    assert result.passes, result.table.head(5).rows()
    assert result.cells["table"].n_unique() == 10_000


def test_a_solution_is_found_for_honest_rows() -> None:
    generator = np.random.default_rng(5)
    tables = [honest_table(generator, f"t{number}", classes_known=True) for number in range(400)]
    labelled = [table for table in tables if table.facts["kind"] == "multi-label"]
    missed = audited(labelled).table.filter(pl.col("rule") == "no-solution").height
    assert missed <= 0.005 * 3 * len(labelled)


@pytest.mark.parametrize("rule", PLANTED)
def test_most_planted_errors_are_noticed(rule: str, record_property: Callable[[str, object], None]) -> None:
    tables = list(planted_tables(rule, 100 if rule == "no-solution" else 1000, seed=1))
    share = audited(tables).table.filter(rule=rule)["table"].n_unique() / len(tables)
    record_property("share", share)
    assert share >= LEAST.get(rule, 0.9)
