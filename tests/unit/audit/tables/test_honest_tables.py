"""No table that was computed from predictions and printed is called impossible or inconsistent; planted errors are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, jaccard_score, precision_recall_fscore_support

import surgvalid
from planted_tables import PLANTED, planted_tables
from printed_confusions import Honest, honest_tables, metrics, multi_class
from surgvalid.audit.tables.rules import RULES, possible_counts

LEAST_SHARE = {"labelwise-accuracy": 0.1, "no-solution": 0.2, "whole-counts": 0.4}
"""Of planted errors that a rule must find, where most of them are small or have an explanation."""


def audited(tables: list[Honest]) -> surgvalid.TableAudit:
    cells = [cell for table in tables for cell in table.cells]
    return surgvalid.audit_tables(cells, facts=[table.facts for table in tables if table.facts] or None)


def test_honest_tables_have_no_grave_finding() -> None:
    result = audited(list(honest_tables(500, seed=11)))
    assert result.passes, result.table.head(5).rows()
    assert result.cells["table"].n_unique() == 500


@pytest.mark.parametrize("rule", PLANTED)
def test_planted_errors_are_noticed(rule: str) -> None:
    tables = list(planted_tables(rule, 12 if rule == "no-solution" else 40, seed=3))
    noticed = audited(tables).table.filter(rule=rule)["table"].n_unique()
    assert noticed >= LEAST_SHARE.get(rule, 0.8) * len(tables)


def test_every_rule_that_can_be_planted_is() -> None:
    unplanted = {"value_range", "laws", "single_label", "repeats", "bold", "averages", "totals", "intervals", "beside"}
    assert {"accuracy-recall", "jaccard-f1", "f1-harmonic", "jaccard-bound"} <= set(PLANTED)
    assert {name.replace("_", "-") for name in RULES if name not in unplanted} <= set(PLANTED)


@pytest.mark.parametrize("undefined", [0.0, 1.0])
def test_the_honest_metrics_are_those_of_scikit_learn(undefined: float) -> None:
    generator = np.random.default_rng(2)
    reference = generator.choice(5, size=60, p=[0.4, 0.3, 0.2, 0.1, 0.0])
    prediction = np.where(generator.random(60) < 0.5, reference, generator.integers(4, size=60))
    counts = _counts(reference, prediction)
    row = metrics(counts, undefined)
    options: dict[str, Any] = {"labels": range(5), "zero_division": undefined}
    for average, weight in (("macro", ""), ("weighted", "w")):
        wanted = precision_recall_fscore_support(reference, prediction, average=average, **options)[:3]
        assert [row[weight + name] for name in ("P", "R", "F1")] == pytest.approx(wanted)
        assert row[weight + "J"] == pytest.approx(jaccard_score(reference, prediction, average=average, **options))
    assert row["A"] == pytest.approx(accuracy_score(reference, prediction))


def _counts(reference: np.ndarray, prediction: np.ndarray) -> Any:
    from printed_confusions import Counts

    hits = np.bincount(reference[reference == prediction], minlength=5)
    named, true = np.bincount(prediction, minlength=5), np.bincount(reference, minlength=5)
    return Counts(hits, named - hits, true - hits, reference.size, "multi-class")


def test_the_slopes_of_the_search_are_those_of_its_metrics() -> None:
    logits = np.random.default_rng(1).normal(size=(3, 3, 4))

    def values(at: np.ndarray) -> np.ndarray:
        return possible_counts._metrics(1 / (1 + np.exp(-at)), 5)[0]

    slopes = possible_counts._metrics(1 / (1 + np.exp(-logits)), 5)[1]
    for quantity in range(3):
        for label in range(4):
            moved = logits.copy()
            moved[:, quantity, label] += 1e-6
            assert (values(moved) - values(logits)) / 1e-6 == pytest.approx(slopes[:, :, quantity, label], abs=1e-5)


def test_constant_predictors_of_honest_tables_are_the_ones_that_are_named() -> None:
    tables = list(honest_tables(400, seed=7))
    constant = {
        (table.facts["table"], f"model {row}"): flag for table in tables for row, flag in enumerate(table.constant)
    }
    named = audited(tables).table.filter(pl.col("rule") == "degenerate").select("table", "row").rows()
    assert sum(constant[place] for place in named) >= 0.9 * len(named) > 0


def test_a_class_that_nobody_has_is_left_out_where_that_is_the_convention() -> None:
    generator = np.random.default_rng(4)
    counts = multi_class(generator, np.array([0, 0, 1, 1, 1]), 3)
    assert not any(math.isnan(value) for value in metrics(counts, math.nan).values())
