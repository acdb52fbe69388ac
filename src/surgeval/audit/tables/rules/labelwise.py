"""`labelwise-accuracy` and `single-label-scoring`: what accuracy over labels can be in multi-label tables.

With mean prevalence p and recall R weighted by it, a share pR of all labels is found and a share p(1 - R) is missed, so
label-wise accuracy lies between pR and 1 - p(1 - R). Accuracy that equals weighted recall is what single-label scoring
gives, where it always holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surgeval.audit.tables.cells import Cell
from surgeval.audit.tables.rows import Bounds, Mask, Rows, entries_where
from surgeval.audit.tables.vocabulary import Grade, TableFinding

_A, _R = "accuracy", "weighted_recall"


def mean_prevalence(prevalence: tuple[Cell, ...]) -> tuple[float, float]:
    """The least and the greatest mean of prevalences printed so; NaN where there are none."""
    ends = [prevalence_bounds(cell, prevalence) for cell in prevalence]
    if not ends:
        return float("nan"), float("nan")
    return sum(low for low, _ in ends) / len(ends), sum(high for _, high in ends) / len(ends)


def prevalence_bounds(cell: Cell, others: tuple[Cell, ...]) -> tuple[float, float]:
    """The least and the greatest prevalence printed so, rounded or cut off, as shares."""
    percent = any(other.percent or (other.value or 0) > 1 for other in others)
    unit, half, value = 0.01 if percent else 1.0, 0.5 * 10.0**-cell.decimals, cell.value or 0.0
    return max(0.0, (value - half) * unit), min(1.0, (value + 2 * half) * unit)


def check(rows: Rows) -> Iterator[TableFinding]:
    """Multi-label rows whose accuracy is out of reach, or is their weighted recall."""
    yield from _out_of_reach(rows)
    same = rows.is_kind("multi-label") & (rows.value[_A] == rows.value[_R])
    inside = (rows.value[_A] > 0) & (rows.value[_A] < 1)
    for entry in entries_where(same & inside):
        yield rows.finding(
            entry, Grade.SUSPICIOUS, "single-label-scoring", [_A, _R],
            "accuracy = weighted recall holds of every single-label scoring, and of label-wise accuracy by chance only",
            "the row may have been scored as single-label, unlike the rest of the table",
        )  # fmt: skip


def _out_of_reach(rows: Rows) -> Iterator[TableFinding]:
    means = [mean_prevalence(read.facts.prevalence) for read in rows.tables]
    low, high = (np.array([pair[side] for pair in means])[rows.table] for side in (0, 1)) if means else (None, None)
    if low is None or high is None or np.isnan(low).all():
        return

    def outside(b: Bounds) -> Mask:
        least, most = low * b.low[_R], 1 - low * (1 - b.high[_R])
        return ((b.high[_A] < least) | (b.low[_A] > most)) & rows.is_kind("multi-label", "binary")

    for entry in rows.broken(outside):
        bounds = rows.bounds["rounded"]
        least = low[entry] * bounds.low[_R][entry]
        most = 1 - low[entry] * (1 - bounds.high[_R][entry])
        yield rows.finding(
            entry, Grade.INCONSISTENT, "labelwise-accuracy", [_A, _R],
            f"p × R ≤ accuracy ≤ 1 - p × (1 - R): mean prevalence p of {low[entry]:.4f} to {high[entry]:.4f} gives "
            f"{rows.shown(entry, _A, least)} to {rows.shown(entry, _A, most)}; accuracy is {rows.span(entry, _A)}",
            "no label-wise accuracy of these data; an exact-match accuracy or other cases would explain it",
        )  # fmt: skip
